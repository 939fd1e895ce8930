//! Requests of clients at their start: a server-side one verifies its key, a web client fetches the lean
//! project.

use serde_json::json;

use crate::support::{Actor, Reply, TestApp, on_both_engines};

on_both_engines![
    a_key_of_the_project_is_valid,
    everything_else_is_refused_for_its_reason,
    the_lean_project_holds_no_secret,
];

const HEADER: &str = "X-Sublay-Project-ID";

async fn verify(actor: &Actor<'_>) -> Reply {
    actor.raw(http::Method::GET, "/internal/service/verify", "", "").await
}

async fn a_key_of_the_project_is_valid(app: TestApp) {
    let id = app.project.id.to_string();
    for key in [app.service(), app.master()] {
        for header in [HEADER, "X-Replyke-Project-ID", "x-sublay-project-id"] {
            let reply = verify(&key.with_header(header, &id)).await;
            assert_eq!(reply.expect(200), json!({ "valid": true, "projectId": id }));
            assert_eq!(reply.header("cache-control"), Some("no-store"));
        }
        let upper = verify(&key.with_header(HEADER, &id.to_uppercase())).await;
        assert_eq!(upper.expect(200)["projectId"], id);
    }
}

async fn everything_else_is_refused_for_its_reason(app: TestApp) {
    let user = app.user().await;
    let (id, other) = (app.project.id.to_string(), app.other.id.to_string());
    let unknown = user.id.to_string();
    let invalid = "403 auth/invalid-service-key";
    let table = [
        (app.anonymous(), Some(&id), "401 auth/unauthorized"),
        (app.anonymous(), None, "401 auth/unauthorized"),
        (app.service(), None, "400 project/invalid-project-id"),
        (app.service(), Some(&"x".to_owned()), "400 project/invalid-project-id"),
        (app.service(), Some(&other), invalid),
        (app.service(), Some(&unknown), invalid),
        (app.bearer(&app.other.master_key), Some(&id), invalid),
        (app.bearer("thk_service_x"), Some(&id), invalid),
        ((*user).clone(), Some(&id), invalid),
    ];
    for (row, (actor, project, outcome)) in table.iter().enumerate() {
        let actor = match project {
            Some(project) => actor.with_header(HEADER, project),
            None => actor.clone(),
        };
        assert_eq!(verify(&actor).await.outcome(), *outcome, "row {row}");
    }
}

async fn the_lean_project_holds_no_secret(app: TestApp) {
    for actor in [app.anonymous(), app.service(), app.bearer("nonsense"), app.anonymous().v6()] {
        let reply = actor.get("/projects/lean").await;
        let time = "2026-08-01T12:00:00.000Z";
        let lean = json!({
            "id": app.project.id,
            "name": "Test",
            "integrations": [],
            "createdAt": time,
            "updatedAt": time,
        });
        assert_eq!(reply.expect(200), lean);
    }
}
