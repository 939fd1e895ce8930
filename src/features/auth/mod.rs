//! Auth: sign-up, sign-in, sessions, email verification and account deletion.

mod delete_account;
pub mod events;
mod external;
mod guesses;
pub(crate) mod mails;
pub mod pages;
mod passwords;
mod refresh;
mod reset;
pub mod session;
mod sign_in;
mod sign_out;
mod sign_up;
pub mod store;
pub mod take_over;
pub(crate) mod verify_email;

use http::Method;

use crate::auth::caller::NO_USER_FOUND;
use crate::auth::credential::PROJECT_MISMATCH;
use crate::error::faults;
use crate::features::files::uploads::{UploadFaults, not_an_image};
use crate::features::users::pictures::{self, PictureFaults};
use crate::features::users::{self, DUPLICATE_EMAIL, DUPLICATE_USER_FIELD, DUPLICATE_USERNAME};
use crate::http::input::Invalid;
use crate::http::multipart::Form;
use crate::http::operation::{ActsAs, Operation};
use crate::rate_limits::RateLimit;

faults! {
    pub INVALID_BODY = 400 "auth/invalid-body": "Invalid body";
    pub VALIDATION_FAILED = 400 "auth/validation-failed": "User validation failed";
    MISSING_FIELDS = 400 "auth/missing-fields": "Required fields are missing";
    MISSING_JWT = 400 "auth/missing-jwt": "userJwt is required";
    INCOMPLETE_CREDENTIALS = 400 "auth/invalid-credentials": "email and password are required";
    NO_PASSWORD = 403 "auth/invalid-credentials": "This account has no password";
    pub MISSING_USER_ID = 400 "auth/missing-user-id": "A key must name the user with userId";
    UNAUTHORIZED = 403 "auth/unauthorized": "A token acts only for its own user";
    WRONG_PASSWORD = 401 "auth/wrong-password": "Wrong password";
    NOT_PASSWORD_AUTHENTICATED = 400 "auth/not-password-authenticated":
        "This account has no password";
    ALREADY_PASSWORD_AUTHENTICATED = 400 "auth/already-password-authenticated":
        "This account has a password already";
    NOT_PASSWORD_USER = 400 "auth/not-password-user": "This account has no password or no email";
    INVALID_RESET_TOKEN = 400 "auth/invalid-reset-token":
        "The reset token is unknown, used or expired";
    INVALID_OR_EXPIRED_TOKEN = 400 "auth/invalid-or-expired-token":
        "The token is unknown, used or expired";
    INVALID_OR_EXPIRED_CODE = 400 "auth/invalid-or-expired-code": "The code is wrong or expired";
    NO_EMAIL_ON_FILE = 400 "auth/no-email-on-file": "This account has no email";
    SIGN_OUT_FAILED = 500 "auth/sign-out-failed": "The session could not be ended";
    DEVICE_DEREGISTRATION_FAILED = 500 "auth/device-deregistration-failed":
        "The device could not be deregistered, and nobody was signed out";
    MISSING_KEYS = 403 "auth/missing-keys": "The project has no public key for external sign-in";
    INVALID_TOKEN = 403 "auth/invalid-token": "The token is not valid for this project";

    MISSING_IMAGE_OPTIONS = 400 "auth/missing-image-options":
        "An image needs its options, and they need a mode";
    FILE_TOO_LARGE = 413 "auth/file-too-large": "The image exceeds 50MB limit.";
    INVALID_IMAGE = 422 "auth/invalid-image": "The file is not a valid image";
}

const PICTURES: PictureFaults = PictureFaults {
    missing_options: MISSING_IMAGE_OPTIONS,
    uploads: UploadFaults {
        invalid_image: |name, why| not_an_image(INVALID_IMAGE, name, why),
        invalid_options: INVALID_BODY,
    },
};
static FORM: Form = pictures::form(&const { pictures::fields(FILE_TOO_LARGE, INVALID_BODY) });

const INVALID: Invalid = Invalid::all(INVALID_BODY);
const INVALID_OR_MISSING: Invalid = Invalid { v6_missing: Some(MISSING_FIELDS), ..INVALID };

/// A key acts as the user it names; a token may name only its own user.
const ACTS_AS: ActsAs = ActsAs {
    parameter: "userId",
    missing: MISSING_USER_ID,
    unknown: NO_USER_FOUND,
    other: Some(UNAUTHORIZED),
};

fn post<A, I, O, H, F>(
    path: &'static str,
    name: &'static str,
    invalid: Invalid,
    handler: H,
) -> Operation
where
    A: crate::http::access::Access,
    I: crate::http::input::Input,
    O: crate::http::reply::Reply,
    H: Fn(crate::http::operation::Call<A>, I) -> F + Copy + Send + Sync + 'static,
    F: Future<Output = crate::error::Result<O>> + Send,
{
    Operation::new(Method::POST, path, name, "auth", invalid, handler)
        .open_to_suspended()
        .no_store()
}

pub fn operations() -> Vec<Operation> {
    let mut operations = sessions();
    operations.extend(password_operations());
    operations.extend(address_and_account());
    operations
}

fn sessions() -> Vec<Operation> {
    let incomplete =
        Invalid { v6_body: Some(MISSING_FIELDS), ..Invalid::all(INCOMPLETE_CREDENTIALS) };
    let jwt = Invalid { v6_body: Some(MISSING_JWT), ..INVALID };
    let fifty = RateLimit::per_5_minutes(50);
    vec![
        post("/auth/sign-up", "Sign Up", INVALID_OR_MISSING, sign_up::sign_up)
            .rate(
                RateLimit::per_5_minutes(5)
                    .text("Too many sign up attempts, please wait 5 minutes"),
            )
            .takes_files(&FORM)
            .errors(&[
                VALIDATION_FAILED,
                DUPLICATE_EMAIL,
                DUPLICATE_USERNAME,
                DUPLICATE_USER_FIELD,
                MISSING_IMAGE_OPTIONS,
                INVALID_IMAGE,
            ]),
        post("/auth/sign-in", "Sign In", incomplete, sign_in::sign_in)
            .rate(
                RateLimit::per_5_minutes(25)
                    .text("Too many sign in attempts, please wait 5 minutes"),
            )
            .errors(&[NO_USER_FOUND, NO_PASSWORD, WRONG_PASSWORD]),
        post("/auth/sign-out", "Sign Out", INVALID, sign_out::sign_out)
            .rate(fifty.text("Too many sign out attempts, please wait 5 minutes"))
            .errors(&[SIGN_OUT_FAILED, DEVICE_DEREGISTRATION_FAILED]),
        post(
            "/auth/request-new-access-token",
            "Request New Access Token",
            INVALID,
            refresh::request_new_access_token,
        )
        .rate(fifty.text("Too many attempts to request a new access token, please wait 5 minutes"))
        .errors(refresh::FAULTS),
        post(
            "/auth/verify-external-user",
            "Verify External User",
            jwt,
            external::verify_external_user,
        )
        .rate(fifty)
        .errors(&[
            MISSING_KEYS,
            INVALID_TOKEN,
            PROJECT_MISMATCH,
            DUPLICATE_EMAIL,
            DUPLICATE_USERNAME,
            DUPLICATE_USER_FIELD,
            VALIDATION_FAILED,
        ]),
    ]
}

fn password_operations() -> Vec<Operation> {
    let five = RateLimit::per_5_minutes(5);
    let reset_rate =
        five.window_minutes(15).text("Too many password reset attempts, please wait 15 minutes");
    vec![
        post(
            "/auth/change-password",
            "Change Password",
            Invalid { v6_body: Some(MISSING_FIELDS), ..INVALID },
            passwords::change_password,
        )
        .rate(five.text("Too many attempts to change password, please wait 5 minutes"))
        .acts_as(ACTS_AS)
        .errors(&[NOT_PASSWORD_AUTHENTICATED, WRONG_PASSWORD]),
        post("/auth/set-password", "Set Password", INVALID, passwords::set_password)
            .rate(five)
            .acts_as(ACTS_AS)
            .errors(&[ALREADY_PASSWORD_AUTHENTICATED]),
        post(
            "/auth/request-password-reset",
            "Request Password Reset",
            INVALID,
            reset::request_password_reset,
        )
        .rate(reset_rate),
        post("/auth/reset-password", "Reset Password", INVALID, reset::reset_password)
            .rate(reset_rate)
            .takes_forms()
            .errors(&[INVALID_RESET_TOKEN]),
        Operation::new(
            Method::GET,
            "/auth/reset-password",
            "Reset Password Page",
            "auth",
            INVALID,
            reset::reset_password_page,
        )
        .no_store(),
    ]
}

fn address_and_account() -> Vec<Operation> {
    let five = RateLimit::per_5_minutes(5);
    vec![
        post(
            "/auth/send-verification-email",
            "Send Verification Email",
            INVALID,
            verify_email::send_verification_email,
        )
        .acts_as(ACTS_AS)
        .errors(&[NOT_PASSWORD_USER]),
        post("/auth/verify-email", "Verify Email", INVALID, verify_email::verify_email)
            .errors(&[INVALID_OR_EXPIRED_TOKEN]),
        Operation::new(
            Method::GET,
            "/auth/verify-email-link",
            "Verify Email Link",
            "auth",
            INVALID,
            verify_email::verify_email_link,
        )
        .no_store(),
        post(
            "/auth/request-account-deletion",
            "Request Account Deletion",
            INVALID,
            delete_account::request_account_deletion,
        )
        .rate(five)
        .key_refusal(MISSING_USER_ID)
        .errors(&[NO_EMAIL_ON_FILE]),
        post(
            "/auth/confirm-account-deletion",
            "Confirm Account Deletion",
            INVALID,
            delete_account::confirm_account_deletion,
        )
        .rate(five)
        .key_refusal(MISSING_USER_ID)
        .user_gone(users::NOT_FOUND)
        .errors(&[INVALID_OR_EXPIRED_CODE]),
    ]
}
