//! kill -9 of one of two nodes on one PostgreSQL while it sends webhook deliveries: the other takes over. None may be
//! lost, the order stays, and only the delivery that was under way may arrive twice.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bench::clock::now;
use bench::server::Server;
use bench::store::Engine;
use bench::webhooks::endpoint;
use serde_json::{Value, json};

use crate::http::Caller;
use crate::trial::{Figure, Setup};
use crate::world::World;

/// Events on the node that is killed, and then on the other.
const EVENTS: [usize; 2] = [400, 100];
/// How long the endpoint takes for a delivery, so that most are queued when the node dies.
const PACE: Duration = Duration::from_millis(20);
/// A claim of a dead node ends after a minute, and all queues are looked at twice a minute.
const TAKE_OVER: Duration = Duration::from_secs(100);

/// Id and title of a delivery.
type Delivery = (String, String);

#[derive(Debug, Clone, Default)]
struct Heard(Arc<Mutex<Vec<Delivery>>>);

impl Heard {
    fn all(&self) -> Vec<Delivery> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn hear(&self, request: &str) {
        let id = request.lines().find_map(|line| {
            let (name, value) = line.split_once(": ")?;
            name.eq_ignore_ascii_case("x-webhook-id").then(|| value.to_owned())
        });
        let body = request.split_once("\r\n\r\n").map_or("", |(_, body)| body);
        let body: Value = serde_json::from_str(body).unwrap_or_default();
        let title = body["data"]["title"].as_str().unwrap_or_default().to_owned();
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.push((id.unwrap_or_default(), title));
        drop(all);
        std::thread::sleep(PACE);
    }
}

pub async fn trial(setup: &Setup) -> Result<Figure, String> {
    let mut world = World::start(setup, Engine::Postgres, 1, &[]).await?;
    let heard = Heard::default();
    let hearing = heard.clone();
    let url = format!("http://{}/", endpoint(move |request| hearing.hear(request))?);
    let secret = world.store.directory.join("webhook-secret");
    std::fs::write(&secret, "torture").map_err(|error| error.to_string())?;
    let secret = secret.display().to_string();
    let events = ["--events", "entity.created.complete"];
    let set = ["webhooks", "set", &world.project, "--url", &url, "--secret-file", &secret];
    world.operate(setup, &[&set[..], &events].concat())?;

    let mut sent = Vec::new();
    write(&world, world.server.address, EVENTS[0], &mut sent).await?;
    let second_directory = world.store.directory.join("second-node").display().to_string();
    let second = [("TOWNHALL_DATA_DIR", second_directory.as_str())];
    let survivor = Server::start_with(&setup.program, &world.store, &second).await?;
    write(&world, survivor.address, EVENTS[1], &mut sent).await?;
    let before = heard.all().len();
    // Kills it with SIGKILL and waits for its end.
    drop(world.server);
    world.server = survivor;

    let killed_at = now();
    let distinct = || heard.all().into_iter().map(|(id, _)| id).collect::<HashSet<_>>().len();
    while distinct() < sent.len() && now() < killed_at + TAKE_OVER {
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
    let took = (now() - killed_at).as_secs();
    // What comes twice comes soon.
    tokio::time::sleep(Duration::from_secs(2)).await;
    let all = heard.all();
    let mut seen = HashSet::new();
    let first: Vec<&String> =
        all.iter().filter(|(id, _)| seen.insert(id)).map(|(_, title)| title).collect();
    let twice = all.len() - first.len();
    let in_order = first.iter().zip(&sent).filter(|(heard, sent)| *heard == sent).count();
    world.examine(setup)?;
    let text = format!(
        "one of two nodes killed with {} of {} deliveries queued: {in_order} arrived in order, the last after \
         {took} s, {twice} twice",
        sent.len().saturating_sub(before),
        sent.len(),
    );
    let was_queued = (1..sent.len()).contains(&before);
    Ok(Figure::new(was_queued && in_order == sent.len() && twice <= 1, text))
}

/// Creates entities one after another, each of which is an event.
async fn write(
    world: &World,
    node: std::net::SocketAddr,
    count: usize,
    sent: &mut Vec<String>,
) -> Result<(), String> {
    let mut caller = Caller::new(node);
    for _ in 0..count {
        let title = format!("event {}", sent.len());
        let entity = json!({ "title": title });
        world.create(&mut caller, &world.people[0].token, "/entities", entity).await?;
        sent.push(title);
    }
    Ok(())
}
