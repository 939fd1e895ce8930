//! The declaration of an operation. The credential, the inputs and the replies come from the handler's
//! signature, so declaration, enforcement and documentation cannot differ.

use std::fmt;
use std::future::Future;
use std::pin::Pin;

use http::Method;
use schemars::{JsonSchema, SchemaGenerator};

use crate::auth::caller::{Credential, NO_USER_FOUND};
use crate::auth::credential::BadToken;
use crate::auth::operators::Audience;
use crate::error::{Fault, Result};
use crate::http::access::{self, Access};
pub use crate::http::call::{Call, CheckedRequest, ServerCall};
use crate::http::input::{Input, InputDoc, Invalid};
use crate::http::multipart::Form;
use crate::http::reply::{Reply, ReplyDoc, Response};
use crate::http::version::Version;
use crate::rate_limits::RateLimit;
use crate::tenancy::Bundle;

pub struct Operation {
    /// `POST /auth/sign-in`: the limiter's key of the operation.
    pub id: String,
    pub name: &'static str,
    pub method: Method,
    /// Below `/v<N>/:projectId`, or below the root for operations of the server itself.
    pub path: &'static str,
    /// The prefix of its `server-error` code.
    pub feature: &'static str,
    /// The first and the last version that have it.
    since: Version,
    until: Version,
    pub credential: Credential,
    /// For pages of the admin: the operators who may open them.
    pub audience: Option<Audience>,
    /// From this version on a user or a key is required, though the user is optional before.
    pub required_since: Option<Version>,
    /// How an invalid token is treated where the user is optional.
    pub bad_token: BadToken,
    /// Whether the target decides if a credential is needed.
    pub may_be_closed: bool,
    pub bundle: Option<Bundle>,
    /// Further required bundles.
    pub further_bundles: Vec<Bundle>,
    /// None for health checks, which must not be limited.
    pub rate: Option<RateLimit>,
    /// Whether a suspended user may use it.
    pub open_to_suspended: bool,
    pub acts_as: Option<ActsAs>,
    /// Error when the token's user was deleted.
    pub user_gone: Fault,
    /// Error without a credential, if not the general one.
    pub unauthenticated: Option<Fault>,
    /// Error for a key where a user is required.
    pub key_refusal: Option<Fault>,
    pub invalid: Invalid,
    pub errors: &'static [Fault],
    /// Accepts URL-encoded forms besides JSON, for the page that posts to it.
    pub takes_forms: bool,
    /// False for operations of the server itself that read no body.
    pub takes_body: bool,
    /// Accepts files in a multipart form; how its fields are read.
    pub form: Option<&'static Form>,
    /// For operations of the server itself: asked before the files of a form are read.
    pub guard: Option<Guard>,
    /// Replies with tokens or personal data are neither cached nor compressed.
    pub no_store: bool,
    /// Its reads may be answered by a replica of the database.
    pub tolerates_lag: bool,
    /// Anonymous callers who ask the same at once share one reply.
    pub is_shared: bool,
    /// A missing or unusable credential is refused in plain text in every version.
    pub plain_refusals: bool,
    pub input: fn(&mut SchemaGenerator) -> InputDoc,
    pub replies: fn(&mut SchemaGenerator) -> Vec<ReplyDoc>,
    /// The path of the handler, `townhall::features::auth::refresh::refresh`.
    pub handler: &'static str,
    pub run: Run,
}

/// Every operation that is served, for what describes them all.
#[derive(Debug, Clone, Copy)]
pub struct Operations(pub &'static [Operation]);

/// How a key names the user it acts as, and the errors when that fails.
#[derive(Debug, Clone, Copy)]
pub struct ActsAs {
    pub parameter: &'static str,
    pub missing: Fault,
    pub unknown: Fault,
    /// For a user's token that names another user; without it the name is ignored.
    pub other: Option<Fault>,
}

type Answer = Pin<Box<dyn Future<Output = Result<Response>> + Send>>;
/// A reply, if the caller may not send files.
pub type Guard = Box<dyn Fn(ServerCall) -> Guarded + Send + Sync>;
pub type Guarded = Pin<Box<dyn Future<Output = Result<Option<Response>>> + Send>>;
pub type RunProject = Box<dyn Fn(CheckedRequest) -> Answer + Send + Sync>;

pub enum Run {
    Project(RunProject),
    Server(Box<dyn Fn(ServerCall) -> Answer + Send + Sync>),
}

/// What a handler's signature says.
struct Signature {
    credential: Credential,
    input: fn(&mut SchemaGenerator) -> InputDoc,
    replies: fn(&mut SchemaGenerator) -> Vec<ReplyDoc>,
    handler: &'static str,
    run: Run,
}

impl Operation {
    /// An operation of a project, served under every version prefix and alias.
    pub fn new<A, I, O, H, F>(
        method: Method,
        path: &'static str,
        name: &'static str,
        feature: &'static str,
        invalid: Invalid,
        handler: H,
    ) -> Self
    where
        A: Access,
        I: Input,
        O: Reply,
        H: Fn(Call<A>, I) -> F + Copy + Send + Sync + 'static,
        F: Future<Output = Result<O>> + Send,
    {
        let run = move |request: CheckedRequest| -> Answer {
            Box::pin(async move { access::run(request, handler).await })
        };
        let input = |generator: &mut SchemaGenerator| {
            let mut doc = InputDoc::default();
            I::describe(&mut doc, generator);
            doc
        };
        let signature = Signature {
            credential: A::CREDENTIAL,
            input,
            replies: O::describe,
            handler: std::any::type_name::<H>(),
            run: Run::Project(Box::new(run)),
        };
        Operation::declared(method, path, name, feature, invalid, signature)
    }

    /// An operation of the server itself, at `path` below the root.
    pub fn server<O, H, F>(path: &'static str, name: &'static str, handler: H) -> Self
    where
        O: Reply,
        H: Fn(ServerCall) -> F + Copy + Send + Sync + 'static,
        F: Future<Output = Result<O>> + Send,
    {
        let run = move |call: ServerCall| -> Answer {
            Box::pin(async move { handler(call).await?.into_response() })
        };
        let signature = Signature {
            credential: Credential::Ignored,
            input: |_| InputDoc::default(),
            replies: O::describe,
            handler: std::any::type_name::<H>(),
            run: Run::Server(Box::new(run)),
        };
        let invalid = Invalid::all(crate::http::dispatch::INVALID_JSON);
        Operation::declared(Method::GET, path, name, "server", invalid, signature)
    }

    /// Not generic, so that it is compiled once.
    fn declared(
        method: Method,
        path: &'static str,
        name: &'static str,
        feature: &'static str,
        invalid: Invalid,
        signature: Signature,
    ) -> Self {
        let reads = method == Method::GET;
        let is_project_scoped = matches!(signature.run, Run::Project(_));
        let rate = RateLimit::per_5_minutes(if reads { 100 } else { 50 });
        Operation {
            id: format!("{method} {path}"),
            name,
            method,
            path,
            feature,
            since: Version::V6,
            until: Version::V8,
            credential: signature.credential,
            audience: None,
            required_since: None,
            bad_token: BadToken::Anonymous,
            may_be_closed: false,
            bundle: None,
            further_bundles: Vec::new(),
            rate: is_project_scoped.then_some(rate),
            open_to_suspended: reads,
            acts_as: None,
            user_gone: NO_USER_FOUND,
            unauthenticated: None,
            key_refusal: None,
            invalid,
            errors: &[],
            takes_forms: false,
            takes_body: is_project_scoped,
            form: None,
            guard: None,
            no_store: false,
            tolerates_lag: false,
            is_shared: false,
            plain_refusals: false,
            input: signature.input,
            replies: signature.replies,
            handler: signature.handler,
            run: signature.run,
        }
    }

    /// A page of the admin. It checks the audience itself, with what it knows of operators.
    pub fn page(self, method: Method, audience: Audience) -> Self {
        let takes_body = method == Method::POST;
        let rate = Some(RateLimit::per_5_minutes(3000));
        let page = self.method(method);
        Operation { audience: Some(audience), feature: "admin", takes_body, rate, ..page }
    }

    /// The same operation, served by a function that another one wraps.
    pub fn handled_by(self, handler: &'static str) -> Self {
        Operation { handler, ..self }
    }

    /// The part of the API that it belongs to, for the scopes of keys: the first word of its path.
    pub fn area(&self) -> &'static str {
        self.path.split('/').nth(1).unwrap_or_default()
    }

    pub fn rate(self, rate: RateLimit) -> Self {
        Operation { rate: Some(rate), ..self }
    }

    /// Earlier versions do not have it.
    pub fn since(self, since: Version) -> Self {
        Operation { since, ..self }
    }

    /// Later versions replaced it.
    pub fn until(self, until: Version) -> Self {
        Operation { until, ..self }
    }

    pub fn is_in(&self, version: Version) -> bool {
        (self.since..=self.until).contains(&version)
    }

    pub fn bad_token(self, bad_token: BadToken) -> Self {
        Operation { bad_token, ..self }
    }

    /// Earlier versions do not require a user or a key.
    pub fn required_since(self, since: Version) -> Self {
        Operation { required_since: Some(since), ..self }
    }

    pub fn credential_in(&self, version: Version) -> Credential {
        match self.required_since {
            Some(since) if version >= since => Credential::UserOrKey,
            _ => self.credential,
        }
    }

    pub fn may_be_closed(self) -> Self {
        Operation { may_be_closed: true, ..self }
    }

    pub fn bundle(self, bundle: Bundle) -> Self {
        Operation { bundle: Some(bundle), ..self }
    }

    pub fn also_needs(mut self, bundle: Bundle) -> Self {
        self.further_bundles.push(bundle);
        self
    }

    pub fn open_to_suspended(self) -> Self {
        Operation { open_to_suspended: true, ..self }
    }

    pub fn acts_as(self, acts_as: ActsAs) -> Self {
        Operation { acts_as: Some(acts_as), ..self }
    }

    pub fn user_gone(self, fault: Fault) -> Self {
        Operation { user_gone: fault, ..self }
    }

    pub fn unauthenticated(self, fault: Fault) -> Self {
        Operation { unauthenticated: Some(fault), ..self }
    }

    pub fn key_refusal(self, fault: Fault) -> Self {
        Operation { key_refusal: Some(fault), ..self }
    }

    pub fn errors(self, errors: &'static [Fault]) -> Self {
        Operation { errors, ..self }
    }

    pub fn takes_forms(self) -> Self {
        Operation { takes_forms: true, ..self }
    }

    pub fn takes_files(self, form: &'static Form) -> Self {
        Operation { form: Some(form), ..self }
    }

    pub fn guarded(self, guard: Guard) -> Self {
        Operation { guard: Some(guard), ..self }
    }

    /// Another method than GET, for an operation of the server itself.
    pub fn method(self, method: Method) -> Self {
        Operation { id: format!("{method} {}", self.path), method, ..self }
    }

    /// The path and query parameters of an operation of the server itself, as OpenAPI shows them.
    pub fn parameters<P: JsonSchema, Q: JsonSchema>(self) -> Self {
        let input = |generator: &mut SchemaGenerator| InputDoc {
            params: Some(P::json_schema(generator)),
            query: vec![Q::json_schema(generator)],
            body: None,
        };
        Operation { input, ..self }
    }

    /// The JSON body of an operation of the server itself, which the handler parses.
    pub fn body<B: JsonSchema>(self) -> Self {
        let input = |generator: &mut SchemaGenerator| InputDoc {
            body: Some(generator.subschema_for::<B>()),
            ..InputDoc::default()
        };
        Operation { input, takes_body: true, ..self }
    }

    pub fn no_store(self) -> Self {
        Operation { no_store: true, ..self }
    }

    /// What it shows may be some seconds old, except to those who changed it. Not for what clients fetch after an
    /// event, or to catch up.
    pub fn tolerates_lag(self) -> Self {
        Operation { tolerates_lag: true, ..self }
    }

    /// Of a read that counts nothing and shows anonymous callers the same: those who ask at once get one reply.
    pub fn shared(self) -> Self {
        Operation { is_shared: true, ..self }
    }

    /// Whether it only reads.
    pub fn is_read(&self) -> bool {
        self.method == Method::GET
    }

    pub fn plain_refusals(self) -> Self {
        Operation { plain_refusals: true, ..self }
    }

    /// Whether a reply with 200 and JSON has an `ETag`, and is replaced by 304 for a client that has it.
    pub fn is_conditional(&self) -> bool {
        self.method == Method::GET && self.is_project_scoped() && !self.no_store
    }

    pub fn is_project_scoped(&self) -> bool {
        matches!(self.run, Run::Project(_))
    }
}

impl fmt::Debug for Run {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if matches!(self, Run::Project(_)) { "Project(…)" } else { "Server(…)" })
    }
}

impl fmt::Debug for Operation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.method, self.path)
    }
}
