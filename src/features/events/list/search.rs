//! What a list of events asks for, and how it is found. A list of all events reads parts of an index that hold what
//! everybody sees, and adds the few that the caller alone may see; its total adds up spans of days. Other lists begin with
//! what they name: a space, a host, the caller's answers, a place.

use std::sync::Arc;

use db::Conn;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::auth::perspective::Perspective;
use crate::error::Result;
use crate::features::entities::list::filters::{Near, TextFilter};
use crate::features::events::list::sql::{self, Branch};
use crate::features::events::rules::{Kind, Rsvp, Status, Visibility};
use crate::features::events::store::totals::{self, Span};
use crate::http::input::Direction;
use crate::http::page::Page;
use crate::tenancy::{Bundle, Project};
use crate::values::ids::{EventId, SpaceId, UserId};
use crate::values::time::Timestamp;

/// Up to so many are sorted rather than looked for along the other order.
const FEW: i64 = 2000;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(inline)]
pub enum Sort {
    StartTime,
    Going,
}

/// Every event is in exactly one of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(inline)]
pub enum Window {
    Upcoming,
    Ongoing,
    Past,
}

#[derive(Debug, Clone, Default, PartialEq)]
pub struct Filters {
    pub title: TextFilter,
    pub description: TextFilter,
    pub near: Option<Near>,
}

impl Filters {
    pub fn is_empty(&self) -> bool {
        *self == Filters::default()
    }
}

#[derive(Debug, Clone)]
pub struct Search {
    pub project: Arc<Project>,
    pub perspective: Perspective,
    pub sort: Sort,
    pub direction: Direction,
    pub window: Option<Window>,
    pub after: Option<Timestamp>,
    pub before: Option<Timestamp>,
    pub space: Option<SpaceId>,
    pub host: Option<UserId>,
    pub kind: Option<Kind>,
    pub status: Status,
    pub my_rsvp: Option<(UserId, Vec<Rsvp>)>,
    pub filters: Filters,
    pub now: Timestamp,
}

impl Search {
    /// The ids of the page, in order, and the size of the whole list.
    pub fn run(&self, c: &Conn<'_>, page: Page) -> Result<(Vec<EventId>, i64)> {
        let named = self.named(c)?;
        let (branches, total) = match named {
            Some(branch) => {
                let total = sql::count(self, c, &branch)?;
                (vec![branch], total)
            }
            None => self.whole(c)?,
        };
        if page.offset() >= total {
            return Ok((Vec::new(), total));
        }
        // Along the order of who goes, few of a large project would be far apart.
        let is_sorted = self.sort == Sort::Going && total <= FEW;
        Ok((sql::page(self, c, &branches, page, is_sorted)?, total))
    }

    /// What the list begins with, if it names anything.
    fn named(&self, c: &Conn<'_>) -> Result<Option<Branch>> {
        if self.my_rsvp.is_some() {
            return Ok(Some(Branch::Answered));
        }
        if self.host.is_some() {
            return Ok(Some(Branch::Hosted));
        }
        if self.space.is_some() {
            return Ok(Some(Branch::InSpace));
        }
        match &self.filters.near {
            Some(near) if sql::count_place(c, self.project.id, near, FEW)? < FEW => {
                Ok(Some(Branch::Near))
            }
            _ => Ok(None),
        }
    }

    /// All events that the caller may see, in parts, and their number.
    fn whole(&self, c: &Conn<'_>) -> Result<(Vec<Branch>, i64)> {
        let everybody: &[Visibility] = match self.perspective.is_key() {
            true => &Visibility::ALL,
            false => &[Visibility::Public],
        };
        let kinds: Vec<Kind> = self.kind.map_or(Kind::ALL.to_vec(), |kind| vec![kind]);
        let mut branches = Vec::new();
        let mut total = 0;
        if self.window == Some(Window::Ongoing) {
            let counts = sql::count_current(self, c)?;
            total += counts.iter().map(|(_, count)| count).sum::<i64>();
            if total > 0 {
                branches.push(Branch::Current(counts.iter().map(|(class, _)| *class).collect()));
            }
        } else {
            for visibility in everybody {
                branches.extend(kinds.iter().map(|kind| Branch::Listed(*visibility, *kind)));
            }
            total += match self.filters.is_empty() {
                true => self.count_listed(c, everybody, &kinds)?,
                false => sql::count_all(self, c, &branches)?,
            };
        }
        if let Perspective::User(user) = self.perspective {
            let mut private = vec![Branch::HostedPrivately(user), Branch::Invited(user)];
            if self.project.has(Bundle::Spaces) {
                private.push(Branch::ForMembers(user));
            }
            total += sql::count_all(self, c, &private)?;
            branches.extend(private);
        }
        Ok((branches, total))
    }

    /// Those in a span of days, without those that are going on if only past ones count.
    fn count_listed(&self, c: &Conn<'_>, visible: &[Visibility], kinds: &[Kind]) -> Result<i64> {
        let (project, span) = (self.project.id, self.span());
        let total = totals::total(c, project, self.status, visible, kinds, span)?;
        if self.window != Some(Window::Past) {
            return Ok(total);
        }
        let ongoing = Search { window: Some(Window::Ongoing), ..self.clone() };
        let ongoing = sql::count_current(&ongoing, c)?;
        Ok(total - ongoing.iter().map(|(_, count)| count).sum::<i64>())
    }

    /// When the events start.
    pub fn span(&self) -> Span {
        let now = self.now.millis();
        let after = self.after.map(|after| after.millis() + 1);
        let before = self.before.map(Timestamp::millis);
        match self.window {
            None => Span { since: after, until: before },
            Some(Window::Upcoming) => Span {
                since: Some(after.map_or(now + 1, |after| after.max(now + 1))),
                until: before,
            },
            Some(Window::Ongoing | Window::Past) => Span {
                since: after,
                until: Some(before.map_or(now + 1, |before| before.min(now + 1))),
            },
        }
    }
}
