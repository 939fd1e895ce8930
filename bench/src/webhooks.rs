//! Three small projects whose users write the same: one without a webhook, one whose endpoint never answers, and one whose
//! endpoint takes everything. The endpoint is in this process.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::time::Duration;

use db::{Db, Tx};
use townhall::auth::sealed::Sealer;
use townhall::error::Error;
use townhall::features::users::store::{self as users, UserRow};
use townhall::features::webhooks::admin::{self, Change};
use townhall::values::ids::{ProjectId, QueueId, UserId, new_id};
use townhall::values::random::Random;
use townhall::values::time::Timestamp;

use crate::fixture::text;
use crate::server::SECRET;

const USERS: usize = 1000;
pub const EVENT: &str = "entity.created.complete";
/// Threads of the endpoint; each serves one request at a time.
const THREADS: usize = 2;
/// Nothing listens here.
const DEAD: &str = "http://127.0.0.1:1/";

/// A project and users who write in it.
#[derive(Debug)]
pub struct Writers {
    pub project: ProjectId,
    pub users: Vec<UserId>,
}

#[derive(Debug)]
pub struct Webhooks {
    pub without: Writers,
    pub dead: Writers,
    pub live: Writers,
}

impl Webhooks {
    /// In three projects that are there already.
    pub async fn seed(
        db: &Db,
        [without, dead, live]: [ProjectId; 3],
        now: Timestamp,
    ) -> Result<Webhooks, String> {
        let endpoint = format!("http://{}/", endpoint(|_| {})?);
        Ok(Webhooks {
            without: writers(db, without, None, now).await?,
            dead: writers(db, dead, Some(DEAD.to_owned()), now).await?,
            live: writers(db, live, Some(endpoint), now).await?,
        })
    }
}

async fn writers(
    db: &Db,
    project: ProjectId,
    url: Option<String>,
    now: Timestamp,
) -> Result<Writers, String> {
    let random = Random::System;
    let rows: Vec<UserRow> =
        (0..USERS).map(|_| UserRow::new(UserId(new_id(now, &random)), now)).collect();
    let ids = rows.iter().map(|row| row.id).collect();
    let sealer = Sealer::new(SECRET.as_bytes()).map_err(text)?;
    let queue = QueueId(new_id(now, &random));
    let written = db.write(move |tx| {
        rows.iter().try_for_each(|row| users::insert(tx, project, row))?;
        if let Some(url) = &url {
            subscribe(tx, project, queue, url, &sealer, now)?;
        }
        Ok::<_, Error>(())
    });
    written.await.map_err(text)?;
    Ok(Writers { project, users: ids })
}

/// Registers an endpoint for new entities.
pub fn subscribe(
    tx: &Tx<'_>,
    project: ProjectId,
    queue: QueueId,
    url: &str,
    sealer: &Sealer,
    now: Timestamp,
) -> Result<(), Error> {
    let change = Change {
        url: Some(Some(url.to_owned())),
        secret: Some("bench".to_owned()),
        events: Some(vec![EVENT.to_owned()]),
        keeps_previous_secret: false,
    };
    let blank = admin::blank(queue, true, now);
    admin::put(tx, project, blank, change, (sealer, &Random::System), now).map(drop)
}

/// Starts an endpoint that takes everything. `hear` runs with the text of each request, before the reply.
pub fn endpoint(hear: impl Fn(&str) + Clone + Send + 'static) -> Result<SocketAddr, String> {
    let listener = TcpListener::bind("127.0.0.1:0").map_err(|error| error.to_string())?;
    let address = listener.local_addr().map_err(|error| error.to_string())?;
    for _ in 0..THREADS {
        let listener = listener.try_clone().map_err(|error| error.to_string())?;
        let hear = hear.clone();
        std::thread::spawn(move || {
            while let Ok((stream, _)) = listener.accept() {
                // A broken delivery comes again.
                let _ = take(stream, &hear);
            }
        });
    }
    Ok(address)
}

fn take(mut stream: TcpStream, hear: &impl Fn(&str)) -> std::io::Result<()> {
    stream.set_read_timeout(Some(Duration::from_secs(5)))?;
    let mut request = Vec::new();
    let mut chunk = [0; 16 * 1024];
    loop {
        let length = stream.read(&mut chunk)?;
        request.extend_from_slice(&chunk[..length]);
        if length == 0 || is_whole(&request) {
            break;
        }
    }
    hear(&String::from_utf8_lossy(&request));
    stream.write_all(b"HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n")
}

fn is_whole(request: &[u8]) -> bool {
    let text = String::from_utf8_lossy(request);
    let Some((head, body)) = text.split_once("\r\n\r\n") else { return false };
    let length = head.lines().find_map(|line| {
        let (name, value) = line.split_once(": ")?;
        name.eq_ignore_ascii_case("content-length").then(|| value.parse::<usize>().ok())?
    });
    body.len() >= length.unwrap_or(0)
}
