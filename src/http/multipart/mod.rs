//! Forms with files. An operation that takes them declares a [`Form`]: which text fields hold JSON, which are
//! booleans, and which fields hold files. The texts become the same JSON object as a JSON body, and are read
//! by the same types; the files are staged.

mod file;
mod head;
mod parser;
mod read;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use schemars::SchemaGenerator;
use serde_json::{Map, Value, json};

use crate::error::{Fault, Result};
use crate::http::input::{Input, InputDoc};
use crate::http::operation::CheckedRequest;
use crate::storage::staging::Staged;

pub(super) use read::{ReadForm, read_form};

/// The largest file: 50 MB, as the contract counts them.
pub const MAX_FILE: u64 = 52_428_800;

/// How an operation reads a `multipart/form-data` body. Other text fields are strings.
#[derive(Debug)]
pub struct Form {
    /// Text fields that hold JSON.
    pub json: &'static [&'static str],
    /// Text fields that are `true` or `false`.
    pub flags: &'static [&'static str],
    /// Text fields that are cleared by an empty text.
    pub cleared: &'static [&'static str],
    pub files: &'static [FileField],
    /// Whether a file is always required, so that JSON is not accepted.
    pub only: bool,
    /// The error for a file in a project without the bundle for files, if not the general one.
    pub without_bundle: Option<Fault>,
}

#[derive(Debug, Clone, Copy)]
pub struct FileField {
    pub name: &'static str,
    /// How many parts of this name there may be.
    pub most: usize,
    /// Bytes of one file.
    pub largest: u64,
    /// The name of the file in a refusal, as in `Image "x.png" exceeds 50MB limit.`; without it the fault's
    /// own text is used.
    pub called: Option<&'static str>,
    pub too_large: Fault,
    pub too_many: Fault,
}

impl Form {
    pub fn faults(&self) -> impl Iterator<Item = Fault> {
        let of_files = self.files.iter().flat_map(|field| [field.too_large, field.too_many]);
        of_files.chain(self.without_bundle)
    }

    /// The file fields as OpenAPI shows them, with those of the body.
    pub fn schema(&self, body: &Value) -> Value {
        let file = json!({ "type": "string", "contentMediaType": "application/octet-stream" });
        let fields = self.files.iter().map(|field| {
            let many = json!({ "type": "array", "maxItems": field.most, "items": file });
            (field.name.to_owned(), if field.most == 1 { file.clone() } else { many })
        });
        // Options of a file, which no JSON body has.
        let options = self.json.iter().filter(|name| name.contains('.')).map(|name| {
            (
                (*name).to_owned(),
                json!({ "type": "string", "contentMediaType": "application/json" }),
            )
        });
        let properties = Map::from_iter(fields.chain(options));
        let files = json!({ "type": "object", "properties": properties });
        json!({ "allOf": [body, files] })
    }
}

/// One staged file of a form. It exists as long as this value does.
#[derive(Debug, Clone)]
pub struct Upload {
    pub field: &'static str,
    /// The client's file name: any text, or empty.
    pub file_name: String,
    /// The client's media type, if valid.
    pub mime: String,
    pub size: u64,
    /// SHA-256 of the bytes, in lower-case hex.
    pub sha256: String,
    path: PathBuf,
    staged: Arc<Staged>,
}

impl Upload {
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The staging directory of the request, for files made from this one.
    pub fn staged(&self) -> &Arc<Staged> {
        &self.staged
    }
}

/// The files of a form, in the order of their parts; empty for a JSON body.
#[derive(Debug, Clone, Default)]
pub struct Uploads(Vec<Upload>);

impl Uploads {
    /// Takes out the files of one field.
    pub fn take(&mut self, field: &str) -> Vec<Upload> {
        self.0.extract_if(.., |upload| upload.field == field).collect()
    }

    /// Takes out the file of a field that may have one.
    pub fn take_one(&mut self, field: &str) -> Option<Upload> {
        self.take(field).pop()
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl Input for Uploads {
    fn extract(request: &CheckedRequest) -> Result<Self> {
        Ok(request.uploads.clone())
    }

    /// The fields are the form's own, which the operation declares.
    fn describe(_: &mut InputDoc, _: &mut SchemaGenerator) {}
}
