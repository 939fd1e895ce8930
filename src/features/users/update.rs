//! Update User: by the user or by a key. Only the fields that are sent change.

use db::{JsonText, Tx};
use schemars::{JsonSchema, SchemaGenerator};
use serde::Deserialize;
use serde_json::Value;

use crate::auth::caller::UserOrKey;
use crate::domain_events;
use crate::error::Result;
use crate::features::users::events::{self, UPDATED, UPDATED_NAME};
use crate::features::users::fetch::UserPath;
use crate::features::users::model::AuthUser;
use crate::features::users::own::auth_user;
use crate::features::users::pictures::{Pictures, Portrayed, remove_replaced};
use crate::features::users::rules::{Avatar, Bio, Location, Metadata, Name, Username};
use crate::features::users::store::{self, UserRow};
use crate::features::users::{INVALID_BODY, MISSING_DATA, NOT_AUTHORIZED, NOT_FOUND, PICTURES};
use crate::http::input::{Input, InputDoc, Path, body_value, read_body};
use crate::http::operation::{Call, CheckedRequest};
use crate::http::patch::Patch;
use crate::http::reply::Json;
use crate::http::version::Version;
use crate::values::time::Timestamp;

#[derive(Debug, Default, Clone, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct UserUpdate {
    name: Patch<Name>,
    username: Patch<Username>,
    /// Clearing it also clears the avatar file.
    avatar: Patch<Avatar>,
    bio: Patch<Bio>,
    birthdate: Patch<Timestamp>,
    location: Patch<Location>,
    metadata: Option<Metadata>,
    /// With a key only; ignored without one.
    #[schemars(with = "Option<Metadata>")]
    secure_metadata: Option<Value>,
}

impl UserUpdate {
    fn apply(self, row: &mut UserRow) {
        self.name.map(Name::into_text).put(&mut row.name);
        self.username.map(Username::into_text).put(&mut row.username);
        if self.avatar != Patch::Absent {
            row.avatar_path = None;
        }
        if self.avatar == Patch::Null {
            row.avatar_file_id = None;
        }
        self.avatar.map(Avatar::into_text).put(&mut row.avatar);
        self.bio.and_then(Bio::into_option).put(&mut row.bio);
        self.birthdate.put(&mut row.birthdate);
        self.location.clone().map(|place| place.latitude).put(&mut row.latitude);
        self.location.map(|place| place.longitude).put(&mut row.longitude);
        if let Some(metadata) = self.metadata {
            row.metadata = JsonText(metadata.to_json());
        }
    }
}

/// The fields to change; v6 wraps them in `update` and requires at least one.
#[derive(Debug, Default)]
pub(super) struct UpdateBody(UserUpdate);

impl Input for UpdateBody {
    fn extract(request: &CheckedRequest) -> Result<Self> {
        let mut body = body_value(request)?;
        if request.version == Version::V6 {
            body = body.get("update").unwrap_or(&Value::Null);
            let is_empty = body.as_object().is_none_or(serde_json::Map::is_empty);
            if is_empty && request.uploads.is_empty() {
                return Err(MISSING_DATA.into());
            }
            if body.is_null() {
                return Ok(UpdateBody::default());
            }
        }
        read_body(request, body).map(UpdateBody)
    }

    fn describe(doc: &mut InputDoc, generator: &mut SchemaGenerator) {
        doc.body = Some(generator.subschema_for::<UserUpdate>());
    }
}

pub(super) async fn update_user(
    call: Call<UserOrKey>,
    (Path(path), UpdateBody(mut update), pictures): (Path<UserPath>, UpdateBody, Pictures),
) -> Result<Json<AuthUser>> {
    let by_key = match call.caller {
        UserOrKey::User(user) if user != path.user_id => return Err(NOT_AUTHORIZED.into()),
        UserOrKey::User(_) => false,
        UserOrKey::Key(_) => true,
    };
    let secure = update.secure_metadata.take().filter(|_| by_key);
    let secure = Metadata::secure(secure, INVALID_BODY)?.map(|metadata| metadata.to_json());
    let (app, project, now) = (&call.app, call.project.clone(), call.now);
    let of = Portrayed::User(path.user_id);
    let pictures = pictures.prepare(app, project.id, of, &PICTURES, now).await?;
    if pictures.has_avatar() {
        update.avatar = Patch::Absent;
    }
    let (links, stored) = (call.links(), pictures.clone());
    let work = move |tx: &Tx<'_>| {
        let found = store::find_for_update(tx, project.id, path.user_id)?.ok_or(NOT_FOUND)?;
        let mut row = found.clone();
        update.clone().apply(&mut row);
        if let Some(metadata) = &secure {
            row.secure_metadata = JsonText(metadata.clone());
        }
        stored.put_on(&mut row);
        stored.insert(tx, project.id)?;
        if row != found {
            row.updated_at = now;
            store::update_profile(tx, project.id, &row)?;
            remove_replaced(tx, project.id, found.picture_ids(), row.picture_ids(), now)?;
        }
        let user = auth_user(tx, &project, &links, &row, now)?;
        let user = if by_key { user.with_secure_metadata(&row)? } else { user };
        Ok((user, events::changed(&found, &row)))
    };
    let event = |(user, changed): &(AuthUser, Vec<String>)| match &**changed {
        [] => Ok(None),
        changed => Ok(Some(UPDATED.event(user)?.changing(changed))),
    };
    let updated = domain_events::write(app, &call.project, &[UPDATED_NAME], work, event).await;
    let updated = updated.map(|(user, _)| user);
    pictures.settle(app, call.project.id, updated, now).await.map(Json)
}
