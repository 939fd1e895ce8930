//! The text of a list's statements. A list is read in branches, each along an index and no further than the page needs;
//! the branches of a list have no event in common. Only names that are written here become SQL; everything a caller
//! sends is an argument.

use std::fmt::Write as _;

use db::{Builder, Conn, Placeholder, Query, args};

use crate::auth::perspective::Perspective;
use crate::error::Result;
use crate::features::entities::list::filters::Near;
use crate::features::entities::list::sql::{Around, near_conditions, text_conditions};
use crate::features::events::list::search::{Search, Sort, Window};
use crate::features::events::rules::{Kind, LENGTH_CLASSES, Visibility, longest_of};
use crate::http::input::Direction;
use crate::http::page::Page;
use crate::tenancy::Bundle;
use crate::values::ids::{EventId, ProjectId, UserId};

/// Where a part of a list begins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Branch {
    /// All of one visibility and type.
    Listed(Visibility, Kind),
    /// What is going on now, of these classes of length.
    Current(Vec<i64>),
    /// What a user hosts and not everybody sees.
    HostedPrivately(UserId),
    /// What a user is invited to.
    Invited(UserId),
    /// What only members of a user's spaces see.
    ForMembers(UserId),
    /// By the filter for hosts, answers, a space or a place; whatever of it the caller may see.
    Hosted,
    Answered,
    InSpace,
    Near,
}

/// Pieces of one statement with the arguments of all its branches.
struct Writer<'s> {
    search: &'s Search,
    sql: Builder<'static>,
}

/// One branch: what comes before it, its tables and its conditions.
struct Part {
    with: String,
    from: &'static str,
    conditions: Vec<String>,
}

impl<'s> Writer<'s> {
    fn new(search: &'s Search) -> Self {
        Writer { search, sql: Builder::all([search.project.id.into()]) }
    }

    /// `walks_going`: the order of who goes is walked, so no index is to be looked up by time.
    fn part(&mut self, branch: &Branch, walks_going: bool) -> Part {
        let part = self.start(branch);
        self.narrowed(part, branch, walks_going)
    }

    /// The part with the conditions that all of a list have.
    fn narrowed(&mut self, mut part: Part, branch: &Branch, walks_going: bool) -> Part {
        let status = self.search.status.name();
        part.conditions
            .push(format!("e.project_id = $1 AND e.deleted_at IS NULL AND e.status = '{status}'"));
        let column = if walks_going { "+e.start_time" } else { "e.start_time" };
        let span = self.search.span().condition(column, &mut self.sql);
        part.conditions.push(span);
        let now = self.search.now;
        match self.search.window {
            Some(Window::Ongoing) => {
                let now = self.sql.bind(now);
                part.conditions.push(format!("e.end_time >= {now}"));
            }
            Some(Window::Past) => {
                let now = self.sql.bind(now);
                part.conditions.push(format!("(e.end_time IS NULL OR e.end_time < {now})"));
            }
            Some(Window::Upcoming) | None => {}
        }
        if let Some(kind) = self.search.kind.filter(|_| !matches!(branch, Branch::Listed(..))) {
            part.conditions.push(format!("e.type = '{}'", kind.name()));
        }
        self.filter(&mut part, branch);
        part
    }

    /// The filters that the branch does not begin with.
    fn filter(&mut self, part: &mut Part, branch: &Branch) {
        let search = self.search;
        if let Some(space) = search.space {
            let space = self.sql.bind(space);
            part.conditions.push(format!("e.space_id = {space}"));
        }
        if let Some(host) = search.host.filter(|_| *branch != Branch::Hosted) {
            let host = self.sql.bind(host);
            part.conditions.push(is_host(host));
        }
        text_conditions(&mut self.sql, "e.title", &search.filters.title, &mut part.conditions);
        let description = "(SELECT b.description FROM event_bodies b
            WHERE b.project_id = $1 AND b.id = e.id)";
        text_conditions(
            &mut self.sql,
            description,
            &search.filters.description,
            &mut part.conditions,
        );
        if let Some(near) = &search.filters.near {
            near_conditions(&mut self.sql, near, true, &mut part.conditions);
        }
    }

    fn start(&mut self, branch: &Branch) -> Part {
        let plain = |from, conditions| Part { with: String::new(), from, conditions };
        match branch {
            Branch::Listed(visibility, kind) => {
                let (visibility, kind) = (visibility.name(), kind.name());
                plain(
                    "events e",
                    vec![format!("e.visibility = '{visibility}' AND e.type = '{kind}'")],
                )
            }
            Branch::Current(classes) => self.current(classes),
            Branch::HostedPrivately(user) => {
                let user = self.sql.bind(*user);
                let hosted =
                    format!("h.project_id = $1 AND h.user_id = {user} AND e.id = h.event_id");
                plain(
                    "event_hosts h CROSS JOIN events e",
                    vec![hosted, "e.visibility <> 'public'".to_owned()],
                )
            }
            Branch::Invited(user) => {
                let user = self.sql.bind(*user);
                let invited = format!(
                    "i.project_id = $1 AND i.user_id = {user} AND e.id = i.event_id
                        AND e.visibility = 'invite' AND NOT {}",
                    is_host(user)
                );
                plain("event_invites i CROSS JOIN events e", vec![invited])
            }
            Branch::ForMembers(user) => {
                let user = self.sql.bind(*user);
                let member = format!(
                    "m.project_id = $1 AND m.user_id = {user} AND m.status = 'active'
                        AND s.project_id = $1 AND s.id = m.space_id AND s.deleted_at IS NULL
                        AND e.space_id = m.space_id AND e.visibility = 'members' AND NOT {}",
                    is_host(user)
                );
                plain("space_members m CROSS JOIN spaces s CROSS JOIN events e", vec![member])
            }
            Branch::Hosted | Branch::Answered | Branch::InSpace | Branch::Near => {
                self.named(branch)
            }
        }
    }

    /// Of each class of length, those that started recently enough to go on still.
    fn current(&mut self, classes: &[i64]) -> Part {
        let now = self.sql.bind(self.search.now);
        let started: Vec<String> = classes
            .iter()
            .map(|class| {
                let longest = longest_of(*class);
                format!("(e.length_class = {class} AND e.start_time >= CAST({now} AS {{int}}) - {longest})")
            })
            .collect();
        self.current_of(format!("({})", started.join(" OR ")))
    }

    fn current_of(&self, started: String) -> Part {
        let mut conditions = vec![started, "e.length_class IS NOT NULL".to_owned()];
        if !self.search.perspective.is_key() {
            conditions.push("e.visibility = 'public'".to_owned());
        }
        Part { with: String::new(), from: "events e", conditions }
    }

    /// What a filter names, as far as the caller may see it.
    fn named(&mut self, branch: &Branch) -> Part {
        let mut part = Part { with: String::new(), from: "events e", conditions: self.visible() };
        match (branch, self.search.host, &self.search.my_rsvp, &self.search.filters.near) {
            (Branch::Hosted, Some(host), _, _) => {
                part.from = "event_hosts h CROSS JOIN events e";
                let host = self.sql.bind(host);
                part.conditions.push(format!(
                    "h.project_id = $1 AND h.user_id = {host} AND e.id = h.event_id"
                ));
            }
            (Branch::Answered, _, Some((user, statuses)), _) => {
                part.from = "event_rsvps r CROSS JOIN events e";
                let user = self.sql.bind(*user);
                let names: Vec<&str> = statuses.iter().map(|status| status.name()).collect();
                part.conditions.push(format!(
                    "r.project_id = $1 AND r.user_id = {user} AND r.status IN ('{}')
                        AND e.id = r.event_id",
                    names.join("', '")
                ));
            }
            (Branch::Near, _, _, Some(near)) => {
                let around = Around::new(near);
                let (south, north) = (self.sql.bind(around.south), self.sql.bind(around.north));
                part.from = "p CROSS JOIN events e";
                part.with = format!(
                    "WITH p AS MATERIALIZED (SELECT a.id FROM events a
                        WHERE a.project_id = $1 AND a.deleted_at IS NULL AND a.latitude IS NOT NULL
                            AND a.latitude BETWEEN {south} AND {north}) "
                );
                part.conditions.push("e.id = p.id".to_owned());
            }
            _ => {}
        }
        part
    }

    /// The condition that the caller may see an event, as `visibility::sees` says it.
    fn visible(&mut self) -> Vec<String> {
        let user = match self.search.perspective {
            Perspective::Key | Perspective::KeyAs(_) => return Vec::new(),
            Perspective::Anonymous => return vec!["e.visibility = 'public'".to_owned()],
            Perspective::User(user) => self.sql.bind(user),
        };
        let members = match self.search.project.has(Bundle::Spaces) {
            true => format!(
                " OR (e.visibility = 'members' AND EXISTS (SELECT 1 FROM space_members m
                    JOIN spaces s ON s.project_id = m.project_id AND s.id = m.space_id
                    WHERE m.project_id = $1 AND m.space_id = e.space_id AND m.user_id = {user}
                        AND m.status = 'active' AND s.deleted_at IS NULL))"
            ),
            false => String::new(),
        };
        vec![format!(
            "(e.visibility = 'public' OR {}{members}
                OR (e.visibility = 'invite' AND EXISTS (SELECT 1 FROM event_invites i
                    WHERE i.project_id = $1 AND i.event_id = e.id AND i.user_id = {user})))",
            is_host(user)
        )]
    }
}

fn is_host(user: Placeholder) -> String {
    format!(
        "EXISTS (SELECT 1 FROM event_hosts o
            WHERE o.project_id = $1 AND o.event_id = e.id AND o.user_id = {user})"
    )
}

impl Part {
    fn select(&self, columns: &str) -> String {
        let Part { with, from, conditions } = self;
        format!("{with}SELECT {columns} FROM {from} WHERE {}", conditions.join(" AND "))
    }
}

pub fn count(search: &Search, c: &Conn<'_>, branch: &Branch) -> Result<i64> {
    let mut writer = Writer::new(search);
    let text = writer.part(branch, false).select("count(*)");
    Ok(c.one(&Query::<i64>::built("events::list::count", text), writer.sql.args())?)
}

/// How many events are going on, by their class of length. Each class is counted by itself: PostgreSQL would otherwise
/// read all events, as it cannot know that few of them go on.
pub fn count_current(search: &Search, c: &Conn<'_>) -> Result<Vec<(i64, i64)>> {
    let mut writer = Writer::new(search);
    let now = writer.sql.bind(search.now);
    let part = writer.current_of(format!(
        "e.length_class = v.column1 AND e.start_time >= CAST({now} AS {{int}}) - v.column2"
    ));
    let counted = writer.narrowed(part, &Branch::Current(Vec::new()), false).select("count(*)");
    let classes: Vec<String> =
        (0..LENGTH_CLASSES).map(|class| format!("({class}, {})", longest_of(class))).collect();
    let text = format!(
        "SELECT CAST(v.column1 AS {{int}}), ({counted}) FROM (VALUES {}) AS v",
        classes.join(", ")
    );
    let query = Query::<(i64, i64)>::built("events::list::count_current", text);
    let counts = c.all(&query, writer.sql.args())?;
    Ok(counts.into_iter().filter(|(_, count)| *count > 0).collect())
}

pub fn count_all(search: &Search, c: &Conn<'_>, branches: &[Branch]) -> Result<i64> {
    branches.iter().map(|branch| count(search, c, branch)).sum()
}

/// The ids of a page. `is_sorted`: there are so few that they are found by time and sorted.
pub fn page(
    search: &Search,
    c: &Conn<'_>,
    branches: &[Branch],
    page: Page,
    is_sorted: bool,
) -> Result<Vec<EventId>> {
    let mut writer = Writer::new(search);
    let direction = if search.direction == Direction::Asc { "ASC" } else { "DESC" };
    let (key, walks_going) = match search.sort {
        Sort::StartTime => ("e.start_time", false),
        Sort::Going if is_sorted => ("+e.going_count", false),
        Sort::Going => ("e.going_count", true),
    };
    let most = writer.sql.bind(page.offset() + i64::from(page.limit));
    let mut parts = String::new();
    for (n, branch) in branches.iter().enumerate() {
        let selected = writer.part(branch, walks_going).select(&format!("e.id AS id, {key} AS k"));
        let union = if n == 0 { "" } else { " UNION ALL " };
        // Writing to a `String` does not fail.
        let _ = write!(
            parts,
            "{union}SELECT * FROM ({selected} ORDER BY {key} {direction}, e.id {direction} LIMIT {most}) AS b{n}"
        );
    }
    let (limit, offset) = (writer.sql.bind(page.limit), writer.sql.bind(page.offset()));
    let text = format!(
        "SELECT p.id FROM ({parts}) AS p ORDER BY p.k {direction}, p.id {direction}
         LIMIT {limit} OFFSET {offset}"
    );
    Ok(c.all(&Query::<EventId>::built("events::list::page", text), writer.sql.args())?)
}

/// How many events are between the northernmost and the southernmost point of a circle, up to a bound.
pub fn count_place(c: &Conn<'_>, project: ProjectId, near: &Near, most: i64) -> Result<i64> {
    let around = Around::new(near);
    let text = format!(
        "SELECT count(*) FROM (SELECT 1 FROM events e
            WHERE e.project_id = $1 AND e.deleted_at IS NULL AND e.latitude IS NOT NULL
                AND e.latitude BETWEEN $2 AND $3 LIMIT {most}) AS few"
    );
    let query = Query::<i64>::built("events::list::count_place", text);
    Ok(c.one(&query, args![project, around.south, around.north])?)
}
