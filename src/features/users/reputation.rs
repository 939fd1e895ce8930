//! The space-reputation parameters that every operation returning users takes.

use db::Conn;
use schemars::JsonSchema;
use serde::Deserialize;
use uuid::Uuid;

use crate::error::{Fault, Result};
use crate::features::projects::{Bundle, Project};
use crate::features::users::model::User;
use crate::features::users::store;
use crate::http::input::Flag;
use crate::ids::SpaceId;

/// The bucket of what belongs to no space.
const GENERAL: SpaceId = SpaceId(Uuid::nil());

/// The flat form that clients send, and the bracket form, which wins.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ReputationQuery {
    /// A space id, or `none` for the general bucket.
    space_reputation_id: Option<String>,
    #[serde(default)]
    space_reputation_descendants: Flag,
    #[serde(rename = "spaceReputation[spaceId]")]
    bracket_space_id: Option<String>,
    #[serde(default, rename = "spaceReputation[includeDescendants]")]
    bracket_descendants: Flag,
}

impl ReputationQuery {
    /// The bucket that is asked for, on operations where no space is at hand as context.
    pub fn bucket(&self, project: &Project, invalid: Fault) -> Result<Option<SpaceId>> {
        let (id, descendants) = match (&self.bracket_space_id, &self.space_reputation_id) {
            (Some(id), _) => (id, self.bracket_descendants),
            (None, Some(id)) => (id, self.space_reputation_descendants),
            (None, None) => return Ok(None),
        };
        let bucket = match id.as_str() {
            "none" if descendants.0 => {
                return Err(invalid.because("descendants need a space id"));
            }
            "none" => GENERAL,
            // Spaces have no children yet, so the sum over descendants is the space's own.
            other => other
                .parse()
                .map_err(|_| invalid.because("spaceReputationId must be a space id or `none`"))?,
        };
        project.require(Bundle::Reputation)?;
        Ok(Some(bucket))
    }
}

/// Fills in the points of the asked-for bucket, if one is asked for.
pub fn add_points(c: &Conn<'_>, bucket: Option<SpaceId>, users: &mut [User]) -> Result<()> {
    let Some(bucket) = bucket else { return Ok(()) };
    for group in users.chunks_mut(store::POINTS_AT_ONCE) {
        let Some(project) = group.first().map(|user| user.project_id) else {
            continue;
        };
        let ids: Vec<_> = group.iter().map(|user| user.id).collect();
        let points = store::points(c, project, bucket, &ids)?;
        for user in group {
            let of_user = points.iter().find(|(id, _)| *id == user.id);
            user.space_reputation = Some(of_user.map_or(0, |(_, points)| *points));
        }
    }
    Ok(())
}
