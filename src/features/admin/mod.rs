//! The admin: pages for those who run the installation and moderate its projects. Operators are no users of a project;
//! each has a role, for one project or for all. What a page changes goes through the operations of the API (`api.rs`) or
//! the functions that the command line uses, and is in the audit log.

pub mod accounts;
mod api;
mod assets;
mod charts;
pub mod commands;
mod explorer;
mod fields;
mod layout;
mod pages;
pub mod store;
mod visit;

use crate::http::operation::Operation;

/// Whether a page is one of the admin; the explorer of the API belongs to the API.
pub fn is_guarded(page: &Operation) -> bool {
    !page.path.starts_with(explorer::PATH) && !page.path.starts_with(assets::PATH)
}

pub fn pages() -> Vec<Operation> {
    let mut pages = vec![assets::operation()];
    pages.extend(accounts::pages());
    pages.extend(pages::pages());
    pages.extend(explorer::pages());
    pages
}
