//! Sign Out: ends the session that a refresh token belongs to. A token without a session is no error: the
//! caller is signed out either way.

use schemars::JsonSchema;
use serde::Deserialize;

use crate::auth::caller::Anyone;
use crate::error::{Error, Result};
use crate::features::auth::push_device::PushDevice;
use crate::features::auth::{SIGN_OUT_FAILED, store};
use crate::features::users::store as users;
use crate::http::input::Body;
use crate::http::operation::Call;
use crate::http::reply::NoContent;
use crate::realtime;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct SignOut {
    refresh_token: Option<String>,
    #[expect(dead_code, reason = "its shape is checked; there is no binding to look up yet")]
    push_device: Option<PushDevice>,
}

pub(super) async fn sign_out(call: Call<Anyone>, Body(body): Body<SignOut>) -> Result<NoContent> {
    let project = call.project.id;
    let claims = body.refresh_token.and_then(|t| call.app.tokens.verify_refresh(&t, call.now));
    let Some(claims) = claims.filter(|claims| claims.project_id == project) else {
        return Ok(NoContent);
    };
    let ended = call.app.db.write(move |tx| {
        // Waits for a concurrent refresh, whose new token would otherwise outlive its family.
        users::find_for_update(tx, project, claims.sub)?;
        match store::find_token(tx, project, claims.jti)? {
            Some(token) => {
                store::delete_family(tx, project, token.family_id)?;
                realtime::end_session(tx, project, token.user_id, token.family_id)
            }
            None => Ok(()),
        }
    });
    match ended.await {
        Ok(()) => Ok(NoContent),
        Err(Error::Internal(source)) => {
            tracing::error!(error = %source, "sign-out failed");
            Err(SIGN_OUT_FAILED.into())
        }
        Err(error) => Err(error),
    }
}
