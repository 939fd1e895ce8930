//! The PostgreSQL protocol, as far as it must be read to count the statements and round trips of a client and
//! to write its statements down.

use std::collections::{HashMap, VecDeque};

/// One statement that a client has sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Sent {
    /// Without parameters: BEGIN, COMMIT and the like.
    Simple(String),
    Prepared {
        sql: String,
        parameters: Vec<Parameter>,
    },
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Parameter {
    /// The object id of its type.
    pub type_id: u32,
    pub is_binary: bool,
    /// `None`: NULL.
    pub bytes: Option<Vec<u8>>,
}

/// What clients have sent. A flight is everything that is sent before the server answers: one round trip.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Log {
    pub flights: Vec<Vec<Sent>>,
}

impl Log {
    /// Without BEGIN, COMMIT and settings.
    pub fn statements(&self) -> usize {
        let all = self.flights.iter().flatten();
        all.filter(|sent| !sent.is_transaction_control()).count()
    }

    pub fn writes(&self) -> bool {
        self.flights.iter().flatten().any(|sent| sent.is_command("BEGIN"))
    }
}

impl Sent {
    fn is_transaction_control(&self) -> bool {
        ["BEGIN", "COMMIT", "ROLLBACK", "SET"].iter().any(|command| self.is_command(command))
    }

    pub fn is_setting(&self) -> bool {
        self.is_command("SET")
    }

    fn is_command(&self, command: &str) -> bool {
        let (Sent::Simple(sql) | Sent::Prepared { sql, .. }) = self;
        sql.split([' ', ';']).next().is_some_and(|word| word.eq_ignore_ascii_case(command))
    }
}

#[derive(Debug, Default)]
struct Prepared {
    sql: String,
    types: Vec<u32>,
}

/// Both directions of one connection.
#[derive(Debug, Default)]
pub struct Conversation {
    from_client: Vec<u8>,
    from_server: Vec<u8>,
    /// The first message of a client has no type.
    is_started: bool,
    is_answered: bool,
    statements: HashMap<Vec<u8>, Prepared>,
    /// Statements whose parameter types the server will tell, in this order.
    described: VecDeque<Vec<u8>>,
    bound: Option<Sent>,
}

impl Conversation {
    pub fn client_sends(&mut self, bytes: &[u8], log: &mut Log) {
        if self.is_answered || log.flights.is_empty() {
            log.flights.push(Vec::new());
            self.is_answered = false;
        }
        self.from_client.extend_from_slice(bytes);
        if !self.is_started {
            self.is_started = next_message(&mut self.from_client, 0).is_some();
            if !self.is_started {
                return;
            }
        }
        while let Some((kind, body)) = next_message(&mut self.from_client, 1) {
            let sent = self.client_message(kind, &body);
            if let (Some(sent), Some(flight)) = (sent, log.flights.last_mut()) {
                flight.push(sent);
            }
        }
    }

    pub fn server_sends(&mut self, bytes: &[u8]) {
        self.is_answered = true;
        self.from_server.extend_from_slice(bytes);
        while let Some((kind, body)) = next_message(&mut self.from_server, 1) {
            // ParameterDescription
            if kind == b't'
                && let Some(name) = self.described.pop_front()
                && let Some(prepared) = self.statements.get_mut(&name)
            {
                let mut reader = Reader(&body);
                let count = reader.int16().unwrap_or(0);
                prepared.types = (0..count).map_while(|_| reader.int32()).collect();
            }
        }
    }

    /// The statement that this message executes.
    fn client_message(&mut self, kind: u8, body: &[u8]) -> Option<Sent> {
        let mut reader = Reader(body);
        match kind {
            b'Q' => return Some(Sent::Simple(text(reader.until_zero()?))),
            // Parse
            b'P' => {
                let (name, sql) = (reader.until_zero()?.to_vec(), text(reader.until_zero()?));
                self.statements.insert(name, Prepared { sql, types: Vec::new() });
            }
            // Describe
            b'D' if reader.byte()? == b'S' => {
                self.described.push_back(reader.until_zero()?.to_vec());
            }
            // Bind
            b'B' => self.bound = self.bind(&mut reader),
            // Execute
            b'E' => return self.bound.take(),
            _ => {}
        }
        None
    }

    fn bind(&self, reader: &mut Reader<'_>) -> Option<Sent> {
        let _portal = reader.until_zero()?;
        let Prepared { sql, types } = self.statements.get(reader.until_zero()?)?;
        let formats: Vec<u16> = (0..reader.int16()?).map_while(|_| reader.int16()).collect();
        let mut parameters = Vec::new();
        for number in 0..usize::from(reader.int16()?) {
            // No format: all are text. One: that of all.
            let format = formats.get(number).or(formats.first()).copied().unwrap_or(0);
            let length = reader.int32()?;
            let bytes = match usize::try_from(length.cast_signed()) {
                Ok(length) => Some(reader.take(length)?.to_vec()),
                Err(_) => None,
            };
            let type_id = types.get(number).copied().unwrap_or(0);
            parameters.push(Parameter { type_id, is_binary: format == 1, bytes });
        }
        Some(Sent::Prepared { sql: sql.clone(), parameters })
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Takes one whole message: a type of so many bytes (0 or 1), its length, its body.
fn next_message(buffer: &mut Vec<u8>, type_length: usize) -> Option<(u8, Vec<u8>)> {
    let mut reader = Reader(buffer);
    let kind = reader.take(type_length)?.first().copied().unwrap_or(0);
    let length = usize::try_from(reader.int32()?).ok()?.checked_sub(4)?;
    let body = reader.take(length)?.to_vec();
    buffer.drain(..type_length + 4 + length);
    Some((kind, body))
}

/// Reads the fields of a message.
#[derive(Debug)]
pub struct Reader<'a>(pub &'a [u8]);

impl<'a> Reader<'a> {
    pub fn take(&mut self, length: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(taken)
    }

    fn byte(&mut self) -> Option<u8> {
        self.take(1)?.first().copied()
    }

    fn int16(&mut self) -> Option<u16> {
        Some(u16::from_be_bytes(self.take(2)?.try_into().ok()?))
    }

    pub fn int32(&mut self) -> Option<u32> {
        Some(u32::from_be_bytes(self.take(4)?.try_into().ok()?))
    }

    fn until_zero(&mut self) -> Option<&'a [u8]> {
        let end = self.0.iter().position(|byte| *byte == 0)?;
        let taken = self.take(end)?;
        self.take(1)?;
        Some(taken)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(kind: u8, body: &[u8]) -> Vec<u8> {
        let length = u32::try_from(body.len() + 4).unwrap().to_be_bytes();
        [&[kind], length.as_slice(), body].concat()
    }

    const READY: u8 = b'Z';

    fn started() -> (Conversation, Log) {
        let (mut conversation, mut log) = (Conversation::default(), Log::default());
        conversation.client_sends(&[0, 0, 0, 8, 0, 3, 0, 0], &mut log);
        conversation.server_sends(&message(READY, b"I"));
        (conversation, Log::default())
    }

    #[test]
    fn statements_and_flights_are_counted_however_the_bytes_arrive() {
        let (mut conversation, mut log) = started();
        let prepare = [message(b'P', b"s1\0SELECT $1\0\0\0"), message(b'D', b"Ss1\0")].concat();
        conversation.client_sends(&prepare, &mut log);
        let described = message(b't', &[0, 1, 0, 0, 0, 20]);
        conversation.server_sends(&[described, message(READY, b"I")].concat());

        let bind = message(b'B', b"\0s1\0\0\x01\0\x01\0\x01\0\0\0\x02hi\0\0");
        let all = [message(b'Q', b"BEGIN\0"), bind, message(b'E', b"\0\0\0\0\0")].concat();
        // Torn into two parts without a reply between them.
        conversation.client_sends(&all[..11], &mut log);
        conversation.client_sends(&all[11..], &mut log);
        conversation.server_sends(&message(READY, b"T"));
        conversation.client_sends(&message(b'Q', b"COMMIT\0"), &mut log);

        let parameter = Parameter { type_id: 20, is_binary: true, bytes: Some(b"hi".to_vec()) };
        let simple = |sql: &str| Sent::Simple(sql.to_owned());
        let prepared = Sent::Prepared { sql: "SELECT $1".to_owned(), parameters: vec![parameter] };
        let flights = vec![vec![], vec![simple("BEGIN"), prepared], vec![simple("COMMIT")]];
        assert_eq!(log, Log { flights });
        assert_eq!((log.statements(), log.writes()), (1, true));
    }

    #[test]
    fn a_null_has_no_bytes() {
        let (mut conversation, mut log) = started();
        conversation.client_sends(&message(b'P', b"\0SELECT $1\0\0\0"), &mut log);
        conversation.client_sends(&message(b'B', b"\0\0\0\0\0\x01\xff\xff\xff\xff\0\0"), &mut log);
        conversation.client_sends(&message(b'E', b"\0\0\0\0\0"), &mut log);
        let parameter = Parameter { type_id: 0, is_binary: false, bytes: None };
        let sent = Sent::Prepared { sql: "SELECT $1".to_owned(), parameters: vec![parameter] };
        assert_eq!(log.flights, [[sent]]);
        assert!(!log.writes());
    }
}
