//! Update Comment: its author or a key changes the text and the metadata only.

use db::{JsonText, Tx};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::auth::caller::UserOrKey;
use crate::auth::perspective::Perspective;
use crate::domain_events::{self, Context};
use crate::error::Result;
use crate::features::comments::events::UPDATED;
use crate::features::comments::model::Comment;
use crate::features::comments::show::View;
use crate::features::comments::write::screen::screen;
use crate::features::comments::{
    CommentPath, FORBIDDEN, INVALID_BODY, NOT_FOUND, store, visibility,
};
use crate::features::entities::rules::Content;
use crate::features::notifications::store::hide;
use crate::http::input::{Body, Path};
use crate::http::operation::Call;
use crate::http::reply::Json;
use crate::values::metadata::{Metadata, to_json};

#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct CommentUpdate {
    content: Option<Content>,
    /// Replaces the whole object.
    metadata: Option<Metadata>,
}

pub(super) async fn update_comment(
    call: Call<UserOrKey>,
    (Path(path), Body(update)): (Path<CommentPath>, Body<CommentUpdate>),
) -> Result<Json<Comment>> {
    if update.content.is_none() && update.metadata.is_none() {
        return Err(INVALID_BODY.because("content or metadata is required"));
    }
    let content = match update.content.map(Content::unless_blank) {
        Some(None) => return Err(INVALID_BODY.because("content: must not be empty")),
        content => content.flatten(),
    };
    let metadata = update.metadata.map(|metadata| JsonText(to_json(&metadata)));
    let perspective = Perspective::from(&call.caller);
    let view = View::written(&call, perspective, call.caller.user());
    let (app, project, now) = (call.app.clone(), call.project.clone(), call.now);
    let initiator = call.caller.user();
    let work = move |tx: &Tx<'_>| {
        let found = store::find_for_update(tx, project.id, path.comment_id)?;
        let there = found.filter(|row| row.user_deleted_at.is_none());
        let mut row = visibility::seen(tx, &project, there, perspective)?.ok_or(NOT_FOUND)?;
        if !perspective.is_key() && !row.is_by(perspective) {
            return Err(FORBIDDEN.into());
        }
        let before = (row.content.clone(), row.metadata.clone());
        row.content = content.clone().or(row.content);
        row.metadata = metadata.clone().unwrap_or(row.metadata);
        row.updated_at = now;
        store::update(tx, project.id, &row)?;
        if before.0 != row.content && !row.is_removed() {
            let context = Context { app: &app, project: &project, now };
            if let Some(moderation) = screen(tx, context, &row, true)? {
                store::hide_by_rule(tx, project.id, row.id, &moderation)?;
                hide::follow_comment(tx, project.id, row.entity_id, row.id)?;
                row.moderation = moderation;
            }
        }
        let changed = domain_events::changed([
            ("content", before.0 != row.content),
            ("metadata", before.1 != row.metadata),
            ("updatedAt", true),
        ]);
        Ok((view.comment(tx, row)?, changed))
    };
    let names = [UPDATED.name()];
    let updated =
        domain_events::write(&call.app, &call.project, &names, work, move |(comment, changed)| {
            // No event for what a rule holds.
            if comment.moderation_status.as_deref() == Some("held") {
                return Ok(None);
            }
            Ok(Some(UPDATED.event(comment)?.by(initiator).changing(changed)))
        });
    updated.await.map(|(comment, _)| Json(comment))
}
