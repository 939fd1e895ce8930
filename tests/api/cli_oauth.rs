//! `townhall project oauth`: providers are set up, shown without their secrets, changed and removed.

use serde_json::{Value, json};

use crate::support::fake::key;
use crate::support::{Installation, installed_on_both_engines, keys};

installed_on_both_engines![
    a_provider_is_set_listed_changed_and_removed,
    a_provider_that_could_not_work_is_refused,
    a_secret_is_sealed_and_never_shown,
];

const APP: &str = "https://app.example/signed-in";

fn project(town: &Installation) -> String {
    let made = town.json(&["project", "create", "--name", "Forum"]);
    made["projectId"].as_str().unwrap().to_owned()
}

fn set<'a>(id: &'a str, name: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    [&["project", "oauth", "set", id, "--provider", name][..], more].concat()
}

fn a_provider_is_set_listed_changed_and_removed(town: Installation) {
    let id = project(&town);
    assert_eq!(town.json(&["project", "oauth", "list", &id]), json!([]));
    let more = ["--client-id", "c", "--client-secret", "hush", "--redirect", APP, "myapp://in"];
    let made = town.json(&set(&id, "github", &more));
    let expected = [
        "authorizeUrl",
        "bindBrowser",
        "clientId",
        "createdAt",
        "emailsUrl",
        "enabled",
        "hasClientSecret",
        "issuer",
        "keyId",
        "provider",
        "redirectUris",
        "scopes",
        "teamId",
        "tokenAuth",
        "tokenUrl",
        "updatedAt",
        "userUrl",
    ];
    assert_eq!(keys(&made), expected);
    assert_eq!(made["redirectUris"], json!([APP, "myapp://in"]));
    assert_eq!((&made["enabled"], &made["hasClientSecret"]), (&json!(true), &json!(true)));
    assert_eq!((&made["scopes"], &made["issuer"]), (&json!(["user:email"]), &Value::Null));

    let changed = town.json(&set(
        &id,
        "github",
        &["--enabled", "false", "--scopes", "a b", "--user-url", "https://a.example/u"],
    ));
    assert_eq!(
        (&changed["clientId"], &changed["redirectUris"]),
        (&made["clientId"], &made["redirectUris"])
    );
    assert_eq!((&changed["enabled"], &changed["scopes"]), (&json!(false), &json!(["a", "b"])));
    assert_eq!(changed["userUrl"], "https://a.example/u");
    let back =
        town.json(&set(&id, "github", &["--scopes", "", "--user-url", "", "--redirect", APP]));
    assert_eq!((&back["scopes"], &back["userUrl"]), (&json!(["user:email"]), &Value::Null));
    assert_eq!(back["redirectUris"], json!([APP]));

    let issuer = "https://sso.example/realms/forum";
    let more = ["--client-id", "c", "--issuer", issuer, "--redirect", APP, "--token-auth", "post"];
    let made = town.json(&set(&id, "keycloak", &more));
    assert_eq!((&made["issuer"], &made["tokenAuth"]), (&json!(issuer), &json!("post")));
    assert_eq!(made["hasClientSecret"], false, "a public client has none");
    let listed = town.json(&["project", "oauth", "list", &id]);
    let names: Vec<&Value> =
        listed.as_array().unwrap().iter().map(|one| &one["provider"]).collect();
    assert_eq!(names, ["github", "keycloak"]);
    let text = town.run(&["project", "oauth", "list", &id]).stdout;
    assert!(text.contains("/v7/oauth/callback") && text.contains(issuer), "{text}");

    let remove = ["project", "oauth", "remove", &id, "--provider", "github"];
    assert!(town.fails(&remove).contains("--yes"));
    let removed = town.json(&[&remove[..], &["--yes"]].concat());
    assert_eq!(removed["removed"], true);
    let again = town.fails(&[&remove[..], &["--yes"]].concat());
    assert_eq!(again, "the project has no provider `github`");
    assert_eq!(town.json(&["project", "oauth", "list", &id]).as_array().unwrap().len(), 1);
}

fn a_provider_that_could_not_work_is_refused(town: Installation) {
    let id = project(&town);
    let good = ["--client-id", "c", "--client-secret", "s", "--redirect", APP];
    let with = |more: &[&'static str]| [&good[..], more].concat();
    for (name, more, why) in [
        ("github", good[2..].to_vec(), "--client-id"),
        ("github", good[..4].to_vec(), "--redirect"),
        ("github", [&good[..2], &good[4..]].concat(), "needs a client secret"),
        ("keycloak", good.to_vec(), "needs --issuer"),
        ("keycloak", with(&["--issuer", "sso.example"]), "sso.example"),
        ("keycloak", with(&["--issuer", "https://sso.example/?a"]), "no query"),
        ("external", good.to_vec(), "taken"),
        ("Keycloak", good.to_vec(), "a-z"),
        ("github", with(&["--redirect", "/in"]), "not absolute"),
        ("github", with(&["--redirect", "javascript:x"]), "scheme"),
        ("github", with(&["--redirect", "https://a.example/#b"]), "fragment"),
        ("github", with(&["--token-url", "ftp://a.example"]), "http"),
        ("google", with(&["--user-url", "https://a.example/u"]), "--token-url"),
        ("apple", with(&["--team-id", "T"]), "go together"),
        ("apple", with(&["--team-id", "T", "--key-id", "K"]), "private key"),
    ] {
        let said = town.fails(&set(&id, name, &more));
        assert!(said.contains(why), "{more:?}: {said}");
    }
    let unknown = "01890000-0000-4000-8000-000000000000";
    assert_eq!(town.fails(&set(unknown, "github", &good)), "No such project");
    assert_eq!(town.fails(&["project", "oauth", "list", unknown]), "No such project");
    assert_eq!(town.run(&["project", "oauth", "set", &id]).code, 2);
    assert_eq!(town.json(&["project", "oauth", "list", &id]), json!([]));
}

fn a_secret_is_sealed_and_never_shown(town: Installation) {
    let id = project(&town);
    let file = town.data_dir.join("AuthKey.p8");
    std::fs::write(&file, &key().pem).unwrap();
    let path = file.display().to_string();
    let apple = [
        "--client-id",
        "c",
        "--client-secret-file",
        &path,
        "--team-id",
        "T",
        "--key-id",
        "K",
        "--redirect",
        APP,
    ];
    let github = ["--client-id", "c", "--client-secret", "very secret words", "--redirect", APP];
    let secret = key().pem.lines().nth(1).unwrap();
    let outputs = [
        town.run(&set(&id, "apple", &apple)).stdout,
        town.json(&set(&id, "github", &github)).to_string(),
        town.json(&["project", "oauth", "list", &id]).to_string(),
        town.run(&["project", "oauth", "list", &id]).stdout,
        town.run(&["project", "show", &id]).stdout,
    ];
    for output in outputs {
        assert!(!output.contains(secret) && !output.contains("very secret words"), "{output}");
    }
    std::fs::remove_file(&file).unwrap();
    let sql = "SELECT client_secret FROM oauth_providers";
    let stored = db::Query::<Option<Vec<u8>>>::built("test::secrets", sql.to_owned());
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let db = town.db();
    let stored = runtime.block_on(db.read(move |c| c.all(&stored, db::args![])));
    let stored: Vec<Option<Vec<u8>>> = stored.unwrap_or_else(|error: db::Error| panic!("{error}"));
    runtime.block_on(db.close());
    assert_eq!(stored.len(), 2);
    for sealed in stored.into_iter().flatten() {
        let text = String::from_utf8_lossy(&sealed).into_owned();
        assert!(!text.contains("secret words") && !text.contains("PRIVATE KEY"), "{text}");
    }
    // A secret that this installation's key does not open is never stored.
    let other = ["project", "oauth", "set", &id, "--provider", "github", "--client-secret", "x"];
    let mut command = town.command();
    command.env("TOWNHALL_SECRET_KEY", "another secret of at least 32 characters").args(other);
    assert!(crate::support::failure(&mut command).contains("TOWNHALL_SECRET_KEY"));
}
