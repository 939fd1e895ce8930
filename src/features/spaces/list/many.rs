//! Fetch Spaces. What is public is read off the index of the order; the few that only their members
//! come across are put among them.

use db::{Conn, Query as Statement, Value};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::auth::caller::OptionalViewer;
use crate::error::{Error, Result};
use crate::features::spaces::list::order::SortBy;
use crate::features::spaces::model::Space;
use crate::features::spaces::rules::Reading;
use crate::features::spaces::show::{IncludeQuery, View};
use crate::features::spaces::{AUTH_REQUIRED, INVALID_QUERY};
use crate::http::input::{LenientPaging, Query};
use crate::http::operation::Call;
use crate::http::page::{Page, Paged};
use crate::http::reply::Json;
use crate::values::ids::{ProjectId, SpaceId, UserId};

/// Longer patterns only cost time.
const LONGEST_QUERY: usize = 256;
/// A page that begins further back is found off the async workers.
const SLOW_OFFSET: i64 = 1000;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(in crate::features::spaces) struct SpacesQuery {
    #[serde(default)]
    sort_by: SortBy,
    search_slug: Option<String>,
    search_name: Option<String>,
    search_description: Option<String>,
    /// In the name, the slug or the description.
    search_any: Option<String>,
    reading_permission: Option<Reading>,
    /// Only spaces that the caller is an active member of.
    member_of: Option<OnlyTrue>,
    /// A space id, or `null` for roots.
    parent_space_id: Option<String>,
    #[serde(default)]
    nsfw_filter: NsfwFilter,
    #[serde(flatten)]
    include: IncludeQuery,
}

#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[schemars(inline)]
enum OnlyTrue {
    #[serde(rename = "true")]
    True,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(inline)]
enum NsfwFilter {
    #[default]
    IncludeAll,
    Exclude,
    Only,
}

pub(in crate::features::spaces) async fn fetch_spaces(
    call: Call<OptionalViewer>,
    (LenientPaging(page), Query(query)): (LenientPaging, Query<SpacesQuery>),
) -> Result<Json<Paged<Space>>> {
    let viewer = call.caller.user();
    if query.member_of.is_some() && viewer.is_none() {
        return Err(AUTH_REQUIRED.into());
    }
    let view = View::asked(&call, viewer, &query.include);
    let search = Search::new(call.project.id, viewer, query)?;
    let is_quick = !search.is_filtered && page.offset() < SLOW_OFFSET;
    let find = move |c: &Conn<'_>| {
        let total = search.count(c)?;
        let ids = if page.offset() < total { search.page(c, page)? } else { Vec::new() };
        Ok::<_, Error>(page.of(view.page(c, &ids)?, total))
    };
    let db = &call.app.db;
    let found = if is_quick { db.read(find).await } else { db.read_slow(find).await };
    found.map(Json)
}

struct Search {
    sort: SortBy,
    /// What every space of the list keeps.
    conditions: String,
    args: Vec<Value<'static>>,
    /// The place of the user whose memberships count.
    member: Option<String>,
    only_joined: bool,
    is_filtered: bool,
}

impl Search {
    fn new(project: ProjectId, viewer: Option<UserId>, query: SpacesQuery) -> Result<Self> {
        let mut search = Search {
            sort: query.sort_by,
            conditions: "s.project_id = $1 AND s.deleted_at IS NULL".to_owned(),
            args: vec![project.into()],
            member: None,
            only_joined: query.member_of.is_some(),
            is_filtered: false,
        };
        search.member = viewer.map(|user| search.bind(user));
        search.holds(query.search_slug, &["s.slug"])?;
        search.holds(query.search_name, &["s.name"])?;
        search.holds(query.search_description, &["s.description"])?;
        search.holds(query.search_any, &["s.name", "s.slug", "s.description"])?;
        if let Some(reading) = query.reading_permission {
            let reading = search.bind(reading);
            search.add(&format!("s.reading_permission = {reading}"));
        }
        match query.parent_space_id.as_deref() {
            None => {}
            Some("null") => search.add("s.parent_id IS NULL"),
            Some(id) => {
                let wrong = |_| INVALID_QUERY.because("parentSpaceId: must be a UUID or null");
                let parent = search.bind(id.parse::<SpaceId>().map_err(wrong)?);
                search.add(&format!("s.parent_id = {parent}"));
            }
        }
        match query.nsfw_filter {
            NsfwFilter::IncludeAll => {}
            NsfwFilter::Exclude => search.add("NOT s.nsfw_effective"),
            NsfwFilter::Only => search.add("s.nsfw_effective"),
        }
        Ok(search)
    }

    fn bind(&mut self, value: impl Into<Value<'static>>) -> String {
        self.args.push(value.into());
        format!("${}", self.args.len())
    }

    fn add(&mut self, condition: &str) {
        self.conditions = format!("{} AND {condition}", self.conditions);
        self.is_filtered = true;
    }

    /// Part of any of the columns, in whatever case.
    fn holds(&mut self, part: Option<String>, columns: &[&str]) -> Result<()> {
        let Some(part) = part.filter(|part| !part.is_empty()) else { return Ok(()) };
        if part.len() > LONGEST_QUERY {
            return Err(INVALID_QUERY.because("a search must have at most 256 bytes"));
        }
        let part = self.bind(part.to_lowercase());
        let one = |column: &&str| format!("{{contains}}(fold({column}), CAST({part} AS TEXT)) > 0");
        let any: Vec<String> = columns.iter().map(one).collect();
        self.add(&format!("({})", any.join(" OR ")));
        Ok(())
    }

    /// What everybody comes across.
    fn public(&self, columns: &str) -> Option<String> {
        let Search { conditions, .. } = self;
        let text = format!(
            "SELECT {columns} FROM spaces s WHERE {conditions} AND s.visibility = 'public'"
        );
        (!self.only_joined).then_some(text)
    }

    /// What the viewer comes across beside that. The order of a CROSS JOIN is kept by the embedded
    /// engine.
    fn joined(&self, columns: &str) -> Option<String> {
        let (member, conditions) = (self.member.as_ref()?, &self.conditions);
        let hidden = if self.only_joined { "" } else { " AND s.visibility <> 'public'" };
        Some(format!(
            "SELECT {columns} FROM space_members m CROSS JOIN spaces s
             WHERE m.project_id = $1 AND m.user_id = {member} AND m.status = 'active'
                AND s.id = m.space_id AND {conditions}{hidden}"
        ))
    }

    fn count(&self, c: &Conn<'_>) -> Result<i64> {
        let both = [self.public("count(*)"), self.joined("count(*)")];
        let sum: Vec<String> = both.into_iter().flatten().map(|one| format!("({one})")).collect();
        let text = format!("SELECT {}", sum.join(" + "));
        Ok(c.one(&Statement::<i64>::built("spaces::list::count", text), &self.args)?)
    }

    /// The ids of the page, in order.
    fn page(&self, c: &Conn<'_>, page: Page) -> Result<Vec<SpaceId>> {
        let (key, order) = (self.sort.key(), self.sort.order());
        let columns = format!("s.id, s.created_at, {key} AS key");
        let last = page.offset() + i64::from(page.limit);
        let public = self
            .public(&columns)
            .map(|public| format!("SELECT * FROM ({public} ORDER BY {order} LIMIT {last}) AS few"));
        let both: Vec<String> = public.into_iter().chain(self.joined(&columns)).collect();
        let text = format!(
            "SELECT s.id FROM ({}) AS s ORDER BY {} LIMIT {} OFFSET {}",
            both.join(" UNION ALL "),
            order.replace(key, "s.key"),
            page.limit,
            page.offset()
        );
        Ok(c.all(&Statement::<SpaceId>::built("spaces::list::page", text), &self.args)?)
    }
}
