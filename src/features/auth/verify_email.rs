//! Send Verification Email, Verify Email, and the link in that mail.

use std::ops::RangeInclusive;

use http::StatusCode;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use url::Url;

use crate::auth::caller::{Actor, NO_USER_FOUND, OptionalViewer};
use crate::auth::keys::hash;
use crate::error::{Error, Result};
use crate::features::auth::guesses::Guess;
use crate::features::auth::mails::EmailVerification;
use crate::features::auth::pages::{self, LinkReply};
use crate::features::auth::{INVALID_BODY, INVALID_OR_EXPIRED_TOKEN, NOT_PASSWORD_USER, store};
use crate::features::users::store as users;
use crate::http::cors;
use crate::http::input::{Body, Query};
use crate::http::operation::Call;
use crate::http::reply::Done;
use crate::http::reply::Json;
use crate::mail_quota;
use crate::values::ids::UserId;
use crate::values::random::{Random, hex};

/// Length of a typed code: long enough to resist guessing.
const CODE_LENGTHS: RangeInclusive<usize> = 6..=12;
/// Wrong guesses after which a short code is void.
const MAX_WRONG_TRIES: i64 = 5;

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(rename = "VerificationMode")]
pub(crate) enum Mode {
    #[default]
    Code,
    Link,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum TokenFormat {
    /// 64 characters: for links and for codes that are copied, not typed.
    #[default]
    Hex,
    Numeric,
    Alpha,
    Alphanumeric,
}

impl TokenFormat {
    pub(crate) fn draw(self, length: usize, random: &Random) -> String {
        match self {
            TokenFormat::Hex => hex(&random.bytes::<32>()),
            TokenFormat::Numeric => random.text(b"0123456789", length),
            TokenFormat::Alpha => random.text(b"ABCDEFGHIJKLMNOPQRSTUVWXYZ", length),
            TokenFormat::Alphanumeric => {
                random.text(b"ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789", length)
            }
        }
    }

    pub(crate) fn is_guessable(self) -> bool {
        self != TokenFormat::Hex
    }
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct SendVerification {
    #[serde(default)]
    mode: Mode,
    #[serde(default)]
    token_format: TokenFormat,
    /// For typed codes, ignored otherwise; fewer than six characters would be too easy to guess.
    #[schemars(range(min = 6, max = 12))]
    token_length: Option<usize>,
    redirect_url: Option<String>,
}

pub(super) async fn send_verification_email(
    call: Call<Actor>,
    Body(body): Body<SendVerification>,
) -> Result<Json<Done>> {
    let token_length = body.token_length.unwrap_or(6);
    if body.token_format.is_guessable() && !CODE_LENGTHS.contains(&token_length) {
        return Err(INVALID_BODY.because("tokenLength must be within 6..12"));
    }
    let origins = &call.project.allowed_origins;
    if body.redirect_url.as_deref().is_some_and(|url| return_address(url, origins).is_none()) {
        let rule = "redirectUrl must be an http or https URL, of an origin that the project allows";
        return Err(INVALID_BODY.because(rule));
    }
    let (project, user) = (call.project.id, call.caller.user);
    let row = call.app.db.read(move |c| users::find(c, project, user)).await?;
    let row = row.ok_or(NO_USER_FOUND)?;
    let email = row.email.filter(|_| row.password_hash.is_some()).ok_or(NOT_PASSWORD_USER)?;
    if !row.is_verified {
        let job = EmailVerification {
            user,
            version: call.version.segment().to_owned(),
            mode: body.mode,
            format: body.token_format,
            length: token_length,
            redirect: body.redirect_url.filter(|_| body.mode == Mode::Link),
        };
        mail_quota::enqueue(&call.app, project, &email, job, call.now).await?;
    }
    Ok(Json(Done::SILENT))
}

#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct VerifyEmail {
    token: String,
}

pub(super) async fn verify_email(
    call: Call<OptionalViewer>,
    Body(body): Body<VerifyEmail>,
) -> Result<Json<Done>> {
    if body.token.is_empty() {
        return Err(INVALID_BODY.because("token must not be empty"));
    }
    if verify(&call, &body.token, call.caller.user()).await? {
        Ok(Json(Done::SILENT))
    } else {
        Err(INVALID_OR_EXPIRED_TOKEN.into())
    }
}

#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct LinkQuery {
    #[serde(default)]
    token: String,
    redirect: Option<String>,
}

pub(super) async fn verify_email_link(
    call: Call<OptionalViewer>,
    Query(query): Query<LinkQuery>,
) -> Result<LinkReply> {
    let (outcome, status) = match verify(&call, &query.token, None).await {
        Ok(true) => ("verified=true", StatusCode::OK),
        Ok(false) => ("verified=false&error=invalid-or-expired-token", StatusCode::BAD_REQUEST),
        Err(error @ Error::RateLimited(_)) => return Err(error),
        Err(error) => {
            tracing::error!(%error, "verification by link failed");
            ("verified=false&error=server-error", StatusCode::INTERNAL_SERVER_ERROR)
        }
    };
    let origins = &call.project.allowed_origins;
    let given = query.redirect.as_deref();
    let Some((url, parsed)) = given.and_then(|url| Some((url, return_address(url, origins)?)))
    else {
        return Ok(LinkReply::Page(pages::verification(status, None)));
    };
    let joint = if url.contains('?') { '&' } else { '?' };
    let target = format!("{url}{joint}{outcome}");
    if origins.is_empty() {
        // Anybody can craft a link of this server to any address, so the page asks before it redirects.
        let host = parsed.host_str().unwrap_or_default();
        return Ok(LinkReply::Page(pages::verification(status, Some((&target, host)))));
    }
    Ok(LinkReply::Redirect(target))
}

/// Whether the token was live. It is used up, with all others of its user. A wrong guess counts against a
/// signed-in user's own codes, otherwise against the caller's network.
async fn verify(call: &Call<OptionalViewer>, token: &str, viewer: Option<UserId>) -> Result<bool> {
    // An expired link is no guess: it could not have matched a typed code.
    let is_guess = CODE_LENGTHS.contains(&token.len());
    let counted = match viewer {
        None if is_guess => Some(Guess::at_code(call)?),
        _ => None,
    };
    let guesser = viewer.filter(|_| is_guess);
    let (project, now, token) = (call.project.id, call.now, hash(token));
    let verified = call.app.db.write(move |tx| {
        if let Some(user) = guesser {
            store::lock_codes(tx, project, user)?;
        }
        let Some(user) = store::take_verification(tx, project, &token, viewer, now)? else {
            if let Some(user) = guesser {
                store::count_wrong_try(tx, project, user, MAX_WRONG_TRIES)?;
            }
            return Ok(false);
        };
        users::set_verified(tx, project, user, now)?;
        store::delete_verifications(tx, project, user)?;
        Ok(true)
    });
    let verified = verified.await;
    if let Some(guess) = counted {
        guess.settle(&verified);
    }
    verified
}

/// The URL of a web page that a browser may be redirected to, on the project's list of origins if it has one;
/// `None` for anything else.
fn return_address(url: &str, origins: &[String]) -> Option<Url> {
    let is_plain = url.bytes().all(|b| b.is_ascii_graphic() && b != b'\\');
    // The parser also accepts URLs without the slashes, which other parsers read differently.
    let (scheme, _) = url.split_once("://").filter(|_| is_plain)?;
    let parsed = Url::parse(url).ok()?;
    let is_web = ["http", "https"].iter().any(|web| scheme.eq_ignore_ascii_case(web));
    let is_anonymous = parsed.username().is_empty() && parsed.password().is_none();
    let origin = parsed.origin().ascii_serialization();
    let is_allowed = origins.is_empty() || cors::is_listed(&origin, origins);
    (is_web && is_anonymous && is_allowed).then_some(parsed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_web_addresses_are_returned_to() {
        for good in ["https://app.example/done?x=1", "http://localhost:3000/", "HTTPS://a.example"]
        {
            assert!(return_address(good, &[]).is_some(), "{good}");
        }
        for bad in [
            "javascript:alert(1)",
            "javascript://%0aalert(1)",
            "data:text/html,x",
            "myapp://verified",
            "//evil.io",
            "/done",
            "done",
            "https:app.example",
            "https://",
            "https://a b",
            "ht\ntps://x",
            "https://ada@app.example/",
            "https://:secret@app.example/",
            "https://evil.io\\@app.example/",
        ] {
            assert!(return_address(bad, &[]).is_none(), "{bad}");
        }
    }

    #[test]
    fn with_a_list_an_address_must_be_of_a_listed_origin() {
        let list = ["https://app.example".to_owned(), "https://*.example.org".to_owned()];
        for good in ["https://app.example/x", "https://APP.example:443", "https://a.example.org"] {
            assert!(return_address(good, &list).is_some(), "{good}");
        }
        for bad in ["http://app.example", "https://app.example.evil.io", "https://example.org"] {
            assert!(return_address(bad, &list).is_none(), "{bad}");
        }
    }

    #[test]
    fn tokens_have_their_format() {
        let random = Random::seeded(2);
        assert_eq!(TokenFormat::Hex.draw(6, &random).len(), 64);
        let code = TokenFormat::Numeric.draw(8, &random);
        assert!(code.len() == 8 && code.bytes().all(|b| b.is_ascii_digit()));
        let code = TokenFormat::Alpha.draw(12, &random);
        assert!(code.len() == 12 && code.bytes().all(|b| b.is_ascii_uppercase()));
    }
}
