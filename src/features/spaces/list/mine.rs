//! Fetch User Spaces: the spaces a user belongs to, waits for or is banned from.

use std::collections::HashMap;

use db::{Conn, Query as Statement, Value};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::auth::caller::Actor;
use crate::error::{Error, Result};
use crate::features::spaces::INVALID_QUERY;
use crate::features::spaces::list::order::SortBy;
use crate::features::spaces::members::store::{self as members, MemberRow};
use crate::features::spaces::model::Space;
use crate::features::spaces::rules::{Role, Status};
use crate::features::spaces::show::{IncludeQuery, View};
use crate::http::input::{Flag, LenientPaging, Query};
use crate::http::operation::Call;
use crate::http::page::{Page, Pagination};
use crate::http::reply::Json;
use crate::values::ids::{MemberId, SpaceId, UserId};
use crate::values::time::Timestamp;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(in crate::features::spaces) struct MineQuery {
    #[serde(default)]
    status: MineStatus,
    /// One role, or several with commas between them.
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

    fn order(&self) -> &'static str {
        match self.sort_by {
            None => "m.joined_at DESC, s.id",
            Some(MineSort::Alphabetical) => SortBy::Alphabetical.order(),
            Some(MineSort::Newest) => SortBy::Newest.order(),
            Some(MineSort::Members) => SortBy::Members.order(),
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
    let list = List { user, roles: query.roles()?, status: query.status(), order: query.order() };
    let page = (!query.all.0).then_some(page);
    let found = call.app.db.read_slow(move |c| list.show(c, &view, page));
    found.await.map(Json)
}

struct List {
    user: UserId,
    status: Status,
    /// Any if there is none.
    roles: Vec<Role>,
    order: &'static str,
}

impl List {
    fn show(&self, c: &Conn<'_>, view: &View, page: Option<Page>) -> Result<UserSpaces> {
        let project = view.project.id;
        let mut args: Vec<Value<'_>> = vec![project.into(), self.user.into(), self.status.into()];
        let places: Vec<String> = (4..).take(self.roles.len()).map(|n| format!("${n}")).collect();
        args.extend(self.roles.iter().map(|role| Value::from(role.rank())));
        let of_role = match places.is_empty() {
            true => String::new(),
            false => format!(" AND m.rank IN ({})", places.join(", ")),
        };
        let from = format!(
            "FROM space_members m CROSS JOIN spaces s
             WHERE m.project_id = $1 AND m.user_id = $2 AND m.status = $3{of_role}
                AND s.project_id = $1 AND s.id = m.space_id AND s.deleted_at IS NULL"
        );
        let slice = match page {
            Some(page) => format!(" LIMIT {} OFFSET {}", page.limit, page.offset()),
            None => String::new(),
        };
        let text = format!("SELECT m.id, s.id {from} ORDER BY {}{slice}", self.order);
        let query = Statement::<(MemberId, SpaceId)>::built("spaces::mine::page", text);
        let (ids, spaces): (Vec<MemberId>, Vec<SpaceId>) =
            c.all(&query, &args)?.into_iter().unzip();
        let rows = members::find_all(c, project, &ids)?;
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
        let count =
            Statement::<i64>::built("spaces::mine::count", format!("SELECT count(*) {from}"));
        let paged = page.of(data, c.one(&count, &args)?);
        Ok::<_, Error>(UserSpaces { data: paged.data, pagination: Some(paged.pagination) })
    }
}
