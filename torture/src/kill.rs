//! kill -9 under 64 writers. Every acknowledged write must be there afterwards, as it was sent; one without a
//! reply must be absent or whole; and the counts must agree with the rows. On PostgreSQL two nodes share the
//! database and one of them is killed.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

use bench::dice::Dice;
use bench::server::Server;
use bench::store::Engine;
use serde_json::{Value, json};
use tokio::task::JoinSet;

use crate::http::{Caller, Reply};
use crate::trial::{Figure, Setup};
use crate::world::World;

const WRITERS: usize = 64;
const KINDS: [&str; 3] = ["like", "love", "wow"];

/// What one writer sent, and the replies it got.
#[derive(Debug, Default)]
struct Ledger {
    token: String,
    /// Path, key and value that a fetch must show.
    acknowledged: Vec<(String, &'static str, String)>,
    /// Foreign id and title of entities that were sent without being answered.
    in_doubt: Vec<(String, String)>,
    /// The last acknowledged reaction, and one that was sent after it without being answered.
    reactions: Vec<&'static str>,
    /// Replies that nobody should get.
    wrong: Vec<String>,
}

/// The rows that all writers change.
#[derive(Debug, Clone)]
struct Shared {
    project: String,
    entity: String,
    conversation: String,
}

pub async fn trial(setup: &Setup, engine: Engine) -> Result<Figure, String> {
    let mut world = World::start(setup, engine, WRITERS, &[]).await?;
    let shared = meeting_places(&world).await?;
    let second_directory = world.store.directory.join("second-node").display().to_string();
    let second = [("TOWNHALL_DATA_DIR", second_directory.as_str())];
    let mut dice = Dice::new(setup.seed);
    let (mut acknowledged, mut lost) = (0, Vec::new());
    for cycle in 0..setup.kills {
        let survivor = match engine {
            Engine::Sqlite => None,
            Engine::Postgres => {
                Some(Server::start_with(&setup.program, &world.store, &second).await?)
            }
        };
        let addresses: Vec<SocketAddr> =
            survivor.iter().chain([&world.server]).map(|server| server.address).collect();
        let stop = Arc::new(AtomicBool::new(false));
        let writers = writers(&world, &shared, &addresses, &stop, setup.seed, cycle);
        tokio::time::sleep(Duration::from_millis(200 + dice.draw(600) as u64)).await;
        // Kills it with SIGKILL and waits for its end.
        drop(world.server);
        if survivor.is_some() {
            // The other node goes on for a moment.
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
        stop.store(true, Relaxed);
        let ledgers = writers.join_all().await;
        world.server = Server::start(&setup.program, &world.store).await?;
        acknowledged += ledgers.iter().map(|ledger| ledger.acknowledged.len()).sum::<usize>();
        lost.extend(audit(world.server.address, &shared, &ledgers).await?);
        if let Some(survivor) = survivor {
            survivor.stop().await?;
        }
    }
    lost.iter().take(5).for_each(|what| eprintln!("  {what}"));
    world.examine(setup)?;
    let killed = if engine == Engine::Postgres { "one of two nodes killed" } else { "killed" };
    let text = format!(
        "{killed} {} times under {WRITERS} writers: {acknowledged} acknowledged writes, \
         {} lost or wrong, every recount agrees",
        setup.kills,
        lost.len(),
    );
    Ok(Figure::new(lost.is_empty() && acknowledged > 0, text))
}

/// One writer for each person, spread over the nodes.
fn writers(
    world: &World,
    shared: &Shared,
    addresses: &[SocketAddr],
    stop: &Arc<AtomicBool>,
    seed: u64,
    cycle: u32,
) -> JoinSet<Ledger> {
    let mut writers = JoinSet::new();
    for (number, person) in world.people.iter().enumerate() {
        let address = addresses[number % addresses.len()];
        let dice = Dice::new(seed ^ (u64::from(cycle) << 32 | number as u64));
        let name = format!("{cycle}-{number}");
        let (shared, stop) = (shared.clone(), Arc::clone(stop));
        writers.spawn(write(address, shared, person.token.clone(), name, dice, stop));
    }
    writers
}

async fn meeting_places(world: &World) -> Result<Shared, String> {
    let mut caller = Caller::new(world.server.address);
    let owner = &world.people[0].token;
    let entity = json!({ "title": "Everybody reacts to this" });
    let entity = world.create(&mut caller, owner, "/entities", entity).await?;
    let members: Vec<&str> = world.people[1..].iter().map(|person| person.id.as_str()).collect();
    let group = json!({ "type": "group", "name": "All", "memberIds": members });
    let conversation = world.create(&mut caller, owner, "/chat/conversations", group).await?;
    Ok(Shared { project: world.project.clone(), entity, conversation })
}

/// Writes one thing after the other until the server is gone or the trial ends.
async fn write(
    address: SocketAddr,
    shared: Shared,
    token: String,
    name: String,
    mut dice: Dice,
    stop: Arc<AtomicBool>,
) -> Ledger {
    let Shared { project, entity, conversation } = shared;
    let mut caller = Caller::new(address);
    let mut ledger = Ledger { token, ..Ledger::default() };
    for number in 0.. {
        if stop.load(Relaxed) {
            break;
        }
        let text = format!("{name}-{number}");
        let (endpoint, body) = match dice.draw(4) {
            0 => ("/entities".to_owned(), json!({ "title": text, "foreignId": text })),
            1 => ("/comments".to_owned(), json!({ "entityId": entity, "content": text })),
            2 => {
                (format!("/chat/conversations/{conversation}/messages"), json!({ "content": text }))
            }
            _ => {
                let kind = KINDS[dice.draw(KINDS.len())];
                (format!("/entities/{entity}/reactions"), json!({ "reactionType": kind }))
            }
        };
        let path = format!("/v8/{project}{endpoint}");
        let answer = caller.call("POST", &path, &ledger.token, Some(&body)).await;
        let is_done = answer.is_err();
        ledger.enter(&endpoint, &path, &body, text, answer);
        if is_done {
            break;
        }
    }
    ledger
}

impl Ledger {
    fn enter(
        &mut self,
        endpoint: &str,
        path: &str,
        body: &Value,
        text: String,
        answer: Result<Reply, String>,
    ) {
        let kind = KINDS.into_iter().find(|kind| body["reactionType"] == *kind);
        let Ok(reply) = answer else {
            // The server is gone: perhaps it was written, perhaps not.
            if !self.reactions.is_empty() {
                self.reactions.extend(kind);
            }
            if endpoint == "/entities" {
                self.in_doubt.push((text.clone(), text));
            }
            return;
        };
        if !matches!(reply.status, 200 | 201) {
            let body = String::from_utf8_lossy(&reply.body);
            self.wrong.push(format!("POST {endpoint}: {} {body}", reply.status));
            return;
        }
        if let Some(kind) = kind {
            self.reactions = vec![kind];
            return;
        }
        let key = if endpoint == "/entities" { "title" } else { "content" };
        match reply.text("id") {
            Ok(id) => self.acknowledged.push((format!("{path}/{id}"), key, text)),
            Err(why) => self.wrong.push(format!("POST {endpoint}: {why}")),
        }
    }
}

/// What is not as it was acknowledged.
async fn audit(
    address: SocketAddr,
    shared: &Shared,
    ledgers: &[Ledger],
) -> Result<Vec<String>, String> {
    let mut caller = Caller::new(address);
    let mut lost = Vec::new();
    for ledger in ledgers {
        lost.extend(ledger.wrong.iter().cloned());
        for (path, key, value) in &ledger.acknowledged {
            let reply = caller.call("GET", path, &ledger.token, None).await?;
            if reply.status != 200 || !shows(&reply.json(), key, value) {
                lost.push(format!("GET {path}: {} instead of {value}", reply.status));
            }
        }
        for (foreign_id, title) in &ledger.in_doubt {
            let path =
                format!("/v8/{}/entities/by-foreign-id?foreignId={foreign_id}", shared.project);
            let reply = caller.call("GET", &path, &ledger.token, None).await?;
            if reply.status != 404 && !shows(&reply.json(), "title", title) {
                lost.push(format!("{foreign_id} is neither absent nor whole: {}", reply.status));
            }
        }
        if !ledger.reactions.is_empty() {
            let path = format!("/v8/{}/entities/{}/reactions/me", shared.project, shared.entity);
            let reply = caller.call("GET", &path, &ledger.token, None).await?;
            let own = reply.text("reactionType").unwrap_or_default();
            if !ledger.reactions.contains(&own.as_str()) {
                let (status, reactions) = (reply.status, &ledger.reactions);
                lost.push(format!("GET {path}: {status} {own:?}, not {reactions:?}"));
            }
        }
    }
    Ok(lost)
}

fn shows(reply: &Value, key: &str, value: &str) -> bool {
    reply[key] == value || reply["comment"][key] == value
}
