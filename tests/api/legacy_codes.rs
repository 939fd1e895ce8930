//! Refusals in the legacy dialect, under the codes of version 6: one row for each rule of the table, with the
//! code of the same request in the common form.

use http::Method;
use serde_json::{Value, json};

use crate::comments::{UNKNOWN, comment, id_of};
use crate::reactions::publish;
use crate::support::{Form, Part, TestApp, on_both_engines};

on_both_engines![
    reads_and_writes_are_refused_under_older_codes,
    lists_are_refused_under_older_codes,
    votes_conflict,
    reports_say_what_is_wrong_with_them,
    uploads_are_refused_in_the_older_order,
    failures_have_the_older_codes,
];

/// A request, then the outcome in the common form, and in the dialect. `COMMENT` is one of the caller's, `USER`
/// the caller.
const ROWS: &str = r#"
GET /entities/x | 400 entity/invalid-params | 400 entity/invalid-resource-id
GET /entities/x/top-comment | 400 entity/invalid-params | 400 entity/missing-entity-id
PATCH /entities/x {} | 400 entity/invalid-params | 400 entity/invalid-id
DELETE /entities/x | 400 entity/invalid-params | 400 entity/invalid-id
PATCH /entities/x/upvote | 400 entity/invalid-params | 400 entity/invalid-id
PATCH /entities/x/remove-downvote | 400 entity/invalid-params | 400 entity/invalid-id
GET /entities/by-foreign-id | 400 entity/invalid-query | 400 entity/invalid-query-params
GET /entities/by-foreign-id?foreignId= | 400 entity/invalid-query | 400 entity/invalid-query-params
GET /entities/by-short-id | 400 entity/invalid-query | 400 entity/invalid-query-params
GET /entities/by-short-id?shortId=x | 404 entity/not-found | 404 entity/not-found
GET /entities?limit=x | 400 entity/invalid-query | 400 entity/invalid-limit
GET /entities?limit=0 | 400 entity/invalid-query | 400 entity/invalid-limit
GET /entities?page=-1 | 400 entity/invalid-query | 400 entity/invalid-page
GET /entities?timeFrame=x | 400 entity/invalid-query | 400 entity/invalid-query
GET /entities?sortBy=metadata.%24 | 400 entity/invalid-query | 400 entity/invalid-query
GET /comments?limit=x | 400 comment/invalid-query | 400 comment/invalid-limit
GET /comments?page=0 | 400 comment/invalid-query | 400 comment/invalid-page
GET /comments?entityId=x | 400 comment/invalid-query | 400 comment/invalid-request
GET /comments?include=x | 400 comment/invalid-query | 400 comment/invalid-request
GET /comments/by-foreign-id | 400 comment/invalid-query | 400 comment/invalid-request
GET /comments/x | 400 comment/invalid-params | 400 comment/invalid-request
PATCH /comments/x {} | 400 comment/invalid-params | 400 comment/invalid-request
PATCH COMMENT {"content": 7} | 400 comment/invalid-body | 400 comment/invalid-request
PATCH /comments/x/upvote | 400 comment/invalid-params | 400 comment/missing-data
PATCH /comments/x/remove-downvote | 400 comment/invalid-params | 400 comment/missing-data
DELETE /comments/x | 400 comment/missing-comment-id | 400 comment/missing-comment-id
POST /comments {"content": "x"} | 400 comment/missing-entity-id | 400 comment/missing-entity-id
POST /comments {"entityId": "UNKNOWN"} | 400 comment/missing-content | 400 comment/missing-content
POST /comments {"entityId": "UNKNOWN", "content": "x"} | 404 comment/entity-not-found | 404 comment/entity-not-found
GET /app-notifications?limit=x | 400 app-notification/invalid-query | 400 app-notification/invalid-limit
GET /app-notifications?page=0 | 400 app-notification/invalid-query | 400 app-notification/invalid-page
PATCH /app-notifications/x/mark-as-read | 400 app-notification/invalid-params | 404 app-notification/not-found
GET /users/x | 400 user/invalid-params | 400 user/invalid-user-id
GET /users/by-foreign-id | 400 user/invalid-query | 400 user/invalid-identifier
GET /users/check-username | 400 username/invalid-query | 400 username/invalid-input
GET /users/suggestions | 400 user/invalid-query | 400 user/invalid-query
PATCH USER {"update": {}} | 200 | 400 user/missing-data
POST /auth/sign-up {"email": "a@example.com"} | 400 auth/invalid-body | 400 auth/missing-fields
POST /auth/sign-up {"email": "x", "password": "correct horse"} | 400 auth/invalid-body | 400 auth/missing-fields
POST /auth/sign-in {"email": "x"} | 400 auth/invalid-credentials | 400 auth/missing-fields
POST /auth/change-password {} | 400 auth/invalid-body | 400 auth/missing-fields
POST /auth/verify-external-user {} | 400 auth/invalid-body | 400 auth/missing-jwt
POST /auth/verify-external-user {"userJwt": 7} | 400 auth/invalid-body | 400 auth/missing-jwt
POST /auth/verify-external-user {"userJwt": "x"} | 403 auth/invalid-token | 403 auth/invalid-token
"#;

async fn reads_and_writes_are_refused_under_older_codes(app: TestApp) {
    let user = app.user().await;
    let said = comment(&user, &publish(&user).await, "x").await;
    let rows = ROWS
        .replace("COMMENT", &crate::comments::path(&said))
        .replace("USER", &format!("/users/{}", user.id))
        .replace("UNKNOWN", &UNKNOWN.to_string());
    for row in rows.trim().lines() {
        let [request, common, legacy] = row.split(" | ").collect::<Vec<_>>().try_into().unwrap();
        let (method, request) = request.split_once(' ').unwrap();
        let (path, body) = request.split_once(' ').unwrap_or((request, ""));
        let body: Option<Value> = (!body.is_empty()).then(|| serde_json::from_str(body).unwrap());
        let method: Method = method.parse().unwrap();
        let found = user.send(method.clone(), path, body.clone()).await;
        assert_eq!(found.outcome(), common, "{row}");
        let found = user.legacy().send(method, path, body).await;
        assert_eq!(found.outcome(), legacy, "{row}");
    }
    // A repeated filter is no filter.
    let twice = format!("/comments?entityId={UNKNOWN}&entityId={UNKNOWN}");
    user.legacy().get(&twice).await.refused(400, "comment/invalid-request");
    user.get(&twice).await.expect(200);
    let views = user.legacy().patch("/entities/x/increment-views", json!({})).await;
    views.refused(400, "entity/invalid-id");
}

/// In this order: entities are saved and removed in between.
const LISTS: &str = r#"
GET /lists/x/sub-lists | 400 list/missing-params
GET /lists/UNKNOWN/sub-lists | 200
POST TOP/sub-lists {} | 400 list/missing-parameters
POST /lists/UNKNOWN/sub-lists {"listName": "x"} | 400 list/invalid-parent
GET /lists/is-entity-saved?entityId=x | 400 list/invalid-entity-id
PATCH TOP/add-entity {} | 400 list/missing-data
PATCH TOP/add-entity {"entityId": "UNKNOWN"} | 404 entity/not-found
PATCH /lists/UNKNOWN/add-entity {"entityId": "ENTITY"} | 404 list/not-found
PATCH TOP/add-entity {"entityId": "ENTITY"} | 200
PATCH TOP/add-entity {"entityId": "ENTITY"} | 409 list/entity-exists
PATCH TOP/remove-entity {"entityId": "ENTITY"} | 200
PATCH TOP/remove-entity {"entityId": "ENTITY"} | 409 list/entity-not-found
PATCH TOP {"name": "x"} | 400 list/missing-data
PATCH TOP {"update": {"name": " "}} | 400 list/blank-name
PATCH TOP {"update": {"name": "x"}} | 404 list/not-found
DELETE /lists/x | 400 list/invalid-id
DELETE TOP | 404 list/not-found
"#;

async fn lists_are_refused_under_older_codes(app: TestApp) {
    let user = app.user().await;
    let v6 = user.legacy();
    let top = v6.get("/lists/root").await.expect(200);
    let top = format!("/lists/{}", top["id"].as_str().unwrap());
    let entity = publish(&user).await;
    let rows = LISTS.replace("TOP", &top).replace("ENTITY", id_of(&entity));
    for row in rows.replace("UNKNOWN", &UNKNOWN.to_string()).trim().lines() {
        let (request, outcome) = row.split_once(" | ").unwrap();
        let (method, request) = request.split_once(' ').unwrap();
        let (path, body) = request.split_once(' ').unwrap_or((request, ""));
        let body = (!body.is_empty()).then(|| serde_json::from_str(body).unwrap());
        let found = v6.send(method.parse().unwrap(), path, body).await;
        assert_eq!(found.outcome(), outcome, "{row}");
    }
    let key = app.service().legacy().get("/lists/root").await;
    key.refused(400, "list/missing-data");
}

async fn votes_conflict(app: TestApp) {
    let (author, reader) = (app.user().await, app.user().await);
    let entity = publish(&author).await;
    let said = crate::comments::path(&comment(&author, &entity, "x").await);
    for (target, feature) in [(entity, "entity"), (said, "comment")] {
        for (verb, outcome) in [
            ("remove-upvote", "409 {}/not-upvoted"),
            ("remove-downvote", "409 {}/not-downvoted"),
            ("upvote", "200"),
            ("upvote", "409 {}/already-upvoted"),
            ("remove-downvote", "409 {}/not-downvoted"),
            ("downvote", "200"),
            ("downvote", "409 {}/already-downvoted"),
            ("remove-upvote", "409 {}/not-upvoted"),
            ("remove-downvote", "200"),
        ] {
            let path = format!("{target}/{verb}");
            let found = reader.legacy().send(Method::PATCH, &path, None).await.outcome();
            assert_eq!(found, outcome.replace("{}", feature), "{path}");
        }
        let missing = format!("/{}/{UNKNOWN}/upvote", target.split('/').nth(1).unwrap());
        let found = reader.legacy().patch(&missing, json!({})).await;
        found.refused(404, &format!("{feature}/not-found"));
        let key = app.service().legacy().patch(&format!("{target}/upvote"), json!({})).await;
        key.refused(400, &format!("{feature}/missing-user-id"));
    }
}

async fn reports_say_what_is_wrong_with_them(app: TestApp) {
    let (author, reader) = (app.user().await, app.user().await);
    let entity = publish(&author).await;
    let id = id_of(&entity);
    for (body, outcome) in [
        (json!({}), "400 report/missing-data"),
        (json!([]), "400 report/missing-data"),
        (json!({ "targetId": "x" }), "400 report/missing-data"),
        (json!({ "targetId": id, "targetType": "Entity" }), "400 report/missing-data"),
        (
            json!({ "targetId": id, "targetType": "Entity", "reason": "" }),
            "400 report/missing-data",
        ),
        (json!({ "targetId": id, "targetType": "Entity", "reason": 7 }), "400 report/missing-data"),
        (
            json!({ "targetId": id, "targetType": "User", "reason": "spam" }),
            "400 report/invalid-type",
        ),
        (
            json!({ "targetId": "x", "targetType": "User", "reason": "spam" }),
            "400 report/invalid-type",
        ),
        (
            json!({ "targetId": "x", "targetType": "Entity", "reason": "spam" }),
            "400 report/invalid-foreign-key",
        ),
        (
            json!({ "targetId": UNKNOWN, "targetType": "Entity", "reason": "spam" }),
            "404 report/target-not-found",
        ),
        (
            json!({ "targetId": UNKNOWN, "targetType": "Comment", "reason": "spam" }),
            "404 report/target-not-found",
        ),
        (
            json!({ "targetId": id, "targetType": "Entity", "reason": "spam", "details": 7 }),
            "400 report/invalid-body",
        ),
        (json!({ "targetId": id, "targetType": "Entity", "reason": "spam" }), "201 report/created"),
        (
            json!({ "targetId": id, "targetType": "Entity", "reason": "spam" }),
            "200 report/already-reported",
        ),
    ] {
        let found = reader.legacy().post("/reports", body.clone()).await.outcome();
        assert_eq!(found, outcome, "{body}");
    }
    let own = json!({ "targetId": id, "targetType": "Entity", "reason": "spam" });
    author.legacy().post("/reports", own).await.refused(400, "report/self-report");
}

async fn uploads_are_refused_in_the_older_order(app: TestApp) {
    let user = app.user().await;
    let file = Part { name: "file", file: "a.txt", mime: "text/plain", bytes: b"x" };
    let parts = |text: &str| Form::new().text("pathParts", text);
    for (form, code) in [
        (parts("{"), "storage/invalid-path-parts"),
        (parts("{").file(file), "storage/invalid-path-parts"),
        (Form::new().file(file), "storage/invalid-path-parts"),
        (parts("[]"), "storage/no-file"),
    ] {
        user.legacy().post_form("/storage", &form).await.refused(400, code);
    }
}

/// A broken database is the one failure a test can bring about from outside.
async fn failures_have_the_older_codes(app: TestApp) {
    let app = app.own_server().await;
    let user = app.user().await;
    let db = app.app.db.clone();
    let broken = tokio::task::spawn_blocking(move || {
        db.execute_script("ALTER TABLE follows RENAME TO follows_gone").unwrap();
        db.execute_script("ALTER TABLE users RENAME TO users_gone").unwrap();
    });
    broken.await.unwrap();
    let of_user = format!("/users/{}", user.id);
    for (path, common, older) in [
        (format!("{of_user}/followers-count"), "follow", "user"),
        (format!("{of_user}/following-count"), "follow", "user"),
        ("/follows/followers-count".to_owned(), "follow", "user"),
        ("/follows/following-count".to_owned(), "follow", "user"),
        ("/follows/followers".to_owned(), "follow", "follow"),
        ("/users/check-username?username=a".to_owned(), "username", "username"),
    ] {
        user.v6().get(&path).await.refused(500, &format!("{common}/server-error"));
        let failed = user.legacy().get(&path).await.expect(500);
        assert_eq!(failed["code"], format!("{older}/server-error"), "{path}");
        assert_eq!(failed["details"], "Unexpected failure", "{path}");
    }
}
