//! Access and refresh tokens: JWTs under HS256 with two secrets, both derived from the server's secret key,
//! so that one kind is never accepted as the other.

use std::time::Duration;

use aws_lc_rs::hmac;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD as BASE64;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::values::ids::{ProjectId, RefreshTokenId, SessionId, UserId};
use crate::values::time::Timestamp;

/// `{"alg":"HS256","typ":"JWT"}`. Tokens with any other header are refused.
const HEADER: &str = "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9";

/// The server's own name in `iss` and `aud`.
pub const SERVER: &str = "townhall";

#[derive(Debug)]
pub struct Tokens {
    keys: Keys,
    /// Of the secret before this one: they verify, but no longer sign.
    previous: Option<Keys>,
    pub access_ttl: Duration,
    pub refresh_ttl: Duration,
}

#[derive(Debug)]
struct Keys {
    access: hmac::Key,
    refresh: hmac::Key,
    cookie: hmac::Key,
    unsubscribe: hmac::Key,
}

impl Keys {
    fn of(secret: &[u8]) -> Self {
        let root = hmac::Key::new(hmac::HMAC_SHA256, secret);
        let derive = |purpose: &str| {
            let derived = hmac::sign(&root, purpose.as_bytes());
            hmac::Key::new(hmac::HMAC_SHA256, derived.as_ref())
        };
        Keys {
            access: derive("townhall access token"),
            refresh: derive("townhall refresh token"),
            cookie: derive("townhall refresh cookie"),
            unsubscribe: derive("townhall mail unsubscribe"),
        }
    }
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AccessClaims {
    pub sub: UserId,
    pub project_id: ProjectId,
    role: String,
    iss: String,
    aud: String,
    iat: i64,
    /// In seconds, like every time in a token.
    pub exp: i64,
    /// The session of this token: a password change keeps this one.
    pub sid: SessionId,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RefreshClaims {
    pub sub: UserId,
    pub project_id: ProjectId,
    iss: String,
    aud: String,
    pub jti: RefreshTokenId,
    iat: i64,
    pub exp: i64,
}

/// The inputs of a refresh token; the same row always gives the same text.
#[derive(Debug, Clone, Copy)]
pub struct RefreshToken {
    pub id: RefreshTokenId,
    pub project: ProjectId,
    pub user: UserId,
    pub issued: Timestamp,
    pub expires: Timestamp,
}

impl Tokens {
    pub fn new(secret: &[u8], access_ttl: Duration, refresh_ttl: Duration) -> Self {
        Tokens { keys: Keys::of(secret), previous: None, access_ttl, refresh_ttl }
    }

    /// Also accepts what was signed with the secret before this one.
    pub fn accepting(self, previous: Option<&[u8]>) -> Self {
        Tokens { previous: previous.map(Keys::of), ..self }
    }

    fn verifying(&self) -> impl Iterator<Item = &Keys> {
        std::iter::once(&self.keys).chain(&self.previous)
    }

    pub fn access(
        &self,
        project: ProjectId,
        user: UserId,
        session: SessionId,
        now: Timestamp,
    ) -> String {
        let claims = AccessClaims {
            sub: user,
            project_id: project,
            role: "user".to_owned(),
            iss: SERVER.to_owned(),
            aud: SERVER.to_owned(),
            iat: now.seconds(),
            exp: now.plus(self.access_ttl).seconds(),
            sid: session,
        };
        sign(&self.keys.access, &claims)
    }

    /// The claims of a valid, unexpired token of this project.
    pub fn verify_access(
        &self,
        token: &str,
        project: ProjectId,
        now: Timestamp,
    ) -> Option<AccessClaims> {
        let claims: AccessClaims = self.verifying().find_map(|keys| verify(&keys.access, token))?;
        (claims.exp > now.seconds() && claims.project_id == project).then_some(claims)
    }

    /// The project of a valid, unexpired token.
    pub fn project_of(&self, token: &str, now: Timestamp) -> Option<ProjectId> {
        let claims: AccessClaims = self.verifying().find_map(|keys| verify(&keys.access, token))?;
        (claims.exp > now.seconds()).then_some(claims.project_id)
    }

    pub fn refresh(&self, token: &RefreshToken) -> String {
        let claims = RefreshClaims {
            sub: token.user,
            project_id: token.project,
            iss: SERVER.to_owned(),
            aud: SERVER.to_owned(),
            jti: token.id,
            iat: token.issued.seconds(),
            exp: token.expires.seconds(),
        };
        sign(&self.keys.refresh, &claims)
    }

    /// The claims of a valid, unexpired refresh token of any project.
    pub fn verify_refresh(&self, token: &str, now: Timestamp) -> Option<RefreshClaims> {
        let claims: RefreshClaims =
            self.verifying().find_map(|keys| verify(&keys.refresh, token))?;
        (claims.exp > now.seconds()).then_some(claims)
    }

    /// Ends the mails to a user, as part of a link in each of them.
    pub fn unsubscribe(&self, project: ProjectId, user: UserId, expires: Timestamp) -> String {
        let mut token = Vec::from(user.0.as_bytes());
        token.extend(expires.seconds().to_be_bytes());
        let mac = hmac::sign(&self.keys.unsubscribe, &[project.0.as_bytes(), &token[..]].concat());
        token.extend(mac.as_ref());
        BASE64.encode(token)
    }

    /// The user whose mails an unexpired token of this project ends.
    pub fn verify_unsubscribe(
        &self,
        token: &str,
        project: ProjectId,
        now: Timestamp,
    ) -> Option<UserId> {
        let token = BASE64.decode(token).ok()?;
        let (signed, mac) = token.split_at_checked(24)?;
        let whole = [project.0.as_bytes(), signed].concat();
        self.verifying().find_map(|keys| hmac::verify(&keys.unsubscribe, &whole, mac).ok())?;
        let (user, expires) = signed.split_at(16);
        let expires = i64::from_be_bytes(expires.try_into().ok()?);
        (expires > now.seconds()).then_some(UserId(Uuid::from_slice(user).ok()?))
    }

    /// A refresh token for a cookie, bound to the origin of the page that signed in: browsers send cookies
    /// along with requests of any page.
    pub fn seal(&self, token: &str, origin: &str) -> String {
        let bound = hmac::sign(&self.keys.cookie, format!("{token}\n{origin}").as_bytes());
        format!("{token}.{}", BASE64.encode(bound.as_ref()))
    }

    /// The token of such a cookie, for a page of the same origin. Requests without an origin do not come from
    /// a page of another site.
    pub fn unseal<'a>(&self, cookie: &'a str, origin: Option<&str>) -> Option<&'a str> {
        let (token, bound) = cookie.rsplit_once('.')?;
        if let Some(origin) = origin {
            let bound = BASE64.decode(bound).ok()?;
            let signed = format!("{token}\n{origin}");
            self.verifying()
                .find_map(|keys| hmac::verify(&keys.cookie, signed.as_bytes(), &bound).ok())?;
        }
        Some(token)
    }
}

fn sign(key: &hmac::Key, claims: &impl Serialize) -> String {
    // Claims are plain structs of strings, ids and numbers: they always serialize.
    let payload = serde_json::to_vec(claims).unwrap_or_default();
    let signed = format!("{HEADER}.{}", BASE64.encode(payload));
    let signature = hmac::sign(key, signed.as_bytes());
    format!("{signed}.{}", BASE64.encode(signature.as_ref()))
}

fn verify<C: DeserializeOwned>(key: &hmac::Key, token: &str) -> Option<C> {
    let (signed, signature) = token.rsplit_once('.')?;
    let payload = signed.strip_prefix(HEADER)?.strip_prefix('.')?;
    let signature = BASE64.decode(signature).ok()?;
    hmac::verify(key, signed.as_bytes(), &signature).ok()?;
    serde_json::from_slice(&BASE64.decode(payload).ok()?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Timestamp = Timestamp::from_millis(1_785_542_400_000);
    const PROJECT: ProjectId = ProjectId(Uuid::from_u128(1));
    const USER: UserId = UserId(Uuid::from_u128(2));

    fn tokens(secret: &str) -> Tokens {
        Tokens::new(secret.as_bytes(), Duration::from_secs(1800), Duration::from_secs(86400))
    }

    fn access(tokens: &Tokens) -> String {
        tokens.access(PROJECT, USER, SessionId(Uuid::from_u128(3)), NOW)
    }

    #[test]
    fn the_previous_secret_verifies_and_no_longer_signs() {
        let (old, new) = (tokens("old"), tokens("new").accepting(Some(b"old")));
        assert!(new.verify_access(&access(&old), PROJECT, NOW).is_some());
        assert!(new.verify_access(&access(&new), PROJECT, NOW).is_some());
        assert!(old.verify_access(&access(&new), PROJECT, NOW).is_none());
        assert!(tokens("new").verify_access(&access(&old), PROJECT, NOW).is_none());
        let cookie = old.seal("token", "https://a.example");
        assert_eq!(new.unseal(&cookie, Some("https://a.example")), Some("token"));
        assert_eq!(new.unseal(&cookie, Some("https://b.example")), None);
    }

    #[test]
    fn an_access_token_holds_until_it_expires_and_only_in_its_project() {
        let tokens = tokens("secret");
        let token = access(&tokens);
        assert_eq!(tokens.verify_access(&token, PROJECT, NOW).unwrap().sub, USER);
        let last = NOW.plus(Duration::from_secs(1799));
        assert!(tokens.verify_access(&token, PROJECT, last).is_some());
        let expiry = NOW.plus(Duration::from_secs(1800));
        assert!(tokens.verify_access(&token, PROJECT, expiry).is_none());
        assert!(tokens.verify_access(&token, ProjectId(Uuid::from_u128(9)), NOW).is_none());
    }

    #[test]
    fn a_link_in_a_mail_ends_the_mails_of_one_user_for_a_time() {
        let (old, new) = (tokens("old"), tokens("new").accepting(Some(b"old")));
        let token = old.unsubscribe(PROJECT, USER, NOW.plus(Duration::from_secs(60)));
        assert_eq!(new.verify_unsubscribe(&token, PROJECT, NOW), Some(USER));
        let expiry = NOW.plus(Duration::from_secs(60));
        assert_eq!(new.verify_unsubscribe(&token, PROJECT, expiry), None);
        assert_eq!(new.verify_unsubscribe(&token, ProjectId(Uuid::from_u128(9)), NOW), None);
        assert_eq!(tokens("new").verify_unsubscribe(&token, PROJECT, NOW), None);
        let bytes = BASE64.decode(&token).unwrap();
        for place in 0..bytes.len() {
            let mut forged = bytes.clone();
            forged[place] ^= 1;
            let forged = BASE64.encode(forged);
            assert_eq!(new.verify_unsubscribe(&forged, PROJECT, NOW), None, "{place}");
        }
        for part in ["", "AAAA", &token[..32], "null"] {
            assert_eq!(new.verify_unsubscribe(part, PROJECT, NOW), None, "{part}");
        }
    }

    #[test]
    fn a_cookie_is_for_the_origin_that_it_was_made_for() {
        let tokens = tokens("secret");
        let cookie = tokens.seal("a.b.c", "https://app.example");
        assert_eq!(tokens.unseal(&cookie, Some("https://app.example")), Some("a.b.c"));
        assert_eq!(tokens.unseal(&cookie, None), Some("a.b.c"));
        for origin in ["https://evil.example", "https://app.example.evil", "null", ""] {
            assert_eq!(tokens.unseal(&cookie, Some(origin)), None, "{origin}");
        }
        let (_, bound) = cookie.rsplit_once('.').unwrap();
        let moved = format!("x.y.z.{bound}");
        assert_eq!(tokens.unseal(&moved, Some("https://app.example")), None);
        assert_eq!(tokens.unseal("a.b.c", Some("https://app.example")), None);
    }

    #[test]
    fn forged_tokens_do_not_hold() {
        let tokens = tokens("secret");
        let token = access(&tokens);
        let (signed, _) = token.rsplit_once('.').unwrap();
        let payload = signed.split('.').nth(1).unwrap();
        let none = BASE64.encode(r#"{"alg":"none"}"#);
        let empty_key = hmac::Key::new(hmac::HMAC_SHA256, b"");
        let empty = BASE64.encode(hmac::sign(&empty_key, signed.as_bytes()).as_ref());
        let other = access(&self::tokens("another secret"));
        for forged in [
            format!("{none}.{payload}."),
            format!("{signed}."),
            format!("{signed}.{empty}"),
            other,
            String::new(),
            "null".to_owned(),
            "a.b.c".to_owned(),
        ] {
            assert!(tokens.verify_access(&forged, PROJECT, NOW).is_none(), "{forged}");
        }
    }

    #[test]
    fn neither_kind_stands_in_for_the_other() {
        let tokens = tokens("secret");
        let row = RefreshToken {
            id: RefreshTokenId(Uuid::from_u128(4)),
            project: PROJECT,
            user: USER,
            issued: NOW,
            expires: NOW.plus(Duration::from_secs(60)),
        };
        let refresh = tokens.refresh(&row);
        assert_eq!(refresh, tokens.refresh(&row));
        assert!(tokens.verify_refresh(&refresh, NOW).is_some());
        assert!(tokens.verify_access(&refresh, PROJECT, NOW).is_none());
        assert!(tokens.verify_refresh(&access(&tokens), NOW).is_none());
    }
}
