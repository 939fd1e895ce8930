//! Delete Comment: v6 hides it, later versions leave a placeholder. Replies stay and are marked at every
//! depth.

pub mod mark_replies;
pub mod purge;

use http::Method;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::auth::caller::UserOrKey;
use crate::auth::perspective::Perspective;
use crate::domain_events::{self, Context};
use crate::error::Result;
use crate::features::comments::events::DELETED;
use crate::features::comments::store::{self, Counted};
use crate::features::comments::{
    ALREADY_DELETED, CommentPath, INVALID, MISSING_COMMENT_ID, NOT_AUTHORIZED, NOT_FOUND, POINTS,
    visibility,
};
use crate::features::entities;
use crate::features::files::purge as purge_files;
use crate::features::notifications;
use crate::features::users::reputation;
use crate::http::input::{Invalid, Path};
use crate::http::operation::{Call, Operation};
use crate::http::reply::NoContent;
use crate::http::version::Version;
use crate::tenancy::keys::KeyKind;
use crate::values::ids::{JobId, new_id};

use mark_replies::Marking;

pub(super) fn operations() -> Vec<Operation> {
    let (delete, feature) = (Method::DELETE, "comment");
    // A malformed id gets the same reply as a missing one.
    let no_id = Invalid { params: MISSING_COMMENT_ID, ..INVALID };
    vec![
        Operation::new(
            delete.clone(),
            "/comments/{commentId}",
            "Delete Comment",
            feature,
            no_id,
            delete_comment,
        )
        .errors(&[NOT_AUTHORIZED, NOT_FOUND, ALREADY_DELETED]),
        Operation::new(
            delete,
            "/comments",
            "Delete Comment without an ID",
            feature,
            no_id,
            delete_nothing,
        ),
    ]
}

/// The path without an id.
#[derive(Debug, Deserialize, JsonSchema)]
struct NoPath {}

async fn delete_nothing(_: Call<UserOrKey>, Path(_): Path<NoPath>) -> Result<NoContent> {
    Err(MISSING_COMMENT_ID.into())
}

async fn delete_comment(call: Call<UserOrKey>, Path(path): Path<CommentPath>) -> Result<NoContent> {
    let id = path.comment_id;
    let perspective = Perspective::from(&call.caller);
    let is_v6 = call.version == Version::V6;
    let may_as_key = match call.caller {
        UserOrKey::Key(kind) => !is_v6 || kind == KeyKind::Master,
        UserOrKey::User(_) => false,
    };
    let (app, project, now) = (call.app.clone(), call.project.clone(), call.now);
    let job = JobId(new_id(now, &call.app.random));
    let deleted = call.app.db.write(move |tx| -> Result<()> {
        // Lock order: the entity before its comments; their counts change together.
        let (entity, parent) = store::place(tx, project.id, id)?.ok_or(NOT_FOUND)?;
        entities::store::lock(tx, project.id, entity)?;
        // Then the parent, whose reply count changes; it is older.
        store::lock(tx, project.id, parent.as_slice())?;
        let found = store::find_for_update(tx, project.id, id)?;
        let row = visibility::seen(tx, &project, found, perspective)?.ok_or(NOT_FOUND)?;
        if !may_as_key && !row.is_by(perspective) {
            return Err(NOT_AUTHORIZED.into());
        }
        if row.user_deleted_at.is_some() {
            let gone = if is_v6 { NOT_FOUND } else { ALREADY_DELETED };
            return Err(gone.into());
        }
        // Nobody else has seen what a rule holds: it leaves no placeholder, and it was not counted.
        let is_held = row.moderation.is_held_new();
        if is_v6 || is_held {
            store::hide(tx, project.id, id, now)?;
        } else {
            store::empty(tx, project.id, id, now)?;
        }
        purge_files::delete_of_comments(tx, project.id, &[id], now)?;
        let listed = if is_v6 { -1 } else { 0 };
        let live = -i64::from(row.is_counted());
        if !is_held {
            store::count(tx, project.id, &row, Counted { live, direct: -1, listed })?;
        }
        let marking = Marking { comment: id, entity, at: now };
        mark_replies::mark_or_enqueue(tx, project.id, marking, job)?;
        // Lock order: a reply before its author.
        if let Some(author) = row.user_id {
            reputation::award(tx, &project, author, row.space_id, -POINTS)?;
        }
        let context = Context { app: &app, project: &project, now };
        if !is_held {
            domain_events::happened(tx, context, &DELETED, || DELETED.event(&(&row).into()))?;
        }
        notifications::store::hide::delete_of_comment(tx, project.id, entity, id)
    });
    deleted.await.map(|()| NoContent)
}
