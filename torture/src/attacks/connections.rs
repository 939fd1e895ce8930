//! Connections that do nothing: one address takes all it can get, and the next client is served
//! at once; and what an idle one costs in memory.

use std::net::SocketAddr;
use std::time::Duration;

use bench::client::Connection;
use bench::server::get;
use bench::store::Engine;
use bench::usage::resident_bytes;
use tokio::net::{TcpSocket, TcpStream};
use tokio::task::JoinSet;

use super::{Probes, network};
use crate::trial::{Figure, Setup};
use crate::world::World;

const CONNECTIONS: usize = 10_000;
const MAX_WAIT: Duration = Duration::from_secs(1);
const IDLE: usize = 5_000;
const NETWORKS_OF_IDLE: usize = 10;
const MAX_KB_EACH: f64 = 10.0;

pub async fn trial(setup: &Setup) -> Result<Figure, String> {
    bench::make_room(CONNECTIONS)?;
    let world = World::start(setup, Engine::Sqlite, 0, &[]).await?;
    let address = world.server.address;
    let mut opening = JoinSet::new();
    for _ in 0..CONNECTIONS {
        opening.spawn(open(address));
    }
    // Kept open until the probes are done.
    let held: Vec<Option<TcpStream>> = opening.join_all().await;
    let path = world.path("/entities");
    let probes = Probes::during(Duration::from_secs(3), address, &["/livez", &path]).await;
    drop(held);
    let Probes { asked, refused, slowest } = probes;
    let text = format!(
        "{CONNECTIONS} connections from one address: {refused} of {asked} requests of another refused, slowest {} ms",
        slowest.as_millis(),
    );
    Ok(Figure::new(refused == 0 && slowest < MAX_WAIT, text))
}

async fn open(address: SocketAddr) -> Option<TcpStream> {
    let socket = TcpSocket::new_v4().ok()?;
    socket.bind((network(1), 0).into()).ok()?;
    socket.connect(address).await.ok()
}

pub async fn idle(setup: &Setup) -> Result<Figure, String> {
    bench::make_room(IDLE)?;
    let world = World::start(setup, Engine::Sqlite, 0, &[]).await?;
    let (address, pid) = (world.server.address, world.server.pid());
    let request = get(&world.path("/entities"));
    // What the first requests leave behind is not the price of a connection.
    let mut warm = Connection::open(address).await.map_err(|error| error.to_string())?;
    for _ in 0..1000 {
        warm.exchange(&request).await.map_err(|error| error.to_string())?;
    }
    let before = resident_bytes(pid);
    let mut open = Vec::new();
    for number in 0..IDLE {
        let source = network(u8::try_from(number % NETWORKS_OF_IDLE).unwrap_or_default());
        let mut connection =
            Connection::open_from(source, address).await.map_err(|error| error.to_string())?;
        connection.exchange(&request).await.map_err(|error| error.to_string())?;
        open.push(connection);
    }
    let grown = resident_bytes(pid).saturating_sub(before);
    #[expect(clippy::cast_precision_loss, reason = "memory in kB")]
    let each = grown as f64 / 1024.0 / IDLE as f64;
    let text = format!("{IDLE} idle connections after one request: {each:.1} kB each");
    Ok(Figure::new(each < MAX_KB_EACH, text))
}
