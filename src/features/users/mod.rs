//! Users: profiles. Sign-in and sessions are in `features/auth`.

mod by_foreign_id;
mod check_username;
pub mod events;
pub(crate) mod fetch;
pub mod model;
pub mod own;
pub mod pictures;
pub mod related;
pub mod reputation;
mod row;
pub mod rules;
pub mod store;
mod suggestions;
mod update;

pub(crate) use fetch::UserPath;

use http::Method;

pub use crate::auth::store::sessions::USER_NOT_FOUND as NOT_FOUND;
use crate::error::faults;
use crate::features::files::uploads::{UploadFaults, not_an_image};
use crate::features::users::pictures::PictureFaults;
use crate::http::input::Invalid;
use crate::http::multipart::Form;
use crate::http::operation::Operation;

faults! {
    pub DUPLICATE_EMAIL = 409 "DUPLICATE_EMAIL": "A user with this email exists already";
    pub DUPLICATE_USERNAME = 409 "DUPLICATE_USERNAME": "This username is taken";
    pub DUPLICATE_USER_FIELD = 409 "DUPLICATE_USER_FIELD": "Another user has this value";
    pub INVALID_PARAMS = 400 "user/invalid-params": "Invalid user id";
    pub INVALID_QUERY = 400 "user/invalid-query": "Invalid query";
    INVALID_BODY = 400 "user/invalid-body": "Invalid body";
    INVALID_USER_ID = 400 "user/invalid-user-id": "Invalid user id";
    INVALID_IDENTIFIER = 400 "user/invalid-identifier": "Invalid identifier";
    MISSING_DATA = 400 "user/missing-data": "There is nothing to update";
    VALIDATION_FAILED = 400 "user/validation-failed": "User validation failed";
    NOT_AUTHORIZED = 403 "user/not-authorized": "Only the user may change this profile";

    MISSING_IMAGE_OPTIONS = 400 "user/missing-image-options":
        "An image needs its options, and they need a mode";
    FILE_TOO_LARGE = 413 "user/file-too-large": "The image exceeds 50MB limit.";
    INVALID_IMAGE = 422 "user/invalid-image": "The file is not a valid image";
}

const PICTURES: PictureFaults = PictureFaults {
    missing_options: MISSING_IMAGE_OPTIONS,
    uploads: UploadFaults {
        invalid_image: |name, why| not_an_image(INVALID_IMAGE, name, why),
        invalid_options: INVALID_BODY,
    },
};
static FORM: Form = pictures::form(&const { pictures::fields(FILE_TOO_LARGE, INVALID_BODY) });

pub const INVALID: Invalid = Invalid {
    params: INVALID_PARAMS,
    query: INVALID_QUERY,
    v6_params: Some(INVALID_USER_ID),
    ..Invalid::all(INVALID_BODY)
};

pub fn operations() -> Vec<Operation> {
    use crate::tenancy::TABLES_NOT_AVAILABLE;
    let (get, patch) = (Method::GET, Method::PATCH);
    let by_identifier = Invalid { v6_query: Some(INVALID_IDENTIFIER), ..INVALID };
    let username = check_username::INVALID;
    vec![
        Operation::new(
            get.clone(),
            "/users/suggestions",
            "Fetch User Suggestions",
            "user",
            INVALID,
            suggestions::fetch_suggestions,
        )
        .errors(&[TABLES_NOT_AVAILABLE]),
        Operation::new(
            get.clone(),
            "/users/check-username",
            "Check Username Availability",
            "username",
            username,
            check_username::check_username,
        ),
        Operation::new(
            get.clone(),
            "/users/by-foreign-id",
            "Fetch User by Foreign ID",
            "user",
            by_identifier,
            by_foreign_id::fetch_by_foreign_id,
        )
        .errors(&[NOT_FOUND, TABLES_NOT_AVAILABLE, DUPLICATE_USERNAME, VALIDATION_FAILED]),
        Operation::new(
            get.clone(),
            "/users/by-username",
            "Fetch User by Username",
            "user",
            INVALID,
            fetch::fetch_by_username,
        )
        .errors(&[NOT_FOUND, TABLES_NOT_AVAILABLE]),
        Operation::new(get, "/users/{userId}", "Fetch User", "user", INVALID, fetch::fetch_user)
            .errors(&[NOT_FOUND, TABLES_NOT_AVAILABLE]),
        Operation::new(
            patch,
            "/users/{userId}",
            "Update User",
            "user",
            INVALID,
            update::update_user,
        )
        .takes_files(&FORM)
        .open_to_suspended()
        .no_store()
        .errors(&[
            VALIDATION_FAILED,
            NOT_FOUND,
            NOT_AUTHORIZED,
            MISSING_DATA,
            MISSING_IMAGE_OPTIONS,
            INVALID_IMAGE,
            DUPLICATE_USERNAME,
        ]),
    ]
}
