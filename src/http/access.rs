//! Admission: from a checked request to the caller type that its handler names. Loads the user and refuses
//! suspended ones.

use std::future::Future;

use serde_json::Value;

use crate::auth::caller::{
    Actor, ActorOrKey, Admitted, Anyone, AnyoneOrKey, Credential, ELEVATED_AUTH_REQUIRED,
    Initiator, KeyHolder, OptionalViewer, UserOrKey, Via, Viewer, find_active,
};
use crate::auth::credential::Presented;
use crate::error::{Error, Fault, Result};
use crate::http::input::body_value;
use crate::http::operation::{CheckedRequest, Operation};
use crate::tenancy::keys::KeyKind;
use crate::values::ids::UserId;

/// The check that needs only the credential itself; `credential` is what the operation requires.
pub fn check_credential(
    presented: Presented,
    operation: &Operation,
    credential: Credential,
    query: &Value,
) -> Result<()> {
    use Credential::{Ignored, Key, Optional, User};
    let refused = |fault: Option<Fault>| Err(fault.map_or(Error::NoCredential, Error::from));
    match (credential, presented) {
        (Optional, Presented::Unusable) if operation.bad_token.is_refused(query) => {
            Err(Error::BadCredential)
        }
        (Ignored | Optional, _) => Ok(()),
        (_, Presented::Nothing) => refused(operation.unauthenticated),
        (_, Presented::Placeholder | Presented::Unusable) => Err(Error::BadCredential),
        (User, Presented::Key { .. }) => refused(operation.key_refusal),
        (Key, Presented::User { .. }) => Err(ELEVATED_AUTH_REQUIRED.into()),
        _ => Ok(()),
    }
}

pub trait Access: Sized + Send + 'static {
    const CREDENTIAL: Credential;
    fn admit(request: &CheckedRequest) -> impl Future<Output = Result<Self>> + Send;
}

impl Access for Anyone {
    const CREDENTIAL: Credential = Credential::Ignored;

    async fn admit(_: &CheckedRequest) -> Result<Self> {
        Ok(Anyone)
    }
}

impl Access for AnyoneOrKey {
    const CREDENTIAL: Credential = Credential::Ignored;

    async fn admit(request: &CheckedRequest) -> Result<Self> {
        Ok(AnyoneOrKey { is_key: matches!(request.presented, Presented::Key { .. }) })
    }
}

impl Access for OptionalViewer {
    const CREDENTIAL: Credential = Credential::Optional;

    async fn admit(request: &CheckedRequest) -> Result<Self> {
        Ok(match request.presented {
            Presented::Nothing | Presented::Placeholder | Presented::Unusable => {
                OptionalViewer::Anonymous
            }
            Presented::Key { kind, .. } => OptionalViewer::Key(kind),
            Presented::User { user, .. } => {
                if may_act(request, user, false).await? {
                    OptionalViewer::User(user)
                } else if request.operation.credential_in(request.version) != Credential::Optional
                    || request.operation.bad_token.is_refused(&request.query)
                {
                    return Err(request.operation.user_gone.into());
                } else {
                    OptionalViewer::Anonymous
                }
            }
        })
    }
}

impl Access for Viewer {
    const CREDENTIAL: Credential = Credential::User;

    async fn admit(request: &CheckedRequest) -> Result<Self> {
        let Presented::User { user, .. } = request.presented else {
            return Err(Error::NoCredential);
        };
        if !may_act(request, user, false).await? {
            return Err(request.operation.user_gone.into());
        }
        Ok(Viewer { user })
    }
}

impl Access for UserOrKey {
    const CREDENTIAL: Credential = Credential::UserOrKey;

    async fn admit(request: &CheckedRequest) -> Result<Self> {
        match request.presented {
            Presented::Key { kind, .. } => Ok(UserOrKey::Key(kind)),
            _ => Viewer::admit(request).await.map(|viewer| UserOrKey::User(viewer.user)),
        }
    }
}

impl Access for Admitted {
    const CREDENTIAL: Credential = Credential::UserOrKey;

    async fn admit(request: &CheckedRequest) -> Result<Self> {
        let is_user = matches!(request.presented, Presented::User { .. });
        // A suspended user is refused here, too.
        if is_user || !request.is_open {
            UserOrKey::admit(request).await?;
        }
        Ok(Admitted)
    }
}

impl Access for Actor {
    const CREDENTIAL: Credential = Credential::UserOrKey;

    async fn admit(request: &CheckedRequest) -> Result<Self> {
        let Some(acts_as) = request.operation.acts_as else {
            return Err(Error::internal(format!("{:?} names no actor", request.operation)));
        };
        let named = named_user(request, acts_as.parameter);
        match request.presented {
            Presented::User { user, session } => {
                let found = found(request, user, false).await?;
                let found = found.ok_or(request.operation.user_gone)?;
                match acts_as.other {
                    Some(fault) if named.is_some_and(|name| name.parse() != Ok(user)) => {
                        Err(fault.into())
                    }
                    _ => Ok(Actor { user, via: Via::Session(session), named: found }),
                }
            }
            Presented::Key { kind, .. } => {
                let name = named.ok_or(acts_as.missing)?;
                let user = name.parse().map_err(|_| Error::from(acts_as.unknown))?;
                let found = found(request, user, kind == KeyKind::Master).await?;
                let found = found.ok_or(acts_as.unknown)?;
                Ok(Actor { user, via: Via::Key(kind), named: found })
            }
            Presented::Nothing | Presented::Placeholder | Presented::Unusable => {
                Err(Error::NoCredential)
            }
        }
    }
}

impl Access for ActorOrKey {
    const CREDENTIAL: Credential = Credential::UserOrKey;

    async fn admit(request: &CheckedRequest) -> Result<Self> {
        let parameter = request.operation.acts_as.map_or("userId", |acts_as| acts_as.parameter);
        let is_key = matches!(request.presented, Presented::Key { .. });
        if is_key && named_user(request, parameter).is_none() {
            return Ok(ActorOrKey::Key { user: None });
        }
        let Actor { user, via, .. } = Actor::admit(request).await?;
        Ok(match via {
            Via::Session(_) => ActorOrKey::User(user),
            Via::Key(_) => ActorOrKey::Key { user: Some(user) },
        })
    }
}

impl Access for KeyHolder {
    const CREDENTIAL: Credential = Credential::Key;

    async fn admit(request: &CheckedRequest) -> Result<Self> {
        match request.presented {
            Presented::Key { kind, .. } => Ok(KeyHolder { kind }),
            _ => Err(ELEVATED_AUTH_REQUIRED.into()),
        }
    }
}

/// The user that the request names in its body, else in its query.
fn named_user(request: &CheckedRequest, parameter: &str) -> Option<String> {
    let text = |value: &Value| value.as_str().map(ToOwned::to_owned);
    let in_body = body_value(request).ok().and_then(|body| body.get(parameter)).and_then(text);
    in_body.or_else(|| request.query.get(parameter).and_then(text))
}

/// Whether the user exists. Refuses suspended users unless the operation is open to them; a master key may
/// still act for a suspended user.
async fn may_act(request: &CheckedRequest, user: UserId, exempt: bool) -> Result<bool> {
    found(request, user, exempt).await.map(|found| found.is_some())
}

/// The user's row, with the same checks.
async fn found(request: &CheckedRequest, user: UserId, exempt: bool) -> Result<Option<Initiator>> {
    let (project, now) = (request.project.clone(), request.now);
    let exempt = exempt || request.operation.open_to_suspended;
    let reading = request.app.db.read(move |c| find_active(c, &project, user, exempt, now));
    // A suspension counts at once.
    db::exactly(reading).await
}
