//! Requests that dribble their body, 870 from each of six networks: health checks and everybody
//! else's requests are answered meanwhile.

use std::net::SocketAddr;
use std::time::Duration;

use bench::store::Engine;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpSocket, TcpStream};
use tokio::task::JoinSet;

use super::{Probes, network};
use crate::trial::{Figure, Setup};
use crate::world::World;

const NETWORKS: u8 = 6;
const FROM_EACH: usize = 870;
const LENGTH: Duration = Duration::from_secs(8);

pub async fn trial(setup: &Setup) -> Result<Figure, String> {
    bench::make_room(usize::from(NETWORKS) * FROM_EACH)?;
    let world = World::start(setup, Engine::Sqlite, 1, &[]).await?;
    let address = world.server.address;
    let (path, token) = (world.path("/entities"), world.people[0].token.clone());
    let mut attackers = JoinSet::new();
    for number in 0..NETWORKS {
        for _ in 0..FROM_EACH {
            attackers.spawn(dribble(number, address, path.clone(), token.clone()));
        }
    }
    let probes = Probes::during(LENGTH, address, &["/livez", "/readyz", &path]).await;
    attackers.abort_all();
    let Probes { asked, refused, slowest } = probes;
    let text = format!(
        "{} dribbling bodies: {refused} of {asked} other requests refused, slowest {} ms",
        usize::from(NETWORKS) * FROM_EACH,
        slowest.as_millis(),
    );
    Ok(Figure::new(refused == 0, text))
}

/// Sends a head and one byte of the body, and waits for what the server does about it.
async fn dribble(number: u8, address: SocketAddr, path: String, token: String) {
    let send = async {
        let socket = TcpSocket::new_v4()?;
        socket.bind((network(number), 0).into())?;
        let mut stream: TcpStream = socket.connect(address).await?;
        let head = format!(
            "POST {path} HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {token}\r\n\
             content-type: application/json\r\ncontent-length: 1000\r\n\r\n{{"
        );
        stream.write_all(head.as_bytes()).await?;
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).await
    };
    // Whether it is answered or cut off is the server's choice.
    let _: std::io::Result<usize> = send.await;
}
