//! `townhall serve` as a process: commands that work beside it, how it refuses to start, and how
//! it stops.

use serde_json::{Value, json};

use crate::support::{Installation, failure, installed_on_both_engines, keys, outcome};

installed_on_both_engines![
    a_running_server_knows_what_commands_change,
    a_token_from_the_command_line_is_a_session,
    a_signal_ends_the_server_in_order,
    a_limit_of_open_files_leaves_health_checks_room,
    a_data_directory_serves_one_server,
    a_newer_schema_is_not_touched,
    a_place_that_cannot_be_written_is_refused,
    a_start_that_was_killed_leaves_no_copy_of_the_secret,
    a_wrong_setting_is_named_before_anything_is_written,
    another_secret_is_refused_until_it_is_accepted,
    a_secret_is_changed_without_ending_sessions,
    a_server_prints_its_document_when_it_is_ready,
    a_demo_says_where_everything_is,
    a_taken_address_is_explained,
    a_server_on_all_addresses_says_what_links_look_like,
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
    let town = town.untouched();
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
    let town = town.untouched();
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

fn a_start_that_was_killed_leaves_no_copy_of_the_secret(town: Installation) {
    let town = town.untouched();
    use std::os::unix::fs::PermissionsExt as _;
    let place = |name: &str| town.data_dir.join(name);
    // Half a secret aside, and a whole one as earlier versions wrote it.
    std::fs::create_dir_all(&town.data_dir).unwrap();
    std::fs::write(place("secret_key.new"), "half").unwrap();
    std::fs::write(place("secret_key.4711.new"), "a".repeat(64)).unwrap();
    let mut secrets = Vec::new();
    for _ in 0..2 {
        let server = town.serve();
        assert_eq!(server.request("GET", "/readyz", "", "").0, 200);
        server.signal("TERM");
        server.wait();
        let secret = std::fs::read_to_string(place("secret_key")).unwrap();
        assert!(secret.len() == 64 && secret.bytes().all(|b| b.is_ascii_hexdigit()), "{secret}");
        assert_ne!(secret, "a".repeat(64));
        let mode = place("secret_key").metadata().unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        let names = std::fs::read_dir(&town.data_dir).unwrap();
        let names: Vec<String> =
            names.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        assert!(names.iter().all(|name| !name.ends_with(".new")), "{names:?}");
        secrets.push(secret);
        // As a copy of the one in use would lie there.
        std::fs::copy(place("secret_key"), place("secret_key.17.new")).unwrap();
    }
    assert_eq!(secrets[0], secrets[1]);
}

fn a_wrong_setting_is_named_before_anything_is_written(town: Installation) {
    let town = town.untouched();
    let fresh = town.data_dir.join("fresh");
    let fresh_name = fresh.display().to_string();
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let taken = taken.local_addr().unwrap().to_string();
    for (variable, value) in [
        ("TOWNHALL_PUBLIC_URL", "community.example"),
        ("TOWNHALL_SMTP_URL", "mail.example"),
        ("TOWNHALL_MAIL_FROM", "nobody"),
        ("TOWNHALL_STORAGE", "ftp://files"),
        ("TOWNHALL_DATABASE_URL", "mysql://db/townhall"),
        ("TOWNHALL_LISTEN", taken.as_str()),
        ("TOWNHALL_LISTN", "127.0.0.1:1"),
        ("TOWNHALL_SECRET_KEY", "short"),
        ("RUST_LOG", "loud"),
    ] {
        let mut command = town.command();
        command.env("TOWNHALL_DATA_DIR", &fresh_name).env("TOWNHALL_LISTEN", "127.0.0.1:0");
        let line = failure(command.arg("serve").env(variable, value));
        assert!(line.contains(variable), "{variable}: {line}");
        assert!(!fresh.exists(), "{variable}");
    }
    let mut mail = town.command();
    mail.args(["serve", "--listen", "127.0.0.1:0", "--data-dir", &fresh_name]);
    let line = failure(mail.env("TOWNHALL_SMTP_URL", "smtp://mail.example"));
    assert!(line.starts_with("TOWNHALL_MAIL_FROM "), "{line}");
    let mut misspelt = town.command();
    let line = failure(misspelt.arg("config").env("TOWNHALL_LISTN", "127.0.0.1:1"));
    assert_eq!(line, "unknown setting TOWNHALL_LISTN: did you mean TOWNHALL_LISTEN?");
    std::fs::write(town.data_dir.join("townhall.toml"), "rate_limits = 1\nlisen = \"x\"\n")
        .unwrap();
    let line = failure(town.command().arg("serve"));
    assert!(
        line.ends_with("townhall.toml line 2: unknown setting `lisen`: did you mean `listen`?")
    );
    // Not one table was made, in the database that the others name either.
    std::fs::remove_file(town.data_dir.join("townhall.toml")).unwrap();
    let states = town.json(&["migrate", "status"]);
    assert!(states.as_array().unwrap().iter().all(|one| one["appliedAt"].is_null()), "{states}");
}

fn a_secret_is_changed_without_ending_sessions(town: Installation) {
    const OLD: &str = "the first secret of 32 characters";
    const NEW: &str = "the second secret of 32 characters";
    let made = project(&town);
    let (id, key) = (text(&made, "projectId"), text(&made, "serviceKey"));
    let server = town.launch(&["serve"], &[("TOWNHALL_SECRET_KEY", OLD)]);
    let path = format!("/v8/{id}/users/by-foreign-id?foreignId=1&createIfNotFound=true");
    let user: Value = serde_json::from_str(&server.request("GET", &path, key, "").1).unwrap();
    let mut command = town.command();
    command.args(["user", "token", "--project", id, "--user", text(&user, "id"), "--json"]);
    let tokens = outcome(command.env("TOWNHALL_SECRET_KEY", OLD)).stdout;
    let tokens: Value = serde_json::from_str(&tokens).unwrap();
    let mut command = town.command();
    command.args(["project", "oauth", "set", id, "--provider", "google", "--client-id", "c"]);
    command.args(["--client-secret", "hush", "--redirect", "https://app.example/done", "--json"]);
    assert_eq!(outcome(command.env("TOWNHALL_SECRET_KEY", OLD)).code, 0);
    let sealed = || {
        let secrets =
            db::Query::<Vec<u8>>::built("test", "SELECT client_secret FROM oauth_providers");
        town.db().snapshot(|c| c.one(&secrets, &[])).unwrap()
    };
    let first = sealed();
    drop(server);
    let both = [("TOWNHALL_SECRET_KEY", NEW), ("TOWNHALL_SECRET_KEY_PREVIOUS", OLD)];
    let renew = |server: &crate::support::Running, token: &str| {
        let body = json!({ "refreshToken": token }).to_string();
        let path = format!("/v8/{id}/auth/request-new-access-token");
        let (status, body) = server.request("POST", &path, "", &body);
        (status, serde_json::from_str::<Value>(&body).unwrap_or_default())
    };
    let server = town.launch(&["serve"], &both);
    let own = format!("/v8/{id}/app-notifications/count");
    assert_eq!(server.request("GET", &own, text(&tokens, "accessToken"), "").0, 200);
    let (status, renewed) = renew(&server, text(&tokens, "refreshToken"));
    assert_eq!(status, 200, "{renewed}");
    drop(server);
    let second = sealed();
    assert_ne!(second, first, "sealed with the new one");
    // The old one goes: what the new one has signed stays valid, and it is the installation's secret now.
    let server = town.launch(&["serve"], &both[..1]);
    assert_eq!(server.request("GET", &own, text(&renewed, "accessToken"), "").0, 200);
    assert_ne!(server.request("GET", &own, text(&tokens, "accessToken"), "").0, 200);
    drop(server);
    assert_eq!(sealed(), second);
    let mut old = town.command();
    old.args(["serve", "--listen", "127.0.0.1:0"]).env("RUST_LOG", "off");
    assert!(failure(old.env("TOWNHALL_SECRET_KEY", OLD)).contains("TOWNHALL_SECRET_KEY"));
}

fn another_secret_is_refused_until_it_is_accepted(town: Installation) {
    const OTHER: (&str, &str) = ("TOWNHALL_SECRET_KEY", "another secret of 32 characters!");
    let made = project(&town);
    let (id, user) = (text(&made, "projectId"), "01890000-0000-4000-8000-000000000000");
    drop(town.serve());
    let token = ["user", "token", "--project", id, "--user", user];
    for arguments in [&["serve", "--listen", "127.0.0.1:0"][..], &["dev"], &token] {
        let mut command = town.command();
        command.env("RUST_LOG", "off").env("TOWNHALL_LISTEN", "127.0.0.1:0");
        let line = failure(command.args(arguments).env(OTHER.0, OTHER.1));
        assert!(line.contains("TOWNHALL_SECRET_KEY"), "{line}");
        assert!(line.contains("townhall secret accept"), "{line}");
        assert!(!line.contains(OTHER.1));
    }
    drop(town.serve());

    let accept = |arguments: &[&str]| {
        let mut command = town.command();
        outcome(command.args(["secret", "accept"]).args(arguments).env(OTHER.0, OTHER.1))
    };
    assert!(accept(&[]).stderr.contains("--yes"), "it ends every session");
    drop(town.serve());
    assert_eq!(accept(&["--yes", "--json"]).stdout, "{\"accepted\":true}\n");
    drop(town.launch(&["serve"], &[OTHER]));
    let mut first = town.command();
    first.args(["serve", "--listen", "127.0.0.1:0"]).env("RUST_LOG", "off");
    assert!(failure(&mut first).contains("TOWNHALL_SECRET_KEY"));
    // Also before anything is migrated: the last migration could not run a second time.
    let behind = "DELETE FROM schema_migrations WHERE name = 'installation'";
    town.db().execute_script(behind).unwrap();
    assert!(failure(&mut first).contains("TOWNHALL_SECRET_KEY"));
    let kept = town.db();
    let text = "SELECT value FROM installation WHERE name = 'secret'";
    let read = kept.read(move |c| c.all(&db::Query::<String>::built("test", text), db::args![]));
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let values: Vec<String> = runtime.block_on(read).unwrap();
    assert_eq!(values.len(), 1);
    assert!(!values[0].contains(OTHER.1) && values[0].len() == 32, "{values:?}");
}

fn a_server_prints_its_document_when_it_is_ready(town: Installation) {
    let mut demo = town.launch(&["dev", "--json"], &[]);
    let printed = demo.printed();
    let document: Value = serde_json::from_str(&printed).unwrap_or_else(|_| panic!("{printed:?}"));
    let names = [
        "adminInvitation",
        "listen",
        "masterKey",
        "projectId",
        "serviceKey",
        "tour",
        "url",
        "users",
    ];
    assert_eq!(keys(&document), names);
    assert_eq!(document["listen"], demo.address.to_string());
    assert_eq!(document["tour"].as_array().unwrap().len(), 3);
    let tables = format!("/v8/{}/db/tables", text(&document, "projectId"));
    let column = json!({ "columnName": "a", "dataType": "text", "nullable": true });
    let table = json!({ "tableName": "t", "columns": [column] }).to_string();
    let (status, body) = demo.request("POST", &tables, text(&document, "serviceKey"), &table);
    assert_eq!(status, 201, "{body}");
    let user = &document["users"][0];
    let sign_in = json!({ "email": user["email"], "password": user["password"] }).to_string();
    let path = format!("/v8/{}/auth/sign-in", text(&document, "projectId"));
    let (status, body) = demo.request("POST", &path, "", &sign_in);
    assert_eq!(status, 200, "{body}");
    demo.signal("TERM");
    let (status, rest) = demo.finish();
    assert_eq!((status.code(), rest.as_str()), (Some(0), ""), "one document and nothing more");

    let mut again = town.launch(&["dev", "--json"], &[]);
    let document: Value = serde_json::from_str(&again.printed()).unwrap();
    assert_eq!((&document["serviceKey"], &document["masterKey"]), (&Value::Null, &Value::Null));
    drop(again);
    let mut server = town.launch(&["serve", "--json"], &[]);
    let document: Value = serde_json::from_str(&server.printed()).unwrap();
    let address = server.address.to_string();
    assert_eq!(document, json!({ "url": format!("http://{address}"), "listen": address }));
    server.signal("TERM");
    assert_eq!(server.finish().1, "");
}

fn a_demo_says_where_everything_is(town: Installation) {
    let mut demo = town.launch(&["dev"], &[]);
    let (printed, data) = (demo.printed(), town.data_dir.display().to_string());
    let url = format!("http://{}", demo.address);
    for place in [format!("{url}/\n"), format!("{url}/openapi.json"), format!("{data}/outbox")] {
        assert!(printed.contains(&place), "{place} in {printed}");
    }
    let (status, page) = demo.request("GET", "/", "", "");
    assert_eq!(status, 200);
    let project = &town.json(&["project", "list"])[0]["projectId"];
    let feed = format!("href=\"/v8/{}/entities\"", project.as_str().unwrap());
    for part in ["<!doctype html>", "href=\"/openapi.json\"", &data, &feed] {
        assert!(page.contains(part), "{part} in {page}");
    }
    drop(demo);
    let server = town.serve();
    assert_eq!(server.request("GET", "/", "", "").0, 404, "a real server shows nothing there");
}

fn a_taken_address_is_explained(town: Installation) {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let line = failure(town.command().args(["dev", "--listen", &address]).env("RUST_LOG", "off"));
    assert!(line.contains(&address) && line.contains("--listen"), "{line}");
}

fn a_server_on_all_addresses_says_what_links_look_like(town: Installation) {
    // Whichever port is free: no other test can be in its way.
    let port = ("PORT", "0");
    let server = town.launch(&["serve"], &[port]);
    let line = server.log.lines().find(|line| line.contains("TOWNHALL_PUBLIC_URL"));
    let links = format!("will begin with http://{}", server.address);
    assert!(line.unwrap().contains(&links), "{links} in {line:?}");
    drop(server);
    let named = ("TOWNHALL_PUBLIC_URL", "https://community.example");
    let server = town.launch(&["serve"], &[port, named]);
    assert!(!server.log.contains("TOWNHALL_PUBLIC_URL"), "{}", server.log);
}
