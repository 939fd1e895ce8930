//! Moderation: reports by users, the handling of reports, and decisions of moderators without a report.

mod content;
pub mod reports;
pub mod store;

use crate::http::operation::Operation;
use crate::tenancy::Bundle;

pub fn operations() -> Vec<Operation> {
    let content = content::operations().into_iter();
    let content = content.map(|operation| operation.bundle(Bundle::Spaces));
    reports::operations().into_iter().chain(content).collect()
}
