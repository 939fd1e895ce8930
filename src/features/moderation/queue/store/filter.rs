//! Which items a page of the queue has, and in which order.

use std::fmt;
use std::str::FromStr;

use db::{Builder, Conn, Query};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use uuid::Uuid;

use crate::error::Result;
use crate::features::moderation::queue::COUNTED;
use crate::features::moderation::queue::model::ItemKind;
use crate::features::moderation::queue::store::{self, QueueRow};
use crate::features::moderation::reports::model::Reason;
use crate::features::moderation::target::TargetKind;
use crate::values::ids::{OperatorId, ProjectId, ReportId, RuleId, SpaceId, UserId, parse_uuid};
use crate::values::time::Timestamp;

/// What is not given does not restrict.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Filter {
    /// One of these.
    pub kinds: Vec<ItemKind>,
    pub targets: Vec<TargetKind>,
    /// That at least one reporter gave.
    pub reason: Option<Reason>,
    pub space: Option<SpaceId>,
    pub claim: Option<ClaimFilter>,
    pub rule: Option<RuleId>,
    pub author: Option<UserId>,
    /// Part of the text; upper and lower case of ASCII letters are the same. Only the first 20,000 items of the
    /// order are searched.
    pub search: Option<String>,
    /// Came into the queue at this time or earlier.
    pub until: Option<Timestamp>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum ClaimFilter {
    By(OperatorId),
    /// Nobody works on it.
    Free,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Order {
    #[default]
    Newest,
    Oldest,
    MostReported,
}

impl Order {
    const fn sql(self) -> &'static str {
        match self {
            Order::Newest => "r.created_at DESC, r.id DESC",
            Order::Oldest => "r.created_at ASC, r.id ASC",
            Order::MostReported => "r.reporter_count DESC, r.created_at DESC, r.id DESC",
        }
    }
}

/// The last item of a page: the next one begins behind it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cursor {
    reporter_count: i64,
    created_at: Timestamp,
    id: ReportId,
}

impl Cursor {
    pub(in crate::features::moderation::queue) fn of(row: &QueueRow) -> Self {
        let QueueRow { reporter_count, created_at, id, .. } = *row;
        Cursor { reporter_count, created_at, id }
    }

    /// The item itself.
    pub fn report(self) -> ReportId {
        self.id
    }
}

impl fmt::Display for Cursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.reporter_count, self.created_at.millis(), self.id)
    }
}

impl Serialize for Cursor {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Cursor {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(de::Error::custom)
    }
}

impl FromStr for Cursor {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let wrong = "no such place in the queue";
        let mut parts = text.splitn(3, '.');
        let mut part = || parts.next().ok_or(wrong);
        let reporter_count = part()?.parse().map_err(|_| wrong)?;
        let created_at = Timestamp::from_millis(part()?.parse().map_err(|_| wrong)?);
        let id: Uuid = parse_uuid(part()?).ok_or(wrong)?;
        Ok(Cursor { reporter_count, created_at, id: ReportId(id) })
    }
}

impl Filter {
    pub(in crate::features::moderation::queue) fn page(
        &self,
        c: &Conn<'_>,
        project: ProjectId,
        order: Order,
        after: Option<Cursor>,
        limit: i64,
        now: Timestamp,
    ) -> Result<Vec<QueueRow>> {
        let mut conditions = self.conditions(project, now);
        if let Some(Cursor { reporter_count, created_at, id }) = after {
            let (at, id) = (conditions.bind(created_at), conditions.bind(id));
            match order {
                Order::Newest => {
                    conditions.add(format_args!("(r.created_at, r.id) < ({at}, {id})"));
                }
                Order::Oldest => {
                    conditions.add(format_args!("(r.created_at, r.id) > ({at}, {id})"));
                }
                Order::MostReported => {
                    let count = conditions.bind(reporter_count);
                    conditions.add(format_args!(
                        "(r.reporter_count, r.created_at, r.id) < ({count}, {at}, {id})"
                    ));
                }
            }
        }
        let found = self.found(&mut conditions);
        let limit = conditions.bind(limit);
        let text = store::page(&conditions, order.sql(), found.as_ref(), limit);
        Ok(c.all(&Query::<QueueRow>::built("queue::list", text), conditions.args())?)
    }

    /// The number of items, and whether there are more than are counted.
    pub fn count(&self, c: &Conn<'_>, project: ProjectId, now: Timestamp) -> Result<(i64, bool)> {
        let total = self.count_to(c, project, now, COUNTED + 1)?;
        Ok((total.min(COUNTED), total > COUNTED))
    }

    /// The number of items, however many they are.
    pub fn count_all(&self, c: &Conn<'_>, project: ProjectId, now: Timestamp) -> Result<i64> {
        self.count_to(c, project, now, i64::MAX)
    }

    fn count_to(&self, c: &Conn<'_>, project: ProjectId, now: Timestamp, most: i64) -> Result<i64> {
        let mut conditions = self.conditions(project, now);
        let found = self.found(&mut conditions);
        let limit = conditions.bind(most);
        let text = store::count(&conditions, found.as_ref(), limit);
        Ok(c.one(&Query::<i64>::built("queue::count", text), conditions.args())?)
    }

    /// The condition that the text is found; looked at last, because it reads the content.
    fn found<'a>(&'a self, conditions: &mut Builder<'a>) -> Option<String> {
        let text = self.search.as_deref().map(str::trim).filter(|text| !text.is_empty())?;
        let text = conditions.bind(text.to_ascii_lowercase());
        Some(store::contains(text))
    }

    fn conditions(&self, project: ProjectId, now: Timestamp) -> Builder<'_> {
        let mut all = Builder::all([project.into()]);
        all.add(store::IN_QUEUE);
        if !self.kinds.is_empty() {
            let kinds: Vec<&str> = self.kinds.iter().map(|kind| condition(*kind)).collect();
            all.add(format_args!("({})", kinds.join(" OR ")));
        }
        match &self.targets[..] {
            [] => {}
            [one] => all.equal("r.target_type", *one),
            many => {
                let names: Vec<String> = many.iter().map(|kind| kind.name().to_owned()).collect();
                let names = all.bind(names);
                all.add(format_args!("r.target_type {{any}}({names})"));
            }
        }
        if let Some(reason) = self.reason {
            let reason = all.bind(reason);
            all.add(store::given(reason));
        }
        if let Some(space) = self.space {
            all.equal("r.space_id", space);
        }
        if let Some(rule) = self.rule {
            all.equal("r.rule_id", rule);
        }
        if let Some(author) = self.author {
            all.equal("r.author_id", author);
        }
        if let Some(until) = self.until {
            let until = all.bind(until);
            all.add(format_args!("r.created_at <= {until}"));
        }
        match self.claim {
            None => {}
            Some(ClaimFilter::By(operator)) => {
                all.equal("r.claimed_by", operator);
                let now = all.bind(now);
                all.add(format_args!("r.claimed_until > {now}"));
            }
            Some(ClaimFilter::Free) => {
                let now = all.bind(now);
                all.add(format_args!("(r.claimed_until IS NULL OR r.claimed_until <= {now})"));
            }
        }
        all
    }
}

const fn condition(kind: ItemKind) -> &'static str {
    match kind {
        ItemKind::Reported => "r.reporter_count > 0",
        ItemKind::Flagged => "(r.rule_id IS NOT NULL AND r.reporter_count = 0 AND NOT r.is_held)",
        ItemKind::Held => "r.is_held",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_is_read_as_it_was_written() {
        let id = ReportId(Uuid::from_u128(7));
        let cursor = Cursor { reporter_count: 3, created_at: Timestamp::from_millis(-5), id };
        assert_eq!(cursor.to_string().parse(), Ok(cursor));
        for wrong in ["", "1", "1.2", "1.2.x", "x.2.00000000-0000-0000-0000-000000000007"] {
            assert!(wrong.parse::<Cursor>().is_err(), "{wrong}");
        }
    }
}
