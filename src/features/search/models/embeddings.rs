//! Vectors from texts. While the provider is down, it is asked only now and then, so that no search waits for it.

use std::sync::Mutex;
use std::time::Duration;

use http_body_util::{BodyExt as _, Limited};
use serde::Deserialize;
use serde_json::json;
use text_index::vectors::QueryVector;

use super::{Client, Failure};
use crate::config::Model;
use crate::features::search::store;
use crate::state::App;
use crate::values::ids::ProjectId;

/// A search goes on without the vector of its query after this time.
const QUERY_TIMEOUT: Duration = Duration::from_secs(2);
const BATCH_TIMEOUT: Duration = Duration::from_secs(60);
/// How long a provider that was down is left alone.
const REST: Duration = Duration::from_secs(10);
const MAX_REPLY: usize = 32 * 1024 * 1024;
const MAX_DIMENSIONS: usize = 8192;

#[derive(Deserialize)]
struct Reply {
    data: Vec<Embedding>,
}

#[derive(Deserialize)]
struct Embedding {
    index: Option<usize>,
    embedding: Vec<f32>,
}

/// Until when the provider is left alone, in the time since the start.
#[derive(Debug, Default)]
struct RestingUntil(Mutex<Duration>);

/// One vector for each text, in their order, all of the same dimensions.
pub async fn of_texts(app: &App, model: &Model, texts: &[&str]) -> Result<Vec<Vec<f32>>, Failure> {
    let asked = app.clock.timeout(BATCH_TIMEOUT, ask(app, model, texts)).await;
    asked.unwrap_or(Err(Failure::Late))
}

/// The vector of what somebody searches for; none without a provider, while it is down, and where there are no vectors
/// to compare it with.
pub async fn of_query(app: &App, project: ProjectId, text: &str) -> Option<QueryVector> {
    let model = app.config.models.embeddings.as_ref()?;
    let state = app.db.read(move |c| store::state::find(c, project)).await.ok()??;
    if state.vector_model.as_deref() != Some(&model.name) {
        return None;
    }
    let resting = app.features.get::<RestingUntil>();
    let lock = || resting.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let now = app.clock.uptime();
    if now < *lock() {
        return None;
    }
    let asked = app.clock.timeout(QUERY_TIMEOUT, ask(app, model, &[text])).await;
    match asked.unwrap_or(Err(Failure::Late)) {
        Ok(vectors) => vectors.into_iter().next().map(QueryVector::new),
        Err(Failure::Refused(_)) => None,
        Err(failure) => {
            *lock() = now + REST;
            tracing::warn!(%failure, "search goes on without the model for embeddings");
            None
        }
    }
}

async fn ask(app: &App, model: &Model, texts: &[&str]) -> Result<Vec<Vec<f32>>, Failure> {
    let client = app.features.get::<Client>();
    let document = json!({ "model": model.name, "input": texts, "encoding_format": "float" });
    let reply = client.post(&app.clock, model, "application/json", &document).await?;
    let body = Limited::new(reply.into_body(), MAX_REPLY).collect().await;
    let body = body.map_err(|_| Failure::Unreadable)?.to_bytes();
    let Reply { mut data } = serde_json::from_slice(&body).map_err(|_| Failure::Unreadable)?;
    data.sort_by_key(|one| one.index);
    let vectors: Vec<Vec<f32>> = data.into_iter().map(|one| one.embedding).collect();
    let dimensions = vectors.first().map_or(0, Vec::len);
    let fits = |vector: &Vec<f32>| {
        vector.len() == dimensions && vector.iter().all(|value| value.is_finite())
    };
    let is_whole = vectors.len() == texts.len() && vectors.iter().all(fits);
    if is_whole && (1..=MAX_DIMENSIONS).contains(&dimensions) {
        Ok(vectors)
    } else {
        Err(Failure::Unreadable)
    }
}
