//! Update Comment: its author or a key changes the text and the metadata only.

use db::JsonText;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::auth::caller::UserOrKey;
use crate::auth::perspective::Perspective;
use crate::error::Result;
use crate::features::comments::model::Comment;
use crate::features::comments::show::View;
use crate::features::comments::{
    CommentPath, FORBIDDEN, INVALID_BODY, NOT_FOUND, store, visibility,
};
use crate::features::entities::rules::Content;
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
    let (project, now) = (call.project.clone(), call.now);
    let updated = call.app.db.write(move |tx| {
        let found = store::find_for_update(tx, project.id, path.comment_id)?;
        let there = found.filter(|row| row.user_deleted_at.is_none());
        let mut row = visibility::seen(tx, &project, there, perspective)?.ok_or(NOT_FOUND)?;
        if !perspective.is_key() && !row.is_by(perspective) {
            return Err(FORBIDDEN.into());
        }
        row.content = content.clone().or(row.content);
        row.metadata = metadata.clone().unwrap_or(row.metadata);
        row.updated_at = now;
        store::update(tx, project.id, &row)?;
        view.comment(tx, row)
    });
    updated.await.map(Json)
}
