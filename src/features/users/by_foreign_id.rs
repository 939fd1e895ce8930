//! Fetch User by Foreign ID: finds a user by the application's own id; a key may create them.

use db::Tx;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::auth::caller::OptionalViewer;
use crate::domain_events;
use crate::error::Result;
use crate::features::users::events::{CREATED, CREATED_NAME};
use crate::features::users::fetch::Shown;
use crate::features::users::model::FetchedUser;
use crate::features::users::reputation::ReputationQuery;
use crate::features::users::rules::{Avatar, Bio, ForeignId, Metadata, Name, Username};
use crate::features::users::store::{self, UserRow};
use crate::features::users::{DUPLICATE_USER_FIELD, DUPLICATE_USERNAME, INVALID_QUERY, NOT_FOUND};
use crate::http::include::Include;
use crate::http::input::{Flag, Query};
use crate::http::operation::Call;
use crate::http::reply::FoundOrCreated;
use crate::http::version::Version;
use crate::values::ids::{UserId, new_id};

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct ByForeignIdQuery {
    foreign_id: ForeignId,
    #[serde(default)]
    include: Include,
    /// Ignored without a key.
    #[serde(default)]
    create_if_not_found: Flag,
    name: Option<Name>,
    username: Option<Username>,
    avatar: Option<Avatar>,
    bio: Option<Bio>,
    /// A JSON object as text.
    metadata: Option<String>,
    secure_metadata: Option<String>,
    #[serde(flatten)]
    reputation: ReputationQuery,
}

pub(super) async fn fetch_by_foreign_id(
    call: Call<OptionalViewer>,
    Query(query): Query<ByForeignIdQuery>,
) -> Result<FoundOrCreated<FetchedUser>> {
    let shown = Shown::new(&call, &query.include, &query.reputation)?;
    let foreign_id = query.foreign_id.into_text();
    let creates = query.create_if_not_found.0 && call.caller.is_key();
    match find(&call, shown.clone(), foreign_id.clone()).await? {
        Some(user) => return Ok(FoundOrCreated::Found(user)),
        None if !creates => return Err(NOT_FOUND.into()),
        None => {}
    }

    let new = UserRow {
        foreign_id: Some(foreign_id.clone()),
        name: query.name.map(Name::into_text),
        username: query.username.map(Username::into_text),
        avatar: query.avatar.map(Avatar::into_text),
        bio: query.bio.and_then(Bio::into_option),
        metadata: db::JsonText(metadata(query.metadata.as_deref(), call.version)?.to_json()),
        secure_metadata: db::JsonText(
            metadata(query.secure_metadata.as_deref(), call.version)?.to_json(),
        ),
        ..UserRow::new(UserId(new_id(call.now, &call.app.random)), call.now)
    };
    let made = shown.clone();
    let work = move |tx: &Tx<'_>| {
        store::insert(tx, made.project, &new)?;
        made.user(tx, &new)
    };
    let event = |user: &FetchedUser| CREATED.event(user).map(Some);
    let created =
        domain_events::write(&call.app, &call.project, &[CREATED_NAME], work, event).await;
    match created.map(FoundOrCreated::Created) {
        // A concurrent request may have created the user: then return that one. An engine names only one of
        // the conflicting values, so a repeated call may seem to conflict by username.
        Err(error) if error.is(DUPLICATE_USER_FIELD) || error.is(DUPLICATE_USERNAME) => {
            match find(&call, shown, foreign_id).await? {
                Some(user) => Ok(FoundOrCreated::Found(user)),
                None if error.is(DUPLICATE_USERNAME) => Err(error),
                None => Err(NOT_FOUND.into()),
            }
        }
        answer => answer,
    }
}

async fn find(
    call: &Call<OptionalViewer>,
    shown: Shown,
    foreign_id: String,
) -> Result<Option<FetchedUser>> {
    let found = call.app.db.read(move |c| {
        let row = store::find_by_foreign_id(c, shown.project, &foreign_id)?;
        row.map(|row| shown.user(c, &row)).transpose()
    });
    found.await
}

/// A JSON object as text. v6 ignores invalid ones instead of refusing them.
fn metadata(text: Option<&str>, version: Version) -> Result<Metadata> {
    let Some(text) = text else {
        return Ok(Metadata::default());
    };
    let checked = crate::values::json::check(text.as_bytes());
    let parsed = checked.ok().and_then(|()| serde_json::from_str::<Map<String, Value>>(text).ok());
    match parsed {
        Some(map) => Metadata::try_from(map).map_err(|why| INVALID_QUERY.because(why)),
        None if version == Version::V6 => Ok(Metadata::default()),
        None => Err(INVALID_QUERY.because("metadata must be a JSON object")),
    }
}
