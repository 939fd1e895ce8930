//! A user whose address somebody else has proven to own. The person who signed up with it never verified it, so they
//! lose every way in before the owner gets one.

use db::Tx;

use crate::error::Result;
use crate::features::auth::store;
use crate::features::identities::store as identities;
use crate::features::push::store as push;
use crate::features::users::store as users;
use crate::values::ids::{ProjectId, UserId};
use crate::values::time::Timestamp;

/// Removes password, sessions, devices, identities and codes. Afterwards the caller ends the user's sockets, as the
/// last write of its transaction.
pub fn take_over(tx: &Tx<'_>, project: ProjectId, user: UserId, now: Timestamp) -> Result<()> {
    users::clear_password(tx, project, user, now)?;
    users::set_verified(tx, project, user, now)?;
    identities::delete_all(tx, project, user)?;
    store::delete_families(tx, project, user, None)?;
    push::unbind_others(tx, project, user, None)?;
    store::delete_verifications(tx, project, user)
}
