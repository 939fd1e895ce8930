//! Users as the API shows them: to everybody, to themselves, and to the holder of a key.

use std::collections::HashMap;

use db::Conn;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::value::RawValue;

use crate::auth::store::suspensions::Suspension;
use crate::error::{Error, Result};
use crate::features::files::model::File;
use crate::features::users::reputation::{self, Sum};
use crate::features::users::store::{self, UserRow};
use crate::storage::signed::Links;
use crate::values::detail::Detail;
use crate::values::ids::{FileId, ProjectId, UserId};
use crate::values::time::Timestamp;

/// A user as everybody sees them.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct User {
    pub id: UserId,
    pub project_id: ProjectId,
    pub foreign_id: Option<String>,
    pub role: String,
    pub name: Option<String>,
    pub username: Option<String>,
    pub avatar: Option<String>,
    pub avatar_file_id: Option<FileId>,
    pub banner_file_id: Option<FileId>,
    /// Only when files are included.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub avatar_file: Option<Option<Box<File>>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub banner_file: Option<Option<Box<File>>>,
    pub bio: Option<String>,
    pub birthdate: Option<Timestamp>,
    pub location: Option<Point>,
    #[schemars(with = "serde_json::Map<String, serde_json::Value>")]
    pub metadata: Box<RawValue>,
    pub reputation: i64,
    /// Only with a space in the query.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub space_reputation: Option<i64>,
    pub created_at: Timestamp,
    /// Only in whole detail, which no documented reply has.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(skip)]
    pub updated_at: Option<Timestamp>,
}

/// Users as everybody sees them, for those of the ids that exist.
pub fn shown(c: &Conn<'_>, links: &Links, mut ids: Vec<UserId>) -> Result<HashMap<UserId, User>> {
    ids.sort_unstable();
    ids.dedup();
    by_id(links, &store::find_all_public(c, links.project, &ids)?)
}

/// The users by id, as everybody sees them.
pub fn by_id(links: &Links, rows: &[UserRow]) -> Result<HashMap<UserId, User>> {
    rows.iter().map(|row| Ok((row.id, User::public(links, row)?))).collect()
}

/// A place as GeoJSON.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Point {
    r#type: PointType,
    coordinates: [f64; 2],
}

#[derive(Debug, Clone, Serialize, JsonSchema)]
enum PointType {
    Point,
}

impl Point {
    pub fn new(longitude: f64, latitude: f64) -> Self {
        Point { r#type: PointType::Point, coordinates: [longitude, latitude] }
    }
}

impl User {
    pub fn public(links: &Links, row: &UserRow) -> Result<Self> {
        Ok(User {
            id: row.id,
            project_id: links.project,
            foreign_id: row.foreign_id.clone(),
            role: row.role.clone(),
            name: row.name.clone(),
            username: row.username.clone(),
            avatar: links.avatar(row.avatar_path.as_deref(), row.avatar.as_deref()),
            avatar_file_id: row.avatar_file_id,
            banner_file_id: row.banner_file_id,
            avatar_file: None,
            banner_file: None,
            bio: row.bio.clone(),
            birthdate: row.birthdate,
            location: row.longitude.zip(row.latitude).map(|(lon, lat)| Point::new(lon, lat)),
            metadata: raw(row.metadata.0.as_str())?,
            reputation: row.reputation,
            space_reputation: None,
            created_at: row.created_at,
            updated_at: (links.detail == Detail::Whole).then_some(row.updated_at),
        })
    }

    /// Beside the private fields, which hold the same time.
    fn without_updated_at(self) -> Self {
        User { updated_at: None, ..self }
    }

    /// With the file objects of avatar and banner.
    pub fn with_files(self, [avatar, banner]: [Option<File>; 2]) -> Self {
        let (avatar_file, banner_file) = (avatar.map(Box::new), banner.map(Box::new));
        User { avatar_file: Some(avatar_file), banner_file: Some(banner_file), ..self }
    }

    /// Where the points shown with the user are written to.
    pub fn points_in(&mut self, sum: Sum) -> reputation::Shown<'_> {
        (self.id, sum, &mut self.space_reputation)
    }
}

/// The fields that only the user and the holder of a key may see.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PrivateFields {
    pub email: Option<String>,
    pub is_verified: bool,
    pub is_active: bool,
    pub last_active: Timestamp,
    pub updated_at: Timestamp,
}

impl PrivateFields {
    fn of(row: &UserRow) -> Self {
        PrivateFields {
            email: row.email.clone(),
            is_verified: row.is_verified,
            is_active: row.is_active,
            last_active: row.last_active,
            updated_at: row.updated_at,
        }
    }
}

/// A user as they see themselves.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AuthUser {
    #[serde(flatten)]
    pub user: User,
    #[serde(flatten)]
    pub private: PrivateFields,
    /// The active ones.
    pub suspensions: Vec<Suspension>,
    pub auth_methods: Vec<String>,
    /// Only for keys, never for the user.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<serde_json::Map<String, serde_json::Value>>")]
    pub secure_metadata: Option<Box<RawValue>>,
}

impl AuthUser {
    pub fn new(
        links: &Links,
        row: &UserRow,
        files: [Option<File>; 2],
        suspensions: Vec<Suspension>,
        providers: Vec<String>,
    ) -> Result<Self> {
        let mut auth_methods =
            Vec::from_iter(row.password_hash.as_ref().map(|_| "password".into()));
        for provider in providers {
            if !auth_methods.contains(&provider) {
                auth_methods.push(provider);
            }
        }
        Ok(AuthUser {
            user: User::public(links, row)?.with_files(files).without_updated_at(),
            private: PrivateFields::of(row),
            suspensions,
            auth_methods,
            secure_metadata: None,
        })
    }

    pub fn with_secure_metadata(self, row: &UserRow) -> Result<Self> {
        Ok(AuthUser { secure_metadata: Some(raw(row.secure_metadata.0.as_str())?), ..self })
    }
}

/// A user as the holder of a key sees them.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FullUser {
    #[serde(flatten)]
    pub user: User,
    #[serde(flatten)]
    pub private: PrivateFields,
    #[schemars(with = "serde_json::Map<String, serde_json::Value>")]
    pub secure_metadata: Box<RawValue>,
}

/// A fetched user, with as much as the caller may see.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum FetchedUser {
    Public(Box<User>),
    Full(Box<FullUser>),
}

impl FetchedUser {
    pub fn new(user: User, row: &UserRow, for_key: bool) -> Result<Self> {
        if !for_key {
            return Ok(FetchedUser::Public(Box::new(user)));
        }
        Ok(FetchedUser::Full(Box::new(FullUser {
            user: user.without_updated_at(),
            private: PrivateFields::of(row),
            secure_metadata: raw(row.secure_metadata.0.as_str())?,
        })))
    }
}

/// Stored JSON is sent as it is.
pub fn raw(json: impl Into<String>) -> Result<Box<RawValue>> {
    RawValue::from_string(json.into()).map_err(Error::internal)
}
