//! The rows of the table and the goals of each engine.

use crate::scenario::{self, Scenario};
use crate::store::Engine;

#[derive(Debug)]
pub struct Row {
    pub title: &'static str,
    /// `None`: the constant answer.
    pub scenario: Option<&'static str>,
    /// Requests per second on SQLite and on PostgreSQL.
    goals: [Option<f64>; 2],
    /// Each request is about another entity.
    pub draws_entities: bool,
    /// It is compared with the row above it, so they take turns in going first.
    pub is_compared: bool,
}

impl Row {
    pub fn goal(&self, engine: Engine) -> Option<f64> {
        of(engine, self.goals)
    }

    /// The constant answer is in every table: it tells how fast the machine was.
    pub fn is_chosen(&self, scenarios: &[String]) -> bool {
        let named = |name| scenarios.iter().any(|scenario| scenario == name);
        scenarios.is_empty() || self.scenario.is_none_or(named)
    }

    pub fn scenario(&self) -> Option<&'static Scenario> {
        scenario::ALL.iter().find(|scenario| Some(scenario.name) == self.scenario)
    }
}

/// The most resident memory of the server that is meant to be needed, in MiB.
pub fn memory_goal(engine: Engine) -> f64 {
    of(engine, [120.0, 80.0])
}

fn of<T>(engine: Engine, [sqlite, postgres]: [T; 2]) -> T {
    match engine {
        Engine::Sqlite => sqlite,
        Engine::Postgres => postgres,
    }
}

const CONSTANT_ANSWER: Row = Row {
    title: "constant answer",
    scenario: None,
    goals: [None, None],
    draws_entities: false,
    is_compared: false,
};

const fn without_goal(title: &'static str, scenario: &'static str) -> Row {
    Row { title, scenario: Some(scenario), ..CONSTANT_ANSWER }
}

const fn row(title: &'static str, scenario: &'static str, goals: [f64; 2]) -> Row {
    let [sqlite, postgres] = goals;
    Row { goals: [Some(sqlite), Some(postgres)], ..without_goal(title, scenario) }
}

const fn drawing(row: Row) -> Row {
    Row { draws_entities: true, ..row }
}

const CREATE: [f64; 2] = [6_000.0, 2_500.0];
const LIST: [f64; 2] = [8_000.0, 3_500.0];
const LIST_BY_KEYWORD: [f64; 2] = [5_000.0, 3_000.0];

/// Those that write come last, so that the lists are what was seeded.
pub const ROWS: &[Row] = &[
    CONSTANT_ANSWER,
    drawing(row("fetch entity", "fetch-entity", [30_000.0, 10_000.0])),
    row("list newest, with user", "feed-new-user", LIST),
    row("newest with user, shared", "feed-new-user-shared", LIST),
    row("list hot + keyword", "feed-hot-keyword", LIST_BY_KEYWORD),
    row("list top + keyword", "feed-top-keyword", LIST_BY_KEYWORD),
    row("/v6 list hot + keyword", "v6-hot-keyword", LIST_BY_KEYWORD),
    row("/v6 list top + keyword", "v6-top-keyword", LIST_BY_KEYWORD),
    row("comments of an entity", "comments-new", LIST),
    row("comments, shared", "comments-new-shared", LIST),
    Row { goals: [Some(1_800.0), None], ..without_goal("page 500 of the feed", "feed-page-500") },
    row("create entity", "create-entity", CREATE),
    drawing(row("create comment", "create-comment", CREATE)),
    drawing(row("react", "add-reaction", CREATE)),
    row("react on one entity", "react-one", [10_000.0, 2_000.0]),
    drawing(without_goal("/v6 upvote", "v6-upvote")),
    without_goal("create, no webhook", "create-without-webhook"),
    // At most a tenth more than the row above.
    Row { is_compared: true, ..without_goal("create, dead webhook", "create-with-dead-webhook") },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_names_a_scenario() {
        let missing = ROWS.iter().filter(|row| row.scenario.is_some() && row.scenario().is_none());
        assert_eq!(missing.map(|row| row.title).collect::<Vec<_>>(), Vec::<&str>::new());
    }
}
