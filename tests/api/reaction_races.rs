//! Concurrent reactions: counts match the rows, reputation is their sum, and each milestone notifies once.

use std::collections::BTreeMap;

use db::{Query, args};
use serde_json::{Value, json};
use townhall::values::ids::EntityId;

use crate::notifications::counts_are_exact;
use crate::reaction_milestones::{SPECIFIC, TOTAL, some_users};
use crate::reaction_notices::told;
use crate::reactions::{PUBLISHED, TYPES, counts, publish, react, reactions, reputation};
use crate::support::{Actor, Reply, TestApp, User, all_at_once, count, on_both_engines};

on_both_engines![
    many_who_change_their_minds_leave_exact_counts,
    points_in_a_space_and_outside_are_both_exact,
    one_who_sends_everything_at_once_has_one_reaction,
    a_repeated_reaction_counts_and_notifies_once,
    of_parallel_votes_one_is_cast_and_one_taken_back,
    many_at_once_reach_each_number_once,
    many_who_leave_and_return_reach_a_number_once,
    users_who_react_to_each_other_do_not_block_each_other,
    reactions_to_an_entity_that_goes_go_with_it,
];

const CROWD: usize = 64;

/// The rows there are, by type, against what the entity and its author show.
async fn is_exact(app: &TestApp, author: &User<'_>, entity: &str) -> BTreeMap<String, i64> {
    let id: EntityId = entity.trim_start_matches("/entities/").parse().unwrap();
    let project = app.project.id;
    let text = "SELECT reaction_type, count(*) FROM reactions
        WHERE project_id = $1 AND target_id = $2 GROUP BY reaction_type";
    let rows = Query::<(String, i64)>::built("rows", text);
    let rows = app.app.db.read(move |c| c.all(&rows, args![project, id])).await.unwrap();
    let rows: BTreeMap<String, i64> = rows.into_iter().collect();
    let some: Vec<(&str, i64)> = rows.iter().map(|(kind, count)| (kind.as_str(), *count)).collect();
    let shown = author.get(entity).await.expect(200);
    assert_eq!(shown["reactionCounts"], counts(&some));
    let worth = |kind: &str| TYPES.iter().find(|(name, _)| *name == kind).unwrap().1;
    let earned: i64 = some.iter().map(|(kind, count)| worth(kind) * count).sum();
    assert_eq!(reputation(app, author).await, PUBLISHED + earned, "{rows:?}");
    let listed = author.get(&format!("{}?limit=100", reactions(entity))).await.expect(200);
    assert_eq!(listed["pagination"]["total"], some.iter().map(|(_, count)| count).sum::<i64>());
    rows
}

/// The step of somebody who does now this, now that.
async fn step(actor: &Actor<'_>, entity: &str, number: usize) -> Reply {
    let path = reactions(entity);
    match number % 9 {
        8 => actor.delete(&path).await,
        kind => actor.post(&path, json!({ "reactionType": TYPES[kind].0 })).await,
    }
}

async fn many_who_change_their_minds_leave_exact_counts(app: TestApp) {
    let author = app.user().await;
    let entity = publish(&author).await;
    let users = some_users(&app, CROWD).await;
    let entity = entity.as_str();
    let replies = all_at_once(users.iter().enumerate().map(|(n, user)| async move {
        let mut replies = Vec::new();
        for round in 0..5 {
            replies.push(step(user, entity, n * 7 + round * (n % 8 + 1)).await);
        }
        replies
    }))
    .await;
    for reply in replies.into_iter().flatten() {
        let counts = reply.expect(200)["reactionCounts"].clone();
        let counts: Vec<i64> =
            counts.as_object().unwrap().values().map(|count| count.as_i64().unwrap()).collect();
        assert!(counts.iter().all(|count| *count >= 0), "{counts:?}");
        assert!(counts.iter().sum::<i64>() <= 64, "{counts:?}");
    }
    let rows = is_exact(&app, &author, entity).await;
    assert!(rows.len() > 1, "{rows:?}");
    // And everybody is gone again.
    let gone = all_at_once(users.iter().map(|user| step(user, entity, 8))).await;
    assert_eq!(count(&gone, 200), CROWD);
    assert!(is_exact(&app, &author, entity).await.is_empty());
    counts_are_exact(&app).await;
}

async fn points_in_a_space_and_outside_are_both_exact(app: TestApp) {
    let author = app.user().await;
    let space = crate::spaces::id(&crate::spaces::create(&author, json!({})).await);
    let inside = author.post("/entities", json!({ "spaceId": space })).await.expect(201);
    let inside = format!("/entities/{}", inside["id"].as_str().unwrap());
    let outside = publish(&author).await;
    let users = some_users(&app, CROWD).await;
    let both = |user| {
        let (inside, outside) = (&inside, &outside);
        async move { [step(user, inside, 3).await, step(user, outside, 0).await] }
    };
    let replies = all_at_once(users.iter().map(|user| both(&**user))).await;
    for reply in replies.into_iter().flatten() {
        reply.expect(200);
    }
    let earned = |asked: String| {
        let author = &author;
        async move {
            let path = format!("/users/{}?spaceReputationId={asked}", author.id);
            author.get(&path).await.expect(200)
        }
    };
    let (crowd, loved) = (i64::try_from(CROWD).unwrap(), TYPES[3].1);
    let in_space = earned(space.to_string()).await;
    assert_eq!(in_space["spaceReputation"], PUBLISHED + crowd * loved);
    let elsewhere = earned("none".to_owned()).await;
    assert_eq!(elsewhere["spaceReputation"], PUBLISHED + crowd * TYPES[0].1);
    assert_eq!(elsewhere["reputation"], 2 * PUBLISHED + crowd * (loved + TYPES[0].1));
}

async fn one_who_sends_everything_at_once_has_one_reaction(app: TestApp) {
    let (author, user) = (app.user().await, app.user().await);
    let entity = publish(&author).await;
    let replies = all_at_once((0..CROWD).map(|n| step(&user, &entity, n))).await;
    assert_eq!(count(&replies, 200), CROWD);
    assert!(is_exact(&app, &author, &entity).await.values().sum::<i64>() <= 1);
    let loved = react(&user, &entity, "love").await;
    assert_eq!(loved["reactionCounts"], counts(&[("love", 1)]));
    is_exact(&app, &author, &entity).await;
}

async fn a_repeated_reaction_counts_and_notifies_once(app: TestApp) {
    let (author, user) = (app.user().await, app.user().await);
    let entity = publish(&author).await;
    let replies = all_at_once((0..CROWD).map(|_| step(&user, &entity, 3))).await;
    assert_eq!(count(&replies, 200), CROWD);
    for reply in &replies {
        assert_eq!(reply.json()["reactionCounts"], counts(&[("love", 1)]));
    }
    is_exact(&app, &author, &entity).await;
    assert_eq!(told(&author, "entity-reaction").await.len(), 1);
}

async fn of_parallel_votes_one_is_cast_and_one_taken_back(app: TestApp) {
    let (author, user) = (app.user().await, app.user().await);
    let entity = publish(&author).await;
    for (vote, rows) in [("upvote", 1), ("remove-upvote", 0), ("downvote", 1)] {
        let path = format!("{entity}/{vote}");
        let replies = all_at_once((0..32).map(|_| user.patch(&path, json!({})))).await;
        assert_eq!((count(&replies, 200), count(&replies, 409)), (1, 31), "{vote}");
        assert_eq!(is_exact(&app, &author, &entity).await.values().sum::<i64>(), rows, "{vote}");
    }
    assert_eq!(told(&author, "entity-upvote").await.len(), 1);
}

/// What the milestones of a kind have reached, sorted.
async fn reached(author: &User<'_>, kind: &str) -> Vec<(Value, i64)> {
    let told = told(author, kind).await;
    let mut reached: Vec<(Value, i64)> = told
        .iter()
        .map(|one| &one["metadata"])
        .map(|it| (it["reactionType"].clone(), it["milestoneCount"].as_i64().unwrap()))
        .collect();
    reached.sort_by_key(|(_, count)| *count);
    reached
}

async fn many_at_once_reach_each_number_once(app: TestApp) {
    let author = app.user().await;
    let entity = publish(&author).await;
    let users = some_users(&app, CROWD).await;
    let replies = all_at_once(users.iter().map(|user| step(user, &entity, 0))).await;
    assert_eq!(count(&replies, 200), CROWD);
    is_exact(&app, &author, &entity).await;
    let upvote = json!("upvote");
    assert_eq!(reached(&author, SPECIFIC).await, [(upvote.clone(), 10), (upvote.clone(), 50)]);
    assert_eq!(reached(&author, TOTAL).await, [(Value::Null, 10), (Value::Null, 50)]);
    assert_eq!(told(&author, "entity-reaction").await.len(), CROWD);
    // All of them change over at once: numbers of that type, none of all.
    let replies = all_at_once(users.iter().map(|user| step(user, &entity, 3))).await;
    assert_eq!(count(&replies, 200), CROWD);
    is_exact(&app, &author, &entity).await;
    let mut all = reached(&author, SPECIFIC).await;
    all.retain(|(kind, _)| *kind != upvote);
    assert_eq!(all, [(json!("love"), 10), (json!("love"), 50)]);
    assert_eq!(reached(&author, TOTAL).await.len(), 2);
    counts_are_exact(&app).await;
}

async fn many_who_leave_and_return_reach_a_number_once(app: TestApp) {
    let author = app.user().await;
    let entity = publish(&author).await;
    let users = some_users(&app, 16).await;
    let entity = entity.as_str();
    all_at_once(users.iter().map(|user| async move {
        for _ in 0..6 {
            step(user, entity, 2).await.expect(200);
            step(user, entity, 8).await.expect(200);
        }
        step(user, entity, 2).await.expect(200);
    }))
    .await;
    is_exact(&app, &author, entity).await;
    assert_eq!(reached(&author, SPECIFIC).await, [(json!("like"), 10)]);
    assert_eq!(reached(&author, TOTAL).await, [(Value::Null, 10)]);
    counts_are_exact(&app).await;
}

async fn users_who_react_to_each_other_do_not_block_each_other(app: TestApp) {
    let users = some_users(&app, 8).await;
    let mut entities = Vec::new();
    for user in &users {
        entities.push(publish(user).await);
    }
    let pairs = users.iter().flat_map(|user| entities.iter().map(move |entity| (user, entity)));
    for number in [3, 1, 0] {
        let replies =
            all_at_once(pairs.clone().map(|(user, entity)| step(user, entity, number))).await;
        assert_eq!(count(&replies, 200), 64);
        for (author, entity) in users.iter().zip(&entities) {
            is_exact(&app, author, entity).await;
        }
    }
    for author in &users {
        assert_eq!(told(author, "entity-reaction").await.len(), 7);
    }
    counts_are_exact(&app).await;
}

async fn reactions_to_an_entity_that_goes_go_with_it(app: TestApp) {
    let author = app.user().await;
    let users = some_users(&app, 32).await;
    for _ in 0..4 {
        let entity = publish(&author).await;
        let before = reputation(&app, &author).await;
        // Some have reacted before, so that there are rows to be deleted and to be changed.
        for user in &users[..8] {
            react(user, &entity, "sad").await;
        }
        let react = async |n: usize| match n {
            16 => author.delete(&entity).await,
            _ => step(&users[n], &entity, 3).await,
        };
        let replies = all_at_once((0..32).map(react)).await;
        assert_eq!(count(&replies, 204), 1);
        let loved = count(&replies, 200);
        assert_eq!(loved + count(&replies, 404), 31, "{replies:?}");
        let earned = 2 * i64::try_from(loved).unwrap();
        assert_eq!(reputation(&app, &author).await, before - PUBLISHED + earned);
    }
    let project = app.project.id;
    let left = Query::<i64>::built("left", "SELECT count(*) FROM reactions WHERE project_id = $1");
    let left = app.app.db.read(move |c| c.one(&left, args![project])).await.unwrap();
    assert_eq!(left, 0);
    counts_are_exact(&app).await;
}
