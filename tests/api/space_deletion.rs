//! A space is deleted with its child spaces and content: hidden at once, removed soon after.

use serde_json::json;
use townhall::features::deletion::space::RemoveSpaces;
use townhall::features::entities::store::recount as entities;
use townhall::jobs::Job;

use crate::avatars::picture;
use crate::comments::{comment, path as comment_path};
use crate::notifications::UNKNOWN;
use crate::space_members::open_space;
use crate::spaces::{create, id, join, path};
use crate::support::feed::{listed, page, post};
use crate::support::{Form, TestApp, all_at_once, on_both_engines};

on_both_engines![
    a_space_goes_with_all_below_and_in_it,
    who_may_delete_a_space,
    nothing_comes_into_a_space_that_is_being_deleted,
    a_large_space_is_removed_in_small_steps,
    a_removal_goes_on_beside_writers_and_after_a_cut,
];

/// How many rows are left in each of the tables.
async fn left(app: &TestApp, tables: &[&'static str]) -> Vec<i64> {
    let mut counts = Vec::new();
    for table in tables {
        counts.push(app.rows(table).await);
    }
    counts
}

async fn a_space_goes_with_all_below_and_in_it(app: TestApp) {
    let (ada, bob) = (app.user().await, app.user().await);
    let parent = open_space(&ada).await;
    let form = Form::new().text("name", "Doomed").text("slug", "doomed");
    let form = picture(form.text("parentSpaceId", parent["id"].as_str().unwrap()), "avatarFile");
    let space = ada.post_form("/spaces", &form).await.expect(201);
    ada.patch(&path(&space), json!({ "requireJoinApproval": false })).await.expect(200);
    let below =
        create(&ada, json!({ "parentSpaceId": space["id"], "visibility": "private" })).await;
    join(&bob, &space).await;
    let outside = post(&app, &ada, json!({ "title": "outside" })).await;
    let inside =
        post(&app, &bob, json!({ "title": "inside", "spaceId": space["id"], "sourceId": "s" }))
            .await;
    let deep =
        post(&app, &ada, json!({ "title": "deep", "spaceId": below["id"], "keywords": ["k"] }))
            .await;
    let draft = json!({ "title": "draft", "spaceId": space["id"], "isDraft": true });
    bob.post("/entities", draft).await.expect(201);
    let said = comment(&ada, &format!("/entities/{inside}"), "c").await;
    let like = json!({ "reactionType": "like" });
    ada.post(&format!("/entities/{inside}/reactions"), like).await.expect(200);
    let report = json!({ "targetType": "entity", "targetId": inside, "reason": "spam" });
    ada.post("/reports", report).await.expect(201);
    ada.post(&format!("{}/rules", path(&space)), json!({ "title": "r" })).await.expect(201);
    let root = ada.get("/collections/root").await.expect(200)["id"].take();
    let saved = format!("/collections/{}/entities", root.as_str().unwrap());
    for entity in [inside, outside] {
        ada.post(&saved, json!({ "entityId": entity })).await.expect(200);
    }
    let points = ada.get(&format!("/users/{}", ada.id)).await.expect(200)["reputation"].take();

    let deleted = ada.delete(&path(&space)).await.expect(200);
    let expected = json!({
        "message": "Space deleted successfully.",
        "deletedSpace": { "id": space["id"], "name": "Doomed" },
        "counts": { "entities": 3, "members": 3, "childSpaces": 1 },
    });
    assert_eq!(deleted, expected);
    // The same before and after the work is done.
    for _ in 0..2 {
        for gone in [&space, &below] {
            for end in
                ["", "/children", "/breadcrumb", "/members", "/team", "/rules", "/membership/me"]
            {
                let address = format!("{}{end}", path(gone));
                app.service().get(&address).await.refused(404, "space/not-found");
            }
        }
        for actor in [&*ada, &*bob, &app.anonymous(), &app.service()] {
            assert_eq!(listed(actor, "").await, "outside");
            for query in [
                "",
                "sourceId=s",
                "keywordsFilters[includes]=k",
                &format!("spaceId={}", id(&space)),
            ] {
                let (found, total) = (page(actor, query).await, i64::from(query.is_empty()));
                assert_eq!(found["pagination"]["totalItems"], total, "{query}");
            }
            for entity in [inside, deep] {
                actor.get(&format!("/entities/{entity}")).await.refused(404, "entity/not-found");
            }
            actor.get(&comment_path(&said)).await.refused(404, "comment/not-found");
        }
        assert_eq!(listed(&bob, &format!("userId={}", bob.id)).await, "");
        assert_eq!(ada.get(&saved).await.expect(200)["pagination"]["totalItems"], 1);
        assert_eq!(bob.get("/spaces/user-spaces").await.expect(200)["pagination"]["totalItems"], 0);
        assert_eq!(ada.get(&path(&parent)).await.expect(200)["childSpacesCount"], 0);
        let slug = app.anonymous().get("/spaces/check-slug?slug=doomed").await.expect(200);
        assert_eq!(slug["available"], true);
        let shown = ada.get(&format!("/users/{}", ada.id)).await.expect(200);
        assert_eq!(shown["reputation"], points, "nobody loses points");
        while app.run_jobs().await > 0 {}
    }
    assert_eq!(app.stored(), 0);
    assert_eq!(app.service().get("/reports").await.expect(200)["pagination"]["totalItems"], 0);
    let tables = [
        "spaces",
        "space_lines",
        "space_members",
        "space_rules",
        "entities",
        "comments",
        "reactions",
    ];
    assert_eq!(left(&app, &tables).await, [1, 1, 1, 0, 1, 0, 0]);
    let general = ada.get(&format!("/users/{}?spaceReputationId=none", ada.id)).await.expect(200);
    assert_eq!(general["spaceReputation"], points);
    ada.delete(&path(&space)).await.refused(404, "space/not-found");
}

async fn who_may_delete_a_space(app: TestApp) {
    let (ada, bob) = (app.user().await, app.user().await);
    let space = open_space(&ada).await;
    bob.delete(&path(&space)).await.refused(403, "space/creator-required");
    bob.delete(&format!("/spaces/{UNKNOWN}")).await.refused(404, "space/not-found");
    assert_eq!(app.anonymous().delete(&path(&space)).await.status, 401);
    app.stranger().await.delete(&path(&space)).await.refused(404, "space/not-found");
    app.change_settings(app.project.id, |settings| settings.deletes_spaces = false).await;
    for user in [&ada, &bob] {
        user.delete(&path(&space)).await.refused(403, "space/deletion-disabled");
    }
    app.service().delete(&path(&space)).await.expect(200);
}

async fn nothing_comes_into_a_space_that_is_being_deleted(app: TestApp) {
    let (ada, bob) = (app.user().await, app.user().await);
    for _ in 0..3 {
        let space = open_space(&ada).await;
        let child = create(&ada, json!({ "parentSpaceId": space["id"] })).await;
        let new = json!({ "title": "t", "spaceId": child["id"] });
        let below = json!({ "name": "Below", "parentSpaceId": child["id"] });
        let work = (0..9).map(|n| {
            let (ada, bob, space, new, below) = (&ada, &bob, &space, &new, &below);
            async move {
                match n % 3 {
                    0 if n == 3 => ada.delete(&path(space)).await,
                    0 => ada.post("/entities", new.clone()).await,
                    1 => ada.post("/spaces", below.clone()).await,
                    _ => bob.post(&format!("{}/join", path(space)), json!({})).await,
                }
            }
        });
        for reply in all_at_once(work).await {
            assert!([200, 201, 404, 409].contains(&reply.status), "{}", reply.outcome());
        }
        while app.run_jobs().await > 0 {}
        assert_eq!(listed(&ada, "").await, "");
        let left = ada.get("/spaces/user-spaces?all=true").await.expect(200);
        assert_eq!(left["data"], json!([]));
    }
    let tables = ["spaces", "space_members", "entities", "entity_counts"];
    assert_eq!(left(&app, &tables).await, [0, 0, 0, 0]);
}

async fn a_large_space_is_removed_in_small_steps(app: TestApp) {
    let ada = app.user().await;
    let space = open_space(&ada).await;
    for _ in 0..3 {
        let posts = (0..90).map(|_| ada.post("/entities", json!({ "spaceId": space["id"] })));
        for reply in all_at_once(posts).await {
            reply.expect(201);
        }
    }
    let deleted = ada.delete(&path(&space)).await.expect(200);
    assert_eq!(deleted["counts"]["entities"], 270);
    assert_eq!(page(&ada, "").await["pagination"]["totalItems"], 0);
    let before = app.statements.during(app.run_jobs()).await;
    let steps = before.iter().filter(|(name, _)| name.ends_with("purge_entities::REMOVE")).count();
    assert_eq!(steps, 3, "a hundred at once");
    assert_eq!(left(&app, &["spaces", "entities", "entity_counts"]).await, [0, 0, 0]);
}

async fn a_removal_goes_on_beside_writers_and_after_a_cut(app: TestApp) {
    let (ada, bob) = (app.user().await, app.user().await);
    crate::entity_deletion::delete_softly(&app).await;
    let parent = open_space(&ada).await;
    let child = create(&ada, json!({ "parentSpaceId": parent["id"] })).await;
    let kept = open_space(&ada).await;
    let root = bob.get("/collections/root").await.expect(200)["id"].take();
    let saved = format!("/collections/{}/entities", root.as_str().unwrap());
    let mut posted = Vec::new();
    for space in [&parent, &child, &kept] {
        for n in 0..8 {
            let new = json!({ "title": "t", "spaceId": space["id"], "keywords": [format!("k{}", n % 2)] });
            let id = ada.post("/entities", new).await.expect(201)["id"].take();
            bob.post(&saved, json!({ "entityId": id })).await.expect(200);
            posted.push(id);
        }
    }
    // Some were out of sight already.
    ada.delete(&format!("/entities/{}", posted[0].as_str().unwrap())).await.expect(204);
    ada.delete(&path(&child)).await.expect(200);
    ada.delete(&path(&parent)).await.expect(200);
    // Both removals at once, and again, beside others who write to the same feeds and collections.
    let project = app.project.id;
    let ids = [id(&parent), id(&child), id(&parent), id(&child)];
    let removals = all_at_once(ids.map(|root| RemoveSpaces { root }.run(&app.app, project)));
    let writes = all_at_once((0..12).map(|n| {
        let (ada, bob, saved, posted, kept) = (&ada, &bob, &saved, &posted, &kept);
        async move {
            match n % 3 {
                0 => {
                    let new =
                        json!({ "title": "new", "spaceId": kept["id"], "keywords": ["k0", "k1"] });
                    ada.post("/entities", new).await.status
                }
                1 => bob.post(saved, json!({ "entityId": posted[16 + n / 3] })).await.status,
                _ => {
                    ada.delete(&format!("/entities/{}", posted[20 + n / 3].as_str().unwrap()))
                        .await
                        .status
                }
            }
        }
    }));
    let (removed, written) = tokio::join!(removals, writes);
    for outcome in removed {
        outcome.unwrap();
    }
    for status in written {
        assert!([200, 201, 204].contains(&status), "{status}");
    }
    while app.run_jobs().await > 0 {}
    assert_eq!(left(&app, &["spaces"]).await, [1]);
    assert_eq!(page(&ada, "").await["pagination"]["totalItems"], 8);
    assert_eq!(page(&ada, "keywordsFilters[includes]=k0").await["pagination"]["totalItems"], 6);
    assert_eq!(bob.get(&saved).await.expect(200)["pagination"]["totalItems"], 4);
    let shown = bob.get("/collections/root").await.expect(200);
    assert_eq!(shown["entityCount"], 4);
    let drifted = app.app.db.read(move |c| entities::drifted_feeds(c, project)).await.unwrap();
    assert!(drifted.is_empty(), "{drifted:?}");
}
