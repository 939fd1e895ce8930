//! Socket.IO 5 packets. Only the main namespace exists, and no binary attachments.

use serde::Serialize;
use serde_json::{Value, json};
use tokio_tungstenite::tungstenite::Utf8Bytes;

use crate::values::json;

/// A packet as it goes to a socket; copies share the text.
pub(crate) type Text = Utf8Bytes;

/// Maximum length of a namespace.
const LONGEST_NAMESPACE: usize = 256;

/// Packets that a client may send.
#[derive(Debug, PartialEq)]
pub(crate) enum Packet<'a> {
    Connect {
        token: Option<String>,
    },
    /// To any other namespace than the main one.
    Stray {
        namespace: &'a str,
    },
    Disconnect,
    Event {
        name: String,
        payload: Value,
    },
    /// An acknowledgement, or an event that requests one; neither is supported.
    Ignored,
}

/// `None` if it is malformed, nested too deeply, or of an unsupported kind.
pub(crate) fn read(text: &str) -> Option<Packet<'_>> {
    let (kind, rest) = text.split_at_checked(1)?;
    let (namespace, rest) = namespace(rest);
    if namespace.len() > LONGEST_NAMESPACE {
        return None;
    }
    let is_main = namespace == "/";
    let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
    let (id, data) = rest.split_at(digits);
    match kind {
        "0" if !is_main => Some(Packet::Stray { namespace }),
        "0" => connect(rest),
        "1" if is_main => Some(Packet::Disconnect),
        "2" if is_main => event(data, !id.is_empty()),
        "1" | "2" | "3" => Some(Packet::Ignored),
        _ => None,
    }
}

/// The namespace in front of the data, if one is named.
fn namespace(text: &str) -> (&str, &str) {
    if !text.starts_with('/') {
        return ("/", text);
    }
    let (name, rest) = text.split_once(',').unwrap_or((text, ""));
    (name.split('?').next().unwrap_or(name), rest)
}

fn connect(data: &str) -> Option<Packet<'_>> {
    if data.is_empty() {
        return Some(Packet::Connect { token: None });
    }
    let auth = parse(data)?;
    let token = auth.as_object()?.get("token").and_then(Value::as_str);
    Some(Packet::Connect { token: token.filter(|token| !token.is_empty()).map(ToOwned::to_owned) })
}

fn event(data: &str, wants_answer: bool) -> Option<Packet<'_>> {
    let Value::Array(parts) = parse(data)? else { return None };
    let mut parts = parts.into_iter();
    let name = match parts.next()? {
        Value::String(name) => name,
        Value::Number(_) => return Some(Packet::Ignored),
        _ => return None,
    };
    if wants_answer {
        return Some(Packet::Ignored);
    }
    Some(Packet::Event { name, payload: parts.next().unwrap_or_default() })
}

fn parse(data: &str) -> Option<Value> {
    json::check(data.as_bytes()).ok()?;
    serde_json::from_str(data).ok()
}

/// The reply to a successful CONNECT.
pub(crate) fn connected(socket: &str) -> Text {
    format!("40{}", json!({ "sid": socket })).into()
}

pub(crate) fn refused(namespace: &str, message: &str) -> Text {
    let error = json!({ "message": message });
    if namespace == "/" {
        format!("44{error}").into()
    } else {
        format!("44{namespace},{error}").into()
    }
}

/// Disconnects the socket and tells the client not to reconnect by itself.
pub(crate) fn disconnected() -> Text {
    Text::from_static("41")
}

/// One text for all sockets that get the event. `None` if the payload does not serialize.
pub(crate) fn event_packet(name: &str, payload: &impl Serialize) -> Option<Text> {
    serde_json::to_string(&(name, payload)).ok().map(|data| format!("42{data}").into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_of_clients_are_read() {
        let token =
            |token: Option<&str>| Some(Packet::Connect { token: token.map(ToOwned::to_owned) });
        assert_eq!(read("0"), token(None));
        assert_eq!(read("0{}"), token(None));
        assert_eq!(read("0{\"token\":\"t\"}"), token(Some("t")));
        assert_eq!(read("0/,{\"token\":\"t\"}"), token(Some("t")));
        assert_eq!(read("0{\"token\":7}"), token(None));
        assert_eq!(read("0/admin,{}"), Some(Packet::Stray { namespace: "/admin" }));
        assert_eq!(read("0/admin?x=1,{}"), Some(Packet::Stray { namespace: "/admin" }));
        assert_eq!(read("1"), Some(Packet::Disconnect));
        let (name, payload) = ("a".to_owned(), json!({ "b": 1 }));
        assert_eq!(read("2[\"a\",{\"b\":1}]"), Some(Packet::Event { name, payload }));
        assert_eq!(read("212[\"a\",{\"b\":1}]"), Some(Packet::Ignored));
        assert_eq!(read("31[]"), Some(Packet::Ignored));
    }

    #[test]
    fn what_is_malformed_or_not_taken_is_nothing() {
        let deep = format!("2[\"a\",{}{}]", "[".repeat(100_000), "]".repeat(100_000));
        let name = format!("0/{},{{}}", "x".repeat(300));
        for wrong in [
            "",
            "2",
            "2[",
            "2[]",
            "2{}",
            "2[{}]",
            "2\"a\"",
            "2[\"a\"",
            "0{",
            "0[]",
            "0\"t\"",
            "4{}",
            "9",
            "51-[\"a\",{\"_placeholder\":true,\"num\":0}]",
            "61-[]",
            "51000000-[\"a\"]",
            "2[\"\\ud800\"]",
            "ü",
            &deep,
            &name,
        ] {
            assert_eq!(read(wrong), None, "{}", &wrong[..wrong.len().min(40)]);
        }
    }

    #[test]
    fn packets_to_clients_are_written() {
        assert_eq!(connected("s").as_str(), "40{\"sid\":\"s\"}");
        assert_eq!(refused("/", "Forbidden").as_str(), "44{\"message\":\"Forbidden\"}");
        assert_eq!(refused("/x", "No").as_str(), "44/x,{\"message\":\"No\"}");
        assert_eq!(event_packet("a", &json!({ "b": 1 })).unwrap().as_str(), "42[\"a\",{\"b\":1}]");
    }
}
