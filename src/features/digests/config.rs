//! Fetch and Update Digest Config, for admins of the space. The secret is never shown.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::auth::caller::ActorOrKey;
use crate::error::{Error, Result};
use crate::features::digests::INVALID_DIGEST_CONFIG;
use crate::features::digests::rules::{MASK, Secret, WebhookUrl};
use crate::features::digests::store::{self, DigestRow, place};
use crate::features::spaces::authority::{self, Authority};
use crate::features::spaces::{INVALID_BODY, NOT_FOUND, SpacePath, store as spaces};
use crate::http::input::{Body, Path};
use crate::http::operation::Call;
use crate::http::patch::Patch;
use crate::http::reply::Json;
use crate::outbound::{Failure, Schemes, Target};
use crate::values::time::Timestamp;
use crate::values::timezone::{Hour, ZoneName};

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct DigestConfig {
    digest_enabled: bool,
    digest_webhook_url: Option<String>,
    digest_webhook_secret: Option<&'static str>,
    digest_schedule_hour: Option<i64>,
    digest_timezone: Option<String>,
}

impl From<DigestRow> for DigestConfig {
    fn from(row: DigestRow) -> Self {
        DigestConfig {
            digest_enabled: row.is_enabled,
            digest_webhook_url: row.url,
            digest_webhook_secret: row.secret.map(|_| MASK),
            digest_schedule_hour: row.hour,
            digest_timezone: row.timezone,
        }
    }
}

pub(super) async fn fetch(
    call: Call<ActorOrKey>,
    Path(path): Path<SpacePath>,
) -> Result<Json<DigestConfig>> {
    let (project, caller, id) = (call.project.id, call.caller, path.space_id);
    let found = call.app.db.read(move |c| {
        let space = spaces::find(c, project, id)?.ok_or(NOT_FOUND)?;
        authority::authority(c, project, &space, caller)?.require(Authority::Admin)?;
        Ok::<_, Error>(store::find(c, project, id)?.unwrap_or_default())
    });
    Ok(Json(found.await?.into()))
}

#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(rename = "DigestConfigUpdate")]
pub(super) struct Update {
    #[schemars(with = "bool")]
    digest_enabled: Patch<bool>,
    digest_webhook_url: Patch<WebhookUrl>,
    digest_webhook_secret: Patch<Secret>,
    digest_schedule_hour: Patch<Hour>,
    digest_timezone: Patch<ZoneName>,
}

pub(super) async fn update(
    call: Call<ActorOrKey>,
    (Path(path), Body(update)): (Path<SpacePath>, Body<Update>),
) -> Result<Json<DigestConfig>> {
    let (app, project, caller, now) = (&call.app, call.project.id, call.caller, call.now);
    let id = path.space_id;
    if update.digest_enabled == Patch::Null {
        return Err(INVALID_BODY.because("digestEnabled: must be true or false"));
    }
    if let Patch::Value(url) = &update.digest_webhook_url {
        let refused =
            |failure: Failure| INVALID_BODY.because(format!("digestWebhookUrl: {failure}"));
        let target = Target::parse(url.as_str()).map_err(refused)?;
        app.outbound.check(&target, Schemes::Both).await.map_err(refused)?;
    }
    let secret = match &update.digest_webhook_secret {
        Patch::Value(secret) if secret.as_str() != MASK => {
            Patch::Value(app.sealer.seal(secret.as_str(), &place(project, id), &app.random)?)
        }
        Patch::Null => Patch::Null,
        Patch::Absent | Patch::Value(_) => Patch::Absent,
    };
    let written = app.db.write(move |tx| {
        authority::lock(tx, project, id, caller, Authority::Admin)?;
        let mut row = store::find(tx, project, id)?.unwrap_or_default();
        update.clone().apply(&mut row);
        secret.clone().put(&mut row.secret);
        row.next_at = next(&row, now)?;
        store::replace(tx, project, id, &row, now)?;
        Ok::<_, Error>(row)
    });
    Ok(Json(written.await?.into()))
}

impl Update {
    fn apply(self, row: &mut DigestRow) {
        if let Patch::Value(is_enabled) = self.digest_enabled {
            row.is_enabled = is_enabled;
        }
        self.digest_webhook_url.map(|url| url.as_str().to_owned()).put(&mut row.url);
        self.digest_schedule_hour.map(Hour::number).put(&mut row.hour);
        self.digest_timezone.map(|zone| zone.as_str().to_owned()).put(&mut row.timezone);
    }
}

/// When it is due next; none if it is off.
fn next(row: &DigestRow, now: Timestamp) -> Result<Option<Timestamp>> {
    if !row.is_enabled {
        return Ok(None);
    }
    if row.url.is_none() || row.secret.is_none() {
        return Err(INVALID_DIGEST_CONFIG.into());
    }
    row.due_after(now).map(Some).ok_or(INVALID_DIGEST_CONFIG.into())
}
