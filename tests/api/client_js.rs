//! The client of `clients/js` against this server: its own tests, in Node and in Chromium, and its README.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::Duration;

use db::Engine;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;
use tokio::sync::OnceCell;
use townhall::http::openapi;
use townhall::http::version::Version;

use crate::support::{Installation, TestApp, on_both_engines};

on_both_engines![it_keeps_its_promises];

async fn it_keeps_its_promises(app: TestApp) {
    run(&app, "client.test.js").await;
}

/// Snippets and types are the same on every engine.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_snippet_of_its_readme_runs() {
    let app = TestApp::start(Engine::Sqlite, "every_snippet_of_its_readme_runs").await;
    run(&app, "readme.test.js").await;
}

/// The page of `docs/tutorial.md`, with the program that its readers start.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_page_of_the_tutorial_works() {
    build().await;
    let launched = tokio::task::spawn_blocking(|| {
        let town = Installation::new(Engine::Sqlite);
        let mut demo = town.launch(&["dev", "--json"], &[]);
        let printed: serde_json::Value = serde_json::from_str(&demo.printed()).unwrap();
        (town, demo, printed)
    });
    let (_town, _demo, printed) = launched.await.unwrap();
    let mut command = Command::new("node");
    command
        .arg("--test-force-exit")
        .arg(folder().join("test/tutorial.test.js"))
        .env("TOWNHALL_URL", printed["url"].as_str().unwrap())
        .env("TOWNHALL_PROJECT_ID", printed["projectId"].as_str().unwrap());
    succeeded(&output(command).await);
}

/// Runs a file of the client's tests, which may move the clock.
async fn run(app: &TestApp, file: &str) {
    build().await;
    let control = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let mut command = Command::new("node");
    command
        // What a failed test leaves open must not keep the others waiting.
        .arg("--test-force-exit")
        .arg(folder().join("test").join(file))
        .env("TOWNHALL_URL", format!("http://{}", app.address))
        .env("TOWNHALL_PROJECT_ID", app.project.id.to_string())
        .env("TOWNHALL_SERVICE_KEY", &app.project.service_key)
        .env("TEST_CONTROL", format!("http://{}", control.local_addr().unwrap()));
    tokio::select! {
        output = output(command) => succeeded(&output),
        () = move_clock(app, control) => {}
    }
}

/// Generates the types from the document of this server and compiles the client, once for all tests.
async fn build() {
    static BUILT: OnceCell<()> = OnceCell::const_new();
    let build = async || {
        let installed = folder().join("node_modules/socket.io-client").exists();
        assert!(installed, "the client's dependencies are missing: scripts/test installs them");
        let document = openapi::document(townhall::features::operations(), Some(Version::V8));
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("openapi-v8.json");
        std::fs::write(&path, document.to_string()).unwrap();
        let mut command = Command::new("node");
        command.arg(folder().join("build.js")).arg(path);
        succeeded(&output(command).await);
    };
    BUILT.get_or_init(build).await;
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("clients/js")
}

async fn output(mut command: Command) -> Output {
    tokio::task::spawn_blocking(move || command.output()).await.unwrap().unwrap()
}

fn succeeded(output: &Output) {
    let [out, err] = [&output.stdout, &output.stderr].map(|text| String::from_utf8_lossy(text));
    assert!(output.status.success(), "{out}{err}");
}

/// `GET /advance/:seconds` moves the clock of the server, which is the test's.
async fn move_clock(app: &TestApp, control: TcpListener) {
    loop {
        let (mut stream, _) = control.accept().await.unwrap();
        let mut request = [0; 1024];
        let length = stream.read(&mut request).await.unwrap();
        let request = String::from_utf8_lossy(&request[..length]).into_owned();
        let path = request.split(' ').nth(1).unwrap_or_default();
        if let Some(seconds) = path.strip_prefix("/advance/").and_then(|text| text.parse().ok()) {
            app.advance(Duration::from_secs(seconds));
            let reply = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
            stream.write_all(reply).await.unwrap();
        }
    }
}
