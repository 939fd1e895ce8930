//! The admin in a real browser: `tests/admin-browser` drives Chromium.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use townhall::auth::operators::Role;

use crate::support::visitor::invite;
use crate::support::{TestApp, on_both_engines};

const TICK: Duration = Duration::from_millis(500);

on_both_engines![everything_works_in_a_browser];

async fn everything_works_in_a_browser(app: TestApp) {
    let installed = folder().join("node_modules/puppeteer-core").exists();
    assert!(installed, "what drives the browser is missing: scripts/test installs it");
    // Without TLS: a browser keeps no secure cookie of such a page.
    let app =
        app.restart_with(|config| config.set("TOWNHALL_PUBLIC_URL", "http://localhost")).await;
    let invitations =
        [invite(&app, Role::Owner, None).await, invite(&app, Role::Moderator, None).await];
    let pictures = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("admin-{:?}", app.engine()));
    let mut command = Command::new("node");
    command
        .args(["--test", "--test-force-exit"])
        .arg(folder().join("admin.test.js"))
        .env("TOWNHALL_URL", format!("http://{}", app.address))
        .env("TOWNHALL_PROJECT_ID", app.project.id.to_string())
        .env("TOWNHALL_SERVICE_KEY", &app.project.service_key)
        .env("INVITATIONS", invitations.join(" "))
        .env("SCREENSHOTS", pictures);
    let running = tokio::task::spawn_blocking(move || command.output());
    let output = tokio::select! {
        output = running => output.unwrap().unwrap(),
        () = keep_pace(&app) => unreachable!(),
    };
    let [out, err] = [&output.stdout, &output.stderr].map(|text| String::from_utf8_lossy(text));
    assert!(output.status.success(), "{out}{err}");
}

/// A browser has a clock of its own, so the one of the server goes along; what is due is done.
async fn keep_pace(app: &TestApp) {
    let mut ticks = tokio::time::interval(TICK);
    loop {
        ticks.tick().await;
        app.advance(TICK);
        app.run_jobs().await;
    }
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/admin-browser")
}
