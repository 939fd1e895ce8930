//! A conversation whose members all have a socket: how long a message takes to the last of them.

use std::sync::Arc;
use std::time::Duration;

use tokio::task::JoinSet;

use crate::chat::CONTENT;
use crate::client::Connection;
use crate::clock::{Window, now};
use crate::report::{Kind, Measurement};
use crate::run::watch;
use crate::server::send;
use crate::sockets::crowd::Crowd;
use crate::sockets::ledger::{Closed, Ledger};
use crate::sockets::{PER_USER, Stage};

pub const SOCKETS: usize = 1000;
/// Messages per second, unless a rate is asked for.
const RATE: f64 = 20.0;
/// Each sends its next message when the one before was answered and it is due.
const SENDERS: usize = 4;
/// How long the last events may take after the end.
const GRACE: Duration = Duration::from_secs(10);
const PAUSE: Duration = Duration::from_millis(20);

pub async fn measure(stage: &Stage<'_>) -> Result<Vec<Measurement>, String> {
    let (count, rate) = (stage.sockets, stage.rate.unwrap_or(RATE));
    let members = &stage.fixture.chat.members;
    if count > members.len() * PER_USER {
        return Err(format!("{count} sockets are too many for {} members", members.len()));
    }
    let tokens = members.iter().cycle().take(count).map(|user| stage.fixture.token(*user));
    let ledger = Arc::new(Ledger::new(count)?);
    let (address, project) = (stage.server.address, stage.fixture.project);
    let crowd = Crowd::gather(address, project, tokens.collect(), ledger.clone()).await?;

    let (pid, window) = (Some(stage.server.pid()), Window::opening_now(stage.span));
    let (unsent, resources) =
        tokio::join!(send_all(stage, &ledger, window, rate), watch(pid, window));
    let end = window.to + GRACE;
    while !ledger.is_complete() && now() < end {
        tokio::time::sleep(PAUSE).await;
    }
    let Closed { mut last, each } = ledger.close()?;
    drop(crowd);
    last.unsent = unsent?;
    let whole = |name: &str, kind, tally| {
        Measurement::new(stage.engine, name, kind, tally, window, resources)
    };
    Ok(vec![
        Measurement { rate: Some(rate), ..whole("fan-out", Kind::Open, &last) },
        whole(&format!("to each of {count} sockets"), Kind::Part, &each),
    ])
}

/// Sends at the rate until the end; how many messages were due and not sent.
async fn send_all(
    stage: &Stage<'_>,
    ledger: &Arc<Ledger>,
    window: Window,
    rate: f64,
) -> Result<u64, String> {
    let chat = &stage.fixture.chat;
    let path = format!("/v8/{}/chat/conversations/{}/messages", stage.fixture.project, chat.hall);
    let mut senders = JoinSet::new();
    for (place, user) in chat.members.iter().cycle().take(SENDERS).enumerate() {
        let sender = Sender {
            connection: Connection::open(stage.server.address).await.map_err(|e| e.to_string())?,
            path: path.clone(),
            token: stage.fixture.token(*user),
            ledger: ledger.clone(),
            window,
        };
        let every = Duration::from_secs_f64(1.0 / rate);
        senders.spawn(sender.run(place, every));
    }
    let mut unsent = 0;
    while let Some(sent) = senders.join_next().await {
        unsent += sent.map_err(|error| error.to_string())??;
    }
    Ok(unsent)
}

struct Sender {
    connection: Connection,
    path: String,
    token: String,
    ledger: Arc<Ledger>,
    window: Window,
}

impl Sender {
    /// Every so many-th message is this one's.
    async fn run(mut self, place: usize, every: Duration) -> Result<u64, String> {
        let mut due = self.window.start + every * u32::try_from(place).unwrap_or_default();
        let mut unsent = 0;
        while due < self.window.to {
            if now() < due {
                tokio::time::sleep_until(due.into()).await;
                // The runtime's timer is late by up to a millisecond, which is not the server's fault.
                self.send(now()).await?;
            } else if now() < self.window.to {
                self.send(due).await?;
            } else {
                unsent += 1;
            }
            due += every * SENDERS as u32;
        }
        Ok(unsent)
    }

    async fn send(&mut self, at: std::time::Instant) -> Result<(), String> {
        let number = self.ledger.send(at, self.window.holds(at));
        let body = format!(r#"{{"content":"{CONTENT}","localId":"{number}"}}"#);
        let request = send("POST", &self.path, &self.token, &body);
        match self.connection.exchange(&request).await {
            Ok(201) => {}
            Ok(status) => self.ledger.refused(number, format!("status {status}")),
            Err(error) => return Err(format!("sending a message: {error}")),
        }
        Ok(())
    }
}
