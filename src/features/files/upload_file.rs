//! Upload File: stores any file unchanged, below the folders that the caller names.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::auth::caller::ActorOrKey;
use crate::error::Result;
use crate::features::files::holders::{self, Holder};
use crate::features::files::rules::{FileType, PathParts};
use crate::features::files::uploads::{self, Files, Wanted};
use crate::features::files::{FAULTS, FILE_FIELD, INVALID_BODY, INVALID_PATH_PARTS, NO_FILE};
use crate::http::input::Body;
use crate::http::multipart::{Form, Uploads};
use crate::http::operation::Call;
use crate::http::reply::Created;
use crate::values::ids::{CommentId, EntityId, EventId, FileId, SpaceId};
use crate::values::time::Timestamp;

pub(super) static FORM: Form = Form {
    json: &["position", "metadata"],
    flags: &[],
    cleared: &[],
    files: &[FILE_FIELD],
    only: true,
    without_bundle: None,
};

const MAX_METADATA: usize = 1024 * 1024;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct NewFile {
    /// An array of strings, as JSON text.
    path_parts: Option<Value>,
    #[serde(flatten)]
    attached: Attached,
    #[serde(default)]
    position: i64,
    #[serde(default)]
    metadata: Map<String, Value>,
}

/// What a file is attached to: at most one of these.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct Attached {
    entity_id: Option<EntityId>,
    comment_id: Option<CommentId>,
    space_id: Option<SpaceId>,
    event_id: Option<EventId>,
    /// For keys: the owner of the file; without it the file belongs to the project.
    #[expect(dead_code, reason = "read where callers are admitted; here for the document")]
    user_id: Option<String>,
}

impl Attached {
    pub(super) fn holder(&self) -> Result<Holder> {
        Holder::named(self.entity_id, self.comment_id, self.space_id, self.event_id)
    }
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct StoredFile {
    file_id: FileId,
    r#type: FileType,
    relative_path: String,
    public_path: String,
    size: i64,
    mime_type: String,
    created_at: Timestamp,
}

pub(super) async fn upload_file(
    call: Call<ActorOrKey>,
    (Body(new), mut sent): (Body<NewFile>, Uploads),
) -> Result<Created<StoredFile>> {
    let (app, project, now) = (&call.app, call.project.id, call.now);
    let under = new.path_parts.as_ref().and_then(PathParts::parse).ok_or(INVALID_PATH_PARTS)?;
    let upload = sent.take_one(FILE_FIELD.name).ok_or(NO_FILE)?;
    if serde_json::to_string(&new.metadata).map_or(true, |json| json.len() > MAX_METADATA) {
        return Err(INVALID_BODY.because("metadata must be at most 1 MiB of JSON"));
    }
    let (caller, holder) = (call.caller, new.attached.holder()?);
    let (state, of) = (app.clone(), call.project.clone());
    app.db.read(move |c| holders::may_attach(&state, c, &of, caller, holder)).await?;

    let wanted = Wanted {
        holder,
        owner: caller.user(),
        images: None,
        files: Some(Files { uploads: vec![upload], under }),
        position: new.position,
        metadata: new.metadata,
        faults: FAULTS,
    };
    let prepared = uploads::prepare(app, project, wanted, now).await?;
    let (state, rows, of) = (app.clone(), prepared.clone(), call.project.clone());
    let written = app.db.write(move |tx| {
        // Checked again inside the transaction.
        holders::may_attach(&state, tx, &of, caller, holder)?;
        uploads::insert(tx, project, &rows)
    });
    uploads::settle(app, project, &prepared, written.await, now).await?;

    let row = prepared.one()?;
    Ok(Created(StoredFile {
        file_id: row.id,
        r#type: FileType::of(&row.mime),
        public_path: call.links().url(&row.path),
        relative_path: row.path,
        size: row.size,
        mime_type: row.mime,
        created_at: row.created_at,
    }))
}
