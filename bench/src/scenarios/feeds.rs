//! Lists of entities, anonymously: the newest, the hottest, and those with a keyword, under both dialects.
//! The bare work is one statement that walks the index of the order and reads the entities it finds,
//! and their bytes.

use db::{Conn, Db, Query, Row as _, args};
use townhall::features::entities::model::Entity;
use townhall::features::entities::store::EntityRow;
use townhall::features::entities::terms;
use townhall::http::query::percent_encode;
use townhall::values::ids::ProjectId;
use uuid::Uuid;

use crate::dice::Dice;
use crate::entities::{COMMON, rare};
use crate::fixture::{Fixture, text};
use crate::scenario::{Bare, Scenario};
use crate::server::{apart, get, of_caller};

const LIMIT: u32 = 20;
/// The page of the scenario about deep pages.
const DEEP_PAGE: u32 = 500;

pub const NEW: Scenario = Scenario {
    name: "feed-new",
    about: "GET /entities?limit=20, one page of the newest",
    expected_status: &[200],
    requests: |fixture| apart(&path(fixture, "v8", "sortBy=createdAt", fixture.page)),
    bare: |fixture, db| bare(fixture, db, NEWEST, fixture.page),
};

pub const NEW_WITH_USER: Scenario = Scenario {
    name: "feed-new-user",
    about: "GET /entities?include=user&limit=20, one page of the newest with their users",
    requests: |fixture| apart(&newest_with_user(fixture)),
    ..NEW
};

pub const NEW_WITH_USER_SHARED: Scenario = Scenario {
    name: "feed-new-user-shared",
    about: "the same as feed-new-user by callers who share reads",
    requests: |fixture| vec![get(&newest_with_user(fixture))],
    ..NEW
};

pub const DEEP: Scenario = Scenario {
    name: "feed-page-500",
    about: "GET /entities?limit=20&page=500, always page 500 of the newest",
    requests: |fixture| apart(&path(fixture, "v8", "sortBy=createdAt", DEEP_PAGE)),
    bare: |fixture, db| bare(fixture, db, NEWEST, DEEP_PAGE),
    ..NEW
};

pub const HOT: Scenario = Scenario {
    name: "feed-hot",
    about: "GET /entities?sortBy=hot&limit=20, one page of the hottest",
    requests: |fixture| apart(&path(fixture, "v8", "sortBy=hot", fixture.page)),
    bare: |fixture, db| bare(fixture, db, HOTTEST, fixture.page),
    ..NEW
};

pub const KEYWORD: Scenario = Scenario {
    name: "feed-keyword",
    about: "GET /entities?keywordsFilters[includes]=…&limit=20, a keyword that all have",
    requests: |fixture| apart(&path(fixture, "v8", &has_keyword(COMMON), fixture.page)),
    bare: |fixture, db| bare(fixture, db, TAGGED, fixture.page),
    ..NEW
};

pub const HOT_KEYWORD: Scenario = Scenario {
    name: "feed-hot-keyword",
    about: "GET /entities?sortBy=hot&keywordsFilters[includes]=…, half common and half rare ones",
    requests: |fixture| with_keywords(fixture, "v8", "hot"),
    bare: |fixture, db| bare_with_keywords(fixture, db, [HOT_COMMON, HOT_RARE]),
    ..NEW
};

pub const TOP_KEYWORD: Scenario = Scenario {
    name: "feed-top-keyword",
    about: "GET /entities?sortBy=top&keywordsFilters[includes]=…, half common and half rare ones",
    requests: |fixture| with_keywords(fixture, "v8", "top"),
    bare: |fixture, db| bare_with_keywords(fixture, db, [TOP_COMMON, TOP_RARE]),
    ..NEW
};

pub const V6_HOT_KEYWORD: Scenario = Scenario {
    name: "v6-hot-keyword",
    about: "the same as feed-hot-keyword under /v6",
    requests: |fixture| with_keywords(fixture, "v6", "hot"),
    ..HOT_KEYWORD
};

pub const V6_TOP_KEYWORD: Scenario = Scenario {
    name: "v6-top-keyword",
    about: "the same as feed-top-keyword under /v6",
    requests: |fixture| with_keywords(fixture, "v6", "top"),
    ..TOP_KEYWORD
};

const NEWEST: &str = "SELECT id FROM entities WHERE project_id = $1 AND is_listed
    ORDER BY created_at DESC, id DESC";
const HOTTEST: &str = "SELECT id FROM entities WHERE project_id = $1 AND is_listed
    ORDER BY score DESC, created_at DESC, id DESC";
pub const IN_SPACE: &str = "SELECT id FROM entities
    WHERE project_id = $1 AND is_listed AND space_id = $2 ORDER BY created_at DESC, id DESC";
const TAGGED: &str = "SELECT entity_id AS id FROM entity_terms WHERE project_id = $1 AND term = $2
    ORDER BY created_at DESC, entity_id DESC";

/// A common keyword: walks the index of the order, and most of what it finds has the keyword.
macro_rules! common {
    ($condition:literal, $column:literal) => {
        concat!(
            "SELECT e.id FROM entities e WHERE e.project_id = $1 AND e.is_listed",
            $condition,
            " AND EXISTS (SELECT 1 FROM entity_terms t WHERE t.project_id = $1 AND t.term = $2
                AND t.created_at = e.created_at AND t.entity_id = e.id)
              ORDER BY e.",
            $column,
            " DESC, e.created_at DESC, e.id DESC"
        )
    };
}

/// A rare keyword: reads all entities that have it and sorts them. `CROSS JOIN` has SQLite keep that order.
macro_rules! rare {
    ($column:literal) => {
        concat!(
            "SELECT e.id FROM entity_terms t CROSS JOIN entities e
             WHERE t.project_id = $1 AND t.term = $2 AND e.project_id = $1 AND e.id = t.entity_id
                AND e.is_listed
             ORDER BY e.",
            $column,
            " DESC, e.created_at DESC, e.id DESC"
        )
    };
}

const HOT_COMMON: &str = common!("", "score");
const HOT_RARE: &str = rare!("score");
const TOP_COMMON: &str = common!(" AND e.upvote_count > 0", "upvote_count");
const TOP_RARE: &str = rare!("upvote_count");

fn path(fixture: &Fixture, version: &str, query: &str, page: u32) -> String {
    let project = fixture.project;
    format!("/{version}/{project}/entities?{query}&limit={LIMIT}&page={page}")
}

fn newest_with_user(fixture: &Fixture) -> String {
    path(fixture, "v8", "sortBy=createdAt&include=user", fixture.page)
}

fn has_keyword(keyword: &str) -> String {
    format!("{}={keyword}", percent_encode("keywordsFilters[includes]"))
}

/// Every other request asks for the keyword that all entities have, the others for one of a thousand.
fn with_keywords(fixture: &Fixture, version: &str, order: &str) -> Vec<Vec<u8>> {
    let request = |keyword: &str, caller| {
        let query = format!("sortBy={order}&{}", has_keyword(keyword));
        of_caller(&path(fixture, version, &query, fixture.page), caller)
    };
    let keywords = rare().zip(0..);
    keywords.flat_map(|(rare, caller)| [request(&rare, caller), request(COMMON, caller)]).collect()
}

/// `ids`: a query for the ids of entities in their order.
pub fn bare(fixture: &Fixture, db: &Db, ids: &'static str, page: u32) -> Vec<Bare> {
    let second = match ids {
        IN_SPACE => Some(fixture.space.0),
        TAGGED => Some(terms::keyword(COMMON)),
        _ => None,
    };
    vec![statement(fixture, db, page, move |_| (ids, second))]
}

/// The common keyword and its statement as often as a rare one and its statement.
fn bare_with_keywords(fixture: &Fixture, db: &Db, [common, few]: [&'static str; 2]) -> Vec<Bare> {
    let rare: Vec<Uuid> = rare().map(|keyword| terms::keyword(&keyword)).collect();
    vec![statement(fixture, db, fixture.page, move |dice| match dice.draw(2) {
        0 => (common, Some(terms::keyword(COMMON))),
        _ => (few, Some(rare[dice.draw(rare.len())])),
    })]
}

/// `choose`: the query for the ids, and its second argument.
fn statement(
    fixture: &Fixture,
    db: &Db,
    page: u32,
    choose: impl Fn(&mut Dice) -> (&'static str, Option<Uuid>) + Send + Sync + 'static,
) -> Bare {
    let (db, project) = (db.clone(), fixture.project);
    let offset = (page - 1) * LIMIT;
    Bare::new("statement and bytes", move |dice| {
        let (db, (ids, second)) = (db.clone(), choose(dice));
        async move {
            let read = db.read(move |c| page_of(c, project, ids, second, offset));
            let shown = read.await.map_err(text)?;
            if shown.len() <= 2 { Err("an empty page".to_owned()) } else { Ok(shown) }
        }
    })
}

/// The bytes of a page of the entities with these ids.
fn page_of(
    c: &Conn<'_>,
    project: ProjectId,
    ids: &str,
    second: Option<Uuid>,
    offset: u32,
) -> townhall::error::Result<Vec<u8>> {
    let in_body = ["title", "content", "mentions", "attachments", "keywords", "metadata"];
    let columns = EntityRow::COLUMNS.unwrap_or_default().iter().map(|column| {
        let table = if in_body.contains(column) { 'b' } else { 'e' };
        format!("{table}.{column}")
    });
    let columns = columns.collect::<Vec<_>>().join(", ");
    let query = Query::<EntityRow>::built(
        "bench::feed",
        format!(
            "SELECT {columns} FROM ({ids} LIMIT {LIMIT} OFFSET {offset}) f
                JOIN entities e ON e.project_id = $1 AND e.id = f.id
                JOIN entity_bodies b ON b.project_id = $1 AND b.id = f.id"
        ),
    );
    let rows = match second {
        Some(second) => c.all(&query, args![project, second])?,
        None => c.all(&query, args![project])?,
    };
    let entities: townhall::error::Result<Vec<Entity>> =
        rows.into_iter().map(|row| Entity::new(project, row)).collect();
    serde_json::to_vec(&entities?).map_err(townhall::error::Error::internal)
}
