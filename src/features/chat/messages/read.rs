//! Mark as Read.

use schemars::JsonSchema;
use serde::Deserialize;

use crate::auth::caller::Actor;
use crate::error::{Error, Result};
use crate::features::chat::events::Done;
use crate::features::chat::members::store as members;
use crate::features::chat::{InConversation, membership};
use crate::http::input::{Body, Path};
use crate::http::operation::Call;
use crate::http::reply::Json;
use crate::values::ids::ChatMessageId;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct ReadUpTo {
    message_id: ChatMessageId,
}

pub(super) async fn mark(
    call: Call<Actor>,
    (Path(path), Body(body)): (Path<InConversation>, Body<ReadUpTo>),
) -> Result<Json<Done>> {
    let (project, actor, now) = (call.project.id, call.caller.user, call.now);
    let marked = call.app.db.write(move |tx| {
        let standing = membership::participant(tx, project, path.conversation_id, actor)?;
        let row = membership::message(tx, project, &standing, body.message_id)?;
        members::read_up_to(tx, project, &standing.member, row.created_at, now)?;
        Ok::<_, Error>(())
    });
    marked.await?;
    Ok(Json(Done { message: "Marked as read" }))
}
