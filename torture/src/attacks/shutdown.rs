//! SIGTERM with 16 busy keep-alive clients and a trickling upload: no client is cut in the middle
//! of a request, and the server is gone within its ten seconds.

use std::net::SocketAddr;
use std::time::Duration;

use bench::clock::now;
use bench::store::Engine;
use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpStream;
use tokio::task::JoinSet;

use crate::http::Caller;
use crate::trial::{Figure, Setup};
use crate::world::World;

const CLIENTS: usize = 16;
const MAX_TIME: Duration = Duration::from_millis(11_500);

pub async fn trial(setup: &Setup) -> Result<Figure, String> {
    let world = World::start(setup, Engine::Sqlite, 1, &[]).await?;
    let address = world.server.address;
    let (path, token) = (world.path("/entities"), world.people[0].token.clone());
    let upload = tokio::spawn(trickle(address, path.clone(), token));
    let mut clients = JoinSet::new();
    for _ in 0..CLIENTS {
        clients.spawn(busy(address, path.clone()));
    }
    tokio::time::sleep(Duration::from_secs(2)).await;
    let World { server, store, .. } = world;
    let began = now();
    server.stop().await?;
    let took = now() - began;
    drop(store);
    upload.abort();
    let cut = clients.join_all().await.into_iter().filter(|cut| *cut).count();
    let text = format!(
        "SIGTERM with a trickling upload: gone after {:.1} s, {cut} of {CLIENTS} busy clients cut off",
        took.as_secs_f64(),
    );
    Ok(Figure::new(took < MAX_TIME && cut == 0, text))
}

/// Asks until the server says that it closes; whether it was cut off without that.
async fn busy(address: SocketAddr, path: String) -> bool {
    let mut caller = Caller::new(address);
    loop {
        if caller.call("GET", &path, "", None).await.is_err() {
            return true;
        }
        if !caller.is_connected() {
            return false;
        }
    }
}

/// An upload that keeps to the pace and never ends.
async fn trickle(address: SocketAddr, path: String, token: String) -> std::io::Result<()> {
    let mut stream = TcpStream::connect(address).await?;
    let head = format!(
        "POST {path} HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {token}\r\n\
         content-type: multipart/form-data; boundary=x\r\ncontent-length: 40000000\r\n\r\n\
         --x\r\ncontent-disposition: form-data; name=\"files.files\"; filename=\"a.txt\"\r\n\r\n"
    );
    stream.write_all(head.as_bytes()).await?;
    loop {
        stream.write_all(&[b'x'; 400]).await?;
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}
