//! Lists of entities, anonymously: the newest, the hottest, and those with a keyword that all have.
//! The bare work is one statement that walks the index of the order and reads the entities it finds,
//! and their bytes.

use db::{Conn, Db, Query, Row as _, args};
use townhall::features::entities::model::Entity;
use townhall::features::entities::store::EntityRow;
use townhall::features::entities::terms;
use townhall::http::query::percent_encode;
use townhall::values::ids::{ProjectId, SpaceId};

use crate::entities::COMMON;
use crate::fixture::{Fixture, text};
use crate::scenario::{Bare, Scenario};
use crate::server::get;

const LIMIT: u32 = 20;

pub const NEW: Scenario = Scenario {
    name: "feed-new",
    about: "GET /entities?limit=20, one page of the newest",
    expected_status: &[200],
    requests: |fixture| requests(fixture, "sortBy=createdAt"),
    bare: |fixture, db| bare(fixture, db, NEWEST),
};

pub const HOT: Scenario = Scenario {
    name: "feed-hot",
    about: "GET /entities?sortBy=hot&limit=20, one page of the hottest",
    expected_status: &[200],
    requests: |fixture| requests(fixture, "sortBy=hot"),
    bare: |fixture, db| bare(fixture, db, HOTTEST),
};

pub const KEYWORD: Scenario = Scenario {
    name: "feed-keyword",
    about: "GET /entities?keywordsFilters[includes]=…&limit=20, a keyword that all have",
    expected_status: &[200],
    requests: |fixture| {
        let filter = percent_encode("keywordsFilters[includes]");
        requests(fixture, &format!("{filter}={COMMON}"))
    },
    bare: |fixture, db| bare(fixture, db, TAGGED),
};

const NEWEST: &str = "SELECT id FROM entities WHERE project_id = $1 AND is_listed
    ORDER BY created_at DESC, id DESC";
const HOTTEST: &str = "SELECT id FROM entities WHERE project_id = $1 AND is_listed
    ORDER BY score DESC, created_at DESC, id DESC";
pub const IN_SPACE: &str = "SELECT id FROM entities
    WHERE project_id = $1 AND is_listed AND space_id = $2 ORDER BY created_at DESC, id DESC";
const TAGGED: &str = "SELECT entity_id AS id FROM entity_terms WHERE project_id = $1 AND term = $2
    ORDER BY created_at DESC, entity_id DESC";

fn requests(fixture: &Fixture, query: &str) -> Vec<Vec<u8>> {
    let (project, page) = (fixture.project, fixture.page);
    vec![get(&format!("/v8/{project}/entities?{query}&limit={LIMIT}&page={page}"))]
}

pub fn bare(fixture: &Fixture, db: &Db, ids: &'static str) -> Vec<Bare> {
    let (db, project, space) = (db.clone(), fixture.project, fixture.space);
    let offset = (fixture.page - 1) * LIMIT;
    let statement = Bare::new("statement and bytes", move |_| {
        let db = db.clone();
        async move {
            let shown =
                db.read(move |c| page(c, project, space, ids, offset)).await.map_err(text)?;
            if shown.len() <= 2 { Err("an empty page".to_owned()) } else { Ok(shown) }
        }
    });
    vec![statement]
}

/// The bytes of a page of the entities with these ids.
fn page(
    c: &Conn<'_>,
    project: ProjectId,
    space: SpaceId,
    ids: &str,
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
    let term = terms::keyword(COMMON);
    let rows = match ids {
        TAGGED => c.all(&query, args![project, term])?,
        IN_SPACE => c.all(&query, args![project, space])?,
        _ => c.all(&query, args![project])?,
    };
    let entities: townhall::error::Result<Vec<Entity>> =
        rows.into_iter().map(|row| Entity::new(project, row)).collect();
    serde_json::to_vec(&entities?).map_err(townhall::error::Error::internal)
}
