//! What issuers publish: OpenID configurations and key sets, fetched through the guarded client and cached.
//! A token signed by a key that the cached set lacks renews it, because issuers rotate their keys; but not
//! more often than every `PAUSE`, because anybody can send such tokens.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde_json::Value;

use crate::auth::jwk::{Jwt, KeySet};
use crate::error::{Error, Result};
use crate::outbound::{Limits, Message, Target};
use crate::state::App;
use crate::values::json;

/// How long a document is used before it is fetched again, and how long at most while that fails.
const FRESH_FOR: Duration = Duration::from_secs(60 * 60);
const USABLE_FOR: Duration = Duration::from_secs(24 * 60 * 60);
/// Between two attempts to fetch the same document.
const PAUSE: Duration = Duration::from_secs(30);
/// Operators name the addresses; still the cache is bounded.
const MAX_DOCUMENTS: usize = 10_000;
const LIMITS: Limits = Limits { time: Duration::from_secs(10), body: 512 * 1024, redirects: 0 };

/// One lock for each document, so that concurrent requests fetch it once.
#[derive(Debug, Default)]
pub struct Documents(Mutex<HashMap<String, Arc<tokio::sync::Mutex<Entry>>>>);

#[derive(Debug, Default)]
struct Entry {
    document: Option<(Arc<Value>, Duration)>,
    tried: Option<Duration>,
}

impl Documents {
    fn entry(&self, url: &str) -> Arc<tokio::sync::Mutex<Entry>> {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if all.len() >= MAX_DOCUMENTS && !all.contains_key(url) {
            all.clear();
        }
        all.entry(url.to_owned()).or_default().clone()
    }
}

/// The JSON document at a URL, from the cache while it is fresh.
pub async fn document(app: &App, url: &str) -> Result<Arc<Value>> {
    fetch(app, url, false).await
}

/// The same, but fetched again unless that was tried a moment ago.
async fn renewed(app: &App, url: &str) -> Result<Arc<Value>> {
    fetch(app, url, true).await
}

async fn fetch(app: &App, url: &str, renew: bool) -> Result<Arc<Value>> {
    let entry = app.features.get::<Documents>().entry(url);
    let mut entry = entry.lock().await;
    let now = app.clock.uptime();
    let within = |limit: Duration| {
        let found = entry.document.as_ref();
        found.filter(|(_, read_at)| now < *read_at + limit).map(|(document, _)| document.clone())
    };
    let usable = within(USABLE_FOR);
    if let Some(document) = within(FRESH_FOR).filter(|_| !renew) {
        return Ok(document);
    }
    if entry.tried.is_some_and(|tried| now < tried + PAUSE) {
        return usable.ok_or_else(|| Error::internal(format!("{url} failed a moment ago")));
    }
    entry.tried = Some(now);
    match download(app, url).await {
        Ok(document) => {
            let document = Arc::new(document);
            entry.document = Some((document.clone(), now));
            Ok(document)
        }
        Err(error) => {
            tracing::warn!(url, %error, "a document of an issuer could not be fetched");
            usable.ok_or(error)
        }
    }
}

async fn download(app: &App, url: &str) -> Result<Value> {
    let failed = |why: &dyn std::fmt::Display| Error::internal(format!("{url}: {why}"));
    let target = Target::parse(url).map_err(|error| failed(&error))?;
    let message = Message::get("application/json");
    let answer = app.outbound.call(target, message, LIMITS).await.map_err(|e| failed(&e))?;
    if answer.status != 200 {
        return Err(failed(&format!("answered {}", answer.status)));
    }
    json::check(&answer.body).map_err(|why| failed(&why))?;
    serde_json::from_slice(&answer.body).map_err(|error| failed(&error))
}

/// The claims of a token that a key of this set has signed; `None` if none has.
pub async fn verified(app: &App, jwks_url: &str, token: &str) -> Result<Option<Value>> {
    let Some(token) = Jwt::parse(token) else { return Ok(None) };
    let unusable = || Error::internal(format!("{jwks_url} is no set of keys"));
    let document = document(app, jwks_url).await?;
    let mut keys = KeySet::parse(&document).ok_or_else(unusable)?;
    if !token.has_key_in(&keys) {
        keys = KeySet::parse(&*renewed(app, jwks_url).await?).ok_or_else(unusable)?;
    }
    // A signature takes less time than handing it to another thread.
    Ok(token.verified(&keys))
}

/// What an issuer says of itself (OpenID Connect Discovery 1.0).
#[derive(Debug, Clone)]
pub struct Issuer {
    pub document: Arc<Value>,
}

/// By discovery. The document must be about this issuer: another one could not tell its tokens apart.
pub async fn discover(app: &App, issuer: &str) -> Result<Issuer> {
    let url = format!("{}/.well-known/openid-configuration", issuer.trim_end_matches('/'));
    let document = document(app, &url).await?;
    if document["issuer"] != issuer {
        return Err(Error::internal(format!("{url} is about another issuer")));
    }
    Ok(Issuer { document })
}

impl Issuer {
    /// The URL of an endpoint.
    pub fn url(&self, name: &str) -> Result<&str> {
        let url = self.document[name].as_str();
        url.ok_or_else(|| Error::internal(format!("the issuer has no {name}")))
    }

    /// Whether a list of what it supports names this; `None` without such a list.
    pub fn supports(&self, list: &str, name: &str) -> Option<bool> {
        self.document[list].as_array().map(|supported| supported.iter().any(|one| one == name))
    }

    pub fn flag(&self, name: &str) -> bool {
        self.document[name] == true
    }
}
