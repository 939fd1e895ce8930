//! Delete Entity: its author or a key deletes it, or hides it for good if the project is set to soft
//! deletion.

use crate::auth::caller::UserOrKey;
use crate::auth::perspective::Perspective;
use crate::error::Result;
use crate::features::entities::store::feed_totals;
use crate::features::entities::visibility;
use crate::features::entities::write::create;
use crate::features::entities::{DELETE_FAILED, EntityPath, NOT_AUTHORIZED, NOT_FOUND, store};
use crate::features::files::purge;
use crate::features::users::reputation;
use crate::features::{collections, comments, notifications, reactions};
use crate::http::input::Path;
use crate::http::operation::Call;
use crate::http::reply::NoContent;
use crate::tenancy::Deletion;

pub(super) async fn delete_entity(
    call: Call<UserOrKey>,
    Path(path): Path<EntityPath>,
) -> Result<NoContent> {
    let perspective = Perspective::from(&call.caller);
    let (project, now) = (call.project.clone(), call.now);
    let deleted = call.app.db.write(move |tx| {
        let found = store::find_for_update(tx, project.id, path.entity_id)?;
        let row = visibility::seen(tx, &project, found, perspective)?.ok_or(NOT_FOUND)?;
        if !perspective.owns(row.user_id) {
            return Err(NOT_AUTHORIZED.because("Not authorized to delete this entity."));
        }
        collections::store::anonymize::forget_entities(tx, project.id, &[row.id])?;
        let deleted = match project.entity_deletion {
            Deletion::Soft => store::soft_delete(tx, project.id, row.id, now)?,
            Deletion::Hard => {
                reactions::store::delete_of_targets(tx, project.id, vec![row.id.0])?;
                comments::delete::purge::enqueue(tx, project.id, row.id, now)?;
                store::delete(tx, project.id, row.id)?
            }
        };
        if !deleted {
            return Err(DELETE_FAILED.into());
        }
        if !(project.entity_deletion == Deletion::Soft && project.keeps_files_of_deleted) {
            purge::delete_of_entity(tx, project.id, row.id, now)?;
        }
        if let Some(author) = row.user_id.filter(|_| !row.is_draft) {
            reputation::award(tx, &project, author, row.space_id, -create::POINTS)?;
        }
        let id = row.id;
        if row.is_listed {
            feed_totals::remove(tx, project.id, &[row])?;
        }
        notifications::store::hide::delete_of_subjects(tx, project.id, vec![id.0])
    });
    deleted.await.map(|()| NoContent)
}
