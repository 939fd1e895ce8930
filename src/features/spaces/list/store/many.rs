//! The list of spaces as SQL. Only names that are written here become SQL; everything a caller sends is
//! an argument.

use std::fmt::Display;

use db::{Builder, Conn, Placeholder, Query};

use crate::error::Result;
use crate::features::spaces::list::store::order::SortBy;
use crate::features::spaces::rules::Reading;
use crate::http::page::Page;
use crate::values::ids::{ProjectId, SpaceId, UserId};

/// Which spaces; texts are in lower case.
#[derive(Debug, Default)]
pub struct Filters {
    pub slug: Option<String>,
    pub name: Option<String>,
    pub description: Option<String>,
    /// In the name, the slug or the description.
    pub any: Option<String>,
    pub reading: Option<Reading>,
    /// Below this space, or below none.
    pub parent: Option<Option<SpaceId>>,
    pub is_nsfw: Option<bool>,
}

#[derive(Debug)]
pub struct Search {
    sort: SortBy,
    /// What every space of the list keeps.
    conditions: Builder<'static>,
    /// The place of the user whose memberships count.
    member: Option<Placeholder>,
    only_joined: bool,
    /// Whether more than the order says which spaces are listed.
    pub is_filtered: bool,
}

impl Search {
    pub fn new(
        project: ProjectId,
        viewer: Option<UserId>,
        sort: SortBy,
        only_joined: bool,
        filters: Filters,
    ) -> Self {
        let mut conditions = Builder::all([project.into()]);
        conditions.add("s.project_id = $1 AND s.deleted_at IS NULL");
        let member = viewer.map(|user| conditions.bind(user));
        let mut search = Search { sort, conditions, member, only_joined, is_filtered: false };
        search.holds(filters.slug, &["s.slug"]);
        search.holds(filters.name, &["s.name"]);
        search.holds(filters.description, &["s.description"]);
        search.holds(filters.any, &["s.name", "s.slug", "s.description"]);
        if let Some(reading) = filters.reading {
            let reading = search.conditions.bind(reading);
            search.add(format_args!("s.reading_permission = {reading}"));
        }
        match filters.parent {
            None => {}
            Some(None) => search.add("s.parent_id IS NULL"),
            Some(Some(parent)) => {
                let parent = search.conditions.bind(parent);
                search.add(format_args!("s.parent_id = {parent}"));
            }
        }
        match filters.is_nsfw {
            None => {}
            Some(false) => search.add("NOT s.nsfw_effective"),
            Some(true) => search.add("s.nsfw_effective"),
        }
        search
    }

    fn add(&mut self, condition: impl Display) {
        self.conditions.add(condition);
        self.is_filtered = true;
    }

    /// Part of any of the columns, in whatever case.
    fn holds(&mut self, part: Option<String>, columns: &[&str]) {
        let Some(part) = part else { return };
        let part = self.conditions.bind(part);
        let one = |column: &&str| format!("{{contains}}(fold({column}), CAST({part} AS TEXT)) > 0");
        let any: Vec<String> = columns.iter().map(one).collect();
        self.add(format_args!("({})", any.join(" OR ")));
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
        let (member, conditions) = (self.member?, &self.conditions);
        let hidden = if self.only_joined { "" } else { " AND s.visibility <> 'public'" };
        Some(format!(
            "SELECT {columns} FROM space_members m CROSS JOIN spaces s
             WHERE m.project_id = $1 AND m.user_id = {member} AND m.status = 'active'
                AND s.id = m.space_id AND {conditions}{hidden}"
        ))
    }

    pub fn count(&self, c: &Conn<'_>) -> Result<i64> {
        let both = [self.public("count(*)"), self.joined("count(*)")];
        let sum: Vec<String> = both.into_iter().flatten().map(|one| format!("({one})")).collect();
        let text = format!("SELECT {}", sum.join(" + "));
        Ok(c.one(&Query::<i64>::built("spaces::list::count", text), self.conditions.args())?)
    }

    /// The ids of the page, in order.
    pub fn page(&self, c: &Conn<'_>, page: Page) -> Result<Vec<SpaceId>> {
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
        Ok(c.all(&Query::<SpaceId>::built("spaces::list::page", text), self.conditions.args())?)
    }
}
