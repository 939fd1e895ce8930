//! The admin in a real browser: `tests/admin-browser` drives Chromium. `SCREENSHOTS=DIRECTORY` keeps pictures of all pages.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use db::Engine;
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::TcpListener;
use townhall::auth::operators::Role;

use crate::support::visitor::invite;
use crate::support::{TestApp, on_both_engines};

/// How often the clock of the server goes along with the one of the browser.
const TICK: Duration = Duration::from_millis(500);

on_both_engines![
    everything_works_in_a_browser,
    appeals_work_in_a_browser,
    projects_passkeys_and_sockets_work_in_a_browser,
];

async fn everything_works_in_a_browser(app: TestApp) {
    let app = prepared(app).await;
    let url = [("TOWNHALL_URL", format!("http://{}", app.address))];
    drive(&app, "admin.test.js", &url).await;
}

async fn appeals_work_in_a_browser(app: TestApp) {
    let app = prepared(app).await;
    let user = app.user().await;
    let more = [
        ("TOWNHALL_URL", format!("http://{}", app.address)),
        ("USER_TOKEN", user.access_token.clone()),
    ];
    drive(&app, "appeals.test.js", &more).await;
}

async fn projects_passkeys_and_sockets_work_in_a_browser(app: TestApp) {
    let app = prepared(app).await;
    app.change_settings(app.project.id, |settings| settings.live_feeds = true).await;
    let user = app.user().await;
    let more = [
        ("TOWNHALL_ADDRESS", app.address.to_string()),
        ("USER_ID", user.id.to_string()),
        ("USER_TOKEN", user.access_token.clone()),
    ];
    drive(&app, "system.test.js", &more).await;
}

/// Without TLS: a browser keeps no secure cookie of such a page.
async fn prepared(app: TestApp) -> TestApp {
    let installed = folder().join("node_modules/puppeteer-core").exists();
    assert!(installed, "what drives the browser is missing: scripts/test installs it");
    app.restart_with(|config| config.set("TOWNHALL_PUBLIC_URL", "http://localhost")).await
}

async fn drive(app: &TestApp, test: &str, environment: &[(&str, String)]) {
    let invitations =
        [invite(app, Role::Owner, None).await, invite(app, Role::Moderator, None).await];
    let clock = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let mut command = Command::new("node");
    command
        .args(["--test", "--test-force-exit"])
        .arg(folder().join(test))
        .envs(environment.iter().map(|(name, value)| (name, value)))
        .env("TOWNHALL_PROJECT_ID", app.project.id.to_string())
        .env("TOWNHALL_SERVICE_KEY", &app.project.service_key)
        .env("TOWNHALL_CLOCK", clock.local_addr().unwrap().port().to_string())
        .env("INVITATIONS", invitations.join(" "));
    if app.engine() == Engine::Sqlite {
        command.env("EVERY_SCREEN", "yes");
    }
    let running = tokio::task::spawn_blocking(move || command.output());
    let output = tokio::select! {
        output = running => output.unwrap().unwrap(),
        () = keep_pace(app, &clock) => unreachable!(),
    };
    let [out, err] = [&output.stdout, &output.stderr].map(|text| String::from_utf8_lossy(text));
    assert!(output.status.success(), "{out}{err}");
}

/// A browser has a clock of its own, so the one of the server goes along; what is due is done. A test that connects and sends
/// a number of seconds is so much further when it gets the reply.
async fn keep_pace(app: &TestApp, clock: &TcpListener) {
    let mut ticks = tokio::time::interval(TICK);
    loop {
        tokio::select! {
            _ = ticks.tick() => pass(app, TICK).await,
            asked = clock.accept() => {
                let mut asked = BufReader::new(asked.unwrap().0);
                let mut line = String::new();
                asked.read_line(&mut line).await.unwrap();
                pass(app, Duration::from_secs(line.trim().parse().unwrap())).await;
                asked.write_all(b"done\n").await.unwrap();
            }
        }
    }
}

async fn pass(app: &TestApp, time: Duration) {
    app.advance(time);
    app.run_jobs().await;
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/admin-browser")
}
