//! Events: when and where people meet, who hosts, who is invited and who comes. `visibility.rs` decides for every
//! operation whether an event exists for the caller, `list` finds many, `calendar` shows them to calendars.

mod calendar;
mod cancel;
mod create;
mod delete;
mod fetch;
pub mod files;
mod hosts;
mod ical;
mod images;
mod invites;
pub mod list;
pub mod model;
pub mod notify;
mod rsvp;
pub mod rules;
mod show;
pub mod store;
mod update;
pub mod visibility;

use db::Conn;
use http::Method;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::auth::caller::OptionalViewer;
use crate::error::{Fault, Result, faults};
use crate::features::users;
use crate::http::input::Invalid;
use crate::http::operation::{ActsAs, Operation};
use crate::http::version::Version;
use crate::tenancy::{Bundle, Project};
use crate::values::ids::{EventId, UserId};

faults! {
    pub NOT_FOUND = 404 "event/not-found": "Event not found";
    FORBIDDEN = 403 "event/forbidden": "Only a host of the event may do this";
    UNAUTHORIZED = 403 "event/unauthorized": "A user creates events for themselves only";
    MISSING_USER_ID = 400 "event/missing-user-id": "A key must name the user in userId";
    INVALID_QUERY = 400 "event/invalid-query": "Invalid query";
    INVALID_BODY = 400 "event/invalid-body": "Invalid body";
    INVALID_REMOVE_IMAGE_IDS = 400 "event/invalid-remove-image-ids":
        "removeImageIds must be ids of files of the event";
    MY_RSVP_REQUIRES_AUTH = 400 "event/my-rsvp-requires-auth": "myRsvp needs a user";
    FILES_IMAGES_BUNDLE_REQUIRED = 403 "event/files-images-bundle-required":
        "Images need the bundle files-images";
    SPACES_BUNDLE_REQUIRED = 403 "event/spaces-bundle-required": "spaceId needs the bundle spaces";
    SPACE_NOT_FOUND = 404 "event/space-not-found": "Space not found";
    NOT_SPACE_MEMBER = 403 "event/not-space-member": "Only an active member of the space may do this";
    USER_NOT_FOUND = 404 "event/user-not-found": "User not found";
    DELETE_FAILED = 404 "event/delete-failed": "Event not found or already deleted";
    CANCELLED = 409 "event/cancelled": "The event was cancelled";
    RSVP_CLOSED = 409 "event/rsvp-closed": "The event has started";
    MAYBE_DISABLED = 409 "event/maybe-disabled": "The event takes no `maybe`";
    FULL = 409 "event/full": "The event is full";
    LAST_HOST = 409 "event/last-host": "An event keeps at least one host";
    GUEST_LIST_HIDDEN = 403 "event/guest-list-hidden": "Only hosts see who comes";
    FILE_TOO_LARGE = 413 "event/file-too-large": "The image exceeds 50MB limit.";
    INVALID_IMAGE = 422 "event/invalid-image": "The file is not a valid image";
}

const INVALID: Invalid =
    Invalid { params: NOT_FOUND, query: INVALID_QUERY, ..Invalid::all(INVALID_BODY) };

/// A key acts as the user it names, or for the project.
const ACTS_AS: ActsAs = ActsAs {
    parameter: "userId",
    missing: MISSING_USER_ID,
    unknown: users::NOT_FOUND,
    other: None,
};
/// The same where `userId` is another user.
const ON_BEHALF: ActsAs = ActsAs { parameter: "actingUserId", ..ACTS_AS };

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct EventPath {
    event_id: EventId,
}

/// The user that a key reads for.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct ReaderQuery {
    user_id: Option<String>,
}

impl ReaderQuery {
    /// The signed-in user, or the one that a key names.
    fn reader(
        &self,
        c: &Conn<'_>,
        project: &Project,
        caller: OptionalViewer,
    ) -> Result<Option<UserId>> {
        let Some(name) = self.user_id.as_deref().filter(|_| caller.is_key()) else {
            return Ok(caller.user());
        };
        let user: UserId = name.parse().map_err(|_| users::NOT_FOUND)?;
        users::store::find(c, project.id, user)?.ok_or(users::NOT_FOUND)?;
        Ok(Some(user))
    }
}

pub fn operations() -> Vec<Operation> {
    let all = [one(), answers(), people(), calendar::operations()];
    let all = all.into_iter().flatten();
    all.map(|operation| operation.bundle(Bundle::Events).since(Version::V7)).collect()
}

fn one() -> Vec<Operation> {
    let (get, feature) = (Method::GET, "event");
    vec![
        Operation::new(
            Method::POST,
            "/events",
            "Create Event",
            feature,
            INVALID,
            create::create_event,
        )
        .acts_as(ActsAs { other: Some(UNAUTHORIZED), ..ACTS_AS })
        .takes_files(&images::FORM)
        .errors(&[
            FILES_IMAGES_BUNDLE_REQUIRED,
            SPACES_BUNDLE_REQUIRED,
            SPACE_NOT_FOUND,
            NOT_SPACE_MEMBER,
            INVALID_IMAGE,
        ]),
        Operation::new(
            get.clone(),
            "/events",
            "Fetch Many Events",
            feature,
            INVALID,
            list::fetch_many,
        )
        .errors(&[MY_RSVP_REQUIRES_AUTH, users::NOT_FOUND]),
        Operation::new(
            get,
            "/events/{eventId}",
            "Fetch Event",
            feature,
            INVALID,
            fetch::fetch_event,
        )
        .errors(&[NOT_FOUND, users::NOT_FOUND]),
        Operation::new(
            Method::PATCH,
            "/events/{eventId}",
            "Update Event",
            feature,
            INVALID,
            update::update_event,
        )
        .acts_as(ACTS_AS)
        .takes_files(&images::FORM)
        .errors(&[
            INVALID_REMOVE_IMAGE_IDS,
            FORBIDDEN,
            FILES_IMAGES_BUNDLE_REQUIRED,
            NOT_FOUND,
            INVALID_IMAGE,
        ]),
        Operation::new(
            Method::POST,
            "/events/{eventId}/cancel",
            "Cancel Event",
            feature,
            INVALID,
            cancel::cancel_event,
        )
        .acts_as(ACTS_AS)
        .errors(&[FORBIDDEN, NOT_FOUND]),
        Operation::new(
            Method::DELETE,
            "/events/{eventId}",
            "Delete Event",
            feature,
            INVALID,
            delete::delete_event,
        )
        .acts_as(ACTS_AS)
        .errors(&[FORBIDDEN, NOT_FOUND, DELETE_FAILED]),
    ]
}

fn answers() -> Vec<Operation> {
    let feature = "event";
    vec![
        Operation::new(
            Method::POST,
            "/events/{eventId}/rsvp",
            "Set RSVP",
            feature,
            INVALID,
            rsvp::set_rsvp,
        )
        .acts_as(ACTS_AS)
        .errors(&[NOT_FOUND, CANCELLED, RSVP_CLOSED, MAYBE_DISABLED, FULL]),
        Operation::new(
            Method::DELETE,
            "/events/{eventId}/rsvp",
            "Withdraw RSVP",
            feature,
            INVALID,
            rsvp::withdraw_rsvp,
        )
        .acts_as(ACTS_AS)
        .errors(&[NOT_FOUND]),
        Operation::new(
            Method::GET,
            "/events/{eventId}/rsvps",
            "Fetch Event RSVPs",
            feature,
            INVALID,
            rsvp::fetch_rsvps,
        )
        .errors(&[NOT_FOUND, GUEST_LIST_HIDDEN]),
    ]
}

fn people() -> Vec<Operation> {
    let (post, delete, feature) = (Method::POST, Method::DELETE, "event");
    let (hosts, invites) = ("/events/{eventId}/hosts", "/events/{eventId}/invites");
    let added: &[Fault] = &[FORBIDDEN, NOT_FOUND, USER_NOT_FOUND];
    let operations = vec![
        Operation::new(post.clone(), hosts, "Add Host", feature, INVALID, hosts::add_host)
            .errors(added),
        Operation::new(delete.clone(), hosts, "Remove Host", feature, INVALID, hosts::remove_host)
            .errors(&[FORBIDDEN, NOT_FOUND, LAST_HOST]),
        Operation::new(post, invites, "Add Invite", feature, INVALID, invites::add_invite)
            .errors(added),
        Operation::new(delete, invites, "Remove Invite", feature, INVALID, invites::remove_invite)
            .errors(&[FORBIDDEN, NOT_FOUND]),
        Operation::new(
            Method::GET,
            invites,
            "Fetch Invitees",
            feature,
            INVALID,
            invites::fetch_invitees,
        )
        .errors(&[FORBIDDEN, NOT_FOUND]),
    ];
    operations.into_iter().map(|one| one.acts_as(ON_BEHALF)).collect()
}
