//! Sign In: exchanges an email address and its password for a session.

use schemars::JsonSchema;
use serde::Deserialize;

use crate::auth::caller::{Anyone, NO_USER_FOUND};
use crate::error::Result;
use crate::features::auth::guesses::Guess;
use crate::features::auth::session::{self, SignedIn, TokenSeed};
use crate::features::auth::{NO_PASSWORD, WRONG_PASSWORD};
use crate::features::users::store;
use crate::http::input::Body;
use crate::http::operation::Call;
use crate::http::reply::Json;

#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct Credentials {
    email: String,
    password: String,
}

pub(super) async fn sign_in(
    call: Call<Anyone>,
    Body(credentials): Body<Credentials>,
) -> Result<Json<SignedIn>> {
    let (app, project, now) = (call.app.clone(), call.project.clone(), call.now);
    let email = credentials.email.trim().to_lowercase();
    let found = app.db.read(move |c| store::find_by_email(c, project.id, &email)).await?;
    let user = found.ok_or(NO_USER_FOUND)?;
    let hash = user.password_hash.clone().ok_or(NO_PASSWORD)?;
    let guess = Guess::at_password(&call, user.id)?;
    let verified = app.passwords.verify(credentials.password, hash).await;
    guess.settle(&verified);
    if !verified? {
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
