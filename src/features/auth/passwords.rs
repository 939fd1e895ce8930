//! Change Password, Set Password.

use schemars::JsonSchema;
use serde::Deserialize;

use crate::auth::caller::{Actor, NO_USER_FOUND, Via};
use crate::error::Result;
use crate::features::auth::guesses::Guess;
use crate::features::auth::{
    ALREADY_PASSWORD_AUTHENTICATED, INVALID_BODY, NOT_PASSWORD_AUTHENTICATED, WRONG_PASSWORD, store,
};
use crate::features::push::devices::NamedDevice;
use crate::features::push::store as push;
use crate::features::users::rules::Password;
use crate::features::users::store as users;
use crate::http::input::Body;
use crate::http::operation::Call;
use crate::http::reply::Done;
use crate::http::reply::Json;
use crate::realtime;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct ChangePassword {
    password: String,
    new_password: Password,
    push_device: Option<NamedDevice>,
}

/// Ends every other session of the user; a key has no session of its own and ends them all. Of the devices that
/// get push messages only the named one stays.
pub(super) async fn change_password(
    call: Call<Actor>,
    Body(body): Body<ChangePassword>,
) -> Result<Json<Done>> {
    if body.new_password.is(&body.password) {
        return Err(INVALID_BODY.because("newPassword must differ from password"));
    }
    let (app, project, now) = (&call.app, call.project.id, call.now);
    let Actor { user, via, .. } = call.caller;
    let found = app.db.read(move |c| users::find(c, project, user)).await?.ok_or(NO_USER_FOUND)?;
    let old_hash = found.password_hash.ok_or(NOT_PASSWORD_AUTHENTICATED)?;
    let guess = Guess::at_password(&call, user)?;
    let verified = app.passwords.verify(body.password, old_hash.clone()).await;
    guess.settle(&verified);
    if !verified? {
        return Err(WRONG_PASSWORD.into());
    }

    let new_hash = app.passwords.hash(body.new_password.into_text()).await?;
    let spare = match via {
        Via::Session(session) => Some(session),
        Via::Key(_) => None,
    };
    let device = body.push_device.map(|device| device.key_hash());
    let changed = app.db.write(move |tx| {
        let current = users::find_for_update(tx, project, user)?.ok_or(NO_USER_FOUND)?;
        if current.password_hash.as_ref() != Some(&old_hash) {
            return Err(WRONG_PASSWORD.into());
        }
        users::set_password(tx, project, user, &new_hash, now)?;
        store::delete_families(tx, project, user, spare)?;
        push::unbind_others(tx, project, user, device.as_deref())?;
        realtime::end_other_sessions(tx, project, user, spare)
    });
    changed.await?;
    Ok(Json(Done::saying("Password updated successfully.")))
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct SetPassword {
    new_password: Password,
}

/// For users who signed up without a password. Their sessions stay.
pub(super) async fn set_password(
    call: Call<Actor>,
    Body(body): Body<SetPassword>,
) -> Result<Json<Done>> {
    let (app, project, now) = (&call.app, call.project.id, call.now);
    let user = call.caller.user;
    let hash = app.passwords.hash(body.new_password.into_text()).await?;
    let set = app.db.write(move |tx| {
        let current = users::find_for_update(tx, project, user)?.ok_or(NO_USER_FOUND)?;
        if current.password_hash.is_some() {
            return Err(ALREADY_PASSWORD_AUTHENTICATED.into());
        }
        users::set_password(tx, project, user, &hash, now)
    });
    set.await?;
    Ok(Json(Done::saying("Password set successfully.")))
}
