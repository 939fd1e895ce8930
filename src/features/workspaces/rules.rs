//! Validation of the fields of workspaces, members and invitations.

use crate::error::Result;
use crate::features::workspaces::authority::Authority;
use crate::features::workspaces::capabilities::{Capabilities, Permissions, Rank, RelativeRank};
use crate::features::workspaces::{INSUFFICIENT_RANK, INVALID_BODY};
use crate::values::texts::texts;

/// Roots have depth 0.
pub const DEEPEST: i64 = 10;

texts! {
    Name 1..=100;
    Title 0..=100;
}

/// A rank may be given as it is or relative to one's own, but not both.
pub const TWO_RANKS: &str = "rank and relativeRank exclude each other";

/// The rank that was given, as it is stored. Nobody gives a rank that is not junior to their own.
pub fn given_rank(
    authority: &Authority,
    rank: Option<Rank>,
    relative: Option<RelativeRank>,
) -> Result<Option<i64>> {
    let rank = match (rank, relative) {
        (Some(rank), _) => rank.number(),
        (None, Some(relative)) => below(authority, relative)?,
        (None, None) => return Ok(None),
    };
    if authority.is_senior_to(rank) { Ok(Some(rank)) } else { Err(INSUFFICIENT_RANK.into()) }
}

/// The rank right below the giver's.
pub fn next_rank(authority: &Authority) -> Result<i64> {
    below(authority, RelativeRank::NEXT)
}

fn below(authority: &Authority, relative: RelativeRank) -> Result<i64> {
    let rank = relative.below(authority.anchor());
    rank.ok_or_else(|| INVALID_BODY.because("relativeRank: goes beyond the last rank"))
}

/// What somebody is given besides a rank; what is absent stays as it is.
#[derive(Debug)]
pub struct Given {
    pub capabilities: Option<Capabilities>,
    pub permissions: Option<Permissions>,
}

impl Given {
    /// Whether everything that `before` lacks is within the authority.
    pub fn is_within(&self, authority: &Authority, before: (&Capabilities, &Permissions)) -> bool {
        let capabilities = self.capabilities.iter().flat_map(Capabilities::iter);
        let permissions = self.permissions.iter().flat_map(Permissions::iter);
        authority.may_grant(
            capabilities.filter(|one| !before.0.has(*one)),
            permissions.filter(|one| !before.1.has(one)),
        )
    }
}
