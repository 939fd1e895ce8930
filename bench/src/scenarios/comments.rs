//! Lists of the comments of one entity, anonymously: the newest, the oldest, and those on top. The
//! bare work is one statement that walks the index of the order and reads the comments it finds, and
//! their bytes.

use db::{Db, Query, Row as _, args};
use townhall::features::comments::model::Comment;
use townhall::features::comments::store::CommentRow;

use crate::fixture::{Fixture, text};
use crate::scenario::{Bare, Scenario};
use crate::server::{apart, get};

const LIMIT: u32 = 20;

pub const NEW: Scenario = Scenario {
    name: "comments-new",
    about: "GET /comments?entityId=…&limit=20, one page of the newest",
    expected_status: &[200],
    requests: |fixture| apart(&path(fixture, "sortBy=createdAt")),
    bare: |fixture, db| bare(fixture, db, "created_at DESC, id DESC"),
};

pub const NEW_SHARED: Scenario = Scenario {
    name: "comments-new-shared",
    about: "the same as comments-new by callers who share reads",
    requests: |fixture| vec![get(&path(fixture, "sortBy=createdAt"))],
    ..NEW
};

pub const OLD: Scenario = Scenario {
    name: "comments-old",
    about: "GET /comments?entityId=…&sortDir=asc&limit=20, one page of the oldest",
    expected_status: &[200],
    requests: |fixture| apart(&path(fixture, "sortBy=createdAt&sortDir=asc")),
    bare: |fixture, db| bare(fixture, db, "created_at, id"),
};

pub const TOP: Scenario = Scenario {
    name: "comments-top",
    about: "GET /comments?entityId=…&sortBy=top&limit=20, one page of those with most votes",
    expected_status: &[200],
    requests: |fixture| apart(&path(fixture, "sortBy=top")),
    bare: |fixture, db| {
        bare(fixture, db, "balance DESC, upvote_count DESC, created_at DESC, id DESC")
    },
};

fn path(fixture: &Fixture, query: &str) -> String {
    let (project, page, entity) = (fixture.project, fixture.page, fixture.entities.id(0));
    format!("/v8/{project}/comments?entityId={entity}&{query}&limit={LIMIT}&page={page}")
}

fn bare(fixture: &Fixture, db: &Db, order: &'static str) -> Vec<Bare> {
    let (db, project, entity) = (db.clone(), fixture.project, fixture.entities.id(0));
    let offset = (fixture.page - 1) * LIMIT;
    let columns = CommentRow::COLUMNS.unwrap_or_default().iter().map(|column| match *column {
        "content" | "gif" | "mentions" | "attachments" | "metadata" => format!("b.{column}"),
        "entity_is_removed" => {
            "COALESCE(e.moderation_status, '') = 'removed' AS entity_is_removed".to_owned()
        }
        "entity_is_draft" => "e.is_draft AS entity_is_draft".to_owned(),
        "entity_user_id" => "e.user_id AS entity_user_id".to_owned(),
        _ => format!("c.{column}"),
    });
    let statement = format!(
        "SELECT {} FROM (SELECT id FROM comments
                WHERE project_id = $1 AND entity_id = $2 AND deleted_at IS NULL
                ORDER BY {order} LIMIT {LIMIT} OFFSET {offset}) f
            JOIN comments c ON c.project_id = $1 AND c.id = f.id
            JOIN comment_bodies b ON b.project_id = $1 AND b.id = f.id
            JOIN entities e ON e.project_id = $1 AND e.id = c.entity_id",
        columns.collect::<Vec<_>>().join(", ")
    );
    let page = Bare::new("statement and bytes", move |_| {
        let (db, statement) = (db.clone(), statement.clone());
        async move {
            let query = Query::<CommentRow>::built("bench::comments", statement);
            let read = db.read(move |c| {
                let rows = c.all(&query, args![project, entity])?;
                let shown = rows.into_iter().map(|row| Comment::new(project, row));
                shown.collect::<townhall::error::Result<Vec<_>>>()
            });
            let shown = read.await.map_err(text)?;
            if shown.is_empty() {
                return Err("an empty page".to_owned());
            }
            serde_json::to_vec(&shown).map_err(|error| error.to_string())
        }
    });
    vec![page]
}
