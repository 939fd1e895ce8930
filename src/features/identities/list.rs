//! List OAuth Identities, Unlink OAuth Identity.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::auth::caller::{NO_USER_FOUND, Viewer};
use crate::error::{Error, Result};
use crate::features::identities::store::{self, IdentityRow};
use crate::features::identities::{IDENTITY_NOT_FOUND, LAST_IDENTITY, USER_NOT_FOUND};
use crate::features::users::store as users;
use crate::http::input::Path;
use crate::http::operation::Call;
use crate::http::reply::Done;
use crate::http::reply::Json;
use crate::values::ids::IdentityId;
use crate::values::time::Timestamp;

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "OAuthIdentities")]
pub(super) struct Identities {
    identities: Vec<OAuthIdentity>,
    has_password: bool,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct OAuthIdentity {
    id: IdentityId,
    provider: String,
    provider_account_id: String,
    email: Option<String>,
    name: Option<String>,
    avatar: Option<String>,
    is_verified: bool,
    created_at: Timestamp,
}

impl From<IdentityRow> for OAuthIdentity {
    fn from(row: IdentityRow) -> Self {
        OAuthIdentity {
            id: row.id,
            provider: row.provider,
            provider_account_id: row.provider_account_id,
            email: row.email,
            name: row.name,
            avatar: row.avatar,
            is_verified: row.is_verified,
            created_at: row.created_at,
        }
    }
}

pub(super) async fn list_identities(call: Call<Viewer>, (): ()) -> Result<Json<Identities>> {
    let (project, user) = (call.project.id, call.caller.user);
    let identities = call.app.db.read(move |c| {
        let has_password = users::has_password(c, project, user)?.ok_or(NO_USER_FOUND)?;
        let identities = store::list(c, project, user)?.into_iter().map(Into::into).collect();
        Ok(Identities { identities, has_password })
    });
    identities.await.map(Json)
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct IdentityPath {
    identity_id: IdentityId,
}

/// A user keeps at least one way to sign in: a password or another identity.
pub(super) async fn unlink_identity(
    call: Call<Viewer>,
    Path(path): Path<IdentityPath>,
) -> Result<Json<Done>> {
    let (project, user) = (call.project.id, call.caller.user);
    let unlinked = call.app.db.write(move |tx| {
        let row = users::find_for_update(tx, project, user)?.ok_or(USER_NOT_FOUND)?;
        let identities = users::providers(tx, project, user)?.len();
        if !store::delete(tx, project, user, path.identity_id)? {
            return Err(Error::from(IDENTITY_NOT_FOUND));
        }
        if identities == 1 && row.password_hash.is_none() {
            return Err(LAST_IDENTITY.into());
        }
        Ok(())
    });
    unlinked.await?;
    Ok(Json(Done::SILENT))
}
