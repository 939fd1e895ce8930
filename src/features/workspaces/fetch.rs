//! Fetch Workspace, List Workspaces.

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;

use crate::auth::caller::{OptionalViewer, UserOrKey};
use crate::error::{Error, Result};
use crate::features::workspaces::acting::{Purpose, acting_user, reading};
use crate::features::workspaces::model::Workspace;
use crate::features::workspaces::shape::{Declared, Read};
use crate::features::workspaces::store::{self, WorkspaceRow, members};
use crate::features::workspaces::{WorkspacePath, place};
use crate::http::include::Include;
use crate::http::input::Path;
use crate::http::operation::Call;
use crate::http::page::{Page, Paged};
use crate::http::reply::Json;
use crate::values::ids::{ProjectId, WorkspaceId};

const MEMBER_COUNT: &str = "memberCount";

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct FetchQuery {
    #[serde(default)]
    include: Include,
}

impl Declared for FetchQuery {}

pub(super) async fn fetch_workspace(
    call: Call<OptionalViewer>,
    (Path(path), Read { named, query }): (Path<WorkspacePath>, Read<FetchQuery>),
) -> Result<Json<Workspace>> {
    let (call, acting) = reading(call, named).await?;
    let project = call.project.id;
    let found = call.app.db.read(move |c| {
        let place = place::see(c, project, path.workspace_id, acting)?;
        let mut shown = shown(c, project, vec![place.workspace], &query.include)?;
        shown.pop().ok_or_else(|| Error::internal("a workspace that was found is not shown"))
    });
    found.await.map(Json)
}

/// A whole number from 1 on.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(try_from = "String")]
struct Positive(u32);

impl TryFrom<String> for Positive {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        match text.parse::<u64>() {
            Ok(0) | Err(_) => Err("must be a whole number from 1 on"),
            Ok(number) => Ok(Positive(u32::try_from(number).unwrap_or(u32::MAX))),
        }
    }
}

impl JsonSchema for Positive {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Positive".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "integer", "minimum": 1 })
    }
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ListQuery {
    page: Option<Positive>,
    limit: Option<Positive>,
    #[serde(default)]
    include: Include,
}

impl Declared for ListQuery {}

impl ListQuery {
    fn page(&self) -> Page {
        let number = |given: Option<Positive>, default| given.map_or(default, |given| given.0);
        Page { page: number(self.page, 1), limit: number(self.limit, 20).min(100) }
    }
}

pub(super) async fn list_workspaces(
    call: Call<UserOrKey>,
    Read { named, query }: Read<ListQuery>,
) -> Result<Json<Paged<Workspace>>> {
    let user = acting_user(&call, named, Purpose::Read).await?;
    let (project, page) = (call.project.id, query.page());
    let listed = call.app.db.read(move |c| {
        let (rows, total) = store::of_user(c, project, user, page)?;
        Ok::<_, Error>(page.of(shown(c, project, rows, &query.include)?, total))
    });
    listed.await.map(Json)
}

fn shown(
    c: &db::Conn<'_>,
    project: ProjectId,
    rows: Vec<WorkspaceRow>,
    include: &Include,
) -> Result<Vec<Workspace>> {
    if !include.has(MEMBER_COUNT) {
        return rows.into_iter().map(Workspace::new).collect();
    }
    let ids: Vec<WorkspaceId> = rows.iter().map(|row| row.id).collect();
    let counts = members::counts(c, project, &ids)?;
    let with_count = |row: WorkspaceRow| {
        let count = counts.get(&row.id).copied().unwrap_or(0);
        Ok(Workspace::new(row)?.with_member_count(count))
    };
    rows.into_iter().map(with_count).collect()
}
