//! Engine.IO 4: packets of one type digit and a text, several in one body, and the protocol's error messages.

use http::StatusCode;
use serde_json::json;

use crate::config::RealtimeLimits;
use crate::http::reply::{JSON, Response, with_body};

/// Separates packets in one body.
pub(crate) const SEPARATOR: char = '\u{1e}';

pub(crate) const CLOSE: &str = "1";
pub(crate) const PING: &str = "2";
pub(crate) const NOOP: &str = "6";
pub(crate) const PROBE: &str = "2probe";
pub(crate) const PROBED: &str = "3probe";
pub(crate) const UPGRADE: &str = "5";

/// Packets that a client may send.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Packet<'a> {
    Close,
    Pong,
    Message(&'a str),
    /// Ignored.
    Other,
}

/// `None` for invalid packets. This API takes no binary data.
pub(crate) fn read(text: &str) -> Option<Packet<'_>> {
    let (kind, rest) = text.split_at_checked(1)?;
    match kind {
        "1" => Some(Packet::Close),
        "3" => Some(Packet::Pong),
        "4" => Some(Packet::Message(rest)),
        "5" | "6" => Some(Packet::Other),
        _ => None,
    }
}

/// The first packet of a connection.
pub(crate) fn open(sid: &str, limits: &RealtimeLimits, upgrades: bool) -> String {
    let upgrades = if upgrades { vec!["websocket"] } else { Vec::new() };
    let hello = json!({
        "sid": sid,
        "upgrades": upgrades,
        "pingInterval": u64::try_from(limits.ping_interval.as_millis()).unwrap_or(u64::MAX),
        "pingTimeout": u64::try_from(limits.ping_timeout.as_millis()).unwrap_or(u64::MAX),
        "maxPayload": limits.max_payload,
    });
    format!("0{hello}")
}

pub(crate) const OTHER_NODE: &str = "Session ID unknown: it is on another node. The proxy must send all requests of a \
     client to the same node (sticky sessions), or clients must connect by WebSocket alone";

/// The protocol's error messages for refused requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Refusal {
    TransportUnknown,
    SessionUnknown,
    /// The connection is on another node.
    OtherNode,
    BadHandshakeMethod,
    BadRequest,
    Forbidden,
    UnsupportedVersion,
    TooLarge,
    Full,
}

impl Refusal {
    pub(crate) fn response(self) -> Response {
        let (status, code, message) = match self {
            Refusal::TransportUnknown => (400, 0, "Transport unknown"),
            Refusal::SessionUnknown => (400, 1, "Session ID unknown"),
            Refusal::OtherNode => (400, 1, OTHER_NODE),
            Refusal::BadHandshakeMethod => (400, 2, "Bad handshake method"),
            Refusal::BadRequest => (400, 3, "Bad request"),
            Refusal::Forbidden => (403, 4, "Forbidden"),
            Refusal::UnsupportedVersion => (400, 5, "Unsupported protocol version"),
            Refusal::TooLarge => (413, 3, "Payload too large"),
            Refusal::Full => (503, 4, "Too many connections"),
        };
        let status = StatusCode::from_u16(status).unwrap_or(StatusCode::BAD_REQUEST);
        with_body(status, JSON, json!({ "code": code, "message": message }).to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_of_clients_are_read_and_nothing_else() {
        assert_eq!(read("42[\"a\"]"), Some(Packet::Message("2[\"a\"]")));
        assert_eq!(read("4"), Some(Packet::Message("")));
        assert_eq!(read("3"), Some(Packet::Pong));
        assert_eq!(read("5"), Some(Packet::Other));
        for wrong in ["", "0{}", "2", "2probe", "7", "bAAAA", "x", "ü"] {
            assert_eq!(read(wrong), None, "{wrong}");
        }
    }
}
