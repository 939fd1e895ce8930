//! A visit to a page of the admin: who it is, whether they may, and what they sent. Everything that is refused here is
//! refused before a page runs: an unknown session, a role that is too low, a form from elsewhere.

use std::any::type_name;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use aws_lc_rs::constant_time::verify_slices_are_equal;
use aws_lc_rs::digest::{SHA256, digest};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use db::Tx;
use http::header::{HOST, ORIGIN};
use http::{HeaderMap, Method};
use serde_json::Value;
use url::Url;

use crate::audit::{self, Actor, Entry};
use crate::auth::operators::{Audience, Role, Roles};
use crate::error::{Error, Result, faults};
use crate::features::admin::layout;
use crate::features::admin::store::{self, OperatorRow, SessionRow};
use crate::http::cookies;
use crate::http::multipart::{Form, Uploads};
use crate::http::operation::{Guarded, Operation, ServerCall};
use crate::http::query::percent_encode;
use crate::http::reply::Response;
use crate::state::App;
use crate::tenancy::Project;
use crate::values::ids::ProjectId;
use crate::values::time::Timestamp;

faults! {
    pub NOT_FOUND = 404 "admin/not-found": "There is no such page, or it is not for you";
    pub NOT_ALLOWED = 403 "admin/not-allowed": "Your role does not allow this";
    pub FOREIGN_FORM = 403 "admin/foreign-form": "This form is out of date or was sent from another site: reload the page and try again";
    pub INVALID = 400 "admin/invalid": "Something in the form is not right";
}

/// A session ends when it was not used for this long, and at the latest after that.
const IDLE: Duration = Duration::from_secs(12 * 3600);
const LONGEST: Duration = Duration::from_secs(7 * 86_400);
/// How exactly it is known when a session was used.
const TOUCH_EVERY: Duration = Duration::from_secs(60);

/// What a page knows of its request.
#[derive(Debug)]
pub struct Visit<W = SignedIn> {
    pub app: App,
    pub now: Timestamp,
    pub who: W,
    /// The address of the page as it is declared, with names in place of ids.
    pub page: &'static str,
    method: Method,
    /// The project of the address.
    project: Option<Arc<Project>>,
    params: Value,
    query: Value,
    form: Vec<(String, String)>,
    pub uploads: Uploads,
    pub headers: HeaderMap,
    pub client: IpAddr,
}

/// An operator with a session.
#[derive(Debug)]
pub struct SignedIn {
    pub operator: OperatorRow,
    pub roles: Roles,
    pub session: SessionRow,
    /// What a form has to hold to be accepted.
    pub csrf: String,
}

/// A page for operators.
pub(super) fn page<H, F>(
    method: Method,
    path: &'static str,
    name: &'static str,
    audience: Audience,
    handler: H,
) -> Operation
where
    H: Fn(Visit) -> F + Copy + Send + Sync + 'static,
    F: Future<Output = Result<Response>> + Send,
{
    let run = move |call: ServerCall| async move {
        let visit = match admit(call, path, audience).await {
            Ok(Admission::Visit(visit)) => *visit,
            Ok(Admission::SignInFirst(to)) => return layout::see_other(&to),
            Err(error) => return Ok(layout::failure(error)),
        };
        Ok(handler(visit).await.unwrap_or_else(layout::failure))
    };
    let page = Operation::server(path, name, run).page(method, audience).no_store();
    page.handled_by(type_name::<H>())
}

/// A page that takes files. Who may not see it cannot send them.
pub(super) fn page_with_files<H, F>(
    (path, name, audience): (&'static str, &'static str, Audience),
    form: &'static Form,
    handler: H,
) -> Operation
where
    H: Fn(Visit) -> F + Copy + Send + Sync + 'static,
    F: Future<Output = Result<Response>> + Send,
{
    let guard = move |call: ServerCall| -> Guarded {
        Box::pin(async move {
            match enter(&call, audience).await {
                Ok(Entrance::Open(..)) => Ok(None),
                Ok(Entrance::SignInFirst(to)) => layout::see_other(&to).map(Some),
                Err(error) => Ok(Some(layout::failure(error))),
            }
        })
    };
    let page = page(Method::POST, path, name, audience, handler);
    page.takes_files(form).guarded(Box::new(guard))
}

/// A page that needs nobody to be signed in.
pub(super) fn open_page<H, F>(
    method: Method,
    path: &'static str,
    name: &'static str,
    handler: H,
) -> Operation
where
    H: Fn(Visit<()>) -> F + Copy + Send + Sync + 'static,
    F: Future<Output = Result<Response>> + Send,
{
    let run = move |call: ServerCall| async move {
        if call.method == Method::POST && !is_own_form(&call) {
            return Ok(layout::failure(FOREIGN_FORM.into()));
        }
        let visit = Visit::new(call, path, (), None);
        let reply = async { handler(visit?).await }.await;
        Ok(reply.unwrap_or_else(layout::failure))
    };
    let page = Operation::server(path, name, run).page(method, Audience::Anyone).no_store();
    page.handled_by(type_name::<H>())
}

enum Admission {
    Visit(Box<Visit>),
    SignInFirst(String),
}

async fn admit(call: ServerCall, page: &'static str, audience: Audience) -> Result<Admission> {
    let (who, project) = match enter(&call, audience).await? {
        Entrance::Open(who, project) => (*who, project),
        Entrance::SignInFirst(to) => return Ok(Admission::SignInFirst(to)),
    };
    let visit = Visit::new(call, page, who, project)?;
    if visit.method == Method::POST && !visit.has_csrf_token() {
        return Err(FOREIGN_FORM.into());
    }
    Ok(Admission::Visit(Box::new(visit)))
}

/// What is known before the body is read.
enum Entrance {
    /// With the project of the address.
    Open(Box<SignedIn>, Option<Arc<Project>>),
    SignInFirst(String),
}

async fn enter(call: &ServerCall, audience: Audience) -> Result<Entrance> {
    let Some(who) = signed_in(call).await? else {
        let next = match call.method {
            Method::GET => call.params["projectId"].as_str().map(|id| format!("/admin/p/{id}")),
            _ => None,
        };
        let next = next.map(|path| format!("?next={}", percent_encode(&path)));
        return Ok(Entrance::SignInFirst(format!("/admin/sign-in{}", next.unwrap_or_default())));
    };
    let project = match call.params["projectId"].as_str() {
        Some(id) => {
            let id: ProjectId = id.parse().map_err(|_| Error::from(NOT_FOUND))?;
            // Whether a project exists is no business of operators of others.
            who.roles.in_project(id).ok_or(NOT_FOUND)?;
            let found = call.app.projects.get(&call.app.db, id, call.app.clock.uptime()).await?;
            Some(found.ok_or(NOT_FOUND)?)
        }
        None => None,
    };
    if !who.roles.admits(audience, project.as_ref().map(|project| project.id)) {
        return Err(NOT_ALLOWED.into());
    }
    if call.method == Method::POST && !is_own_form(call) {
        return Err(FOREIGN_FORM.into());
    }
    Ok(Entrance::Open(Box::new(who), project))
}

/// The operator whose session the cookie names.
async fn signed_in(call: &ServerCall) -> Result<Option<SignedIn>> {
    let Some(token) = cookies::find(&call.headers, cookie_name(&call.app)) else {
        return Ok(None);
    };
    let (app, now, hash) = (&call.app, call.app.clock.now(), hash(&token));
    let found = app.db.read(move |c| {
        let Some(session) = store::session(c, &hash, now)? else { return Ok::<_, Error>(None) };
        let Some(operator) = store::find(c, session.operator_id)? else { return Ok(None) };
        let roles = store::roles(c, operator.id)?;
        Ok(Some((session, operator, roles)))
    });
    let Some((mut session, operator, roles)) = db::exactly(found).await? else { return Ok(None) };
    if operator.disabled_at.is_some() {
        return Ok(None);
    }
    if now > session.used_at.plus(TOUCH_EVERY) {
        session.used_at = now;
        session.expires_at = expiry(session.created_at, now);
        session.client = call.client.to_string();
        let touched = session.clone();
        app.db.write(move |tx| store::touch_session(tx, &touched)).await?;
    }
    Ok(Some(SignedIn { operator, roles, session, csrf: csrf(&token) }))
}

/// When a session ends that is used now.
pub(super) fn expiry(created: Timestamp, now: Timestamp) -> Timestamp {
    now.plus(IDLE).min(created.plus(LONGEST))
}

/// The prefix makes browsers refuse a cookie that another host or a page without TLS has set.
pub(super) fn cookie_name(app: &App) -> &'static str {
    if is_secure(app) { "__Host-townhall_admin" } else { "townhall_admin" }
}

pub(super) fn is_secure(app: &App) -> bool {
    app.config.public_url.starts_with("https://")
}

/// Only hashes of tokens are stored.
pub(super) fn hash(token: &str) -> Vec<u8> {
    digest(&SHA256, token.as_bytes()).as_ref().to_vec()
}

/// Bound to the session: a page that cannot read the cookie cannot know it.
fn csrf(token: &str) -> String {
    let tag = digest(&SHA256, format!("csrf of {token}").as_bytes());
    URL_SAFE_NO_PAD.encode(&tag.as_ref()[..18])
}

/// Whether a form was sent by a page of this server. Browsers say where it comes from.
fn is_own_form(call: &ServerCall) -> bool {
    let header = |name: &str| call.headers.get(name).and_then(|value| value.to_str().ok());
    if header("sec-fetch-site").is_some_and(|site| site != "same-origin" && site != "none") {
        return false;
    }
    let Some(origin) = header(ORIGIN.as_str()) else { return true };
    let Ok(origin) = Url::parse(origin) else { return false };
    let own = Url::parse(&call.app.config.public_url);
    let is_public = own.is_ok_and(|own| own.origin() == origin.origin());
    let host = match origin.port() {
        Some(port) => format!("{}:{port}", origin.host_str().unwrap_or_default()),
        None => origin.host_str().unwrap_or_default().to_owned(),
    };
    is_public || header(HOST.as_str()).is_some_and(|asked| asked.eq_ignore_ascii_case(&host))
}

impl<W> Visit<W> {
    fn new(
        call: ServerCall,
        page: &'static str,
        who: W,
        project: Option<Arc<Project>>,
    ) -> Result<Self> {
        let uploads = call.uploads?;
        let form = url::form_urlencoded::parse(&call.body);
        // Browsers end the lines of a field with two characters.
        let plain = |value: &str| value.replace('\0', "").replace("\r\n", "\n");
        let form = form.map(|(name, value)| (name.into_owned(), plain(&value))).collect();
        Ok(Visit {
            now: call.app.clock.now(),
            app: call.app,
            who,
            page,
            method: call.method,
            project,
            params: call.params,
            query: call.query,
            form,
            uploads,
            headers: call.headers,
            client: call.client,
        })
    }

    /// A part of the address.
    pub fn param(&self, name: &str) -> &str {
        self.params[name].as_str().unwrap_or_default()
    }

    /// A parameter of the query that is not empty.
    pub fn query(&self, name: &str) -> Option<&str> {
        self.query[name].as_str().map(str::trim).filter(|text| !text.is_empty())
    }

    /// A field of the form that is not empty.
    pub fn field(&self, name: &str) -> Option<&str> {
        self.fields(name).next()
    }

    pub fn fields<'a, 'n>(
        &'a self,
        name: &'n str,
    ) -> impl Iterator<Item = &'a str> + use<'a, 'n, W> {
        let named = self.form.iter().filter(move |(field, _)| field == name);
        named.map(|(_, value)| value.trim()).filter(|value| !value.is_empty())
    }

    /// The same, where the form is useless without it.
    pub fn required(&self, name: &str) -> Result<&str> {
        self.field(name).ok_or_else(|| INVALID.because(format!("Fill in {name}.")))
    }

    /// Where to go back to: a page of the admin.
    pub fn next(&self) -> Option<&str> {
        let next = self.field("next").or_else(|| self.query("next"))?;
        let is_own = next.starts_with("/admin/") && !next.contains("//") && !next.contains('\\');
        is_own.then_some(next)
    }
}

impl Visit {
    fn has_csrf_token(&self) -> bool {
        let header = self.headers.get("x-csrf-token").and_then(|value| value.to_str().ok());
        let given = self.field("csrf").or(header).unwrap_or_default();
        verify_slices_are_equal(given.as_bytes(), self.who.csrf.as_bytes()).is_ok()
    }

    /// The project of the address.
    pub fn project(&self) -> Result<&Arc<Project>> {
        self.project.as_ref().ok_or(NOT_FOUND.into())
    }

    /// The role in the project of the address, or in all of them.
    pub fn role(&self) -> Option<Role> {
        match &self.project {
            Some(project) => self.who.roles.in_project(project.id),
            None => self.who.roles.everywhere(),
        }
    }

    pub fn actor(&self) -> Actor {
        let OperatorRow { id, email, .. } = &self.who.operator;
        Actor::Operator { id: *id, email: email.clone(), client: self.client }
    }

    /// One transaction that changes something and says so in the audit log.
    pub async fn write<T: Send + 'static>(
        &self,
        entry: Entry,
        work: impl Fn(&Tx<'_>) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let written = self.app.db.write(move |tx| {
            let value = work(tx)?;
            entry.write(tx)?;
            Ok::<_, Error>(value)
        });
        written.await
    }

    /// An entry of the audit log about what this visit changes.
    pub fn entry(&self, action: &str, target: impl Into<String>) -> Entry {
        let project = self.project.as_ref().map_or(audit::INSTALLATION, |project| project.id);
        Entry::new(project, &self.actor(), action, target.into(), (self.now, &self.app.random))
    }

    /// The same about the installation, where the log of the project would be of no use.
    pub fn entry_of_installation(&self, action: &str, target: impl Into<String>) -> Entry {
        let made = (self.now, &self.app.random);
        Entry::new(audit::INSTALLATION, &self.actor(), action, target.into(), made)
    }
}
