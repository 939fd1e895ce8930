//! A scenario: the requests of a load, and beside them the bare work that the server cannot do
//! without, for the ceiling. A new scenario is a file in `scenarios/` and a line in [`ALL`].

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;

use db::Db;

use crate::dice::Dice;
use crate::fixture::Fixture;
use crate::scenarios::{
    add_reaction, comments, connections, conversations, create_comment, create_entity, feeds,
    fetch_entity, fetch_user, messages, report, sign_in, spaces, tables, token_check, upload_image,
    upvote, webhooks,
};

#[derive(Debug)]
pub struct Scenario {
    pub name: &'static str,
    pub about: &'static str,
    /// Any of these.
    pub expected_status: &'static [u16],
    /// Whole requests, of which the load draws.
    pub requests: fn(&Fixture) -> Vec<Vec<u8>>,
    pub bare: fn(&Fixture, &Db) -> Vec<Bare>,
}

pub const ALL: &[Scenario] = &[
    sign_in::SCENARIO,
    token_check::SCENARIO,
    fetch_user::SCENARIO,
    fetch_entity::SCENARIO,
    feeds::NEW,
    feeds::NEW_WITH_USER,
    feeds::NEW_WITH_USER_SHARED,
    feeds::DEEP,
    feeds::HOT,
    feeds::KEYWORD,
    feeds::HOT_KEYWORD,
    feeds::TOP_KEYWORD,
    feeds::V6_HOT_KEYWORD,
    feeds::V6_TOP_KEYWORD,
    comments::NEW,
    comments::NEW_SHARED,
    comments::OLD,
    comments::TOP,
    connections::LIST,
    connections::SEARCH,
    spaces::FEED,
    spaces::LIST,
    spaces::MUTUAL,
    tables::FILTER,
    messages::LIST,
    conversations::UNREAD,
    conversations::LIST,
    // Those that write come last, so that the lists are what was seeded.
    create_entity::SCENARIO,
    add_reaction::TO_ENTITIES,
    add_reaction::TO_ONE,
    upvote::SCENARIO,
    create_comment::SCENARIO,
    add_reaction::TO_COMMENTS,
    report::SCENARIO,
    upload_image::SCENARIO,
    tables::INSERT,
    tables::BULK_INSERT,
    messages::SEND,
    webhooks::WITHOUT,
    webhooks::DEAD,
    webhooks::LIVE,
];

type Doing = Pin<Box<dyn Future<Output = Result<Vec<u8>, String>> + Send>>;

/// The least work for a request, and the bytes of its reply.
#[derive(Clone)]
pub struct Bare {
    pub name: &'static str,
    work: Arc<dyn Fn(&mut Dice) -> Doing + Send + Sync>,
}

impl Bare {
    pub fn new<F>(name: &'static str, work: impl Fn(&mut Dice) -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = Result<Vec<u8>, String>> + Send + 'static,
    {
        Bare { name, work: Arc::new(move |dice| Box::pin(work(dice))) }
    }

    pub fn once(&self, dice: &mut Dice) -> Doing {
        (self.work)(dice)
    }
}

impl fmt::Debug for Bare {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Bare").field(&self.name).finish()
    }
}
