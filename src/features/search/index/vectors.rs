//! Vectors of documents, made after their words are indexed: a provider that is slow or down never keeps content from being
//! found by its words. Documents are taken in the order of their numbers; a changed record has a new one.

use std::collections::HashMap;
use std::time::Duration;

use db::Conn;
use text_index::vectors::chunks;
use uuid::Uuid;

use crate::config::Model;
use crate::error::{Error, Result};
use crate::features::chat::messages::store as messages;
use crate::features::comments::store as comments;
use crate::features::entities::store as entities;
use crate::features::search::class::{Class, Section};
use crate::features::search::models::{Failure, embeddings};
use crate::features::search::store;
use crate::features::search::store::vectors::{self, NewVectors};
use crate::search_queue::Kind;
use crate::state::App;
use crate::values::ids::{ChatMessageId, CommentId, EntityId, ProjectId};

const EVERY: Duration = Duration::from_millis(500);
/// Until a provider that is down is asked again.
const PAUSE: Duration = Duration::from_secs(10);
/// Documents in one request.
const BATCH_SIZE: i64 = 32;
/// Longer than a request can take.
const CLAIM: Duration = Duration::from_secs(180);

/// Runs until the application drains; ends at once without a provider.
pub async fn work(app: App) {
    if app.config.models.embeddings.is_none() {
        return;
    }
    while !app.is_draining() {
        let pause = match run_due(&app).await {
            Ok(()) => EVERY,
            Err(error) => {
                tracing::warn!(%error, "vectors for search could not be made");
                PAUSE
            }
        };
        tokio::select! {
            () = tokio::time::sleep(pause) => {}
            () = app.draining() => {}
        }
    }
}

async fn run_due(app: &App) -> Result<()> {
    let Some(model) = app.config.models.embeddings.clone() else { return Ok(()) };
    loop {
        let name = model.name.clone();
        let mut is_done = true;
        for project in app.db.read(move |c| vectors::due(c, &name)).await? {
            is_done &= !run_project(app, &model, project).await?;
            if app.is_draining() {
                return Ok(());
            }
        }
        if is_done {
            return Ok(());
        }
    }
}

/// Everything that waits of one project.
pub async fn catch_up(app: &App, project: ProjectId) -> Result<()> {
    let Some(model) = app.config.models.embeddings.clone() else { return Ok(()) };
    while run_project(app, &model, project).await? {}
    Ok(())
}

/// A document whose vectors are to be made.
#[derive(Debug)]
struct Waiting {
    number: i64,
    class: i64,
    text: String,
}

/// One batch; false if nothing waits, or another node is at it.
async fn run_project(app: &App, model: &Model, project: ProjectId) -> Result<bool> {
    let Some(state) = app.db.read(move |c| vectors::state(c, project)).await? else {
        return Ok(false);
    };
    if state.vector_model.as_deref() != Some(&model.name) {
        let name = model.name.clone();
        let begun = app.db.write(move |tx| {
            store::state::lock(tx, project)?;
            vectors::start_over(tx, project, &name)
        });
        begun.await?;
        return Ok(true);
    }
    let (from, with_messages) = (state.vectors_to, app.config.models.read_messages);
    let found = app.db.read_slow(move |c| waiting(c, project, from, with_messages));
    let Some((to, documents)) = found.await? else { return Ok(false) };
    let now = app.clock.now();
    if !app.db.write(move |tx| vectors::claim(tx, project, now, now.plus(CLAIM))).await? {
        return Ok(false);
    }
    let made = make(app, model, documents).await;
    let name = model.name.clone();
    let stored = app.db.write(move |tx| {
        vectors::release(tx, project)?;
        match &made {
            Ok(made) => keep(tx, project, &name, (from, to), made).map(|()| None),
            Err(failure) => Ok::<_, Error>(Some(*failure)),
        }
    });
    stored.await?.map_or(Ok(true), |failure| Err(Error::internal(failure.to_string())))
}

/// Stores vectors of documents that are still there.
fn keep(
    tx: &db::Tx<'_>,
    project: ProjectId,
    model: &str,
    (from, to): (i64, i64),
    made: &[NewVectors],
) -> Result<()> {
    // Another node may have been faster, or have begun anew with another model.
    if store::state::lock(tx, project)?.is_none()
        || !vectors::advance(tx, project, model, from, to)?
    {
        return Ok(());
    }
    let numbers: Vec<i64> = made.iter().map(|one| one.number).collect();
    let there = store::docs(tx, project, &numbers)?;
    let live: Vec<&NewVectors> =
        made.iter().filter(|one| there.iter().any(|doc| doc.number == one.number)).collect();
    vectors::add(tx, project, &live)
}

/// The next documents with a text that models may read, and the last number that was looked at; none at the end.
fn waiting(
    c: &Conn<'_>,
    project: ProjectId,
    after: i64,
    with_messages: bool,
) -> Result<Option<(i64, Vec<Waiting>)>> {
    let rows = store::docs_after(c, project, after, BATCH_SIZE)?;
    let Some((last, ..)) = rows.last().copied() else { return Ok(None) };
    let is_read = |class: &Class| {
        class.section() == Section::Content && (with_messages || *class != Class::Message)
    };
    let of = |kind: Kind| -> Vec<Uuid> {
        let those = rows.iter().filter(|(_, class, _)| {
            Class::from_number(*class).is_some_and(|class| class.kind() == kind && is_read(&class))
        });
        those.map(|(_, _, record)| *record).collect()
    };
    let mut texts: HashMap<Uuid, String> = HashMap::new();
    let ids: Vec<EntityId> = of(Kind::Entity).into_iter().map(EntityId).collect();
    for row in entities::find_all(c, project, &ids)? {
        let parts = [row.title.unwrap_or_default(), row.content.unwrap_or_default()];
        texts.insert(row.id.0, parts.join("\n\n"));
    }
    let ids: Vec<CommentId> = of(Kind::Comment).into_iter().map(CommentId).collect();
    for row in comments::find_all(c, project, &ids)? {
        texts.insert(row.id.0, row.content.unwrap_or_default());
    }
    let ids: Vec<ChatMessageId> = of(Kind::Message).into_iter().map(ChatMessageId).collect();
    for row in messages::find_all(c, project, &ids)? {
        texts.insert(row.id.0, row.content.unwrap_or_default());
    }
    let documents = rows.into_iter().filter_map(|(number, class, record)| {
        let text = texts.remove(&record)?;
        Some(Waiting { number, class, text })
    });
    Ok(Some((last, documents.collect())))
}

/// If the provider refuses a request, each document is sent alone, and left without vectors if it is refused again.
async fn make(
    app: &App,
    model: &Model,
    documents: Vec<Waiting>,
) -> Result<Vec<NewVectors>, Failure> {
    let documents: Vec<&Waiting> =
        documents.iter().filter(|one| !one.text.trim().is_empty()).collect();
    if documents.is_empty() {
        return Ok(Vec::new());
    }
    match together(app, model, &documents).await {
        Err(Failure::Refused(_)) => {}
        made => return made,
    }
    let mut all = Vec::new();
    for one in documents {
        match together(app, model, &[one]).await {
            Err(Failure::Refused(_)) => {}
            made => all.extend(made?),
        }
    }
    Ok(all)
}

async fn together(
    app: &App,
    model: &Model,
    documents: &[&Waiting],
) -> Result<Vec<NewVectors>, Failure> {
    let parts: Vec<Vec<&str>> = documents.iter().map(|one| chunks(&one.text)).collect();
    let made = embeddings::of_texts(app, model, &parts.concat()).await?;
    let mut made = made.into_iter();
    let each = documents.iter().zip(&parts).map(|(one, parts)| NewVectors {
        number: one.number,
        class: one.class,
        chunks: made.by_ref().take(parts.len()).collect(),
    });
    Ok(each.collect())
}
