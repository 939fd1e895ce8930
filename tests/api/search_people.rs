//! Search Users and Search Spaces.

use serde_json::{Value, json};

use crate::spaces::{create, join, path};
use crate::support::chat::block;
use crate::support::{Actor, TestApp, User, on_both_engines};

on_both_engines![
    users_are_found_by_name_username_and_bio,
    hidden_users_are_left_out,
    spaces_are_found_by_name_slug_and_description,
    hidden_spaces_are_found_by_their_members,
];

async fn names(actor: &Actor<'_>, path: &str, query: &str) -> Vec<String> {
    let found = actor.post(path, json!({ "query": query })).await.expect(200);
    let found = found.as_array().unwrap();
    assert!(found.iter().all(|one| one["similarity"].as_f64().unwrap() > 0.0));
    found.iter().map(|one| one["record"]["name"].as_str().unwrap().to_owned()).collect()
}

async fn profile(user: &User<'_>, profile: Value) {
    user.patch(&format!("/users/{}", user.id), profile).await.expect(200);
}

async fn users_are_found_by_name_username_and_bio(app: TestApp) {
    let (ada, grace, mary) = (app.user().await, app.user().await, app.user().await);
    profile(&ada, json!({ "name": "Ada Lovelace", "bio": "Engines and poetry" })).await;
    profile(&grace, json!({ "name": "Grace Hopper", "username": "amazing_grace" })).await;
    profile(&mary, json!({ "name": "Mary", "bio": "I met Grace once" })).await;
    app.index().await;
    let users = "/search/users";
    assert_eq!(names(&ada, users, "love").await, ["Ada Lovelace"], "the beginning of a word");
    assert_eq!(names(&ada, users, "lovelaec").await, ["Ada Lovelace"], "a slip");
    assert_eq!(names(&ada, users, "engine").await, ["Ada Lovelace"]);
    assert_eq!(names(&ada, users, "amaz").await, ["Grace Hopper"]);
    assert_eq!(names(&ada, users, "grace").await, ["Grace Hopper", "Mary"], "names count twice");
    assert_eq!(names(&ada, users, "nobody").await, [""; 0]);
    let found = ada.post(users, json!({ "query": "ada", "limit": 1 })).await.expect(200);
    assert_eq!(found[0]["highlights"], json!([{ "field": "name", "start": 0, "end": 3 }]));
    assert!(found[0]["record"].get("email").is_none());
    let stranger = app.stranger().await;
    assert_eq!(names(&stranger, users, "grace").await, [""; 0]);

    profile(&mary, json!({ "bio": "" })).await;
    app.service().delete(&format!("/users/{}", grace.id)).await.expect(204);
    app.index().await;
    assert_eq!(names(&ada, users, "grace").await, [""; 0]);
}

async fn hidden_users_are_left_out(app: TestApp) {
    let (ada, grace, mary) = (app.user().await, app.user().await, app.user().await);
    for (user, name) in [(&ada, "Smith one"), (&grace, "Smith two"), (&mary, "Smith three")] {
        profile(user, json!({ "name": name })).await;
    }
    app.index().await;
    assert_eq!(names(&ada, "/search/users", "smith").await.len(), 3);
    block(&grace, &ada).await;
    assert_eq!(names(&ada, "/search/users", "smith").await.len(), 2);
    assert_eq!(names(&grace, "/search/users", "smith").await.len(), 2);
    app.suspend(mary.id).await;
    assert_eq!(names(&ada, "/search/users", "smith").await, ["Smith one"]);
}

async fn spaces_are_found_by_name_slug_and_description(app: TestApp) {
    let ada = app.user().await;
    create(&ada, json!({ "name": "Garden club", "description": "Everything that grows" })).await;
    create(&ada, json!({ "name": "Tools", "slug": "sheds-and-tools" })).await;
    app.index().await;
    let spaces = "/search/spaces";
    assert_eq!(names(&ada, spaces, "gard").await, ["Garden club"]);
    assert_eq!(names(&ada, spaces, "growing").await, ["Garden club"]);
    assert_eq!(names(&ada, spaces, "sheds").await, ["Tools"]);
    assert_eq!(names(&app.anonymous().v7(), spaces, "tools").await, ["Tools"]);
    for n in 0..12 {
        create(&ada, json!({ "name": format!("Many {n}") })).await;
    }
    app.index().await;
    assert_eq!(names(&ada, spaces, "many").await.len(), 10);
}

async fn hidden_spaces_are_found_by_their_members(app: TestApp) {
    let (ada, member, stranger) = (app.user().await, app.user().await, app.user().await);
    let hidden = json!({ "name": "Secret valley", "visibility": "unlisted",
        "requireJoinApproval": false });
    let space = create(&ada, hidden).await;
    join(&member, &space).await;
    app.index().await;
    let spaces = "/search/spaces";
    for query in ["valley", "secr"] {
        assert_eq!(names(&member, spaces, query).await, ["Secret valley"], "{query}");
        for other in [&stranger as &Actor<'_>, &app.service(), &app.anonymous().v7()] {
            assert_eq!(names(other, spaces, query).await, [""; 0]);
        }
    }
    ada.patch(&path(&space), json!({ "visibility": "public" })).await.expect(200);
    app.index().await;
    assert_eq!(names(&stranger, spaces, "secr").await, ["Secret valley"]);
    ada.delete(&path(&space)).await.expect(200);
    assert_eq!(names(&stranger, spaces, "secr").await, [""; 0]);
}
