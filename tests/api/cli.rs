//! The command line: what each command prints and changes, and how it fails.

use db::Engine;
use serde_json::{Value, json};
use townhall::auth::rs256;
use townhall::http::openapi;
use townhall::http::version::Version;

use crate::support::{Installation, failure, installed_on_both_engines, keys, mode, outcome};

installed_on_both_engines![
    a_made_project_shows_its_secrets_once,
    a_project_is_listed_shown_and_changed,
    a_wildcard_is_the_first_label_of_an_origin,
    bundles_keep_their_prerequisites,
    keys_are_made_listed_and_revoked,
    migrations_are_shown_and_applied,
    the_doctor_finds_and_repairs_drift,
    commands_about_nobody_fail,
];

const UNKNOWN: &str = "01890000-0000-4000-8000-000000000000";

fn create(town: &Installation, bundles: &str) -> Value {
    town.json(&["project", "create", "--name", "Forum", "--bundles", bundles])
}

fn a_made_project_shows_its_secrets_once(town: Installation) {
    let made = create(&town, "all");
    let expected = ["bundles", "jwtPrivateKey", "masterKey", "name", "projectId", "serviceKey"];
    assert_eq!(keys(&made), expected);
    assert_eq!(made["name"], "Forum");
    assert_eq!(made["bundles"].as_array().unwrap().len(), 17);
    let private = made["jwtPrivateKey"].as_str().unwrap();
    assert!(rs256::sign(private, &json!({})).is_some(), "the private key signs");

    let id = made["projectId"].as_str().unwrap();
    for command in
        [&["project", "show", id][..], &["project", "list"], &["key", "list", "--project", id]]
    {
        for shown in [town.run(command).stdout, town.json(command).to_string()] {
            for secret in ["serviceKey", "masterKey", "jwtPrivateKey"] {
                assert!(!shown.contains(made[secret].as_str().unwrap()), "{command:?}: {shown}");
            }
        }
    }
    let text = town.run(&["project", "create", "--name", "Other"]);
    assert_eq!(text.code, 0);
    assert!(text.stdout.contains("thk_service_") && text.stdout.contains("thk_master_"));
    let rotated = town.json(&["project", "rotate-jwt-key", id]);
    assert_ne!(rotated["jwtPrivateKey"], made["jwtPrivateKey"]);
}

fn a_project_is_listed_shown_and_changed(town: Installation) {
    let chosen = "01890000-0000-4000-8000-00000000000a";
    let made =
        town.json(&["project", "create", "--name", " Forum ", "--bundles", "", "--id", chosen]);
    assert_eq!((&made["projectId"], &made["name"]), (&json!(chosen), &json!("Forum")));
    assert_eq!(made["bundles"], json!([]));
    let again = town.fails(&["project", "create", "--name", "Twin", "--id", chosen]);
    assert!(again.contains("already"), "{again}");
    for name in ["", "  ", &"x".repeat(256)] {
        assert_eq!(town.run(&["project", "create", "--name", name]).code, 2);
    }

    let list = town.json(&["project", "list"]);
    assert_eq!(list.as_array().unwrap().len(), 1);
    assert_eq!(keys(&list[0]), ["createdAt", "name", "projectId", "state"]);

    let shown = town.json(&["project", "show", chosen]);
    assert_eq!((&shown["state"], &shown["allowedOrigins"]), (&json!("active"), &json!([])));
    let origins = "https://App.example.com/, http://localhost:3000";
    let shown = town.json(&["project", "origins", chosen, "--set", origins]);
    let expected = json!(["https://app.example.com", "http://localhost:3000"]);
    assert_eq!(shown["allowedOrigins"], expected);
    for wrong in ["example.com", "https://", "https://a/b", "https://a@b"] {
        town.fails(&["project", "origins", chosen, "--set", wrong]);
    }
    assert_eq!(town.json(&["project", "show", chosen])["allowedOrigins"], expected);
    for state in ["migrating", "pending-deletion", "active"] {
        let shown = town.json(&["project", "state", chosen, "--set", state]);
        assert_eq!(shown["state"], state);
    }
    assert_eq!(town.run(&["project", "state", chosen, "--set", "nonsense"]).code, 2);
}

fn a_wildcard_is_the_first_label_of_an_origin(town: Installation) {
    let id = create(&town, "all")["projectId"].as_str().unwrap().to_owned();
    for wrong in [
        "*",
        "https://*",
        "https://*:3000",
        "https://*.com",
        "https://*.com:3000",
        "https://*.",
        "https://*.example.",
        "https://*..com",
        "https://a.*.com",
        "https://a*.example.com",
        "https://*a.example.com",
        "https://*.*.example.com",
        "https://example.com:*",
        "*://example.com",
    ] {
        let why = town.fails(&["project", "origins", &id, "--set", wrong]);
        let rule = "a wildcard is the first label of a host, as in https://*.example.com";
        assert_eq!(why, format!("`{wrong}`: {rule}"));
    }
    assert_eq!(town.json(&["project", "show", &id])["allowedOrigins"], json!([]));
    let wildcards = "https://*.Example.com, http://*.a.example.com:3000";
    let shown = town.json(&["project", "origins", &id, "--set", wildcards]);
    let expected = json!(["https://*.example.com", "http://*.a.example.com:3000"]);
    assert_eq!(shown["allowedOrigins"], expected);
}

fn bundles_keep_their_prerequisites(town: Installation) {
    let lonely = ["project", "create", "--name", "Forum", "--bundles", "comments"];
    assert_eq!(town.fails(&lonely), "`comments` needs `entities`");
    let unknown = town.run(&["project", "create", "--name", "x", "--bundles", "chess"]);
    assert_eq!(unknown.code, 2);
    assert!(unknown.stderr.contains("chess"), "{}", unknown.stderr);
    assert_eq!(town.json(&["project", "list"]), json!([]), "nothing was made");

    let id = create(&town, "core,entities,comments")["projectId"].as_str().unwrap().to_owned();
    let add = town.json(&["project", "bundles", &id, "--add", "chat, spaces"]);
    assert_eq!(add["bundles"], json!(["chat", "comments", "entities", "spaces"]));
    let remove = ["project", "bundles", &id, "--remove", "entities"];
    assert!(town.fails(&remove).contains("--yes"), "it takes a feature away");
    let confirmed = [&remove[..], &["--yes"]].concat();
    assert_eq!(town.fails(&confirmed), "`comments` needs `entities`");
    let both = ["project", "bundles", &id, "--remove", "entities,comments", "--yes"];
    assert_eq!(town.json(&both)["bundles"], json!(["chat", "spaces"]));
}

fn keys_are_made_listed_and_revoked(town: Installation) {
    let project = create(&town, "all")["projectId"].as_str().unwrap().to_owned();
    let made = town.json(&[
        "key",
        "create",
        "--project",
        &project,
        "--kind",
        "service",
        "--label",
        "backend",
    ]);
    assert_eq!(keys(&made), ["key", "keyId", "kind"]);
    assert_eq!(made["kind"], "service");
    let key = made["keyId"].as_str().unwrap();
    let find = || {
        let list = town.json(&["key", "list", "--project", &project]);
        assert_eq!(list.as_array().unwrap().len(), 3);
        list.as_array().unwrap().iter().find(|one| one["keyId"] == key).unwrap().clone()
    };
    assert_eq!(
        keys(&find()),
        ["createdAt", "expiresAt", "keyId", "kind", "label", "lastUsedAt", "revokedAt", "scopes"]
    );
    assert_eq!((&find()["label"], &find()["revokedAt"]), (&json!("backend"), &Value::Null));

    assert!(town.fails(&["key", "revoke", key]).contains("--yes"));
    assert_eq!(find()["revokedAt"], Value::Null, "it was not confirmed");
    town.json(&["key", "revoke", key, "--yes"]);
    assert!(find()["revokedAt"].is_string());
    let twice = town.fails(&["key", "revoke", key, "--yes"]);
    assert!(twice.contains("no such key"), "{twice}");
    assert_eq!(town.run(&["key", "create", "--project", &project, "--kind", "root"]).code, 2);
}

fn migrations_are_shown_and_applied(town: Installation) {
    let town = town.untouched();
    let status = || town.json(&["migrate", "status"]);
    assert_eq!(keys(&status()[0]), ["appliedAt", "name", "version"]);
    assert!(status().as_array().unwrap().iter().all(|one| one["appliedAt"].is_null()));
    let applied = town.json(&["migrate", "up"])["applied"].clone();
    assert_eq!(applied.as_array().unwrap().len(), status().as_array().unwrap().len());
    assert!(status().as_array().unwrap().iter().all(|one| one["appliedAt"].is_string()));
    assert_eq!(town.json(&["migrate", "up"]), json!({ "applied": [] }));
}

fn the_doctor_finds_and_repairs_drift(town: Installation) {
    let town = town.untouched();
    let pending = town.run(&["doctor"]);
    assert_eq!(pending.code, 1);
    assert!(pending.stdout.contains("migrate up"), "{}", pending.stdout);
    let project = create(&town, "all")["projectId"].as_str().unwrap().to_owned();
    let well = town.json(&["doctor"]);
    assert_eq!(well["status"], "pass");
    let checks = well["checks"].as_array().unwrap().iter().map(|check| check["check"].clone());
    let mut names = vec![
        "configuration",
        "data directory",
        "disk",
        "mail",
        "proxy",
        "database",
        "storage",
        "clock",
        "custom tables",
        "counters",
    ];
    if town.is_on_a_cluster() {
        names.insert(6, "cluster");
    }
    assert_eq!(checks.collect::<Vec<_>>(), names);

    let id = town.literal(project.parse().unwrap());
    let user = format!(
        "INSERT INTO users (project_id, id, role, is_verified, is_active, metadata, secure_metadata,
            reputation, last_active, created_at, updated_at)
         VALUES ({id}, {id}, 'visitor', FALSE, TRUE, '{{}}', '{{}}', 0, 1, 1, 1);
         INSERT INTO notifications (project_id, id, user_id, type, action, is_read, metadata,
            created_at, updated_at)
         VALUES ({id}, {id}, {id}, 'system', 'do-nothing', FALSE, '{{}}', 1, 1)"
    );
    town.db().execute_script(&user).unwrap();
    let drifted = town.run(&["doctor", "--json"]);
    assert_eq!(drifted.code, 1);
    let report: Value = serde_json::from_str(&drifted.stdout).unwrap();
    assert_eq!(report["status"], "fail");
    let detail = report["checks"].as_array().unwrap().last().unwrap()["detail"].as_str().unwrap();
    assert!(detail.contains("1 wrong counts of notifications"), "{detail}");
    let fixed = town.json(&["doctor", "--fix"]);
    let detail = fixed["checks"].as_array().unwrap().last().unwrap()["detail"].clone();
    assert_eq!(detail, "1 had drifted, 1 were repaired");
    assert_eq!(town.json(&["doctor"])["status"], "pass");
    // Counts that are there and wrong, not only missing ones.
    let wrong = format!("UPDATE notification_counts SET unread = 7 WHERE project_id = {id}");
    town.db().execute_script(&wrong).unwrap();
    assert_eq!(town.run(&["doctor"]).code, 1);
    town.run(&["doctor", "--fix"]);
    assert_eq!(town.json(&["doctor"])["status"], "pass");
}

fn commands_about_nobody_fail(town: Installation) {
    let project = create(&town, "all")["projectId"].as_str().unwrap().to_owned();
    for command in [
        &["project", "show", UNKNOWN][..],
        &["project", "bundles", UNKNOWN, "--add", "chat"],
        &["project", "origins", UNKNOWN, "--set", ""],
        &["project", "state", UNKNOWN, "--set", "active"],
        &["project", "rotate-jwt-key", UNKNOWN],
        &["key", "create", "--project", UNKNOWN, "--kind", "service"],
        &["key", "list", "--project", UNKNOWN],
        &["key", "revoke", UNKNOWN, "--yes"],
        &["user", "token", "--project", &project, "--user", UNKNOWN],
        &["user", "suspend", "--project", &project, "--user", UNKNOWN],
        &["user", "unsuspend", "--project", &project, "--user", UNKNOWN],
    ] {
        town.fails(command);
    }
}

#[test]
fn wrong_usage_exits_with_two_and_help_with_zero() {
    let town = Installation::new(Engine::Sqlite);
    for wrong in [
        &[][..],
        &["nonsense"],
        &["project"],
        &["project", "create"],
        &["project", "show", "x"],
        &["key", "create", "--project", UNKNOWN],
        &["serve", "--nonsense"],
        &["user", "token", "--project", UNKNOWN],
    ] {
        let done = town.run(wrong);
        assert_eq!((done.code, done.stdout.as_str()), (2, ""), "{wrong:?}");
        assert!(!done.stderr.is_empty());
    }
    for command in [
        &[][..],
        &["dev"],
        &["serve"],
        &["project", "create"],
        &["project", "bundles"],
        &["key", "revoke"],
        &["user", "token"],
        &["secret", "accept"],
        &["migrate", "up"],
        &["doctor"],
        &["openapi"],
        &["config"],
        &["health"],
    ] {
        let done = town.run(&[command, &["--help"]].concat());
        assert_eq!((done.code, done.stderr.as_str()), (0, ""), "{command:?}");
        assert!(done.stdout.contains("Usage"), "{command:?}");
    }
}

#[test]
fn the_document_of_one_version_holds_that_version_alone() {
    let town = Installation::new(Engine::Sqlite);
    let document = town.json(&["openapi", "--version", "v8"]);
    assert_eq!(document["openapi"], "3.1.0");
    let paths = keys(&document["paths"]);
    assert!(paths.contains(&"/v8/{projectId}/users/{userId}".to_owned()), "{paths:?}");
    // The addresses that OAuth providers know are the same for all versions.
    let others = |path: &&String| path.starts_with("/v6/{") || path.starts_with("/v7/{");
    assert_eq!(paths.iter().find(others), None);
    let plain: Value = serde_json::from_str(&town.run(&["openapi"]).stdout).unwrap();
    assert!(keys(&plain["paths"]).len() > paths.len());
    assert_eq!(
        document,
        openapi::document(townhall::features::operations(), Some(Version::V8)),
        "as it is served"
    );
    assert_eq!(plain, openapi::document(townhall::features::operations(), None));
    assert_eq!(town.run(&["openapi", "--version", "v9"]).code, 2);
}

#[test]
fn settings_are_shown_without_their_secrets() {
    let town = Installation::new(Engine::Sqlite);
    let secret = "0123456789abcdef0123456789abcdef";
    let show = |arguments: &[&str]| {
        let mut command = town.command();
        command.env_remove("TOWNHALL_DATABASE_URL");
        command.env("DATABASE_URL", "postgres://me:hunter2@db.example/townhall");
        command.env("TOWNHALL_SECRET_KEY", secret).env("TOWNHALL_METRICS_TOKEN", "t0ken-of-mine");
        command.env("TOWNHALL_SMTP_URL", "smtps://me:hunter2@mail.example");
        command.env("TOWNHALL_MAIL_FROM", "forum@example.com");
        outcome(command.arg("config").args(arguments))
    };
    let (text, document) = (show(&[]), show(&["--json"]));
    for shown in [&text, &document] {
        assert_eq!(shown.code, 0, "{}", shown.stderr);
        for hidden in [secret, "hunter2", "t0ken-of-mine"] {
            assert!(!shown.stdout.contains(hidden), "{}", shown.stdout);
        }
    }
    let settings: Value = serde_json::from_str(&document.stdout).unwrap();
    let database =
        json!({ "value": "postgres://me:****@db.example/townhall", "source": "DATABASE_URL" });
    assert_eq!(settings["TOWNHALL_DATABASE_URL"], database);
    assert_eq!(settings["TOWNHALL_SECRET_KEY"]["value"], "****");
    let listen = json!({ "value": "127.0.0.1:8484", "source": "default" });
    assert_eq!(settings["TOWNHALL_LISTEN"], listen);
}

#[test]
fn what_cannot_be_read_is_named() {
    let town = Installation::new(Engine::Sqlite);
    let mut command = town.command();
    command.args(["config", "--json"]).env("TOWNHALL_RATE_LIMITS", "sometimes");
    let line = failure(&mut command);
    assert!(line.contains("TOWNHALL_RATE_LIMITS") && line.contains("sometimes"), "{line}");
    std::fs::write(town.data_dir.join("townhall.toml"), "lisen = \"x\"\n").unwrap();
    let line = town.fails(&["config"]);
    assert!(line.contains("lisen"), "{line}");
    assert!(town.fails(&["config", "--config", "/nowhere/x.toml"]).contains("/nowhere/x.toml"));
}

#[test]
fn the_generated_secret_is_for_its_owner_alone() {
    let town = Installation::new(Engine::Sqlite);
    let project = create(&town, "all")["projectId"].as_str().unwrap().to_owned();
    let secret = town.data_dir.join("secret_key");
    assert!(!secret.exists(), "nothing had to be signed yet");
    let made = ["user", "token", "--project", &project, "--user", UNKNOWN];
    town.fails(&made);
    assert_eq!(mode(&secret), 0o600);
    let fresh = town.data_dir.join("fresh");
    assert_eq!(town.run(&["migrate", "up", "--data-dir", fresh.to_str().unwrap()]).code, 0);
    assert_eq!(mode(&fresh), 0o700);
    let text = std::fs::read_to_string(&secret).unwrap();
    assert_eq!(text.len(), 64);
    town.fails(&made);
    assert_eq!(std::fs::read_to_string(&secret).unwrap(), text, "it is made once");
}
