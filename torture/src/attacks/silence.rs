//! PostgreSQL stops answering: 200 reads at once are all answered within 12 s, and work resumes
//! within a second of its return.

use std::time::Duration;

use bench::clock::now;
use bench::store::Engine;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;
use tokio::task::JoinSet;

use crate::http::Caller;
use crate::trial::{Figure, Setup};
use crate::world::World;

const AT_ONCE: usize = 200;
const MAX_WAIT: Duration = Duration::from_secs(12);
const MAX_RECOVERY: Duration = Duration::from_secs(1);

pub async fn trial(setup: &Setup) -> Result<Figure, String> {
    let world = World::start(setup, Engine::Postgres, 1, &[]).await?;
    let mut caller = Caller::new(world.server.address);
    let entity = json!({ "title": "Read by many" });
    let entity = world.create(&mut caller, &world.people[0].token, "/entities", entity).await?;
    let path = world.path(&format!("/entities/{entity}"));
    // The pool is open and busy when the server goes silent.
    let busy = ask(&world, &path).await;
    if busy.iter().any(|(status, _)| *status != Some(200)) {
        return Err("the server did not answer before the attack".to_owned());
    }

    signal(&world, Signal::STOP)?;
    let answers = ask(&world, &path).await;
    signal(&world, Signal::CONT)?;
    let returned = now();
    while caller.call("GET", &path, "", None).await.is_ok_and(|reply| reply.status != 200) {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let recovery = now() - returned;

    let answered = answers.iter().filter(|(status, _)| status.is_some()).count();
    let slowest = answers.iter().map(|(_, took)| *took).max().unwrap_or_default();
    let text = format!(
        "PostgreSQL silent: {answered} of {AT_ONCE} reads answered within {:.1} s, work resumed after {} ms",
        slowest.as_secs_f64(),
        recovery.as_millis(),
    );
    let holds = answered == AT_ONCE && slowest < MAX_WAIT && recovery < MAX_RECOVERY;
    Ok(Figure::new(holds, text))
}

/// Status, if there was a reply, and duration of each of many concurrent reads.
async fn ask(world: &World, path: &str) -> Vec<(Option<u16>, Duration)> {
    let mut asking = JoinSet::new();
    for _ in 0..AT_ONCE {
        let (address, path) = (world.server.address, path.to_owned());
        asking.spawn(async move {
            let asked = now();
            let reply = Caller::new(address).call("GET", &path, "", None).await;
            (reply.ok().map(|reply| reply.status), now() - asked)
        });
    }
    asking.join_all().await
}

/// To every process of the database server.
fn signal(world: &World, signal: Signal) -> Result<(), String> {
    let cluster = world.store.cluster.as_ref().ok_or("there is no PostgreSQL")?;
    for process in cluster.processes() {
        let pid = i32::try_from(process).ok().and_then(Pid::from_raw).ok_or("an odd process id")?;
        kill_process(pid, signal).map_err(|error| format!("signalling PostgreSQL: {error}"))?;
    }
    Ok(())
}
