//! Fetch Top Comment, and the top comments of the entities of a list.

use std::collections::HashMap;

use db::Conn;

use crate::auth::caller::OptionalViewer;
use crate::auth::perspective::Perspective;
use crate::error::Result;
use crate::features::comments::model::Comment;
use crate::features::comments::show::View;
use crate::features::comments::store;
use crate::features::entities::EntityPath;
use crate::features::entities::extras::TopComment;
use crate::features::spaces::store::access;
use crate::features::users::model;
use crate::features::visibility::store::blocks;
use crate::http::include::Include;
use crate::http::input::Path;
use crate::http::operation::Call;
use crate::http::reply::Json;
use crate::storage::signed::Links;
use crate::tenancy::{Bundle, Project};
use crate::values::ids::{EntityId, UserId};

pub(super) async fn fetch_top_comment(
    call: Call<OptionalViewer>,
    Path(path): Path<EntityPath>,
) -> Result<Json<Option<Comment>>> {
    if !call.project.has(Bundle::Comments) {
        return Ok(Json(None));
    }
    let (project, viewer) = (call.project.clone(), call.caller);
    let view = View::asked(&call, Perspective::from(viewer), viewer.user(), &Include::default());
    let view = view.with_user();
    let found = call.app.db.read(move |c| {
        let hidden = blocks::hidden(c, &project, viewer.user())?;
        let best = store::best::of_entities(c, project.id, &[path.entity_id], &hidden)?.pop();
        view.seen(c, best)?.map(|row| view.comment(c, row)).transpose()
    });
    found.await.map(Json)
}

/// The top comment of each entity that has one, as the entity shows it.
pub fn top_comments(
    c: &Conn<'_>,
    project: &Project,
    links: &Links,
    viewer: Option<UserId>,
    entities: &[EntityId],
) -> Result<HashMap<EntityId, TopComment>> {
    if !project.has(Bundle::Comments) {
        return Ok(HashMap::new());
    }
    let hidden = blocks::hidden(c, project, viewer)?;
    let mut rows = store::best::of_entities(c, project.id, entities, &hidden)?;
    if let Some(viewer) = viewer {
        // Authors see their own entity everywhere, but not the comments of others there.
        let spaces = rows.iter().filter_map(|row| row.space_id).collect();
        let readable = access::readable(c, project.id, spaces, Perspective::User(viewer))?;
        rows.retain(|row| row.space_id.is_none_or(|space| readable.contains(&space)));
    }
    let authors = model::shown(c, links, rows.iter().filter_map(|row| row.user_id).collect())?;
    let top = |row: store::CommentRow| {
        let user = row.user_id.and_then(|id| authors.get(&id).cloned());
        let top = TopComment {
            id: row.id,
            user,
            upvotes_count: row.reactions.upvote,
            content: row.content,
            created_at: row.created_at,
        };
        (row.entity_id, top)
    };
    Ok(rows.into_iter().map(top).collect())
}
