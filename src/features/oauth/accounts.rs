//! From an account elsewhere to a user here, in one transaction.
//!
//! A verified address equal to a user's leads to that user. If that user never verified it, somebody else may
//! have signed up with it beforehand: they lose their password, their sessions and their identities first.

use std::sync::Arc;

use db::Tx;

use crate::domain_events;
use crate::error::{Error, Result};
use crate::features::auth::session::{self, TokenSeed};
use crate::features::auth::store::TokenRow;
use crate::features::auth::take_over::take_over;
use crate::features::auth::{VALIDATION_FAILED, events};
use crate::features::identities::store::{self as identities, Account};
use crate::features::oauth::callback::Failed;
use crate::features::users::model::AuthUser;
use crate::features::users::own::auth_user;
use crate::features::users::store::{self as users, UserRow};
use crate::features::users::{DUPLICATE_EMAIL, DUPLICATE_USER_FIELD};
use crate::realtime;
use crate::state::App;
use crate::tenancy::Project;
use crate::values::ids::{IdentityId, ProjectId, UserId, new_id};
use crate::values::time::Timestamp;

/// The first token of the new session.
#[derive(Debug)]
pub(super) struct SignedInAs(pub TokenRow);

#[derive(Debug, Clone)]
pub(super) struct SignIn {
    account: Account,
    /// The user to link the account to.
    link_to: Option<UserId>,
    /// Ids for a user and an identity that may have to be created.
    ids: (UserId, IdentityId),
    seed: TokenSeed,
}

/// What a transaction comes to, besides errors.
enum Outcome {
    SignedIn {
        token: TokenRow,
        /// The user, if it was created.
        created: Option<Box<UserRow>>,
    },
    /// The account is another user's.
    LinkedElsewhere,
    /// The user to link to was deleted meanwhile.
    UserGone,
}

impl SignIn {
    pub(super) fn draw(
        app: &App,
        account: Account,
        link_to: Option<UserId>,
        now: Timestamp,
    ) -> Self {
        let ids = (UserId(new_id(now, &app.random)), IdentityId(new_id(now, &app.random)));
        SignIn { account, link_to, ids, seed: TokenSeed::draw(&app.tokens, &app.random, now) }
    }

    pub(super) async fn run(self, app: &App, project: &Arc<Project>) -> Result<SignedInAs, Failed> {
        let mut outcome = self.clone().write(app, project).await;
        // Two concurrent sign-ins of the same person: the second finds what the first created.
        let is_duplicate = |fault| matches!(&outcome, Err(error) if error.is(fault));
        if [DUPLICATE_USER_FIELD, DUPLICATE_EMAIL].into_iter().any(is_duplicate) {
            outcome = self.write(app, project).await;
        }
        match outcome.map_err(refused)? {
            Outcome::SignedIn { token, .. } => Ok(SignedInAs(token)),
            Outcome::LinkedElsewhere => Err(Failed::new(
                "identity_already_linked",
                "This account is linked to another user",
            )),
            Outcome::UserGone => Err(Failed::new("server_error", "The user was deleted")),
        }
    }

    async fn write(self, app: &App, project: &Arc<Project>) -> Result<Outcome> {
        let (links, of) = (app.signer.links(project.id, self.seed.issued), project.clone());
        let work = move |tx: &Tx<'_>| {
            let outcome = self.resolve(tx, of.id)?;
            let created = match &outcome {
                Outcome::SignedIn { created: Some(row), .. } => {
                    Some(auth_user(tx, &of, &links, row, self.seed.issued)?)
                }
                _ => None,
            };
            Ok((outcome, created))
        };
        let event = |(_, created): &(Outcome, Option<AuthUser>)| {
            created.as_ref().map_or(Ok(None), |user| events::Outcome::Created.event(user))
        };
        let written = domain_events::write(app, project, &events::NAMES, work, event);
        written.await.map(|(outcome, _)| outcome)
    }

    fn resolve(&self, tx: &Tx<'_>, project: ProjectId) -> Result<Outcome> {
        let (account, now) = (&self.account, self.seed.issued);
        let owner = identities::find_user(tx, project, &account.provider, &account.id)?;
        let user = match (self.link_to, owner) {
            (Some(user), Some(owner)) if owner != user => return Ok(Outcome::LinkedElsewhere),
            (Some(user), _) | (None, Some(user)) => Some(user),
            (None, None) => None,
        };
        let Some(user) = user else { return self.by_address(tx, project) };
        if users::find_for_update(tx, project, user)?.is_none() {
            return Ok(Outcome::UserGone);
        }
        if owner.is_some() {
            identities::update(tx, project, account, now)?;
        } else {
            identities::insert(tx, project, self.ids.1, user, account, now)?;
        }
        self.start(tx, project, user)
    }

    /// The user with the same verified address, or a new one.
    fn by_address(&self, tx: &Tx<'_>, project: ProjectId) -> Result<Outcome> {
        let (account, now) = (&self.account, self.seed.issued);
        let found = match &account.email {
            Some(email) => users::find_by_email(tx, project, email)?,
            None => None,
        };
        let Some(found) = found else { return self.create(tx, project, account.email.clone()) };
        if !account.is_verified {
            return self.create(tx, project, None);
        }
        let user = users::find_for_update(tx, project, found.id)?;
        let user = user.ok_or_else(|| Error::from(DUPLICATE_EMAIL))?;
        if user.is_verified {
            identities::insert(tx, project, self.ids.1, user.id, account, now)?;
            return self.start(tx, project, user.id);
        }
        take_over(tx, project, user.id, now)?;
        identities::insert(tx, project, self.ids.1, user.id, account, now)?;
        let started = self.start(tx, project, user.id)?;
        if let Outcome::SignedIn { token, .. } = &started {
            realtime::end_other_sessions(tx, project, user.id, Some(token.family_id))?;
        }
        Ok(started)
    }

    fn create(&self, tx: &Tx<'_>, project: ProjectId, email: Option<String>) -> Result<Outcome> {
        let (account, now) = (&self.account, self.seed.issued);
        let mut user = UserRow::new(self.ids.0, now);
        user.is_verified = account.is_verified && email.is_some();
        user.email = email;
        user.name = account.name.clone();
        user.avatar = account.avatar.clone();
        users::insert(tx, project, &user)?;
        identities::insert(tx, project, self.ids.1, user.id, account, now)?;
        let started = self.start(tx, project, user.id)?;
        Ok(match started {
            Outcome::SignedIn { token, .. } => {
                Outcome::SignedIn { token, created: Some(Box::new(user)) }
            }
            other => other,
        })
    }

    fn start(&self, tx: &Tx<'_>, project: ProjectId, user: UserId) -> Result<Outcome> {
        let token = session::open(tx, project, user, self.seed)?;
        users::touch(tx, project, user, self.seed.issued)?;
        Ok(Outcome::SignedIn { token, created: None })
    }
}

fn refused(error: Error) -> Failed {
    if error.is(VALIDATION_FAILED) {
        let text = error.to_string();
        let why = text.split_once(": ").map_or(&*text, |(_, why)| why);
        return Failed::new("validation_failed", why);
    }
    error.into()
}
