//! The mails that auth sends, as jobs. A secret is generated when its mail is sent and only its hash is
//! stored, so the queue never holds one; a retried job generates a new one.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::auth::keys::hash;
use crate::error::{Error, Result};
use crate::features::auth::store::{self, NewVerification};
use crate::features::auth::verify_email::{Mode, TokenFormat};
use crate::features::users::store as users;
use crate::http::query::percent_encode;
use crate::jobs::Job;
use crate::mail::Mail;
use crate::state::App;
use crate::values::ids::{ProjectId, UserId, VerificationId, new_id};
use crate::values::random::hex;

const RESET_TTL: Duration = Duration::from_secs(60 * 60);
const VERIFICATION_TTL: Duration = Duration::from_secs(5 * 60);
const DELETION_TTL: Duration = Duration::from_secs(10 * 60);
/// Attempts to generate a short code that no other user has.
const MAX_DRAWS: usize = 20;

/// Sends a reset link if there is an account with a password for this address.
async fn password_reset(app: &App, project: ProjectId, email: String, version: &str) -> Result<()> {
    let now = app.clock.now();
    let token = hex(&app.random.bytes::<32>());
    let token_hash = hash(&token);
    let address = email.clone();
    let stored = app.db.write(move |tx| {
        let user = users::find_by_email(tx, project, &address)?;
        let Some(user) = user.filter(|user| user.password_hash.is_some()) else {
            return Ok::<_, Error>(false);
        };
        store::replace_reset(tx, project, user.id, &token_hash, now.plus(RESET_TTL))?;
        Ok(true)
    });
    if !stored.await? {
        return Ok(());
    }
    let base = &app.config.public_url;
    let link = format!("{base}/{version}/{project}/auth/reset-password?token={token}");
    let text = format!(
        "Somebody asked to reset the password of your account.\n\n\
         To choose a new one, open this link within an hour:\n\n{link}\n\n\
         If it was not you, there is nothing to do: your password stays as it is.\n"
    );
    app.mailer.send(Mail::new(email, "Reset your password", text), now, &app.random).await
}

/// A link that resets the password of the account with this address, if there is one.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct PasswordReset {
    pub(crate) email: String,
    pub(crate) version: String,
}

impl Job for PasswordReset {
    const KIND: &'static str = "password-reset";

    async fn run(self, app: &App, project: ProjectId) -> Result<()> {
        password_reset(app, project, self.email, &self.version).await
    }
}

/// A code or link that verifies the user's address.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct EmailVerification {
    pub(crate) user: UserId,
    pub(crate) version: String,
    pub(crate) mode: Mode,
    pub(crate) format: TokenFormat,
    pub(crate) length: usize,
    pub(crate) redirect: Option<String>,
}

impl Job for EmailVerification {
    const KIND: &'static str = "email-verification";

    async fn run(self, app: &App, project: ProjectId) -> Result<()> {
        verification(app, project, &self).await
    }
}

/// The code that confirms the deletion of an account.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct DeletionCode {
    pub(crate) user: UserId,
}

impl Job for DeletionCode {
    const KIND: &'static str = "deletion-code";

    async fn run(self, app: &App, project: ProjectId) -> Result<()> {
        deletion_code(app, project, self.user).await
    }
}

/// Sends a code or link that verifies the user's address, unless it is verified by now.
async fn verification(app: &App, project: ProjectId, wanted: &EmailVerification) -> Result<()> {
    let now = app.clock.now();
    let user = wanted.user;
    let row = app.db.read(move |c| users::find(c, project, user)).await?;
    let Some(email) = row.filter(|row| !row.is_verified).and_then(|row| row.email) else {
        return Ok(());
    };
    let mut token = None;
    for _ in 0..MAX_DRAWS {
        let drawn = wanted.format.draw(wanted.length, &app.random);
        let new = NewVerification {
            id: VerificationId(new_id(now, &app.random)),
            user,
            token_hash: hash(&drawn),
            guessable: wanted.format.is_guessable(),
            expires: now.plus(VERIFICATION_TTL),
        };
        if app.db.write(move |tx| store::insert_verification(tx, project, &new)).await? {
            token = Some(drawn);
            break;
        }
    }
    let token = token.ok_or_else(|| Error::internal("no free verification code was found"))?;
    let text = match wanted.mode {
        Mode::Code => {
            format!("Your verification code is:\n\n{token}\n\nIt is good for five minutes.\n")
        }
        Mode::Link => {
            let (base, version) = (&app.config.public_url, &wanted.version);
            let mut link =
                format!("{base}/{version}/{project}/auth/verify-email-link?token={token}");
            if let Some(redirect) = &wanted.redirect {
                link.push_str("&redirect=");
                link.push_str(&percent_encode(redirect));
            }
            format!("To verify your email address, open this link within five minutes:\n\n{link}\n")
        }
    };
    let mail = Mail::new(email, "Verify your email address", text);
    app.mailer.send(mail, now, &app.random).await
}

/// Sends the code that confirms the deletion of an account.
async fn deletion_code(app: &App, project: ProjectId, user: UserId) -> Result<()> {
    let now = app.clock.now();
    let code = TokenFormat::Numeric.draw(6, &app.random);
    let code_hash = hash(&code);
    let stored = app.db.write(move |tx| {
        let Some(email) = users::find(tx, project, user)?.and_then(|row| row.email) else {
            return Ok::<_, Error>(None);
        };
        store::replace_deletion(tx, project, user, &code_hash, now.plus(DELETION_TTL))?;
        Ok(Some(email))
    });
    let Some(email) = stored.await? else {
        return Ok(());
    };
    let text = format!(
        "You asked to delete your account. To confirm it, enter this code within ten minutes:\n\n\
         {code}\n\nIf it was not you, change your password.\n"
    );
    let mail = Mail::new(email, "Confirm the deletion of your account", text);
    app.mailer.send(mail, now, &app.random).await
}
