//! OAuth Callback: the provider has sent the browser back, by an address or (Apple) by a form.
//!
//! A browser with a `state` that is unknown, used, expired or of another browser is redirected nowhere. After
//! that, every outcome is a redirect to the address that the sign-in began with, which the project's operator
//! has listed.

use std::sync::Arc;

use http::header::{ACCEPT, HeaderValue, REFERRER_POLICY, SET_COOKIE};
use schemars::{JsonSchema, SchemaGenerator};
use serde::Deserialize;
use serde_json::Value;

use crate::auth::keys::hash;
use crate::error::{Error, Result};
use crate::features::auth::pages;
use crate::features::auth::session::refresh_token;
use crate::features::oauth::accounts::{SignIn, SignedInAs};
use crate::features::oauth::authorize::StateId;
use crate::features::oauth::provider::{Endpoints, Provider};
use crate::features::oauth::store::{self, StateRow};
use crate::features::oauth::{INVALID_STATE, exchange, profile};
use crate::http::cookies;
use crate::http::operation::ServerCall;
use crate::http::query::{pairs, percent_encode};
use crate::http::reply::{Page, Reply, ReplyDoc, Response, redirect};
use crate::state::App;
use crate::tenancy::{self, Project, ProjectState};
use crate::values::time::Timestamp;

/// What the provider sends back.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[schemars(rename = "OAuthCallback")]
#[serde(default)]
pub(super) struct Returned {
    state: String,
    code: Option<String>,
    error: Option<String>,
    error_description: Option<String>,
    /// The issuer, so that a reply of one provider is not taken for one of another (RFC 9207).
    iss: Option<String>,
    /// Of Apple, once: the user's name as JSON.
    user: Option<String>,
}

/// Why a sign-in failed, as the app sees it.
#[derive(Debug)]
pub(super) struct Failed {
    error: String,
    description: String,
}

impl Failed {
    pub(super) fn new(error: &str, description: &str) -> Self {
        Failed { error: error.to_owned(), description: description.to_owned() }
    }

    /// The provider did not answer as it should.
    pub(super) fn exchange(description: &str) -> Self {
        Failed::new("token_exchange_failed", description)
    }
}

impl From<Error> for Failed {
    fn from(error: Error) -> Self {
        let why = error.chain().unwrap_or_else(|| error.to_string());
        tracing::error!(why, "a sign-in with OAuth failed");
        Failed::new("server_error", "Something went wrong. Please try again.")
    }
}

/// Where the browser goes next.
#[derive(Debug)]
pub(super) enum Next {
    /// With the cookie of the sign-in to set or to clear, if it has one.
    Redirect {
        to: String,
        cookie: Option<String>,
    },
    Page(Page),
}

impl Reply for Next {
    fn into_response(self) -> Result<Response> {
        let (to, cookie) = match self {
            Next::Redirect { to, cookie } => (to, cookie),
            Next::Page(page) => return Ok(page.into_response()),
        };
        let mut response = redirect(&to)?;
        let headers = response.headers_mut();
        headers.insert(REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
        if let Some(cookie) = cookie {
            headers.append(SET_COOKIE, HeaderValue::from_str(&cookie).map_err(Error::internal)?);
        }
        Ok(response)
    }

    fn describe(generator: &mut SchemaGenerator) -> Vec<ReplyDoc> {
        let page = Some(("text/html", generator.subschema_for::<String>()));
        vec![ReplyDoc { status: 302, content: None }, ReplyDoc { status: 400, content: page }]
    }
}

pub(super) async fn oauth_callback(call: ServerCall) -> Result<Next> {
    let returned = call.query.clone();
    answer(call, returned).await
}

pub(super) async fn oauth_callback_by_form(call: ServerCall) -> Result<Next> {
    let form = std::str::from_utf8(&call.body).unwrap_or_default();
    let returned = pairs(form);
    answer(call, returned).await
}

async fn answer(call: ServerCall, returned: Value) -> Result<Next> {
    // All fields are optional texts, so this never fails.
    let returned: Returned = serde_json::from_value(returned).unwrap_or_default();
    let (app, now) = (&call.app, call.app.clock.now());
    let Some((project, state, row)) = take(&call, &returned.state, now).await? else {
        return refuse(&call);
    };
    let app_url = row.redirect_after_auth.clone();
    let to = match finish(app, &project, row, returned, now).await {
        Ok(SignedInAs(token)) => {
            let access = app.tokens.access(project.id, token.user_id, token.family_id, now);
            let refresh = refresh_token(&app.tokens, project.id, &token);
            format!("{app_url}#accessToken={access}&refreshToken={refresh}")
        }
        Err(Failed { error, description }) => {
            let joint = if app_url.contains('?') { '&' } else { '?' };
            let (error, description) = (percent_encode(&error), percent_encode(&description));
            format!("{app_url}{joint}error={error}&error_description={description}")
        }
    };
    let has_cookie = cookies::find(&call.headers, &state.cookie_name()).is_some();
    let cookie = has_cookie.then(|| state.cookie(&app.config.public_url, "", 0, false));
    Ok(Next::Redirect { to, cookie })
}

/// The reply to a `state` that leads nowhere.
pub(super) fn refuse(call: &ServerCall) -> Result<Next> {
    let accept = call.headers.get(ACCEPT).and_then(|accept| accept.to_str().ok());
    if accept.is_some_and(|accept| accept.contains("text/html")) {
        return Ok(Next::Page(pages::sign_in_refused()));
    }
    Err(INVALID_STATE.into())
}

/// The project of a `state`.
pub(super) async fn find_sign_in(
    app: &App,
    state: &str,
) -> Result<Option<(Arc<Project>, StateId)>> {
    let Some((id, state)) = StateId::parse(state) else { return Ok(None) };
    let project = app.projects.get(&app.db, id, app.clock.uptime()).await?;
    match project.as_ref().map(|project| project.state) {
        None | Some(ProjectState::Active) => Ok(project.map(|project| (project, state))),
        Some(ProjectState::PendingDeletion) => Err(tenancy::PENDING_DELETION.into()),
        Some(ProjectState::Migrating) => Err(tenancy::MIGRATING.into()),
    }
}

/// Uses up the state of a sign-in; `None` if there is none for this browser.
async fn take(
    call: &ServerCall,
    state: &str,
    now: Timestamp,
) -> Result<Option<(Arc<Project>, StateId, StateRow)>> {
    let app = &call.app;
    let Some((project, state)) = find_sign_in(app, state).await? else { return Ok(None) };
    let browser = cookies::find(&call.headers, &state.cookie_name()).map(|value| hash(&value));
    let (id, state_hash) = (project.id, state.hash());
    let taken =
        app.db.write(move |tx| store::take_state(tx, id, &state_hash, browser.as_deref(), now));
    Ok(taken.await?.map(|row| (project, state, row)))
}

async fn finish(
    app: &App,
    project: &Arc<Project>,
    row: StateRow,
    returned: Returned,
    now: Timestamp,
) -> Result<SignedInAs, Failed> {
    let provider = Provider::find(app, project.id, &row.provider).await?;
    let provider =
        provider.ok_or_else(|| Failed::exchange("The provider is not configured any more"))?;
    let endpoints = provider.endpoints(app).await?;
    check_issuer(&endpoints, returned.iss.as_deref())?;
    let code = match (returned.error, returned.code) {
        (Some(error), _) => return Err(provider_error(&error, returned.error_description)),
        (None, Some(code)) if !code.is_empty() => code,
        _ => return Err(Failed::exchange("The provider sent no code")),
    };
    let client = (&provider, &endpoints);
    let grant = (code.as_str(), row.code_verifier.as_str());
    let tokens = exchange::tokens(app, project.id, client, grant, now).await?;
    let mut account = profile::account(app, project.id, client, tokens, &row.nonce, now).await?;
    if provider.returns_by_form() && account.name.is_none() {
        account.name = returned.user.as_deref().and_then(profile::name_of_form);
    }
    SignIn::draw(app, account, row.link_to_user_id, now).run(app, project).await
}

/// A provider that says who it is must be the one that the sign-in began with (RFC 9207).
fn check_issuer(endpoints: &Endpoints, named: Option<&str>) -> Result<(), Failed> {
    let Some(issuer) = &endpoints.issuer else { return Ok(()) };
    let is_right = match named {
        Some(named) => issuer.document["issuer"] == named,
        None => !issuer.flag("authorization_response_iss_parameter_supported"),
    };
    is_right.then_some(()).ok_or_else(|| Failed::exchange("The reply is not of this provider"))
}

/// The provider's own error, if it is one of the specification's characters.
fn provider_error(error: &str, description: Option<String>) -> Failed {
    let is_plain = |text: &str, most: usize| {
        text.len() <= most
            && text.bytes().all(|b| (0x20..0x7f).contains(&b) && b != b'"' && b != b'\\')
    };
    if error.is_empty() || !is_plain(error, 100) {
        return Failed::new("server_error", "The provider refused the sign-in");
    }
    let description = description.filter(|text| is_plain(text, 500)).unwrap_or_default();
    Failed { error: error.to_owned(), description }
}
