//! The pages about the server itself: how it does, and requests that are found by their id.

use http::Method;
use serde_json::json;
use townhall::auth::operators::Role;

use crate::support::visitor::Visitor;
use crate::support::{TestApp, on_both_engines};

on_both_engines![
    the_home_page_shows_how_the_server_does,
    a_request_is_found_by_its_id,
    requests_of_other_projects_are_not_shown,
    the_overview_of_a_project_has_its_numbers,
    jobs_of_all_projects_are_run_again_and_dropped,
];

async fn the_home_page_shows_how_the_server_does(app: TestApp) {
    let app = app.own_server().await;
    let admin = Visitor::operator(&app, Role::Admin, None).await;
    for _ in 0..3 {
        app.service().get("/entities").await.expect(200);
    }
    let home = admin.get("/admin").await.text();
    for shown in ["Requests in the last hour", "of them 5xx", "p95", "There is no schedule"] {
        assert!(home.to_lowercase().contains(&shown.to_lowercase()), "{shown}: {home}");
    }
    let system = admin.get("/admin/system").await.text();
    for shown in ["Requests a minute", "last verified backup", "disk", "townhall restore", "<svg"] {
        assert!(system.contains(shown), "{shown}: {system}");
    }
    // Who looks after one project learns nothing of the server.
    let other = Visitor::operator(&app, Role::Owner, Some(app.project.id)).await;
    assert!(!other.get("/admin").await.text().contains("This server"));
}

async fn a_request_is_found_by_its_id(app: TestApp) {
    let admin = Visitor::operator(&app, Role::Admin, None).await;
    let path = "/entities/00000000-0000-4000-8000-000000000001?secret=query";
    let refused = app.service().get(path).await;
    assert_eq!(refused.status, 404);
    let id = refused.header("x-request-id").unwrap();
    let page = admin.get(&format!("/admin/requests?id={id}")).await.text();
    for shown in [id, "GET v8 /entities/{entityId}", "404", "entity/not-found", "service key"] {
        assert!(page.contains(shown), "{shown}: {page}");
    }
    assert!(!page.contains("secret=query") && !page.contains("000000000001"), "{page}");
    let none = admin.get("/admin/requests?id=nobody-sent-this").await.text();
    assert!(none.contains("There is none."), "{none}");
    // Health checks come every few seconds, and are no requests of anybody.
    let health = app.anonymous().raw(Method::GET, "/livez", "text/plain", String::new()).await;
    let id = health.header("x-request-id").unwrap();
    let page = admin.get(&format!("/admin/requests?id={id}")).await.text();
    assert!(page.contains("There is none."), "{page}");
}

async fn requests_of_other_projects_are_not_shown(app: TestApp) {
    let reply = app.service().get("/entities").await;
    let id = reply.header("x-request-id").unwrap();
    for (project, is_shown) in [(app.project.id, true), (app.other.id, false)] {
        let admin = Visitor::operator(&app, Role::Admin, Some(project)).await;
        let page = admin.get(&format!("/admin/p/{project}/requests?id={id}")).await.text();
        assert_eq!(page.contains("/entities"), is_shown, "{page}");
        assert_eq!(admin.get("/admin/requests").await.status, 403);
    }
}

async fn the_overview_of_a_project_has_its_numbers(app: TestApp) {
    let analyst = Visitor::operator(&app, Role::Analyst, Some(app.project.id)).await;
    app.user().await;
    let page = analyst.get(&format!("/admin/p/{}", app.project.id)).await.text();
    let tile = |name: &str, number: &str| {
        let text = format!("<span class=\"number\">{number}</span><span>{name}</span>");
        assert!(page.contains(&text), "{text}: {page}");
    };
    tile("Users", "1");
    tile("Active in 7 days", "1");
    tile("Files", "0 B");
}

async fn jobs_of_all_projects_are_run_again_and_dropped(app: TestApp) {
    let app = app.own_server().await;
    let admin = Visitor::operator(&app, Role::Admin, None).await;
    let user = app.user().await;
    for _ in 0..2 {
        app.service().post(&format!("/users/{}/export", user.id), json!({})).await.expect(202);
    }
    let page = admin.get("/admin/jobs").await.text();
    let project = app.project.id.to_string();
    assert!(page.contains(&format!("/admin/p/{project}/jobs")), "{page}");
    let own = format!("/admin/p/{project}/jobs");
    let job = |page: &str| {
        let (_, rest) = page.split_once("name=\"job\" value=\"").unwrap();
        rest.split('"').next().unwrap().to_owned()
    };
    let before = app.rows("jobs").await;
    let first = job(&admin.get(&own).await.text());
    let fields = |what: &'static str, job: &'static str| [("do", what), ("job", job)];
    assert_eq!(admin.submit("/admin/jobs", &fields("drop", "nothing")).await.status, 400);
    let named = [("do", "retry"), ("job", &*first), ("project", &*project)];
    assert_eq!(admin.submit("/admin/jobs", &named).await.header("location"), Some("/admin/jobs"));
    let named = [("do", "drop"), ("job", &*first), ("project", &*project)];
    assert_eq!(admin.submit("/admin/jobs", &named).await.status, 303);
    assert_eq!(app.rows("jobs").await, before - 1);
    assert_eq!(admin.submit("/admin/jobs", &named).await.status, 404);
    // Jobs of another project cannot be reached from the page of one.
    let second = job(&admin.get(&own).await.text());
    let elsewhere = format!("/admin/p/{}/jobs", app.other.id);
    let foreign = [("do", "drop"), ("job", &*second), ("project", &*project)];
    assert_eq!(admin.submit(&elsewhere, &foreign).await.status, 404);
}
