//! Sign In: an address and its password become a session.

use schemars::JsonSchema;
use serde::Deserialize;

use crate::auth::caller::{NO_USER_FOUND, OptionalViewer};
use crate::error::{Error, Result};
use crate::features::auth::session::{self, SignedIn, TokenSeed};
use crate::features::auth::{NO_PASSWORD, WRONG_PASSWORD};
use crate::features::users::store;
use crate::http::input::Body;
use crate::http::limits::RateLimit;
use crate::http::operation::Call;
use crate::http::reply::Json;

/// Tries against one account, from wherever they come.
const PER_ACCOUNT: RateLimit = RateLimit::per_5_minutes(100)
    .window_minutes(60)
    .text("Too many sign in attempts, please try again later");

#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct Credentials {
    email: String,
    password: String,
}

pub(super) async fn sign_in(
    call: Call<OptionalViewer>,
    Body(credentials): Body<Credentials>,
) -> Result<Json<SignedIn>> {
    let (app, project, now) = (call.app.clone(), call.project.clone(), call.now);
    let email = credentials.email.trim().to_lowercase();
    if !call.caller.is_key() {
        let (account, now) = (email.as_bytes(), app.clock.uptime());
        let counted = app.limiter.count(PER_ACCOUNT, "account", Some(project.id), account, now);
        counted.map_err(Error::RateLimited)?;
    }

    let found = app.db.read(move |c| store::find_by_email(c, project.id, &email)).await?;
    let user = found.ok_or(NO_USER_FOUND)?;
    let hash = user.password_hash.clone().ok_or(NO_PASSWORD)?;
    if !app.passwords.verify(credentials.password, hash).await? {
        return Err(WRONG_PASSWORD.into());
    }

    let seed = TokenSeed::draw(&app.tokens, &app.random, now);
    let (project, links) = (call.project.clone(), call.links());
    let started = app.db.write(move |tx| {
        // The password may have been changed, or the user deleted, while it was being checked.
        let mut current = store::find_for_update(tx, project.id, user.id)?.ok_or(NO_USER_FOUND)?;
        if current.password_hash != user.password_hash {
            return Err(WRONG_PASSWORD.into());
        }
        session::start(tx, &project, &links, &mut current, seed)
    });
    let (token, user) = started.await?;
    Ok(Json(SignedIn::new(&app.tokens, call.project.id, &token, user, now)))
}
