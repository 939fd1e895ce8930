//! Fetch Entity by id, by short id, and by foreign id, which may also create it.

use db::{Conn, Tx};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::auth::caller::OptionalViewer;
use crate::auth::perspective::Perspective;
use crate::domain_events;
use crate::error::Result;
use crate::features::entities::events::{CREATED, created};
use crate::features::entities::model::Entity;
use crate::features::entities::rules::ForeignId;
use crate::features::entities::show::View;
use crate::features::entities::store::{self, EntityRow};
use crate::features::entities::terms::Terms;
use crate::features::entities::views::view_buffer::ViewBuffer;
use crate::features::entities::visibility;
use crate::features::entities::write::create;
use crate::features::entities::{
    CREATE_RATE, DUPLICATE_FOREIGN_ID, EntityPath, INVALID_QUERY, NOT_FOUND, USER_REQUIRED,
};
use crate::features::users::reputation::ReputationQuery;
use crate::http::include::Include;
use crate::http::input::{Flag, Path, Query};
use crate::http::operation::Call;
use crate::http::reply::Json;
use crate::http::version::Version;
use crate::values::ids::{EntityId, from_short_id, new_id};

#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct FetchQuery {
    #[serde(default)]
    include: Include,
    #[serde(flatten)]
    reputation: ReputationQuery,
}

pub(super) async fn by_id(
    call: Call<OptionalViewer>,
    (Path(path), Query(query)): (Path<EntityPath>, Query<FetchQuery>),
) -> Result<Json<Entity>> {
    let bucket = query.reputation.bucket_or_context(&call.project, INVALID_QUERY)?;
    let view = View::asked(&call, call.caller.user(), &query.include).with_points(bucket);
    let project = call.project.id;
    let found = find(&call, view, move |c| store::find(c, project, path.entity_id)).await?;
    found.map(|entity| Json(seen(&call, entity))).ok_or(NOT_FOUND.into())
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct ShortIdQuery {
    short_id: String,
    #[serde(default)]
    include: Include,
}

pub(super) async fn by_short_id(
    call: Call<OptionalViewer>,
    Query(query): Query<ShortIdQuery>,
) -> Result<Json<Entity>> {
    let id = from_short_id(&query.short_id).map(EntityId).ok_or(NOT_FOUND)?;
    let view = View::asked(&call, call.caller.user(), &query.include);
    let project = call.project.id;
    let found = find(&call, view, move |c| store::find(c, project, id)).await?;
    found.map(|entity| Json(seen(&call, entity))).ok_or(NOT_FOUND.into())
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct ForeignIdQuery {
    foreign_id: ForeignId,
    #[serde(default)]
    create_if_not_found: Flag,
    #[serde(default)]
    include: Include,
}

pub(super) async fn by_foreign_id(
    call: Call<OptionalViewer>,
    Query(query): Query<ForeignIdQuery>,
) -> Result<Json<Entity>> {
    let foreign_id = query.foreign_id.unless_blank();
    let foreign_id =
        foreign_id.ok_or_else(|| INVALID_QUERY.because("foreignId must not be empty"))?;
    let view = View::asked(&call, call.caller.user(), &query.include);
    let found = find_foreign(&call, view.clone(), &foreign_id).await?;
    if let Some(entity) = found {
        return Ok(Json(seen(&call, entity)));
    }
    if !query.create_if_not_found.0 {
        return Err(NOT_FOUND.into());
    }
    match create_blank(&call, view.clone(), &foreign_id).await {
        // A concurrent request created it, or a draft hidden from this caller has the id.
        Err(error) if error.is(DUPLICATE_FOREIGN_ID) => {
            let entity = find_foreign(&call, view, &foreign_id).await?.ok_or(NOT_FOUND)?;
            Ok(Json(seen(&call, entity)))
        }
        created => created.map(Json),
    }
}

/// Limited like a write, though it is a GET.
async fn create_blank(call: &Call<OptionalViewer>, view: View, foreign_id: &str) -> Result<Entity> {
    call.limit(CREATE_RATE, "POST /entities")?;
    if call.caller == OptionalViewer::Anonymous && !call.project.anonymous_posts {
        return Err(USER_REQUIRED.into());
    }
    let id = EntityId(new_id(call.now, &call.app.random));
    let row =
        EntityRow { foreign_id: Some(foreign_id.to_owned()), ..EntityRow::blank(id, call.now) };
    let (app, project, now) = (call.app.clone(), call.project.clone(), call.now);
    let work = move |tx: &Tx<'_>| {
        let mut row = row.clone();
        create::insert(tx, &app, &project, &mut row, &Terms::default(), now)?;
        view.entity(tx, row)
    };
    let initiator = call.caller.user();
    let event = move |entity: &Entity| created(entity, initiator);
    let created =
        domain_events::write(&call.app, &call.project, &[CREATED.name()], work, event).await;
    created.map_err(store::insert_refused)
}

async fn find_foreign(
    call: &Call<OptionalViewer>,
    view: View,
    foreign_id: &str,
) -> Result<Option<Entity>> {
    let (project, foreign_id) = (call.project.id, foreign_id.to_owned());
    find(call, view, move |c| store::find_by_foreign_id(c, project, &foreign_id)).await
}

/// The entity, if this caller may see it.
async fn find(
    call: &Call<OptionalViewer>,
    view: View,
    find: impl Fn(&Conn<'_>) -> Result<Option<EntityRow>> + Send + 'static,
) -> Result<Option<Entity>> {
    let (project, perspective) = (call.project.clone(), Perspective::from(call.caller));
    let found = call.app.db.read(move |c| {
        let row = visibility::seen(c, &project, find(c)?, perspective)?;
        row.map(|row| view.entity(c, row)).transpose()
    });
    found.await
}

/// Counts the view, except in v6, and shows it.
fn seen(call: &Call<OptionalViewer>, mut entity: Entity) -> Entity {
    let buffer = call.app.features.get::<ViewBuffer>();
    buffer.note_stale(&entity, call.now);
    if call.version != Version::V6 && !entity.is_draft {
        entity.views += buffer.view(call.project.id, entity.id);
    }
    entity
}
