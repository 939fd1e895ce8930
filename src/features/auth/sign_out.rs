//! Sign Out: ends the session that a refresh token belongs to. A token without a session is no error: the
//! caller is signed out either way. With a device its push messages to this user end, too.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

use schemars::JsonSchema;
use serde::Deserialize;

use crate::auth::caller::Anyone;
use crate::error::{Error, Result};
use crate::features::auth::{DEVICE_DEREGISTRATION_FAILED, SIGN_OUT_FAILED, store};
use crate::features::push::devices::NamedDevice;
use crate::features::push::store as push;
use crate::features::users::store as users;
use crate::http::input::Body;
use crate::http::operation::Call;
use crate::http::reply::NoContent;
use crate::realtime;
use crate::tenancy::Bundle;

/// How long after its expiry a token still removes a device: an app may have been closed for weeks.
const DEVICE_GRACE: Duration = Duration::from_secs(90 * 24 * 60 * 60);

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct SignOut {
    refresh_token: Option<String>,
    push_device: Option<NamedDevice>,
}

pub(super) async fn sign_out(call: Call<Anyone>, Body(body): Body<SignOut>) -> Result<NoContent> {
    let (project, now) = (call.project.id, call.now);
    let device = body.push_device.filter(|_| call.project.has(Bundle::Push));
    let device = device.map(|device| device.key_hash());
    let since = if device.is_some() { now.minus(DEVICE_GRACE) } else { now };
    let claims = body.refresh_token.and_then(|t| call.app.tokens.verify_refresh(&t, since));
    let Some(claims) = claims.filter(|claims| claims.project_id == project) else {
        return Ok(NoContent);
    };
    let is_unbound = Arc::new(AtomicBool::new(device.is_none()));
    let noted = Arc::clone(&is_unbound);
    let ended = call.app.db.write(move |tx| {
        // Waits for a concurrent refresh, whose new token would otherwise outlive its family.
        users::find_for_update(tx, project, claims.sub)?;
        if let Some(device) = &device {
            push::unbind(tx, project, claims.sub, device)?;
            noted.store(true, Relaxed);
        }
        let is_expired = claims.exp <= now.seconds();
        match store::find_token(tx, project, claims.jti)?.filter(|_| !is_expired) {
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
            let is_unbound = is_unbound.load(Relaxed);
            Err(if is_unbound { SIGN_OUT_FAILED } else { DEVICE_DEREGISTRATION_FAILED }.into())
        }
        Err(error) => Err(error),
    }
}
