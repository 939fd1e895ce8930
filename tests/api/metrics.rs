//! `/metrics` beyond requests: jobs, mail, storage, projects; and that dashboard and alerts ask for what there is.

use std::collections::BTreeSet;
use std::time::Duration;

use db::{Engine, PoolStats, ReplicaStats};
use http::Method;
use serde_json::{Value, json};
use townhall::metrics::{Backlog, JobState, Metrics, ProjectCount, Readings, SearchFigures};
use townhall::traces;

use crate::operator::value_of;
use crate::support::{Form, Part, TestApp, on_both_engines};

on_both_engines![
    jobs_are_shown_by_kind_state_and_age,
    mails_and_stored_files_are_counted,
    a_storage_that_fails_is_counted,
    projects_are_counted_when_that_is_asked_for,
    the_pool_of_connections_is_shown,
    dashboard_and_alerts_ask_for_metrics_that_there_are,
];

async fn metrics(app: &TestApp, query: &str) -> String {
    let reply = app.anonymous().raw(Method::GET, &format!("/metrics{query}"), "", "").await;
    assert_eq!(reply.status, 200, "{}", reply.text());
    reply.text()
}

async fn jobs_are_shown_by_kind_state_and_age(app: TestApp) {
    let app = app.own_server().await;
    let user = app.user().await;
    app.run_jobs().await;
    let request = json!({ "email": user.email });
    app.anonymous().post("/auth/request-password-reset", request).await.expect(200);
    app.advance(Duration::from_secs(90));
    let text = metrics(&app, "").await;
    let waiting = r#"{kind="password-reset",state="waiting"}"#;
    assert_eq!(value_of(&text, &format!("townhall_jobs{waiting}")), Some(1.0));
    assert_eq!(value_of(&text, &format!("townhall_jobs_overdue_seconds{waiting}")), Some(90.0));

    // The outbox cannot be written: the job fails, and is tried again later.
    let outbox = app.data_dir().join("outbox");
    let _ = std::fs::remove_dir_all(&outbox);
    std::fs::write(&outbox, "in the way").unwrap();
    app.run_jobs().await;
    app.advance(Duration::from_secs(10));
    let text = metrics(&app, "").await;
    let retrying = r#"townhall_jobs{kind="password-reset",state="retrying"}"#;
    assert_eq!(value_of(&text, retrying), Some(1.0));
    assert_eq!(value_of(&text, &format!("townhall_jobs{waiting}")), None);
    let runs = |outcome: &str| {
        format!(r#"townhall_job_runs_total{{kind="password-reset",outcome="{outcome}"}}"#)
    };
    assert_eq!(value_of(&text, &runs("failed")), Some(1.0));
    assert_eq!(value_of(&text, r#"townhall_mails_total{outcome="failed"}"#), Some(1.0));

    // Twelve attempts later it is given up.
    while app.run_jobs().await > 0
        || value_of(&metrics(&app, "").await, &runs("given_up")) == Some(0.0)
    {
        app.advance(Duration::from_secs(6 * 3600));
    }
    app.advance(Duration::from_secs(10));
    let text = metrics(&app, "").await;
    assert_eq!(
        (value_of(&text, &runs("failed")), value_of(&text, &runs("given_up"))),
        (Some(11.0), Some(1.0))
    );
    let failed = r#"townhall_jobs{kind="password-reset",state="failed"}"#;
    assert_eq!(value_of(&text, failed), Some(1.0));
    let count = r#"townhall_job_duration_seconds_count{kind="password-reset"}"#;
    assert_eq!(value_of(&text, count), Some(12.0));
}

async fn mails_and_stored_files_are_counted(app: TestApp) {
    let app = app.own_server().await;
    let user = app.user().await;
    app.anonymous()
        .post("/auth/request-password-reset", json!({ "email": user.email }))
        .await
        .expect(200);
    app.next_mail().await;
    upload(&app).await;
    let text = metrics(&app, "").await;
    assert!(value_of(&text, r#"townhall_mails_total{outcome="sent"}"#).unwrap() >= 1.0);
    let puts = r#"townhall_storage_duration_seconds_count{operation="put"}"#;
    assert_eq!(value_of(&text, puts), Some(1.0));
    assert_eq!(value_of(&text, r#"townhall_storage_failures_total{operation="put"}"#), Some(0.0));
    assert!(value_of(&text, "townhall_disk_free_bytes").unwrap() > 0.0);
}

async fn upload(app: &TestApp) -> u16 {
    let part = Part { name: "file", file: "notes.txt", mime: "text/plain", bytes: b"hello there" };
    let form = Form::new().file(part).text("pathParts", r#"["documents"]"#);
    app.service().post_form("/storage", &form).await.status
}

async fn a_storage_that_fails_is_counted(app: TestApp) {
    let app = app.own_server().await;
    assert_eq!(upload(&app).await, 201);
    // Files where directories should be.
    let files = app.data_dir().join("files").join(app.project.id.to_string());
    std::fs::remove_dir_all(&files).unwrap();
    std::fs::write(&files, "in the way").unwrap();
    assert_eq!(upload(&app).await, 503);
    let text = metrics(&app, "").await;
    assert_eq!(value_of(&text, r#"townhall_storage_failures_total{operation="put"}"#), Some(1.0));
}

async fn projects_are_counted_when_that_is_asked_for(app: TestApp) {
    let app = app.own_server().await;
    let user = app.user().await;
    let entity = user.post("/entities", json!({ "title": "Counted" })).await.expect(201);
    let comment = json!({ "entityId": entity["id"], "content": "Counted" });
    user.post("/comments", comment).await.expect(201);
    assert_eq!(upload(&app).await, 201);
    let plain = metrics(&app, "").await;
    assert!(!plain.contains(&app.project.id.to_string()), "ids are labels only on demand");
    let text = metrics(&app, "?projects=on").await;
    let count = |what: &str| {
        let labels = format!(r#"project="{}",what="{what}""#, app.project.id);
        value_of(&text, &format!("townhall_project_items{{{labels}}}"))
    };
    assert_eq!(count("users"), Some(1.0));
    assert_eq!((count("entities"), count("comments")), (Some(1.0), Some(1.0)));
    assert_eq!((count("files"), count("file_bytes")), (Some(1.0), Some(11.0)));
    let wrong = app.anonymous().raw(Method::GET, "/metrics?projects=perhaps", "", "").await;
    wrong.refused(400, "server/invalid-query");
}

async fn the_pool_of_connections_is_shown(app: TestApp) {
    let app = app.restart_with(|config| config.set("TOWNHALL_DATABASE_POOL", "3")).await;
    let text = metrics(&app, "").await;
    let [busy, idle] = ["busy", "idle"]
        .map(|state| value_of(&text, &format!("townhall_db_connections{{state=\"{state}\"}}")));
    match app.engine() {
        Engine::Sqlite => assert_eq!((busy, idle), (None, None)),
        Engine::Postgres => assert_eq!(busy.unwrap() + idle.unwrap(), 3.0),
    }
}

/// Every name that the page can have, with everything configured that there is.
async fn exported(app: &TestApp) -> BTreeSet<String> {
    let figures = Metrics::default();
    figures.record(Some("/entities"), &Method::GET, 200, Duration::ZERO);
    figures.limited("/entities");
    figures.job_ran("mail", townhall::metrics::JobOutcome::Done, Duration::ZERO);
    let mut db = app.app.db.stats();
    db.pool = Some(PoolStats { busy: 1, size: 2 });
    db.replica = Some(ReplicaStats { lag: Some(Duration::ZERO), reads: 0, fallbacks: 0 });
    let kind = "mail".to_owned();
    let text = figures.render(&Readings {
        db,
        realtime: app.app.realtime.figures(),
        connections: app.app.connections.figures(),
        mail: app.app.mailer.figures(),
        storage: app.app.storage.figures(),
        traces: Some(traces::Figures { exported: 0, dropped: 0 }),
        free_space: Some(1),
        backup: Some(1),
        search: Some(SearchFigures { waiting: 0, documents: 0, indexed: 0 }),
        jobs: Some(vec![Backlog { kind, state: JobState::Waiting, jobs: 1, overdue: 0.0 }]),
        projects: Some(vec![ProjectCount { project: app.project.id, what: "users", count: 1 }]),
    });
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    lines.map(|line| line.split(['{', ' ']).next().unwrap().to_owned()).collect()
}

/// The names of metrics in expressions.
fn asked_for(text: &str) -> BTreeSet<String> {
    let words = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    let is_metric = |word: &&str| word.starts_with("townhall_") || word.starts_with("process_");
    words.filter(is_metric).map(str::to_owned).collect()
}

async fn dashboard_and_alerts_ask_for_metrics_that_there_are(app: TestApp) {
    let exported = exported(&app).await;
    let read = |file: &str| std::fs::read_to_string(format!("deploy/monitoring/{file}")).unwrap();
    let dashboard: Value = serde_json::from_str(&read("grafana-dashboard.json")).unwrap();
    let panels = dashboard["panels"].as_array().unwrap();
    let targets = panels.iter().filter_map(|panel| panel["targets"].as_array()).flatten();
    let expressions = targets.map(|target| target["expr"].as_str().unwrap());
    let dashboard = asked_for(&expressions.collect::<Vec<_>>().join("\n"));
    let rules = read("townhall.rules.yml");
    let rules = rules.lines().filter(|line| !line.contains("description:"));
    let rules = asked_for(&rules.collect::<Vec<_>>().join("\n"));
    assert!(dashboard.len() > 30 && rules.len() > 10, "{dashboard:?} {rules:?}");
    for name in dashboard.union(&rules) {
        assert!(exported.contains(name), "{name} is not exported");
    }
    // The other way round: what is exported is on the dashboard, or it would be in nobody's sight.
    let parts = ["_sum", "_count"];
    for name in exported.iter().filter(|name| !parts.iter().any(|part| name.ends_with(part))) {
        let is_shown = dashboard.contains(name) || name == "townhall_search_documents";
        assert!(is_shown, "{name} is not on the dashboard");
    }
}
