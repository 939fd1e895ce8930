//! What happens to spaces, for observers.

use crate::domain_events::{self, EventKind};
use crate::features::spaces::VALIDATION_FAILED;
use crate::features::spaces::model::{Space, SpaceDetailed};
use crate::features::spaces::store::SpaceRow;

pub(super) const CREATED: EventKind<Space> =
    EventKind::new("space.created").refusable(VALIDATION_FAILED);
pub(super) const UPDATED: EventKind<SpaceDetailed> =
    EventKind::new("space.updated").refusable(VALIDATION_FAILED);

pub(super) fn changed(before: &SpaceRow, after: &SpaceRow) -> Vec<String> {
    domain_events::changed([
        ("name", before.name != after.name),
        ("slug", before.slug != after.slug),
        ("description", before.description != after.description),
        ("avatarFileId", before.avatar_file_id != after.avatar_file_id),
        ("bannerFileId", before.banner_file_id != after.banner_file_id),
        ("readingPermission", before.reading_permission != after.reading_permission),
        ("postingPermission", before.posting_permission != after.posting_permission),
        ("visibility", before.visibility != after.visibility),
        ("requireJoinApproval", before.requires_approval != after.requires_approval),
        ("nsfw", before.nsfw != after.nsfw),
        ("nsfwEffective", before.nsfw_effective != after.nsfw_effective),
        ("metadata", before.metadata != after.metadata),
        ("updatedAt", before.updated_at != after.updated_at),
    ])
}
