//! Search Content: entities, comments and messages.

use std::collections::HashMap;

use db::Conn;
use schemars::JsonSchema;
use serde::Deserialize;
use text_index::Analyzer;
use uuid::Uuid;

use crate::auth::caller::OptionalViewer;
use crate::auth::perspective::Perspective;
use crate::error::Result;
use crate::features::chat;
use crate::features::chat::conversations::store as conversations;
use crate::features::comments;
use crate::features::entities;
use crate::features::search::class::Section;
use crate::features::search::guard::{Guard, Hit, Row};
use crate::features::search::lookup::{self, Limits, Meaning, Plan, Reach};
use crate::features::search::model::{ContentSearchResult, FoundRecord, Highlight};
use crate::features::search::models::embeddings;
use crate::features::search::rules::{Limit, SearchText, SourceType, SourceTypes};
use crate::features::search::store::scope;
use crate::features::search::{INVALID_QUERY, require_search};
use crate::features::users::reputation::{Bucket, ReputationQuery};
use crate::http::include::Include;
use crate::http::input::{Body, Query};
use crate::http::operation::Call;
use crate::http::reply::Json;
use crate::state::App;
use crate::storage::signed::Links;
use crate::values::ids::{ConversationId, SpaceId};

#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct ContentSearch {
    pub query: SearchText,
    #[serde(default)]
    source_types: Option<SourceTypes>,
    space_id: Option<SpaceId>,
    /// With `spaceId`: all spaces below it, too.
    include_child_spaces: Option<bool>,
    /// Limits messages; other kinds are found as without it.
    conversation_id: Option<ConversationId>,
    include_nsfw: Option<bool>,
    #[serde(default)]
    pub limit: Limit<20>,
}

pub(super) async fn search_content(
    call: Call<OptionalViewer>,
    (Query(reputation), Body(body)): (Query<ReputationQuery>, Body<ContentSearch>),
) -> Result<Json<Vec<ContentSearchResult>>> {
    require_search(&call.project)?;
    let search = Search::new(&call, &reputation, body)?.with_meaning(&call.app).await;
    let found = call.app.db.read_slow(move |c| search.run(c).map(|found| found.results));
    found.await.map(Json)
}

/// A search for content, as one caller asks for it.
#[derive(Debug)]
pub(super) struct Search {
    body: ContentSearch,
    views: Views,
    perspective: Perspective,
    /// Of the query, where a model can say it.
    meaning: Option<Meaning>,
}

/// What was found, and by which terms.
#[derive(Debug)]
pub(super) struct FoundContent {
    pub results: Vec<ContentSearchResult>,
    pub plan: Plan,
}

impl Search {
    pub fn new(
        call: &Call<OptionalViewer>,
        reputation: &ReputationQuery,
        body: ContentSearch,
    ) -> Result<Self> {
        let bucket = reputation.bucket_or_context(&call.project, INVALID_QUERY)?;
        // A key has no user: it finds what anybody may read.
        let perspective = call.caller.user().map_or(Perspective::Anonymous, Perspective::User);
        let views = Views::new(call, perspective, bucket);
        Ok(Search { body, views, perspective, meaning: None })
    }

    pub async fn with_meaning(self, app: &App) -> Self {
        let project = self.views.entities.project.id;
        let query = embeddings::of_query(app, project, self.body.query.as_str()).await;
        let unrelated = app.config.models.unrelated;
        Search { meaning: query.map(|query| Meaning { query, unrelated }), ..self }
    }

    pub fn without_messages(mut self) -> Self {
        self.body.source_types =
            Some(self.body.source_types.unwrap_or_default().without_messages());
        self
    }

    pub fn run(&self, c: &Conn<'_>) -> Result<FoundContent> {
        let (project, body) = (&self.views.entities.project, &self.body);
        let analyzer = Analyzer::new(project.search_language);
        let query = body.query.as_str();
        let plan = Plan::new(c, project.id, &analyzer, Section::Content, query)?;
        let spaces = match (body.space_id, body.include_child_spaces) {
            (Some(space), Some(true)) => Some(scope::subtree(c, project.id, space)?),
            (space, _) => space.map(|space| vec![space]),
        };
        let limits = Limits { spaces, conversation: body.conversation_id };
        let classes = body.source_types.clone().unwrap_or_default().classes();
        let viewer = self.perspective.viewer();
        let reach = Reach::new(c, project.id, viewer, &classes, &limits)?;
        let guard = self.guard(&limits);
        let limit = body.limit.0;
        let hits = match &self.meaning {
            None => guard.take(c, &mut lookup::rank(c, project, &plan, &reach)?, limit)?,
            Some(meaning) => {
                let mut ranked = lookup::rank_by_meaning(c, project, &plan, &reach, meaning)?;
                let hits = guard.take(c, &mut ranked, Meaning::candidates(limit))?;
                meaning.refine(c, project, &ranked, hits, limit)?
            }
        };
        let mut results = self.views.show(c, hits)?;
        let terms = plan.matched();
        for result in &mut results {
            result.highlights = Highlight::all(&analyzer, &terms, &result.record.texts());
        }
        Ok(FoundContent { results, plan })
    }

    fn guard<'a>(&'a self, limits: &'a Limits) -> Guard<'a> {
        let nsfw = self.body.include_nsfw == Some(true);
        Guard { project: &self.views.entities.project, perspective: self.perspective, limits, nsfw }
    }

    /// Whether the caller may still see all of these.
    pub fn still_sees(&self, c: &Conn<'_>, records: &[(SourceType, Uuid)]) -> Result<bool> {
        self.guard(&Limits::default()).sees(c, records)
    }
}

/// How each kind of content is shown.
#[derive(Debug)]
struct Views {
    entities: entities::show::View,
    comments: comments::show::View,
    links: Links,
    bucket: Option<Bucket>,
}

impl Views {
    fn new(call: &Call<OptionalViewer>, perspective: Perspective, bucket: Option<Bucket>) -> Self {
        let viewer = perspective.viewer();
        let include = Include::default().and("user").and("entity");
        let comments = comments::show::View::asked(call, perspective, viewer, &include);
        Views {
            entities: entities::show::View::written(call, viewer).with_points(bucket),
            comments: comments.with_points(bucket),
            links: call.links(),
            bucket,
        }
    }

    /// In the order of the hits.
    fn show(&self, c: &Conn<'_>, hits: Vec<Hit>) -> Result<Vec<ContentSearchResult>> {
        let order: Vec<(Uuid, f64)> = hits.iter().map(|hit| (hit.id(), hit.similarity)).collect();
        let (mut entities, mut comments, mut messages) = (Vec::new(), Vec::new(), Vec::new());
        for hit in hits {
            match hit.row {
                Row::Entity(row) => entities.push(*row),
                Row::Comment(row) => comments.push(*row),
                Row::Message(row) => messages.push(*row),
            }
        }
        let mut shown: HashMap<Uuid, (SourceType, FoundRecord)> = HashMap::new();
        for entity in self.entities.entities(c, entities)? {
            let (id, record) = (entity.id.0, FoundRecord::Entity(Box::new(entity)));
            shown.insert(id, (SourceType::Entity, record));
        }
        for comment in self.comments.comments(c, comments)? {
            let (id, record) = (comment.id.0, FoundRecord::Comment(Box::new(comment)));
            shown.insert(id, (SourceType::Comment, record));
        }
        for message in self.messages(c, messages)? {
            let (id, record) = (message.id.0, FoundRecord::Message(Box::new(message)));
            shown.insert(id, (SourceType::Message, record));
        }
        let results = order.into_iter().filter_map(|(id, similarity)| {
            let (source_type, record) = shown.remove(&id)?;
            Some(ContentSearchResult { source_type, similarity, record, highlights: Vec::new() })
        });
        Ok(results.collect())
    }

    /// Points of authors may depend on the space of the conversation.
    fn messages(
        &self,
        c: &Conn<'_>,
        rows: Vec<chat::messages::store::MessageRow>,
    ) -> Result<Vec<chat::model::ChatMessage>> {
        if rows.is_empty() {
            return Ok(Vec::new());
        }
        let mut of: Vec<ConversationId> = rows.iter().map(|row| row.conversation_id).collect();
        of.sort_unstable();
        of.dedup();
        let of = conversations::find_all(c, self.links.project, &of)?;
        let space = |id| of.iter().find(|one| one.id == id).and_then(|one| one.space_id);
        let mut by_space: HashMap<Option<SpaceId>, Vec<_>> = HashMap::new();
        for row in rows {
            by_space.entry(space(row.conversation_id)).or_default().push(row);
        }
        let mut shown = Vec::new();
        for (space, rows) in by_space {
            let view = chat::show::View {
                links: self.links.clone(),
                viewer: self.comments.perspective.viewer(),
                with_files: true,
                with_grants: None,
                points: self.bucket.map(|bucket| (bucket, space)),
            };
            shown.extend(view.messages(c, rows)?);
        }
        Ok(shown)
    }
}

impl Hit {
    fn id(&self) -> Uuid {
        match &self.row {
            Row::Entity(row) => row.id.0,
            Row::Comment(row) => row.id.0,
            Row::Message(row) => row.id.0,
        }
    }
}
