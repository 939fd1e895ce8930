//! Fetch User Spaces: the spaces where the user is a member, pending or banned.

use std::collections::HashMap;

use db::Conn;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::auth::caller::Actor;
use crate::error::Result;
use crate::features::spaces::INVALID_QUERY;
use crate::features::spaces::list::store::mine::{Memberships, Order};
use crate::features::spaces::list::store::order::SortBy;
use crate::features::spaces::members::store::{self as members, MemberRow};
use crate::features::spaces::model::Space;
use crate::features::spaces::rules::{Role, Status};
use crate::features::spaces::show::{IncludeQuery, View};
use crate::http::input::{Flag, LenientPaging, Query};
use crate::http::operation::Call;
use crate::http::page::{Page, Pagination};
use crate::http::reply::Json;
use crate::values::ids::{MemberId, SpaceId};
use crate::values::time::Timestamp;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(in crate::features::spaces) struct MineQuery {
    #[serde(default)]
    status: MineStatus,
    /// One role, or several separated by commas.
    role: Option<String>,
    /// Everything at once, without pages.
    #[serde(default)]
    all: Flag,
    sort_by: Option<MineSort>,
    #[serde(flatten)]
    include: IncludeQuery,
}

#[derive(Debug, Clone, Copy, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
enum MineStatus {
    #[default]
    Active,
    Pending,
    Banned,
}

#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
enum MineSort {
    Alphabetical,
    Newest,
    Members,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(in crate::features::spaces) struct UserSpaces {
    data: Vec<UserSpaceItem>,
    /// Not with `all=true`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pagination: Option<Pagination>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct UserSpaceItem {
    space: Space,
    membership: Membership,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Membership {
    membership_id: MemberId,
    role: Role,
    status: Status,
    joined_at: Timestamp,
}

impl MineQuery {
    fn roles(&self) -> Result<Vec<Role>> {
        let named = self.role.iter().flat_map(|roles| roles.split(','));
        let role = |name: &str| match name.trim() {
            "admin" => Ok(Role::Admin),
            "moderator" => Ok(Role::Moderator),
            "member" => Ok(Role::Member),
            _ => Err(INVALID_QUERY.because("role: must be admin, moderator or member")),
        };
        named.map(role).collect()
    }

    fn order(&self) -> Order {
        match self.sort_by {
            None => Order::LastJoined,
            Some(MineSort::Alphabetical) => Order::Spaces(SortBy::Alphabetical),
            Some(MineSort::Newest) => Order::Spaces(SortBy::Newest),
            Some(MineSort::Members) => Order::Spaces(SortBy::Members),
        }
    }

    fn status(&self) -> Status {
        match self.status {
            MineStatus::Active => Status::Active,
            MineStatus::Pending => Status::Pending,
            MineStatus::Banned => Status::Banned,
        }
    }
}

pub(in crate::features::spaces) async fn user_spaces(
    call: Call<Actor>,
    (LenientPaging(page), Query(query)): (LenientPaging, Query<MineQuery>),
) -> Result<Json<UserSpaces>> {
    let user = call.caller.user;
    let view = View::asked(&call, Some(user), &query.include);
    let (project, status, roles) = (call.project.id, query.status(), query.roles()?);
    let list = Memberships { project, user, status, roles, order: query.order() };
    let page = (!query.all.0).then_some(page);
    let found = call.app.db.read_slow(move |c| show(c, &list, &view, page));
    found.await.map(Json)
}

fn show(c: &Conn<'_>, list: &Memberships, view: &View, page: Option<Page>) -> Result<UserSpaces> {
    let (ids, spaces): (Vec<MemberId>, Vec<SpaceId>) = list.page(c, page)?.into_iter().unzip();
    let rows = members::find_all(c, list.project, &ids)?;
    let mut rows: HashMap<SpaceId, MemberRow> =
        rows.into_iter().map(|row| (row.space_id, row)).collect();
    let spaces = view.page(c, &spaces)?;
    let entry = |space: Space| {
        let MemberRow { id, role, status, joined_at, .. } = rows.remove(&space.id)?;
        let membership = Membership { membership_id: id, role, status, joined_at };
        Some(UserSpaceItem { space, membership })
    };
    let data: Vec<UserSpaceItem> = spaces.into_iter().filter_map(entry).collect();
    let Some(page) = page else { return Ok(UserSpaces { data, pagination: None }) };
    let paged = page.of(data, list.count(c)?);
    Ok(UserSpaces { data: paged.data, pagination: Some(paged.pagination) })
}
