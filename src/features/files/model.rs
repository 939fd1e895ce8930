//! Files as the API shows them, and the stored facts about an image.

use std::collections::BTreeMap;

use db::JsonText;
use images::{Encoding, Options, Output, Processed};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::error::{Error, Result};
use crate::features::files::rules::FileType;
use crate::features::files::store::FileRow;
use crate::storage::signed::Links;
use crate::values::ids::{
    ChatMessageId, CommentId, EntityId, EventId, FileId, ProjectId, SpaceId, UserId,
};
use crate::values::random::hex;
use crate::values::time::Timestamp;

#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct File {
    pub id: FileId,
    pub project_id: ProjectId,
    /// Null for a file of the project itself.
    pub user_id: Option<UserId>,
    pub entity_id: Option<EntityId>,
    pub comment_id: Option<CommentId>,
    pub chat_message_id: Option<ChatMessageId>,
    pub space_id: Option<SpaceId>,
    pub event_id: Option<EventId>,
    pub r#type: FileType,
    /// The signed address of the stored original.
    pub original_path: String,
    /// Bytes as uploaded.
    pub original_size: i64,
    pub original_mime_type: String,
    pub position: i64,
    pub metadata: Map<String, Value>,
    /// Only of a file that was processed as an image.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub image: Option<FileImage>,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
}

#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FileImage {
    pub file_id: FileId,
    pub original_width: u32,
    pub original_height: u32,
    pub variants: BTreeMap<String, Variant>,
    pub processing_status: ProcessingStatus,
    pub processing_error: Option<String>,
    /// As requested: `webp`, `jpeg`, `png` or `original`.
    pub format: String,
    pub quality: u8,
    pub exif_stripped: bool,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
}

/// An image is stored only when all variants are done, and refused otherwise.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ProcessingStatus {
    Completed,
}

#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "ImageVariant")]
pub struct Variant {
    /// Stored path below the project.
    pub path: String,
    /// Its signed address.
    pub public_path: String,
    pub width: u32,
    pub height: u32,
    pub size: u64,
    /// As written: `webp`, `jpeg` or `png`.
    pub format: String,
}

/// The JSON in the row of an image.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ImageFacts {
    pub width: u32,
    pub height: u32,
    /// The format of the upload.
    pub source: String,
    pub format: String,
    pub quality: u8,
    pub exif_stripped: bool,
    pub original: StoredVariant,
    pub variants: BTreeMap<String, StoredVariant>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct StoredVariant {
    pub path: String,
    pub width: u32,
    pub height: u32,
    pub size: u64,
    pub format: String,
    /// None for images older than the column `sha256`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sha256: Option<String>,
}

impl ImageFacts {
    /// `path_of` gives the path of each output; `None` stands for the original.
    pub fn new(
        options: &Options,
        processed: &Processed,
        path_of: impl Fn(Option<&str>, Encoding) -> String,
    ) -> Self {
        let stored = |name: Option<&str>, output: &Output| StoredVariant {
            path: path_of(name, output.encoding),
            width: output.width,
            height: output.height,
            size: output.size,
            format: output.encoding.name().to_owned(),
            sha256: Some(hex(&output.sha256)),
        };
        let variants = processed.variants.iter();
        ImageFacts {
            width: processed.width,
            height: processed.height,
            source: processed.source_format.to_owned(),
            format: options.format().name().to_owned(),
            quality: options.quality(),
            exif_stripped: options.strips_exif(),
            original: stored(None, &processed.original),
            variants: variants.map(|(name, one)| (name.clone(), stored(Some(name), one))).collect(),
        }
    }

    pub fn of(row: &FileRow) -> Result<Option<Self>> {
        let read = |json: &JsonText| serde_json::from_str(&json.0).map_err(Error::internal);
        row.image.as_ref().map(read).transpose()
    }

    /// The original first.
    pub fn all(&self) -> impl Iterator<Item = &StoredVariant> {
        std::iter::once(&self.original).chain(self.variants.values())
    }
}

impl StoredVariant {
    pub fn shown(&self, links: &Links) -> Variant {
        Variant {
            path: self.path.clone(),
            public_path: links.url(&self.path),
            width: self.width,
            height: self.height,
            size: self.size,
            format: self.format.clone(),
        }
    }
}

/// A file with freshly signed addresses.
pub fn show(links: &Links, row: &FileRow) -> Result<File> {
    let image = ImageFacts::of(row)?.map(|facts| FileImage {
        file_id: row.id,
        original_width: facts.width,
        original_height: facts.height,
        variants: facts.variants.iter().map(|(n, one)| (n.clone(), one.shown(links))).collect(),
        processing_status: ProcessingStatus::Completed,
        processing_error: None,
        format: facts.format,
        quality: facts.quality,
        exif_stripped: facts.exif_stripped,
        created_at: row.created_at,
        updated_at: row.updated_at,
    });
    Ok(File {
        id: row.id,
        project_id: links.project,
        user_id: row.user_id,
        entity_id: row.entity_id,
        comment_id: row.comment_id,
        chat_message_id: row.chat_message_id,
        space_id: row.space_id,
        event_id: row.event_id,
        r#type: FileType::of(&row.mime),
        original_path: links.url(&row.path),
        original_size: row.size,
        original_mime_type: row.mime.clone(),
        position: row.position,
        metadata: serde_json::from_str(&row.metadata.0).map_err(Error::internal)?,
        image,
        created_at: row.created_at,
        updated_at: row.updated_at,
    })
}
