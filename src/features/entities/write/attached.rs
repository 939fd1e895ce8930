//! The files attached to a new entity: images, which are processed, and other files, which are stored as they
//! are.

use images::{MissingKey, Options};
use schemars::{JsonSchema, SchemaGenerator};
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::error::Result;
use crate::features::entities::store::EntityRow;
use crate::features::entities::{FILE_TOO_LARGE, INVALID_BODY, INVALID_IMAGE, TOO_MANY_FILES};
use crate::features::files::holders::Holder;
use crate::features::files::rules::PathParts;
use crate::features::files::uploads::{
    self, Files, Images, Prepared, Upload, UploadFaults, Wanted, not_an_image,
};
use crate::http::input::{Body, Input, InputDoc};
use crate::http::multipart::{FileField, Form, MAX_FILE, Uploads};
use crate::http::operation::CheckedRequest;
use crate::state::App;
use crate::values::ids::ProjectId;
use crate::values::time::Timestamp;

const IMAGES: FileField = FileField {
    name: "images.files",
    most: 10,
    largest: MAX_FILE,
    called: Some("Image"),
    too_large: FILE_TOO_LARGE,
    too_many: TOO_MANY_FILES,
};
const FILES: FileField = FileField { name: "files.files", called: Some("File"), ..IMAGES };

pub(super) static FORM: Form = Form {
    json: &[
        "attachments",
        "keywords",
        "mentions",
        "location",
        "metadata",
        "images.options",
        "files.options",
    ],
    flags: &["nsfw", "isDraft", "excludeUserId", "requireUser"],
    cleared: &[],
    files: &[IMAGES, FILES],
    only: false,
    without_bundle: None,
};

const FAULTS: UploadFaults = UploadFaults {
    invalid_image: |name, why| not_an_image(INVALID_IMAGE, name, why),
    invalid_options: INVALID_BODY,
};

#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(rename = "EntityFileOptions")]
struct OptionsFields {
    /// Image options; required with images.
    #[serde(rename = "images.options")]
    images: Option<Map<String, Value>>,
    /// `pathParts` alone.
    #[serde(rename = "files.options")]
    files: Option<Map<String, Value>>,
}

/// The files of a request, with validated options.
#[derive(Debug)]
pub(super) struct AttachedFiles {
    images: Vec<Upload>,
    image_options: Option<Options>,
    images_under: Option<PathParts>,
    files: Vec<Upload>,
    files_under: Option<PathParts>,
}

impl Input for AttachedFiles {
    fn extract(request: &CheckedRequest) -> Result<Self> {
        let mut uploads = Uploads::extract(request)?;
        let Body(options) = Body::<OptionsFields>::extract(request)?;
        let images = uploads.take(IMAGES.name);
        let image_options = match &options.images {
            Some(fields) if !images.is_empty() => {
                let parsed = Options::parse(fields, MissingKey::NoVariants);
                Some(parsed.map_err(|why| INVALID_BODY.because(why))?)
            }
            None if !images.is_empty() => {
                return Err(INVALID_BODY.because("images.files need images.options"));
            }
            _ => None,
        };
        Ok(AttachedFiles {
            images,
            image_options,
            images_under: under(options.images.as_ref())?,
            files: uploads.take(FILES.name),
            files_under: under(options.files.as_ref())?,
        })
    }

    fn describe(doc: &mut InputDoc, generator: &mut SchemaGenerator) {
        Body::<OptionsFields>::describe(doc, generator);
    }
}

/// The path from the options.
fn under(options: Option<&Map<String, Value>>) -> Result<Option<PathParts>> {
    let wrong = || INVALID_BODY.because("pathParts must be an array of strings");
    let parts = options.and_then(|options| options.get("pathParts"));
    parts.map(|parts| PathParts::parse(parts).ok_or_else(wrong)).transpose()
}

impl AttachedFiles {
    pub(super) fn is_empty(&self) -> bool {
        self.images.is_empty() && self.files.is_empty()
    }

    /// Processes the images and stores all bytes; the caller writes the rows.
    pub(super) async fn prepare(
        self,
        app: &App,
        project: ProjectId,
        entity: &EntityRow,
        now: Timestamp,
    ) -> Result<Prepared> {
        let id = entity.id.to_string();
        let by_default = || PathParts::of(&["entities", &id]);
        let images = self.image_options.map(|options| Images {
            uploads: self.images,
            options,
            under: self.images_under.unwrap_or_else(by_default),
        });
        let wanted = Wanted {
            holder: Holder::Entity(entity.id),
            owner: entity.user_id,
            images,
            files: Some(Files {
                uploads: self.files,
                under: self.files_under.unwrap_or_else(by_default),
            }),
            position: 0,
            metadata: Map::new(),
            faults: FAULTS,
        };
        uploads::prepare(app, project, wanted, now).await
    }
}
