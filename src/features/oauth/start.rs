//! Start OAuth: the first step of a sign-in that is bound to the browser of an app elsewhere. The browser
//! comes here before it goes to the provider and gets the cookie that it must bring back; the address works
//! once, so that nobody who passes it on can come along.

use schemars::JsonSchema;
use serde::Deserialize;

use crate::auth::keys::hash;
use crate::error::Result;
use crate::features::oauth::INVALID_STATE;
use crate::features::oauth::authorize::{TTL, authorization_url};
use crate::features::oauth::callback::{Next, find_sign_in, refuse};
use crate::features::oauth::provider::Provider;
use crate::features::oauth::store;
use crate::http::operation::ServerCall;
use crate::values::random::hex;

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default)]
pub(super) struct First {
    state: String,
    browser: String,
}

pub(super) async fn start_oauth(call: ServerCall) -> Result<Next> {
    // Both are optional texts, so this never fails.
    let First { state, browser } = serde_json::from_value(call.query.clone()).unwrap_or_default();
    let (app, now) = (&call.app, call.app.clock.now());
    let Some((project, state)) = find_sign_in(app, &state).await? else { return refuse(&call) };
    let cookie = hex(&app.random.bytes::<32>());
    let (id, hashes) = (project.id, [state.hash(), hash(&browser), hash(&cookie)]);
    let bound = app.db.write(move |tx| {
        let [state, old, new] = &hashes;
        store::bind_state(tx, id, state, (old, new), now)
    });
    let Some(row) = bound.await? else { return refuse(&call) };
    let provider = Provider::find(app, id, &row.provider).await?.ok_or(INVALID_STATE)?;
    let endpoints = provider.endpoints(app).await?;
    let to = authorization_url(app, &provider, &endpoints, &state, &row)?;
    let is_posted = provider.returns_by_form();
    let cookie = state.cookie(&app.config.public_url, &cookie, TTL.as_secs(), is_posted);
    Ok(Next::Redirect { to, cookie: Some(cookie) })
}
