//! Reports: users report content, and moderators decide.

mod create;
mod handle;
pub mod handler;
mod in_space;
mod list;
pub mod model;
mod show;
pub mod store;

pub use handle::Orders;

use http::Method;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::error::{Fault, faults};
use crate::features::{chat, spaces, users};
use crate::http::input::Invalid;
use crate::http::operation::{ActsAs, Operation};
use crate::http::version::Version;
use crate::rate_limits::RateLimit;
use crate::tenancy::Bundle;
use crate::values::ids::ReportId;

faults! {
    NOT_FOUND = 404 "report/not-found": "Report not found";
    TARGET_NOT_FOUND = 404 "report/target-not-found": "target not found";
    ENTITY_NOT_FOUND = 404 "report/entity-not-found": "Entity not found";
    COMMENT_NOT_FOUND = 404 "report/comment-not-found": "Comment not found";
    NOT_FOUND_IN_SPACE = 404 "report/not-found-in-space": "The report is not about this space";
    ENTITY_NOT_IN_SPACE = 404 "report/entity-not-in-space": "The entity is not in this space";
    COMMENT_NOT_IN_SPACE = 404 "report/comment-not-in-space": "The comment is not in this space";
    USER_NOT_FOUND = 404 "report/user-not-found": "User not found";
    SELF_REPORT = 400 "report/self-report": "You cannot report your own content.";
    MISSING_USER_ID = 400 "report/missing-user-id": "A key must name the user in userId";
    INVALID_BODY = 400 "report/invalid-body": "Invalid body";
    INVALID_QUERY = 400 "report/invalid-query": "Invalid query";
    INVALID_PARAMS = 400 "report/invalid-params": "Invalid report id";
    INVALID_ACTIONS = 400 "report/invalid-actions": "These actions do not go together";
    MISSING_FIELDS = 400 "report/missing-fields": "Fields are missing";
    FORBIDDEN = 403 "report/forbidden": "Only moderators of the space may see its reports";
    ALREADY_HANDLED = 409 "report/already-handled": "The report was handled already";
}

const INVALID: Invalid =
    Invalid { params: INVALID_PARAMS, query: INVALID_QUERY, ..Invalid::all(INVALID_BODY) };

/// A key acts as the user it names; the parameter is ignored for a user's token.
const ACTS_AS: ActsAs = ActsAs {
    parameter: "userId",
    missing: MISSING_USER_ID,
    unknown: users::NOT_FOUND,
    other: None,
};

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct ReportPath {
    report_id: ReportId,
}

pub fn operations() -> Vec<Operation> {
    let (get, feature) = (Method::GET, "report");
    let operations = vec![
        Operation::new(
            Method::POST,
            "/reports",
            "Create Report",
            feature,
            INVALID,
            create::create_report,
        )
        .rate(RateLimit::per_5_minutes(25))
        .acts_as(ACTS_AS)
        .errors(&[MISSING_USER_ID, TARGET_NOT_FOUND, chat::NOT_A_MEMBER, SELF_REPORT]),
        Operation::new(
            Method::POST,
            "/chat/conversations/{conversationId}/messages/{messageId}/report",
            "Report Message",
            feature,
            Invalid { params: chat::INVALID_PARAMS, ..INVALID },
            create::report_message,
        )
        .since(Version::V7)
        .until(Version::V7)
        .also_needs(Bundle::Chat)
        .rate(RateLimit::per_5_minutes(25))
        .acts_as(ACTS_AS)
        .errors(&[
            MISSING_USER_ID,
            chat::NOT_A_MEMBER,
            chat::MESSAGE_NOT_FOUND,
            SELF_REPORT,
        ]),
        Operation::new(
            get.clone(),
            "/reports",
            "List Reports",
            feature,
            INVALID,
            list::list_reports,
        ),
        Operation::new(
            get.clone(),
            "/reports/moderated",
            "Fetch Moderated Reports",
            feature,
            INVALID,
            list::fetch_moderated,
        )
        .acts_as(ACTS_AS)
        .errors(&[FORBIDDEN]),
        Operation::new(
            get,
            "/reports/{reportId}",
            "Fetch Report",
            feature,
            INVALID,
            list::fetch_report,
        )
        .errors(&[NOT_FOUND]),
        Operation::new(
            Method::PATCH,
            "/reports/{reportId}",
            "Handle Report",
            feature,
            INVALID,
            handle::handle_report,
        )
        .errors(&[
            INVALID_ACTIONS,
            MISSING_FIELDS,
            NOT_FOUND,
            ENTITY_NOT_FOUND,
            COMMENT_NOT_FOUND,
            chat::MESSAGE_NOT_FOUND,
            USER_NOT_FOUND,
            spaces::NOT_FOUND,
            spaces::MEMBER_NOT_FOUND,
            spaces::LAST_ADMIN,
            ALREADY_HANDLED,
        ]),
    ];
    let all = operations.into_iter().chain(in_spaces());
    all.map(|one| one.bundle(Bundle::Moderation).no_store()).collect()
}

/// For the moderators of a space.
fn in_spaces() -> Vec<Operation> {
    let (patch, feature) = (Method::PATCH, "report");
    let operations = vec![
        Operation::new(
            patch.clone(),
            "/spaces/{spaceId}/reports/entity/{reportId}",
            "Handle Entity Report",
            feature,
            INVALID,
            in_space::handle_entity_report,
        )
        .also_needs(Bundle::Entities),
        Operation::new(
            patch.clone(),
            "/spaces/{spaceId}/reports/comment/{reportId}",
            "Handle Comment Report",
            feature,
            INVALID,
            in_space::handle_comment_report,
        )
        .also_needs(Bundle::Comments),
        Operation::new(
            patch,
            "/spaces/{spaceId}/chat/reports/{reportId}",
            "Handle Message Report",
            feature,
            INVALID,
            in_space::handle_message_report,
        )
        .also_needs(Bundle::Chat),
    ];
    let acts_as = ActsAs { parameter: "actingUserId", ..ACTS_AS };
    let all = operations.into_iter().map(|one| one.also_needs(Bundle::Spaces).acts_as(acts_as));
    all.map(|one| one.errors(HANDLING)).collect()
}

const HANDLING: &[Fault] = &[
    INVALID_ACTIONS,
    MISSING_FIELDS,
    NOT_FOUND,
    NOT_FOUND_IN_SPACE,
    ENTITY_NOT_FOUND,
    ENTITY_NOT_IN_SPACE,
    COMMENT_NOT_FOUND,
    COMMENT_NOT_IN_SPACE,
    chat::MESSAGE_NOT_FOUND,
    USER_NOT_FOUND,
    ALREADY_HANDLED,
    spaces::NOT_FOUND,
    spaces::MEMBER_NOT_FOUND,
    spaces::MODERATOR_REQUIRED,
    spaces::INSUFFICIENT_PERMISSIONS,
    spaces::CREATOR_REQUIRED,
    spaces::LAST_ADMIN,
];
