//! Get VAPID Public Key: what browsers need to subscribe.

use schemars::JsonSchema;
use serde::Serialize;

use crate::auth::caller::Anyone;
use crate::error::Result;
use crate::features::push::providers::{Kind, WebSettings, settings_of};
use crate::features::push::store;
use crate::http::operation::Call;
use crate::http::reply::Json;

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct VapidPublicKey {
    public_key: Option<String>,
}

pub(super) async fn get_vapid_public_key(
    call: Call<Anyone>,
    (): (),
) -> Result<Json<VapidPublicKey>> {
    let project = call.project.id;
    let found = call.app.db.read(move |c| store::find_provider(c, project, Kind::Web.name()));
    let settings = found.await?.map(|row| settings_of::<WebSettings>(&row)).transpose()?;
    Ok(Json(VapidPublicKey { public_key: settings.map(|settings| settings.public_key) }))
}
