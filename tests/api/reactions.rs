//! Adding and removing reactions to an entity: replies, counts and points.

use http::Method;
use serde_json::{Value, json};
use townhall::features::notifications;
use townhall::features::users::store::points;
use townhall::tenancy::Bundle;

use crate::support::{Actor, TestApp, TestProject, User, keys, on_both_engines};

on_both_engines![
    a_reaction_is_added_changed_and_removed,
    the_reply_is_the_entity_with_its_author,
    every_change_of_type_moves_counts_and_reputation,
    an_own_reaction_counts_like_any_other,
    reactions_to_an_entity_without_an_author_are_counted_without_points,
    a_repeated_reaction_changes_nothing,
    removing_a_missing_reaction_changes_nothing,
    only_the_eight_types_are_accepted,
    without_reputation_or_notifications_reactions_are_still_counted,
    deleting_the_entity_keeps_what_reactions_earned,
];

/// The eight types and what each is worth to the author.
pub(crate) const TYPES: [(&str, i64); 8] = [
    ("upvote", 1),
    ("downvote", -1),
    ("like", 1),
    ("love", 2),
    ("wow", 1),
    ("sad", 0),
    ("angry", 0),
    ("funny", 1),
];
/// What publishing an entity is worth.
pub(crate) const PUBLISHED: i64 = 5;

/// Publishes an entity; its path.
pub(crate) async fn publish(author: &Actor<'_>) -> String {
    let created = author.post("/entities", json!({ "title": "Post" })).await.expect(201);
    format!("/entities/{}", created["id"].as_str().unwrap())
}

pub(crate) fn reactions(entity: &str) -> String {
    format!("{entity}/reactions")
}

pub(crate) async fn react(actor: &Actor<'_>, entity: &str, kind: &str) -> Value {
    actor.post(&reactions(entity), json!({ "reactionType": kind })).await.expect(200)
}

pub(crate) async fn unreact(actor: &Actor<'_>, entity: &str) -> Value {
    actor.delete(&reactions(entity)).await.expect(200)
}

/// All eight counts, of which these are not zero.
pub(crate) fn counts(some: &[(&str, i64)]) -> Value {
    let mut counts: Value = TYPES.iter().map(|(kind, _)| ((*kind).to_owned(), json!(0))).collect();
    for (kind, count) in some {
        counts[kind] = json!(count);
    }
    counts
}

pub(crate) async fn reputation(app: &TestApp, user: &User<'_>) -> i64 {
    let shown = user.get(&format!("/users/{}", user.id)).await.expect(200);
    let reputation = shown["reputation"].as_i64().unwrap();
    let project = shown["projectId"].as_str().unwrap().parse().unwrap();
    let id = user.id;
    let outside = app.app.db.read(move |c| points::points_outside(c, project, &[id]));
    assert_eq!(outside.await.unwrap(), [(id, reputation)], "nothing here is in a space");
    reputation
}

/// A user of a further project.
pub(crate) async fn user_of<'a>(app: &'a TestApp, project: &TestProject, name: &str) -> User<'a> {
    let body = json!({ "email": format!("{name}@example.com"), "password": User::PASSWORD });
    let anonymous = app.anonymous().in_project(project.id);
    let signed_up = anonymous.post("/auth/sign-up", body).await.expect(201);
    User::from_reply(app, project.id, &signed_up)
}

async fn a_reaction_is_added_changed_and_removed(app: TestApp) {
    let (author, reader, other) = (app.user().await, app.user().await, app.user().await);
    let entity = publish(&author).await;
    let liked = react(&reader, &entity, "like").await;
    assert_eq!(liked["reactionCounts"], counts(&[("like", 1)]));
    assert_eq!(liked["userReaction"], "like");
    let loved = react(&other, &entity, "love").await;
    assert_eq!(loved["reactionCounts"], counts(&[("like", 1), ("love", 1)]));
    assert_eq!(loved["userReaction"], "love");
    let changed = react(&reader, &entity, "wow").await;
    assert_eq!(changed["reactionCounts"], counts(&[("wow", 1), ("love", 1)]));
    assert_eq!(changed["userReaction"], "wow");
    let removed = unreact(&reader, &entity).await;
    assert_eq!(removed["reactionCounts"], counts(&[("love", 1)]));
    assert_eq!(removed["userReaction"], Value::Null);

    // What the reply said is what everybody finds.
    let found = other.get(&entity).await.expect(200);
    assert_eq!(found["reactionCounts"], counts(&[("love", 1)]));
    assert_eq!(found["userReaction"], "love");
    assert_eq!(reader.get(&entity).await.expect(200)["userReaction"], Value::Null);
    let listed = other.get("/entities").await.expect(200);
    assert_eq!(listed["data"][0]["userReaction"], "love");
    for nobody in [app.anonymous(), app.service()] {
        let found = nobody.get(&entity).await.expect(200);
        assert_eq!(found["reactionCounts"], counts(&[("love", 1)]));
        assert!(found.get("userReaction").is_none());
    }
}

async fn the_reply_is_the_entity_with_its_author(app: TestApp) {
    let (author, reader) = (app.user().await, app.user().await);
    let entity = publish(&author).await;
    let before = author.get(&format!("{entity}?include=user")).await.expect(200);
    app.advance(std::time::Duration::from_secs(60));
    for actor in [reader.v6(), reader.v7(), (*reader).clone()] {
        let added = react(&actor, &entity, "sad").await;
        let mut expected = keys(&before);
        expected.extend(added.get("sharesCount").map(|_| "sharesCount".to_owned()));
        expected.sort();
        assert_eq!(keys(&added), expected);
        assert_eq!(added["user"]["id"], json!(author.id));
        for secret in ["email", "secureMetadata", "isVerified", "lastActive", "updatedAt"] {
            assert!(added["user"].get(secret).is_none(), "{secret}");
        }
        for key in ["id", "shortId", "title", "score", "scoreUpdatedAt", "createdAt", "updatedAt"] {
            assert_eq!(added[key], before[key], "a reaction does not touch {key}");
        }
        let removed = unreact(&actor, &entity).await;
        assert_eq!(keys(&removed), expected);
        assert_eq!(removed["user"]["reputation"], PUBLISHED);
    }
}

async fn every_change_of_type_moves_counts_and_reputation(app: TestApp) {
    let (author, reader) = (app.user().await, app.user().await);
    let entity = publish(&author).await;
    let states: Vec<Option<(&str, i64)>> = TYPES.map(Some).into_iter().chain([None]).collect();
    let put = async |state: Option<(&str, i64)>| match state {
        Some((kind, _)) => react(&reader, &entity, kind).await,
        None => unreact(&reader, &entity).await,
    };
    for from in &states {
        for to in &states {
            for state in [from, to] {
                let shown = put(*state).await;
                let expected = counts(&state.map_or(vec![], |(kind, _)| vec![(kind, 1)]));
                assert_eq!(shown["reactionCounts"], expected, "{from:?} to {to:?}");
                assert_eq!(shown["userReaction"], json!(state.map(|(kind, _)| kind)));
                let earned = PUBLISHED + state.map_or(0, |(_, points)| points);
                assert_eq!(shown["user"]["reputation"], earned, "{from:?} to {to:?}");
            }
        }
        assert_eq!(reputation(&app, &author).await, PUBLISHED);
    }
    assert_eq!(reputation(&app, &reader).await, 0, "reacting earns no reputation");
}

async fn an_own_reaction_counts_like_any_other(app: TestApp) {
    let author = app.user().await;
    let entity = publish(&author).await;
    let loved = react(&author, &entity, "love").await;
    assert_eq!(loved["reactionCounts"], counts(&[("love", 1)]));
    assert_eq!((&loved["userReaction"], &loved["user"]["reputation"]), (&json!("love"), &json!(7)));
    react(&author, &entity, "downvote").await;
    assert_eq!(reputation(&app, &author).await, PUBLISHED - 1);
    unreact(&author, &entity).await;
    assert_eq!(reputation(&app, &author).await, PUBLISHED);
}

async fn reactions_to_an_entity_without_an_author_are_counted_without_points(app: TestApp) {
    let (author, reader) = (app.user().await, app.user().await);
    let new = json!({ "title": "By nobody", "excludeUserId": true });
    let created = author.post("/entities", new).await.expect(201);
    let entity = format!("/entities/{}", created["id"].as_str().unwrap());
    let loved = react(&reader, &entity, "love").await;
    assert_eq!(loved["reactionCounts"], counts(&[("love", 1)]));
    assert_eq!((&loved["user"], &loved["userId"]), (&Value::Null, &Value::Null));
    assert_eq!(unreact(&reader, &entity).await["reactionCounts"], counts(&[]));
    assert_eq!(reputation(&app, &author).await, 0);
    let told = author.get("/app-notifications").await.expect(200);
    assert_eq!(told["pagination"]["totalItems"], 0);
}

async fn a_repeated_reaction_changes_nothing(app: TestApp) {
    let (author, reader) = (app.user().await, app.user().await);
    let entity = publish(&author).await;
    let first = react(&reader, &entity, "love").await;
    let listed = reader.get(&reactions(&entity)).await.expect(200);
    app.advance(std::time::Duration::from_secs(60));
    for _ in 0..3 {
        assert_eq!(react(&reader, &entity, "love").await, first);
    }
    assert_eq!(reader.get(&reactions(&entity)).await.expect(200), listed);
    assert_eq!(reputation(&app, &author).await, PUBLISHED + 2);
}

async fn removing_a_missing_reaction_changes_nothing(app: TestApp) {
    let (author, reader, other) = (app.user().await, app.user().await, app.user().await);
    let entity = publish(&author).await;
    react(&other, &entity, "downvote").await;
    for _ in 0..3 {
        let removed = unreact(&reader, &entity).await;
        assert_eq!(removed["reactionCounts"], counts(&[("downvote", 1)]));
        assert_eq!(removed["userReaction"], Value::Null);
    }
    for _ in 0..2 {
        assert_eq!(unreact(&other, &entity).await["reactionCounts"], counts(&[]));
    }
    assert_eq!(reputation(&app, &author).await, PUBLISHED);
}

async fn only_the_eight_types_are_accepted(app: TestApp) {
    let (author, reader) = (app.user().await, app.user().await);
    let entity = publish(&author).await;
    let path = reactions(&entity);
    let long = "x".repeat(1024 * 1024);
    for actor in [reader.v6(), reader.v7(), (*reader).clone()] {
        for kind in [
            json!("LIKE"),
            json!("__proto__"),
            json!("total"),
            json!(" like"),
            json!(""),
            json!(1),
            json!(null),
            json!(["like"]),
            json!(long),
        ] {
            let refused = actor.post(&path, json!({ "reactionType": kind })).await;
            refused.refused(400, "entity/invalid-body");
        }
        for body in [json!({}), json!([]), json!("like")] {
            actor.post(&path, body).await.refused(400, "entity/invalid-body");
        }
        let nothing = actor.send(Method::POST, &path, None).await;
        nothing.refused(400, "entity/invalid-body");
    }
    let extra = json!({ "reactionType": "like", "count": 7, "reactionCounts": { "like": 9 } });
    let liked = reader.post(&path, extra).await.expect(200);
    assert_eq!(liked["reactionCounts"], counts(&[("like", 1)]), "what else is sent is ignored");
}

async fn without_reputation_or_notifications_reactions_are_still_counted(app: TestApp) {
    // Nor is the bundle named after reactions needed.
    for (n, bundles) in
        [&[Bundle::Entities][..], &[Bundle::Entities, Bundle::Reputation]].into_iter().enumerate()
    {
        let project = app.project_with(bundles).await;
        let author = user_of(&app, &project, &format!("author{n}")).await;
        let reader = user_of(&app, &project, &format!("reader{n}")).await;
        let entity = publish(&author).await;
        assert_eq!(react(&reader, &entity, "love").await["reactionCounts"], counts(&[("love", 1)]));
        let has_points = bundles.contains(&Bundle::Reputation);
        let expected = if has_points { PUBLISHED + 2 } else { 0 };
        assert_eq!(reputation(&app, &author).await, expected);
        reader.patch(&format!("{entity}/downvote"), json!({})).await.expect(200);
        let expected = if has_points { PUBLISHED - 1 } else { 0 };
        assert_eq!(reputation(&app, &author).await, expected);
        let (project, id) = (project.id, author.id);
        let stored = app.app.db.read(move |c| notifications::store::counts(c, project, id));
        assert_eq!(stored.await.unwrap().total, 0);
    }
}

async fn deleting_the_entity_keeps_what_reactions_earned(app: TestApp) {
    let (author, reader) = (app.user().await, app.user().await);
    let entity = publish(&author).await;
    react(&reader, &entity, "love").await;
    author.delete(&entity).await.expect(204);
    assert_eq!(reputation(&app, &author).await, 2);
    reader.delete(&reactions(&entity)).await.refused(404, "entity/not-found");
    assert_eq!(reputation(&app, &author).await, 2);
}
