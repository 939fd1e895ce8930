//! Spaces and files in the admin: what operators find there, and what they change.

use serde_json::json;
use townhall::audit::store::{Filter, list};
use townhall::auth::operators::Role;
use townhall::features::moderation::decisions::{Action, Item};
use townhall::values::ids::AppealId;

use crate::comments::{comment, id_of, read};
use crate::moderation_decisions::{apply, decide_one};
use crate::moderation_statements::notices;
use crate::reactions::publish;
use crate::space_members::{membership, open_space};
use crate::spaces::{create, id, join};
use crate::support::visitor::Visitor;
use crate::support::{Form, Part, TestApp, on_both_engines};

on_both_engines![
    spaces_are_found_also_those_that_only_members_find,
    an_operator_bans_and_the_user_gets_a_statement,
    files_are_listed_and_deleted,
    the_first_steps_can_be_copied,
    a_comment_is_removed_on_the_page_of_its_post,
    limits_are_listed,
];

async fn moderator(app: &TestApp) -> Visitor<'_> {
    Visitor::operator(app, Role::Moderator, Some(app.project.id)).await
}

async fn spaces_are_found_also_those_that_only_members_find(app: TestApp) {
    let ada = app.user().await;
    create(&ada, json!({ "name": "Gardening" })).await;
    create(&ada, json!({ "name": "Secret Müsli", "visibility": "private" })).await;
    let elsewhere = app.stranger().await;
    create(&elsewhere, json!({ "name": "Elsewhere" })).await;
    let visitor = moderator(&app).await;
    let at = format!("/admin/p/{}/spaces", app.project.id);
    let page = visitor.get(&at).await;
    assert_eq!(page.status, 200, "{}", page.text());
    let page = page.text();
    assert!(page.contains("Gardening") && page.contains("Secret Müsli"), "{page}");
    assert!(!page.contains("Elsewhere"));
    let found = visitor.get(&format!("{at}?q=M%C3%9CSLI")).await.text();
    assert!(found.contains("Secret Müsli") && !found.contains("Gardening"), "{found}");
    let unknown = visitor.get(&format!("{at}/{}", app.project.id)).await;
    assert_eq!(unknown.status, 404);
}

async fn an_operator_bans_and_the_user_gets_a_statement(app: TestApp) {
    let (ada, bob) = (app.user().await, app.user().await);
    let space = open_space(&ada).await;
    join(&bob, &space).await;
    let visitor = moderator(&app).await;
    let at = format!("/admin/p/{}/spaces/{}", app.project.id, id(&space));
    let page = visitor.get(&at).await.text();
    assert!(page.contains(&bob.id.to_string()), "{page}");
    let user = bob.id.to_string();
    let ban = [("do", "ban"), ("user", &*user), ("reason", "No dogs")];
    for _ in 0..2 {
        let banned = visitor.submit(&at, &ban).await;
        assert_eq!(banned.status, 303, "{}", banned.text());
    }
    // Without the setting for decisions over the API.
    let told = notices(&bob).await;
    assert_eq!(told.len(), 1, "{told:?}");
    assert_eq!(
        (&told[0]["moderation"]["action"], &told[0]["content"]),
        (&json!("ban"), &json!("No dogs"))
    );
    let banned = visitor.get(&format!("{at}?status=banned")).await.text();
    assert!(banned.contains("Lift the ban") && banned.contains("No dogs"), "{banned}");
    let body = json!({ "decisionId": told[0]["moderation"]["decisionId"], "text": "A cat" });
    let made = bob.post("/moderation/appeals", body).await.expect(201);
    let appeal = Item::Appeal(AppealId(made["id"].as_str().unwrap().parse().unwrap()));
    decide_one(&app, appeal, Action::Approve).await;
    apply(&app).await;
    assert_eq!(membership(&app, &space, &bob).await["status"], "active");

    visitor.submit(&at, &ban).await;
    let member = membership(&app, &space, &bob).await;
    assert_eq!(member["status"], "banned");
    let unban = [("do", "unban"), ("member", member["id"].as_str().unwrap())];
    assert_eq!(visitor.submit(&at, &unban).await.status, 303);
    assert_eq!(membership(&app, &space, &bob).await["status"], "active");
    let stranger = app.user().await.id.to_string();
    for user in [&*stranger, "nobody"] {
        let refused = visitor.submit(&at, &[("do", "ban"), ("user", user)]).await;
        assert!([400, 404].contains(&refused.status), "{}", refused.text());
    }
    let project = app.project.id;
    let entries = app.app.db.read(move |c| list(c, project, &Filter::default(), 10)).await.unwrap();
    let actions: Vec<&str> = entries.iter().map(|entry| &*entry.action).collect();
    assert_eq!(actions.iter().filter(|action| **action == "Ban from Space").count(), 3);
    assert!(actions.contains(&"Unban Member"), "{actions:?}");
}

async fn files_are_listed_and_deleted(app: TestApp) {
    let (ada, bob) = (app.user().await, app.user().await);
    for (user, name) in [(&ada, "one.txt"), (&bob, "two.txt")] {
        let part = Part { name: "file", file: name, mime: "text/plain", bytes: b"bytes" };
        let form = Form::new().file(part).json("pathParts", json!(["docs"]));
        user.post_form("/storage", &form).await.expect(201);
    }
    let at = format!("/admin/p/{}/files", app.project.id);
    let visitor = moderator(&app).await;
    assert_eq!(visitor.get(&at).await.status, 403);
    let admin = Visitor::operator(&app, Role::Admin, Some(app.project.id)).await;
    let page = admin.get(&at).await.text();
    assert_eq!(page.matches("text/plain").count(), 2, "{page}");
    assert_eq!(admin.get(&format!("{at}?userId=me")).await.status, 400);
    let page = admin.get(&format!("{at}?userId={}", ada.id)).await.text();
    assert_eq!(page.matches("text/plain").count(), 1, "{page}");
    let (_, rest) = page.split_once("name=\"file\" value=\"").unwrap();
    let file = rest.split('"').next().unwrap();
    assert_eq!(visitor.submit(&at, &[("file", file)]).await.status, 403);
    assert_eq!(admin.submit(&at, &[("file", file)]).await.status, 303);
    let page = admin.get(&at).await.text();
    assert_eq!(page.matches("text/plain").count(), 1, "{page}");
}

async fn the_first_steps_can_be_copied(app: TestApp) {
    let visitor = moderator(&app).await;
    let page = visitor.get(&format!("/admin/p/{}", app.project.id)).await.text();
    for path in ["auth/sign-up", "entities"] {
        assert!(page.contains(&format!("/v8/{}/{path} ", app.project.id)), "{page}");
    }
}

async fn a_comment_is_removed_on_the_page_of_its_post(app: TestApp) {
    let (ada, bob) = (app.user().await, app.user().await);
    let entity = publish(&ada).await;
    let said = comment(&bob, &entity, "Buy now").await;
    let visitor = moderator(&app).await;
    let at = format!("/admin/p/{}/content/{}", app.project.id, id_of(&entity));
    let id = said["id"].as_str().unwrap();
    let page = visitor.get(&at).await.text();
    assert!(page.contains(&format!("name=\"comment\" value=\"{id}\"")), "{page}");
    let fields = [("do", "remove"), ("comment", id), ("reason", "Spam")];
    let decided = visitor.submit(&at, &fields).await;
    assert_eq!(decided.status, 303, "{}", decided.text());
    apply(&app).await;
    assert_eq!(read(&ada, &said).await["content"], serde_json::Value::Null);
    assert_eq!(notices(&bob).await[0]["content"], "Spam");
    ada.get(&entity).await.expect(200);
}

async fn limits_are_listed(app: TestApp) {
    let visitor = Visitor::operator(&app, Role::Admin, None).await;
    let page = visitor.get("/admin/system").await.text();
    assert!(page.contains("10 requests in 5 min") && page.contains("Create Appeal"), "{page}");
}
