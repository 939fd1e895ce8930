//! Projects: the facts that a client reads about its project, and the operator's actions on projects and
//! keys.

pub mod admin;
mod lean;

use http::Method;

use crate::error::faults;
use crate::http::input::Invalid;
use crate::http::operation::Operation;

faults! {
    INVALID_QUERY = 400 "project/invalid-query": "Invalid query";
}

pub fn operations() -> Vec<Operation> {
    let invalid = Invalid::all(INVALID_QUERY);
    vec![Operation::new(
        Method::GET,
        "/projects/lean",
        "Fetch Project (lean)",
        "project",
        invalid,
        lean::fetch_project,
    )]
}
