//! Sockets that are there and say nothing: what the server's memory is for one of them.

use std::sync::Arc;
use std::time::Duration;

use townhall::values::ids::UserId;

use crate::clock::{Window, now};
use crate::report::{Kind, Measurement, Resources};
use crate::run::watch;
use crate::sockets::Memory;
use crate::sockets::crowd::Crowd;
use crate::sockets::ledger::Ledger;
use crate::sockets::{PER_USER, Stage};
use crate::usage::{Cpu, resident_bytes};

pub const SOCKETS: usize = 5000;
/// Sockets that come and go first, so that what a server needs once is not counted.
const FIRST: usize = 20;
const REST: Duration = Duration::from_secs(1);

pub async fn measure(stage: &Stage<'_>) -> Result<Vec<Measurement>, String> {
    let (count, pid) = (stage.sockets, stage.server.pid());
    let members = &stage.fixture.chat.members;
    if count > members.len() * PER_USER {
        return Err(format!("{count} sockets are too many for {} users", members.len()));
    }
    let last = members.last().ok_or("there must be users")?;
    drop(gather(stage, [*last; FIRST].into_iter()).await?);
    tokio::time::sleep(REST).await;

    let (before, cpu, start) = (resident_bytes(pid), Cpu::so_far(Some(pid)), now());
    let users = members.iter().flat_map(|user| [*user; PER_USER]).take(count);
    let (crowd, ledger) = gather(stage, users).await?;
    let connecting = Window { start, from: start, to: now() };
    let resources =
        Resources { rss_bytes: Some(resident_bytes(pid)), cpu: Cpu::so_far(Some(pid)) - cpu };
    let connecting = Measurement::new(
        stage.engine,
        "connecting",
        Kind::Part,
        &crowd.connecting,
        connecting,
        resources,
    );

    let window = Window::opening_now(stage.span);
    let pings = async {
        tokio::time::sleep_until(window.from.into()).await;
        let so_far = crowd.pings();
        tokio::time::sleep_until(window.to.into()).await;
        crowd.pings() - so_far
    };
    let (resources, pings) = tokio::join!(watch(Some(pid), window), pings);
    let tally = ledger.close()?.each;
    drop(crowd);
    let idle =
        Measurement::new(stage.engine, "idle-sockets", Kind::Idle, &tally, window, resources);
    let after = resources.rss_bytes.unwrap_or_default();
    let memory = Memory::new(count, before, after, pings);
    Ok(vec![Measurement { memory: Some(memory), ..idle }, connecting])
}

async fn gather(
    stage: &Stage<'_>,
    users: impl Iterator<Item = UserId>,
) -> Result<(Crowd, Arc<Ledger>), String> {
    let tokens: Vec<String> = users.map(|user| stage.fixture.token(user)).collect();
    let ledger = Arc::new(Ledger::new(tokens.len())?);
    let (address, project) = (stage.server.address, stage.fixture.project);
    let crowd = Crowd::gather(address, project, tokens, ledger.clone()).await?;
    Ok((crowd, ledger))
}
