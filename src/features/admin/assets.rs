//! Style sheets and scripts: parts of the program, sent with an address that changes when they do.

use std::fmt::Write as _;
use std::sync::LazyLock;

use aws_lc_rs::digest::{SHA256, digest};
use http::{Method, StatusCode};

use crate::auth::operators::Audience;
use crate::error::Result;
use crate::features::admin::visit::NOT_FOUND;
use crate::http::operation::{Operation, ServerCall};
use crate::http::reply::{self, Response};

struct Asset {
    name: &'static str,
    media: &'static str,
    text: &'static str,
}

const SCRIPT: &str = "text/javascript; charset=utf-8";

const ASSETS: &[Asset] = &[
    Asset {
        name: "style.css",
        media: "text/css; charset=utf-8",
        text: include_str!("assets/style.css"),
    },
    Asset { name: "demo.js", media: SCRIPT, text: include_str!("assets/demo.js") },
    Asset { name: "explorer.js", media: SCRIPT, text: include_str!("assets/explorer.js") },
    Asset { name: "passkeys.js", media: SCRIPT, text: include_str!("assets/passkeys.js") },
    Asset { name: "progress.js", media: SCRIPT, text: include_str!("assets/progress.js") },
    Asset { name: "queue.js", media: SCRIPT, text: include_str!("assets/queue.js") },
    Asset { name: "sockets.js", media: SCRIPT, text: include_str!("assets/sockets.js") },
];

/// Differs between releases whose assets differ.
static VERSION: LazyLock<String> = LazyLock::new(|| {
    let all: String = ASSETS.iter().map(|asset| asset.text).collect();
    let hash = digest(&SHA256, all.as_bytes());
    hash.as_ref()[..6].iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
});

pub(super) fn address(name: &str) -> String {
    format!("/admin/assets/{name}?v={}", *VERSION)
}

pub(super) const PATH: &str = "/admin/assets/";

pub(super) fn operation() -> Operation {
    Operation::server("/admin/assets/{name}", "Admin Asset", serve)
        .page(Method::GET, Audience::Anyone)
}

async fn serve(call: ServerCall) -> Result<Response> {
    let name = call.params["name"].as_str().unwrap_or_default();
    let asset = ASSETS.iter().find(|asset| asset.name == name).ok_or(NOT_FOUND)?;
    let mut response = reply::with_body(StatusCode::OK, asset.media, asset.text);
    let is_current = call.query["v"].as_str() == Some(&**VERSION);
    let caching = if is_current { "public, max-age=31536000, immutable" } else { "no-cache" };
    reply::set(&mut response, "cache-control", caching);
    Ok(response)
}
