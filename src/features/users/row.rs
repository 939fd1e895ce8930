//! A stored user.

use db::JsonText;

use crate::values::ids::{FileId, UserId};
use crate::values::time::Timestamp;

db::row! {
    #[derive(Debug, Clone, PartialEq)]
    pub struct UserRow {
        pub id: UserId,
        pub foreign_id: Option<String>,
        pub role: String,
        pub name: Option<String>,
        pub username: Option<String>,
        pub email: Option<String>,
        pub password_hash: Option<String>,
        pub is_verified: bool,
        pub is_active: bool,
        pub avatar: Option<String>,
        /// Where the avatar is stored, while it is an uploaded file.
        pub avatar_path: Option<String>,
        pub avatar_file_id: Option<FileId>,
        pub banner_file_id: Option<FileId>,
        pub bio: Option<String>,
        pub birthdate: Option<Timestamp>,
        pub latitude: Option<f64>,
        pub longitude: Option<f64>,
        pub metadata: JsonText,
        pub secure_metadata: JsonText,
        pub reputation: i64,
        pub last_active: Timestamp,
        pub created_at: Timestamp,
        pub updated_at: Timestamp,
    }
}

impl UserRow {
    /// A new user without a profile.
    pub fn new(id: UserId, now: Timestamp) -> Self {
        UserRow {
            id,
            foreign_id: None,
            role: "visitor".to_owned(),
            name: None,
            username: None,
            email: None,
            password_hash: None,
            is_verified: false,
            is_active: true,
            avatar: None,
            avatar_path: None,
            avatar_file_id: None,
            banner_file_id: None,
            bio: None,
            birthdate: None,
            latitude: None,
            longitude: None,
            metadata: JsonText("{}".to_owned()),
            secure_metadata: JsonText("{}".to_owned()),
            reputation: 0,
            last_active: now,
            created_at: now,
            updated_at: now,
        }
    }

    /// Avatar and banner.
    pub fn picture_ids(&self) -> [Option<FileId>; 2] {
        [self.avatar_file_id, self.banner_file_id]
    }
}
