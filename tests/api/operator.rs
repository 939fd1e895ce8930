//! The operator's endpoints: health, metrics, the OpenAPI document.

use std::collections::BTreeSet;
use std::time::Duration;

use db::{Command, Engine, Query};
use http::Method;
use serde_json::{Value, json};
use townhall::features;
use townhall::http::version::Version;
use townhall::installation::Fingerprint;
use townhall::installation::store::{claim_secret, replace_secret};
use townhall::network::forwarding;

use crate::support::{Actor, Reply, TestApp, TestConfig, all_at_once, on_both_engines};

on_both_engines![
    the_server_says_that_it_lives,
    a_ready_server_lists_its_checks,
    a_server_without_its_database_is_not_ready,
    a_server_that_cannot_store_is_not_ready,
    a_full_disk_is_reported_until_a_write_succeeds,
    an_unreachable_mail_server_is_a_warning,
    a_request_that_waits_too_long_for_the_database_gets_503,
    metrics_count_by_pattern_and_never_by_id,
    metrics_need_the_token_once_there_is_one,
    metrics_are_not_for_clients_of_a_proxy,
    metrics_are_closed_behind_a_proxy_that_is_not_trusted,
    a_proxy_that_is_not_trusted_is_noted,
    the_document_describes_every_operation_under_a_name_of_its_own,
    health_is_never_rate_limited,
    of_many_secrets_at_once_one_becomes_that_of_the_installation,
];

async fn get(actor: &Actor<'_>, address: &str) -> Reply {
    actor.raw(Method::GET, address, "", "").await
}

async fn the_server_says_that_it_lives(app: TestApp) {
    get(&app.anonymous(), "/livez").await.says(200, "ok");
    get(&app.anonymous(), "//livez/").await.says(200, "ok");
}

async fn a_ready_server_lists_its_checks(app: TestApp) {
    let app = app.own_server().await;
    let ready = get(&app.anonymous(), "/readyz").await.expect(200);
    let pass = json!({ "status": "pass" });
    let checks =
        json!({ "accepting": pass, "database": pass, "disk": pass, "storage": pass, "mail": pass });
    assert_eq!(ready, json!({ "status": "pass", "checks": checks }));
}

async fn a_server_without_its_database_is_not_ready(app: TestApp) {
    let app = app.own_server().await;
    app.app.db.close().await;
    let reply = get(&app.anonymous(), "/readyz").await.expect(503);
    assert_eq!(reply["status"], "fail");
    let database = json!({ "status": "fail", "message": "the database does not answer" });
    assert_eq!(reply["checks"]["database"], database);
    get(&app.anonymous(), "/livez").await.says(200, "ok");
    app.anonymous().get("/users/suggestions?query=a").await.refused(503, "server/busy");
}

async fn a_server_that_cannot_store_is_not_ready(app: TestApp) {
    let app = app.own_server().await;
    std::fs::remove_dir_all(app.data_dir()).unwrap();
    let reply = get(&app.anonymous(), "/readyz").await.expect(503);
    assert_eq!(
        (&reply["status"], &reply["checks"]["disk"]["status"]),
        (&json!("fail"), &json!("fail"))
    );
    assert_eq!(reply["checks"]["storage"]["status"], "warn");
}

/// The database itself refuses for want of space, as it does on a full disk.
async fn a_full_disk_is_reported_until_a_write_succeeds(app: TestApp) {
    let app = app.own_server().await;
    get(&app.anonymous(), "/readyz").await.expect(200);
    // A write of the server's own may succeed before the probe looks.
    let reply = loop {
        assert_eq!(fill_the_disk(&app).await, Err(db::Error::Full));
        let reply = get(&app.anonymous(), "/readyz").await;
        if reply.status != 200 {
            break reply.expect(503);
        }
    };
    let message = json!({ "status": "fail", "message": "no space is left for the database" });
    assert_eq!((&reply["status"], &reply["checks"]["database"]), (&json!("fail"), &message));
    // The next probe writes, and there is room for it.
    app.advance(Duration::from_secs(5));
    while get(&app.anonymous(), "/readyz").await.status != 200 {
        tokio::task::yield_now().await;
    }
}

async fn fill_the_disk(app: &TestApp) -> Result<(), db::Error> {
    let engine = app.engine();
    let full = app.app.db.write(move |tx| match engine {
        Engine::Sqlite => {
            // As many pages as there are, and no more.
            tx.one(&Query::<i64>::built("limit", "PRAGMA max_page_count = 1"), &[])?;
            let fill = "CREATE TABLE filler AS SELECT zeroblob(10000000) AS bytes";
            tx.execute(&Command::built("fill", fill), &[]).map(drop)
        }
        Engine::Postgres => {
            let fill = "DO $$ BEGIN RAISE EXCEPTION 'full' USING ERRCODE = '53100'; END $$";
            tx.execute(&Command::built("fill", fill), &[]).map(drop)
        }
    });
    full.await
}

async fn a_request_that_waits_too_long_for_the_database_gets_503(app: TestApp) {
    let app = app.restart_with(|config| {
        config.set("TOWNHALL_DATABASE_WAIT", "1s");
        config.set("TOWNHALL_DATABASE_POOL", "1");
    });
    let app = app.await;
    let (arrive, mut arrived) = tokio::sync::mpsc::unbounded_channel();
    let (go_on, wait) = std::sync::mpsc::channel::<()>();
    let wait = std::sync::Mutex::new(wait);
    let db = app.app.db.clone();
    let held = tokio::spawn(async move {
        let holding = db.write(move |_| {
            arrive.send(()).unwrap();
            wait.lock().unwrap().recv().unwrap();
            Ok::<_, db::Error>(())
        });
        holding.await
    });
    arrived.recv().await.unwrap();
    let entity = json!({ "foreignId": "late", "title": "Late" });
    let late = app.service().post("/entities", entity).await;
    assert_eq!(late.header("retry-after"), Some("1"));
    late.refused(503, "server/busy");
    go_on.send(()).unwrap();
    held.await.unwrap().unwrap();
    let found = app.service().get("/entities/by-foreign-id?foreignId=late").await;
    found.refused(404, "entity/not-found");
}

async fn an_unreachable_mail_server_is_a_warning(app: TestApp) {
    let closed = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let app = app.restart_with(|config| {
        config.set("TOWNHALL_SMTP_URL", &format!("smtp://{closed}"));
        config.set("TOWNHALL_MAIL_FROM", "forum@example.com");
    });
    let app = app.await;
    let reply = get(&app.anonymous(), "/readyz").await.expect(200);
    assert_eq!(
        (&reply["status"], &reply["checks"]["mail"]["status"]),
        (&json!("warn"), &json!("warn"))
    );
}

/// The value of a metric's line.
pub(crate) fn value_of(metrics: &str, line: &str) -> Option<f64> {
    let found = metrics.lines().find_map(|one| one.strip_prefix(line)?.strip_prefix(' '));
    found.map(|value| value.parse().unwrap())
}

async fn metrics_count_by_pattern_and_never_by_id(app: TestApp) {
    let app = app.restart_with(|config| config.set("TOWNHALL_RATE_LIMITS", "0.01")).await;
    let key = app.service();
    let user = key.get("/users/by-foreign-id?foreignId=canary&createIfNotFound=true").await;
    let id = user.expect(201)["id"].as_str().unwrap().to_owned();
    for _ in 0..3 {
        key.get(&format!("/users/{id}")).await.expect(200);
    }
    key.get("/users/x").await.refused(400, "user/invalid-params");
    get(&app.anonymous(), "/nowhere/canary").await.refused(404, "route/not-found");
    let strange = Method::from_bytes(b"CANARY").unwrap();
    app.anonymous().raw(strange, "/nowhere", "", "").await.refused(404, "route/not-found");
    for _ in 0..2 {
        app.anonymous().get("/projects/lean").await;
    }

    let reply = get(&app.anonymous(), "/metrics").await;
    assert_eq!(reply.status, 200);
    let text = reply.text();
    let requests =
        |labels: &str| value_of(&text, &format!("townhall_http_requests_total{{{labels}}}"));
    assert_eq!(requests(r#"method="GET",route="/users/{userId}",status="200""#), Some(3.0));
    assert_eq!(requests(r#"method="GET",route="/users/{userId}",status="400""#), Some(1.0));
    assert_eq!(requests(r#"method="GET",route="unknown",status="404""#), Some(1.0));
    assert_eq!(requests(r#"method="other",route="unknown",status="404""#), Some(1.0));
    let limited = value_of(&text, r#"townhall_rate_limited_total{route="/projects/lean"}"#);
    assert_eq!(limited, Some(1.0));
    assert_eq!(value_of(&text, "townhall_http_requests_in_flight"), Some(1.0));
    let of_user = r#"method="GET",route="/users/{userId}""#;
    let count = format!(r#"townhall_http_request_duration_seconds_count{{{of_user}}}"#);
    assert_eq!(value_of(&text, &count), Some(4.0));
    let slowest =
        format!(r#"townhall_http_request_duration_seconds_bucket{{{of_user},le="+Inf"}}"#);
    assert_eq!(value_of(&text, &slowest), Some(4.0));
    for kind in ["read", "write"] {
        let count = format!("townhall_db_job_duration_seconds_count{{kind=\"{kind}\"}}");
        assert!(value_of(&text, &count).unwrap() > 0.0, "{kind}");
    }
    assert_eq!(value_of(&text, "townhall_db_queue_depth"), Some(0.0));
    let version = env!("CARGO_PKG_VERSION");
    let build = format!("townhall_build_info{{version=\"{version}\"}}");
    assert_eq!(value_of(&text, &build), Some(1.0));
    assert!(value_of(&text, "process_resident_memory_bytes").unwrap() > 1e6);
    for secret in [&id, "canary", "CANARY", &app.project.id.to_string()] {
        assert!(!text.contains(secret), "{secret} in {text}");
    }
}

async fn metrics_need_the_token_once_there_is_one(app: TestApp) {
    get(&app.anonymous(), "/metrics").await.expect(200);
    let app = app.restart_with(|config| config.set("TOWNHALL_METRICS_TOKEN", "s3cret")).await;
    for actor in [app.anonymous(), app.bearer("s3cre"), app.bearer(""), app.master()] {
        get(&actor, "/metrics").await.refused(403, "server/metrics-closed");
    }
    let basic = app.anonymous().with_header("Authorization", "Basic s3cret");
    get(&basic, "/metrics").await.refused(403, "server/metrics-closed");
    assert_eq!(get(&app.bearer("s3cret"), "/metrics").await.status, 200);
}

/// To the socket everybody behind a proxy on the same machine looks local.
async fn metrics_are_not_for_clients_of_a_proxy(app: TestApp) {
    let app = app.restart_with(|config| config.set("TOWNHALL_TRUSTED_PROXIES", "127.0.0.1")).await;
    let client = app.anonymous().with_header("X-Forwarded-For", "203.0.113.9");
    get(&client, "/metrics").await.refused(403, "server/metrics-closed");
    assert_eq!(get(&app.anonymous(), "/metrics").await.status, 200);
}

/// An untrusted proxy does not count as a local client, and its headers are ignored.
async fn metrics_are_closed_behind_a_proxy_that_is_not_trusted(app: TestApp) {
    let headers = [
        ("X-Forwarded-For", "203.0.113.9"),
        ("X-Forwarded-For", "127.0.0.1"),
        ("Forwarded", "for=127.0.0.1"),
        ("X-Real-IP", "127.0.0.1"),
        ("X-Forwarded-Host", "community.example"),
        ("X-Forwarded-Proto", "https"),
        ("Via", "1.1 proxy"),
    ];
    for (name, value) in headers {
        let client = app.anonymous().with_header(name, value);
        get(&client, "/metrics").await.refused(403, "server/metrics-closed");
        get(&client, "/livez").await.says(200, "ok");
    }
    assert_eq!(get(&app.anonymous(), "/metrics").await.status, 200);
    let other = |config: &mut TestConfig| config.set("TOWNHALL_TRUSTED_PROXIES", "10.0.0.0/8");
    let app = app.restart_with(other).await;
    let client = app.anonymous().with_header("X-Forwarded-For", "127.0.0.1");
    get(&client, "/metrics").await.refused(403, "server/metrics-closed");
    let own = |config: &mut TestConfig| config.set("TOWNHALL_TRUSTED_PROXIES", "127.0.0.1");
    let app = app.restart_with(own).await;
    let local = app.anonymous().with_header("X-Forwarded-For", "127.0.0.1");
    assert_eq!(get(&local, "/metrics").await.status, 200);
}

/// For `townhall doctor`, which is another process.
async fn a_proxy_that_is_not_trusted_is_noted(app: TestApp) {
    let app = app.own_server().await;
    let noted = |app: &TestApp| forwarding::untrusted_proxy(app.data_dir());
    get(&app.anonymous(), "/livez").await.says(200, "ok");
    assert_eq!(noted(&app), None);
    let client = app.anonymous().with_header("X-Forwarded-For", "203.0.113.9");
    client.get("/projects/lean").await.expect(200);
    app.until(|app| noted(app).as_deref() == Some("127.0.0.1")).await;
    let other = |config: &mut TestConfig| config.set("TOWNHALL_TRUSTED_PROXIES", "10.0.0.0/8");
    let app = app.restart_with(other).await;
    let client = app.anonymous().with_header("X-Forwarded-For", "203.0.113.9");
    client.get("/projects/lean").await.expect(200);
    assert_eq!(noted(&app), None, "the operator has said which proxies there are");
}

async fn the_document_describes_every_operation_under_a_name_of_its_own(app: TestApp) {
    let document = get(&app.anonymous(), "/openapi.json").await.expect(200);
    assert_eq!(document["openapi"], "3.1.0");
    let mut names = BTreeSet::new();
    let mut count = 0;
    for (path, methods) in document["paths"].as_object().unwrap() {
        for (method, operation) in methods.as_object().unwrap() {
            let name = operation["operationId"].as_str().unwrap();
            assert!(names.insert(name.to_owned()), "{name} names {method} {path} and another");
            let parameters = operation["parameters"].as_array().unwrap();
            for part in path.split('/').filter_map(|part| part.strip_prefix('{')) {
                let part = part.trim_end_matches('}');
                let shared = |p: &&Value| document.pointer(&p["$ref"].as_str().unwrap()[1..]);
                let parameters = parameters.iter().filter_map(|p| shared(&p));
                let names = parameters.filter(|p| p["in"] == "path").map(|p| &p["name"]);
                assert!(names.into_iter().any(|name| name == part), "{path}");
            }
            count += 1;
        }
    }
    let versions = |operation: &townhall::http::operation::Operation| {
        let served = Version::ALL.iter().filter(|version| operation.is_in(**version)).count();
        if operation.is_project_scoped() { served } else { 1 }
    };
    assert_eq!(count, features::operations().iter().map(versions).sum::<usize>());

    let of_project = app.anonymous().get("/openapi.json").await.expect(200);
    assert_eq!(of_project["paths"], document["paths"]);
    let unknown = app.anonymous().in_project(uuid::Uuid::nil());
    unknown.get("/openapi.json").await.refused(404, "project/not-found");
    references_resolve(&document, &document);
}

fn references_resolve(value: &Value, document: &Value) {
    match value {
        Value::Object(object) => {
            if let Some(Value::String(reference)) = object.get("$ref") {
                let pointer = reference.strip_prefix('#').unwrap();
                assert!(document.pointer(pointer).is_some(), "{reference}");
            }
            object.values().for_each(|value| references_resolve(value, document));
        }
        Value::Array(items) => items.iter().for_each(|value| references_resolve(value, document)),
        _ => {}
    }
}

async fn health_is_never_rate_limited(app: TestApp) {
    let app = app.restart_with(|config| config.set("TOWNHALL_RATE_LIMITS", "0.001")).await;
    for _ in 0..5 {
        for path in ["/livez", "/readyz", "/metrics"] {
            assert_eq!(get(&app.anonymous(), path).await.status, 200, "{path}");
        }
    }
}

async fn of_many_secrets_at_once_one_becomes_that_of_the_installation(app: TestApp) {
    let claim = |number: u8| {
        let fingerprint = Fingerprint::of(&[number; 32]);
        app.app.db.write(move |tx| claim_secret(tx, &fingerprint))
    };
    let claims = all_at_once((0..16).map(claim)).await;
    let claimed = |one: &Result<bool, townhall::error::Error>| *one.as_ref().unwrap();
    assert_eq!(claims.iter().filter(|one| claimed(one)).count(), 1);
    let first = u8::try_from(claims.iter().position(claimed).unwrap()).unwrap();
    assert!(claim(first).await.unwrap(), "it stays the same");
    let other = Fingerprint::of(b"another one");
    app.app.db.write(move |tx| replace_secret(tx, &other)).await.unwrap();
    assert!(!claim(first).await.unwrap());
}
