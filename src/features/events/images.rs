//! The images of an event: one cover, and a gallery. They belong to the event, not to the host who sent them.

use images::{MissingKey, Options};
use schemars::{JsonSchema, SchemaGenerator};
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::error::{Error, Result};
use crate::features::events::{
    FILE_TOO_LARGE, FILES_IMAGES_BUNDLE_REQUIRED, INVALID_BODY, INVALID_IMAGE,
    INVALID_REMOVE_IMAGE_IDS,
};
use crate::features::files::holders::Holder;
use crate::features::files::rules::PathParts;
use crate::features::files::uploads::{
    self, Images, Prepared, Upload, UploadFaults, Wanted, not_an_image,
};
use crate::http::input::{Body, Input, InputDoc, body_value};
use crate::http::multipart::{FileField, Form, MAX_FILE, Uploads};
use crate::http::operation::CheckedRequest;
use crate::state::App;
use crate::values::ids::{EventId, FileId, ProjectId};
use crate::values::time::Timestamp;

const COVER: FileField = FileField {
    name: "cover",
    most: 1,
    largest: MAX_FILE,
    called: Some("Cover"),
    too_large: FILE_TOO_LARGE,
    too_many: INVALID_BODY,
};
const GALLERY: FileField = FileField { name: "gallery", most: 10, called: Some("Image"), ..COVER };

pub(super) static FORM: Form = Form {
    json: &["location", "hostIds", "metadata", "capacity", "cover.options", "gallery.options"],
    flags: &["allowMaybe", "guestListVisible"],
    cleared: &["description", "endTime", "timezone", "url", "venueName", "address"],
    files: &[COVER, GALLERY],
    only: false,
    without_bundle: Some(FILES_IMAGES_BUNDLE_REQUIRED),
};

const FAULTS: UploadFaults = UploadFaults {
    invalid_image: |name, why| not_an_image(INVALID_IMAGE, name, why),
    invalid_options: INVALID_BODY,
};

#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(rename = "EventImageOptions")]
struct OptionsFields {
    #[serde(rename = "cover.options")]
    cover: Option<Map<String, Value>>,
    #[serde(rename = "gallery.options")]
    gallery: Option<Map<String, Value>>,
}

/// Images of one field with validated options.
#[derive(Debug)]
struct Sent {
    uploads: Vec<Upload>,
    options: Options,
    under: Option<PathParts>,
}

/// The images of a request.
#[derive(Debug)]
pub(super) struct EventImages {
    cover: Option<Sent>,
    gallery: Option<Sent>,
}

impl Input for EventImages {
    fn extract(request: &CheckedRequest) -> Result<Self> {
        let mut uploads = Uploads::extract(request)?;
        let Body(options) = Body::<OptionsFields>::extract(request)?;
        Ok(EventImages {
            cover: Sent::new(&COVER, uploads.take(COVER.name), options.cover.as_ref())?,
            gallery: Sent::new(&GALLERY, uploads.take(GALLERY.name), options.gallery.as_ref())?,
        })
    }

    fn describe(doc: &mut InputDoc, generator: &mut SchemaGenerator) {
        Body::<OptionsFields>::describe(doc, generator);
    }
}

impl Sent {
    fn new(
        field: &FileField,
        uploads: Vec<Upload>,
        options: Option<&Map<String, Value>>,
    ) -> Result<Option<Self>> {
        if uploads.is_empty() {
            return Ok(None);
        }
        let name = field.name;
        let options =
            options.ok_or_else(|| INVALID_BODY.because(format!("{name} needs {name}.options")))?;
        let wrong = || INVALID_BODY.because("pathParts must be an array of strings");
        let under = options.get("pathParts").map(|parts| PathParts::parse(parts).ok_or_else(wrong));
        let parsed = Options::parse(options, MissingKey::NoVariants);
        let options = parsed.map_err(|why| INVALID_BODY.because(why))?;
        Ok(Some(Sent { uploads, options, under: under.transpose()? }))
    }

    fn wanted(self, event: EventId, position: i64) -> Wanted {
        let by_default = || PathParts::of(&["events", &event.to_string()]);
        let under = self.under.unwrap_or_else(by_default);
        Wanted {
            holder: Holder::Event(event),
            owner: None,
            images: Some(Images { uploads: self.uploads, options: self.options, under }),
            files: None,
            position,
            metadata: Map::new(),
            faults: FAULTS,
        }
    }
}

impl EventImages {
    pub(super) fn is_empty(&self) -> bool {
        self.cover.is_none() && self.gallery.is_none()
    }

    /// Processes the images and stores their bytes; the caller writes the rows. The gallery goes on at a position.
    pub(super) async fn prepare(
        self,
        app: &App,
        project: ProjectId,
        event: EventId,
        position: i64,
        now: Timestamp,
    ) -> Result<StoredImages> {
        let has_cover = self.cover.is_some();
        let cover = self.cover.map(|sent| sent.wanted(event, 0));
        let gallery = self.gallery.map(|sent| sent.wanted(event, position));
        let wanted: Vec<Wanted> = cover.into_iter().chain(gallery).collect();
        let prepared = uploads::prepare_all(app, project, &wanted, now).await?;
        Ok(StoredImages { prepared, has_cover })
    }
}

/// Images whose bytes are stored and whose rows are not.
#[derive(Debug, Default, Clone)]
pub(super) struct StoredImages {
    /// The cover first.
    pub(super) prepared: Prepared,
    has_cover: bool,
}

impl StoredImages {
    pub(super) fn cover(&self) -> Option<FileId> {
        self.prepared.rows().first().filter(|_| self.has_cover).map(|row| row.id)
    }
}

/// `removeImageIds`: a list, or JSON text of one in a form.
#[derive(Debug, Clone)]
pub(super) struct RemovedImages(pub(super) Vec<FileId>);

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "EventImageRemoval")]
#[expect(dead_code, reason = "for the document alone")]
struct RemovalField {
    remove_image_ids: Option<Vec<FileId>>,
}

impl Input for RemovedImages {
    fn extract(request: &CheckedRequest) -> Result<Self> {
        let sent = body_value(request)?.get("removeImageIds");
        let ids = match sent {
            None | Some(Value::Null) => Ok(Vec::new()),
            Some(Value::String(text)) => serde_json::from_str(text),
            Some(other) => Vec::deserialize(other),
        };
        ids.map(RemovedImages).map_err(|_| Error::from(INVALID_REMOVE_IMAGE_IDS))
    }

    fn describe(doc: &mut InputDoc, generator: &mut SchemaGenerator) {
        Body::<RemovalField>::describe(doc, generator);
    }
}
