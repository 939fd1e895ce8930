//! The four older vote endpoints: stored as reactions, with replies of their own, and shown by v6 as lists of
//! voters.

use std::time::Duration;

use http::Method;
use serde_json::{Value, json};

use crate::notifications::in_every_version;
use crate::reactions::{PUBLISHED, TYPES, counts, publish, react, reactions, reputation, unreact};
use crate::support::{Actor, Reply, TestApp, User, on_both_engines};

on_both_engines![
    a_vote_is_cast_switched_and_taken_back,
    a_vote_is_cast_only_once,
    only_a_vote_that_was_cast_is_taken_back,
    a_vote_replaces_any_reaction,
    a_vote_and_a_reaction_of_that_type_are_the_same,
    a_vote_needs_no_body,
    the_oldest_version_lists_who_voted_oldest_first,
    every_operation_of_the_oldest_version_shows_who_voted,
];

async fn vote(actor: &Actor<'_>, entity: &str, vote: &str) -> Reply {
    actor.patch(&format!("{entity}/{vote}"), json!({})).await
}

async fn a_vote_is_cast_switched_and_taken_back(app: TestApp) {
    let (author, reader) = (app.user().await, app.user().await);
    for actor in in_every_version(&reader) {
        let entity = publish(&author).await;
        let start = reputation(&app, &author).await;
        let up = counts(&[("upvote", 1)]);
        let down = counts(&[("downvote", 1)]);
        for (step, expected, own, points) in [
            ("upvote", &up, json!("upvote"), 1),
            ("downvote", &down, json!("downvote"), -1),
            ("upvote", &up, json!("upvote"), 1),
            ("remove-upvote", &counts(&[]), Value::Null, 0),
            ("downvote", &down, json!("downvote"), -1),
            ("remove-downvote", &counts(&[]), Value::Null, 0),
        ] {
            let shown = vote(&actor, &entity, step).await.expect(200);
            assert_eq!(shown["reactionCounts"], *expected, "{step}");
            assert_eq!(shown["userReaction"], own, "{step}");
            assert_eq!(shown["user"]["id"], json!(author.id), "{step}");
            assert_eq!(shown["user"]["reputation"], start + points, "{step}");
        }
        assert_eq!(reputation(&app, &author).await, start);
    }
}

async fn a_vote_is_cast_only_once(app: TestApp) {
    let (author, reader) = (app.user().await, app.user().await);
    for (cast, code, message) in [
        ("upvote", "entity/already-upvoted", "User already upvoted entity."),
        ("downvote", "entity/already-downvoted", "User already downvoted entity."),
    ] {
        let entity = publish(&author).await;
        vote(&reader, &entity, cast).await.expect(200);
        let (before, listed) =
            (reputation(&app, &author).await, reader.get(&reactions(&entity)).await.expect(200));
        app.advance(Duration::from_secs(60));
        for actor in in_every_version(&reader) {
            let refused = vote(&actor, &entity, cast).await.refused(409, code);
            assert_eq!(refused["error"], message);
        }
        assert_eq!(reader.get(&entity).await.expect(200)["reactionCounts"], counts(&[(cast, 1)]));
        assert_eq!(reader.get(&reactions(&entity)).await.expect(200), listed);
        assert_eq!(reputation(&app, &author).await, before);
    }
}

async fn only_a_vote_that_was_cast_is_taken_back(app: TestApp) {
    let (author, reader) = (app.user().await, app.user().await);
    let entity = publish(&author).await;
    let states = TYPES.map(|(kind, _)| Some(kind)).into_iter().chain([None]);
    for state in states {
        for (step, taken) in [("remove-upvote", "upvote"), ("remove-downvote", "downvote")] {
            if state == Some(taken) {
                continue;
            }
            match state {
                Some(kind) => react(&reader, &entity, kind).await,
                None => unreact(&reader, &entity).await,
            };
            let before = reputation(&app, &author).await;
            for actor in in_every_version(&reader) {
                let reply = vote(&actor, &entity, step).await;
                reply.refused(409, &format!("entity/not-{taken}d"));
            }
            // A refused vote leaves everything as it was.
            let found = reader.get(&entity).await.expect(200);
            assert_eq!(found["userReaction"], json!(state), "{step}");
            let expected = state.map_or(counts(&[]), |kind| counts(&[(kind, 1)]));
            assert_eq!(found["reactionCounts"], expected, "{step}");
            assert_eq!(reputation(&app, &author).await, before, "{step} of {state:?}");
        }
    }
}

async fn a_vote_replaces_any_reaction(app: TestApp) {
    let (author, reader) = (app.user().await, app.user().await);
    let entity = publish(&author).await;
    for (kind, _) in TYPES {
        for (cast, points) in [("upvote", 1), ("downvote", -1)] {
            if kind == cast {
                continue;
            }
            react(&reader, &entity, kind).await;
            let shown = vote(&reader, &entity, cast).await.expect(200);
            assert_eq!(shown["reactionCounts"], counts(&[(cast, 1)]), "{cast} after {kind}");
            assert_eq!(shown["user"]["reputation"], PUBLISHED + points, "{cast} after {kind}");
        }
    }
    let listed = reader.get(&reactions(&entity)).await.expect(200);
    assert_eq!(listed["pagination"]["total"], 1);
}

async fn a_vote_and_a_reaction_of_that_type_are_the_same(app: TestApp) {
    let (author, reader) = (app.user().await, app.user().await);
    let entity = publish(&author).await;
    react(&reader, &entity, "upvote").await;
    vote(&reader, &entity, "upvote").await.refused(409, "entity/already-upvoted");
    vote(&reader, &entity, "remove-upvote").await.expect(200);
    vote(&reader, &entity, "downvote").await.expect(200);
    let same = react(&reader, &entity, "downvote").await;
    assert_eq!(same["reactionCounts"], counts(&[("downvote", 1)]));
    let removed = unreact(&reader, &entity).await;
    assert_eq!(removed["reactionCounts"], counts(&[]));
    assert_eq!(reputation(&app, &author).await, PUBLISHED);
}

async fn a_vote_needs_no_body(app: TestApp) {
    let (author, reader) = (app.user().await, app.user().await);
    let entity = publish(&author).await;
    for step in ["upvote", "remove-upvote", "downvote", "remove-downvote"] {
        let path = format!("{entity}/{step}");
        reader.send(Method::PATCH, &path, None).await.expect(200);
    }
}

fn named(users: &[&User<'_>]) -> Value {
    users.iter().map(|user| json!(user.id)).collect()
}

async fn the_oldest_version_lists_who_voted_oldest_first(app: TestApp) {
    let author = app.user().await;
    let (a, b, c, d) = (app.user().await, app.user().await, app.user().await, app.user().await);
    let entity = publish(&author).await;
    for (user, kind) in [(&b, "upvote"), (&a, "upvote"), (&d, "like"), (&c, "downvote")] {
        react(user, &entity, kind).await;
        app.advance(Duration::from_secs(1));
    }
    let shown = async |actor: &Actor<'_>| {
        let entity = actor.get(&entity).await.expect(200);
        (entity["upvotes"].clone(), entity["downvotes"].clone())
    };
    assert_eq!(shown(&author.v6()).await, (named(&[&b, &a]), named(&[&c])));
    assert_eq!(shown(&app.anonymous().v6()).await, (named(&[&b, &a]), named(&[&c])));
    for actor in [author.v7(), (*author).clone()] {
        assert_eq!(shown(&actor).await, (json!([]), json!([])));
    }
    let voted = vote(&d.v6(), &entity, "upvote").await.expect(200);
    assert_eq!(voted["upvotes"].as_array().unwrap().len(), 3);
    let gone = vote(&b.v6(), &entity, "remove-upvote").await.expect(200);
    assert!(!gone["upvotes"].as_array().unwrap().contains(&json!(b.id)));
    assert_eq!(gone["downvotes"], named(&[&c]));
    let voted = vote(&d.v7(), &entity, "downvote").await.expect(200);
    assert_eq!((&voted["upvotes"], &voted["downvotes"]), (&json!([]), &json!([])));
}

async fn every_operation_of_the_oldest_version_shows_who_voted(app: TestApp) {
    let (author, reader) = (app.user().await, app.user().await);
    let new = json!({ "title": "Post", "foreignId": "f" });
    let created = author.v6().post("/entities", new).await.expect(200);
    assert_eq!((&created["upvotes"], &created["sharesCount"]), (&json!([]), &json!(0)));
    let entity = format!("/entities/{}", created["id"].as_str().unwrap());
    let voted = vote(&reader.v6(), &entity, "upvote").await.expect(200);
    assert_eq!(voted["upvotes"], named(&[&reader]));
    let short = format!("/entities/by-short-id?shortId={}", created["shortId"].as_str().unwrap());
    for path in [entity.as_str(), short.as_str(), "/entities/by-foreign-id?foreignId=f"] {
        let shown = author.v6().get(path).await.expect(200);
        assert_eq!(shown["upvotes"], named(&[&reader]), "{path}");
    }
    let listed = author.v6().get("/entities").await.expect(200);
    assert_eq!(listed["data"][0]["upvotes"], named(&[&reader]));
    let changed = author.v6().patch(&entity, json!({ "title": "New" })).await.expect(200);
    assert_eq!(changed["upvotes"], named(&[&reader]));
    // Neither version mixes up whose votes they are.
    let other = publish(&author).await;
    react(&author, &other, "downvote").await;
    let listed = author.v6().get("/entities?sortBy=createdAt").await.expect(200);
    let votes =
        |n: usize| (listed["data"][n]["upvotes"].clone(), listed["data"][n]["downvotes"].clone());
    let mut found = [votes(0), votes(1)];
    found.sort_by_key(|(up, _)| up.as_array().unwrap().len());
    assert_eq!(found, [(json!([]), named(&[&author])), (named(&[&reader]), json!([]))]);
}
