//! Fetch User, Fetch User by Username. A profile is not found for users that its owner has blocked.

use std::sync::Arc;

use db::Conn;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::auth::caller::OptionalViewer;
use crate::error::Result;
use crate::features::users::model::{FetchedUser, User};
use crate::features::users::reputation::{ReputationQuery, Sum, add_points};
use crate::features::users::store::{self, UserRow};
use crate::features::users::{INVALID_QUERY, NOT_FOUND, pictures};
use crate::features::visibility::store::blocks;
use crate::http::include::Include;
use crate::http::input::{Path, Query};
use crate::http::operation::Call;
use crate::http::reply::Json;
use crate::storage::signed::Links;
use crate::tenancy::Project;
use crate::values::ids::{ProjectId, UserId};

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct UserPath {
    pub(crate) user_id: UserId,
}

#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct FetchQuery {
    #[serde(default)]
    include: Include,
    #[serde(flatten)]
    reputation: ReputationQuery,
}

pub(super) async fn fetch_user(
    call: Call<OptionalViewer>,
    (Path(path), Query(query)): (Path<UserPath>, Query<FetchQuery>),
) -> Result<Json<FetchedUser>> {
    let shown = Shown::new(&call, &query.include, &query.reputation)?;
    let user = call.app.db.read(move |c| {
        let row = store::find(c, shown.project, path.user_id)?.ok_or(NOT_FOUND)?;
        shown.user(c, &row)
    });
    user.await.map(Json)
}

#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct ByUsernameQuery {
    username: String,
    #[serde(default)]
    include: Include,
    #[serde(flatten)]
    reputation: ReputationQuery,
}

/// Compared as given: stored usernames are lower case, so `Alice` does not find `alice`.
pub(super) async fn fetch_by_username(
    call: Call<OptionalViewer>,
    Query(query): Query<ByUsernameQuery>,
) -> Result<Json<FetchedUser>> {
    if query.username.is_empty() {
        return Err(INVALID_QUERY.because("username must not be empty"));
    }
    let shown = Shown::new(&call, &query.include, &query.reputation)?;
    let user = call.app.db.read(move |c| {
        let row = store::find_by_username(c, shown.project, &query.username)?.ok_or(NOT_FOUND)?;
        shown.user(c, &row)
    });
    user.await.map(Json)
}

/// The user as shown to this caller: the same for all fetches.
#[derive(Debug, Clone)]
pub(super) struct Shown {
    pub(super) project: ProjectId,
    of: Arc<Project>,
    viewer: Option<UserId>,
    links: Links,
    bucket: Option<Sum>,
    files: bool,
    to_key: bool,
}

impl Shown {
    pub(super) fn new(
        call: &Call<OptionalViewer>,
        include: &Include,
        reputation: &ReputationQuery,
    ) -> Result<Self> {
        Ok(Shown {
            project: call.project.id,
            of: call.project.clone(),
            viewer: call.caller.user(),
            links: call.links(),
            bucket: reputation.bucket(&call.project, INVALID_QUERY)?,
            files: include.has("files"),
            to_key: call.caller.is_key(),
        })
    }

    pub(super) fn user(&self, c: &Conn<'_>, row: &UserRow) -> Result<FetchedUser> {
        if blocks::has_blocked(c, &self.of, self.viewer, row.id)? {
            return Err(NOT_FOUND.into());
        }
        let mut user = User::public(&self.links, row)?;
        if let Some(bucket) = self.bucket {
            add_points(c, self.project, vec![user.points_in(bucket)])?;
        }
        let user = match self.files {
            true => user.with_files(pictures::load(c, &self.links, row)?),
            false => user,
        };
        FetchedUser::new(user, row, self.to_key)
    }
}
