//! Strangers on many networks ask for somebody's password reset again and again: the owner gets
//! three mails and no more.

use std::time::Duration;

use bench::clock::now;
use bench::store::Engine;
use serde_json::json;

use super::network;
use crate::http::Caller;
use crate::trial::{Figure, Setup};
use crate::world::World;

const REQUESTS: u8 = 40;
const MAX_MAILS: usize = 3;
/// How long the worker may take to send what is queued.
const SENDING: Duration = Duration::from_secs(4);

pub async fn trial(setup: &Setup) -> Result<Figure, String> {
    let limits = [("TOWNHALL_RATE_LIMITS", "on")];
    let world = World::start(setup, Engine::Sqlite, 1, &limits).await?;
    let path = world.path("/auth/request-password-reset");
    let body = json!({ "email": "person0@example.com" });
    let mut answered = 0;
    for number in 0..REQUESTS {
        let mut caller = Caller::from(network(number), world.server.address);
        let reply = caller.call("POST", &path, "", Some(&body)).await?;
        answered += u32::from(reply.status == 200);
    }
    let end = now() + SENDING;
    while now() < end {
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
    let mails = std::fs::read_dir(world.store.directory.join("outbox")).map_or(0, Iterator::count);
    let text = format!("{answered} of {REQUESTS} password resets answered, {mails} mails sent");
    let holds = answered == u32::from(REQUESTS) && (1..=MAX_MAILS).contains(&mails);
    Ok(Figure::new(holds, text))
}
