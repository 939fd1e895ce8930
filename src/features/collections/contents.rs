//! Fetch Collection Entities.

use db::Conn;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::auth::caller::Actor;
use crate::error::Result;
use crate::features::collections::store::links::{self, SortBy};
use crate::features::collections::{CollectionPath, NOT_FOUND, store};
use crate::features::entities::model::Entity;
use crate::features::entities::show::View;
use crate::features::entities::store as entities;
use crate::features::entities::views::view_buffer::ViewBuffer;
use crate::features::visibility::store::blocks;
use crate::http::include::Include;
use crate::http::input::{Direction, Paging, Path, Query};
use crate::http::operation::Call;
use crate::http::page::Paged;
use crate::http::reply::Json;

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct EntitiesQuery {
    sort_by: SortBy,
    sort_dir: Direction,
    include: Include,
}

pub(super) async fn fetch_entities(
    call: Call<Actor>,
    (Path(path), Paging(page), Query(query)): (
        Path<CollectionPath>,
        Paging<20, 100>,
        Query<EntitiesQuery>,
    ),
) -> Result<Json<Paged<Entity>>> {
    let (project, user) = (call.project.id, call.caller.user);
    let view = View::asked(&call, Some(user), &query.include).all_saved();
    let sort = (query.sort_by, query.sort_dir);
    let id = path.collection_id;
    // Counting reads everything that is saved, so it runs off the async workers.
    let list = move |c: &Conn<'_>| -> Result<Paged<Entity>> {
        store::find(c, project, user, id)?.ok_or(NOT_FOUND)?;
        let hidden = blocks::hidden(c, &view.project, Some(user))?;
        let total = links::count_shown(c, project, id, user, &hidden)?;
        if page.offset() >= total {
            return Ok(page.of(Vec::new(), total));
        }
        let ids = links::page(c, project, id, user, sort, page, &hidden)?;
        let rows = entities::find_all(c, project, &ids)?;
        Ok(page.of(view.entities(c, rows)?, total))
    };
    let found = call.app.db.read_slow(list).await?;
    let buffer = call.app.features.get::<ViewBuffer>();
    for entity in &found.data {
        buffer.note_stale(entity, call.now);
    }
    Ok(Json(found))
}
