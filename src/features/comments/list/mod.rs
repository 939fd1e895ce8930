//! Fetch Many Comments: of an entity, below one comment, of an author, or of the whole project.

pub mod search;
pub mod sql;

use std::sync::Arc;

use db::Conn;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::auth::caller::OptionalViewer;
use crate::auth::perspective::Perspective;
use crate::error::{Error, Result};
use crate::features::comments::model::Comment;
use crate::features::comments::show::View;
use crate::features::comments::{INVALID_QUERY, check_include};
use crate::features::users::reputation::ReputationQuery;
use crate::features::visibility::store::blocks;
use crate::http::include::Include;
use crate::http::input::{Direction, Flag, Paging, Query};
use crate::http::operation::Call;
use crate::http::page::Paged;
use crate::http::reply::{Json, MaybeDeprecated};
use crate::http::version::Version;
use crate::values::ids::{CommentId, EntityId, UserId};

use search::{Search, Sort};

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct ListQuery {
    entity_id: Option<EntityId>,
    parent_id: Option<Parent>,
    user_id: Option<UserId>,
    /// The entity's; used only when the entity is included.
    source_id: Option<String>,
    #[serde(default)]
    blocked_filter: BlockedFilter,
    #[serde(default)]
    sort_by: SortBy,
    /// For `createdAt` only.
    #[serde(default)]
    sort_dir: Direction,
    #[serde(default)]
    include: Include,
    /// The older name of `include=entity`.
    #[serde(default)]
    include_entity: Flag,
    /// `false` leaves out deleted and removed comments, of which only a placeholder would be shown.
    #[serde(default = "with_placeholders")]
    placeholders: Flag,
}

fn with_placeholders() -> Flag {
    Flag(true)
}

/// A comment id, or `none` for top-level comments.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub(super) enum Parent {
    None,
    Comment(CommentId),
}

impl TryFrom<String> for Parent {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        match text.as_str() {
            "none" | "null" => Ok(Parent::None),
            id => id.parse().map(Parent::Comment).map_err(|_| "must be a UUID or none"),
        }
    }
}

impl JsonSchema for Parent {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Parent".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({ "type": "string", "description": "A comment id, or `none`." })
    }
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(super) enum BlockedFilter {
    #[default]
    Exclude,
    IncludeOutboundBlocked,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "CommentOrder")]
pub(super) enum SortBy {
    #[default]
    CreatedAt,
    Top,
    Controversial,
    New,
    Old,
}

impl ListQuery {
    fn sort(&self) -> Sort {
        match (self.sort_by, self.sort_dir) {
            (SortBy::New, _) | (SortBy::CreatedAt, Direction::Desc) => Sort::Newest,
            (SortBy::Old, _) | (SortBy::CreatedAt, Direction::Asc) => Sort::Oldest,
            (SortBy::Top, _) => Sort::Top,
            (SortBy::Controversial, _) => Sort::Controversial,
        }
    }
}

pub(super) async fn fetch_many(
    call: Call<OptionalViewer>,
    (Paging(page), Query(query), Query(reputation)): (
        Paging<10, 100>,
        Query<ListQuery>,
        Query<ReputationQuery>,
    ),
) -> Result<MaybeDeprecated<Json<Paged<Comment>>>> {
    check_include(&query.include)?;
    let bucket = reputation.bucket_or_context(&call.project, INVALID_QUERY)?;
    let include =
        if query.include_entity.0 { query.include.and("entity") } else { query.include.clone() };
    let perspective = Perspective::from(call.caller);
    let mut view =
        View::asked(&call, perspective, call.caller.user(), &include).with_points(bucket);
    let is_own = match perspective {
        Perspective::Key | Perspective::KeyAs(_) => true,
        Perspective::User(user) => query.user_id == Some(user),
        Perspective::Anonymous => false,
    };
    if is_own && query.user_id.is_some() {
        view = view.with_deleted();
    }
    let with_entity = include.has("entity") || include.has("space");
    let search = Search {
        project: call.project.id,
        sort: query.sort(),
        entity: query.entity_id,
        parent: query.parent_id,
        source: query.source_id.clone().filter(|_| with_entity),
        author: query.user_id,
        only_live: !query.placeholders.0 || (query.user_id.is_some() && !is_own),
        without_deleted: call.version == Version::V6,
        has_rules: call.project.rules_version > 0,
    };
    let is_quick = search.is_quick(page);
    let shows_blocked = query.blocked_filter == BlockedFilter::IncludeOutboundBlocked;
    let hidden = move |c: &Conn<'_>, view: &View| {
        let hidden = blocks::hidden(c, &view.project, view.perspective.viewer())?;
        Ok::<_, Error>(if shows_blocked { hidden.but_blocked() } else { hidden })
    };
    let (search, view) = (Arc::new(search), Arc::new(view));
    let mut found = None;
    if is_quick {
        let (search, view) = (search.clone(), view.clone());
        let quick = call.app.db.read(move |c| {
            let hidden = hidden(c, &view)?;
            // If anybody is hidden from the viewer, the slow path counts.
            hidden.is_nobody().then(|| search.show(c, page, &view, hidden)).transpose()
        });
        found = quick.await?;
    }
    let page = match found {
        Some(page) => page,
        None => {
            let slow = move |c: &Conn<'_>| search.show(c, page, &view, hidden(c, &view)?);
            call.app.db.read_slow(slow).await?
        }
    };
    let is_deprecated =
        call.version == Version::V8 && matches!(query.sort_by, SortBy::New | SortBy::Old);
    Ok(MaybeDeprecated { reply: Json(page), is_deprecated })
}
