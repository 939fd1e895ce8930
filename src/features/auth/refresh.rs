//! Request New Access Token: exchanges a refresh token for a new pair.
//!
//! Each token is used once. Its successor may be fetched again for 30 seconds, so that a client that lost the
//! response, or sent two requests at once, is not signed out. Reusing a token later, or any older token of
//! the session, means that it was stolen: the whole session ends.

use std::time::Duration;

use db::Tx;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::auth::caller::Anyone;
use crate::error::{Fault, Result, faults};
use crate::features::auth::session::{SignedIn, TokenSeed};
use crate::features::auth::store::{self, TokenRow};
use crate::features::users::model::AuthUser;
use crate::features::users::own::auth_user;
use crate::features::users::store as users;
use crate::http::input::Body;
use crate::http::operation::Call;
use crate::http::reply::Json;
use crate::http::version::Version;
use crate::realtime;
use crate::storage::signed::Links;
use crate::tenancy::Project;
use crate::values::ids::{RefreshTokenId, UserId};
use crate::values::time::Timestamp;

const GRACE: Duration = Duration::from_secs(30);

faults! {
    MALFORMED = 403 "auth/refresh-token-malformed": "The refresh token is not valid";
    OTHER_PROJECT = 403 "auth/refresh-token-project-mismatch":
        "The refresh token belongs to another project";
    MISMATCH = 403 "auth/refresh-token-mismatch": "The refresh token is not known";
    REUSED = 401 "auth/token-reuse-detected": "The refresh token was used before";
    V6_INVALID = 403 "auth/refresh-token-invalid": "The refresh token is not valid";
    V6_OTHER_PROJECT = 403 "auth/invalid-refresh-token":
        "The refresh token belongs to another project";
}

pub(super) const FAULTS: &[Fault] =
    &[MALFORMED, OTHER_PROJECT, MISMATCH, REUSED, V6_INVALID, V6_OTHER_PROJECT];

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "RefreshRequest")]
pub(super) struct Refresh {
    refresh_token: Option<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(untagged)]
pub(super) enum Refreshed {
    SignedIn(Box<SignedIn>),
    #[serde(rename_all = "camelCase")]
    Nobody {
        user: (),
        access_token: (),
    },
}

pub(super) async fn request_new_access_token(
    call: Call<Anyone>,
    Body(body): Body<Refresh>,
) -> Result<Json<Refreshed>> {
    let Some(token) = body.refresh_token.filter(|token| !token.is_empty()) else {
        return Ok(Json(Refreshed::Nobody { user: (), access_token: () }));
    };
    let v6 = call.version == Version::V6;
    let (app, project, now) = (&call.app, call.project.clone(), call.now);
    let malformed = if v6 { V6_INVALID } else { MALFORMED };
    let claims = app.tokens.verify_refresh(&token, now).ok_or(malformed)?;
    if claims.project_id != project.id {
        return Err(if v6 { V6_OTHER_PROJECT } else { OTHER_PROJECT }.into());
    }

    let seed = TokenSeed::draw(&app.tokens, &app.random, now);
    let links = call.links();
    let exchange = Exchange { token: claims.jti, user: claims.sub, seed, rotates: !v6 };
    let outcome = app.db.write(move |tx| exchange.run(tx, &project, &links, now)).await?;
    let (token, user) = match outcome {
        Outcome::Refreshed(token, user) => (token, *user),
        Outcome::Unknown => return Err(MISMATCH.into()),
        Outcome::Reused => return Err(REUSED.into()),
    };
    let signed_in = SignedIn::new(&app.tokens, call.project.id, &token, user, now);
    let signed_in = if v6 { signed_in.without_refresh_token() } else { signed_in };
    Ok(Json(Refreshed::SignedIn(Box::new(signed_in))))
}

#[derive(Debug, Clone, Copy)]
struct Exchange {
    token: RefreshTokenId,
    user: UserId,
    seed: TokenSeed,
    rotates: bool,
}

/// Not a `Result`: a detected reuse must commit the end of the session.
#[derive(Debug)]
enum Outcome {
    Refreshed(TokenRow, Box<AuthUser>),
    Unknown,
    Reused,
}

impl Exchange {
    fn run(self, tx: &Tx<'_>, project: &Project, links: &Links, now: Timestamp) -> Result<Outcome> {
        // Lock order: the user first, as everywhere sessions end. After the wait this transaction sees every
        // token of the family, and no two such transactions deadlock.
        let Some(mut user) = users::find_for_update(tx, project.id, self.user)? else {
            return Ok(Outcome::Unknown);
        };
        let found = store::find_token(tx, project.id, self.token)?;
        let Some(token) = found.filter(|token| token.user_id == self.user) else {
            return Ok(Outcome::Unknown);
        };
        let live = match token.revoked_at {
            None if self.rotates => {
                let successor = self.seed.row(token.user_id, token.family_id);
                store::rotate_token(tx, project.id, token.id, &successor)?;
                successor
            }
            None => token,
            Some(_) if !self.rotates => return Ok(Outcome::Unknown),
            Some(revoked_at) => {
                let successor = match token.successor_id {
                    Some(id) => store::find_token(tx, project.id, id)?,
                    None => None,
                };
                let Some(successor) = successor else {
                    return Ok(Outcome::Unknown);
                };
                if now > revoked_at.plus(GRACE) || successor.revoked_at.is_some() {
                    store::delete_family(tx, project.id, token.family_id)?;
                    realtime::end_session(tx, project.id, token.user_id, token.family_id)?;
                    return Ok(Outcome::Reused);
                }
                successor
            }
        };
        users::touch(tx, project.id, user.id, now)?;
        user.last_active = now;
        Ok(Outcome::Refreshed(live, Box::new(auth_user(tx, project, links, &user, now)?)))
    }
}
