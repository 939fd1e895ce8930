//! Entities: the fields that everybody sees, and the isolation of projects.

use serde_json::{Value, json};
use townhall::auth::store::suspensions;
use townhall::features::entities::store::recount;
use townhall::tenancy::Bundle;
use townhall::values::ids::{SuspensionId, UserId, new_id};

use crate::support::{Actor, TestApp, all_at_once, keys, on_both_engines};

on_both_engines![
    an_entity_shows_these_keys_and_no_others,
    another_projects_entities_are_not_there,
    without_the_bundle_there_are_no_entities,
    nothing_is_on_top_yet,
    malformed_ids_and_bodies_are_refused,
];

pub(crate) const UNKNOWN: &str = "01234567-89ab-4def-8123-456789abcdef";

/// A new entity, as Create Entity replies.
pub(crate) async fn create(actor: &Actor<'_>, new: Value) -> Value {
    actor.post("/entities", new).await.expect(201)
}

pub(crate) fn path(entity: &Value) -> String {
    format!("/entities/{}", entity["id"].as_str().unwrap())
}

pub(crate) async fn feed_size(app: &TestApp, query: &str) -> Value {
    let feed = app.anonymous().get(&format!("/entities?{query}")).await.expect(200);
    assert_eq!(feed["pagination"]["totalItems"], feed["data"].as_array().unwrap().len());
    feed["pagination"]["totalItems"].clone()
}

pub(crate) async fn reputation(app: &TestApp, user: UserId) -> Value {
    app.service().get(&format!("/users/{user}")).await.expect(200)["reputation"].clone()
}

pub(crate) async fn suspend(app: &TestApp, user: UserId) {
    let new = suspensions::NewSuspension {
        id: SuspensionId(new_id(app.now(), &app.app.random)),
        user,
        reason: None,
        end_date: None,
        created_by: "test",
    };
    let (project, now) = (app.project.id, app.now());
    let work = app.app.db.write(move |tx| suspensions::insert(tx, project, &new, now));
    work.await.unwrap();
}

/// Every stored count agrees with what it counts.
pub(crate) async fn counts_are_exact(app: &TestApp) {
    let (ours, theirs) = (app.project.id, app.other.id);
    let drift = app.app.db.read_slow(move |c| {
        let feeds = (recount::drifted_feeds(c, ours)?, recount::drifted_feeds(c, theirs)?);
        Ok((feeds, recount::miscounted(c)?))
    });
    let drift = drift.await.map_err(|error: townhall::error::Error| error.to_string());
    let (feeds, reactions) = drift.unwrap();
    assert_eq!((feeds, app.own(reactions)), ((vec![], vec![]), vec![]));
}

const ALWAYS: &str = "attachments content createdAt deletedAt downvotes foreignId id isDraft keywords \
    location mentions metadata moderatedAt moderatedById moderatedByType moderationReason \
    moderationStatus nsfw nsfwEffective projectId reactionCounts repliesCount score scoreUpdatedAt \
    shortId sourceId spaceId title topComment updatedAt upvotes userId views";

async fn an_entity_shows_these_keys_and_no_others(app: TestApp) {
    let ada = app.user().await;
    let made = ada.post("/entities", json!({})).await;
    let entity = made.expect(201);
    let (plain, user) = (app.anonymous(), (*ada).clone());
    let include = "include=user,%20SPACE,saved,grants,topComment,bogus";
    for (actor, query, further) in [
        (&plain, "", ""),
        (&user, "", "userReaction"),
        (&app.service(), "", ""),
        (&plain, include, "user space grants"),
        (&user, include, "user space grants isSaved userReaction"),
        (&plain.v7(), "", ""),
        (&plain.v6(), "", "user sharesCount"),
        (&user.v6(), "include=space", "user space sharesCount userReaction"),
    ] {
        let mut expected: Vec<&str> = ALWAYS.split(' ').chain(further.split(' ')).collect();
        expected.retain(|key| !key.is_empty());
        expected.sort_unstable();
        let shown = actor.get(&format!("{}?{query}", path(&entity))).await.expect(200);
        assert_eq!(keys(&shown), expected, "{actor:?} {query}");
        assert_eq!(shown["topComment"], Value::Null);
    }
    let mut expected: Vec<&str> = ALWAYS.split(' ').chain(["user", "userReaction"]).collect();
    expected.sort_unstable();
    assert_eq!(made.keys(), expected);
    let shown = user.get(&format!("{}?{include}", path(&entity))).await.expect(200);
    assert_eq!((&shown["space"], &shown["isSaved"]), (&Value::Null, &json!(false)));
    assert_eq!(shown["grants"], json!({ "total": 0, "count": 0, "viewerTotal": 0 }));
    for secret in ["email", "secureMetadata", "isVerified", "isActive", "lastActive", "updatedAt"] {
        assert!(shown["user"].get(secret).is_none(), "{secret}");
    }
}

async fn another_projects_entities_are_not_there(app: TestApp) {
    let (ada, stranger) = (app.user().await, app.stranger().await);
    let marked = json!({ "title": "tenant-Q-canary", "foreignId": "tenant-Q-canary" });
    let theirs = create(&stranger, marked).await;
    let short = theirs["shortId"].as_str().unwrap();
    let unknown = "/entities/by-short-id?shortId=mhvXdrZT4jP5T8vBxuvm75";
    for actor in [app.anonymous(), (*ada).clone(), app.service(), app.master()] {
        for (known, unknown) in [
            (path(&theirs), format!("/entities/{UNKNOWN}")),
            (format!("/entities/by-short-id?shortId={short}"), unknown.to_owned()),
            (
                "/entities/by-foreign-id?foreignId=tenant-Q-canary".to_owned(),
                "/entities/by-foreign-id?foreignId=x".to_owned(),
            ),
        ] {
            let (known, unknown) = (actor.get(&known).await, actor.get(&unknown).await);
            known.refused(404, "entity/not-found");
            assert_eq!((known.body, known.status), (unknown.body, unknown.status));
        }
        for list in ["/entities", "/entities?sortBy=hot", "/entities?titleFilters[includes]=canary"]
        {
            let reply = actor.get(list).await;
            assert_eq!(reply.expect(200)["pagination"]["totalItems"], 0, "{list}");
            assert!(!reply.text().contains("canary"));
        }
    }
    let space = json!({ "spaceId": UNKNOWN });
    ada.post("/entities", space).await.refused(404, "entity/space-not-found");
    let fake = app.service().post("/entities", json!({ "userId": stranger.id })).await;
    fake.refused(404, "entity/user-not-found");
    // Its foreign id is free here; their token is no good at any of our routes.
    create(&ada, json!({ "foreignId": "tenant-Q-canary" })).await;
    let (bearer, id) = (app.bearer(&stranger.access_token), app.project.id);
    for door in [format!("/v8/{id}"), format!("/api/v8/{id}"), format!("/{id}/api/v8")] {
        let address = format!("{door}/entities/drafts");
        bearer.raw(http::Method::GET, &address, "", "").await.says(403, "Forbidden");
    }
}

async fn without_the_bundle_there_are_no_entities(app: TestApp) {
    let bare = app.project_with(&[Bundle::Notifications]).await;
    let key = app.bearer(&bare.service_key).in_project(bare.id);
    let entity = format!("/entities/{UNKNOWN}");
    let views = format!("{entity}/increment-views");
    let publish = format!("{entity}/publish");
    let replies = all_at_once([
        key.send(http::Method::POST, "/entities", Some(json!({}))),
        key.send(http::Method::GET, "/entities", None),
        key.send(
            http::Method::GET,
            "/entities/by-foreign-id?foreignId=x&createIfNotFound=true",
            None,
        ),
        key.send(http::Method::GET, "/entities/by-short-id?shortId=x", None),
        key.send(http::Method::GET, "/entities/drafts", None),
        key.send(http::Method::GET, "/entities/is-entity-saved", None),
        key.send(http::Method::GET, &entity, None),
        key.send(http::Method::PATCH, &entity, Some(json!({}))),
        key.send(http::Method::PATCH, &publish, Some(json!({}))),
        key.send(http::Method::PATCH, &views, Some(json!({}))),
        key.send(http::Method::DELETE, &entity, None),
    ]);
    for reply in replies.await {
        reply.refused(403, "database/tables-not-available");
    }
}

async fn nothing_is_on_top_yet(app: TestApp) {
    let ada = app.user().await;
    let entity = create(&ada, json!({})).await;
    let draft = create(&ada, json!({ "isDraft": true })).await;
    for path in [path(&entity), path(&draft), format!("/entities/{UNKNOWN}")] {
        let reply = app.anonymous().get(&format!("{path}/top-comment")).await;
        assert_eq!((reply.status, reply.text().as_str()), (200, "null"));
    }
}

async fn malformed_ids_and_bodies_are_refused(app: TestApp) {
    let ada = app.user().await;
    let entity = path(&create(&ada, json!({})).await);
    for wrong in ["/entities/x", "/entities/0", "/entities/x/top-comment"] {
        ada.get(wrong).await.refused(400, "entity/invalid-params");
    }
    ada.patch("/entities/x", json!({})).await.refused(400, "entity/invalid-params");
    ada.patch("/entities/x/publish", json!({})).await.refused(400, "entity/invalid-params");
    ada.delete("/entities/x").await.refused(400, "entity/invalid-params");
    let views = app.service().patch("/entities/x/increment-views", json!({})).await;
    views.refused(400, "entity/invalid-params");
    let deep = format!(
        "{{\"metadata\":{}{}}}",
        "{\"a\":".repeat(100_000),
        "1".to_owned() + &"}".repeat(100_000)
    );
    let project = app.project.id;
    for (method, address) in [
        (http::Method::POST, format!("/v8/{project}/entities")),
        (http::Method::PATCH, format!("/v8/{project}{entity}")),
    ] {
        for body in ["[]", "7", "{", &deep] {
            let reply =
                ada.raw(method.clone(), &address, "application/json", body.to_owned()).await;
            reply.refused(400, "entity/invalid-body");
        }
    }
}
