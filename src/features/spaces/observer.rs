//! Lets later features react to a change of a space in the same transaction.

use db::Tx;

use crate::error::Result;
use crate::state::App;
use crate::values::ids::{ProjectId, SpaceId, UserId};
use crate::values::time::Timestamp;

/// The space is locked in all of these.
pub trait SpaceObserver: Sync {
    /// A user left, was declined or banned.
    fn member_left(
        &self,
        tx: &Tx<'_>,
        project: ProjectId,
        space: SpaceId,
        user: UserId,
        now: Timestamp,
    ) -> Result<()>;

    /// From now on only members read the space.
    fn closed_to_strangers(
        &self,
        tx: &Tx<'_>,
        project: ProjectId,
        space: SpaceId,
        now: Timestamp,
    ) -> Result<()>;
}

/// All of them, as `features::lists` registers them.
pub fn observers(app: &App) -> &[&'static dyn SpaceObserver] {
    app.lists.of()
}
