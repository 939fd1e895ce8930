//! Deleting a user: their content stays as anonymized placeholders, their reactions and mentions of them are
//! deleted.

use serde_json::{Value, json};
use townhall::values::ids::UserId;

use crate::comments::comment;
use crate::entities::{counts_are_exact, create, feed_size, path, reputation};
use crate::space_members::open_space;
use crate::spaces::{join, path as space_path};
use crate::support::{Reply, TestApp, User, all_at_once, count, on_both_engines};

on_both_engines![
    entities_stay_as_anonymized_placeholders,
    emptied_entities_leave_every_feed_and_keep_their_threads,
    an_emptied_entity_is_not_listed_again,
    reactions_go_and_points_stay,
    mentions_by_others_are_removed,
    deletion_by_mail_does_the_same,
    deleted_and_hidden_entities_do_not_hold_their_author,
    deletion_among_reactions_keeps_every_count,
    deletion_among_the_users_own_writes_keeps_every_count,
];

async fn delete(app: &TestApp, user: UserId) -> Reply {
    app.service().delete(&format!("/users/{user}")).await
}

async fn react(user: &User<'_>, entity: &Value, kind: &str) -> Reply {
    let address = format!("{}/reactions", path(entity));
    user.post(&address, json!({ "reactionType": kind })).await
}

async fn entities_stay_as_anonymized_placeholders(app: TestApp) {
    let (ada, bob) = (app.user().await, app.user().await);
    let new = json!({
        "title": "Title", "content": "Content", "keywords": ["k"], "metadata": { "m": 1 },
        "attachments": [{ "a": 1 }], "mentions": [{ "id": bob.id, "username": "bob" }],
        "foreignId": "f", "sourceId": "s", "location": { "latitude": 1, "longitude": 2 },
    });
    let entity = create(&ada, new).await;
    react(&bob, &entity, "like").await.expect(200);
    let draft = create(&ada, json!({ "isDraft": true, "title": "Draft" })).await;
    app.advance(std::time::Duration::from_secs(60));
    let address = format!("{}?include=user", path(&entity));
    let mut expected = app.anonymous().v6().get(&address).await.expect(200);
    assert_eq!(delete(&app, ada.id).await.status, 204);
    for key in ["userId", "user", "title", "content"] {
        expected[key] = Value::Null;
    }
    for key in ["attachments", "mentions"] {
        expected[key] = json!([]);
    }
    assert_eq!(app.anonymous().v6().get(&address).await.expect(200), expected);
    assert_eq!(app.service().get(&path(&draft)).await.expect(200)["title"], Value::Null);
    bob.get(&path(&draft)).await.refused(404, "entity/not-found");
    for (query, found) in [
        ("", 0),
        ("keywordsFilters[includes]=k", 0),
        ("metadataFilters[includes][m]=1", 0),
        ("sourceId=s", 0),
        ("attachmentsFilters[hasAttachments]=false", 0),
        ("titleFilters[hasTitle]=true", 0),
        (&format!("userId={}", ada.id), 0),
    ] {
        assert_eq!(feed_size(&app, query).await, found, "{query}");
    }
    counts_are_exact(&app).await;
    assert_eq!(delete(&app, ada.id).await.status, 404);
    // By its id it is an ordinary entity without an author.
    react(&bob, &entity, "love").await.expect(200);
    app.service().delete(&path(&entity)).await.expect(204);
    counts_are_exact(&app).await;
}

async fn emptied_entities_leave_every_feed_and_keep_their_threads(app: TestApp) {
    let (ada, bob, eve) = (app.user().await, app.user().await, app.user().await);
    let space = open_space(&eve).await;
    for actor in [&ada, &bob] {
        join(actor, &space).await;
    }
    let new = |space: &Value| {
        json!({ "title": "t", "keywords": ["k"], "sourceId": "s", "spaceId": space,
            "location": { "latitude": 1, "longitude": 2 } })
    };
    let emptied = create(&ada, new(&space["id"])).await;
    create(&ada, new(&Value::Null)).await;
    for place in [&space["id"], &Value::Null] {
        create(&bob, new(place)).await;
    }
    let said = comment(&bob, &path(&emptied), "still here").await;
    let root = bob.get("/collections/root").await.expect(200)["id"].take();
    let saved = format!("/collections/{}/entities", root.as_str().unwrap());
    bob.post(&saved, json!({ "entityId": emptied["id"] })).await.expect(200);
    let feeds = [
        String::new(),
        "sortBy=hot".to_owned(),
        "sortBy=top".to_owned(),
        "sourceId=s".to_owned(),
        "keywordsFilters[includes]=k".to_owned(),
        "locationFilters[latitude]=1&locationFilters[longitude]=2&locationFilters[radius]=9"
            .to_owned(),
        format!("spaceId={}", space["id"].as_str().unwrap()),
    ];
    delete(&app, ada.id).await.expect(204);
    let mut sizes = Vec::new();
    for feed in &feeds {
        sizes.push(feed_size(&app, feed).await.as_i64().unwrap());
    }
    assert_eq!(sizes, [2, 2, 2, 2, 2, 2, 1]);
    counts_are_exact(&app).await;
    // Its thread goes on.
    assert_eq!(app.anonymous().get(&path(&emptied)).await.expect(200)["title"], Value::Null);
    let thread = format!("/comments?entityId={}", emptied["id"].as_str().unwrap());
    for actor in [&*bob, &*eve, &app.anonymous()] {
        let listed = actor.get(&thread).await.expect(200);
        assert_eq!(listed["data"][0]["id"], said["id"]);
        assert_eq!(listed["pagination"]["totalItems"], 1);
    }
    comment(&eve, &path(&emptied), "so am I").await;
    assert_eq!(bob.get(&thread).await.expect(200)["pagination"]["totalItems"], 2);
    let listed = bob.get(&saved).await.expect(200);
    assert_eq!((&listed["data"], &listed["pagination"]["totalItems"]), (&json!([]), &json!(0)));
}

async fn an_emptied_entity_is_not_listed_again(app: TestApp) {
    let (ada, eve) = (app.user().await, app.user().await);
    let space = open_space(&eve).await;
    join(&ada, &space).await;
    let emptied = create(&ada, json!({ "title": "t", "spaceId": space["id"] })).await;
    let draft = create(&ada, json!({ "title": "d", "isDraft": true })).await;
    delete(&app, ada.id).await.expect(204);
    let moderation = format!("{}{}/moderation", space_path(&space), path(&emptied));
    for action in ["remove", "approve"] {
        eve.patch(&moderation, json!({ "action": action })).await.expect(200);
        assert_eq!(feed_size(&app, "").await, 0, "{action}");
    }
    let publish = format!("{}/publish", path(&draft));
    app.service().patch(&publish, json!({})).await.expect(200);
    app.service().patch(&path(&emptied), json!({ "keywords": ["k"] })).await.expect(200);
    assert_eq!(feed_size(&app, "").await, 0);
    assert_eq!(feed_size(&app, "keywordsFilters[includes]=k").await, 0);
    counts_are_exact(&app).await;
}

async fn reactions_go_and_points_stay(app: TestApp) {
    let (ada, bob, eve) = (app.user().await, app.user().await, app.user().await);
    let kinds = ["upvote", "downvote", "like", "love", "wow", "sad", "angry", "funny"];
    let mut entities = Vec::new();
    for kind in kinds {
        let entity = create(&ada, json!({})).await;
        react(&bob, &entity, kind).await.expect(200);
        react(&eve, &entity, if kind == "upvote" { "downvote" } else { "upvote" })
            .await
            .expect(200);
        entities.push(entity);
    }
    let earned = reputation(&app, ada.id).await;
    delete(&app, bob.id).await.expect(204);
    for (entity, kind) in entities.iter().zip(kinds) {
        let shown = app.anonymous().get(&path(entity)).await.expect(200);
        let counts = shown["reactionCounts"].as_object().unwrap();
        let left: Vec<_> = counts.iter().filter(|(_, count)| **count != 0).collect();
        let expected = if kind == "upvote" { "downvote" } else { "upvote" };
        assert_eq!(left, [(&expected.to_owned(), &json!(1))], "{kind}");
        let list = app.anonymous().get(&format!("{}/reactions", path(entity))).await.expect(200);
        assert_eq!(
            (list["data"].as_array().unwrap().len(), &list["data"][0]["userId"]),
            (1, &json!(eve.id))
        );
    }
    assert_eq!(reputation(&app, ada.id).await, earned);
    let controversial =
        app.anonymous().get("/entities?sortBy=controversial&limit=100").await.expect(200);
    assert_eq!(controversial["pagination"]["totalItems"], 8);
    counts_are_exact(&app).await;
}

async fn mentions_by_others_are_removed(app: TestApp) {
    let (ada, bob, eve) = (app.user().await, app.user().await, app.user().await);
    let bob_in = |id: String| json!({ "type": "user", "id": id, "username": "bob" });
    let (eves, space) =
        (bob_in(eve.id.to_string()), json!({ "type": "space", "id": bob.id, "slug": "s" }));
    let both =
        json!([bob_in(bob.id.to_string()), eves, bob_in(bob.id.to_string().to_uppercase()), space]);
    let rest = json!([eves, space]);
    let at_once = create(&ada, json!({ "mentions": both, "keywords": ["k"] })).await;
    let later = create(&ada, json!({})).await;
    ada.patch(&path(&later), json!({ "mentions": both })).await.expect(200);
    let draft = create(&ada, json!({ "mentions": both, "isDraft": true })).await;
    let published = create(&ada, json!({ "mentions": both, "isDraft": true })).await;
    app.advance(std::time::Duration::from_secs(60));
    ada.patch(&format!("{}/publish", path(&published)), json!({})).await.expect(200);
    let taken_out = create(&ada, json!({ "mentions": both })).await;
    ada.patch(&path(&taken_out), json!({ "mentions": [] })).await.expect(200);
    delete(&app, bob.id).await.expect(204);
    for entity in [&at_once, &later, &draft, &published] {
        let shown = ada.get(&path(entity)).await.expect(200);
        assert_eq!(shown["mentions"], rest);
        assert_ne!(shown["updatedAt"], Value::Null);
    }
    assert_eq!(ada.get(&path(&at_once)).await.expect(200)["updatedAt"], at_once["updatedAt"]);
    assert_eq!(ada.get(&path(&taken_out)).await.expect(200)["mentions"], json!([]));
    ada.patch(&format!("{}/publish", path(&draft)), json!({})).await.expect(200);
    assert_eq!(feed_size(&app, "keywordsFilters[includes]=k").await, 1);
    delete(&app, eve.id).await.expect(204);
    assert_eq!(ada.get(&path(&draft)).await.expect(200)["mentions"], json!([space]));
    counts_are_exact(&app).await;
}

async fn deletion_by_mail_does_the_same(app: TestApp) {
    let (ada, bob) = (app.user().await, app.user().await);
    let mine = create(&ada, json!({ "title": "Mine" })).await;
    let theirs = create(&bob, json!({ "mentions": [{ "id": ada.id, "username": "ada" }] })).await;
    react(&ada, &theirs, "wow").await.expect(200);
    ada.post("/auth/request-account-deletion", json!({})).await.expect(200);
    let mail = app.next_mail().await;
    let is_code = |line: &&str| line.len() == 6 && line.bytes().all(|b| b.is_ascii_digit());
    let code = mail.lines().find(is_code).unwrap();
    ada.post("/auth/confirm-account-deletion", json!({ "code": code })).await.expect(204);
    let mine = app.anonymous().get(&path(&mine)).await.expect(200);
    assert_eq!((&mine["userId"], &mine["title"]), (&Value::Null, &Value::Null));
    let theirs = app.anonymous().get(&path(&theirs)).await.expect(200);
    assert_eq!((&theirs["reactionCounts"]["wow"], &theirs["mentions"]), (&json!(0), &json!([])));
    counts_are_exact(&app).await;
}

async fn deleted_and_hidden_entities_do_not_hold_their_author(app: TestApp) {
    let (ada, bob) = (app.user().await, app.user().await);
    let entity = create(&ada, json!({ "title": "Gone" })).await;
    react(&bob, &entity, "like").await.expect(200);
    let project = app.project.id;
    app.change_settings(project, |settings| settings.entity_deletion = "soft").await;
    ada.delete(&path(&entity)).await.expect(204);
    delete(&app, bob.id).await.expect(204);
    delete(&app, ada.id).await.expect(204);
    let left = app.app.db.read(move |c| {
        let text = "SELECT count(*) FROM entities e JOIN entity_bodies b
                ON b.project_id = e.project_id AND b.id = e.id
            WHERE e.project_id = $1 AND e.user_id IS NULL AND e.like_count = 0 AND b.title IS NULL";
        c.one(&db::Query::<i64>::built("left", text), db::args![project])
    });
    assert_eq!(left.await.unwrap(), 1);
}

/// Others react to the user's entities, and to those that the user has reacted to, all the while.
async fn deletion_among_reactions_keeps_every_count(app: TestApp) {
    let ada = app.user().await;
    let mut others = Vec::new();
    for _ in 0..6 {
        others.push(app.user().await);
    }
    for _ in 0..3 {
        let leaver = app.user().await;
        let mut targets = Vec::new();
        for n in 0..4 {
            targets.push(create(if n % 2 == 0 { &ada } else { &leaver }, json!({})).await);
            react(&leaver, &targets[n], "upvote").await.expect(200);
        }
        let kinds = ["upvote", "downvote", "love"];
        let reactions = all_at_once((0..48).map(|n| {
            let (user, target, kind) = (&others[n % 6], &targets[n / 6 % 4], kinds[n % 3]);
            async move {
                let address = format!("{}/reactions", path(target));
                if n % 5 == 4 {
                    user.delete(&address).await
                } else {
                    react(user, target, kind).await
                }
            }
        }));
        let (gone, reactions) = tokio::join!(delete(&app, leaver.id), reactions);
        assert_eq!((gone.status, count(&reactions, 200)), (204, 48));
        counts_are_exact(&app).await;
    }
}

/// Whatever the user is doing at that moment is done wholly before or not at all.
async fn deletion_among_the_users_own_writes_keeps_every_count(app: TestApp) {
    let ada = app.user().await;
    let target = create(&ada, json!({})).await;
    for _ in 0..4 {
        let leaver = app.user().await;
        let mine = create(&leaver, json!({})).await;
        let writes = all_at_once((0..24).map(|n| {
            let (leaver, target, mine) = (&leaver, &target, &mine);
            async move {
                match n % 4 {
                    0 => leaver.post("/entities", json!({ "keywords": ["k"] })).await,
                    1 => react(leaver, target, "like").await,
                    2 => leaver.patch(&path(mine), json!({ "title": n.to_string() })).await,
                    _ => react(leaver, mine, "wow").await,
                }
            }
        }));
        let (gone, writes) = tokio::join!(delete(&app, leaver.id), writes);
        gone.expect(204);
        for reply in &writes {
            let known = [
                "200",
                "201",
                "403 auth/no-user-found",
                "403 entity/not-authorized",
                "404 entity/user-not-found",
            ];
            assert!(known.contains(&reply.outcome().as_str()), "{}", reply.outcome());
        }
        counts_are_exact(&app).await;
        let shown = app.anonymous().get(&path(&target)).await.expect(200);
        assert_eq!(shown["reactionCounts"]["like"], 0);
    }
}
