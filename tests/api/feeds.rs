//! Which entities a list shows to which viewer: published ones of one project that are not removed.

use std::time::Duration;

use db::{Command, args};
use serde_json::json;
use townhall::features::entities::store::{self, feed_totals};
use townhall::values::ids::EntityId;

use crate::support::feed::{feed, finds, listed, lists, page, post, titles};
use crate::support::{Actor, TestApp, on_both_engines};

on_both_engines![
    drafts_are_in_no_list,
    deleted_ones_are_in_no_list,
    soft_deleted_entities_are_not_listed,
    removed_ones_are_listed_for_their_author_alone,
    lists_show_nothing_of_another_project,
    lists_by_author_source_and_space,
    followed_only_needs_a_user,
    v6_lists_entities_without_a_source,
    nsfw_is_shown_left_out_or_alone,
    a_time_frame_ends_now,
];

/// Lists that must all agree on what is there.
const EVERYWHERE: [&str; 12] = [
    "sortBy=createdAt",
    "sortDir=asc",
    "sortBy=hot",
    "sortBy=top",
    "sortBy=top&sortByReaction=love",
    "sortBy=controversial",
    "sortBy=metadata.n",
    "sourceId=null&spaceId=null",
    "timeFrame=year",
    "keywordsFilters[includes]=k",
    "titleFilters[hasTitle]=true",
    "metadataFilters[exists]=n",
];

async fn all_find(actor: &Actor<'_>, expected: &str) {
    let table = EVERYWHERE.map(|query| (query, expected));
    finds(actor, &table).await;
}

async fn seed(app: &TestApp, actor: &Actor<'_>, title: &str, more: serde_json::Value) -> EntityId {
    let mut new = json!({ "title": title, "keywords": ["k"], "metadata": { "n": 1 } });
    new.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    post(app, actor, new).await
}

async fn drafts_are_in_no_list(app: TestApp) {
    let ada = app.user().await;
    seed(&app, &ada, "a", json!({})).await;
    let draft = seed(&app, &ada, "draft", json!({ "isDraft": true })).await;
    for actor in [&app.anonymous(), &*ada, &app.service(), &app.master()] {
        all_find(actor, "a").await;
        finds(actor, &[(&format!("userId={}", ada.id), "a")]).await;
    }
    ada.patch(&format!("/entities/{draft}/publish"), json!({})).await.expect(200);
    all_find(&ada, "a draft").await;
}

async fn deleted_ones_are_in_no_list(app: TestApp) {
    let ada = app.user().await;
    seed(&app, &ada, "a", json!({})).await;
    let gone = seed(&app, &ada, "gone", json!({})).await;
    all_find(&ada, "a gone").await;
    assert_eq!(ada.delete(&format!("/entities/{gone}")).await.status, 204);
    for actor in [&app.anonymous(), &*ada, &app.service()] {
        all_find(actor, "a").await;
        finds(actor, &[(&format!("userId={}", ada.id), "a")]).await;
    }
}

async fn soft_deleted_entities_are_not_listed(app: TestApp) {
    let project = app.project.id;
    app.change_settings(project, |settings| settings.entity_deletion = "soft").await;

    let ada = app.user().await;
    seed(&app, &ada, "a", json!({})).await;
    let gone = seed(&app, &ada, "gone", json!({})).await;
    assert_eq!(ada.delete(&format!("/entities/{gone}")).await.status, 204);
    let kept = app.app.db.read(move |c| {
        let deleted = "SELECT count(*) FROM entities WHERE project_id = $1 AND deleted_at > 0";
        c.one(&db::Query::<i64>::built("test::deleted", deleted), args![project])
    });
    assert_eq!(kept.await.unwrap(), 1);
    for actor in [&app.anonymous(), &*ada, &app.service()] {
        all_find(actor, "a").await;
        finds(actor, &[(&format!("userId={}", ada.id), "a")]).await;
    }
}

/// As a moderator would.
async fn remove(app: &TestApp, entity: EntityId) {
    let (project, now) = (app.project.id, app.now());
    let update = Command::<()>::built(
        "test::remove",
        "UPDATE entities SET moderation_status = 'removed', moderated_at = $3, is_listed = FALSE
         WHERE project_id = $1 AND id = $2",
    );
    let removed = app.app.db.write(move |tx| {
        let row = store::find(tx, project, entity)?.unwrap();
        feed_totals::remove(tx, project, &[row])?;
        tx.execute(&update, args![project, entity, now])?;
        Ok::<_, townhall::error::Error>(())
    });
    removed.await.unwrap();
}

async fn removed_ones_are_listed_for_their_author_alone(app: TestApp) {
    let (ada, bob) = (app.user().await, app.user().await);
    let place = json!({ "location": { "latitude": 1, "longitude": 1 }, "sourceId": "s" });
    let removed = seed(&app, &ada, "removed", place.clone()).await;
    seed(&app, &ada, "a", place.clone()).await;
    seed(&app, &bob, "b", json!({})).await;
    remove(&app, removed).await;

    let near = "locationFilters[latitude]=1&locationFilters[longitude]=1&locationFilters[radius]=9";
    let mine = format!("userId={}", ada.id);
    for query in EVERYWHERE.iter().filter(|query| !query.contains("sourceId")).chain([&near]) {
        let query = format!("{mine}&{query}");
        finds(&ada, &[(&query, "a removed")]).await;
        for actor in [&app.anonymous(), &*bob, &app.service()] {
            finds(actor, &[(&query, "a")]).await;
        }
    }
    lists(&ada, &[(&mine, "a removed"), (&format!("{mine}&sourceId=s"), "a removed")]).await;
    let shown = page(&ada, &mine).await;
    assert_eq!(shown["data"][1]["moderationStatus"], "removed");
    // The author sees them as the author, not in everybody's feed.
    finds(&ada, &[("", "a b"), (near, "a"), ("keywordsFilters[includes]=k", "a b")]).await;
    finds(&bob, &[(&format!("userId={}", bob.id), "b")]).await;
}

async fn lists_show_nothing_of_another_project(app: TestApp) {
    let (ada, stranger) = (app.user().await, app.stranger().await);
    let same = json!({ "sourceId": "s", "nsfw": true, "attachments": [{ "a": 1 }],
        "location": { "latitude": 1, "longitude": 1 } });
    seed(&app, &stranger, "tenant-Q-canary", same.clone()).await;
    seed(&app, &ada, "mine", same).await;
    let filed = [
        "",
        "sortBy=createdAt",
        "sortBy=hot",
        "sortBy=top",
        "sortBy=controversial",
        "sortBy=metadata.n",
        "sourceId=s",
        "spaceId=null",
        "nsfwFilter=only",
        "keywordsFilters[includes]=k",
        "keywordsFilters[includes]=k&sortBy=hot",
        "metadataFilters[includes][n]=1",
        "metadataFilters[doesNotInclude][n]=2",
        "metadataFilters[exists]=n",
        "titleFilters[includes]=n",
        "attachmentsFilters[hasAttachments]=true",
        "locationFilters[latitude]=1&locationFilters[longitude]=1&locationFilters[radius]=9",
    ];
    for actor in [&app.anonymous(), &*ada, &app.service(), &stranger.in_project(app.project.id)] {
        finds(actor, &filed.map(|query| (query, "mine"))).await;
        finds(actor, &[(&format!("userId={}", stranger.id), "")]).await;
    }
    finds(&stranger, &filed.map(|query| (query, "tenant-Q-canary"))).await;
}

async fn lists_by_author_source_and_space(app: TestApp) {
    let (ada, bob) = (app.user().await, app.user().await);
    post(&app, &ada, json!({ "title": "a" })).await;
    post(&app, &ada, json!({ "title": "as", "sourceId": "s" })).await;
    post(&app, &bob, json!({ "title": "bs", "sourceId": "s" })).await;
    post(&app, &bob, json!({ "title": "bS", "sourceId": "S" })).await;
    post(&app, &app.anonymous(), json!({ "title": "nobody" })).await;
    let by = |user: townhall::values::ids::UserId, more: &str| format!("userId={user}{more}");
    let unknown = "018f0000-0000-4000-8000-000000000000";
    lists(
        &app.anonymous(),
        &[
            ("", "nobody bS bs as a"),
            ("sourceId=s", "bs as"),
            ("sourceId=s&sortBy=hot", "bs as"),
            ("sourceId=s&sortBy=top", "bs as"),
            ("sourceId=null", "nobody a"),
            ("sourceId=null&sortBy=hot", "nobody a"),
            ("sourceId=undefined", ""),
            ("sourceId=", ""),
            ("spaceId=null", "nobody bS bs as a"),
            ("spaceId=null&sourceId=s", "bs as"),
            ("spaceId=null&sourceId=null", "nobody a"),
            ("spaceId=null&sourceId=null&sortBy=hot", "nobody a"),
            ("spaceId=not-an-id", ""),
            (&format!("spaceId={unknown}"), ""),
            (&format!("userId={unknown}"), ""),
            (&by(ada.id, ""), "as a"),
            (&by(ada.id, "&sortBy=hot"), "as a"),
            (&by(ada.id, "&sortBy=top"), "as a"),
            (&by(ada.id, "&sortDir=asc"), "a as"),
            (&by(ada.id, "&sourceId=s"), "as"),
            (&by(bob.id, "&sourceId=null"), ""),
        ],
    )
    .await;
    lists(&ada, &[(&by(ada.id, ""), "as a"), (&by(bob.id, ""), "bS bs")]).await;
}

async fn followed_only_needs_a_user(app: TestApp) {
    let ada = app.user().await;
    seed(&app, &ada, "a", json!({})).await;
    app.anonymous().get(&feed("followedOnly=true")).await.refused(401, "entity/user-required");
    app.service().get(&feed("followedOnly=true")).await.refused(401, "entity/user-required");
    lists(&app.anonymous(), &[("followedOnly=false", "a")]).await;
    lists(&ada, &[("followedOnly=true", ""), ("followedOnly=false", "a")]).await;
    // Nobody follows anybody yet; with a key the user is who looks and no filter.
    lists(&app.service(), &[(&format!("followedOnly=true&userId={}", ada.id), "")]).await;
    assert_eq!(titles(&page(&app.anonymous().v6(), "followedOnly=true").await), "a");
}

async fn v6_lists_entities_without_a_source(app: TestApp) {
    let ada = app.user().await;
    post(&app, &ada, json!({ "title": "a" })).await;
    post(&app, &ada, json!({ "title": "s", "sourceId": "s" })).await;
    let v6 = app.anonymous().v6();
    for query in ["", "sourceId=null", "sourceId=undefined", "sourceId="] {
        assert_eq!(listed(&v6, query).await, "a", "{query}");
    }
    assert_eq!(listed(&v6, "sourceId=s").await, "s");
    assert_eq!(listed(&app.anonymous().v7(), "").await, "s a");
    let shown = &page(&v6, "").await["data"][0];
    assert_eq!((&shown["user"]["id"], &shown["sharesCount"]), (&json!(ada.id), &json!(0)));
    assert_eq!(shown["topComment"], json!(null));
}

async fn nsfw_is_shown_left_out_or_alone(app: TestApp) {
    let ada = app.user().await;
    post(&app, &ada, json!({ "title": "tame", "nsfw": false })).await;
    post(&app, &ada, json!({ "title": "nsfw", "nsfw": true })).await;
    let table = [
        ("", "nsfw tame"),
        ("nsfwFilter=include-all", "nsfw tame"),
        ("nsfwFilter=exclude", "tame"),
        ("nsfwFilter=only", "nsfw"),
        ("nsfwFilter=only&sortBy=hot", "nsfw"),
        ("nsfwFilter=exclude&sortBy=top", "tame"),
    ];
    lists(&app.anonymous(), &table).await;
}

async fn a_time_frame_ends_now(app: TestApp) {
    let now = app.now();
    let hours = |hours: u64| Duration::from_hours(hours);
    for (title, age) in [
        ("now", hours(0)),
        ("hour", hours(1)),
        ("day", hours(24)),
        ("week", hours(7 * 24)),
        ("month", hours(30 * 24)),
        ("year", hours(365 * 24)),
        ("older", hours(365 * 24) + Duration::from_millis(1)),
    ] {
        let new = json!({ "title": title, "createdAt": now.minus(age).to_string() });
        app.service().post("/entities", new).await.expect(201);
    }
    let table = [
        ("timeFrame=hour", "now hour"),
        ("timeFrame=day", "now hour day"),
        ("timeFrame=week", "now hour day week"),
        ("timeFrame=month", "now hour day week month"),
        ("timeFrame=year", "now hour day week month year"),
        ("timeFrame=year&sortDir=asc", "year month week day hour now"),
        ("timeFrame=day&sortBy=top", "now hour day"),
        ("timeFrame=day&sortBy=hot", "now hour day"),
        ("", "now hour day week month year older"),
    ];
    lists(&app.anonymous(), &table).await;
    app.advance(Duration::from_millis(1));
    lists(&app.anonymous(), &[("timeFrame=hour", "now"), ("timeFrame=day", "now hour")]).await;
}
