//! Match Users: people who write about what the caller writes about (`passive`), or about a query (`directed`). An
//! interest is a term, or the query; a facet is what one user wrote about it.

mod find;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::auth::caller::Viewer;
use crate::error::{Result, faults};
use crate::features::search::require_search;
use crate::features::search::rules::{Limit, SearchText, SourceType};
use crate::features::users::model::User;
use crate::http::input::Body;
use crate::http::operation::Call;
use crate::http::reply::Json;
use crate::values::ids::{FacetId, RecordId, SpaceId};

use find::Matching;

faults! {
    pub INVALID_BODY = 400 "match/invalid-body": "Invalid body";
    pub USER_REQUIRED = 401 "auth/user-required": "A user is required";
    pub INTEREST_MATCHING_DISABLED = 403 "project/interest-matching-disabled":
        "Interest matching is switched off for this project";
    pub SAMPLE_CONTENT_DISABLED = 403 "match/sample-content-disabled":
        "Samples of content are switched off for this project";
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
enum Mode {
    Passive,
    Directed,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct MatchRequest {
    mode: Mode,
    /// Required in `directed`, refused in `passive`.
    query: Option<SearchText>,
    #[serde(default)]
    limit: Limit<20>,
    space_id: Option<SpaceId>,
    include_child_spaces: Option<bool>,
    include_sample_content: Option<bool>,
    exclude_self: Option<bool>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Matches {
    results: Vec<UserMatch>,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct UserMatch {
    user: User,
    score: f64,
    matched_facets: Vec<MatchedFacet>,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct MatchedFacet {
    similarity: f64,
    /// Absent in `directed`, and for a caller who has written nothing yet.
    #[serde(skip_serializing_if = "Option::is_none")]
    asker_facet: Option<Facet>,
    candidate_facet: Facet,
    #[serde(skip_serializing_if = "Option::is_none")]
    sample_content: Option<Vec<SampleContent>>,
}

/// What a user wrote about one thing. `hotness`: how much and how recently, up to 1.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub(super) struct Facet {
    id: FacetId,
    hotness: f64,
}

#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct SampleContent {
    source_type: SourceType,
    record_id: RecordId,
    content: String,
    similarity: f64,
}

pub(super) async fn match_users(
    call: Call<Viewer>,
    Body(body): Body<MatchRequest>,
) -> Result<Json<Matches>> {
    match (body.mode, &body.query) {
        (Mode::Directed, None) => return Err(INVALID_BODY.because("query: required")),
        (Mode::Passive, Some(_)) => {
            return Err(INVALID_BODY.because("query: only in the mode directed"));
        }
        _ => {}
    }
    require_search(&call.project)?;
    if !call.project.interest_matching {
        return Err(INTEREST_MATCHING_DISABLED.into());
    }
    if body.include_sample_content == Some(true) && !call.project.interest_samples {
        return Err(SAMPLE_CONTENT_DISABLED.into());
    }
    let matching = Matching {
        app: call.app.clone(),
        project: call.project.clone(),
        asker: call.caller.user,
        now: call.now,
        links: call.links(),
        body,
    };
    let found = call.app.db.read_slow(move |c| matching.run(c));
    found.await.map(|results| Json(Matches { results }))
}
