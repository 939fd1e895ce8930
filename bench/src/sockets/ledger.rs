//! What was sent and which sockets have heard of it: every one of them has to, once.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use crate::tally::Tally;

/// Comes before the number of a message in its packet.
const NUMBERED: &str = r#""localId":""#;
const CREATED: &str = r#"42["message:created","#;

#[derive(Debug)]
pub struct Ledger {
    sockets: usize,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    messages: Vec<Sent>,
    /// For each socket, which messages it has heard of.
    seen: Vec<Vec<bool>>,
    /// Latencies until each socket has heard of a message, and what went wrong with sockets.
    each: Tally,
}

#[derive(Debug)]
struct Sent {
    at: Instant,
    /// Within the measured time.
    counts: bool,
    refused: bool,
    heard: usize,
    last: Instant,
}

/// Latencies until the last socket has heard of a message, and until each has.
#[derive(Debug)]
pub struct Closed {
    pub last: Tally,
    pub each: Tally,
}

impl Ledger {
    pub fn new(sockets: usize) -> Result<Self, String> {
        let (messages, seen) = (Vec::new(), vec![Vec::new(); sockets]);
        let state = Mutex::new(State { messages, seen, each: Tally::new()? });
        Ok(Ledger { sockets, state })
    }

    /// The number of a message that is sent now.
    pub fn send(&self, at: Instant, counts: bool) -> usize {
        let messages = &mut self.state().messages;
        messages.push(Sent { at, counts, refused: false, heard: 0, last: at });
        messages.len() - 1
    }

    /// The server did not accept it, so no socket need receive it.
    pub fn refused(&self, number: usize, why: String) {
        let mut state = self.state();
        if let Some(message) = state.messages.get_mut(number) {
            message.refused = true;
        }
        state.each.failed(why);
    }

    pub fn heard(&self, socket: usize, packet: &str, at: Instant) {
        let mut state = self.state();
        if let Err(why) = state.heard(socket, packet, at) {
            state.each.failed(why);
        }
    }

    /// A socket is no more.
    pub fn failed(&self, why: String) {
        self.state().each.failed(why);
    }

    /// Whether every socket has heard of every message.
    pub fn is_complete(&self) -> bool {
        let state = self.state();
        state.messages.iter().all(|message| message.refused || message.heard >= self.sockets)
    }

    /// The sum of it. What was not heard until now is missed, and an error for each socket.
    pub fn close(&self) -> Result<Closed, String> {
        let mut state = self.state();
        let mut last = Tally::new()?;
        let mut missed = 0;
        for message in state.messages.iter().filter(|message| !message.refused) {
            missed += self.sockets - message.heard;
            if message.counts && message.heard == self.sockets {
                last.answered(message.last - message.at);
            }
        }
        for _ in 0..missed {
            state.each.failed(format!("{missed} events were missed"));
        }
        let each = std::mem::replace(&mut state.each, Tally::new()?);
        Ok(Closed { last, each })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn heard(&mut self, socket: usize, packet: &str, at: Instant) -> Result<(), String> {
        let number = number(packet).ok_or_else(|| format!("a socket heard {packet}"))?;
        let message = self.messages.get_mut(number).ok_or("an event of a message never sent")?;
        let seen = self.seen.get_mut(socket).ok_or("an event of a socket never opened")?;
        if seen.len() <= number {
            seen.resize(number + 1, false);
        }
        if std::mem::replace(&mut seen[number], true) {
            return Err("an event came twice".to_owned());
        }
        message.heard += 1;
        message.last = at;
        if message.counts {
            self.each.answered(at - message.at);
        }
        Ok(())
    }
}

fn number(packet: &str) -> Option<usize> {
    let rest = packet.strip_prefix(CREATED)?;
    let (_, rest) = rest.split_once(NUMBERED)?;
    rest.split_once('"')?.0.parse().ok()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::clock::now;

    fn packet(number: usize) -> String {
        format!(r#"42["message:created",{{"id":"x","localId":"{number}","content":"c"}}]"#)
    }

    #[test]
    fn the_last_socket_and_each_of_them_are_measured() {
        let (ledger, start) = (Ledger::new(2).unwrap(), now());
        assert_eq!((ledger.send(start, true), ledger.send(start, false)), (0, 1));
        for socket in 0..2 {
            assert!(!ledger.is_complete());
            let at = start + Duration::from_millis(socket as u64 + 1);
            ledger.heard(socket, &packet(0), at);
            ledger.heard(socket, &packet(1), at);
        }
        assert!(ledger.is_complete());
        let Closed { last, each } = ledger.close().unwrap();
        assert_eq!((last.requests(), each.requests(), each.errors), (1, 2, 0));
        assert!(last.quantile(0.5) >= Duration::from_millis(2));
        assert!(each.quantile(0.5) < Duration::from_millis(2));
    }

    #[test]
    fn what_is_missed_or_comes_twice_is_an_error() {
        let (ledger, start) = (Ledger::new(3).unwrap(), now());
        ledger.send(start, true);
        ledger.heard(0, &packet(0), start);
        ledger.heard(0, &packet(0), start);
        let closed = ledger.close().unwrap();
        assert_eq!((closed.last.requests(), closed.each.errors), (0, 3));
        assert_eq!(closed.each.first_error.as_deref(), Some("an event came twice"));
    }

    #[test]
    fn nobody_need_hear_of_what_was_refused_and_nothing_else_may_be_heard() {
        let ledger = Ledger::new(1).unwrap();
        ledger.refused(ledger.send(now(), true), "status 500".to_owned());
        assert!(ledger.is_complete());
        ledger.heard(0, r#"42["member:left",{}]"#, now());
        ledger.heard(0, &packet(7), now());
        assert_eq!(ledger.close().unwrap().each.errors, 3);
    }
}
