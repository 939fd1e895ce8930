//! The users page of the admin: exports, and erasing with a receipt.

use serde_json::json;
use townhall::auth::operators::Role;

use crate::support::visitor::Visitor;
use crate::support::{TestApp, on_both_engines};

on_both_engines![
    a_user_is_exported,
    a_user_is_erased_with_a_receipt,
    whoever_is_suspended_on_their_page_may_appeal,
    an_owner_starts_a_session_as_a_user,
];

async fn a_user_is_exported(app: TestApp) {
    let ada = app.user().await;
    let page = format!("/admin/p/{}/users/{}", app.project.id, ada.id);
    let moderator = Visitor::operator(&app, Role::Moderator, Some(app.project.id)).await;
    assert!(!moderator.get(&page).await.text().contains("Export everything"));
    assert_eq!(moderator.submit(&page, &[("do", "export")]).await.status, 403);
    let admin = Visitor::operator(&app, Role::Admin, Some(app.project.id)).await;
    assert!(admin.get(&page).await.text().contains("Export everything"));
    let reply = admin.submit(&page, &[("do", "export")]).await;
    assert_eq!(reply.status, 200, "{}", reply.text());
    let text = reply.text();
    let (_, rest) = text.split_once("<p><a href=\"").unwrap();
    let url = rest.split('"').next().unwrap().replace("&amp;", "&");
    app.run_jobs().await;
    let archive = app.anonymous().open(&url).await;
    assert_eq!(archive.status, 200, "{url}");
    assert_eq!(archive.body[..2], [0x1f, 0x8b], "gzip");
}

async fn a_user_is_erased_with_a_receipt(app: TestApp) {
    let ada = app.user().await;
    ada.post("/entities", json!({ "title": "Mine" })).await.expect(201);
    let page = format!("/admin/p/{}/users/{}", app.project.id, ada.id);
    let id = ada.id.to_string();
    let erase = [("do", "erase"), ("confirm", &*id)];
    let moderator = Visitor::operator(&app, Role::Moderator, Some(app.project.id)).await;
    assert_eq!(moderator.submit(&page, &erase).await.status, 403);
    let admin = Visitor::operator(&app, Role::Admin, Some(app.project.id)).await;
    let wrong = admin.submit(&page, &[("do", "erase"), ("confirm", "yes")]).await;
    assert_eq!(wrong.status, 400);
    ada.get("/entities").await.expect(200);
    let receipt = admin.submit(&page, &erase).await;
    assert_eq!(receipt.status, 200, "{}", receipt.text());
    let text = receipt.text();
    assert!(text.contains(&id) && text.contains("erasedAt") && text.contains("entity"), "{text}");
    app.service().get(&format!("/users/{id}")).await.expect(404);
    assert_eq!(admin.get(&page).await.status, 404);
    assert_eq!(admin.submit(&page, &erase).await.status, 404);
}

async fn whoever_is_suspended_on_their_page_may_appeal(app: TestApp) {
    let ada = app.user().await;
    let page = format!("/admin/p/{}/users/{}", app.project.id, ada.id);
    let moderator = Visitor::operator(&app, Role::Moderator, Some(app.project.id)).await;
    let fields = [("do", "suspend"), ("term", "7"), ("reason", "Spam")];
    assert_eq!(moderator.submit(&page, &fields).await.status, 303);
    ada.post("/entities", json!({ "title": "t" })).await.refused(403, "user/suspended");
    assert!(moderator.get(&page).await.text().contains("<dt>Strikes</dt><dd>1</dd>"));
    let told = ada.get("/app-notifications").await.expect(200)["data"][0]["metadata"].clone();
    assert_eq!(
        (&told["content"], &told["moderation"]["action"]),
        (&json!("Spam"), &json!("suspend"))
    );
    let body = json!({ "decisionId": told["moderation"]["decisionId"], "text": "It was not me" });
    ada.post("/moderation/appeals", body).await.expect(201);
    let queue = moderator.get(&format!("/admin/p/{}/queue", app.project.id)).await.text();
    assert!(queue.contains("It was not me") && queue.contains("You made this decision"), "{queue}");
    let nobody = format!("/admin/p/{}/users/00000000-0000-4000-8000-000000000001", app.project.id);
    assert_eq!(moderator.submit(&nobody, &fields).await.status, 404);
}

async fn an_owner_starts_a_session_as_a_user(app: TestApp) {
    let ada = app.user().await;
    let page = format!("/admin/p/{}/users/{}", app.project.id, ada.id);
    let token = format!("{page}/token");
    for role in [Role::Moderator, Role::Admin] {
        let visitor = Visitor::operator(&app, role, Some(app.project.id)).await;
        assert!(!visitor.get(&page).await.text().contains("Sign in as this user"));
        assert_eq!(visitor.submit(&token, &[]).await.status, 403);
    }
    let owner = Visitor::operator(&app, Role::Owner, Some(app.project.id)).await;
    assert!(owner.get(&page).await.text().contains("Sign in as this user"));
    let reply = owner.submit(&token, &[]).await;
    assert_eq!((reply.status, reply.header("cache-control")), (200, Some("no-store")));
    let text = reply.text();
    let tokens =
        text.split("readonly value=\"").skip(1).map(|rest| rest.split('"').next().unwrap());
    let [access, refresh] = tokens.collect::<Vec<_>>()[..] else { panic!("{text}") };
    let made = app.bearer(access);
    let entity = made.post("/entities", json!({ "title": "Mine" })).await.expect(201);
    assert_eq!(entity["userId"], json!(ada.id));
    // It ends with the other sessions of the user.
    assert_eq!(owner.submit(&page, &[("do", "sign-out")]).await.status, 303);
    let renewal = json!({ "refreshToken": refresh });
    let refused = app.anonymous().post("/auth/request-new-access-token", renewal).await;
    refused.refused(403, "auth/refresh-token-mismatch");
    let log = owner.get(&format!("/admin/p/{}/audit", app.project.id)).await.text();
    assert!(log.contains("Start Session as User"), "{log}");
    let nobody =
        format!("/admin/p/{}/users/00000000-0000-4000-8000-000000000001/token", app.project.id);
    assert_eq!(owner.submit(&nobody, &[]).await.status, 404);
}
