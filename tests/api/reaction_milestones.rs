//! Milestones of reactions: which ones notify the author, with what content, and each only once.

use std::time::Duration;

use db::{Command, args};
use serde_json::{Value, json};

use crate::notifications::counts_are_exact;
use crate::reaction_notices::{told, total};
use crate::reactions::{counts, publish, react, unreact};
use crate::support::{TestApp, User, keys, on_both_engines};

on_both_engines![
    ten_upvotes_notify_once_for_upvotes_and_once_for_the_total,
    ten_reactions_of_several_types_notify_for_the_total,
    a_change_of_type_may_reach_a_number_of_that_type_but_never_of_all,
    an_author_s_own_reaction_may_reach_a_number,
    a_milestone_notifies_once_however_often_it_is_reached,
    each_entity_reaches_its_own_numbers,
];

pub(crate) const SPECIFIC: &str = "entity-reaction-milestone-specific";
pub(crate) const TOTAL: &str = "entity-reaction-milestone-total";

pub(crate) async fn some_users(app: &TestApp, number: usize) -> Vec<User<'_>> {
    let mut users = Vec::new();
    for _ in 0..number {
        users.push(app.user().await);
    }
    users
}

/// Each of them reacts, a second apart.
async fn all_react(app: &TestApp, users: &[User<'_>], entity: &str, kind: &str) {
    for user in users {
        react(user, entity, kind).await;
        app.advance(Duration::from_secs(1));
    }
}

/// As much of users as milestones show.
fn shown(users: &[&User<'_>]) -> Value {
    let shown = users.iter().map(|user| {
        let username = user.email.trim_end_matches("@example.com");
        json!({ "id": user.id, "name": null, "username": username, "avatar": null })
    });
    shown.collect()
}

async fn ten_upvotes_notify_once_for_upvotes_and_once_for_the_total(app: TestApp) {
    let author = app.user().await;
    let created = author.post("/entities", json!({ "title": "Hello" })).await.expect(201);
    let entity = format!("/entities/{}", created["id"].as_str().unwrap());
    let users = some_users(&app, 11).await;
    all_react(&app, &users[..9], &entity, "upvote").await;
    assert_eq!(total(&author).await, 9, "nine are not yet a round number");
    all_react(&app, &users[9..], &entity, "upvote").await;
    assert_eq!(told(&author, "entity-reaction").await.len(), 11);
    let (specific, all) = (told(&author, SPECIFIC).await, told(&author, TOTAL).await);
    assert_eq!((specific.len(), all.len()), (1, 1));
    let expected = json!({
        "entityId": created["id"], "entityShortId": created["shortId"], "entityForeignId": null,
        "entityTitle": "Hello", "entityContent": "", "entityMetadata": {},
        "reactionType": "upvote", "milestoneCount": 10,
        "lastThreeUsers": shown(&[&users[9], &users[8], &users[7]]),
    });
    assert_eq!(specific[0]["metadata"], expected);
    let mut expected = expected;
    expected.as_object_mut().unwrap().remove("reactionType");
    expected["reactionCounts"] = counts(&[("upvote", 10)]);
    assert_eq!(all[0]["metadata"], expected);
    for one in [&specific[0], &all[0]] {
        assert_eq!(one["action"], "open-entity");
        assert_eq!(one["userId"], json!(author.id));
    }
    counts_are_exact(&app).await;
}

async fn ten_reactions_of_several_types_notify_for_the_total(app: TestApp) {
    let author = app.user().await;
    let entity = publish(&author).await;
    let users = some_users(&app, 10).await;
    all_react(&app, &users[..5], &entity, "sad").await;
    all_react(&app, &users[5..], &entity, "downvote").await;
    assert_eq!(told(&author, SPECIFIC).await.len(), 0);
    let all = told(&author, TOTAL).await;
    assert_eq!(all.len(), 1);
    let metadata = &all[0]["metadata"];
    assert_eq!(metadata["reactionCounts"], counts(&[("sad", 5), ("downvote", 5)]));
    assert_eq!(metadata["lastThreeUsers"], shown(&[&users[9], &users[8], &users[7]]));
}

async fn a_change_of_type_may_reach_a_number_of_that_type_but_never_of_all(app: TestApp) {
    let author = app.user().await;
    let entity = publish(&author).await;
    let users = some_users(&app, 10).await;
    all_react(&app, &users[..9], &entity, "like").await;
    all_react(&app, &users[9..], &entity, "love").await;
    assert_eq!((told(&author, SPECIFIC).await.len(), told(&author, TOTAL).await.len()), (0, 1));
    // Though the number of all were forgotten, a change of type does not reach it.
    let project = app.project.id;
    let forget =
        Command::<()>::built("forget", "DELETE FROM reaction_milestones WHERE project_id = $1");
    let forgotten = app.app.db.write(move |tx| tx.execute(&forget, args![project]));
    assert_eq!(forgotten.await.unwrap(), 1);
    all_react(&app, &users[9..], &entity, "like").await;
    let specific = told(&author, SPECIFIC).await;
    assert_eq!((specific.len(), told(&author, TOTAL).await.len()), (1, 1));
    assert_eq!(specific[0]["metadata"]["reactionType"], "like");
    assert_eq!(specific[0]["metadata"]["milestoneCount"], 10);
    all_react(&app, &users, &entity, "wow").await;
    let specific = told(&author, SPECIFIC).await;
    assert_eq!((specific.len(), told(&author, TOTAL).await.len()), (2, 1));
    assert_eq!(specific[0]["metadata"]["reactionType"], "wow");
    assert_eq!(told(&author, "entity-reaction").await.len(), 10);
}

async fn an_author_s_own_reaction_may_reach_a_number(app: TestApp) {
    let author = app.user().await;
    let entity = publish(&author).await;
    let users = some_users(&app, 9).await;
    all_react(&app, &users, &entity, "love").await;
    react(&author, &entity, "love").await;
    let (specific, all) = (told(&author, SPECIFIC).await, told(&author, TOTAL).await);
    assert_eq!((specific.len(), all.len()), (1, 1));
    assert_eq!(told(&author, "entity-reaction").await.len(), 9);
    for one in [&specific[0], &all[0]] {
        assert_eq!(one["metadata"]["lastThreeUsers"], shown(&[&author, &users[8], &users[7]]));
        let named = keys(&one["metadata"]);
        assert!(!named.iter().any(|key| key.starts_with("initiator")), "{named:?}");
    }
}

async fn a_milestone_notifies_once_however_often_it_is_reached(app: TestApp) {
    let author = app.user().await;
    let entity = publish(&author).await;
    let users = some_users(&app, 11).await;
    all_react(&app, &users[..9], &entity, "upvote").await;
    for round in 0..40 {
        // From below, from above, and by a change of type.
        react(&users[9], &entity, "upvote").await;
        react(&users[10], &entity, "upvote").await;
        unreact(&users[9 + round % 2], &entity).await;
        react(&users[10 - round % 2], &entity, "sad").await;
        unreact(&users[10 - round % 2], &entity).await;
    }
    assert_eq!((told(&author, SPECIFIC).await.len(), told(&author, TOTAL).await.len()), (1, 1));
    counts_are_exact(&app).await;
}

async fn each_entity_reaches_its_own_numbers(app: TestApp) {
    let author = app.user().await;
    let (one, two) = (publish(&author).await, publish(&author).await);
    let users = some_users(&app, 10).await;
    all_react(&app, &users, &one, "like").await;
    all_react(&app, &users, &two, "like").await;
    for kind in [SPECIFIC, TOTAL] {
        let told = told(&author, kind).await;
        let about: Vec<&str> =
            told.iter().map(|one| one["metadata"]["entityId"].as_str().unwrap()).collect();
        let expected = [&two, &one].map(|path| path.trim_start_matches("/entities/"));
        assert_eq!(about, expected);
    }
}
