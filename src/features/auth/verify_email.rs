//! Send Verification Email, Verify Email, and the link that does the same from a mail.

use std::ops::RangeInclusive;

use http::StatusCode;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::auth::caller::{Actor, NO_USER_FOUND, OptionalViewer};
use crate::auth::keys::hash;
use crate::error::Result;
use crate::features::auth::pages::{self, LinkReply};
use crate::features::auth::session::Done;
use crate::features::auth::{INVALID_BODY, INVALID_OR_EXPIRED_TOKEN, NOT_PASSWORD_USER, store};
use crate::features::users::store as users;
use crate::http::input::{Body, Query};
use crate::http::operation::Call;
use crate::http::reply::Json;
use crate::ids::UserId;
use crate::jobs::{self, Job};
use crate::random::{Random, hex};

/// How long a code that is typed may be: long enough not to be guessed too soon.
const CODE_LENGTHS: RangeInclusive<usize> = 6..=12;
/// Wrong guesses after which a code that can be guessed is void.
const MOST_WRONG_TRIES: i64 = 5;

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
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
    /// Of codes that are typed, ignored for others; fewer than six characters would be guessed too soon.
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
    if body.redirect_url.as_deref().is_some_and(|url| safe_redirect(url).is_none()) {
        return Err(INVALID_BODY.because("redirectUrl must be an absolute URL"));
    }
    let (project, user) = (call.project.id, call.caller.user);
    let row = call.app.db.read(move |c| users::find(c, project, user)).await?;
    let row = row.ok_or(NO_USER_FOUND)?;
    if row.password_hash.is_none() || row.email.is_none() {
        return Err(NOT_PASSWORD_USER.into());
    }
    if !row.is_verified {
        let job = Job::EmailVerification {
            user,
            version: call.version.segment().to_owned(),
            mode: body.mode,
            format: body.token_format,
            length: token_length,
            redirect: body.redirect_url.filter(|_| body.mode == Mode::Link),
        };
        jobs::enqueue(&call.app, project, job, call.now).await?;
    }
    Ok(Json(Done::SILENT))
}

#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct VerifyEmail {
    token: String,
}

/// A wrong guess counts against the codes it could have hit: those of the signed-in user, or
/// every code of the project when nobody is signed in.
pub(super) async fn verify_email(
    call: Call<OptionalViewer>,
    Body(body): Body<VerifyEmail>,
) -> Result<Json<Done>> {
    if body.token.is_empty() {
        return Err(INVALID_BODY.because("token must not be empty"));
    }
    let viewer = match call.caller {
        OptionalViewer::User(user) => Some(user),
        OptionalViewer::Anonymous | OptionalViewer::Key(_) => None,
    };
    if verify(&call, &body.token, viewer).await? {
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
    let (outcome, page) = match verify(&call, &query.token, None).await {
        Ok(true) => ("verified=true", pages::verified()),
        Ok(false) => (
            "verified=false&error=invalid-or-expired-token",
            pages::not_verified(StatusCode::BAD_REQUEST),
        ),
        Err(error) => {
            tracing::error!(%error, "verification by link failed");
            let page = pages::not_verified(StatusCode::INTERNAL_SERVER_ERROR);
            ("verified=false&error=server-error", page)
        }
    };
    let redirect = query.redirect.as_deref().and_then(safe_redirect);
    Ok(redirect.map_or(LinkReply::Page(page), |url| {
        let joint = if url.contains('?') { '&' } else { '?' };
        LinkReply::Redirect(format!("{url}{joint}{outcome}"))
    }))
}

/// Whether the token was live. It is used up, with all others of its user.
async fn verify(call: &Call<OptionalViewer>, token: &str, viewer: Option<UserId>) -> Result<bool> {
    let (project, now) = (call.project.id, call.now);
    // A link that is too old is no guess: it could not have hit a code that is typed.
    let is_guess = CODE_LENGTHS.contains(&token.len());
    let token = hash(token);
    let verified = call.app.db.write(move |tx| {
        if is_guess {
            store::lock_codes(tx, project, viewer)?;
        }
        let Some(user) = store::take_verification(tx, project, &token, viewer, now)? else {
            if is_guess {
                store::count_wrong_try(tx, project, viewer, MOST_WRONG_TRIES)?;
            }
            return Ok(false);
        };
        users::set_verified(tx, project, user, now)?;
        store::delete_verifications(tx, project, user)?;
        Ok(true)
    });
    verified.await
}

/// An absolute URL that a browser may be sent to; `None` for anything else.
fn safe_redirect(url: &str) -> Option<&str> {
    let (scheme, rest) = url.split_once("://")?;
    let mut letters = scheme.bytes();
    let is_scheme = letters.next().is_some_and(|b| b.is_ascii_alphabetic())
        && letters.all(|b| b.is_ascii_alphanumeric() || b"+-.".contains(&b));
    let runs_code = ["javascript", "data", "vbscript"];
    let is_safe = is_scheme
        && !rest.is_empty()
        && !runs_code.iter().any(|bad| scheme.eq_ignore_ascii_case(bad))
        && url.bytes().all(|b| b.is_ascii_graphic());
    is_safe.then_some(url)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_absolute_and_harmless_urls_are_followed() {
        for good in ["https://app.example/done?x=1", "myapp://verified", "http://localhost:3000/"] {
            assert_eq!(safe_redirect(good), Some(good));
        }
        for bad in [
            "javascript:alert(1)",
            "javascript://%0aalert(1)",
            "JavaScript://x",
            "data:text/html,x",
            "data://x",
            "//evil.io",
            "/done",
            "done",
            "java\nscript://x",
            "https://",
            "https://a b",
        ] {
            assert_eq!(safe_redirect(bad), None, "{bad}");
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
