//! The caller types. A handler names one in its signature, so no check can be forgotten: `http/access.rs`
//! loads and checks the user, acting user or key before the handler runs.

use db::Conn;

use crate::auth::store::suspensions::{self, AccountStatus};
use crate::error::{Result, faults};
use crate::tenancy::keys::KeyKind;
use crate::tenancy::{Bundle, Project};
use crate::values::ids::{SessionId, UserId};
use crate::values::time::Timestamp;

faults! {
    pub NO_USER_FOUND = 403 "auth/no-user-found": "No such user";
    pub ELEVATED_AUTH_REQUIRED = 403 "auth/elevated-auth-required":
        "A service or master key is required";
}

/// The credential that an operation requires.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Credential {
    /// Ignored.
    Ignored,
    /// A user or a key is recognised; without one the caller is anonymous.
    Optional,
    User,
    UserOrKey,
    Key,
}

/// Anybody: the operation ignores credentials.
#[derive(Debug)]
pub struct Anyone;

/// Anybody. A key is recognized; other credentials are ignored.
#[derive(Debug)]
pub struct AnyoneOrKey {
    pub is_key: bool,
}

/// A user, a key, or an anonymous caller.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OptionalViewer {
    Anonymous,
    User(UserId),
    Key(KeyKind),
}

impl OptionalViewer {
    pub fn is_key(self) -> bool {
        matches!(self, OptionalViewer::Key(_))
    }
}

impl OptionalViewer {
    /// The user, if it is one.
    pub fn user(self) -> Option<UserId> {
        match self {
            OptionalViewer::User(user) => Some(user),
            OptionalViewer::Anonymous | OptionalViewer::Key(_) => None,
        }
    }
}

/// A signed-in user.
#[derive(Debug)]
pub struct Viewer {
    pub user: UserId,
}

/// A user or a key.
#[derive(Debug)]
pub enum UserOrKey {
    User(UserId),
    Key(KeyKind),
}

impl UserOrKey {
    /// The user, if it is one.
    pub fn user(&self) -> Option<UserId> {
        match self {
            UserOrKey::User(user) => Some(*user),
            UserOrKey::Key(_) => None,
        }
    }
}

/// A user or a key; anybody where the address opens the operation. It does not matter who.
#[derive(Debug)]
pub struct Admitted;

/// The acting user: the signed-in one, or the one that a key names.
#[derive(Debug, Clone, Copy)]
pub struct Actor {
    pub user: UserId,
    pub via: Via,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Via {
    Session(SessionId),
    Key(KeyKind),
}

/// The acting user, or a key that names none: then it acts for the project.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ActorOrKey {
    User(UserId),
    Key { user: Option<UserId> },
}

impl From<Actor> for ActorOrKey {
    fn from(Actor { user, via }: Actor) -> Self {
        match via {
            Via::Session(_) => ActorOrKey::User(user),
            Via::Key(_) => ActorOrKey::Key { user: Some(user) },
        }
    }
}

impl ActorOrKey {
    /// The acting user.
    pub fn user(self) -> Option<UserId> {
        match self {
            ActorOrKey::User(user) => Some(user),
            ActorOrKey::Key { user } => user,
        }
    }
}

/// A service or master key.
#[derive(Debug)]
pub struct KeyHolder {
    pub kind: KeyKind,
}

/// What notifications show of the user who caused them, as of the start of the request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Initiator {
    pub id: UserId,
    pub foreign_id: Option<String>,
    pub name: Option<String>,
    pub username: Option<String>,
    pub avatar: Option<String>,
}

/// Whether a user named by a key in its input exists, for an operation closed to suspended users.
pub fn may_act_for(
    c: &Conn<'_>,
    project: &Project,
    user: UserId,
    key: KeyKind,
    now: Timestamp,
) -> Result<bool> {
    find_active(c, project, user, key == KeyKind::Master, now).map(|found| found.is_some())
}

/// The user if they exist. Fails for a suspended user who is not exempt.
pub fn find_active(
    c: &Conn<'_>,
    project: &Project,
    user: UserId,
    exempt: bool,
    now: Timestamp,
) -> Result<Option<Initiator>> {
    active(suspensions::status(c, project.id, user, now)?, project, exempt)
}

/// The same, when what is stored of the user is known.
pub fn active(
    found: Option<AccountStatus>,
    project: &Project,
    exempt: bool,
) -> Result<Option<Initiator>> {
    let Some(AccountStatus { user, suspension }) = found else { return Ok(None) };
    match suspension {
        Some(suspension) if project.has(Bundle::Moderation) && !exempt => Err(suspension.refusal()),
        _ => Ok(Some(user)),
    }
}
