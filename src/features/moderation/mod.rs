//! Moderation: reports by users, the handling of reports, decisions of a space's moderators without a report, and
//! what operators do in the admin: the queue of open reports and appeals, decisions that can be undone, notes about users.

pub mod appeals;
mod content;
pub mod decisions;
mod moderate;
pub mod people;
pub mod queue;
pub mod reports;
mod restore;
pub mod rules;
pub mod store;
pub mod target;

use serde::{Deserialize, Serialize};

use crate::error::faults;
use crate::http::operation::Operation;
use crate::tenancy::Bundle;
use crate::values::ids::OperatorId;

faults! {
    pub TOO_MANY_ITEMS = 400 "moderation/too-many-items": "At most 500 items can be decided at once";
    pub TEXT_TOO_LONG = 400 "moderation/text-too-long": "The text is too long";
    pub EMPTY_TEXT = 400 "moderation/empty-text": "The text is empty";
    pub USER_NOT_FOUND = 404 "moderation/user-not-found": "User not found";
    pub ITEM_NOT_FOUND = 404 "moderation/item-not-found": "There is no such item in the queue";
    pub RULE_NOT_FOUND = 404 "moderation/rule-not-found": "Rule not found";
    pub CLAIMED = 409 "moderation/claimed": "Another moderator works on it";
}

/// Who moderates in the admin or on the command line. The name is kept with what they do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Moderator {
    /// None on the command line.
    pub operator: Option<OperatorId>,
    pub name: String,
}

pub fn operations() -> Vec<Operation> {
    let content = content::operations().into_iter();
    let content = content.map(|operation| operation.bundle(Bundle::Spaces));
    reports::operations().into_iter().chain(content).chain(appeals::operations()).collect()
}
