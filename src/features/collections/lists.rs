//! Lists: what v6 calls collections, over the same rows. A list returns everything saved in it at once; later
//! versions have pages instead.

use std::collections::HashMap;

use db::Conn;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::auth::caller::Actor;
use crate::auth::perspective::Perspective;
use crate::error::{Error, Result};
use crate::features::collections::model::Collection;
use crate::features::collections::rules::{Name, is_shown};
use crate::features::collections::save::{self, EntityToSave};
use crate::features::collections::saved::{self, SavedQuery};
use crate::features::collections::store::CollectionRow;
use crate::features::collections::store::links;
use crate::features::collections::{
    LIST_BLANK_NAME, LIST_ENTITY_EXISTS, LIST_ENTITY_NOT_FOUND, LIST_FAULTS, LIST_MISSING_DATA,
    root, tree,
};
use crate::features::entities::model::Entity;
use crate::features::entities::show::View;
use crate::features::entities::store as entities;
use crate::features::entities::visibility;
use crate::http::include::Include;
use crate::http::input::{Body, Path, Query};
use crate::http::operation::Call;
use crate::http::reply::{Created, Json, NoContent};
use crate::values::ids::{CollectionId, EntityId};

/// Maximum ids and maximum entities in one reply, oldest saves first: without a bound a reply could grow as
/// large as the server's memory.
const MAX_IDS: usize = 10_000;
const MAX_ENTITIES: usize = 1000;

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct List {
    #[serde(flatten)]
    collection: Collection,
    /// In the order of saving.
    entity_ids: Vec<EntityId>,
    /// Those that the owner may see, in the same order.
    entities: Vec<Entity>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct ListPath {
    list_id: CollectionId,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct NewList {
    list_name: Name,
}

#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct ListUpdate {
    update: ListName,
}

#[derive(Debug, Deserialize, JsonSchema)]
struct ListName {
    name: String,
}

pub(super) async fn fetch_root(call: Call<Actor>, (): ()) -> Result<Json<List>> {
    let root = root::find_or_make(&call).await?;
    show_one(&call, root).await.map(Json)
}

pub(super) async fn fetch_sub_lists(
    call: Call<Actor>,
    Path(path): Path<ListPath>,
) -> Result<Json<Vec<List>>> {
    let children = tree::children(&call, path.list_id).await?;
    show(&call, children).await.map(Json)
}

pub(super) async fn create_sub_list(
    call: Call<Actor>,
    (Path(path), Body(new)): (Path<ListPath>, Body<NewList>),
) -> Result<Created<List>> {
    let made = tree::create(&call, path.list_id, new.list_name, LIST_FAULTS).await?;
    show_one(&call, made).await.map(Created)
}

pub(super) async fn update_list(
    call: Call<Actor>,
    (Path(path), Body(body)): (Path<ListPath>, Body<ListUpdate>),
) -> Result<Json<List>> {
    let name = body.update.name;
    if name.trim().is_empty() {
        return Err(LIST_BLANK_NAME.into());
    }
    let name = Name::try_from(name).map_err(|why| LIST_MISSING_DATA.because(why))?;
    let renamed = tree::rename(&call, path.list_id, name, LIST_FAULTS).await?;
    show_one(&call, renamed).await.map(Json)
}

pub(super) async fn delete_list(
    call: Call<Actor>,
    Path(path): Path<ListPath>,
) -> Result<NoContent> {
    tree::delete(&call, path.list_id, LIST_FAULTS).await
}

pub(super) async fn add_entity(
    call: Call<Actor>,
    (Path(path), Body(body)): (Path<ListPath>, Body<EntityToSave>),
) -> Result<Json<List>> {
    let changed = save::save(&call, path.list_id, body.entity_id, LIST_FAULTS).await?;
    if !changed.is_new {
        return Err(LIST_ENTITY_EXISTS.into());
    }
    show_one(&call, changed.collection).await.map(Json)
}

pub(super) async fn remove_entity(
    call: Call<Actor>,
    (Path(path), Body(body)): (Path<ListPath>, Body<EntityToSave>),
) -> Result<Json<List>> {
    let changed = save::unsave(&call, path.list_id, body.entity_id, LIST_FAULTS).await?;
    if !changed.is_new {
        return Err(LIST_ENTITY_NOT_FOUND.into());
    }
    show_one(&call, changed.collection).await.map(Json)
}

pub(super) async fn is_entity_saved(
    call: Call<Actor>,
    Query(query): Query<SavedQuery>,
) -> Result<Json<bool>> {
    let holders = saved::holders(&call, query.entity_id).await?;
    Ok(Json(!holders.is_empty()))
}

async fn show_one(call: &Call<Actor>, row: CollectionRow) -> Result<List> {
    let mut lists = show(call, vec![row]).await?;
    lists.pop().ok_or_else(|| Error::internal("the list was not shown"))
}

/// Read after the transaction, so that other writers do not wait for it.
async fn show(call: &Call<Actor>, rows: Vec<CollectionRow>) -> Result<Vec<List>> {
    let project = call.project.id;
    let view = View::asked(call, Some(call.caller.user), &Include::default());
    let shown = call.app.db.read_slow(move |c| {
        let ids: Vec<CollectionId> = rows.iter().map(|row| row.id).collect();
        let links = links::in_order(c, project, &ids, MAX_IDS)?;
        let entities = find(c, &view, &links)?;
        let mut entity_ids: HashMap<CollectionId, Vec<EntityId>> = HashMap::new();
        for (collection, entity) in links {
            entity_ids.entry(collection).or_default().push(entity);
        }
        let list = |row: &CollectionRow| {
            let entity_ids = entity_ids.remove(&row.id).unwrap_or_default();
            let entities = entity_ids.iter().filter_map(|id| entities.get(id).cloned()).collect();
            let collection = Collection::new(project, row.clone());
            List { collection, entity_ids, entities }
        };
        Ok(rows.iter().map(list).collect())
    });
    shown.await
}

/// The saved entities as shown, each once, however many lists hold it.
fn find(
    c: &Conn<'_>,
    view: &View,
    links: &[(CollectionId, EntityId)],
) -> Result<HashMap<EntityId, Entity>> {
    let mut ids: Vec<EntityId> =
        links.iter().map(|(_, entity)| *entity).take(MAX_ENTITIES).collect();
    ids.sort_unstable();
    ids.dedup();
    let rows = entities::find_all(c, view.project.id, &ids)?;
    let perspective = view.viewer.map_or(Perspective::Anonymous, Perspective::User);
    let mut rows = visibility::among(c, &view.project, rows, perspective)?;
    rows.retain(|row| view.viewer.is_some_and(|owner| is_shown(row, owner)));
    let shown = view.entities(c, rows)?;
    Ok(shown.into_iter().map(|entity| (entity.id, entity)).collect())
}
