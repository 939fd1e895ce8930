//! Who acts in a workspace: a user by their own token, a user that a key names, or the project itself by a key that
//! names nobody.

use db::Conn;

use crate::auth::caller::{OptionalViewer, UserOrKey, find_active};
use crate::error::Result;
use crate::features::workspaces::{INVALID_TARGET, MISSING_USER_ID, NOT_FOUND, UNAUTHORIZED};
use crate::http::operation::Call;
use crate::tenancy::keys::KeyKind;
use crate::values::ids::UserId;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Acting {
    User(UserId),
    /// A key that names nobody.
    Project,
}

impl Acting {
    pub(super) fn user(self) -> Option<UserId> {
        match self {
            Acting::User(user) => Some(user),
            Acting::Project => None,
        }
    }
}

/// What kind of operation: suspended users read, but write nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Purpose {
    Read,
    Write,
}

pub(super) async fn acting(
    call: &Call<UserOrKey>,
    named: Option<UserId>,
    purpose: Purpose,
) -> Result<Acting> {
    match (&call.caller, named) {
        (UserOrKey::User(user), Some(other)) if *user != other => Err(UNAUTHORIZED.into()),
        (UserOrKey::User(user), _) => Ok(Acting::User(*user)),
        (UserOrKey::Key(kind), Some(user)) => {
            named_by_key(call, user, *kind, purpose).await.map(Acting::User)
        }
        (UserOrKey::Key(_), None) => Ok(Acting::Project),
    }
}

/// The same where a key has to name a user.
pub(super) async fn acting_user(
    call: &Call<UserOrKey>,
    named: Option<UserId>,
    purpose: Purpose,
) -> Result<UserId> {
    let acting = acting(call, named, purpose).await?;
    acting.user().ok_or_else(|| MISSING_USER_ID.into())
}

/// The same where the credential is optional: without one there is nothing to see.
pub(super) async fn reading(
    call: Call<OptionalViewer>,
    named: Option<UserId>,
) -> Result<(Call<UserOrKey>, Acting)> {
    let caller = match call.caller {
        OptionalViewer::Anonymous => return Err(NOT_FOUND.into()),
        OptionalViewer::User(user) => UserOrKey::User(user),
        OptionalViewer::Key(kind) => UserOrKey::Key(kind),
    };
    let call = call.with_caller(caller);
    let acting = acting(&call, named, Purpose::Read).await?;
    Ok((call, acting))
}

async fn named_by_key(
    call: &Call<UserOrKey>,
    user: UserId,
    key: KeyKind,
    purpose: Purpose,
) -> Result<UserId> {
    let exempt = key == KeyKind::Master || purpose == Purpose::Read;
    let (project, now) = (call.project.clone(), call.now);
    let found = call.app.db.read(move |c: &Conn<'_>| find_active(c, &project, user, exempt, now));
    // A suspension counts at once.
    let found = db::exactly(found).await?;
    found.map(|_| user).ok_or_else(|| INVALID_TARGET.into())
}
