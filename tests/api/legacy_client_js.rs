//! `@replyke/js` 5.0.0 against this server, changed in nothing but the address. Each reply must fit the types of
//! the published clients.

use serde_json::json;

use crate::support::published::{ask, for_node, in_node};
use crate::support::{TestApp, on_both_engines};

on_both_engines![it_reads_and_creates, it_changes_everything_with_a_key];

async fn it_reads_and_creates(app: TestApp) {
    let user = app.user().await;
    app.service().patch(&format!("/users/{}", user.id), json!({ "bio": "x" })).await.expect(200);
    let new = json!({ "title": "t", "foreignId": "f", "keywords": ["k"], "metadata": { "a": 1 } });
    let made = in_node(&app, "entities.createEntity", new, "Entity").await;
    let id = made["id"].clone();
    let fetch = json!({ "entityId": id });
    assert_eq!(in_node(&app, "entities.fetchEntity", fetch, "Entity").await["id"], id);
    let by_short = json!({ "shortId": made["shortId"] });
    in_node(&app, "entities.fetchEntityByShortId", by_short, "Entity").await;
    for (foreign, create) in [("f", false), ("g", true)] {
        let by_foreign = json!({ "foreignId": foreign, "createIfNotFound": create });
        let found = in_node(&app, "entities.fetchEntityByForeignId", by_foreign, "Entity").await;
        assert_eq!(found["foreignId"], foreign);
    }
    for list in [
        json!({}),
        json!({ "sortBy": "top", "limit": 1, "page": 1 }),
        json!({ "keywordsFilters": { "includes": ["k"] } }),
        json!({ "metadataFilters": { "includes": { "a": 1 } } }),
    ] {
        let listed = in_node(&app, "entities.fetchManyEntities", list.clone(), "Entities").await;
        assert!(!listed.as_array().unwrap().is_empty(), "{list}");
    }
    let by_id = json!({ "userId": user.id });
    in_node(&app, "users.fetchUserById", by_id, "User").await;
    let said = json!({ "entityId": id, "content": "x", "foreignId": "c" });
    let said = user.post("/comments", said).await.expect(201);
    let by_id = json!({ "commentId": said["id"], "withParent": true });
    in_node(&app, "comments.fetchComment", by_id, "FoundComment").await;
    let by_foreign = json!({ "foreignId": "c" });
    in_node(&app, "comments.fetchCommentByForeignId", by_foreign, "FoundComment").await;
}

async fn it_changes_everything_with_a_key(app: TestApp) {
    let user = app.user().await;
    let entity = crate::entities::create(&user, json!({ "title": "t" })).await;
    let key = Some(app.project.service_key.as_str());
    let place = json!({ "latitude": 1, "longitude": 2 });
    let update = json!({ "entityId": entity["id"], "title": "new", "location": place });
    let updated = ask(for_node(&app, key, "entities.updateEntity", update, "Entity")).await;
    assert_eq!((&updated["wrong"], &updated["result"]["title"]), (&json!([]), &json!("new")));
    let new = json!({ "title": "x", "userId": user.id });
    let made = ask(for_node(&app, key, "entities.createEntity", new, "Entity")).await;
    assert_eq!(made["result"]["user"]["id"], user.id.to_string());
    let by_foreign = json!({ "foreignId": "u9" });
    app.service().get("/users/by-foreign-id?foreignId=u9&createIfNotFound=true").await.expect(201);
    let found = ask(for_node(&app, key, "users.fetchUserByForeignId", by_foreign, "User")).await;
    assert_eq!((&found["wrong"], &found["result"]["foreignId"]), (&json!([]), &json!("u9")));
    let gone = json!({ "entityId": entity["id"] });
    ask(for_node(&app, key, "entities.deleteEntity", gone, "Anything")).await;
    user.get(&crate::entities::path(&entity)).await.refused(404, "entity/not-found");
}
