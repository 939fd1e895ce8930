//! Lists of events: the first page of few and of many.

use std::path::Path;

use db::{Command, args};
use townhall::features::events::store::recount;
use uuid::Uuid;

use crate::alone::{Alone, Latencies};
use crate::clock::Span;
use crate::fixture::text;
use crate::server::get;
use crate::store::Engine;

const BATCH: usize = 5_000;
/// Milliseconds: two years before now and two after.
const SPAN: i64 = 4 * 365 * 86_400_000;
const LISTS: [&str; 4] =
    ["", "timeWindow=upcoming", "timeWindow=past&sortDir=desc", "sortBy=going&sortDir=desc"];

pub const HEAD: &str = "| engine | events | all, p50 / p99 ms | upcoming | past | most guests |\n|---|---|---|---|---|---|\n";

/// One line of Markdown.
pub async fn measure(
    engine: Engine,
    count: usize,
    program: &Path,
    span: Span,
) -> Result<String, String> {
    let name = engine.name();
    let alone = Alone::create(engine).await?;
    eprintln!("{name}: writing {count} events");
    seed(&alone, count).await?;
    let project = alone.project;
    let lists = LISTS.map(|query| vec![get(&format!("/v8/{project}/events?{query}"))]);
    let measured = alone.measure(program, span, 1, lists.to_vec()).await?;
    let latencies: Vec<String> = measured.iter().map(Latencies::text).collect();
    alone.db.close().await;
    Ok(format!("| {name} | {count} | {} |\n", latencies.join(" | ")))
}

/// Half of them over by now; a tenth for those who are invited.
async fn seed(alone: &Alone, count: usize) -> Result<(), String> {
    let (project, now) = (alone.project, alone.now.millis());
    let all = i64::try_from(count.max(1)).map_err(|error| error.to_string())?;
    for begin in (0..count).step_by(BATCH) {
        let end = count.min(begin + BATCH);
        let written = alone.db.write(move |tx| {
            let event = Command::<()>::built("bench::event", EVENT.to_owned());
            let body = Command::<()>::built("bench::event_body", BODY.to_owned());
            for n in begin..end {
                let id = Uuid::from_u128(n as u128 + 1);
                let place = i64::try_from(n).unwrap_or_default();
                let start = now - SPAN / 2 + place * (SPAN / all);
                let kind = ["online", "physical", "hybrid"][n % 3];
                let visibility = if n % 10 == 0 { "invite" } else { "public" };
                tx.pipeline(&event, args![project, id, start, kind, visibility, place % 100])?;
                tx.pipeline(&body, args![project, id])?;
            }
            Ok::<_, townhall::error::Error>(())
        });
        written.await.map_err(text)?;
    }
    let counted = alone.db.write(move |tx| recount::repair_totals(tx, project, project));
    counted.await.map_err(text)?;
    alone.db.execute_script("{analyze}").map_err(|error| error.to_string())
}

const EVENT: &str =
    "INSERT INTO events (project_id, id, title, start_time, end_time, length_class, type, latitude,
        longitude, visibility, status, allow_maybe, guest_list_visible, going_count, maybe_count,
        not_going_count, invite_count, revision, created_at, updated_at)
     VALUES ($1, $2, 'Meetup', CAST($3 AS {int}), CAST($3 AS {int}) + 3600000, 6, $4, 10, 10, $5,
        'active', TRUE, TRUE, $6, 0, 0, 0, 0, CAST($3 AS {int}), CAST($3 AS {int}))";
const BODY: &str = "INSERT INTO event_bodies (project_id, id, metadata) VALUES ($1, $2, '{}')";
