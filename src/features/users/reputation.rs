//! Reputation: points of users, in buckets by space. Here are the parameters that operations
//! returning users take, and the one way points change.

use db::{Conn, Tx};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;
use uuid::Uuid;

use crate::error::{Fault, Result};
use crate::features::projects::{Bundle, Project};
use crate::features::users::store;
use crate::http::input::Flag;
use crate::ids::{ProjectId, SpaceId, UserId};

/// The bucket of what belongs to no space.
const GENERAL: SpaceId = SpaceId(Uuid::nil());

/// Whose points are shown beside a user.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bucket {
    Of(SpaceId),
    /// The space of whatever the user is shown with.
    Context,
}

impl Bucket {
    /// The bucket to look into for something in this space.
    pub fn of(self, space: Option<SpaceId>) -> SpaceId {
        match self {
            Bucket::Of(bucket) => bucket,
            Bucket::Context => space.unwrap_or(GENERAL),
        }
    }
}

/// The flat form that clients send, and the object form, which wins.
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
    /// The bucket that is asked for, on operations where no space is at hand as context.
    pub fn bucket(&self, project: &Project, invalid: Fault) -> Result<Option<SpaceId>> {
        match self.asked(invalid)? {
            Some((id, true)) if id == "none" => Err(invalid.because("descendants need a space id")),
            Some((id, _)) if id == "context" => {
                Err(invalid.because("there is no space as context"))
            }
            Some((id, _)) => resolve(&id, project, invalid).map(|bucket| Some(bucket.of(None))),
            None => Ok(None),
        }
    }

    /// The bucket that is asked for, on operations whose results may be in a space.
    pub fn bucket_or_context(&self, project: &Project, invalid: Fault) -> Result<Option<Bucket>> {
        match self.asked(invalid)? {
            Some((id, true)) if id == "context" => {
                Err(invalid.because("descendants need a space id"))
            }
            Some((id, _)) => resolve(&id, project, invalid).map(Some),
            None => Ok(None),
        }
    }

    /// The id as sent, and whether descendants are to be included.
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

fn resolve(id: &str, project: &Project, invalid: Fault) -> Result<Bucket> {
    let bucket = match id {
        "none" => Bucket::Of(GENERAL),
        "context" => Bucket::Context,
        // Spaces have no children yet, so the sum over descendants is the space's own.
        other => Bucket::Of(other.parse().map_err(|_| {
            invalid.because("spaceReputationId must be a space id, `none` or `context`")
        })?),
    };
    project.require(Bundle::Reputation)?;
    Ok(bucket)
}

/// A user that is shown, the bucket to look into, and where its points go.
pub type Shown<'a> = (UserId, SpaceId, &'a mut Option<i64>);

/// Fills in points; zero where there is no bucket.
pub fn add_points(c: &Conn<'_>, project: ProjectId, shown: Vec<Shown<'_>>) -> Result<()> {
    let users: Vec<UserId> = shown.iter().map(|(user, _, _)| *user).collect();
    let buckets: Vec<SpaceId> = shown.iter().map(|(_, bucket, _)| *bucket).collect();
    let points = store::points(c, project, &users, &buckets)?;
    for (user, bucket, field) in shown {
        let found = points.iter().find(|(id, space, _)| (*id, *space) == (user, bucket));
        *field = Some(found.map_or(0, |(_, _, points)| *points));
    }
    Ok(())
}

/// Changes a user's reputation for something they did, or that was done to what they made. Without
/// the bundle nothing is counted.
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
    store::add_points(tx, project.id, user, space.unwrap_or(GENERAL), points)
}
