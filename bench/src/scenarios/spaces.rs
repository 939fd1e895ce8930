//! Spaces: the feed of one, the list of all, and those that two users with a thousand memberships
//! each share. The bare work is the statements that find the page and read its rows, and their bytes.

use db::{Db, Query, args};
use townhall::features::spaces::model::Space;
use townhall::features::spaces::store;
use townhall::values::ids::SpaceId;

use crate::fixture::{Fixture, text};
use crate::scenario::{Bare, Scenario};
use crate::scenarios::feeds;
use crate::server::{apart, send};

const LIMIT: u32 = 20;

pub const FEED: Scenario = Scenario {
    name: "feed-space",
    about: "GET /entities?spaceId=…&limit=20, one page of the newest in a space",
    expected_status: &[200],
    requests: |fixture| {
        let (project, space, page) = (fixture.project, fixture.space, fixture.page);
        apart(&format!("/v8/{project}/entities?spaceId={space}&limit={LIMIT}&page={page}"))
    },
    bare: |fixture, db| feeds::bare(fixture, db, feeds::IN_SPACE, fixture.page),
};

pub const LIST: Scenario = Scenario {
    name: "list-spaces",
    about: "GET /spaces?limit=20, one page of a thousand, those with most members first",
    expected_status: &[200],
    requests: |fixture| {
        let (project, page) = (fixture.project, fixture.page);
        apart(&format!("/v8/{project}/spaces?limit={LIMIT}&page={page}"))
    },
    bare: |fixture, db| {
        bare(
            fixture,
            db,
            "SELECT id FROM spaces WHERE project_id = $1 AND deleted_at IS NULL
                AND visibility = 'public' ORDER BY members_count DESC, created_at DESC, id",
        )
    },
};

pub const MUTUAL: Scenario = Scenario {
    name: "mutual-spaces",
    about: "GET /spaces/mutual/:userId?limit=20 of two users who share a thousand",
    expected_status: &[200],
    requests: |fixture| {
        let (project, page) = (fixture.project, fixture.page);
        let (user, other) = (fixture.users[0], fixture.users[1]);
        let path = format!("/v8/{project}/spaces/mutual/{other}?limit={LIMIT}&page={page}");
        vec![send("GET", &path, &fixture.token(user), "")]
    },
    bare: |fixture, db| {
        bare(
            fixture,
            db,
            "SELECT s.id FROM space_members a CROSS JOIN space_members b CROSS JOIN spaces s
             WHERE a.project_id = $1 AND a.user_id = $2 AND a.status = 'active'
                AND b.project_id = $1 AND b.space_id = a.space_id AND b.user_id = $3
                AND b.status = 'active' AND s.project_id = $1 AND s.id = a.space_id
             ORDER BY s.name_key, s.created_at DESC, s.id",
        )
    },
};

fn bare(fixture: &Fixture, db: &Db, ids: &'static str) -> Vec<Bare> {
    let (db, project) = (db.clone(), fixture.project);
    let (user, other) = (fixture.users[0], fixture.users[1]);
    let offset = (fixture.page - 1) * LIMIT;
    let statement = Bare::new("statements and bytes", move |_| {
        let db = db.clone();
        async move {
            let found = db.read(move |c| {
                let text = format!("{ids} LIMIT {LIMIT} OFFSET {offset}");
                let query = Query::<SpaceId>::built("bench::spaces", text);
                let ids = match ids.contains("$3") {
                    true => c.all(&query, args![project, user, other])?,
                    false => c.all(&query, args![project])?,
                };
                store::find_all(c, project, &ids)
            });
            let rows = found.await.map_err(text)?;
            let spaces = rows.into_iter().map(|row| Space::new(project, row));
            let spaces = spaces.collect::<townhall::error::Result<Vec<_>>>().map_err(text)?;
            serde_json::to_vec(&spaces).map_err(|error| error.to_string())
        }
    });
    vec![statement]
}
