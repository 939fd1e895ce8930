//! Fetch User Suggestions: users whose username contains the typed text, without blocked users.

use schemars::JsonSchema;
use serde::Deserialize;

use crate::auth::caller::OptionalViewer;
use crate::error::Result;
use crate::features::users::model::User;
use crate::features::users::reputation::{ReputationQuery, add_points};
use crate::features::users::{INVALID_QUERY, store};
use crate::features::visibility::store::blocks;
use crate::http::input::Query;
use crate::http::operation::Call;
use crate::http::reply::Json;

const MAX_SUGGESTIONS: usize = 5;
/// Longer than any username can be; longer patterns only cost time.
const LONGEST_QUERY: usize = 256;

#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct SuggestionsQuery {
    query: String,
    #[serde(flatten)]
    reputation: ReputationQuery,
}

pub(super) async fn fetch_suggestions(
    call: Call<OptionalViewer>,
    Query(query): Query<SuggestionsQuery>,
) -> Result<Json<Vec<User>>> {
    if query.query.is_empty() || query.query.len() > LONGEST_QUERY {
        return Err(INVALID_QUERY.because("query must have 1 to 256 bytes"));
    }
    let bucket = query.reputation.bucket(&call.project, INVALID_QUERY)?;
    let (of, project, viewer) = (call.project.clone(), call.project.id, call.caller.user());
    let links = call.links();
    let part = query.query.to_lowercase();
    let users = call.app.db.read_slow(move |c| {
        let hidden = blocks::hidden(c, &of, viewer)?;
        let rows = store::suggest(c, project, &part, MAX_SUGGESTIONS, &hidden)?;
        let users = rows.iter().map(|row| User::public(&links, row));
        let mut users = users.collect::<Result<Vec<_>>>()?;
        if let Some(bucket) = bucket {
            let shown = users.iter_mut().map(|user| user.points_in(bucket)).collect();
            add_points(c, project, shown)?;
        }
        Ok(users)
    });
    users.await.map(Json)
}
