//! What all pages share: the frame around them, and how they are sent. Pages load nothing from elsewhere and run no
//! script that is not a file of the server.

use http::header::{LOCATION, SET_COOKIE};
use http::{HeaderValue, StatusCode};
use maud::{DOCTYPE, Markup, PreEscaped, html};

use crate::auth::operators::Role;
use crate::error::{Error, Result};
use crate::features::admin::assets;
use crate::features::admin::visit::Visit;
use crate::http::reply::{self, Body, HTML, Response};
use crate::values::time::Timestamp;

/// Images may be in the storage of the application, where the address of a file leads.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: https:; \
                      connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

/// The pages of a project: where, what, and the least role.
const PROJECT_PAGES: &[(&str, &str, Role)] = &[
    ("", "Overview", Role::Analyst),
    ("/queue", "Queue", Role::Moderator),
    ("/users", "Users", Role::Moderator),
    ("/content", "Content", Role::Moderator),
    ("/spaces", "Spaces", Role::Moderator),
    ("/files", "Files", Role::Admin),
    ("/why", "Why?", Role::Moderator),
    ("/rules", "Rules", Role::Admin),
    ("/tables", "Tables", Role::Admin),
    ("/webhooks", "Webhooks", Role::Admin),
    ("/sign-in", "Sign-in", Role::Admin),
    ("/push", "Push", Role::Admin),
    ("/mails", "Mails", Role::Admin),
    ("/keys", "Keys", Role::Admin),
    ("/settings", "Settings", Role::Admin),
    ("/import", "Import", Role::Owner),
    ("/jobs", "Jobs", Role::Admin),
    ("/requests", "Requests", Role::Admin),
    ("/audit", "Audit log", Role::Admin),
];

/// The pages of the installation.
const SYSTEM_PAGES: &[(&str, &str, Role)] = &[
    ("/admin", "Projects", Role::Analyst),
    ("/admin/operators", "Operators", Role::Owner),
    ("/admin/system", "System", Role::Admin),
    ("/admin/jobs", "Jobs", Role::Admin),
    ("/admin/requests", "Requests", Role::Admin),
    ("/admin/audit", "Audit log", Role::Owner),
];

/// A page for a visitor: its title, its content, and the script that it needs.
pub(super) fn page(visit: &Visit, title: &str, content: &Markup) -> Response {
    scripted(visit, title, None, content)
}

pub(super) fn scripted(
    visit: &Visit,
    title: &str,
    script: Option<&str>,
    content: &Markup,
) -> Response {
    let body = html! {
        a.skip href="#content" { "Skip to content" }
        (header(visit))
        div.columns {
            (navigation(visit))
            main #content tabindex="-1" { h1 { (title) } (content) }
        }
    };
    respond(StatusCode::OK, &document(title, script, &body))
}

fn header(visit: &Visit) -> Markup {
    html! {
        header.top {
            a.brand href="/admin" { "Townhall" }
            @if let Ok(project) = visit.project() { span.where { (project.name) } }
            span.spring {}
            a href="/admin/account" { (visit.who.operator.name) }
            form method="post" action="/admin/sign-out" {
                (csrf(visit)) button.quiet { "Sign out" }
            }
        }
    }
}

/// The pages that the visitor may open; the entry of the one that is shown, or that it is below, is marked.
fn navigation(visit: &Visit) -> Markup {
    let link = |declared: &str, to: &str, name: &str| {
        let below = visit.page.strip_prefix(declared);
        let has_pages_below = !["/admin", "/admin/p/{projectId}"].contains(&declared);
        let current = match below {
            Some("") => Some("page"),
            Some(rest) if has_pages_below && rest.starts_with('/') => Some("true"),
            _ => None,
        };
        html! { li { a href=(to) aria-current=[current] { (name) } } }
    };
    let may = |held: Option<Role>, least: Role| held.is_some_and(|held| held >= least);
    html! {
        nav aria-label="Admin" {
            @if let Ok(project) = visit.project() {
                p.group #of-project { (project.name) }
                ul aria-labelledby="of-project" {
                    @for (path, name, least) in PROJECT_PAGES {
                        @if may(visit.role(), *least) {
                            (link(&format!("/admin/p/{{projectId}}{path}"), &format!("/admin/p/{}{path}", project.id), name))
                        }
                    }
                }
            }
            p.group #of-installation { "Installation" }
            ul aria-labelledby="of-installation" {
                @for (path, name, least) in SYSTEM_PAGES {
                    @if *path == "/admin" || may(visit.who.roles.everywhere(), *least) {
                        (link(path, path, name))
                    }
                }
            }
        }
    }
}

/// A page without the frame, for those who are not signed in.
pub(super) fn plain(status: StatusCode, title: &str, content: &Markup) -> Response {
    plain_scripted(status, title, None, content)
}

pub(super) fn plain_scripted(
    status: StatusCode,
    title: &str,
    script: Option<&str>,
    content: &Markup,
) -> Response {
    let body = html! { main.alone #content { p.brand { "Townhall" } h1 { (title) } (content) } };
    respond(status, &document(title, script, &body))
}

/// A page of the documentation, which anybody may read.
pub(super) fn documentation(
    status: StatusCode,
    title: &str,
    script: Option<&str>,
    content: &Markup,
) -> Response {
    let body = html! {
        header.top { a.brand href="/docs" { "Townhall" } span.where { "API explorer" } }
        main #content { h1 { (title) } (content) }
    };
    respond(status, &document(title, script, &body))
}

fn document(title: &str, script: Option<&str>, body: &Markup) -> Markup {
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { (title) " · Townhall" }
                link rel="icon" href="data:,";
                link rel="stylesheet" href=(assets::address("style.css"));
                @if let Some(script) = script {
                    script type="module" src=(assets::address(script)) {}
                }
            }
            body { (body) }
        }
    }
}

fn respond(status: StatusCode, page: &Markup) -> Response {
    let mut response = reply::with_body(status, HTML, page.0.clone());
    let headers = response.headers_mut();
    headers.insert("content-security-policy", HeaderValue::from_static(POLICY));
    headers.insert("referrer-policy", HeaderValue::from_static("same-origin"));
    headers.insert("x-frame-options", HeaderValue::from_static("DENY"));
    response
}

/// The page in place of one that failed.
pub(super) fn failure(error: Error) -> Response {
    let (status, text) = match &error {
        Error::Refused(refusal) => {
            let text = refusal.message.as_deref().unwrap_or(refusal.fault.message);
            (refusal.fault.status, text.to_owned())
        }
        Error::RateLimited(exceeded) => (429, exceeded.text.to_owned()),
        Error::NoCredential | Error::BadCredential => (401, "Sign in again.".to_owned()),
        Error::Busy(_) => (503, "The server is busy. Try again in a moment.".to_owned()),
        Error::Internal(_) => {
            (500, "Something went wrong. The log of the server has more.".to_owned())
        }
    };
    if let Some(chain) = error.chain() {
        tracing::error!(failure = chain, "a page of the admin failed");
    }
    let status = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let content =
        html! { p.notice role="alert" { (text) } p { a href="/admin" { "To the start page" } } };
    plain(status, status.canonical_reason().unwrap_or("Error"), &content)
}

/// To another page, after a form.
pub(super) fn see_other(to: &str) -> Result<Response> {
    let mut response = Response::new(Body::default());
    *response.status_mut() = StatusCode::SEE_OTHER;
    response.headers_mut().insert(LOCATION, HeaderValue::from_str(to).map_err(Error::internal)?);
    Ok(response)
}

/// The same, with a cookie.
pub(super) fn see_other_with_cookie(to: &str, cookie: &str) -> Result<Response> {
    let mut response = see_other(to)?;
    let cookie = HeaderValue::from_str(cookie).map_err(Error::internal)?;
    response.headers_mut().insert(SET_COOKIE, cookie);
    Ok(response)
}

/// The hidden field that every form needs.
pub(super) fn csrf(visit: &Visit) -> Markup {
    html! { input type="hidden" name="csrf" value=(visit.who.csrf); }
}

/// A form with one button.
pub(super) fn button(visit: &Visit, action: &str, fields: &[(&str, &str)], text: &str) -> Markup {
    html! {
        form.inline method="post" action=(action) {
            (csrf(visit))
            @for (name, value) in fields { input type="hidden" name=(name) value=(value); }
            button { (text) }
        }
    }
}

/// A point in time that people and programs read.
pub(super) fn time(at: Timestamp) -> Markup {
    let text = at.to_string();
    let short = text.get(..16).unwrap_or(&text).replace('T', " ");
    html! { time datetime=(text) title=(text) { (short) } }
}

/// Text that is none.
pub(super) fn or_dash(text: Option<&str>) -> &str {
    text.filter(|text| !text.is_empty()).unwrap_or("–")
}

/// Markup that was made by another part of the program.
pub(super) fn raw(markup: String) -> Markup {
    PreEscaped(markup)
}
