//! Refusals of the common operations under the codes that version 6 had for them.

use serde_json::Value;

use crate::error::{Error, Refusal};
use crate::http::input::body_value;
use crate::http::operation::CheckedRequest;

/// What is known about a request when it is refused.
#[derive(Debug)]
pub(super) struct Refused {
    operation: &'static str,
    /// Of a report, whose codes depend on it.
    report: Option<Value>,
}

impl Refused {
    pub(super) fn of(request: &CheckedRequest) -> Self {
        let operation = request.operation.id.as_str();
        let report = (operation == "POST /reports").then(|| body_value(request).ok().cloned());
        Refused { operation, report: report.flatten() }
    }

    pub(super) fn translate(&self, error: Error) -> Error {
        let Error::Refused(mut refusal) = error else { return error };
        if let Some((status, code)) = self.code(&refusal) {
            refusal.fault.status = status;
            refusal.fault.code = code;
        }
        Error::Refused(refusal)
    }

    /// None where the code is the same.
    fn code(&self, refusal: &Refusal) -> Option<(u16, &'static str)> {
        let (operation, fault) = (self.operation, refusal.fault);
        let is_vote = operation.ends_with("vote");
        let code = match fault.code {
            "entity/invalid-params" => match operation {
                "GET /entities/{entityId}" => "entity/invalid-resource-id",
                "GET /entities/{entityId}/top-comment" => "entity/missing-entity-id",
                _ => "entity/invalid-id",
            },
            "entity/invalid-query" => match operation {
                "GET /entities/by-foreign-id" | "GET /entities/by-short-id" => {
                    "entity/invalid-query-params"
                }
                _ => return None,
            },
            "comment/invalid-query" => match named(refusal) {
                Some("limit") => "comment/invalid-limit",
                Some("page") => "comment/invalid-page",
                _ => "comment/invalid-request",
            },
            "comment/invalid-params" if is_vote => "comment/missing-data",
            "comment/invalid-params" => "comment/invalid-request",
            "comment/invalid-body" if operation == "PATCH /comments/{commentId}" => {
                "comment/invalid-request"
            }
            "comment/already-deleted" => "comment/not-found",
            "app-notification/invalid-query" => match named(refusal) {
                Some("page") => "app-notification/invalid-page",
                _ => "app-notification/invalid-limit",
            },
            "app-notification/invalid-params" => return Some((404, "app-notification/not-found")),
            "report/invalid-body" => self.report_code()?,
            "user/invalid-query" if operation == "GET /users/by-foreign-id" => {
                "user/invalid-identifier"
            }
            "username/invalid-query" => "username/invalid-input",
            "auth/invalid-body" if operation == "POST /auth/verify-external-user" => {
                "auth/missing-jwt"
            }
            "auth/invalid-body" => "auth/missing-fields",
            "auth/invalid-credentials" if fault.status == 400 => "auth/missing-fields",
            _ => return None,
        };
        Some((fault.status, code))
    }

    /// What is missing comes before what is wrong. None if all three fields are there and right.
    fn report_code(&self) -> Option<&'static str> {
        let text = |name: &str| {
            let value = self.report.as_ref().and_then(|body| body.get(name)?.as_str());
            value.filter(|text| !text.trim().is_empty())
        };
        let (target, kind) = (text("targetId"), text("targetType"));
        match (target, kind, text("reason")) {
            (Some(target), Some(kind), Some(_)) => {
                let kinds = ["entity", "comment", "message", "Entity", "Comment"];
                if !kinds.contains(&kind) {
                    Some("report/invalid-type")
                } else if target.parse::<uuid::Uuid>().is_err() {
                    Some("report/invalid-foreign-key")
                } else {
                    None
                }
            }
            _ => Some("report/missing-data"),
        }
    }
}

/// The field that a refusal names in front of its reason.
pub(super) fn field(error: &Error) -> Option<&str> {
    match error {
        Error::Refused(refusal) => named(refusal),
        _ => None,
    }
}

fn named(refusal: &Refusal) -> Option<&str> {
    Some(refusal.message.as_deref()?.split_once(": ")?.0)
}
