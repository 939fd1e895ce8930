//! What the server asks of a provider when the browser is back: tokens for the code, and the profile behind
//! them. All of it goes through the guarded client.

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use url::form_urlencoded::{Serializer, byte_serialize};

use crate::error::{Error, Result};
use crate::features::oauth::authorize::callback_url;
use crate::features::oauth::callback::Failed;
use crate::features::oauth::provider::{Endpoints, Provider, TokenAuth};
use crate::outbound::{Answer, Limits, Message, Target};
use crate::state::App;
use crate::values::ids::ProjectId;
use crate::values::json;
use crate::values::time::Timestamp;

const FORM: &str = "application/x-www-form-urlencoded";
const JSON: &str = "application/json";
const LIMITS: Limits = Limits { time: Duration::from_secs(10), body: 256 * 1024, redirects: 0 };

#[derive(Debug, Deserialize)]
pub(super) struct Tokens {
    pub access_token: Option<String>,
    pub id_token: Option<String>,
}

/// What a token endpoint says when it refuses, some with status 200.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Refusal {
    error: Option<Value>,
    error_description: Option<String>,
}

/// Exchanges the code for the tokens of the provider.
pub(super) async fn tokens(
    app: &App,
    project: ProjectId,
    (provider, endpoints): (&Provider, &Endpoints),
    (code, verifier): (&str, &str),
    now: Timestamp,
) -> Result<Tokens, Failed> {
    let secret = provider.client_secret(app, project, now)?;
    let grant = [
        ("grant_type", "authorization_code"),
        ("code", code),
        ("redirect_uri", &callback_url(app)),
    ];
    let verifier = provider.has_pkce().then_some(("code_verifier", verifier));
    let form = grant.into_iter().chain(verifier);
    let client = (provider.settings.client_id.as_str(), secret.as_deref());
    let message = authenticated(form, client, endpoints.token_auth);
    let answer = call(app, &endpoints.token, message).await?;
    let refusal: Refusal = parse(&answer).unwrap_or_default();
    if answer.status != 200 || refusal.error.is_some() {
        let error = refusal.error.unwrap_or_default();
        let why = refusal.error_description.unwrap_or_default();
        tracing::warn!(provider = provider.name, status = %answer.status, %error, why, "no tokens");
        return Err(Failed::exchange("The provider did not accept the code"));
    }
    parse(&answer).map_err(|_| Failed::exchange("The provider sent no tokens"))
}

/// A form with what authenticates the client.
fn authenticated<'a>(
    form: impl Iterator<Item = (&'a str, &'a str)>,
    (id, secret): (&str, Option<&str>),
    auth: TokenAuth,
) -> Message {
    let mut sent = Serializer::new(String::new());
    sent.extend_pairs(form);
    match (secret, auth) {
        (Some(secret), TokenAuth::Basic) => {
            Message::post(JSON, FORM, sent.finish()).authorized(basic(id, secret))
        }
        (Some(secret), TokenAuth::Post) => {
            sent.append_pair("client_id", id).append_pair("client_secret", secret);
            Message::post(JSON, FORM, sent.finish())
        }
        (None, _) => Message::post(JSON, FORM, sent.append_pair("client_id", id).finish()),
    }
}

/// RFC 6749, 2.3.1: both are encoded before they are joined.
fn basic(client_id: &str, secret: &str) -> String {
    let encode = |text: &str| byte_serialize(text.as_bytes()).collect::<String>();
    let joined = format!("{}:{}", encode(client_id), encode(secret));
    format!("Basic {}", STANDARD.encode(joined))
}

/// A document about the user of an access token.
pub(super) async fn about_user(app: &App, url: &str, token: &str) -> Result<Value, Failed> {
    let message = Message::get(JSON).authorized(format!("Bearer {token}"));
    let answer = call(app, url, message).await?;
    if answer.status != 200 {
        tracing::warn!(url, status = %answer.status, "no profile");
        return Err(Failed::exchange("The provider did not show the profile"));
    }
    parse(&answer).map_err(|_| Failed::exchange("The provider sent no profile"))
}

async fn call(app: &App, url: &str, message: Message) -> Result<Answer, Failed> {
    let target = Target::parse(url).map_err(Error::internal)?;
    app.outbound.call(target, message, LIMITS).await.map_err(|error| {
        tracing::warn!(url, %error, "a provider could not be called");
        Failed::exchange("The provider could not be reached")
    })
}

/// NUL is refused here as everywhere: PostgreSQL cannot store it.
fn parse<T: DeserializeOwned>(answer: &Answer) -> Result<T> {
    json::check(&answer.body).map_err(Error::internal)?;
    serde_json::from_slice(&answer.body).map_err(Error::internal)
}
