//! Authorize OAuth, Link OAuth Provider: a sign-in begins, and the reply says where to send the browser.
//!
//! Each sign-in has a `state` of 256 random bits that works once, a code verifier (PKCE) and a nonce. Where
//! the app is served from the origin of this server, the reply also sets a cookie that the browser must
//! bring back. Browsers drop the cookies of replies to other sites, and apps on phones call from outside the
//! browser: there the operator may have the browser come to this server first (`start.rs`), and otherwise the
//! app itself must remember that it has begun a sign-in (`docs/sign-in-with-oauth.md`).

use std::time::Duration;

use aws_lc_rs::digest;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD as BASE64;
use http::header::{HeaderValue, SET_COOKIE};
use schemars::{JsonSchema, SchemaGenerator};
use serde::{Deserialize, Serialize};
use url::{Origin, Url};
use uuid::Uuid;

use crate::auth::caller::{Anyone, Viewer};
use crate::auth::keys::hash;
use crate::error::{Error, Result};
use crate::features::oauth::provider::{Endpoints, Famous, Provider};
use crate::features::oauth::store::{self, StateRow};
use crate::features::oauth::{INVALID_BODY, INVALID_REDIRECT_URI, PROVIDER_NOT_CONFIGURED};
use crate::http::address::{OAUTH_CALLBACK, OAUTH_START};
use crate::http::input::Body;
use crate::http::operation::Call;
use crate::http::reply::{Json, Reply, ReplyDoc, Response};
use crate::state::App;
use crate::values::ids::{ProjectId, UserId};
use crate::values::random::hex;
use crate::values::time::Timestamp;

pub(super) const TTL: Duration = Duration::from_secs(10 * 60);

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "OAuthSignIn")]
pub(super) struct Begin {
    provider: String,
    redirect_after_auth: String,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct OAuthAuthorization {
    authorization_url: String,
}

/// The provider's address, and the cookie that binds the sign-in to the browser.
#[derive(Debug)]
pub(super) struct Begun {
    url: String,
    cookie: Option<String>,
}

impl Reply for Begun {
    fn into_response(self) -> Result<Response> {
        let mut response =
            Json(OAuthAuthorization { authorization_url: self.url }).into_response()?;
        if let Some(cookie) = self.cookie {
            let cookie = HeaderValue::from_str(&cookie).map_err(Error::internal)?;
            response.headers_mut().append(SET_COOKIE, cookie);
        }
        Ok(response)
    }

    fn describe(generator: &mut SchemaGenerator) -> Vec<ReplyDoc> {
        Json::<OAuthAuthorization>::describe(generator)
    }
}

pub(super) async fn authorize_oauth(call: Call<Anyone>, Body(body): Body<Begin>) -> Result<Begun> {
    begin(&call.app, call.project.id, body, None, call.now).await
}

pub(super) async fn link_oauth_provider(
    call: Call<Viewer>,
    Body(body): Body<Begin>,
) -> Result<Begun> {
    begin(&call.app, call.project.id, body, Some(call.caller.user), call.now).await
}

async fn begin(
    app: &App,
    project: ProjectId,
    body: Begin,
    link_to: Option<UserId>,
    now: Timestamp,
) -> Result<Begun> {
    let Begin { provider: name, redirect_after_auth } = body;
    let url = Url::parse(&redirect_after_auth)
        .map_err(|_| INVALID_BODY.because("redirectAfterAuth: must be an absolute URL"))?;
    let provider = match Provider::find(app, project, &name).await? {
        Some(provider) => provider,
        None => return Err(unknown(app, project, &name).await?),
    };
    if !provider.settings.redirect_uris.contains(&redirect_after_auth) {
        return Err(INVALID_REDIRECT_URI.into());
    }
    let endpoints = provider.endpoints(app).await?;

    let random = &app.random;
    let state = StateId::new(project, random.bytes());
    let is_here = is_own_origin(&url, app);
    let is_bound = is_here || provider.settings.bind_browser;
    let browser = is_bound.then(|| hex(&random.bytes::<32>()));
    let row = StateRow {
        provider: provider.name.clone(),
        redirect_after_auth,
        code_verifier: BASE64.encode(random.bytes::<32>()),
        nonce: BASE64.encode(random.bytes::<32>()),
        link_to_user_id: link_to,
    };
    let url = match browser.as_ref().filter(|_| !is_here) {
        Some(browser) => {
            let base = &app.config.public_url;
            format!("{base}{OAUTH_START}?state={}&browser={browser}", state.0)
        }
        None => authorization_url(app, &provider, &endpoints, &state, &row)?,
    };
    let cookie = browser.as_ref().filter(|_| is_here).map(|browser| {
        // The cookie must come along with a form that the provider's page posts.
        let is_posted = provider.returns_by_form();
        state.cookie(&app.config.public_url, browser, TTL.as_secs(), is_posted)
    });
    let hashes = (state.hash(), browser.map(|browser| hash(&browser)));
    let begun = app.db.write(move |tx| {
        let hashes = (hashes.0.as_slice(), hashes.1.as_deref());
        store::insert_state(tx, project, hashes, &row, now.plus(TTL))
    });
    begun.await?;
    Ok(Begun { url, cookie })
}

/// The error for a name without a provider. Only the famous ones are known without any.
async fn unknown(app: &App, project: ProjectId, name: &str) -> Result<Error> {
    let looked_up = name.to_owned();
    let row = app.db.read(move |c| store::find_provider(c, project, &looked_up)).await?;
    if row.is_some() || Famous::from_name(name).is_some() {
        let text = format!("The provider {name} is not configured");
        return Ok(PROVIDER_NOT_CONFIGURED.because(text));
    }
    Ok(INVALID_BODY.because("provider: there is no provider of this name"))
}

/// Whether the app is served from this server's own origin, which then keeps its cookies.
fn is_own_origin(app_url: &Url, app: &App) -> bool {
    let own = Url::parse(&app.config.public_url).map(|url| url.origin());
    own.is_ok_and(|own| matches!(own, Origin::Tuple(..)) && own == app_url.origin())
}

/// The address that providers send browsers back to.
pub(super) fn callback_url(app: &App) -> String {
    format!("{}{OAUTH_CALLBACK}", app.config.public_url)
}

pub(super) fn authorization_url(
    app: &App,
    provider: &Provider,
    endpoints: &Endpoints,
    state: &StateId,
    row: &StateRow,
) -> Result<String> {
    let mut url = Url::parse(&endpoints.authorize).map_err(Error::internal)?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(Error::internal("the address of the provider is no web address"));
    }
    let mut query = url.query_pairs_mut();
    query
        .append_pair("response_type", "code")
        .append_pair("client_id", &provider.settings.client_id)
        .append_pair("redirect_uri", &callback_url(app))
        .append_pair("scope", &provider.scopes())
        .append_pair("state", &state.0);
    if provider.has_pkce() {
        let challenge = digest::digest(&digest::SHA256, row.code_verifier.as_bytes());
        query
            .append_pair("code_challenge", &BASE64.encode(challenge))
            .append_pair("code_challenge_method", "S256");
    }
    if endpoints.issuer.is_some() {
        query.append_pair("nonce", &row.nonce);
    }
    if provider.returns_by_form() {
        query.append_pair("response_mode", "form_post");
    }
    drop(query);
    Ok(url.into())
}

/// The `state` of a sign-in: its project, which the address of the callback does not name, and 256 random
/// bits. Stored as a hash.
#[derive(Debug)]
pub(super) struct StateId(String);

impl StateId {
    fn new(project: ProjectId, secret: [u8; 32]) -> Self {
        StateId(BASE64.encode([&project.0.as_bytes()[..], &secret].concat()))
    }

    /// A `state` as it came back, with its project.
    pub(super) fn parse(text: &str) -> Option<(ProjectId, Self)> {
        let bytes = BASE64.decode(text).ok().filter(|bytes| bytes.len() == 48)?;
        let project = Uuid::from_slice(&bytes[..16]).ok()?;
        Some((ProjectId(project), StateId(text.to_owned())))
    }

    pub(super) fn hash(&self) -> Vec<u8> {
        hash(&self.0)
    }

    /// One cookie for each sign-in: several may be under way in one browser.
    pub(super) fn cookie_name(&self) -> String {
        format!("townhall-oauth-{}", hex(&self.hash()[..8]))
    }

    /// The `Set-Cookie` header. It is sent to the callback alone; browsers accept `SameSite=None` with
    /// `Secure` only.
    pub(super) fn cookie(&self, base: &str, value: &str, max_age: u64, is_posted: bool) -> String {
        let path = Url::parse(base).map(|url| url.path().trim_end_matches('/').to_owned());
        let path = path.unwrap_or_default() + OAUTH_CALLBACK;
        let site = match (base.starts_with("https://"), is_posted) {
            (true, true) => "SameSite=None; Secure",
            (true, false) => "SameSite=Lax; Secure",
            (false, _) => "SameSite=Lax",
        };
        let name = self.cookie_name();
        format!("{name}={value}; HttpOnly; {site}; Path={path}; Max-Age={max_age}")
    }
}
