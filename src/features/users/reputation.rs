//! Reputation: points of users, in buckets by space. Here are the query parameters of operations that return
//! users, and the only function that changes points.

use std::collections::HashMap;

use db::{Conn, Later, Tx};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use crate::error::{Fault, Result};
use crate::features::users::store::points;
use crate::features::users::store::{self, UserRow};
use crate::http::input::Flag;
use crate::tenancy::{Bundle, Project};
use crate::values::ids::{ProjectId, SpaceId, UserId};

/// Which of a user's points are summed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Sum {
    /// None: points earned outside of all spaces.
    space: Option<SpaceId>,
    /// Includes all descendant spaces.
    with_below: bool,
}

/// Which points are shown with a user.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bucket {
    Of(Sum),
    /// The space of the content that the user is shown with.
    Context,
}

impl Bucket {
    /// The bucket for content in this space.
    pub fn of(self, space: Option<SpaceId>) -> Sum {
        match self {
            Bucket::Of(sum) => sum,
            Bucket::Context => Sum { space, with_below: false },
        }
    }
}

/// The flat form that clients send, and the object form, which takes precedence.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ReputationQuery {
    /// A space id, `none` for the general bucket, or `context` where there is one.
    space_reputation_id: Option<String>,
    #[serde(default)]
    space_reputation_descendants: Flag,
    /// `{spaceId, includeDescendants}` as JSON.
    space_reputation: Option<String>,
    #[serde(rename = "spaceReputation[spaceId]")]
    bracket_space_id: Option<String>,
    #[serde(default, rename = "spaceReputation[includeDescendants]")]
    bracket_descendants: Flag,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct AsJson {
    space_id: String,
    #[serde(default)]
    include_descendants: Value,
}

impl ReputationQuery {
    /// The requested bucket, for operations without a space as context.
    pub fn bucket(&self, project: &Project, invalid: Fault) -> Result<Option<Sum>> {
        match self.asked(invalid)? {
            Some((id, true)) if id == "none" => Err(invalid.because("descendants need a space id")),
            Some((id, _)) if id == "context" => {
                Err(invalid.because("there is no space as context"))
            }
            Some(asked) => resolve(&asked, project, invalid).map(|bucket| Some(bucket.of(None))),
            None => Ok(None),
        }
    }

    /// The requested bucket, for operations whose results may be in a space.
    pub fn bucket_or_context(&self, project: &Project, invalid: Fault) -> Result<Option<Bucket>> {
        match self.asked(invalid)? {
            Some((id, true)) if id == "context" => {
                Err(invalid.because("descendants need a space id"))
            }
            Some(asked) => resolve(&asked, project, invalid).map(Some),
            None => Ok(None),
        }
    }

    /// The id as sent, and whether descendants are included.
    fn asked(&self, invalid: Fault) -> Result<Option<(String, bool)>> {
        if let Some(text) = &self.space_reputation {
            let asked: AsJson = serde_json::from_str(text)
                .map_err(|_| invalid.because("spaceReputation must be an object with spaceId"))?;
            let descendants = matches!(&asked.include_descendants, Value::Bool(true))
                || asked.include_descendants == "true";
            return Ok(Some((asked.space_id, descendants)));
        }
        let flat = || (self.space_reputation_id.as_ref(), self.space_reputation_descendants);
        let bracket = self.bracket_space_id.as_ref().map(|id| (Some(id), self.bracket_descendants));
        let (id, descendants) = bracket.unwrap_or_else(flat);
        Ok(id.map(|id| (id.clone(), descendants.0)))
    }
}

fn resolve((id, with_below): &(String, bool), project: &Project, invalid: Fault) -> Result<Bucket> {
    let bucket = match id.as_str() {
        "none" => Bucket::Of(Sum { space: None, with_below: false }),
        "context" => Bucket::Context,
        other => {
            let wrong =
                |_| invalid.because("spaceReputationId must be a space id, `none` or `context`");
            let space = Some(other.parse().map_err(wrong)?);
            Bucket::Of(Sum { space, with_below: *with_below })
        }
    };
    project.require(Bundle::Reputation)?;
    Ok(bucket)
}

/// A shown user, the bucket to sum, and where the sum is written to.
pub type Shown<'a> = (UserId, Sum, &'a mut Option<i64>);

/// Fills in points; zero where there is no bucket.
pub fn add_points(c: &Conn<'_>, project: ProjectId, shown: Vec<Shown<'_>>) -> Result<()> {
    let users: Vec<UserId> = shown.iter().map(|(user, _, _)| *user).collect();
    let asked = |with_below: bool| -> Vec<SpaceId> {
        let asked = shown.iter().filter(|(_, sum, _)| sum.with_below == with_below);
        asked.filter_map(|(_, sum, _)| sum.space).collect()
    };
    let outside = shown.iter().filter(|(_, sum, _)| sum.space.is_none());
    let outside: Vec<UserId> = outside.map(|(user, _, _)| *user).collect();
    let mut points = HashMap::new();
    for (user, earned) in points::points_outside(c, project, &outside)? {
        points.insert((user, Sum { space: None, with_below: false }), earned);
    }
    for (user, space, earned) in points::points(c, project, &users, &asked(false))? {
        points.insert((user, Sum { space: Some(space), with_below: false }), earned);
    }
    for (user, space, earned) in points::points_below(c, project, &users, &asked(true))? {
        points.insert((user, Sum { space: Some(space), with_below: true }), earned);
    }
    for (user, sum, field) in shown {
        *field = Some(points.get(&(user, sum)).copied().unwrap_or(0));
    }
    Ok(())
}

/// The points of one bucket: of a space, or of what was earned outside of all spaces.
pub fn bucket_of(
    c: &Conn<'_>,
    project: ProjectId,
    user: UserId,
    space: Option<SpaceId>,
) -> Result<i64> {
    let found = match space {
        Some(space) => {
            points::points(c, project, &[user], &[space])?.first().map(|(_, _, points)| *points)
        }
        None => points::points_outside(c, project, &[user])?.first().map(|(_, points)| *points),
    };
    Ok(found.unwrap_or(0))
}

/// Moves points earned in a deleted space to outside of all spaces, for some users, so that nobody loses any;
/// returns the number of users.
pub fn dissolve(tx: &Tx<'_>, project: ProjectId, space: SpaceId, most: i64) -> Result<u64> {
    points::remove_some(tx, project, space, most)
}

/// Changes a user's reputation for an action of theirs, or for a reaction to their content. Does nothing
/// without the bundle.
pub fn award(
    tx: &Tx<'_>,
    project: &Project,
    user: UserId,
    space: Option<SpaceId>,
    points: i64,
) -> Result<()> {
    if points == 0 || !project.has(Bundle::Reputation) {
        return Ok(());
    }
    points::add(tx, project.id, user, space, points)
}

/// The same; the user's row comes later, locked against deletion until the transaction ends.
pub fn awarded(
    tx: &Tx<'_>,
    project: &Project,
    user: UserId,
    space: Option<SpaceId>,
    points: i64,
) -> Result<Later<UserRow>> {
    if points == 0 || !project.has(Bundle::Reputation) {
        return store::lock_shared_later(tx, project.id, user);
    }
    points::earn(tx, project.id, user, space, points)
}

/// For points that were awarded before their space was known: adds them to its bucket.
pub fn put_aside(
    tx: &Tx<'_>,
    project: &Project,
    user: UserId,
    space: Option<SpaceId>,
    points: i64,
) -> Result<()> {
    match space.filter(|_| points != 0 && project.has(Bundle::Reputation)) {
        Some(space) => points::put_aside(tx, project.id, user, space, points),
        None => Ok(()),
    }
}
