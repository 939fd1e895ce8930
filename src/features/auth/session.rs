//! Sessions: a family of refresh tokens that begins at a sign-in, and the reply that carries the tokens.

use db::Tx;
use schemars::JsonSchema;
use serde::Serialize;

use crate::auth::tokens::{RefreshToken, Tokens};
use crate::error::Result;
use crate::features::auth::store::{self, TokenRow};
use crate::features::users::model::AuthUser;
use crate::features::users::own::auth_user;
use crate::features::users::store::{self as users, UserRow};
use crate::storage::signed::Links;
use crate::tenancy::Project;
use crate::values::ids::{ProjectId, RefreshTokenId, SessionId, UserId, new_id};
use crate::values::random::Random;
use crate::values::time::Timestamp;

/// The ids and times of a refresh token, generated before the transaction that stores it.
#[derive(Debug, Clone, Copy)]
pub struct TokenSeed {
    pub id: RefreshTokenId,
    pub issued: Timestamp,
    pub expires: Timestamp,
}

impl TokenSeed {
    pub fn draw(tokens: &Tokens, random: &Random, now: Timestamp) -> Self {
        TokenSeed {
            id: RefreshTokenId(new_id(now, random)),
            issued: now,
            expires: now.plus(tokens.refresh_ttl),
        }
    }

    pub fn row(self, user: UserId, family: SessionId) -> TokenRow {
        TokenRow {
            id: self.id,
            user_id: user,
            family_id: family,
            successor_id: None,
            revoked_at: None,
            expires_at: self.expires,
            created_at: self.issued,
        }
    }
}

/// The first token of a new family: a session without a sign-in.
pub fn open(tx: &Tx<'_>, project: ProjectId, user: UserId, seed: TokenSeed) -> Result<TokenRow> {
    let token = seed.row(user, SessionId(seed.id.0));
    store::insert_token(tx, project, &token)?;
    Ok(token)
}

/// A new session for a user who has just authenticated.
pub fn start(
    tx: &Tx<'_>,
    project: &Project,
    links: &Links,
    user: &mut UserRow,
    seed: TokenSeed,
) -> Result<(TokenRow, AuthUser)> {
    let token = open(tx, project.id, user.id, seed)?;
    users::touch(tx, project.id, user.id, seed.issued)?;
    user.last_active = seed.issued;
    Ok((token, auth_user(tx, project, links, user, seed.issued)?))
}

/// The reply to a sign-in: the user and the tokens.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SignedIn {
    success: bool,
    access_token: String,
    /// Absent in v6, which does not rotate refresh tokens.
    #[serde(skip_serializing_if = "Option::is_none")]
    refresh_token: Option<String>,
    user: AuthUser,
}

impl SignedIn {
    pub fn new(
        tokens: &Tokens,
        project: ProjectId,
        token: &TokenRow,
        user: AuthUser,
        now: Timestamp,
    ) -> Self {
        SignedIn {
            success: true,
            access_token: tokens.access(project, token.user_id, token.family_id, now),
            refresh_token: Some(refresh_token(tokens, project, token)),
            user,
        }
    }

    pub fn without_refresh_token(self) -> Self {
        SignedIn { refresh_token: None, ..self }
    }
}

/// The signed text of a stored token: the same row always gives the same text.
pub fn refresh_token(tokens: &Tokens, project: ProjectId, token: &TokenRow) -> String {
    tokens.refresh(&RefreshToken {
        id: token.id,
        project,
        user: token.user_id,
        issued: token.created_at,
        expires: token.expires_at,
    })
}
