//! The members of a space, their roles, and how both change.

pub mod change;
pub(super) mod join;
pub mod list;
mod notify;
pub mod store;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::values::ids::{MemberId, SpaceId};

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct MemberPath {
    space_id: SpaceId,
    member_id: MemberId,
}

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "ConfirmationMessage")]
pub(super) struct Message {
    message: &'static str,
}
