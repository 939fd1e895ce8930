//! Delete File: by its owner, or by a key. Content that showed it no longer does.

use schemars::JsonSchema;
use serde::Serialize;

use crate::auth::caller::UserOrKey;
use crate::error::{Error, Result};
use crate::features::files::fetch::FilePath;
use crate::features::files::model::ImageFacts;
use crate::features::files::store::{self, FileRow};
use crate::features::files::{FILE_NOT_FOUND, UNAUTHORIZED, holders, purge};
use crate::http::input::Path;
use crate::http::operation::Call;
use crate::http::reply::Json;
use crate::values::ids::FileId;

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct DeletedFile {
    message: &'static str,
    file_id: FileId,
    /// The original first, then its variants.
    deleted_paths: Vec<String>,
}

pub(super) async fn delete_file(
    call: Call<UserOrKey>,
    Path(path): Path<FilePath>,
) -> Result<Json<DeletedFile>> {
    let (app, of) = (call.app.clone(), call.project.clone());
    let (project, now) = (call.project.id, call.now);
    let caller = call.caller;
    let deleted = call.app.db.write(move |tx| {
        store::lock_by_picture(tx, project, path.file_id)?;
        let row = store::find_for_update(tx, project, path.file_id)?.ok_or(FILE_NOT_FOUND)?;
        if let UserOrKey::User(user) = caller
            && row.user_id != Some(user)
        {
            // A file that the user may not see is not found.
            let sees = holders::may_see(&app, tx, &of, user, &row)?;
            return Err(Error::from(if sees { UNAUTHORIZED } else { FILE_NOT_FOUND }));
        }
        if let Some(owner) = row.user_id {
            store::forget_file(tx, project, owner, row.id, now)?;
        }
        purge::delete(tx, project, &[row.id], now)?;
        Ok(DeletedFile {
            message: "File deleted successfully",
            file_id: row.id,
            deleted_paths: paths(&row)?,
        })
    });
    deleted.await.map(Json)
}

fn paths(row: &FileRow) -> Result<Vec<String>> {
    Ok(match ImageFacts::of(row)? {
        Some(facts) => facts.all().map(|one| one.path.clone()).collect(),
        None => vec![row.path.clone()],
    })
}
