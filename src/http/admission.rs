//! What is refused before anybody looks at what it asks for: too much at once, or too large a head.

use crate::error::{Error, Result, faults};
use crate::http::address::{Address, Scope};
use crate::network::client::Peer;
use crate::state::App;

faults! {
    pub URI_TOO_LONG = 414 "request/uri-too-long": "The address is too long";
    pub HEAD_TOO_LARGE = 431 "request/headers-too-large": "The headers are too large";
}

/// What monitoring asks for. It is served however much else is to be done.
const HEALTH_CHECKS: [&str; 3] = ["/livez", "/readyz", "/metrics"];
const MAX_URI: usize = 8 * 1024;
/// The connection's buffer bounds a head too, but only to about twice its size.
const MAX_HEADERS: usize = 32 * 1024;

/// Refuses what there is no room for; the honest answer is to come back later. Requests that wait for
/// their body take none: their number is bounded by network.
pub fn check_room(app: &App, peer: &Peer, address: Option<&Address>) -> Result<()> {
    let is_health_check = address.is_some_and(|address| {
        address.scope == Scope::Server && HEALTH_CHECKS.contains(&address.endpoint.as_str())
    });
    if is_health_check {
        return Ok(());
    }
    if peer.is_in_reserve {
        return Err(Error::Busy("too many connections are open"));
    }
    let in_flight = app.metrics.in_flight();
    let most = app.config.max_in_flight;
    if in_flight > most && in_flight - app.body_waits.total() > most {
        return Err(Error::Busy("too many requests are under way"));
    }
    Ok(())
}

/// What is refused whatever it asks for.
pub fn check_head(head: &http::request::Parts) -> Result<()> {
    if head.uri.path_and_query().is_some_and(|uri| uri.as_str().len() > MAX_URI) {
        return Err(URI_TOO_LONG.into());
    }
    let size: usize = head.headers.iter().map(|(name, v)| name.as_str().len() + v.len()).sum();
    if size > MAX_HEADERS {
        return Err(HEAD_TOO_LARGE.into());
    }
    Ok(())
}
