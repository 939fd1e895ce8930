//! Fetch File: a file with freshly signed addresses.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::auth::caller::UserOrKey;
use crate::error::Result;
use crate::features::files::model::{File, show};
use crate::features::files::{FILE_NOT_FOUND, holders, store};
use crate::http::input::Path;
use crate::http::operation::Call;
use crate::http::reply::Json;
use crate::values::ids::FileId;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct FilePath {
    pub(super) file_id: FileId,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct FetchedFile {
    file_id: FileId,
    #[serde(flatten)]
    file: File,
}

pub(super) async fn fetch_file(
    call: Call<UserOrKey>,
    Path(path): Path<FilePath>,
) -> Result<Json<FetchedFile>> {
    let (app, project, links) = (call.app.clone(), call.project.clone(), call.links());
    let caller = call.caller;
    let file = call.app.db.read(move |c| {
        let row = store::find(c, project.id, path.file_id)?.ok_or(FILE_NOT_FOUND)?;
        let visible = match caller {
            UserOrKey::Key(_) => true,
            UserOrKey::User(user) => holders::may_see(&app, c, &project, user, &row)?,
        };
        if !visible {
            return Err(FILE_NOT_FOUND.into());
        }
        Ok(FetchedFile { file_id: row.id, file: show(&links, &row)? })
    });
    file.await.map(Json)
}
