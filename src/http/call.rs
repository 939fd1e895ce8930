//! What is known of a request when its operation runs: what the checks have found, and what the handler gets.

use std::net::IpAddr;
use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use http::{HeaderMap, Method};
use serde_json::Value;

use crate::auth::credential::Presented;
use crate::error::{Error, Result};
use crate::http::multipart::Uploads;
use crate::http::operation::Operation;
use crate::http::version::Version;
use crate::rate_limits::RateLimit;
use crate::state::App;
use crate::storage::signed::Links;
use crate::tenancy::Project;
use crate::values::detail::Detail;
use crate::values::time::Timestamp;

/// A request that has passed every check that needs no user row and no input.
#[derive(Debug)]
pub struct CheckedRequest {
    pub app: App,
    pub operation: &'static Operation,
    pub project: Arc<Project>,
    pub version: Version,
    pub now: Timestamp,
    pub presented: Presented,
    /// Anybody may call the operation at this address, though it needs a credential elsewhere.
    pub is_open: bool,
    pub detail: Detail,
    /// Objects of strings.
    pub params: Value,
    pub query: Value,
    /// The raw query, for nested parameters.
    pub query_text: String,
    pub body: Bytes,
    pub parsed_body: OnceLock<Value>,
    /// The files of a form, in the order of their parts.
    pub uploads: Uploads,
    /// The body is a form, not JSON.
    pub form: bool,
    /// The caller is a browser that wants a page.
    pub wants_html: bool,
    pub headers: HeaderMap,
    /// The network that limits count against; none for a key.
    pub network: Option<u128>,
}

impl CheckedRequest {
    /// What the handler gets, once the caller is known.
    pub(super) fn into_call<A>(self, caller: A) -> Call<A> {
        let CheckedRequest { app, project, version, now, wants_html, detail, network, .. } = self;
        Call { app, project, version, now, caller, wants_html, detail, network }
    }

    /// The same request with another JSON body, and without files.
    pub fn with_body(&self, body: Value) -> Self {
        CheckedRequest {
            app: self.app.clone(),
            operation: self.operation,
            project: self.project.clone(),
            version: self.version,
            now: self.now,
            presented: self.presented,
            is_open: self.is_open,
            detail: self.detail,
            params: self.params.clone(),
            query: self.query.clone(),
            query_text: self.query_text.clone(),
            body: Bytes::new(),
            parsed_body: OnceLock::from(body),
            uploads: Uploads::default(),
            form: self.form,
            wants_html: self.wants_html,
            headers: self.headers.clone(),
            network: self.network,
        }
    }
}

/// What a handler knows about the request besides its input; the type names the caller.
#[derive(Debug)]
pub struct Call<A> {
    pub app: App,
    pub project: Arc<Project>,
    pub version: Version,
    pub now: Timestamp,
    pub caller: A,
    pub wants_html: bool,
    pub detail: Detail,
    pub(super) network: Option<u128>,
}

impl<A> Call<A> {
    /// Counts this request against another operation's limit as well.
    pub fn limit(&self, rate: RateLimit, operation: &str) -> Result<()> {
        let Some(network) = self.network else { return Ok(()) };
        let (project, now) = (self.project.id, self.app.clock.uptime());
        let counted = &self.app.limiter;
        counted
            .count(rate, operation, Some(project), &network.to_be_bytes(), now)
            .map(drop)
            .map_err(Error::RateLimited)
    }
}

impl<A> Call<A> {
    /// The same request by a caller that is known more exactly.
    pub fn with_caller<B>(self, caller: B) -> Call<B> {
        let Call { app, project, version, now, wants_html, detail, network, .. } = self;
        Call { app, project, version, now, caller, wants_html, detail, network }
    }

    /// The network that limits count against; none for a key.
    pub fn network(&self) -> Option<u128> {
        self.network
    }

    /// Signs addresses of the project's files for this reply.
    pub fn links(&self) -> Links {
        self.app.signer.links(self.project.id, self.now).with_detail(self.detail)
    }
}

/// A request outside of any project.
#[derive(Debug)]
pub struct ServerCall {
    pub app: App,
    pub method: Method,
    /// Objects of strings.
    pub params: Value,
    pub query: Value,
    /// Empty unless the operation takes one. The texts of a form with files are in it as a form without files has them.
    pub body: Bytes,
    /// The files of a form, or why it could not be read.
    pub uploads: Result<Uploads>,
    pub headers: HeaderMap,
    /// The client's own address, also behind a trusted proxy.
    pub client: IpAddr,
    /// It came through an untrusted proxy, or claims so; that proxy then counts as the client.
    pub is_forwarded: bool,
}
