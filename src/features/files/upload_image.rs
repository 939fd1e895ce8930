//! Upload Image: stores an image and its variants, by the options in the form.

use std::collections::BTreeMap;

use images::{MissingKey, Options};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::auth::caller::ActorOrKey;
use crate::error::{Error, Result};
use crate::features::files::holders;
use crate::features::files::model::{ImageFacts, Variant};
use crate::features::files::rules::{FileType, PathParts};
use crate::features::files::store::FileRow;
use crate::features::files::upload_file::Attached;
use crate::features::files::uploads::{self, Images, Wanted};
use crate::features::files::{FAULTS, FILE_FIELD, INVALID_BODY, INVALID_PATH_PARTS, NO_FILE};
use crate::http::input::Body;
use crate::http::multipart::{Form, Uploads};
use crate::http::operation::Call;
use crate::http::reply::Created;
use crate::storage::signed::Links;
use crate::values::ids::FileId;
use crate::values::time::Timestamp;

pub(super) static FORM: Form = Form {
    json: &[
        "dimensions",
        "widths",
        "heights",
        "sizes",
        "aspectRatio",
        "aspectRatios",
        "quality",
        "stripExif",
    ],
    flags: &[],
    cleared: &[],
    files: &[FILE_FIELD],
    only: true,
    without_bundle: None,
};

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct NewImage {
    /// An array of strings, as JSON text.
    path_parts: Option<Value>,
    #[serde(flatten)]
    attached: Attached,
    /// `mode`, the keys of that mode, `fit`, `quality`, `format`, `stripExif`.
    #[serde(flatten)]
    options: Map<String, Value>,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct StoredImage {
    file_id: FileId,
    image_id: FileId,
    r#type: FileType,
    status: &'static str,
    /// The signed address of the stored original.
    original_path: String,
    original_size: i64,
    original_width: u32,
    original_height: u32,
    original: Variant,
    variants: BTreeMap<String, Variant>,
    metadata: Processing,
    format: String,
    quality: u8,
    created_at: Timestamp,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "ImageProcessing")]
struct Processing {
    original_format: String,
    original_size: i64,
    exif_stripped: bool,
    /// Milliseconds.
    processing_time: u64,
}

pub(super) async fn upload_image(
    call: Call<ActorOrKey>,
    (Body(new), mut sent): (Body<NewImage>, Uploads),
) -> Result<Created<StoredImage>> {
    let (app, project, now) = (&call.app, call.project.id, call.now);
    let upload = sent.take_one(FILE_FIELD.name).ok_or(NO_FILE)?;
    let options = Options::parse(&new.options, MissingKey::Refused);
    let options = options.map_err(|why| INVALID_BODY.because(why))?;
    let under = match &new.path_parts {
        Some(parts) => PathParts::parse(parts).ok_or(INVALID_PATH_PARTS)?,
        None => PathParts::of(&["images"]),
    };
    let (caller, holder) = (call.caller, new.attached.holder()?);
    let (state, of) = (app.clone(), call.project.clone());
    app.db.read(move |c| holders::may_attach(&state, c, &of, caller, holder)).await?;

    let started = app.clock.uptime();
    let wanted = Wanted {
        holder,
        owner: caller.user(),
        images: Some(Images { uploads: vec![upload], options, under }),
        files: None,
        position: 0,
        metadata: Map::new(),
        faults: FAULTS,
    };
    let prepared = uploads::prepare(app, project, wanted, now).await?;
    let took = app.clock.uptime().saturating_sub(started);
    let (state, rows, of) = (app.clone(), prepared.clone(), call.project.clone());
    let written = app.db.write(move |tx| {
        // Checked again inside the transaction.
        holders::may_attach(&state, tx, &of, caller, holder)?;
        uploads::insert(tx, project, &rows)
    });
    uploads::settle(app, project, &prepared, written.await, now).await?;
    let took = u64::try_from(took.as_millis()).unwrap_or(u64::MAX);
    shown(&call.links(), prepared.one()?, took).map(Created)
}

fn shown(links: &Links, row: FileRow, processing_time: u64) -> Result<StoredImage> {
    let facts = ImageFacts::of(&row)?.ok_or_else(|| Error::internal("an image without facts"))?;
    Ok(StoredImage {
        file_id: row.id,
        image_id: row.id,
        r#type: FileType::of(&row.mime),
        status: "completed",
        original_path: links.url(&row.path),
        original_size: row.size,
        original_width: facts.width,
        original_height: facts.height,
        original: facts.original.shown(links),
        variants: facts.variants.iter().map(|(n, one)| (n.clone(), one.shown(links))).collect(),
        metadata: Processing {
            original_format: facts.source.clone(),
            original_size: row.size,
            exif_stripped: facts.exif_stripped,
            processing_time,
        },
        format: facts.format,
        quality: facts.quality,
        created_at: row.created_at,
    })
}
