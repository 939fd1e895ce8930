//! Mentioned users are notified once, when the entity is published.

use serde_json::{Value, json};
use townhall::tenancy::Bundle;

use crate::entities::{UNKNOWN, create, path};
use crate::notifications::{counts_are_exact, list, unread};
use crate::support::{TestApp, User, on_both_engines};

on_both_engines![
    a_mention_tells_the_mentioned_user,
    each_user_is_notified_once_but_never_of_their_own_mention,
    a_draft_tells_when_it_is_published,
    an_update_notifies_nobody,
    an_entity_without_an_author_notifies_nobody,
    a_key_speaks_for_the_author,
    long_texts_are_quoted_and_large_metadata_left_out,
    without_the_notifications_bundle_nobody_is_notified,
];

fn of(user: &User<'_>) -> Value {
    json!({ "type": "user", "id": user.id, "username": "anybody" })
}

async fn notified(user: &User<'_>) -> Vec<Value> {
    list(user, "").await["data"].as_array().unwrap().clone()
}

async fn a_mention_tells_the_mentioned_user(app: TestApp) {
    let (ada, bob) = (app.user().await, app.user().await);
    let profile = json!({ "name": "Ada", "avatar": "https://example.com/a.png" });
    app.service().patch(&format!("/users/{}", ada.id), profile).await.expect(200);
    let new = json!({ "title": "Hello", "content": "Dear Bob", "foreignId": "f",
        "metadata": { "a": [1] }, "mentions": [of(&bob)] });
    let entity = create(&ada, new).await;
    let notified = notified(&bob).await;
    let expected = json!([{
        "id": notified[0]["id"], "projectId": app.project.id, "userId": bob.id, "isRead": false,
        "type": "entity-mention", "action": "open-entity", "createdAt": app.now(),
        "updatedAt": app.now(),
        "metadata": {
            "entityId": entity["id"], "entityShortId": entity["shortId"], "entityForeignId": "f",
            "entityTitle": "Hello", "entityContent": "Dear Bob", "entityMetadata": { "a": [1] },
            "initiatorId": ada.id, "initiatorForeignId": null, "initiatorName": "Ada",
            "initiatorUsername": entity["user"]["username"],
            "initiatorAvatar": "https://example.com/a.png",
        },
    }]);
    assert_eq!(json!(notified), expected);
    assert_eq!(unread(&ada).await, 0);
}

async fn each_user_is_notified_once_but_never_of_their_own_mention(app: TestApp) {
    let (ada, bob, stranger) = (app.user().await, app.user().await, app.stranger().await);
    let eve = app.user().await;
    let shouted = bob.id.to_string().to_uppercase();
    let mentions = json!([
        of(&bob), of(&ada), of(&bob), { "id": shouted, "username": "x" }, of(&stranger), of(&eve),
        { "type": "user", "id": UNKNOWN, "username": "x" }, { "type": "user", "id": "x", "username": "x" },
        { "type": "space", "id": bob.id, "slug": "x" },
    ]);
    let entity = create(&ada, json!({ "mentions": mentions })).await;
    assert_eq!(entity["mentions"].as_array().unwrap().len(), 9, "they are kept as they came");
    assert_eq!((unread(&ada).await, unread(&bob).await), (json!(0), json!(1)));
    assert_eq!((unread(&eve).await, unread(&stranger).await), (json!(1), json!(0)));
    create(&ada, json!({ "mentions": [{ "type": "space", "id": bob.id, "slug": "x" }] })).await;
    assert_eq!(unread(&bob).await, 1, "a space is no user");
    counts_are_exact(&app).await;
}

async fn a_draft_tells_when_it_is_published(app: TestApp) {
    let (ada, bob, eve) = (app.user().await, app.user().await, app.user().await);
    let draft = create(&ada, json!({ "isDraft": true, "mentions": [of(&bob)] })).await;
    ada.patch(&path(&draft), json!({ "mentions": [of(&eve)], "title": "New" })).await.expect(200);
    assert_eq!((unread(&bob).await, unread(&eve).await), (json!(0), json!(0)));
    let publish = format!("{}/publish", path(&draft));
    app.service().patch(&publish, json!({})).await.expect(200);
    assert_eq!((unread(&bob).await, unread(&eve).await), (json!(0), json!(1)));
    let metadata = notified(&eve).await[0]["metadata"].clone();
    assert_eq!(metadata["entityTitle"], "New");
    assert_eq!(metadata["initiatorId"], json!(ada.id), "a key published it for Ada");
    ada.patch(&publish, json!({})).await.refused(404, "entity/not-found");
    assert_eq!(unread(&eve).await, 1);
}

async fn an_update_notifies_nobody(app: TestApp) {
    let (ada, bob) = (app.user().await, app.user().await);
    let entity = create(&ada, json!({})).await;
    ada.patch(&path(&entity), json!({ "mentions": [of(&bob)] })).await.expect(200);
    assert_eq!(unread(&bob).await, 0);
}

async fn an_entity_without_an_author_notifies_nobody(app: TestApp) {
    let (ada, bob) = (app.user().await, app.user().await);
    for actor in [&*ada, &app.anonymous(), &app.service()] {
        create(actor, json!({ "mentions": [of(&bob)], "excludeUserId": true })).await;
    }
    assert_eq!(unread(&bob).await, 0);
}

async fn a_key_speaks_for_the_author(app: TestApp) {
    let (ada, bob) = (app.user().await, app.user().await);
    let new = json!({ "mentions": [of(&bob), of(&ada)], "userId": ada.id });
    create(&app.service(), new).await;
    assert_eq!(notified(&bob).await[0]["metadata"]["initiatorId"], json!(ada.id));
    assert_eq!(unread(&ada).await, 0);
}

async fn long_texts_are_quoted_and_large_metadata_left_out(app: TestApp) {
    let (ada, bob) = (app.user().await, app.user().await);
    let new = json!({ "content": "ä".repeat(500), "mentions": [of(&bob)],
        "metadata": { "k": "x".repeat(20_000) } });
    create(&ada, new).await;
    let metadata = notified(&bob).await[0]["metadata"].clone();
    assert_eq!(metadata["entityContent"], "ä".repeat(200));
    assert_eq!(
        (&metadata["entityTitle"], &metadata["entityMetadata"]),
        (&Value::Null, &Value::Null)
    );
    app.advance(std::time::Duration::from_secs(1));
    create(&ada, json!({ "mentions": [of(&bob)] })).await;
    assert_eq!(notified(&bob).await[0]["metadata"]["entityContent"], "");
}

async fn without_the_notifications_bundle_nobody_is_notified(app: TestApp) {
    let quiet = app.project_with(&[Bundle::Entities]).await;
    let sign_up = |email: &str| json!({ "email": email, "password": User::PASSWORD });
    let anybody = app.anonymous().in_project(quiet.id);
    let ada = anybody.post("/auth/sign-up", sign_up("a@example.com")).await.expect(201);
    let bob = anybody.post("/auth/sign-up", sign_up("b@example.com")).await.expect(201);
    let (ada, bob) =
        (User::from_reply(&app, quiet.id, &ada), User::from_reply(&app, quiet.id, &bob));
    create(&ada, json!({ "mentions": [of(&bob)] })).await;
    assert_eq!(app.rows_of(quiet.id, "notifications").await, 0);
}
