//! The session cookie. Published clients keep tokens in memory alone: after a reload of the page, only a
//! cookie brings their session back. It is read by Request New Access Token and by Sign Out, and
//! authenticates nothing else.
//!
//! Browsers send it along with requests of any page, and without a list of origins every page may read the
//! replies of a project. So a cookie is bound to the origin of the page that signed in, and counts for
//! requests of that origin alone (`Tokens::seal`).

use http::HeaderMap;
use http::header::{HeaderValue, ORIGIN, SET_COOKIE};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::error::{Error, Result};
use crate::http::cookies::find;
use crate::http::input::body_value;
use crate::http::operation::{CheckedRequest, RunProject};
use crate::http::reply::{Body, Response};
use crate::state::App;

/// Where a request comes from.
#[derive(Debug)]
enum Page {
    /// Not from a page, or from one that shares its origin with the server.
    None,
    At(String),
    /// From a page without an origin of its own: `null` is that of many pages.
    Opaque,
}

/// The cookies of one request.
#[derive(Debug)]
pub(super) struct Jar {
    app: App,
    name: String,
    page: Page,
    /// As it was sent.
    cookie: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Started {
    refresh_token: String,
}

impl Jar {
    pub(super) fn of(request: &CheckedRequest) -> Self {
        let app = request.app.clone();
        let name = format!("{}-{}", app.config.refresh_cookie, request.project.id);
        let cookie = find(&request.headers, &name);
        Jar { app, name, page: page(&request.headers), cookie }
    }

    /// The refresh token in the cookie, if the page that sends it may use it.
    fn token(&self) -> Option<String> {
        let origin = match &self.page {
            Page::None => None,
            Page::At(origin) => Some(origin.as_str()),
            Page::Opaque => return None,
        };
        self.app.tokens.unseal(self.cookie.as_deref()?, origin).map(ToOwned::to_owned)
    }

    /// Puts the refresh token of a new session into the cookie.
    pub(super) fn keep_session(&self, response: &mut Response) {
        let origin = match &self.page {
            Page::None => "",
            Page::At(origin) => origin,
            Page::Opaque => return,
        };
        let Body::Whole(body) = response.body() else { return };
        let Ok(Started { refresh_token }) = serde_json::from_slice(body) else { return };
        let sealed = self.app.tokens.seal(&refresh_token, origin);
        self.set(response, &sealed, self.app.tokens.refresh_ttl.as_secs());
    }

    fn clear(&self, response: &mut Response) {
        self.set(response, "", 0);
    }

    /// Pages of other sites need `SameSite=None`, which browsers accept with `Secure` only.
    fn set(&self, response: &mut Response, value: &str, max_age: u64) {
        let name = &self.name;
        let site = match self.app.config.public_url.starts_with("https://") {
            true => "SameSite=None; Secure",
            false => "SameSite=Lax",
        };
        let cookie = format!("{name}={value}; HttpOnly; {site}; Path=/; Max-Age={max_age}");
        if let Ok(cookie) = HeaderValue::from_str(&cookie) {
            response.headers_mut().append(SET_COOKIE, cookie);
        }
    }
}

fn page(headers: &HeaderMap) -> Page {
    let mut origins = headers.get_all(ORIGIN).into_iter();
    match (origins.next(), origins.next()) {
        (None, _) => Page::None,
        (Some(origin), None) => match origin.to_str() {
            Ok("null") | Err(_) => Page::Opaque,
            Ok(origin) => Page::At(origin.to_owned()),
        },
        (Some(_), Some(_)) => Page::Opaque,
    }
}

/// The cookie first; if it is of no use, the token of the body.
pub(super) async fn refresh(
    run: &RunProject,
    request: CheckedRequest,
    jar: &Jar,
) -> Result<Response> {
    let Some(token) = jar.token() else { return run(request).await };
    let sent = body_value(&request).ok().and_then(|body| body.get("refreshToken")?.as_str());
    let has_other = sent.is_some_and(|sent| !sent.is_empty() && sent != token);
    match run(request.with_body(json!({ "refreshToken": token }))).await {
        Err(Error::Refused(_)) if has_other => run(request).await,
        answered => answered,
    }
}

/// Ends the session of the cookie, and that of the body if it is another one.
pub(super) async fn sign_out(
    run: &RunProject,
    request: CheckedRequest,
    jar: &Jar,
) -> Result<Response> {
    let Some(token) = jar.token() else { return run(request).await };
    let is_other = match body_value(&request) {
        Ok(Value::Object(body)) => body.get("refreshToken").is_some_and(|sent| *sent != *token),
        _ => false,
    };
    let mut response = run(request.with_body(json!({ "refreshToken": token }))).await?;
    if is_other {
        response = run(request).await?;
    }
    jar.clear(&mut response);
    Ok(response)
}
