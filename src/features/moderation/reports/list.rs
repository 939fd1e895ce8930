//! List Reports and Fetch Report for the project, Fetch Moderated Reports for moderators of a
//! space.

use db::Conn;
use schemars::JsonSchema;
use serde::Deserialize;
use uuid::Uuid;

use crate::auth::caller::{Actor, ActorOrKey, KeyHolder};
use crate::error::Result;
use crate::features::moderation::reports::model::{Report, Status, TargetType};
use crate::features::moderation::reports::show::View;
use crate::features::moderation::reports::store::{self, Filter};
use crate::features::moderation::reports::{FORBIDDEN, INVALID_QUERY, NOT_FOUND, ReportPath};
use crate::features::spaces::authority::{self, Authority};
use crate::features::spaces::store as spaces;
use crate::features::users::reputation::ReputationQuery;
use crate::http::input::{Paging, Path, Query};
use crate::http::operation::Call;
use crate::http::page::Paged;
use crate::http::reply::Json;
use crate::values::ids::{EntityId, ProjectId, SpaceId, UserId};

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct ListQuery {
    /// A space id, or `none`.
    space_id: Option<String>,
    target_id: Option<EntityId>,
    target_type: Option<TargetType>,
    status: Option<StatusFilter>,
    #[serde(default)]
    sort_by: SortBy,
}

/// Older clients name more states than exist.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(super) enum StatusFilter {
    Open,
    Pending,
    Dismissed,
    Actioned,
    OnHold,
    Escalated,
}

impl StatusFilter {
    /// None for a state that no report can have.
    fn status(self) -> Option<Status> {
        match self {
            StatusFilter::Open | StatusFilter::Pending => Some(Status::Open),
            StatusFilter::Dismissed => Some(Status::Dismissed),
            StatusFilter::Actioned => Some(Status::Actioned),
            StatusFilter::OnHold | StatusFilter::Escalated => None,
        }
    }
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(rename = "ReportOrder")]
pub(super) enum SortBy {
    #[default]
    New,
    Old,
}

impl ListQuery {
    /// The inner `None`: reports outside of all spaces.
    fn space(&self) -> Result<Option<Option<SpaceId>>> {
        match self.space_id.as_deref() {
            Some("none") => Ok(Some(None)),
            Some(id) => match id.parse() {
                Ok(space) => Ok(Some(Some(space))),
                Err(_) => Err(INVALID_QUERY.because("spaceId: must be a UUID or none")),
            },
            None => Ok(None),
        }
    }

    /// None if nothing can match.
    fn filter(&self) -> Result<Option<Filter>> {
        let space = self.space()?;
        let status = match self.status.map(StatusFilter::status) {
            Some(None) => return Ok(None),
            status => status.flatten(),
        };
        Ok(Some(Filter {
            status,
            target_type: self.target_type,
            space,
            target: self.target_id.map(|id| -> Uuid { id.0 }),
            moderated_by: None,
            oldest_first: self.sort_by == SortBy::Old,
        }))
    }
}

pub(super) async fn list_reports(
    call: Call<KeyHolder>,
    (Paging(page), Query(query), Query(reputation)): (
        Paging<20, 100>,
        Query<ListQuery>,
        Query<ReputationQuery>,
    ),
) -> Result<Json<Paged<Report>>> {
    let bucket = reputation.bucket_or_context(&call.project, INVALID_QUERY)?;
    let Some(filter) = query.filter()? else { return Ok(Json(page.of(Vec::new(), 0))) };
    let (project, view) = (call.project.id, View::new(&call, bucket));
    let listed = call.app.db.read_slow(move |c| {
        let (rows, total) = filter.list(c, project, page)?;
        Ok(page.of(view.reports(c, rows)?, total))
    });
    listed.await.map(Json)
}

pub(super) async fn fetch_report(
    call: Call<KeyHolder>,
    Path(path): Path<ReportPath>,
) -> Result<Json<Report>> {
    let (project, view) = (call.project.id, View::new(&call, None));
    let found = call.app.db.read(move |c| {
        let row = store::find(c, project, path.report_id)?.ok_or(NOT_FOUND)?;
        view.reports(c, vec![row])?.pop().ok_or(NOT_FOUND.into())
    });
    found.await.map(Json)
}

/// Reports about content in the spaces that the user moderates, or in one of them.
pub(super) async fn fetch_moderated(
    call: Call<Actor>,
    (Paging(page), Query(query), Query(reputation)): (
        Paging<20, 100>,
        Query<ListQuery>,
        Query<ReputationQuery>,
    ),
) -> Result<Json<Paged<Report>>> {
    let bucket = reputation.bucket_or_context(&call.project, INVALID_QUERY)?;
    let (asked, found) = (query.space()?, query.filter()?);
    let (project, user, view) = (call.project.id, call.caller.user, View::new(&call, bucket));
    let listed = call.app.db.read_slow(move |c| {
        match asked {
            Some(Some(space)) if moderates(c, project, space, user)? => {}
            Some(_) => return Err(FORBIDDEN.into()),
            None => {}
        }
        let Some(filter) = &found else { return Ok(page.of(Vec::new(), 0)) };
        let moderated_by = Some(user).filter(|_| asked.is_none());
        let filter = Filter { moderated_by, ..filter.clone() };
        let (rows, total) = filter.list(c, project, page)?;
        Ok(page.of(view.reports(c, rows)?, total))
    });
    listed.await.map(Json)
}

fn moderates(c: &Conn<'_>, project: ProjectId, space: SpaceId, user: UserId) -> Result<bool> {
    let Some(space) = spaces::find(c, project, space)? else { return Ok(false) };
    let authority = authority::authority(c, project, &space, ActorOrKey::User(user))?;
    Ok(authority >= Authority::Moderator)
}
