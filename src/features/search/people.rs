//! Search Users and Search Spaces: by words and by their beginnings.

use std::collections::{HashMap, HashSet};

use db::Conn;
use schemars::JsonSchema;
use serde::Deserialize;
use text_index::{Analyzer, query_words};

use crate::auth::caller::OptionalViewer;
use crate::auth::store::suspensions;
use crate::error::Result;
use crate::features::search::class::{Class, Section};
use crate::features::search::lookup::{self, Limits, Plan, Reach};
use crate::features::search::model::{Highlight, SpaceSearchResult, UserSearchResult};
use crate::features::search::require_search;
use crate::features::search::rules::{Limit, SearchText};
use crate::features::search::store::{scope, words};
use crate::features::spaces::members::store as members;
use crate::features::spaces::rules::Visibility;
use crate::features::spaces::show::View;
use crate::features::spaces::store as spaces;
use crate::features::users::model::User;
use crate::features::users::store as users;
use crate::features::visibility::store::blocks;
use crate::http::input::Body;
use crate::http::operation::Call;
use crate::http::reply::Json;
use crate::tenancy::{Bundle, Project};
use crate::values::ids::{SpaceId, UserId};
use crate::values::time::Timestamp;

#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct UserSearch {
    query: SearchText,
    #[serde(default)]
    limit: Limit<20>,
}

pub(super) async fn search_users(
    call: Call<OptionalViewer>,
    Body(body): Body<UserSearch>,
) -> Result<Json<Vec<UserSearchResult>>> {
    require_search(&call.project)?;
    let (project, viewer, now) = (call.project.clone(), call.caller.user(), call.now);
    let links = call.links();
    let found = call.app.db.read_slow(move |c| {
        let analyzer = Analyzer::new(project.search_language);
        let query = body.query.as_str();
        let plan = Plan::new(c, project.id, &analyzer, Section::Users, query)?;
        let reach = Reach::new(c, project.id, viewer, &[Class::User], &Limits::default())?;
        let mut ranked = lookup::rank(c, &project, &plan, &reach)?;
        let terms = plan.matched();
        let mut results = Vec::new();
        while results.len() < body.limit.0 && !ranked.is_at_end() {
            let candidates = ranked.next(c, &project, body.limit.0 - results.len())?;
            let ids: Vec<UserId> = candidates.iter().map(|one| UserId(one.doc.record_id)).collect();
            let rows = visible_users(c, &project, viewer, now, &ids)?;
            for one in candidates {
                let Some(row) = rows.get(&UserId(one.doc.record_id)) else { continue };
                let record = User::public(&links, row)?;
                let texts = [
                    ("name", record.name.as_deref()),
                    ("username", record.username.as_deref()),
                    ("bio", record.bio.as_deref()),
                ];
                let highlights = Highlight::all(&analyzer, &terms, &texts);
                results.push(UserSearchResult { similarity: one.similarity, record, highlights });
            }
        }
        results.truncate(body.limit.0);
        Ok::<_, crate::error::Error>(results)
    });
    found.await.map(Json)
}

/// Without users with a block between them and the viewer, and without suspended ones.
pub(super) fn visible_users(
    c: &Conn<'_>,
    project: &Project,
    viewer: Option<UserId>,
    now: Timestamp,
    ids: &[UserId],
) -> Result<HashMap<UserId, users::UserRow>> {
    let mut hidden: HashSet<UserId> =
        blocks::blocked_among(c, project, viewer, ids)?.into_iter().collect();
    if project.has(Bundle::Moderation) {
        hidden.extend(suspensions::suspended_among(c, project.id, ids, now)?);
    }
    let rows = users::find_all_public(c, project.id, ids)?;
    let visible = rows.into_iter().filter(|row| !hidden.contains(&row.id));
    Ok(visible.map(|row| (row.id, row)).collect())
}

#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct SpaceSearch {
    query: SearchText,
    #[serde(default)]
    limit: Limit<10>,
}

pub(super) async fn search_spaces(
    call: Call<OptionalViewer>,
    Body(body): Body<SpaceSearch>,
) -> Result<Json<Vec<SpaceSearchResult>>> {
    require_search(&call.project)?;
    let (project, viewer) = (call.project.clone(), call.caller.user());
    let view = View::new(&call, viewer);
    let found = call.app.db.read_slow(move |c| {
        let analyzer = Analyzer::new(project.search_language);
        let own = match viewer {
            Some(viewer) => scope::own_words(c, project.id, viewer)?,
            None => Vec::new(),
        };
        let own: Vec<&[u8]> = own.iter().map(Vec::as_slice).collect();
        let own = words::unpack(c, project.id, &own)?;
        let own: Vec<String> = own.into_iter().flatten().flatten().collect();
        let words = query_words(&analyzer, body.query.as_str());
        let plan = Plan::of_words(c, project.id, &analyzer, Section::Spaces, words, &own)?;
        let classes = [Class::OpenSpace, Class::ClosedSpace];
        let reach = Reach::new(c, project.id, viewer, &classes, &Limits::default())?;
        let mut ranked = lookup::rank(c, &project, &plan, &reach)?;
        let terms = plan.matched();
        let mut results = Vec::new();
        while results.len() < body.limit.0 && !ranked.is_at_end() {
            let candidates = ranked.next(c, &project, body.limit.0 - results.len())?;
            let similar: HashMap<SpaceId, f64> =
                candidates.iter().map(|one| (SpaceId(one.doc.record_id), one.similarity)).collect();
            let ids: Vec<SpaceId> =
                candidates.iter().map(|one| SpaceId(one.doc.record_id)).collect();
            let rows = visible_spaces(c, &project, viewer, &ids)?;
            for record in view.spaces(c, rows)? {
                let similarity = similar.get(&record.id).copied().unwrap_or_default();
                let texts = [
                    ("name", Some(record.name.as_str())),
                    ("slug", record.slug.as_deref()),
                    ("description", record.description.as_deref()),
                ];
                let highlights = Highlight::all(&analyzer, &terms, &texts);
                results.push(SpaceSearchResult { similarity, record, highlights });
            }
        }
        results.truncate(body.limit.0);
        Ok::<_, crate::error::Error>(results)
    });
    found.await.map(Json)
}

/// Public spaces, and those that the viewer belongs to, in the order of the ids.
fn visible_spaces(
    c: &Conn<'_>,
    project: &Project,
    viewer: Option<UserId>,
    ids: &[SpaceId],
) -> Result<Vec<spaces::SpaceRow>> {
    let joined = match viewer {
        Some(viewer) => members::joined(c, project.id, viewer, ids)?,
        None => HashSet::new(),
    };
    let mut rows = spaces::find_all(c, project.id, ids)?;
    rows.retain(|row| row.visibility == Visibility::Public || joined.contains(&row.id));
    let places: HashMap<SpaceId, usize> = ids.iter().copied().zip(0..).collect();
    rows.sort_by_key(|row| places.get(&row.id).copied());
    Ok(rows)
}
