//! Mail: over SMTP if configured, otherwise as files in the outbox of the data directory.

use std::fs::{DirBuilder, OpenOptions};
use std::io::Write as _;
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, SystemTime};

use lettre::message::header::{ContentTransferEncoding, ContentType, HeaderName, HeaderValue};
use lettre::message::{Body, Mailbox, MultiPart};
use lettre::{AsyncSmtpTransport, AsyncTransport, Message, Tokio1Executor};

use crate::error::{Error, Result};
use crate::values::random::{Random, hex};
use crate::values::time::Timestamp;

#[derive(Debug, Clone)]
pub struct Mail {
    to: String,
    subject: String,
    text: String,
    html: Option<String>,
    unsubscribe: Option<String>,
}

impl Mail {
    pub fn new(to: String, subject: impl Into<String>, text: String) -> Self {
        Mail { to, subject: subject.into(), text, html: None, unsubscribe: None }
    }

    /// The same as HTML, for programs that show it.
    pub fn with_html(self, html: String) -> Self {
        Mail { html: Some(html), ..self }
    }

    /// Where the recipient ends such mails with one click (RFC 8058). For mails that nobody asked for: automatic
    /// replies do not answer them.
    pub fn unsubscribed_by(self, url: String) -> Self {
        Mail { unsubscribe: Some(url), ..self }
    }
}

/// What users call themselves and write must not look like another part of the mail.
pub fn on_one_line(text: &str) -> String {
    let words = text.split(|c: char| c.is_whitespace() || c.is_control());
    words.filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ")
}

#[derive(Debug)]
pub struct Mailer {
    from: Mailbox,
    way: Way,
    sent: AtomicU64,
    failed: AtomicU64,
}

/// Mails since the start.
#[derive(Debug, Clone, Copy)]
pub struct Figures {
    pub sent: u64,
    pub failed: u64,
}

#[derive(Debug)]
enum Way {
    Outbox(PathBuf),
    Smtp(Box<AsyncSmtpTransport<Tokio1Executor>>),
}

impl Mailer {
    /// The sender of mails when none is configured.
    pub const DEFAULT_FROM: &'static str = "Townhall <townhall@localhost>";

    pub fn check_sender(from: &str) -> Result<(), String> {
        parse_from(from).map(drop)
    }

    /// The error does not repeat the address, which holds a password.
    pub fn check_server(url: &str) -> Result<(), String> {
        let form = "must be an address such as smtp://user:password@host:587?tls=required";
        AsyncSmtpTransport::<Tokio1Executor>::from_url(url).map(drop).map_err(|_| form.to_owned())
    }

    pub fn outbox(directory: &Path, from: &str) -> Result<Self, String> {
        let directory = directory.to_owned();
        Mailer::new(from, Way::Outbox(directory))
    }

    pub fn smtp(url: &str, from: &str) -> Result<Self, String> {
        let transport = AsyncSmtpTransport::<Tokio1Executor>::from_url(url)
            .map_err(|error| format!("the SMTP address is not usable: {error}"))?
            .timeout(Some(Duration::from_secs(30)))
            .build();
        Mailer::new(from, Way::Smtp(Box::new(transport)))
    }

    fn new(from: &str, way: Way) -> Result<Self, String> {
        let (sent, failed) = (AtomicU64::new(0), AtomicU64::new(0));
        Ok(Mailer { from: parse_from(from)?, way, sent, failed })
    }

    pub fn figures(&self) -> Figures {
        Figures { sent: self.sent.load(Relaxed), failed: self.failed.load(Relaxed) }
    }

    /// Whether the mail server responds, and accepts the credentials if there are any. Succeeds without a
    /// server.
    pub async fn check(&self) -> Result<(), String> {
        let Way::Smtp(transport) = &self.way else { return Ok(()) };
        match transport.test_connection().await {
            Ok(true) => Ok(()),
            Ok(false) => Err("the connection was closed".to_owned()),
            Err(error) => Err(Error::internal(error).chain().unwrap_or_default()),
        }
    }

    pub async fn send(&self, mail: Mail, now: Timestamp, random: &Random) -> Result<()> {
        let handed_over = self.hand_over(mail, now, random).await;
        let counted = if handed_over.is_ok() { &self.sent } else { &self.failed };
        counted.fetch_add(1, Relaxed);
        handed_over
    }

    async fn hand_over(&self, mail: Mail, now: Timestamp, random: &Random) -> Result<()> {
        let id = hex(&random.bytes::<16>());
        let millis = u64::try_from(now.millis()).unwrap_or(0);
        let mut message = Message::builder()
            .from(self.from.clone())
            .to(mail.to.parse().map_err(Error::internal)?)
            .date(SystemTime::UNIX_EPOCH + Duration::from_millis(millis))
            .message_id(Some(format!("<{id}@{}>", self.from.email.domain())))
            .subject(mail.subject);
        for (name, value) in mail.unsubscribe.iter().flat_map(|url| list_headers(url)) {
            let name = HeaderName::new_from_ascii_str(name);
            message = message.raw_header(HeaderValue::new(name, value));
        }
        let text = as_it_is(mail.text);
        let message = match mail.html {
            Some(html) => {
                message.multipart(MultiPart::alternative_plain_html(text, as_it_is(html)))
            }
            None => message.header(ContentType::TEXT_PLAIN).body(text),
        };
        let message = message.map_err(Error::internal)?;
        match &self.way {
            Way::Smtp(transport) => {
                transport.send(message).await.map(|_| ()).map_err(Error::internal)
            }
            Way::Outbox(directory) => {
                let name = format!("{millis}-{id}.eml");
                write_whole(directory.clone(), name, message.formatted()).await
            }
        }
    }
}

fn list_headers(url: &str) -> [(&'static str, String); 3] {
    [
        ("List-Unsubscribe", format!("<{url}>")),
        ("List-Unsubscribe-Post", "List-Unsubscribe=One-Click".to_owned()),
        ("Auto-Submitted", "auto-generated".to_owned()),
    ]
}

/// Without an encoding where the standard requires none, so that a link can be copied from the file.
fn as_it_is(text: String) -> Body {
    let is_plain = text.is_ascii() && !text.contains('\0') && text.lines().all(|l| l.len() < 998);
    if !is_plain {
        return Body::new(text);
    }
    let lines = text.lines().collect::<Vec<_>>().join("\r\n");
    Body::dangerous_pre_encoded(lines.into_bytes(), ContentTransferEncoding::SevenBit)
}

fn parse_from(from: &str) -> Result<Mailbox, String> {
    from.parse().map_err(|error| format!("`{from}` is no mail address: {error}"))
}

/// Written atomically, so that a watcher of the directory sees only whole files.
async fn write_whole(directory: PathBuf, name: String, content: Vec<u8>) -> Result<()> {
    let written = tokio::task::spawn_blocking(move || {
        // Mails hold links that sign people in: readable by the operator only.
        DirBuilder::new().recursive(true).mode(0o700).create(&directory)?;
        let partial = directory.join(format!(".{name}.partial"));
        let mut file =
            OpenOptions::new().create_new(true).write(true).mode(0o600).open(&partial)?;
        file.write_all(&content)?;
        std::fs::rename(partial, directory.join(name))
    });
    written.await.map_err(Error::internal)?.map_err(Error::internal)
}
