//! Storage: files that users upload, the image variants made of them, and the signed addresses for reading
//! them. Other features store files through `uploads`.

mod delete;
mod fetch;
pub mod holders;
pub mod model;
mod processing;
pub mod purge;
mod read;
pub mod rules;
pub mod store;
mod upload_file;
mod upload_image;
pub mod uploads;

use http::Method;

use crate::auth::store::sessions::USER_NOT_FOUND;
use crate::error::faults;
use crate::features::files::uploads::UploadFaults;
use crate::http::input::Invalid;
use crate::http::multipart::{FileField, MAX_FILE};
use crate::http::operation::{ActsAs, Operation};
use crate::rate_limits::RateLimit;
use crate::tenancy::Bundle;

faults! {
    INVALID_PARAMS = 400 "storage/invalid-params": "Invalid file id";
    INVALID_QUERY = 400 "storage/invalid-query": "Invalid query";
    INVALID_BODY = 400 "storage/invalid-body": "Invalid body";
    NO_FILE = 400 "storage/no-file": "No file provided";
    INVALID_PATH_PARTS = 400 "storage/invalid-path-parts": "pathParts must be an array of strings";
    FILE_TOO_LARGE = 413 "storage/file-too-large": "File size exceeds the allowed limit of 50MB";
    INVALID_IMAGE = 422 "storage/invalid-image": "Invalid image file";
    pub UNAUTHORIZED = 403 "storage/unauthorized": "Unauthorized";
    FILE_NOT_FOUND = 404 "storage/file-not-found": "File not found";
    pub TARGET_NOT_FOUND = 404 "storage/target-not-found":
        "What the file is to be attached to was not found";
}

const INVALID: Invalid =
    Invalid { params: INVALID_PARAMS, query: INVALID_QUERY, ..Invalid::all(INVALID_BODY) };

const FILE_FIELD: FileField = FileField {
    name: "file",
    most: 1,
    largest: MAX_FILE,
    called: None,
    too_large: FILE_TOO_LARGE,
    too_many: INVALID_BODY,
};

const FAULTS: UploadFaults = UploadFaults {
    invalid_image: |_, _| INVALID_IMAGE.about_upload(INVALID_IMAGE.message),
    invalid_options: INVALID_BODY,
};

/// A key may upload for a user, or for the project itself.
const ACTS_AS: ActsAs = ActsAs {
    parameter: "userId",
    missing: INVALID_BODY,
    unknown: USER_NOT_FOUND,
    other: Some(UNAUTHORIZED),
};

pub fn operations() -> Vec<Operation> {
    let mut operations = vec![
        Operation::new(
            Method::POST,
            "/storage",
            "Upload File",
            "storage",
            INVALID,
            upload_file::upload_file,
        )
        .takes_files(&upload_file::FORM)
        .rate(RateLimit::per_5_minutes(10))
        .acts_as(ACTS_AS)
        .errors(&[NO_FILE, INVALID_PATH_PARTS, UNAUTHORIZED, TARGET_NOT_FOUND]),
        Operation::new(
            Method::POST,
            "/storage/images",
            "Upload Image",
            "storage",
            INVALID,
            upload_image::upload_image,
        )
        .takes_files(&upload_image::FORM)
        .rate(RateLimit::per_5_minutes(20))
        .acts_as(ACTS_AS)
        .errors(&[
            NO_FILE,
            INVALID_PATH_PARTS,
            UNAUTHORIZED,
            TARGET_NOT_FOUND,
            INVALID_IMAGE,
        ]),
        Operation::new(
            Method::GET,
            "/storage/{fileId}",
            "Fetch File",
            "storage",
            INVALID,
            fetch::fetch_file,
        )
        .errors(&[FILE_NOT_FOUND]),
        Operation::new(
            Method::DELETE,
            "/storage/{fileId}",
            "Delete File",
            "storage",
            INVALID,
            delete::delete_file,
        )
        .errors(&[FILE_NOT_FOUND, UNAUTHORIZED]),
    ];
    operations = operations.into_iter().map(|one| one.bundle(Bundle::FilesImages)).collect();
    operations.extend(read::operations());
    operations
}
