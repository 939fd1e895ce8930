//! Request Password Reset, Reset Password and its page.

use schemars::JsonSchema;
use serde::Deserialize;

use crate::auth::caller::Anyone;
use crate::auth::keys::hash;
use crate::error::Result;
use crate::features::auth::mails::PasswordReset;
use crate::features::auth::pages::{self, JsonOrPage};
use crate::features::auth::{INVALID_RESET_TOKEN, store};
use crate::features::push::store as push;
use crate::features::users::rules::{Email, Password};
use crate::features::users::store as users;
use crate::http::input::{Body, Query};
use crate::http::operation::Call;
use crate::http::reply::Done;
use crate::http::reply::{Json, Page};
use crate::mail_quota;
use crate::realtime;

#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct RequestReset {
    email: Email,
}

/// Enqueues the same job for every address, known or not, so that neither the reply nor its time reveals
/// whether there is an account.
pub(super) async fn request_password_reset(
    call: Call<Anyone>,
    Body(body): Body<RequestReset>,
) -> Result<Json<Done>> {
    let email = body.email.into_text();
    let version = call.version.segment().to_owned();
    let job = PasswordReset { email: email.clone(), version };
    mail_quota::enqueue(&call.app, call.project.id, &email, job, call.now).await?;
    Ok(Json(Done::saying(
        "If an account with that email exists, a password reset link has been sent.",
    )))
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct ResetPassword {
    token: String,
    new_password: Password,
}

pub(super) async fn reset_password(
    call: Call<Anyone>,
    Body(body): Body<ResetPassword>,
) -> Result<JsonOrPage<Done>> {
    match reset(&call, body).await {
        Ok(()) if call.wants_html => Ok(JsonOrPage::Page(pages::reset_done())),
        Ok(()) => Ok(JsonOrPage::Json(Done::saying("Password has been reset successfully."))),
        Err(error) if call.wants_html && error.is(INVALID_RESET_TOKEN) => {
            Ok(JsonOrPage::Page(pages::reset_refused()))
        }
        Err(error) => Err(error),
    }
}

/// Ends every session of the user, and the push messages to their devices. A token works once, even when two requests race.
async fn reset(call: &Call<Anyone>, body: ResetPassword) -> Result<()> {
    let (app, project, now) = (&call.app, call.project.id, call.now);
    let token = hash(&body.token);
    let looked_up = token.clone();
    let live = app.db.read(move |c| store::is_reset_live(c, project, &looked_up, now)).await?;
    if !live {
        return Err(INVALID_RESET_TOKEN.into());
    }
    let new_hash = app.passwords.hash(body.new_password.into_text()).await?;
    let reset = app.db.write(move |tx| {
        let user = store::take_reset(tx, project, &token, now)?.ok_or(INVALID_RESET_TOKEN)?;
        users::set_password(tx, project, user, &new_hash, now)?;
        store::delete_families(tx, project, user, None)?;
        push::unbind_others(tx, project, user, None)?;
        realtime::end_other_sessions(tx, project, user, None)
    });
    reset.await
}

#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct PageQuery {
    #[serde(default)]
    token: String,
}

/// Shown even for a bad token: submitting the form reports the error.
pub(super) async fn reset_password_page(
    _call: Call<Anyone>,
    Query(query): Query<PageQuery>,
) -> Result<Page> {
    Ok(pages::reset_form(&query.token))
}
