//! Mail over SMTP, against a small server that speaks the protocol.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::json;
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::{TcpListener, TcpStream};

use crate::support::{TestApp, on_both_engines};

on_both_engines![mail_goes_out_over_smtp, mail_that_fails_is_sent_again_later];

/// Accepts mails after refusing a given number.
#[derive(Debug, Clone)]
pub struct SmtpServer {
    port: u16,
    mails: Arc<Mutex<Vec<String>>>,
    refusals: Arc<Mutex<u32>>,
}

impl SmtpServer {
    pub async fn start(refusals: u32) -> SmtpServer {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let server =
            SmtpServer { port, mails: Arc::default(), refusals: Arc::new(Mutex::new(refusals)) };
        let serving = server.clone();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let server = serving.clone();
                tokio::spawn(async move { server.talk(stream).await });
            }
        });
        server
    }

    async fn talk(&self, stream: TcpStream) {
        let mut stream = BufReader::new(stream);
        stream.write_all(b"220 mail.example ready\r\n").await.unwrap();
        let mut line = String::new();
        while stream.read_line(&mut line).await.unwrap() > 0 {
            let reply = match line.split([' ', '\r']).next().unwrap() {
                "EHLO" => "250 mail.example",
                "MAIL" if self.refuses() => "451 try again later",
                "DATA" => {
                    stream.write_all(b"354 go on\r\n").await.unwrap();
                    let mut mail = String::new();
                    while !mail.ends_with("\r\n.\r\n") {
                        stream.read_line(&mut mail).await.unwrap();
                    }
                    self.mails.lock().unwrap().push(mail);
                    "250 taken"
                }
                "QUIT" => "221 bye",
                _ => "250 ok",
            };
            stream.write_all(format!("{reply}\r\n").as_bytes()).await.unwrap();
            line.clear();
        }
    }

    fn refuses(&self) -> bool {
        let mut left = self.refusals.lock().unwrap();
        let refuses = *left > 0;
        *left = left.saturating_sub(1);
        refuses
    }

    pub fn mails(&self) -> Vec<String> {
        self.mails.lock().unwrap().clone()
    }
}

pub async fn with_smtp(app: TestApp, server: &SmtpServer) -> TestApp {
    app.restart_with(|config| {
        config.set("TOWNHALL_SMTP_URL", &format!("smtp://127.0.0.1:{}", server.port));
        config.set("TOWNHALL_MAIL_FROM", "The Community <hello@community.example>");
    })
    .await
}

async fn mail_goes_out_over_smtp(app: TestApp) {
    let server = SmtpServer::start(0).await;
    let app = with_smtp(app, &server).await;
    let user = app.user().await;
    let body = json!({ "email": user.email });
    app.anonymous().post("/auth/request-password-reset", body).await.expect(200);
    assert_eq!(app.run_jobs().await, 1);

    let mails = server.mails();
    assert_eq!(mails.len(), 1);
    assert!(mails[0].contains("From: \"The Community\" <hello@community.example>"), "{}", mails[0]);
    assert!(mails[0].contains(&format!("To: {}", user.email)), "{}", mails[0]);
    assert!(mails[0].contains("https://community.example/v8/"), "{}", mails[0]);
    assert!(app.mails().is_empty(), "the outbox is for servers without SMTP");
}

async fn mail_that_fails_is_sent_again_later(app: TestApp) {
    let server = SmtpServer::start(2).await;
    let app = with_smtp(app, &server).await;
    let user = app.user().await;
    user.post("/auth/request-account-deletion", json!({})).await.expect(200);

    assert_eq!(app.run_jobs().await, 1);
    assert_eq!(app.run_jobs().await, 0, "it is not due yet");
    app.advance(Duration::from_secs(10));
    assert_eq!(app.run_jobs().await, 1);
    app.advance(Duration::from_secs(19));
    assert_eq!(app.run_jobs().await, 0, "patience grows");
    assert!(server.mails().is_empty());
    app.advance(Duration::from_secs(1));
    assert_eq!(app.run_jobs().await, 1);
    assert_eq!(server.mails().len(), 1);
    app.advance(Duration::from_secs(3600));
    assert_eq!(app.run_jobs().await, 0, "what is sent is forgotten");
}
