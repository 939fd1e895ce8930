//! Sign-in with accounts elsewhere: Google, GitHub, Facebook, Apple, and any OpenID Connect issuer.
//!
//! Authorize and Link hand out the provider's address, with a `state` of single use. The provider sends the
//! browser back to the callback, which exchanges the code for the account, finds or creates its user, and
//! sends the browser on to the app with the tokens of a new session.

mod accounts;
pub mod admin;
mod authorize;
mod callback;
mod exchange;
mod profile;
pub mod provider;
mod start;
pub mod store;

use http::Method;

use crate::error::faults;
use crate::http::address::{OAUTH_CALLBACK, OAUTH_START};
use crate::http::input::Invalid;
use crate::http::operation::Operation;
use crate::rate_limits::RateLimit;

faults! {
    INVALID_BODY = 400 "oauth/invalid-body": "Invalid body";
    PROVIDER_NOT_CONFIGURED = 400 "oauth/provider-not-configured": "The provider is not configured";
    INVALID_REDIRECT_URI = 400 "oauth/invalid-redirect-uri":
        "redirectAfterAuth is not one of the addresses that the provider is configured with";
    INVALID_STATE = 400 "oauth/invalid-state":
        "This sign-in is unknown, used or expired, or was begun in another browser";
}

pub fn operations() -> Vec<Operation> {
    let invalid = Invalid::all(INVALID_BODY);
    vec![
        Operation::new(
            Method::POST,
            "/oauth/authorize",
            "Authorize OAuth",
            "oauth",
            invalid,
            authorize::authorize_oauth,
        )
        .open_to_suspended()
        .no_store()
        .errors(&[PROVIDER_NOT_CONFIGURED, INVALID_REDIRECT_URI]),
        Operation::new(
            Method::POST,
            "/oauth/link",
            "Link OAuth Provider",
            "oauth",
            invalid,
            authorize::link_oauth_provider,
        )
        .open_to_suspended()
        .no_store()
        .errors(&[PROVIDER_NOT_CONFIGURED, INVALID_REDIRECT_URI]),
        Operation::server(OAUTH_START, "Start OAuth", start::start_oauth)
            .parameters::<(), start::First>()
            .rate(RateLimit::per_5_minutes(100))
            .no_store()
            .errors(&[INVALID_STATE]),
        Operation::server(OAUTH_CALLBACK, "OAuth Callback", callback::oauth_callback)
            .parameters::<(), callback::Returned>()
            .rate(RateLimit::per_5_minutes(100))
            .no_store()
            .errors(&[INVALID_STATE]),
        Operation::server(
            OAUTH_CALLBACK,
            "OAuth Callback by Form",
            callback::oauth_callback_by_form,
        )
        .method(Method::POST)
        .body::<callback::Returned>()
        .takes_forms()
        .rate(RateLimit::per_5_minutes(50))
        .no_store()
        .errors(&[INVALID_STATE]),
    ]
}
