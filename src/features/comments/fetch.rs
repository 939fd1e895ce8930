//! Fetch Comment by id and by foreign id.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Serialize, Serializer};

use crate::auth::caller::OptionalViewer;
use crate::auth::perspective::Perspective;
use crate::error::Result;
use crate::features::comments::model::Comment;
use crate::features::comments::show::View;
use crate::features::comments::store::{self, CommentRow};
use crate::features::comments::{CommentPath, INVALID_QUERY, NOT_FOUND, check_include};
use crate::features::entities::rules::ForeignId;
use crate::features::users::reputation::ReputationQuery;
use crate::http::include::Include;
use crate::http::input::{Path, Query};
use crate::http::operation::Call;
use crate::http::reply::Json;
use crate::http::version::Version;

/// Several comments may share a foreign id: at most this many are tried until one is visible.
const LOOKED_AT: i64 = 20;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct FetchQuery {
    #[serde(default)]
    include: Include,
    /// The older name of `include=parent`: any non-empty value.
    #[serde(default)]
    with_parent: String,
    #[serde(flatten)]
    reputation: ReputationQuery,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct ForeignIdQuery {
    foreign_id: ForeignId,
    #[serde(flatten)]
    fetch: FetchQuery,
}

/// Wrapped in a key of its own, unlike other single reads; v8 also has the plain fields.
#[derive(Debug)]
pub(super) struct Found {
    comment: Comment,
    is_bare_too: bool,
    parent_comment: Option<Option<Comment>>,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "FoundComment")]
struct Shown<'a> {
    /// In v8: the plain fields again.
    #[serde(flatten)]
    bare: Option<&'a Comment>,
    comment: &'a Comment,
    /// Only in v6: the parent comment.
    #[serde(skip_serializing_if = "Option::is_none")]
    parent_comment: Option<Option<&'a Comment>>,
}

impl Serialize for Found {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        let shown = Shown {
            bare: self.is_bare_too.then_some(&self.comment),
            comment: &self.comment,
            parent_comment: self.parent_comment.as_ref().map(Option::as_ref),
        };
        shown.serialize(serializer)
    }
}

impl JsonSchema for Found {
    fn schema_name() -> Cow<'static, str> {
        Shown::schema_name()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        Shown::json_schema(generator)
    }
}

pub(super) async fn by_id(
    call: Call<OptionalViewer>,
    (Path(path), Query(query)): (Path<CommentPath>, Query<FetchQuery>),
) -> Result<Json<Found>> {
    let project = call.project.id;
    find(&call, query, move |c, view| view.seen(c, store::find(c, project, path.comment_id)?)).await
}

/// The oldest visible comment; one that its author deleted only if there is no other.
pub(super) async fn by_foreign_id(
    call: Call<OptionalViewer>,
    Query(query): Query<ForeignIdQuery>,
) -> Result<Json<Found>> {
    let foreign_id = query.foreign_id.unless_blank();
    let foreign_id =
        foreign_id.ok_or_else(|| INVALID_QUERY.because("foreignId: must not be empty"))?;
    let project = call.project.id;
    find(&call, query.fetch, move |c, view| {
        let rows = store::find_by_foreign_id(c, project, &foreign_id, LOOKED_AT)?;
        let mut placeholder = None;
        for row in rows {
            match view.seen(c, Some(row))? {
                Some(row) if row.user_deleted_at.is_none() => return Ok(Some(row)),
                seen => placeholder = placeholder.or(seen),
            }
        }
        Ok(placeholder)
    })
    .await
}

async fn find(
    call: &Call<OptionalViewer>,
    query: FetchQuery,
    row: impl Fn(&db::Conn<'_>, &View) -> Result<Option<CommentRow>> + Send + Sync + 'static,
) -> Result<Json<Found>> {
    check_include(&query.include)?;
    let bucket = query.reputation.bucket_or_context(&call.project, INVALID_QUERY)?;
    let (viewer, version) = (call.caller, call.version);
    let view = View::asked(call, Perspective::from(viewer), viewer.user(), &query.include);
    let view = view.with_points(bucket);
    let (is_v6, is_bare_too) = (version == Version::V6, version == Version::V8);
    let with_parent = query.include.has("parent") || (is_v6 && !query.with_parent.is_empty());
    let found = call.app.db.read(move |c| {
        let row = row(c, &view)?.ok_or(NOT_FOUND)?;
        let mut comment =
            if with_parent { view.with_parent(c, row)? } else { view.comment(c, row)? };
        let mut parent_comment = None;
        if is_v6 {
            let parent = comment.parent_comment.take().flatten();
            parent_comment = Some(parent.map(|parent| *parent));
        }
        Ok(Found { comment, is_bare_too, parent_comment })
    });
    found.await.map(Json)
}
