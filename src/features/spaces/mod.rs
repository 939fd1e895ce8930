//! Spaces: nested groups with members, roles and rules of their own. `store/access.rs` decides for every
//! feature who may read and publish in one.

pub mod authority;
mod create;
mod events;
mod fetch;
pub mod files;
pub mod list;
pub mod members;
pub mod model;
pub mod moderation_log;
pub mod observer;
pub mod permissions;
pub mod rulebook;
pub mod rules;
pub mod show;
pub mod store;
mod update;

use http::Method;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::error::{Fault, faults};
use crate::features::files::uploads::{UploadFaults, not_an_image};
use crate::features::users;
use crate::features::users::pictures::{self, PictureFaults};
use crate::http::input::Invalid;
use crate::http::multipart::Form;
use crate::http::operation::{ActsAs, Operation};
use crate::tenancy::Bundle;
use crate::values::ids::SpaceId;

faults! {
    pub NOT_FOUND = 404 "space/not-found": "Space not found";
    pub BANNED = 403 "space/banned": "Banned from this space";
    pub POSTING_NOT_ALLOWED = 403 "space/posting-not-allowed": "The space does not let you post";
    pub ADMIN_REQUIRED = 403 "space/admin-required": "Only an admin of the space may do this";
    pub MODERATOR_REQUIRED = 403 "space/moderator-required":
        "Only a moderator of the space may do this";
    pub CREATOR_REQUIRED = 403 "space/creator-required":
        "Only the creator of the space may do this";
    pub INSUFFICIENT_PERMISSIONS = 403 "space/insufficient-permissions":
        "Not allowed to act on this member";
    pub LAST_ADMIN = 400 "space/last-admin": "A space keeps at least one active admin";
    pub MEMBER_NOT_FOUND = 404 "space/member-not-found": "No such member of the space";
    AUTH_REQUIRED = 401 "space/auth-required": "A user is required";
    USER_REQUIRED = 401 "auth/user-required": "A user is required";
    pub INVALID_PARAMS = 400 "space/invalid-params": "Invalid path parameters";
    INVALID_QUERY = 400 "space/invalid-query": "Invalid query";
    pub INVALID_BODY = 400 "space/invalid-body": "Invalid body";
    PARENT_NOT_FOUND = 404 "space/parent-not-found": "Parent space not found";
    PARENT_ADMIN_REQUIRED = 403 "space/parent-admin-required":
        "Only an admin of the parent space may create a space below it";
    MAX_DEPTH_EXCEEDED = 400 "space/max-depth-exceeded": "Spaces are nested at most 10 deep";
    VALIDATION_FAILED = 400 "space/validation-failed": "Space validation failed";
    SLUG_TAKEN = 409 "space/slug-taken": "There is a space of this slug already";
    FILE_TOO_LARGE = 413 "space/file-too-large": "The image exceeds 50MB limit.";
    INVALID_IMAGE = 422 "space/invalid-image": "The file is not a valid image";
    pub DELETION_DISABLED = 403 "space/deletion-disabled": "Spaces of this project are not deleted";
    ALREADY_MEMBER = 409 "space/already-member": "Already a member, or waiting to be one";
    MEMBERSHIP_NOT_FOUND = 404 "space/membership-not-found": "Membership not found";
    NOT_PENDING = 400 "space/not-pending": "The membership is not pending";
    NOT_ACTIVE = 400 "space/not-active": "The membership is not active";
}

pub const INVALID: Invalid =
    Invalid { params: INVALID_PARAMS, query: INVALID_QUERY, ..Invalid::all(INVALID_BODY) };

const PICTURES: PictureFaults = PictureFaults {
    missing_options: INVALID_BODY,
    uploads: UploadFaults {
        invalid_image: |name, why| not_an_image(INVALID_IMAGE, name, why),
        invalid_options: INVALID_BODY,
    },
};
static FORM: Form = Form {
    json: &["metadata", "avatarFile.options", "bannerFile.options"],
    flags: &["requireJoinApproval", "nsfw"],
    cleared: &[],
    files: &const { pictures::fields(FILE_TOO_LARGE, INVALID_BODY) },
    only: false,
    without_bundle: None,
};

/// A key acts as the user it names.
const ACTS_AS: ActsAs =
    ActsAs { parameter: "userId", missing: AUTH_REQUIRED, unknown: users::NOT_FOUND, other: None };
/// A key may do everything, and may name a user to do it for.
pub const ON_BEHALF: ActsAs = ActsAs { parameter: "actingUserId", ..ACTS_AS };

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SpacePath {
    pub space_id: SpaceId,
}

pub fn operations() -> Vec<Operation> {
    let operations = [
        lists(),
        one(),
        changes(),
        membership(),
        team(),
        rulebook::operations(),
        moderation_log::operations(),
    ];
    operations.into_iter().flatten().map(|operation| operation.bundle(Bundle::Spaces)).collect()
}

fn lists() -> Vec<Operation> {
    let (get, feature) = (Method::GET, "space");
    vec![
        Operation::new(
            get.clone(),
            "/spaces",
            "Fetch Spaces",
            feature,
            INVALID,
            list::fetch_spaces,
        )
        .shared()
        .errors(&[AUTH_REQUIRED]),
        Operation::new(
            get.clone(),
            "/spaces/user-spaces",
            "Fetch User Spaces",
            feature,
            INVALID,
            list::user_spaces,
        )
        .unauthenticated(AUTH_REQUIRED)
        .acts_as(ACTS_AS),
        Operation::new(
            get.clone(),
            "/spaces/mutual/{userId}",
            "Fetch Mutual Spaces",
            feature,
            INVALID,
            list::mutual_spaces,
        )
        .acts_as(ActsAs { missing: USER_REQUIRED, ..ON_BEHALF })
        .errors(&[users::NOT_FOUND]),
        Operation::new(
            get,
            "/spaces/{spaceId}/children",
            "Fetch Space Children",
            feature,
            INVALID,
            fetch::children,
        )
        .errors(&[NOT_FOUND]),
    ]
}

fn one() -> Vec<Operation> {
    let (get, feature) = (Method::GET, "space");
    vec![
        Operation::new(
            get.clone(),
            "/spaces/check-slug",
            "Check Slug",
            feature,
            INVALID,
            fetch::check_slug,
        ),
        Operation::new(
            get.clone(),
            "/spaces/by-short-id",
            "Fetch Space by Short ID",
            feature,
            INVALID,
            fetch::by_short_id,
        )
        .errors(&[NOT_FOUND]),
        Operation::new(
            get.clone(),
            "/spaces/by-slug",
            "Fetch Space by Slug",
            feature,
            INVALID,
            fetch::by_slug,
        )
        .errors(&[NOT_FOUND]),
        Operation::new(
            get.clone(),
            "/spaces/{spaceId}",
            "Fetch Space",
            feature,
            INVALID,
            fetch::by_id,
        )
        .errors(&[NOT_FOUND]),
        Operation::new(
            get,
            "/spaces/{spaceId}/breadcrumb",
            "Fetch Breadcrumb",
            feature,
            INVALID,
            fetch::breadcrumb,
        )
        .errors(&[NOT_FOUND]),
    ]
}

fn changes() -> Vec<Operation> {
    let feature = "space";
    vec![
        Operation::new(
            Method::POST,
            "/spaces",
            "Create Space",
            feature,
            INVALID,
            create::create_space,
        )
        .unauthenticated(AUTH_REQUIRED)
        .acts_as(ACTS_AS)
        .takes_files(&FORM)
        .errors(&[
            PARENT_NOT_FOUND,
            PARENT_ADMIN_REQUIRED,
            MAX_DEPTH_EXCEEDED,
            SLUG_TAKEN,
            INVALID_IMAGE,
            VALIDATION_FAILED,
        ]),
        Operation::new(
            Method::PATCH,
            "/spaces/{spaceId}",
            "Update Space",
            feature,
            INVALID,
            update::update_space,
        )
        .acts_as(ON_BEHALF)
        .takes_files(&FORM)
        .errors(&[NOT_FOUND, ADMIN_REQUIRED, SLUG_TAKEN, INVALID_IMAGE, VALIDATION_FAILED]),
    ]
}

fn membership() -> Vec<Operation> {
    use members::{join, list};
    let (get, feature) = (Method::GET, "space");
    vec![
        Operation::new(
            Method::POST,
            "/spaces/{spaceId}/join",
            "Join Space",
            feature,
            INVALID,
            join::join,
        )
        .acts_as(ACTS_AS)
        .errors(&[NOT_FOUND, BANNED, ALREADY_MEMBER]),
        Operation::new(
            Method::DELETE,
            "/spaces/{spaceId}/leave",
            "Leave Space",
            feature,
            INVALID,
            join::leave,
        )
        .acts_as(ACTS_AS)
        .errors(&[NOT_FOUND, MEMBERSHIP_NOT_FOUND, BANNED, LAST_ADMIN]),
        Operation::new(
            get.clone(),
            "/spaces/{spaceId}/members",
            "List Members",
            feature,
            INVALID,
            list::members,
        )
        .errors(&[NOT_FOUND, MODERATOR_REQUIRED]),
        Operation::new(
            get.clone(),
            "/spaces/{spaceId}/team",
            "List Team",
            feature,
            INVALID,
            list::team,
        )
        .errors(&[NOT_FOUND]),
        Operation::new(
            get,
            "/spaces/{spaceId}/membership/me",
            "Check My Membership",
            feature,
            INVALID,
            join::my_membership,
        )
        .errors(&[NOT_FOUND]),
    ]
}

fn team() -> Vec<Operation> {
    use members::change;
    let (patch, feature) = (Method::PATCH, "space");
    let bans: &[Fault] = &[
        NOT_FOUND,
        MODERATOR_REQUIRED,
        MEMBERSHIP_NOT_FOUND,
        INSUFFICIENT_PERMISSIONS,
        CREATOR_REQUIRED,
        LAST_ADMIN,
    ];
    let answers: &[Fault] = &[NOT_FOUND, MODERATOR_REQUIRED, MEMBERSHIP_NOT_FOUND, NOT_PENDING];
    let operations = vec![
        Operation::new(
            patch.clone(),
            "/spaces/{spaceId}/members/{memberId}/role",
            "Update Member Role",
            feature,
            INVALID,
            change::update_role,
        )
        .errors(&[
            NOT_FOUND,
            ADMIN_REQUIRED,
            MEMBERSHIP_NOT_FOUND,
            NOT_ACTIVE,
            LAST_ADMIN,
            CREATOR_REQUIRED,
        ]),
        Operation::new(
            patch.clone(),
            "/spaces/{spaceId}/members/{memberId}/approve",
            "Approve Member",
            feature,
            INVALID,
            change::approve,
        )
        .errors(answers),
        Operation::new(
            patch.clone(),
            "/spaces/{spaceId}/members/{memberId}/decline",
            "Decline Member",
            feature,
            INVALID,
            change::decline,
        )
        .errors(answers),
        Operation::new(
            patch.clone(),
            "/spaces/{spaceId}/members/{memberId}/ban",
            "Ban Member",
            feature,
            INVALID,
            change::ban_member,
        )
        .errors(bans),
        Operation::new(
            Method::DELETE,
            "/spaces/{spaceId}/members/{memberId}",
            "Remove Member",
            feature,
            INVALID,
            change::ban_member,
        )
        .errors(bans),
        Operation::new(
            patch,
            "/spaces/{spaceId}/members/{memberId}/unban",
            "Unban Member",
            feature,
            INVALID,
            change::unban_member,
        )
        .errors(&[
            NOT_FOUND,
            MODERATOR_REQUIRED,
            MEMBERSHIP_NOT_FOUND,
            INSUFFICIENT_PERMISSIONS,
        ]),
    ];
    operations.into_iter().map(|one| one.acts_as(ON_BEHALF)).collect()
}
