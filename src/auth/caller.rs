//! The caller types. A handler names one in its signature and so cannot forget to ask: what it
//! needs (a user, somebody to act as, a key) is loaded and checked before it runs.

use std::future::Future;

use db::Conn;
use serde_json::Value;

use crate::auth::credential::Presented;
use crate::auth::keys::KeyKind;
use crate::error::{Error, Fault, Result};
use crate::features::projects::{Bundle, Project};
use crate::features::users::notices::Initiator;
use crate::features::users::suspensions;
use crate::http::input::body_value;
use crate::http::operation::{Arrival, Operation};
use crate::ids::{SessionId, UserId};
use crate::time::Timestamp;

pub const NO_USER_FOUND: Fault = Fault::new(403, "auth/no-user-found", "No such user");
pub const ELEVATED_AUTH_REQUIRED: Fault =
    Fault::new(403, "auth/elevated-auth-required", "A service or master key is required");

/// Which credential an operation asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Credential {
    /// Whatever comes is ignored.
    Ignored,
    /// A user or a key is recognised; without one the caller is anonymous.
    Optional,
    User,
    UserOrKey,
    Key,
}

impl Credential {
    /// The check that needs nothing but the credential itself.
    pub fn check(self, presented: Presented, operation: &Operation, query: &Value) -> Result<()> {
        use Credential::{Ignored, Key, Optional, User};
        let refused = |fault: Option<Fault>| Err(fault.map_or(Error::NoCredential, Error::from));
        match (self, presented) {
            (Optional, Presented::Unusable) if operation.bad_token.is_refused(query) => {
                Err(Error::BadCredential)
            }
            (Ignored | Optional, _) => Ok(()),
            (_, Presented::Nothing) => refused(operation.nobody),
            (_, Presented::Placeholder | Presented::Unusable) => Err(Error::BadCredential),
            (User, Presented::Key(_)) => refused(operation.key_refusal),
            (Key, Presented::User { .. }) => Err(ELEVATED_AUTH_REQUIRED.into()),
            _ => Ok(()),
        }
    }
}

pub trait Access: Sized + Send + 'static {
    const CREDENTIAL: Credential;
    fn admit(arrival: &Arrival) -> impl Future<Output = Result<Self>> + Send;
}

/// Anybody: the operation does not look at credentials.
#[derive(Debug)]
pub struct Anyone;

impl Access for Anyone {
    const CREDENTIAL: Credential = Credential::Ignored;

    async fn admit(_: &Arrival) -> Result<Self> {
        Ok(Anyone)
    }
}

/// Anybody. A key is recognised; no other credential is looked at.
#[derive(Debug)]
pub struct AnyoneOrKey {
    pub is_key: bool,
}

impl Access for AnyoneOrKey {
    const CREDENTIAL: Credential = Credential::Ignored;

    async fn admit(arrival: &Arrival) -> Result<Self> {
        Ok(AnyoneOrKey { is_key: matches!(arrival.presented, Presented::Key(_)) })
    }
}

/// Whoever it is, known if they can be known.
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

impl Access for OptionalViewer {
    const CREDENTIAL: Credential = Credential::Optional;

    async fn admit(arrival: &Arrival) -> Result<Self> {
        Ok(match arrival.presented {
            Presented::Nothing | Presented::Placeholder | Presented::Unusable => {
                OptionalViewer::Anonymous
            }
            Presented::Key(kind) => OptionalViewer::Key(kind),
            Presented::User { user, .. } => {
                if may_act(arrival, user, false).await? {
                    OptionalViewer::User(user)
                } else if arrival.operation.bad_token.is_refused(&arrival.query) {
                    return Err(arrival.operation.user_gone.into());
                } else {
                    OptionalViewer::Anonymous
                }
            }
        })
    }
}

/// A signed-in user.
#[derive(Debug)]
pub struct Viewer {
    pub user: UserId,
}

impl Access for Viewer {
    const CREDENTIAL: Credential = Credential::User;

    async fn admit(arrival: &Arrival) -> Result<Self> {
        let Presented::User { user, .. } = arrival.presented else {
            return Err(Error::NoCredential);
        };
        if !may_act(arrival, user, false).await? {
            return Err(arrival.operation.user_gone.into());
        }
        Ok(Viewer { user })
    }
}

/// A user or a key, as they are.
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

impl Access for UserOrKey {
    const CREDENTIAL: Credential = Credential::UserOrKey;

    async fn admit(arrival: &Arrival) -> Result<Self> {
        match arrival.presented {
            Presented::Key(kind) => Ok(UserOrKey::Key(kind)),
            _ => Viewer::admit(arrival).await.map(|viewer| UserOrKey::User(viewer.user)),
        }
    }
}

/// The user that acts: the signed-in one, or the one that a key names.
#[derive(Debug)]
pub struct Actor {
    pub user: UserId,
    pub via: Via,
    /// What others are told of the user, as it was when they came in.
    pub named: Initiator,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Via {
    Session(SessionId),
    Key(KeyKind),
}

impl Access for Actor {
    const CREDENTIAL: Credential = Credential::UserOrKey;

    async fn admit(arrival: &Arrival) -> Result<Self> {
        let Some(acts_as) = arrival.operation.acts_as else {
            return Err(Error::internal(format!("{:?} names no actor", arrival.operation)));
        };
        let named = named_user(arrival, acts_as.parameter);
        match arrival.presented {
            Presented::User { user, session } => {
                let found = found(arrival, user, false).await?;
                let found = found.ok_or(arrival.operation.user_gone)?;
                match acts_as.other {
                    Some(fault) if named.is_some_and(|name| name.parse() != Ok(user)) => {
                        Err(fault.into())
                    }
                    _ => Ok(Actor { user, via: Via::Session(session), named: found }),
                }
            }
            Presented::Key(kind) => {
                let name = named.ok_or(acts_as.missing)?;
                let user = name.parse().map_err(|_| Error::from(acts_as.unknown))?;
                let found = found(arrival, user, kind == KeyKind::Master).await?;
                let found = found.ok_or(acts_as.unknown)?;
                Ok(Actor { user, via: Via::Key(kind), named: found })
            }
            Presented::Nothing | Presented::Placeholder | Presented::Unusable => {
                Err(Error::NoCredential)
            }
        }
    }
}

/// The user that acts, or a key that names nobody: then it acts for the project.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ActorOrKey {
    User(UserId),
    Key { user: Option<UserId> },
}

impl ActorOrKey {
    /// Whose act it is.
    pub fn user(self) -> Option<UserId> {
        match self {
            ActorOrKey::User(user) => Some(user),
            ActorOrKey::Key { user } => user,
        }
    }
}

impl Access for ActorOrKey {
    const CREDENTIAL: Credential = Credential::UserOrKey;

    async fn admit(arrival: &Arrival) -> Result<Self> {
        let parameter = arrival.operation.acts_as.map_or("userId", |acts_as| acts_as.parameter);
        let is_key = matches!(arrival.presented, Presented::Key(_));
        if is_key && named_user(arrival, parameter).is_none() {
            return Ok(ActorOrKey::Key { user: None });
        }
        let Actor { user, via, .. } = Actor::admit(arrival).await?;
        Ok(match via {
            Via::Session(_) => ActorOrKey::User(user),
            Via::Key(_) => ActorOrKey::Key { user: Some(user) },
        })
    }
}

/// The user that the request names in its body, else in its query.
fn named_user(arrival: &Arrival, parameter: &str) -> Option<String> {
    let text = |value: &Value| value.as_str().map(ToOwned::to_owned);
    let in_body = body_value(arrival).ok().and_then(|body| body.get(parameter)).and_then(text);
    in_body.or_else(|| arrival.query.get(parameter).and_then(text))
}

/// The holder of a service or master key.
#[derive(Debug)]
pub struct KeyHolder {
    pub kind: KeyKind,
}

impl Access for KeyHolder {
    const CREDENTIAL: Credential = Credential::Key;

    async fn admit(arrival: &Arrival) -> Result<Self> {
        match arrival.presented {
            Presented::Key(kind) => Ok(KeyHolder { kind }),
            _ => Err(ELEVATED_AUTH_REQUIRED.into()),
        }
    }
}

/// Whether the user exists. Refuses a suspended one where the operation is closed to them; a
/// master key may act for a suspended user all the same.
async fn may_act(arrival: &Arrival, user: UserId, exempt: bool) -> Result<bool> {
    found(arrival, user, exempt).await.map(|found| found.is_some())
}

/// The user, on the same terms.
async fn found(arrival: &Arrival, user: UserId, exempt: bool) -> Result<Option<Initiator>> {
    let (project, now) = (arrival.project.clone(), arrival.now);
    let exempt = exempt || arrival.operation.open_to_suspended;
    arrival.app.db.read(move |c| fit(c, &project, user, exempt, now)).await
}

/// The same for a user whom a key names inside its input, on an operation closed to the suspended.
pub fn may_act_for(
    c: &Conn<'_>,
    project: &Project,
    user: UserId,
    key: KeyKind,
    now: Timestamp,
) -> Result<bool> {
    fit(c, project, user, key == KeyKind::Master, now).map(|found| found.is_some())
}

fn fit(
    c: &Conn<'_>,
    project: &Project,
    user: UserId,
    exempt: bool,
    now: Timestamp,
) -> Result<Option<Initiator>> {
    let Some(standing) = suspensions::standing(c, project.id, user, now)? else {
        return Ok(None);
    };
    match standing.suspension {
        Some(suspension) if project.has(Bundle::Moderation) && !exempt => Err(suspension.refusal()),
        _ => Ok(Some(standing.user)),
    }
}
