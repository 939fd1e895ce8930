//! Operators: how they get in, their own account, and what owners decide about others.

pub mod invitations;
mod operators;
mod own_account;
mod passkeys;
mod sign_in;
mod totp;
mod webauthn;

use http::Method;

use crate::auth::operators::{Audience, Role};
use crate::error::Result;
use crate::features::admin::store;
use crate::features::admin::visit::{INVALID, open_page, page};
use crate::http::operation::Operation;
use crate::rate_limits::RateLimit;
use crate::state::{SealedSecret, SealedSecrets};
use crate::values::ids::OperatorId;

const SHORTEST_PASSWORD: usize = 10;
const LONGEST_PASSWORD: usize = 1000;
/// Attempts from one network.
const SIGN_INS: RateLimit = RateLimit::per_5_minutes(20);

pub(super) fn pages() -> Vec<Operation> {
    let (get, post) = (Method::GET, Method::POST);
    let (anyone, owner) = (Audience::Operator, Audience::Everywhere(Role::Owner));
    vec![
        open_page(get.clone(), "/admin/sign-in", "Sign-in Page", sign_in::form),
        open_page(post.clone(), "/admin/sign-in", "Sign In as Operator", sign_in::submit)
            .rate(SIGN_INS),
        open_page(
            post.clone(),
            "/admin/sign-in/passkey/begin",
            "Begin Sign-in with a Passkey",
            passkeys::begin_sign_in,
        )
        .rate(SIGN_INS),
        open_page(
            post.clone(),
            "/admin/sign-in/passkey",
            "Sign In with a Passkey",
            passkeys::sign_in,
        )
        .rate(SIGN_INS),
        page(
            post.clone(),
            "/admin/account/passkeys/begin",
            "Begin Adding a Passkey",
            anyone,
            passkeys::begin_adding,
        )
        .rate(SIGN_INS),
        page(
            post.clone(),
            "/admin/account/passkeys",
            "Change Own Passkeys",
            anyone,
            passkeys::change,
        )
        .rate(SIGN_INS),
        page(post.clone(), "/admin/sign-out", "Sign Out as Operator", anyone, sign_in::sign_out),
        open_page(get.clone(), "/admin/invitation", "Invitation Page", invitations::form)
            .rate(SIGN_INS),
        open_page(post.clone(), "/admin/invitation", "Accept Invitation", invitations::submit)
            .rate(SIGN_INS),
        page(get.clone(), "/admin/account", "Own Account", anyone, own_account::show),
        page(
            post.clone(),
            "/admin/account/password",
            "Change Own Password",
            anyone,
            own_account::password,
        )
        .rate(SIGN_INS),
        page(
            post.clone(),
            "/admin/account/totp",
            "Set Up One-Time Passwords",
            anyone,
            own_account::totp,
        )
        .rate(SIGN_INS),
        page(
            post.clone(),
            "/admin/account/sessions",
            "End Own Sessions",
            anyone,
            own_account::end_session,
        ),
        page(get, "/admin/operators", "Operators", owner, operators::list),
        page(post.clone(), "/admin/operators/invite", "Invite Operator", owner, operators::invite),
        page(post, "/admin/operators/change", "Change Operator", owner, operators::change),
    ]
}

/// Long passwords are what counts.
fn check_password(password: &str) -> Result<()> {
    let length = password.chars().count();
    if (SHORTEST_PASSWORD..=LONGEST_PASSWORD).contains(&length) {
        return Ok(());
    }
    Err(INVALID.because(format!("A password has at least {SHORTEST_PASSWORD} characters.")))
}

/// What the secret of an operator's one-time passwords is sealed for.
fn place(operator: OperatorId) -> String {
    format!("operator {operator} totp")
}

/// They belong to no project: they are listed once, for the nil one.
pub const SECRETS: SealedSecrets = SealedSecrets {
    list: |c, project| {
        if !project.0.is_nil() {
            return Ok(Vec::new());
        }
        let operators = store::list(c)?.into_iter().map(|(row, _)| row);
        let sealed = operators.filter_map(|row| {
            let sealed = row.totp_secret?;
            Some(SealedSecret { name: row.id.to_string(), place: place(row.id), sealed })
        });
        Ok(sealed.collect())
    },
    replace: |tx, _, name, secrets| match name.parse() {
        Ok(operator) => store::reseal_totp(tx, operator, secrets),
        Err(_) => Ok(()),
    },
};
