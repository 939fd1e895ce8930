//! What happens to users, for observers.

use crate::domain_events::{self, EventKind};
use crate::features::users::VALIDATION_FAILED;
use crate::features::users::model::{AuthUser, FetchedUser};
use crate::features::users::store::UserRow;

pub const CREATED_NAME: &str = "user.created";
pub const UPDATED_NAME: &str = "user.updated";

/// By a key that asked for a foreign id.
pub(super) const CREATED: EventKind<FetchedUser> =
    EventKind::new(CREATED_NAME).refusable(VALIDATION_FAILED);
pub(super) const UPDATED: EventKind<AuthUser> =
    EventKind::new(UPDATED_NAME).refusable(VALIDATION_FAILED);

pub fn changed(before: &UserRow, after: &UserRow) -> Vec<String> {
    let place = |row: &UserRow| (row.latitude, row.longitude);
    domain_events::changed([
        ("foreignId", before.foreign_id != after.foreign_id),
        ("email", before.email != after.email),
        ("name", before.name != after.name),
        ("username", before.username != after.username),
        ("avatar", (&before.avatar, &before.avatar_path) != (&after.avatar, &after.avatar_path)),
        ("avatarFileId", before.avatar_file_id != after.avatar_file_id),
        ("bannerFileId", before.banner_file_id != after.banner_file_id),
        ("bio", before.bio != after.bio),
        ("birthdate", before.birthdate != after.birthdate),
        ("location", place(before) != place(after)),
        ("metadata", before.metadata != after.metadata),
        ("secureMetadata", before.secure_metadata != after.secure_metadata),
        ("updatedAt", before.updated_at != after.updated_at),
    ])
}
