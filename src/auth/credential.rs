//! The credential of a request: none, a key of the project, a user's access token, or an invalid one.

use std::fmt;

use http::HeaderMap;
use http::header::{AUTHORIZATION, ORIGIN};
use serde_json::Value;
use url::Url;

use crate::auth::keys;
use crate::auth::tokens::Tokens;
use crate::error::{Result, faults};
use crate::tenancy::Project;
use crate::tenancy::keys::KeyKind;
use crate::values::ids::{KeyId, SessionId, UserId};
use crate::values::time::Timestamp;

faults! {
    pub PROJECT_MISMATCH = 403 "auth/project-mismatch":
        "The project of the credential is not the project of the request";

    pub KEY_SCOPE = 403 "auth/key-scope": "The key is not for this operation";

    pub KEY_IN_BROWSER = 403 "auth/key-in-browser":
        "The project does not allow service and master keys in browsers";
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Presented {
    #[default]
    Nothing,
    /// The word `null` or `undefined`, which old clients send when they have no token.
    Placeholder,
    Unusable,
    User {
        user: UserId,
        session: SessionId,
    },
    Key {
        kind: KeyKind,
        id: KeyId,
    },
}

/// The caller's name in the log.
impl fmt::Display for Presented {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Presented::Nothing | Presented::Placeholder | Presented::Unusable => {
                f.write_str("anonymous")
            }
            Presented::User { user, .. } => write!(f, "user {user}"),
            Presented::Key { kind, .. } => write!(f, "{} key", kind.name()),
        }
    }
}

impl Presented {
    /// Any caller, without saying which.
    pub fn kind(self) -> &'static str {
        match self {
            Presented::Nothing | Presented::Placeholder | Presented::Unusable => "anonymous",
            Presented::User { .. } => "user",
            Presented::Key { kind: KeyKind::Service, .. } => "service key",
            Presented::Key { kind: KeyKind::Master, .. } => "master key",
        }
    }

    pub fn read(
        headers: &HeaderMap,
        project: &Project,
        tokens: &Tokens,
        public_url: &str,
        now: Timestamp,
    ) -> Result<Self> {
        let Some(bearer) = bearer(headers) else {
            return Ok(Presented::Nothing);
        };
        if let Some(key) = keys::find(bearer, &project.keys).filter(|key| key.is_valid(now)) {
            let named = project_header(headers);
            if named.is_some_and(|id| !id.eq_ignore_ascii_case(&project.id.to_string())) {
                return Err(PROJECT_MISMATCH.into());
            }
            check_key_origin(headers, project, public_url)?;
            return Ok(Presented::Key { kind: key.kind, id: key.id });
        }
        Ok(match tokens.verify_access(bearer, project.id, now) {
            Some(claims) => Presented::User { user: claims.sub, session: claims.sid },
            None if bearer == "null" || bearer == "undefined" => Presented::Placeholder,
            None => Presented::Unusable,
        })
    }
}

/// Refuses a key sent by a web page: everybody who opens the page could read it.
pub fn check_key_origin(headers: &HeaderMap, project: &Project, public_url: &str) -> Result<()> {
    if project.keys_in_browsers || is_own_page(headers, public_url) {
        Ok(())
    } else {
        Err(KEY_IN_BROWSER.into())
    }
}

/// Whether a request comes from no page, or from one of the server's own.
fn is_own_page(headers: &HeaderMap, public_url: &str) -> bool {
    let mut origins = headers.get_all(ORIGIN).into_iter();
    match (origins.next(), origins.next()) {
        (None, _) => true,
        (Some(origin), None) => {
            let own = Url::parse(public_url).map(|url| url.origin().ascii_serialization());
            own.is_ok_and(|own| own != "null" && own.as_bytes() == origin.as_bytes())
        }
        (Some(_), Some(_)) => false,
    }
}

/// How an invalid token is treated where the user is optional. Writes are refused, so that no post silently
/// loses its author.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BadToken {
    Anonymous,
    Refused,
    /// Refused only with `createIfNotFound=true`.
    RefusedToCreate,
}

impl BadToken {
    pub fn is_refused(self, query: &Value) -> bool {
        match self {
            BadToken::Anonymous => false,
            BadToken::Refused => true,
            BadToken::RefusedToCreate => query["createIfNotFound"] == "true",
        }
    }
}

/// The value of `Authorization: Bearer …`; other schemes are ignored.
pub fn bearer(headers: &HeaderMap) -> Option<&str> {
    let value = headers.get(AUTHORIZATION)?.to_str().ok()?;
    let (scheme, token) = value.split_once(' ').unwrap_or((value, ""));
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
}

/// The project that the holder of a key names, in its current or its older header.
pub fn project_header(headers: &HeaderMap) -> Option<&str> {
    let named = headers.get("x-sublay-project-id").or_else(|| headers.get("x-replyke-project-id"));
    named?.to_str().ok()
}
