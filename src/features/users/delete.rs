//! Delete User: for keys only; users delete themselves through `features/auth`.

use crate::auth::caller::KeyHolder;
use crate::error::Result;
use crate::features::users::fetch::UserPath;
use crate::features::users::{NOT_FOUND, store};
use crate::http::input::Path;
use crate::http::operation::Call;
use crate::http::reply::NoContent;

pub(super) async fn delete_user(
    call: Call<KeyHolder>,
    Path(path): Path<UserPath>,
) -> Result<NoContent> {
    let project = call.project.id;
    let deleted = call.app.db.write(move |tx| store::delete(tx, project, path.user_id)).await?;
    if deleted { Ok(NoContent) } else { Err(NOT_FOUND.into()) }
}
