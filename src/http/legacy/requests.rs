//! Requests of the dialect: names and defaults that the common operations do not know.

use std::sync::OnceLock;

use serde_json::{Value, json};

use crate::auth::credential::Presented;
use crate::error::{Result, faults};
use crate::http::input::body_value;
use crate::http::legacy::codes::field;
use crate::http::operation::{CheckedRequest, RunProject};
use crate::http::query::percent_decode;
use crate::http::reply::Response;

faults! {
    INVALID_REQUEST = 400 "comment/invalid-request": "Invalid request data";
}

pub(super) fn rewrite(request: &mut CheckedRequest) -> Result<()> {
    match request.operation.id.as_str() {
        "GET /entities" => sort_by(request, ENTITY_ORDERS),
        "GET /comments" => {
            if FILTERS.iter().any(|name| is_repeated(&request.query_text, name)) {
                return Err(INVALID_REQUEST.into());
            }
            sort_by(request, COMMENT_ORDERS);
            // Deleted and removed comments do not exist for these clients.
            request.query["placeholders"] = json!("false");
        }
        "POST /entities" if !matches!(request.presented, Presented::Key { .. }) => {
            drop_times(request);
        }
        _ => {}
    }
    Ok(())
}

const ENTITY_ORDERS: &[&str] = &["createdAt", "new", "hot", "score", "top", "controversial"];
const COMMENT_ORDERS: &[&str] = &["createdAt", "new", "old", "top", "controversial"];
const FILTERS: [&str; 4] = ["entityId", "userId", "parentId", "sourceId"];

/// An unknown order is that of the newest first.
fn sort_by(request: &mut CheckedRequest, known: &[&str]) {
    let Some(name) = request.query.get("sortBy").and_then(Value::as_str) else { return };
    if !known.contains(&name) && !name.starts_with("metadata.") {
        request.query["sortBy"] = json!("createdAt");
        request.query["sortDir"] = json!("desc");
    }
}

fn is_repeated(query: &str, name: &str) -> bool {
    let keys = query.split('&').map(|pair| pair.split('=').next().unwrap_or_default());
    keys.filter(|key| percent_decode(key, true).is_some_and(|key| key == name)).count() > 1
}

/// Users cannot choose the times of an entity; these clients send them all the same.
fn drop_times(request: &mut CheckedRequest) {
    let Ok(Value::Object(body)) = body_value(request) else { return };
    let mut body = body.clone();
    body.remove("createdAt");
    body.remove("updatedAt");
    request.parsed_body = OnceLock::from(Value::Object(body));
}

/// These clients report for any reason. One that is not known is stored as `other`, with its text in front of
/// the details.
pub(super) async fn report(run: &RunProject, request: CheckedRequest) -> Result<Response> {
    let other = body_value(&request).ok().and_then(reason_as_details);
    let other = other.map(|body| request.with_body(body));
    match (run(request).await, other) {
        (Err(error), Some(other)) if field(&error) == Some("reason") => run(other).await,
        (answered, _) => answered,
    }
}

fn reason_as_details(body: &Value) -> Option<Value> {
    let mut body = body.clone();
    let reason = body.get("reason")?.as_str().map(str::trim).filter(|text| !text.is_empty())?;
    let details = match body.get("details").and_then(Value::as_str).map(str::trim) {
        None | Some("") => reason.to_owned(),
        Some(details) => format!("{reason}\n{details}"),
    };
    body["reason"] = json!("other");
    body["details"] = json!(details);
    Some(body)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_repeated_filter_is_noticed_in_any_spelling() {
        assert!(is_repeated("entityId=1&x=2&entity%49d=3", "entityId"));
        assert!(!is_repeated("entityId=1&userId=2&entityIds=3", "entityId"));
        assert!(!is_repeated("", "entityId"));
    }

    #[test]
    fn any_text_is_a_reason() {
        let details = |body: Value| reason_as_details(&body).map(|body| body["details"].clone());
        assert_eq!(details(json!({ "reason": " rude " })), Some(json!("rude")));
        let both = json!({ "reason": "rude", "details": "twice", "targetId": "x" });
        assert_eq!(details(both.clone()), Some(json!("rude\ntwice")));
        assert_eq!(reason_as_details(&both).unwrap()["reason"], "other");
        for none in [json!({}), json!({ "reason": "" }), json!({ "reason": 7 }), json!([])] {
            assert_eq!(details(none.clone()), None, "{none}");
        }
    }
}
