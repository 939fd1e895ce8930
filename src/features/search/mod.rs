//! Search: content, users and spaces by words, answers from content, users with the same interests. `index` keeps the
//! index, `lookup` finds and scores, `guard` lets through what the caller may see. The index is in plain tables, the
//! same on both engines; `crates/text-index` knows about words and scores.

pub mod admin;
mod ask;
pub mod class;
mod content;
mod guard;
pub mod index;
mod lookup;
mod matching;
mod model;
mod models;
mod people;
mod rules;
pub mod store;

use http::Method;

use crate::error::{Fault, Result, faults};
use crate::features::search::matching::{INTEREST_MATCHING_DISABLED, SAMPLE_CONTENT_DISABLED};
use crate::http::input::Invalid;
use crate::http::operation::Operation;
use crate::http::version::Version;
use crate::rate_limits::RateLimit;
use crate::tenancy::{Bundle, Project};

faults! {
    INVALID_BODY = 400 "search/invalid-body": "Invalid body";
    INVALID_QUERY = 400 "search/invalid-query": "Invalid query";
    PLAN_REQUIRED = 403 "project/plan-required": "Search is switched off for this project";
    UNAVAILABLE = 503 "search/unavailable": "The search index is being built";
}

const INVALID: Invalid = Invalid { query: INVALID_QUERY, ..Invalid::all(INVALID_BODY) };
const ASK_ERRORS: &[Fault] = &[PLAN_REQUIRED, UNAVAILABLE];

pub fn operations() -> Vec<Operation> {
    let (post, feature) = (Method::POST, "search");
    let mut operations = vec![
        Operation::new(
            post.clone(),
            "/search/content",
            "Search Content",
            feature,
            INVALID,
            content::search_content,
        )
        .errors(&[PLAN_REQUIRED]),
        Operation::new(
            post.clone(),
            "/search/users",
            "Search Users",
            feature,
            INVALID,
            people::search_users,
        )
        .errors(&[PLAN_REQUIRED]),
        Operation::new(
            post.clone(),
            "/search/spaces",
            "Search Spaces",
            feature,
            INVALID,
            people::search_spaces,
        )
        .errors(&[PLAN_REQUIRED]),
    ];
    let searches = RateLimit::per_5_minutes(100);
    operations = operations.into_iter().map(|one| one.rate(searches)).collect();
    operations.push(
        Operation::new(post.clone(), "/search/ask", "Ask", feature, INVALID, ask::ask)
            .rate(RateLimit::per_5_minutes(20))
            .errors(ASK_ERRORS),
    );
    operations = operations
        .into_iter()
        .map(|one| {
            one.bundle(Bundle::AiSearch)
                .since(Version::V7)
                .required_since(Version::V8)
                .open_to_suspended()
        })
        .collect();
    operations.push(
        Operation::new(
            post,
            "/match/users",
            "Match Users",
            "match",
            Invalid::all(matching::INVALID_BODY),
            matching::match_users,
        )
        .bundle(Bundle::AiSearch)
        .also_needs(Bundle::InterestMatching)
        .since(Version::V7)
        .open_to_suspended()
        .rate(searches)
        .key_refusal(matching::USER_REQUIRED)
        .errors(&[PLAN_REQUIRED, INTEREST_MATCHING_DISABLED, SAMPLE_CONTENT_DISABLED]),
    );
    operations
}

/// Refuses projects whose operator has switched search off.
fn require_search(project: &Project) -> Result<()> {
    if project.has_search { Ok(()) } else { Err(PLAN_REQUIRED.into()) }
}
