//! The API explorer at `/docs`: every operation of the OpenAPI document as a page, with a form that calls it. Open to
//! everybody, like the document itself.

use std::sync::LazyLock;

use http::{Method, StatusCode};
use maud::{Markup, html};
use serde_json::Value;

use crate::error::Result;
use crate::features::admin::layout;
use crate::features::admin::visit::{NOT_FOUND, Visit, open_page};
use crate::http::openapi;
use crate::http::operation::{Operation, Operations};
use crate::http::reply::Response;
use crate::http::version::Version;
use crate::state::App;

pub(super) const PATH: &str = "/docs";
const CONSOLE: &str = "/docs/sockets";
/// What a socket may send, and the key of the id that belongs to it.
const MESSAGES: [(&str, &str); 10] = [
    ("join:conversation", "conversationId"),
    ("leave:conversation", "conversationId"),
    ("typing:start", "conversationId"),
    ("typing:stop", "conversationId"),
    ("join:entity", "entityId"),
    ("leave:entity", "entityId"),
    ("join:space", "spaceId"),
    ("leave:space", "spaceId"),
    ("join:user", ""),
    ("leave:user", ""),
];

pub(super) fn pages() -> Vec<Operation> {
    vec![
        open_page(Method::GET, PATH, "API Explorer", index),
        open_page(Method::GET, CONSOLE, "Socket Console", sockets),
        open_page(Method::GET, "/docs/{operationId}", "API Explorer of an Operation", show),
    ]
}

/// The document of the newest version, which does not change while the program runs.
fn document(app: &App) -> &'static Value {
    static DOCUMENT: LazyLock<std::sync::OnceLock<Value>> = LazyLock::new(Default::default);
    let operations = app.lists.of::<Operations>().first().map_or(&[][..], |all| all.0);
    DOCUMENT.get_or_init(|| openapi::document(operations, Some(Version::V8)))
}

/// An operation of the document.
struct Described<'a> {
    path: &'a str,
    method: &'a str,
    value: &'a Value,
}

impl Described<'_> {
    fn id(&self) -> &str {
        self.value["operationId"].as_str().unwrap_or_default()
    }

    fn summary(&self) -> &str {
        self.value["summary"].as_str().unwrap_or_default()
    }
}

fn described(document: &Value) -> impl Iterator<Item = Described<'_>> {
    let paths = document["paths"].as_object().into_iter().flatten();
    paths.flat_map(|(path, methods)| {
        let methods = methods.as_object().into_iter().flatten();
        methods.map(move |(method, value)| Described { path, method, value })
    })
}

async fn index(visit: Visit<()>) -> Result<Response> {
    let document = document(&visit.app);
    let groups = document["tags"].as_array().map_or(&[][..], Vec::as_slice);
    let content = html! {
        p { "Every operation of the API, generated from the program. The same as "
            a href="/openapi.json" { "an OpenAPI 3.1 document" } ". Events arrive over sockets: "
            a href=(CONSOLE) { "Socket console" } "." }
        @for group in groups {
            @let name = group["name"].as_str().unwrap_or_default();
            section aria-label=(name) {
                h2 { (name) }
                ul.operations { @for one in described(document).filter(|one| one.value["tags"][0] == name) {
                    li { code { (one.method.to_uppercase()) } " " a href={ (PATH) "/" (one.id()) } { (one.summary()) } }
                } }
            }
        }
    };
    Ok(layout::documentation(StatusCode::OK, "API", None, &content))
}

/// A socket of one user: what it sends, and everything that it receives.
async fn sockets(_: Visit<()>) -> Result<Response> {
    let content = html! {
        p { a href=(PATH) { "All operations" } }
        p { "A Socket.IO connection as an app has it. It receives events of all conversations of its user, and of posts, spaces and "
            "notifications once it has joined their rooms, if the project has live feeds on." }
        form #connect.stack {
            label { "projectId (required)" input name="projectId" required autocomplete="off"; }
            label { "Access token of a user" input name="credential" type="password" autocomplete="off"; }
            (demo_users())
            div.actions { button { "Connect" } button.quiet type="button" name="disconnect" disabled { "Disconnect" } }
        }
        form #send.stack {
            label { "Message" select name="message" {
                @for (name, key) in MESSAGES { option value=(name) data-key=(key) { (name) } }
            } }
            label { "Id of the conversation, entity or space" input name="id" autocomplete="off"; }
            div.actions { button disabled { "Send" } }
        }
        noscript { p { "A socket needs JavaScript." } }
        p { "State: " strong #state role="status" { "not connected" } }
        h2 #events { "Events, the newest first" }
        ol.events reversed aria-labelledby="events" {}
    };
    Ok(layout::documentation(StatusCode::OK, "Socket console", Some("sockets.js"), &content))
}

fn demo_users() -> Markup {
    html! {
        div.actions {
            button.quiet type="button" name="demo" value="ada" { "As Ada of the demo" }
            button.quiet type="button" name="demo" value="grace" { "As Grace of the demo" }
        }
    }
}

async fn show(visit: Visit<()>) -> Result<Response> {
    let document = document(&visit.app);
    let id = visit.param("operationId");
    let one = described(document).find(|one| one.id() == id).ok_or(NOT_FOUND)?;
    let url = &visit.app.config.public_url;
    let content = html! {
        p { a href=(PATH) { "All operations" } }
        p { code { (one.method.to_uppercase()) " " (one.path) } }
        (paragraphs(one.value["description"].as_str().unwrap_or_default()))
        (form(document, &one, url))
        (replies(document, one.value))
    };
    Ok(layout::documentation(StatusCode::OK, one.summary(), Some("explorer.js"), &content))
}

/// The little Markdown that descriptions use: paragraphs, lists, strong words and code.
fn paragraphs(text: &str) -> Markup {
    html! {
        @for part in text.split("\n\n") {
            @if part.starts_with("- ") || part.starts_with("* ") {
                ul { @for line in part.lines() { li { (inline(line.trim_start_matches(['-', '*', ' ']))) } } }
            } @else { p { (inline(part)) } }
        }
    }
}

fn inline(text: &str) -> Markup {
    html! {
        @for (n, part) in text.split('`').enumerate() {
            @if n % 2 == 1 { code { (part) } }
            @else { @for (n, part) in part.split("**").enumerate() {
                @if n % 2 == 1 { strong { (part) } } @else { (part) }
            } }
        }
    }
}

/// Follows a reference to a component.
fn resolve<'a>(document: &'a Value, value: &'a Value) -> &'a Value {
    let pointer = value["$ref"].as_str().and_then(|name| name.strip_prefix('#'));
    pointer.and_then(|pointer| document.pointer(pointer)).unwrap_or(value)
}

fn form(document: &Value, one: &Described<'_>, url: &str) -> Markup {
    let parameters = one.value["parameters"].as_array().map_or(&[][..], Vec::as_slice);
    let body = &one.value["requestBody"]["content"]["application/json"];
    let example = resolve(document, &body["examples"]["example"]);
    let example = if body.is_null() { None } else { Some(pretty(&example["value"])) };
    html! {
        form #try.stack data-method=(one.method.to_uppercase()) data-path=(one.path) data-url=(url) {
            label { "Credential: an access token or a key"
                input name="credential" type="password" autocomplete="off"; }
            (demo_users())
            @for parameter in parameters {
                @let parameter = resolve(document, parameter);
                @let name = parameter["name"].as_str().unwrap_or_default();
                label {
                    (name) @if parameter["required"] == true { " (required)" }
                    input name=(name) data-in=(parameter["in"].as_str().unwrap_or_default());
                    @if let Some(text) = parameter["description"].as_str() { small { (inline(text)) } }
                }
            }
            @if let Some(example) = example {
                label { "Body" textarea name="body" rows="10" spellcheck="false" { (example) } }
            }
            div.actions { button { "Send" } }
        }
        noscript { p { "Sending needs JavaScript; the command below works without." } }
        h2 { "As curl" } pre #curl tabindex="0" {}
        h2 { "As fetch" } pre #fetch tabindex="0" {}
        h2 { "Reply" } pre #reply tabindex="0" aria-live="polite" { "–" }
    }
}

fn pretty(value: &Value) -> String {
    if value.is_null() {
        "{}".to_owned()
    } else {
        serde_json::to_string_pretty(value).unwrap_or_default()
    }
}

fn replies(document: &Value, operation: &Value) -> Markup {
    let replies = operation["responses"].as_object().into_iter().flatten();
    html! {
        section aria-label="Replies" {
            h2 { "Replies" }
            @for (status, reply) in replies {
                @let reply = resolve(document, reply);
                @let content = &reply["content"]["application/json"];
                @let example = &resolve(document, &content["examples"]["example"])["value"];
                details {
                    summary { code { (status) } " " (reply["description"].as_str().unwrap_or_default().lines().next().unwrap_or_default()) }
                    (paragraphs(reply["description"].as_str().unwrap_or_default()))
                    @if !example.is_null() { pre tabindex="0" { (pretty(example)) } }
                }
            }
        }
    }
}
