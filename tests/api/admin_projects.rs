//! What an admin sets up for a project in the browser: everything that the command line can, by the same rules. Secrets
//! are in no page and not in the log.

use serde_json::{Value, json};
use townhall::audit::store::{Filter, list};
use townhall::audit::{Entry, INSTALLATION};
use townhall::auth::operators::Role;
use townhall::features::push::providers::{Kind, WebSettings};
use townhall::features::{identities, notification_mails, oauth, push};
use townhall::values::ids::ProjectId;

use crate::support::fake::key;
use crate::support::push::rsa_key;
use crate::support::visitor::Visitor;
use crate::support::{Reply, TestApp, on_both_engines};

on_both_engines![
    an_oauth_provider_is_set_changed_and_removed,
    an_issuer_of_tokens_is_trusted_and_no_longer,
    a_new_key_pair_signs_users_in,
    push_services_are_set_up_and_removed,
    pushes_are_worded,
    mails_are_worded,
    every_setting_is_set,
    a_table_is_made_changed_and_dropped,
    a_webhook_gets_a_new_secret,
    the_state_of_a_project_is_set,
    an_owner_deletes_a_project_by_its_name,
];

const SECRET: &str = "a-secret-that-nobody-sees";

async fn entries(app: &TestApp, project: ProjectId) -> Vec<Entry> {
    let filter = Filter::default();
    app.app.db.read(move |c| list(c, project, &filter, 1000)).await.unwrap()
}

fn at(app: &TestApp, path: &str) -> String {
    format!("/admin/p/{}/{path}", app.project.id)
}

async fn admin(app: &TestApp) -> Visitor<'_> {
    Visitor::operator(app, Role::Admin, Some(app.project.id)).await
}

/// Fields of a form, of which some are empty.
async fn submit(visitor: &Visitor<'_>, path: &str, fields: &[(&str, &str)]) -> Reply {
    let reply = visitor.submit(path, fields).await;
    assert!([200, 303].contains(&reply.status), "{path}: {} {}", reply.status, reply.text());
    reply
}

/// The log has these actions, in any order, and neither it nor the page holds a secret.
async fn is_logged(app: &TestApp, visitor: &Visitor<'_>, page: &str, actions: &[&str]) {
    let logged = entries(app, app.project.id).await;
    let mut found: Vec<&str> = logged.iter().map(|entry| &*entry.action).collect();
    let mut actions = actions.to_vec();
    found.sort_unstable();
    actions.sort_unstable();
    assert_eq!(found, actions);
    let texts = format!("{logged:?}{}", visitor.get(&at(app, page)).await.text());
    for secret in [SECRET, "PRIVATE KEY"] {
        assert!(!texts.contains(secret), "{texts}");
    }
}

async fn an_oauth_provider_is_set_changed_and_removed(app: TestApp) {
    let (visitor, path, page) = (admin(&app).await, at(&app, "oauth"), at(&app, "sign-in"));
    let fields = [
        ("do", "set"),
        ("provider", "github"),
        ("clientId", "client"),
        ("clientSecret", SECRET),
        ("redirectUris", "https://app.example/in\r\nmyapp://in"),
        ("enabled", "on"),
    ];
    submit(&visitor, &path, &fields).await;
    let project = app.project.id;
    let stored = async || {
        let found =
            app.app.db.read(move |c| oauth::store::find_provider(c, project, "github")).await;
        oauth::admin::shown(found.unwrap().unwrap()).unwrap()
    };
    let first = stored().await;
    assert_eq!(first["redirectUris"], json!(["https://app.example/in", "myapp://in"]));
    assert_eq!((&first["hasClientSecret"], &first["enabled"]), (&json!(true), &json!(true)));
    let shown = visitor.get(&page).await.text();
    assert!(shown.contains("github, secret set") && shown.contains("value=\"client\""), "{shown}");

    // Without a secret it keeps the one it has; what is empty is removed.
    let fields = [
        ("do", "set"),
        ("provider", "github"),
        ("clientId", "other"),
        ("redirectUris", "myapp://in"),
    ];
    submit(&visitor, &path, &fields).await;
    let second = stored().await;
    assert_eq!((&second["clientId"], &second["hasClientSecret"]), (&json!("other"), &json!(true)));
    assert_eq!(second["enabled"], false);
    submit(&visitor, &path, &[("do", "remove"), ("provider", "github")]).await;
    assert!(visitor.get(&page).await.text().contains("There is none yet."));
    is_logged(
        &app,
        &visitor,
        "sign-in",
        &["Set OAuth Provider", "Set OAuth Provider", "Remove OAuth Provider"],
    )
    .await;

    // By the rules of the command line.
    for (change, said) in [
        (
            &[("provider", "google"), ("clientId", "c"), ("redirectUris", "myapp://in")][..],
            "needs a client secret",
        ),
        (
            &[("provider", "External"), ("clientId", "c"), ("redirectUris", "myapp://in")],
            "a provider&#39;s name",
        ),
        (
            &[("provider", "corp"), ("clientId", "c"), ("redirectUris", "myapp://in")],
            "needs issuer",
        ),
        (
            &[("provider", "corp"), ("clientId", "c"), ("redirectUris", "javascript:x")],
            "scheme is not allowed",
        ),
        (&[("provider", "corp"), ("redirectUris", "myapp://in")], "client-id is missing"),
    ] {
        let fields = [&[("do", "set")], change].concat();
        let reply = visitor.submit(&path, &fields).await;
        assert_eq!(reply.status, 400, "{change:?}");
        let text = reply.text().replace("&apos;", "&#39;").replace('\'', "&#39;");
        assert!(text.contains(said), "{change:?}: {text}");
    }
    assert_eq!(
        visitor.submit(&path, &[("do", "remove"), ("provider", "github")]).await.status,
        404
    );
}

async fn an_issuer_of_tokens_is_trusted_and_no_longer(app: TestApp) {
    let (visitor, path) = (admin(&app).await, at(&app, "issuers"));
    let issuer = "https://issuer.example/";
    let fields = [
        ("do", "set"),
        ("issuer", issuer),
        ("audiences", "forum"),
        ("claims", "username=nickname"),
        ("trustsEmail", "on"),
    ];
    submit(&visitor, &path, &fields).await;
    let project = app.project.id;
    let find = move |c: &db::Conn<'_>| identities::issuers::find(c, project, issuer);
    let stored = app.app.db.read(find).await.unwrap().unwrap().settings;
    assert_eq!((&*stored.audiences, stored.trusts_email), (&["forum".to_owned()][..], true));
    assert_eq!(stored.claims["username"], "nickname");
    let bad = [("do", "set"), ("issuer", issuer), ("audiences", "")];
    assert_eq!(visitor.submit(&path, &bad).await.status, 400);
    let bad = [("do", "set"), ("issuer", issuer), ("audiences", "x"), ("claims", "shoe=size")];
    assert_eq!(visitor.submit(&path, &bad).await.status, 400);
    submit(&visitor, &path, &[("do", "set"), ("issuer", issuer), ("audiences", "any")]).await;
    assert!(app.app.db.read(find).await.unwrap().unwrap().settings.audiences.is_empty());
    submit(&visitor, &path, &[("do", "remove"), ("issuer", issuer)]).await;
    assert!(app.app.db.read(find).await.unwrap().is_none());
    is_logged(
        &app,
        &visitor,
        "sign-in",
        &["Set JWT Issuer", "Set JWT Issuer", "Remove JWT Issuer"],
    )
    .await;
}

async fn a_new_key_pair_signs_users_in(app: TestApp) {
    let visitor = admin(&app).await;
    let page = submit(&visitor, &at(&app, "jwt-key"), &[]).await.text();
    assert!(page.contains("-----BEGIN PRIVATE KEY-----"), "{page}");
    is_logged(&app, &visitor, "sign-in", &["Rotate JWT Key"]).await;
}

async fn push_services_are_set_up_and_removed(app: TestApp) {
    let (visitor, path) = (admin(&app).await, at(&app, "push"));
    let project = app.project.id;
    let public_key = async || {
        let found =
            app.app.db.read(move |c| push::admin::settings::<WebSettings>(c, project, Kind::Web));
        found.await.unwrap().map(|settings| settings.public_key)
    };
    assert_eq!(visitor.submit(&path, &[("do", "web"), ("subject", "ops")]).await.status, 400);
    submit(&visitor, &path, &[("do", "web"), ("subject", "mailto:ops@example.com")]).await;
    let first = public_key().await.unwrap();
    submit(&visitor, &path, &[("do", "web"), ("subject", "https://example.com/")]).await;
    assert_eq!(public_key().await.as_ref(), Some(&first), "the key pair stays");
    submit(
        &visitor,
        &path,
        &[("do", "web"), ("subject", "https://example.com/"), ("newKey", "on")],
    )
    .await;
    assert_ne!(public_key().await.unwrap(), first);
    let account = json!({
        "project_id": "forum", "client_email": "push@forum.example", "private_key_id": "k",
        "private_key": &rsa_key().private, "token_uri": "https://oauth2.googleapis.com/token",
    });
    submit(&visitor, &path, &[("do", "fcm"), ("account", &account.to_string())]).await;
    let apns = [("keyId", "K1"), ("teamId", "T1"), ("topic", "com.example.app"), ("do", "apns")];
    assert_eq!(visitor.submit(&path, &apns).await.status, 400, "it has no key yet");
    submit(&visitor, &path, &[&apns[..], &[("key", &*key().pem)]].concat()).await;
    let page = visitor.get(&path).await.text();
    for shown in ["push@forum.example", "com.example.app", "https://example.com/"] {
        assert!(page.contains(shown), "{shown}");
    }
    submit(&visitor, &path, &[("do", "remove"), ("service", "web")]).await;
    assert_eq!(public_key().await, None);
    let set = "Set Push Service";
    is_logged(&app, &visitor, "push", &[set, set, set, set, set, "Remove Push Service"]).await;
}

async fn pushes_are_worded(app: TestApp) {
    let (visitor, path) = (admin(&app).await, at(&app, "push"));
    let fields = [
        ("do", "wording"),
        ("type", "new-follow"),
        ("enabled", "no"),
        ("title", "Hooray"),
        ("priority", "high"),
    ];
    let reply = submit(&visitor, &path, &fields).await;
    assert!(reply.header("location").unwrap().ends_with("?type=new-follow#wording"));
    let project = app.project.id;
    let shown = app.app.db.read(move |c| push::admin::shown(c, project)).await.unwrap();
    let template = &shown["templates"]["new-follow"];
    assert_eq!((&template["title"], &template["enabled"]), (&json!("Hooray"), &json!(false)));
    let page = visitor.get(&format!("{path}?type=new-follow")).await.text();
    assert!(page.contains("value=\"Hooray\""), "{page}");
    is_logged(&app, &visitor, "push", &["Word Pushes"]).await;
}

async fn mails_are_worded(app: TestApp) {
    let (visitor, path) = (admin(&app).await, at(&app, "mails"));
    let types = r#"{"new-follow":{"title":"Neu"}}"#;
    let fields = [("do", "set"), ("language", "de"), ("subject", "{count} neue"), ("types", types)];
    submit(&visitor, &path, &fields).await;
    let project = app.project.id;
    let shown = async || {
        let shown = app.app.db.read(move |c| notification_mails::template::shown(c, project));
        shown.await.unwrap()["templates"]["de"].take()
    };
    let stored = shown().await;
    assert_eq!(stored["subject"], "{count} neue");
    assert_eq!(stored["types"]["new-follow"]["title"], "Neu");
    let page = visitor.get(&format!("{path}?language=de")).await.text();
    assert!(
        page.contains("value=\"{count} neue\"") && page.contains("No mails are sent"),
        "{page}"
    );
    for bad in [
        [("types", "no JSON"), ("subject", "")],
        [("types", r#"{"shoe":{}}"#), ("subject", "")],
        [("layout", "<p>without it</p>"), ("subject", "")],
        [("link", "ftp://x"), ("subject", "")],
    ] {
        let fields = [&[("do", "set"), ("language", "de")], &bad[..]].concat();
        assert_eq!(visitor.submit(&path, &fields).await.status, 400, "{bad:?}");
    }
    assert_eq!(visitor.submit(&path, &[("do", "set"), ("language", "<script>")]).await.status, 400);
    submit(&visitor, &path, &[("do", "remove"), ("language", "de")]).await;
    assert_eq!(shown().await, Value::Null);
    is_logged(&app, &visitor, "mails", &["Word Mails", "Remove Wording of Mails"]).await;
}

async fn every_setting_is_set(app: TestApp) {
    let (visitor, path) = (admin(&app).await, at(&app, "settings"));
    let fields = [
        ("do", "settings"),
        ("notificationMails", "on"),
        ("search", "on"),
        ("entityDeletion", "soft"),
        ("eventDeletion", "soft"),
        ("v7AuthStatus", "403"),
        ("searchLanguage", "german"),
        ("scoreHours", "0.5"),
    ];
    submit(&visitor, &path, &fields).await;
    let loaded = async || {
        let (db, id) = (&app.app.db, app.project.id);
        app.app.projects.get(db, id, app.app.clock.uptime()).await.unwrap().unwrap()
    };
    let settings = loaded().await.settings();
    assert_eq!((settings.entity_deletion, settings.event_deletion), ("soft", "soft"));
    assert_eq!((settings.v7_auth_forbids, settings.search_language), (Some(true), "german"));
    assert!(settings.notification_mails && !settings.anonymous_posts);
    for bad in [("entityDeletion", "never"), ("searchLanguage", "klingon"), ("scoreHours", "0")] {
        let changed = fields.map(|field| if field.0 == bad.0 { bad } else { field });
        assert_eq!(visitor.submit(&path, &changed).await.status, 400, "{bad:?}");
    }
    let page = "https://app.example/join";
    let fields = [("do", "workspaces"), ("inviteAcceptUrl", page), ("inheritDefault", "on")];
    submit(&visitor, &path, &fields).await;
    let project = loaded().await;
    assert_eq!(project.workspaces.invite_accept_url.as_deref(), Some(page));
    assert!(project.workspaces.inherits_default && !project.workspaces.inherit_enforced);
    let bad = [("do", "workspaces"), ("inviteAcceptUrl", "ftp://app.example")];
    assert_eq!(visitor.submit(&path, &bad).await.status, 400);
    submit(&visitor, &at(&app, "reindex"), &[]).await;
    let actions = ["Change Settings", "Change Settings of Workspaces", "Rebuild Search Index"];
    is_logged(&app, &visitor, "settings", &actions).await;
}

async fn a_table_is_made_changed_and_dropped(app: TestApp) {
    let (visitor, path) = (admin(&app).await, at(&app, "tables"));
    let fields = [
        ("tableName", "pets"),
        ("columns", "name text\r\nage integer null index"),
        ("access", "key"),
        ("timestamps", "on"),
    ];
    submit(&visitor, &path, &fields).await;
    let rows = "/db/pets";
    app.service().post(rows, json!({ "name": "Rex" })).await.expect(201);
    app.anonymous().get(rows).await.expect(401);
    let table = format!("{path}/pets");
    let page = visitor.get(&table).await.text();
    assert!(page.contains("Rex") && page.contains("Rows are key."), "{page}");
    let add = [("do", "add-column"), ("column", "kind text"), ("default", "dog")];
    submit(&visitor, &table, &add).await;
    assert_eq!(app.service().get(rows).await.expect(200)["data"][0]["kind"], "dog");
    let drop = [("do", "drop-column"), ("column", "age")];
    assert_eq!(visitor.submit(&table, &drop).await.status, 400, "it is not confirmed");
    submit(&visitor, &table, &[&drop[..], &[("confirm", "age")]].concat()).await;
    for bad in ["", "name", "name shoe", "name text often", "id text"] {
        let fields = [("tableName", "other"), ("columns", bad), ("access", "open")];
        let expected = if bad.is_empty() { 303 } else { 400 };
        assert_eq!(visitor.submit(&path, &fields).await.status, expected, "{bad}");
    }
    assert_eq!(visitor.submit(&table, &[("do", "drop"), ("confirm", "cats")]).await.status, 400);
    submit(&visitor, &table, &[("do", "drop"), ("confirm", "pets")]).await;
    app.service().get(rows).await.expect(404);
    let actions =
        ["Create Table", "Insert Row", "Add Column", "Drop Column", "Create Table", "Drop Table"];
    is_logged(&app, &visitor, "tables", &actions).await;
}

async fn a_webhook_gets_a_new_secret(app: TestApp) {
    let (visitor, path) = (admin(&app).await, at(&app, "webhooks"));
    let fields = [("do", "set"), ("url", "https://hooks.example/in"), ("events", "entity.created")];
    let page = submit(&visitor, &path, &fields).await.text();
    assert!(page.contains("It is not shown again"), "{page}");
    let secret_of = |page: &str| page.split_once("aria-label=\"Secret\"").is_some();
    assert!(secret_of(&page));
    let list = visitor.get(&path).await.text();
    let (_, rest) = list.split_once("name=\"endpoint\" value=\"").unwrap();
    let id = rest.split('"').next().unwrap().to_owned();
    let rotated = submit(&visitor, &path, &[("do", "rotate"), ("endpoint", &id)]).await.text();
    assert!(secret_of(&rotated));
    assert!(visitor.get(&path).await.text().contains("X-Signature-Previous"));

    // Another endpoint, beside the first one; then the first one goes.
    let more =
        [("do", "set"), ("url", "https://hooks.example/two"), ("secret", SECRET), ("events", "")];
    assert_eq!(visitor.submit(&path, &more).await.status, 303);
    let shown = app.master().get("/webhook-config").await.expect(200);
    assert_eq!(shown["url"], "https://hooks.example/in");
    submit(&visitor, &path, &[("do", "remove"), ("endpoint", &id)]).await;
    let list = visitor.get(&path).await.text();
    assert!(!list.contains("hooks.example/in") && list.contains("hooks.example/two"), "{list}");
    for bad in [
        &[("do", "set"), ("url", "http://127.0.0.1/"), ("events", "")][..],
        &[("do", "set"), ("url", "https://hooks.example/"), ("events", "shoe.tied")],
    ] {
        assert_eq!(visitor.submit(&path, bad).await.status, 400, "{bad:?}");
    }
    for what in ["rotate", "remove", "resume", "test"] {
        assert_eq!(visitor.submit(&path, &[("do", what), ("endpoint", &id)]).await.status, 404);
    }
    let actions = ["Set Webhook", "Rotate Webhook Secret", "Set Webhook", "Remove Webhook"];
    is_logged(&app, &visitor, "webhooks", &actions).await;
}

async fn the_state_of_a_project_is_set(app: TestApp) {
    let (visitor, path) = (admin(&app).await, at(&app, "state"));
    submit(&visitor, &path, &[("state", "migrating")]).await;
    app.service().get("/entities").await.expect(503);
    submit(&visitor, &path, &[("state", "active")]).await;
    app.service().get("/entities").await.expect(200);
    assert_eq!(visitor.submit(&path, &[("state", "asleep")]).await.status, 400);
    is_logged(&app, &visitor, "settings", &["Set State of Project", "Set State of Project"]).await;
}

async fn an_owner_deletes_a_project_by_its_name(app: TestApp) {
    let owner = Visitor::operator(&app, Role::Owner, Some(app.project.id)).await;
    let path = at(&app, "delete");
    let settings = at(&app, "settings");
    assert_eq!(admin(&app).await.submit(&path, &[("confirm", "x")]).await.status, 403);
    assert!(!admin(&app).await.get(&settings).await.text().contains("Delete this project"));
    assert_eq!(owner.submit(&path, &[("confirm", "another")]).await.status, 400);
    let page = owner.get(&settings).await.text();
    let (_, rest) = page.split_once("Type its name, ").unwrap();
    let name = rest.split(", to confirm").next().unwrap().to_owned();
    submit(&owner, &path, &[("confirm", &name)]).await;
    app.service().get("/entities").await.expect(423);
    // It cannot be taken back, and the log of the installation remembers it.
    assert_eq!(owner.submit(&at(&app, "state"), &[("state", "active")]).await.status, 423);
    let logged = entries(&app, INSTALLATION).await;
    let id = app.project.id.to_string();
    assert!(logged.iter().any(|entry| entry.action == "Delete Project" && entry.target == id));
}
