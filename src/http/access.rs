//! Admission: from a checked request to the caller type that its handler names. Loads the user and refuses
//! suspended ones.

use std::future::Future;
use std::sync::Arc;

use db::Db;
use serde_json::Value;

use crate::auth::caller::{
    Actor, ActorOrKey, Admitted, Anyone, AnyoneOrKey, Credential, ELEVATED_AUTH_REQUIRED,
    Initiator, KeyHolder, OptionalViewer, UserOrKey, Via, Viewer, find_active,
};
use crate::auth::credential::Presented;
use crate::auth::deferred::{Deferred, UserCheck};
use crate::error::{Error, Fault, Result};
use crate::http::input::{Input, body_value};
use crate::http::operation::{Call, CheckedRequest, Operation};
use crate::http::reply::{Reply, Response};
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
    /// The check that the handler has to make.
    fn user_check(&self) -> Option<Arc<UserCheck>> {
        None
    }
}

/// Admits the caller and runs the handler.
pub async fn run<A, I, O, H, F>(request: CheckedRequest, handler: H) -> Result<Response>
where
    A: Access,
    I: Input,
    O: Reply,
    H: Fn(Call<A>, I) -> F,
    F: Future<Output = Result<O>>,
{
    let caller = A::admit(&request).await?;
    let check = caller.user_check().map(|check| (check, request.app.db.clone()));
    let reply = handled(request, caller, handler).await;
    settled(check, reply).await
}

/// Apart from `run`, which is compiled for every operation.
async fn settled(check: Option<(Arc<UserCheck>, Db)>, reply: Result<Response>) -> Result<Response> {
    match check {
        // A handler that failed before it settled the check is refused for the user first, as where it is not deferred.
        Some((check, db)) if !check.has_passed() => {
            make(check, &db).await?;
            reply.and_then(|_| Err(Error::internal("a deferred check was not settled")))
        }
        _ => reply,
    }
}

async fn handled<A, I, O, H, F>(request: CheckedRequest, caller: A, handler: H) -> Result<Response>
where
    I: Input,
    O: Reply,
    H: Fn(Call<A>, I) -> F,
    F: Future<Output = Result<O>>,
{
    let input = I::extract(&request)?;
    handler(request.into_call(caller), input).await?.into_response()
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
                } else if needs_user(request) {
                    return Err(request.operation.user_gone.into());
                } else {
                    OptionalViewer::Anonymous
                }
            }
        })
    }
}

impl Access for Deferred<OptionalViewer> {
    const CREDENTIAL: Credential = OptionalViewer::CREDENTIAL;

    async fn admit(request: &CheckedRequest) -> Result<Self> {
        match request.presented {
            Presented::User { user, .. } if needs_user(request) => {
                let check = user_check(request, user, false, request.operation.user_gone);
                deferred(request, check, Ok(OptionalViewer::User(user))).await
            }
            _ => Ok(Deferred::done(OptionalViewer::admit(request).await?, None)),
        }
    }

    fn user_check(&self) -> Option<Arc<UserCheck>> {
        Deferred::user_check(self)
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
        let (check, actor) = acting(request)?;
        checked(request, check).await?;
        actor
    }
}

impl Access for Deferred<Actor> {
    const CREDENTIAL: Credential = Actor::CREDENTIAL;

    async fn admit(request: &CheckedRequest) -> Result<Self> {
        let (check, actor) = acting(request)?;
        deferred(request, check, actor).await
    }

    fn user_check(&self) -> Option<Arc<UserCheck>> {
        Deferred::user_check(self)
    }
}

impl Access for ActorOrKey {
    const CREDENTIAL: Credential = Credential::UserOrKey;

    async fn admit(request: &CheckedRequest) -> Result<Self> {
        if names_nobody(request) {
            return Ok(ActorOrKey::Key { user: None });
        }
        Actor::admit(request).await.map(ActorOrKey::from)
    }
}

impl Access for Deferred<ActorOrKey> {
    const CREDENTIAL: Credential = ActorOrKey::CREDENTIAL;

    async fn admit(request: &CheckedRequest) -> Result<Self> {
        if names_nobody(request) {
            return Ok(Deferred::done(ActorOrKey::Key { user: None }, None));
        }
        let (check, actor) = acting(request)?;
        deferred(request, check, actor.map(ActorOrKey::from)).await
    }

    fn user_check(&self) -> Option<Arc<UserCheck>> {
        Deferred::user_check(self)
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

/// Whether a token whose user was deleted is refused where the user is optional.
fn needs_user(request: &CheckedRequest) -> bool {
    request.operation.credential_in(request.version) != Credential::Optional
        || request.operation.bad_token.is_refused(&request.query)
}

/// Whether a key acts for the project.
fn names_nobody(request: &CheckedRequest) -> bool {
    let parameter = request.operation.acts_as.map_or("userId", |acts_as| acts_as.parameter);
    matches!(request.presented, Presented::Key { .. }) && named_user(request, parameter).is_none()
}

/// The check of the user that the request acts for, and who that is once it has passed.
fn acting(request: &CheckedRequest) -> Result<(UserCheck, Result<Actor>)> {
    let Some(acts_as) = request.operation.acts_as else {
        return Err(Error::internal(format!("{:?} names no actor", request.operation)));
    };
    let named = named_user(request, acts_as.parameter);
    match request.presented {
        Presented::User { user, session } => {
            let is_other = named.is_some_and(|name| name.parse() != Ok(user));
            let actor = match acts_as.other {
                Some(fault) if is_other => Err(fault.into()),
                _ => Ok(Actor { user, via: Via::Session(session) }),
            };
            Ok((user_check(request, user, false, request.operation.user_gone), actor))
        }
        Presented::Key { kind, .. } => {
            let name = named.ok_or(acts_as.missing)?;
            let user = name.parse().map_err(|_| Error::from(acts_as.unknown))?;
            let check = user_check(request, user, kind == KeyKind::Master, acts_as.unknown);
            Ok((check, Ok(Actor { user, via: Via::Key(kind) })))
        }
        Presented::Nothing | Presented::Placeholder | Presented::Unusable => {
            Err(Error::NoCredential)
        }
    }
}

/// Whether the user exists. Refuses suspended users unless the operation is open to them; a master key may
/// still act for a suspended user.
async fn may_act(request: &CheckedRequest, user: UserId, exempt: bool) -> Result<bool> {
    let (project, now) = (request.project.clone(), request.now);
    let exempt = exempt || request.operation.open_to_suspended;
    let reading = request.app.db.read(move |c| find_active(c, &project, user, exempt, now));
    // A suspension counts at once.
    db::exactly(reading).await.map(|found| found.is_some())
}

fn user_check(request: &CheckedRequest, user: UserId, exempt: bool, unknown: Fault) -> UserCheck {
    let exempt = exempt || request.operation.open_to_suspended;
    UserCheck::new(request.project.clone(), user, exempt, request.now, unknown)
}

async fn checked(request: &CheckedRequest, check: UserCheck) -> Result<Initiator> {
    make(Arc::new(check), &request.app.db).await
}

async fn make(check: Arc<UserCheck>, db: &Db) -> Result<Initiator> {
    // A suspension counts at once.
    db::exactly(db.read(move |c| check.run(c))).await
}

/// The caller, whose check waits for the handler if that saves a round trip.
async fn deferred<A>(
    request: &CheckedRequest,
    check: UserCheck,
    caller: Result<A>,
) -> Result<Deferred<A>> {
    match caller {
        Ok(caller) if request.app.db.can_pipeline() => Ok(Deferred::due(caller, check)),
        caller => {
            let user = checked(request, check).await?;
            Ok(Deferred::done(caller?, Some(user)))
        }
    }
}
