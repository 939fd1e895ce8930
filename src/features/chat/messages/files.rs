//! The files attached to a message; they are stored as they are.

use serde_json::Map;

use crate::error::Result;
use crate::features::chat::{FILE_TOO_LARGE, INVALID_BODY, TOO_MANY_FILES};
use crate::features::files::holders::Holder;
use crate::features::files::rules::PathParts;
use crate::features::files::uploads::{
    self, Files, Prepared, Upload, UploadFaults, Wanted, not_an_image,
};
use crate::http::multipart::{FileField, Form, MAX_FILE};
use crate::state::App;
use crate::values::ids::{ChatMessageId, ConversationId, ProjectId, UserId};
use crate::values::time::Timestamp;

pub(super) const FILES: FileField = FileField {
    name: "files",
    most: 10,
    largest: MAX_FILE,
    called: Some("File"),
    too_large: FILE_TOO_LARGE,
    too_many: TOO_MANY_FILES,
};

pub(super) static FORM: Form = Form {
    json: &["gif", "mentions", "metadata"],
    flags: &[],
    cleared: &[],
    files: &[FILES],
    only: false,
    without_bundle: None,
};

const FAULTS: UploadFaults = UploadFaults {
    invalid_image: |name, why| not_an_image(INVALID_BODY, name, why),
    invalid_options: INVALID_BODY,
};

/// Stores the bytes; the caller writes the rows.
pub(super) async fn prepare(
    app: &App,
    project: ProjectId,
    uploads: Vec<Upload>,
    (conversation, message, author): (ConversationId, ChatMessageId, UserId),
    now: Timestamp,
) -> Result<Prepared> {
    let (conversation, id) = (conversation.to_string(), message.to_string());
    let under = PathParts::of(&["chat", &conversation, &id]);
    let wanted = Wanted {
        holder: Holder::Message(message),
        owner: Some(author),
        images: None,
        files: Some(Files { uploads, under }),
        position: 0,
        metadata: Map::new(),
        faults: FAULTS,
    };
    uploads::prepare(app, project, wanted, now).await
}
