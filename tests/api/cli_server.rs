//! `townhall serve` as a process: commands that work beside it, how it refuses to start, and how
//! it stops.

use serde_json::{Value, json};

use crate::support::{Installation, failure, installed_on_both_engines};

installed_on_both_engines![
    a_running_server_knows_what_commands_change,
    a_token_from_the_command_line_is_a_session,
    a_signal_ends_the_server_in_order,
    a_limit_of_open_files_leaves_health_checks_room,
    a_data_directory_serves_one_server,
    a_newer_schema_is_not_touched,
    a_place_that_cannot_be_written_is_refused,
];

fn project(town: &Installation) -> Value {
    town.json(&["project", "create", "--name", "Forum"])
}

fn text<'v>(value: &'v Value, key: &str) -> &'v str {
    value[key].as_str().unwrap()
}

fn a_running_server_knows_what_commands_change(town: Installation) {
    let server = town.serve();
    let made = project(&town);
    let id = text(&made, "projectId");
    let path = format!("/v8/{id}/users/by-foreign-id?foreignId=1&createIfNotFound=true");
    let (status, body) = server.request("GET", &path, text(&made, "serviceKey"), "");
    assert_eq!(status, 201, "{body}");
    let user: Value = serde_json::from_str(&body).unwrap();
    let own = format!("/v8/{id}/users/{}", text(&user, "id"));

    let key = town.json(&["key", "create", "--project", id, "--kind", "master"]);
    let rename = || server.request("PATCH", &own, text(&key, "key"), "{}").0;
    assert!(eventually(|| rename() == 200), "a new key works without a restart");
    town.json(&["key", "revoke", text(&key, "keyId"), "--yes"]);
    assert!(eventually(|| rename() == 403), "a revoked key stops working");
    assert_eq!(server.request("PATCH", &own, text(&made, "serviceKey"), "{}").0, 200);

    let lean = format!("/v8/{id}/projects/lean");
    for (state, expected) in [("migrating", 503), ("pending-deletion", 423), ("active", 200)] {
        town.json(&["project", "state", id, "--set", state]);
        assert!(eventually(|| server.request("GET", &lean, "", "").0 == expected), "{state}");
    }
}

/// The server reads a project anew twice a second; a few thousand requests take longer.
fn eventually(mut holds: impl FnMut() -> bool) -> bool {
    (0..20_000).any(|_| holds())
}

fn a_token_from_the_command_line_is_a_session(town: Installation) {
    let server = town.serve();
    let made = project(&town);
    let id = text(&made, "projectId");
    let base = format!("/v8/{id}");
    let sign_up = json!({ "email": "ada@example.com", "password": "correct horse" }).to_string();
    let (status, body) = server.request("POST", &format!("{base}/auth/sign-up"), "", &sign_up);
    assert_eq!(status, 201, "{body}");
    let signed_up: Value = serde_json::from_str(&body).unwrap();
    let user = text(&signed_up["user"], "id");

    let pair = town.json(&["user", "token", "--project", id, "--user", user]);
    let identities = format!("{base}/oauth/identities");
    let (status, body) = server.request("GET", &identities, text(&pair, "accessToken"), "");
    assert_eq!(status, 200, "{body}");
    let refresh = json!({ "refreshToken": pair["refreshToken"] }).to_string();
    let path = format!("{base}/auth/request-new-access-token");
    let (status, body) = server.request("POST", &path, "", &refresh);
    assert_eq!(status, 200, "{body}");

    let who = ["--project", id, "--user", user];
    town.json(&[&["user", "suspend", "--reason", "spam"][..], &who].concat());
    let suspended = |expected: usize| {
        let own = format!("{base}/users/{user}");
        let (_, body) = server.request("PATCH", &own, text(&pair, "accessToken"), "{}");
        let shown: Value = serde_json::from_str(&body).unwrap();
        shown["suspensions"].as_array().unwrap().len() == expected
    };
    assert!(suspended(1));
    let lifted = town.json(&[&["user", "unsuspend"][..], &who].concat());
    assert_eq!(lifted, json!({ "lifted": 1 }));
    assert!(suspended(0));
}

fn a_signal_ends_the_server_in_order(town: Installation) {
    for signal in ["TERM", "INT"] {
        let server = town.serve();
        let url = format!("http://{}", server.address);
        assert_eq!(town.json(&["health", "--url", &url]), json!({ "status": "pass" }));
        server.signal(signal);
        assert_eq!(server.wait().code(), Some(0), "after SIG{signal}");
        let gone = town.fails(&["health", "--url", &url]);
        assert!(gone.contains("not ready"), "{gone}");
    }
}

/// Connections are open files: a server that runs out of them could not even say that it is busy.
fn a_limit_of_open_files_leaves_health_checks_room(town: Installation) {
    let server = town.serve_with_open_files(300);
    // Half of the files are for connections; the last of these have a place in the reserve.
    let _held: Vec<_> =
        (0..154).map(|_| std::net::TcpStream::connect(server.address).unwrap()).collect();
    assert_eq!(server.request("GET", "/livez", "", "").0, 200);
    assert_eq!(server.request("GET", "/nowhere", "", "").0, 503);
}

fn a_data_directory_serves_one_server(town: Installation) {
    let server = town.serve();
    let mut second = town.command();
    second.args(["serve", "--listen", "127.0.0.1:0"]).env("RUST_LOG", "off");
    let line = failure(&mut second);
    assert!(line.contains("in use by another server"), "{line}");
    assert_eq!(server.request("GET", "/readyz", "", "").0, 200);
    server.signal("TERM");
    server.wait();
    town.serve();
}

fn a_newer_schema_is_not_touched(town: Installation) {
    let applied = town.json(&["migrate", "up"])["applied"].as_array().unwrap().len();
    let newer = format!(
        "INSERT INTO schema_migrations (version, name, checksum, applied_at)
         VALUES ({}, 'from the future', 'x', 1)",
        applied + 1
    );
    town.db().execute_script(&newer).unwrap();
    for command in
        [&["serve", "--listen", "127.0.0.1:0"][..], &["migrate", "up"], &["project", "list"]]
    {
        let mut command_line = town.command();
        let line = failure(command_line.args(command).env("RUST_LOG", "off"));
        assert!(line.contains("newer townhall"), "{line}");
    }
}

fn a_place_that_cannot_be_written_is_refused(town: Installation) {
    let file = town.data_dir.join("file");
    std::fs::write(&file, "").unwrap();
    let serve = |change: &dyn Fn(&mut std::process::Command)| {
        let mut command = town.command();
        command.arg("serve").env("TOWNHALL_LISTEN", "127.0.0.1:0").env("RUST_LOG", "off");
        change(&mut command);
        failure(&mut command)
    };
    let line = serve(&|command| {
        command.env("TOWNHALL_DATA_DIR", &file);
    });
    assert!(line.contains(&file.display().to_string()), "{line}");
    let unreachable = if town.is_sqlite() {
        "sqlite:///nowhere/at/all/townhall.db"
    } else {
        "postgres://postgres@127.0.0.1:1/townhall"
    };
    let line = serve(&|command| {
        command.env("TOWNHALL_DATABASE_URL", unreachable);
    });
    assert!(!line.is_empty());
    let line = serve(&|command| {
        command.env("TOWNHALL_DATABASE_URL", "mysql://db/townhall");
    });
    assert!(line.contains("mysql") || line.contains("sqlite"), "{line}");
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let line = serve(&|command| {
        command.env("TOWNHALL_LISTEN", &address);
    });
    assert!(line.contains(&address), "{line}");
}
