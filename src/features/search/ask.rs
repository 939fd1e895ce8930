//! Ask: an answer from found content, streamed as server-sent events. By default it quotes the sentences that reply best,
//! as they were written, each with the number of its source; where the operator has named a model, the model answers from
//! what was found.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, PoisonError};

use serde::Serialize;
use serde_json::json;
use text_index::{Analyzer, Bm25, Language, passages};
use uuid::Uuid;

use crate::auth::caller::OptionalViewer;
use crate::config::Model;
use crate::error::{Error, Exceeded, Result, WindowState};
use crate::features::search::class::Section;
use crate::features::search::content::{ContentSearch, FoundContent, Search};
use crate::features::search::model::ContentSearchResult;
use crate::features::search::models::Failure;
use crate::features::search::models::answers::{ModelAnswer, Piece};
use crate::features::search::rules::SourceType;
use crate::features::search::{UNAVAILABLE, require_search, store};
use crate::features::users::reputation::ReputationQuery;
use crate::http::events::{self, Events, Sender};
use crate::http::input::{Body, Query};
use crate::http::operation::Call;
use crate::state::App;
use crate::values::ids::{ProjectId, UserId};

/// Below this similarity nothing was found.
const THRESHOLD: f64 = 0.15;
/// Sentences in an answer that quotes.
const SENTENCES: usize = 5;
/// Sources that a model is given.
const MAX_SOURCES: usize = 8;
const NOTHING: &str = "Nothing relevant was found.";
const FAILED: &str = "The answer could not be finished";

#[derive(Debug, Serialize)]
struct Token<'a> {
    content: &'a str,
}

pub(super) async fn ask(
    call: Call<OptionalViewer>,
    (Query(reputation), Body(body)): (Query<ReputationQuery>, Body<ContentSearch>),
) -> Result<Events> {
    require_search(&call.project)?;
    let (app, project) = (call.app.clone(), call.project.clone());
    let question = body.query.as_str().to_owned();
    let model = app.config.models.answers.clone();
    let turn = if model.is_some() { Turn::take(&call)? } else { None };
    let mut search = Search::new(&call, &reputation, body)?;
    if model.is_some() && !app.config.models.read_messages {
        search = search.without_messages();
    }
    let search = Arc::new(search.with_meaning(&app).await);
    let searching = Arc::clone(&search);
    let found = app.db.read_slow(move |c| {
        let state = store::state::find(c, project.id)?;
        if state.is_none_or(|state| !state.is_filled) {
            return Err(Error::from(UNAVAILABLE));
        }
        let mut found = searching.run(c)?;
        found.results.retain(|result| result.similarity >= THRESHOLD);
        let statistics = store::statistics(c, project.id, Section::Content)?;
        Ok((found, Bm25::new(statistics)))
    });
    let (found, bm25) = found.await?;
    let asked = Asked { app, model, question, search, language: call.project.search_language };
    let (sender, events) = events::channel();
    tokio::spawn(async move {
        let _turn = turn;
        tokio::select! {
            // With the client everything goes that is made for it.
            () = sender.closed() => {}
            replied = asked.reply(&sender, found, &bm25) => {
                if let Err(error) = replied {
                    tracing::error!(error = error.chain(), "an answer could not be sent");
                    let _ = sender.send("error", &json!({ "error": FAILED })).await;
                }
            }
        }
    });
    Ok(events)
}

/// A question, and what is needed to answer it.
struct Asked {
    app: App,
    model: Option<Model>,
    question: String,
    search: Arc<Search>,
    language: Language,
}

impl Asked {
    async fn reply(&self, sender: &Sender, found: FoundContent, bm25: &Bm25) -> Result<()> {
        if let Some(model) = self.model.as_ref().filter(|_| !found.results.is_empty()) {
            match self.begin(sender, model, &found.results).await {
                Ok((answer, first)) => return self.stream(sender, answer, first, found).await,
                // Nothing has been sent yet: a quotation is better than nothing.
                Err(failure) => {
                    tracing::warn!(%failure, "a question is answered without the model");
                }
            }
        }
        Answer::new(self.language, found, bm25).send(sender).await
    }

    /// The model's answer up to its first words.
    async fn begin(
        &self,
        sender: &Sender,
        model: &Model,
        results: &[ContentSearchResult],
    ) -> Result<(ModelAnswer, Piece), Failure> {
        let texts = results.iter().take(MAX_SOURCES).map(text).collect();
        let begun = async {
            let mut answer = ModelAnswer::begin(&self.app, model, &self.question, texts).await?;
            let first = answer.next().await?;
            Ok((answer, first))
        };
        sender.waiting_for(&self.app.clock, begun).await
    }

    async fn stream(
        &self,
        sender: &Sender,
        mut answer: ModelAnswer,
        first: Piece,
        found: FoundContent,
    ) -> Result<()> {
        let mut piece = first;
        while let Piece::Text(content) = &piece {
            sender.send("token", &Token { content }).await?;
            piece = match sender.waiting_for(&self.app.clock, answer.next()).await {
                Ok(next) => next,
                Err(failure) => {
                    tracing::warn!(%failure, "a model's answer broke off");
                    sender.send("error", &json!({ "error": FAILED })).await?;
                    return Ok(());
                }
            };
        }
        let mut sources = found.results;
        sources.truncate(MAX_SOURCES);
        // The answer took its time: what was taken away meanwhile is not shown.
        let records: Vec<(SourceType, Uuid)> =
            sources.iter().map(|source| (source.source_type, source.record.id())).collect();
        let search = Arc::clone(&self.search);
        if !self.app.db.read_slow(move |c| search.still_sees(c, &records)).await? {
            let error = "A source of this answer has been withdrawn";
            sender.send("error", &json!({ "error": error })).await?;
            return Ok(());
        }
        sender.send("sources", &sources).await?;
        sender.send("done", &json!({})).await?;
        Ok(())
    }
}

/// Who is being answered by a model, on this node.
#[derive(Debug, Default)]
struct Asking(Mutex<HashSet<(ProjectId, Asker)>>);

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Asker {
    User(UserId),
    Network(u128),
}

/// One question at a time.
struct Turn {
    asking: Arc<Asking>,
    key: (ProjectId, Asker),
}

impl Turn {
    /// None for a key, which may ask as often as it likes.
    fn take(call: &Call<OptionalViewer>) -> Result<Option<Turn>> {
        let asker = match call.caller {
            OptionalViewer::User(user) => Some(Asker::User(user)),
            OptionalViewer::Anonymous => call.network().map(Asker::Network),
            OptionalViewer::Key(_) => None,
        };
        let Some(asker) = asker else { return Ok(None) };
        let (asking, key) = (call.app.features.get::<Asking>(), (call.project.id, asker));
        if !asking.0.lock().unwrap_or_else(PoisonError::into_inner).insert(key) {
            let window = WindowState { limit: 1, remaining: 0, reset: 1 };
            let text = "Another question is still being answered";
            return Err(Error::RateLimited(Exceeded { window, text }));
        }
        Ok(Some(Turn { asking, key }))
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        self.asking.0.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.key);
    }
}

/// An answer that quotes.
#[derive(Debug)]
struct Answer {
    /// Sentences with the marks of their sources.
    sentences: Vec<String>,
    sources: Vec<ContentSearchResult>,
}

impl Answer {
    fn new(language: Language, found: FoundContent, bm25: &Bm25) -> Self {
        let FoundContent { results, plan } = found;
        let alternatives = plan.words.iter().flatten();
        let weights: HashMap<String, f32> = alternatives
            .map(|one| (one.term.clone(), one.weight * bm25.idf(one.frequency)))
            .collect();
        let texts: Vec<String> = results.iter().map(text).collect();
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        let analyzer = Analyzer::new(language);
        let best = passages::best(&analyzer, &texts, &weights, SENTENCES);
        // Only what is quoted is a source, in the order of the marks.
        let mut marks: Vec<usize> = Vec::new();
        let mut sentences = Vec::new();
        for passage in best {
            let known = marks.iter().position(|source| *source == passage.source);
            let mark = known.unwrap_or_else(|| {
                marks.push(passage.source);
                marks.len() - 1
            });
            sentences.push(format!("{} [{}]", passage.sentence, mark + 1));
        }
        let mut results: Vec<Option<ContentSearchResult>> = results.into_iter().map(Some).collect();
        let sources = marks.into_iter().filter_map(|mark| results.get_mut(mark)?.take()).collect();
        Answer { sentences, sources }
    }

    async fn send(self, sender: &Sender) -> Result<()> {
        let text = self.sentences.join(" ");
        let pieces: Vec<&str> = match text.is_empty() {
            true => vec![NOTHING],
            false => text.split_inclusive(' ').collect(),
        };
        for content in pieces {
            if !sender.send("token", &Token { content }).await? {
                return Ok(());
            }
        }
        if sender.send("sources", &self.sources).await? {
            sender.send("done", &json!({})).await?;
        }
        Ok(())
    }
}

/// The text of a result that an answer is made from.
fn text(result: &ContentSearchResult) -> String {
    let texts = result.record.texts().into_iter().filter_map(|(_, text)| text);
    texts.collect::<Vec<_>>().join("\n\n")
}
