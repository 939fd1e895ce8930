//! One folder for each noun of the API. A folder's `mod.rs` says what the noun is and lists its
//! operations; `store.rs` holds all its SQL, `rules.rs` what is decided without a database.

pub mod auth;
pub mod blocks;
pub mod chat;
pub mod collections;
pub mod comments;
pub mod connections;
pub mod crypto;
pub mod entities;
pub mod follows;
pub mod notifications;
pub mod oauth;
pub mod projects;
pub mod reactions;
pub mod reports;
pub mod server;
pub mod spaces;
pub mod storage;
pub mod tables;
pub mod users;
pub mod utils;

use std::sync::LazyLock;

use crate::http::operation::Operation;

/// Every operation that is served, in the order of the documentation.
pub fn operations() -> &'static [Operation] {
    static OPERATIONS: LazyLock<Vec<Operation>> = LazyLock::new(|| {
        [
            auth::operations(),
            crypto::operations(),
            entities::operations(),
            comments::operations(),
            reactions::operations(),
            reports::operations(),
            collections::operations(),
            spaces::operations(),
            oauth::operations(),
            users::operations(),
            follows::operations(),
            connections::operations(),
            blocks::operations(),
            notifications::operations(),
            utils::operations(),
            projects::operations(),
            storage::operations(),
            chat::operations(),
            tables::operations(),
            server::operations(),
        ]
        .into_iter()
        .flatten()
        .collect()
    });
    &OPERATIONS
}

/// Every static SQL statement, for the tests that prepare and explain them on both engines.
pub fn statements() -> impl Iterator<Item = &'static dyn db::AnyStatement> {
    [
        auth::store::ALL,
        blocks::store::ALL,
        connections::counters::ALL,
        connections::store::ALL,
        follows::counters::ALL,
        follows::store::ALL,
        chat::conversations::reading::ALL,
        chat::conversations::store::ALL,
        chat::counters::ALL,
        chat::forget::ALL,
        chat::members::store::ALL,
        chat::messages::store::ALL,
        collections::counters::ALL,
        collections::forget::ALL,
        collections::links::ALL,
        collections::store::ALL,
        notifications::store::ALL,
        notifications::counters::ALL,
        notifications::hide::ALL,
        notifications::insert::ALL,
        comments::counters::ALL,
        comments::forget::ALL,
        comments::list::search::ALL,
        comments::marking::ALL,
        comments::moderation::ALL,
        comments::removal::ALL,
        comments::store::ALL,
        entities::counters::ALL,
        entities::counts::ALL,
        entities::forget::ALL,
        entities::moderation::ALL,
        entities::removal::ALL,
        entities::scores::ALL,
        entities::store::ALL,
        oauth::store::ALL,
        projects::store::ALL,
        storage::audit::ALL,
        storage::store::ALL,
        reactions::forget::ALL,
        reactions::store::ALL,
        reports::counters::ALL,
        reports::forget::ALL,
        reports::store::ALL,
        spaces::access::ALL,
        spaces::counters::ALL,
        spaces::delete::ALL,
        spaces::forget::ALL,
        spaces::list::mutual::ALL,
        spaces::members::store::ALL,
        spaces::rulebook::ALL,
        spaces::store::ALL,
        tables::catalogue::ALL,
        users::pairs::ALL,
        users::points::ALL,
        users::store::ALL,
        users::suspensions::ALL,
        crate::installation::ALL,
        crate::jobs::store::ALL,
    ]
    .into_iter()
    .flatten()
    .copied()
}
