//! Many deliveries that wait for an endpoint: how fast a server sends them, and whether its memory stays the same.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::Duration;

use serde_json::json;
use serde_json::value::to_raw_value;
use townhall::auth::sealed::Sealer;
use townhall::error::Error;
use townhall::features::webhooks::deliver::Delivery;
use townhall::jobs;
use townhall::values::ids::{JobId, QueueId, new_id};
use townhall::values::random::Random;

use crate::alone::Alone;
use crate::clock::now;
use crate::fixture::text;
use crate::server::{SECRET, Server};
use crate::store::Engine;
use crate::usage::{Cpu, peak_bytes, resident_bytes};
use crate::webhooks::{EVENT, endpoint, subscribe};

const BATCH: usize = 5_000;
const PAUSE: Duration = Duration::from_millis(50);
/// Without a delivery for so long, the measurement fails.
const PATIENCE: Duration = Duration::from_secs(60);
const MEBIBYTE: u64 = 1024 * 1024;

pub const HEAD: &str = "| engine | deliveries | per second | server us each | RSS MiB at the start | at most |\n|---|---|---|---|---|---|\n";

/// One line of Markdown.
pub async fn measure(engine: Engine, count: usize, program: &Path) -> Result<String, String> {
    let name = engine.name();
    let alone = Alone::create(engine).await?;
    let heard = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&heard);
    let address = endpoint(move |_| {
        counter.fetch_add(1, Relaxed);
    })?;
    eprintln!("{name}: queueing {count} deliveries");
    seed(&alone, count, format!("http://{address}/")).await?;
    let server = Server::start(program, &alone.store).await?;
    let (began, before) = (now(), Cpu::so_far(Some(server.pid())));
    let at_first = resident_bytes(server.pid());
    let mut last = (0, began);
    while last.0 < count {
        tokio::time::sleep(PAUSE).await;
        let so_far = heard.load(Relaxed);
        if so_far > last.0 {
            last = (so_far, now());
        } else if last.1.elapsed() > PATIENCE {
            return Err(format!("{so_far} of {count} deliveries arrived, then none"));
        }
    }
    #[expect(clippy::cast_precision_loss, reason = "for people")]
    let (took, number) = (began.elapsed().as_secs_f64(), count as f64);
    let cpu = (Cpu::so_far(Some(server.pid())) - before).server;
    let peak = peak_bytes(server.pid());
    server.stop().await?;
    alone.db.close().await;
    Ok(format!(
        "| {name} | {count} | {:.0} | {:.0} | {} | {} |\n",
        number / took,
        cpu * 1e6 / number,
        at_first / MEBIBYTE,
        peak / MEBIBYTE
    ))
}

async fn seed(alone: &Alone, count: usize, url: String) -> Result<(), String> {
    let (project, at) = (alone.project, alone.now);
    let queue = QueueId(new_id(at, &Random::System));
    let sealer = Sealer::new(SECRET.as_bytes()).map_err(text)?;
    let registered = alone.db.write(move |tx| subscribe(tx, project, queue, &url, &sealer, at));
    registered.await.map_err(text)?;
    let entity = json!({ "id": alone.user, "title": "Hello", "content": "word ".repeat(60) });
    let body = json!({ "type": EVENT, "projectId": project, "stage": "complete", "data": entity });
    let body = to_raw_value(&body).map_err(|error| error.to_string())?;
    for begin in (0..count).step_by(BATCH) {
        let (number, body) = (BATCH.min(count - begin), body.clone());
        let written = alone.db.write(move |tx| {
            for _ in 0..number {
                let id = JobId(new_id(at, &Random::System));
                let event = EVENT.to_owned();
                let delivery = Delivery { id, endpoint: queue, event, body: body.clone() };
                jobs::insert_queued(tx, project, queue, id, &delivery, at)?;
            }
            Ok::<_, Error>(())
        });
        written.await.map_err(text)?;
    }
    Ok(())
}
