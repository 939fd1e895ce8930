//! The project of a request whose address does not name one: that of the token, or of the user in the path.
//! Version 7 has such addresses, about connections.

use std::sync::Arc;

use http::HeaderMap;
use serde_json::Value;

use crate::auth::credential::{Presented, bearer};
use crate::auth::store::sessions;
use crate::error::Result;
use crate::http::access::check_credential;
use crate::http::operation::Operation;
use crate::state::App;
use crate::tenancy::{self, Project};
use crate::values::ids::{ProjectId, UserId};

/// The project of a usable token.
pub fn token_project(app: &App, headers: &HeaderMap) -> Option<ProjectId> {
    app.tokens.project_of(bearer(headers)?, app.clock.now())
}

/// That project, or the one of the user in the path. Without either the caller is unauthenticated, or there
/// is no such user.
pub async fn project(
    app: &App,
    operation: &Operation,
    of_token: Option<ProjectId>,
    headers: &HeaderMap,
    params: &Value,
) -> Result<Arc<Project>> {
    let named: Option<UserId> =
        params.get("userId").and_then(Value::as_str).and_then(|id| id.parse().ok());
    let id = match (of_token, named) {
        (Some(id), _) => Some(id),
        (None, Some(user)) => app.db.read(move |c| sessions::project_of(c, user)).await?,
        (None, None) => None,
    };
    let Some(id) = id else {
        let presented = bearer(headers).map_or(Presented::Nothing, |_| Presented::Unusable);
        // No operation at such an address reads this from its query.
        check_credential(presented, operation, operation.credential, &Value::Null)?;
        return Err(sessions::USER_NOT_FOUND.into());
    };
    let project = app.projects.get(&app.db, id, app.clock.uptime()).await?;
    project.ok_or(tenancy::NOT_FOUND.into())
}
