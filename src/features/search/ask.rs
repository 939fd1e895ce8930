//! Ask: the sentences of found content that reply best to a question, as they were written, each with the number of its
//! source. They are streamed as server-sent events.

use std::collections::HashMap;

use serde::Serialize;
use serde_json::json;
use text_index::{Analyzer, Bm25, Language, passages};

use crate::auth::caller::OptionalViewer;
use crate::error::{Error, Result};
use crate::features::search::class::Section;
use crate::features::search::content::{ContentSearch, FoundContent, Search};
use crate::features::search::model::ContentSearchResult;
use crate::features::search::{UNAVAILABLE, require_search, store};
use crate::features::users::reputation::ReputationQuery;
use crate::http::events::{self, Events, Sender};
use crate::http::input::{Body, Query};
use crate::http::operation::Call;

/// Below this similarity nothing was found.
const THRESHOLD: f64 = 0.15;
/// Sentences in an answer.
const SENTENCES: usize = 5;
const NOTHING: &str = "Nothing relevant was found.";

#[derive(Debug, Serialize)]
struct Token<'a> {
    content: &'a str,
}

pub(super) async fn ask(
    call: Call<OptionalViewer>,
    (Query(reputation), Body(body)): (Query<ReputationQuery>, Body<ContentSearch>),
) -> Result<Events> {
    require_search(&call.project)?;
    let search = Search::new(&call, &reputation, body)?;
    let project = call.project.clone();
    let found = call.app.db.read_slow(move |c| {
        let state = store::state(c, project.id)?;
        if state.is_none_or(|state| !state.is_filled) {
            return Err(Error::from(UNAVAILABLE));
        }
        let found = search.run(c)?;
        let statistics = store::statistics(c, project.id, Section::Content)?;
        Ok((found, Bm25::new(statistics)))
    });
    let (found, bm25) = found.await?;
    let answer = Answer::new(call.project.search_language, found, &bm25);
    let (sender, events) = events::channel();
    // The task ends when the client is gone: then nothing can be sent any more.
    tokio::spawn(async move {
        if let Err(error) = answer.send(&sender).await {
            tracing::error!(error = error.chain(), "an answer could not be sent");
            let _ = sender.send("error", &json!({ "error": "The answer could not be sent" })).await;
        }
    });
    Ok(events)
}

#[derive(Debug)]
struct Answer {
    /// Sentences with the marks of their sources.
    sentences: Vec<String>,
    sources: Vec<ContentSearchResult>,
}

impl Answer {
    fn new(language: Language, found: FoundContent, bm25: &Bm25) -> Self {
        let FoundContent { mut results, plan } = found;
        results.retain(|result| result.similarity >= THRESHOLD);
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

/// The text of a result that sentences are taken from.
fn text(result: &ContentSearchResult) -> String {
    let texts = result.record.texts().into_iter().filter_map(|(_, text)| text);
    texts.collect::<Vec<_>>().join("\n\n")
}
