//! `townhall project push`: the push services of a project and the wording of automatic pushes.

use serde_json::{Value, json};
use townhall::auth::sealed::Sealer;
use townhall::features::push::providers::place;

use crate::support::fake::key;
use crate::support::push::rsa_key;
use crate::support::{Installation, fresh_directory, installed_on_both_engines, outcome};

installed_on_both_engines![
    services_are_set_shown_and_removed,
    templates_are_changed_piece_by_piece,
    secrets_are_sealed_and_sealed_again,
];

fn project(town: &Installation) -> String {
    let made = town.json(&["project", "create", "--name", "Forum"]);
    made["projectId"].as_str().unwrap().to_owned()
}

fn push(town: &Installation, id: &str, more: &[&str]) -> Value {
    town.json(&[&["project", "push", id][..], more].concat())
}

fn refused(town: &Installation, id: &str, more: &[&str]) -> String {
    town.fails(&[&["project", "push", id][..], more].concat())
}

/// What a command says that is not put right.
fn misused(town: &Installation, id: &str, more: &[&str]) -> String {
    let done = town.run(&[&["project", "push", id][..], more].concat());
    assert_eq!(done.code, 2, "{}", done.stderr);
    done.stderr
}

fn file(name: &str, text: &str) -> String {
    let path = fresh_directory().join(name);
    std::fs::write(&path, text).unwrap();
    path.display().to_string()
}

fn account() -> String {
    json!({
        "project_id": "forum", "client_email": "push@forum.example", "private_key_id": "k",
        "private_key": &rsa_key().private, "token_uri": "https://oauth2.googleapis.com/token",
    })
    .to_string()
}

fn services_are_set_shown_and_removed(town: Installation) {
    let id = project(&town);
    let none = json!({ "projectId": id, "providers": {}, "templates": {} });
    assert_eq!(push(&town, &id, &[]), none);
    assert!(misused(&town, &id, &["--generate-vapid"]).contains("--vapid-subject"));
    let subject = ["--vapid-subject", "mailto:ops@example.com"];
    assert!(refused(&town, &id, &subject).contains("--generate-vapid"));
    let generate = [&subject[..], &["--generate-vapid"]].concat();
    let web = push(&town, &id, &generate)["providers"]["web"].clone();
    assert_eq!(web["publicKey"].as_str().unwrap().len(), 87);
    // A new subject leaves the key as it is; a new key wants to be confirmed.
    let other = push(&town, &id, &["--vapid-subject", "https://example.com"]);
    assert_eq!(other["providers"]["web"]["publicKey"], web["publicKey"]);
    assert_eq!(other["providers"]["web"]["subject"], "https://example.com");
    assert!(refused(&town, &id, &generate).contains("--yes"));
    let again = push(&town, &id, &[&generate[..], &["--yes"]].concat());
    assert_ne!(again["providers"]["web"]["publicKey"], web["publicKey"]);
    assert!(refused(&town, &id, &["--vapid-subject", "ops"]).contains("mailto:"));

    let path = file("account.json", &account());
    let fcm = push(&town, &id, &["--fcm-service-account", &path])["providers"]["fcm"].clone();
    let expected =
        json!({ "projectId": "forum", "clientEmail": "push@forum.example", "url": null });
    assert_eq!(fcm, expected);
    let path = file("wrong.json", "{}");
    assert!(refused(&town, &id, &["--fcm-service-account", &path]).contains("service account"));

    let path = file("key.p8", &key().pem);
    let apns = ["--apns-key", &path, "--apns-key-id", "K", "--apns-team-id", "T"];
    assert!(refused(&town, &id, &apns).contains("--apns-topic"));
    let apns = [&apns[..], &["--apns-topic", "com.example"]].concat();
    let shown = push(&town, &id, &apns);
    let expected = json!({ "keyId": "K", "teamId": "T", "topic": "com.example", "url": null });
    assert_eq!(shown["providers"]["apns"], expected);
    let sandbox = "https://api.sandbox.push.apple.com";
    let shown = push(&town, &id, &["--apns-url", sandbox]);
    assert_eq!(shown["providers"]["apns"]["url"], sandbox);
    assert_eq!(shown["providers"]["apns"]["keyId"], "K");
    let path = file("wrong.p8", "no key");
    assert!(refused(&town, &id, &["--apns-key", &path]).contains("P-256"));
    let text = shown.to_string();
    assert!(!text.contains("PRIVATE"), "{text}");

    assert!(refused(&town, &id, &["--remove", "fcm"]).contains("--yes"));
    let left = push(&town, &id, &["--remove", "fcm", "--remove", "apns", "--yes"]);
    assert_eq!(left["providers"].as_object().unwrap().len(), 1);
    assert!(refused(&town, &id, &["--remove", "fcm", "--yes"]).contains("no fcm"));
    let unknown = "0198f0a1-0000-4abc-8abc-0123456789ab";
    refused(&town, unknown, &generate);
}

fn templates_are_changed_piece_by_piece(town: Installation) {
    let id = project(&town);
    let first = ["--type", "new-follow", "--title", "Hi {initiatorName}", "--enabled", "true"];
    push(&town, &id, &first);
    push(&town, &id, &["--type", "new-follow", "--body", "Look", "--sound", "ding"]);
    let shown = push(&town, &id, &["--channel", "all", "--priority", "normal"]);
    let of_type = &shown["templates"]["new-follow"];
    assert_eq!(
        (&of_type["title"], &of_type["body"]),
        (&json!("Hi {initiatorName}"), &json!("Look"))
    );
    assert_eq!((&of_type["enabled"], &of_type["sound"]), (&json!(true), &json!("ding")));
    let all = &shown["templates"]["default"];
    assert_eq!((&all["channelId"], &all["priority"]), (&json!("all"), &json!("normal")));
    let shown = push(&town, &id, &["--type", "new-follow", "--title", ""]);
    assert_eq!(shown["templates"]["new-follow"]["title"], Value::Null);
    assert!(misused(&town, &id, &["--type", "news", "--sound", "x"]).contains("no type"));
    assert!(misused(&town, &id, &["--title", "x"]).contains("--type"));
    assert!(misused(&town, &id, &["--priority", "urgent"]).contains("high"));
}

fn secrets_are_sealed_and_sealed_again(town: Installation) {
    const OLD: &str = "the first secret of 32 characters";
    const NEW: &str = "the second secret of 32 characters";
    let id = project(&town);
    drop(town.launch(&["serve"], &[("TOWNHALL_SECRET_KEY", OLD)]));
    let mut command = town.command();
    command.args([
        "project",
        "push",
        &id,
        "--generate-vapid",
        "--vapid-subject",
        "mailto:a@b.example",
    ]);
    assert_eq!(outcome(command.env("TOWNHALL_SECRET_KEY", OLD)).code, 0);
    let sealed = || {
        let secrets = db::Query::<Vec<u8>>::built("test", "SELECT secret FROM push_providers");
        town.db().snapshot(|c| c.one(&secrets, &[])).unwrap()
    };
    let first = sealed();
    assert!(!String::from_utf8_lossy(&first).contains("PRIVATE"));
    let place = place(id.parse().unwrap(), "web");
    let opened = Sealer::new(OLD.as_bytes()).unwrap().open(&first, &place).unwrap();
    assert!(opened.contains("PRIVATE KEY"));
    let both = [("TOWNHALL_SECRET_KEY", NEW), ("TOWNHALL_SECRET_KEY_PREVIOUS", OLD)];
    drop(town.launch(&["serve"], &both));
    let second = sealed();
    assert_ne!(first, second);
    assert_eq!(Sealer::new(NEW.as_bytes()).unwrap().open(&second, &place).unwrap(), opened);
}
