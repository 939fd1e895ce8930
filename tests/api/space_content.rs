//! Content of a space: who reads it, who publishes there, and that nothing of it shows elsewhere.

use serde_json::{Value, json};
use townhall::values::ids::EntityId;

use crate::comments::{comment, path as comment_path};
use crate::notifications::UNKNOWN;
use crate::reaction_notices::told;
use crate::space_members::{membership, of, open_space};
use crate::spaces::{create, id, join, path};
use crate::support::feed::{listed, page, post};
use crate::support::{Actor, TestApp, all_at_once, keys, on_both_engines};

on_both_engines![
    posting_follows_the_permission_of_the_space,
    a_closed_space_is_not_there_for_strangers_who_post,
    banned_users_cannot_comment_in_the_space,
    members_only_content_is_not_found_for_others,
    feeds_and_their_totals_leave_out_unreadable_spaces,
    totals_stay_exact_while_a_space_opens_and_closes,
    own_content_is_never_out_of_reach,
    content_of_former_members_links_to_nothing_unreadable,
    every_other_endpoint_hides_members_only_content,
    comments_and_collections_leave_out_unreadable_spaces,
    nobody_is_notified_about_unreadable_content,
    entities_show_their_space_and_its_flag,
    points_are_earned_in_the_space_and_summed_below_it,
    files_of_a_space_are_attached_by_its_team,
];

fn in_space(space: &Value, title: &str) -> Value {
    json!({ "title": title, "spaceId": space["id"] })
}

async fn total(actor: &Actor<'_>, query: &str) -> i64 {
    page(actor, query).await["pagination"]["totalItems"].as_i64().unwrap()
}

async fn posting_follows_the_permission_of_the_space(app: TestApp) {
    let (ada, moderator, member, pending, user, banned) = (
        app.user().await,
        app.user().await,
        app.user().await,
        app.user().await,
        app.user().await,
        app.user().await,
    );
    let space = open_space(&ada).await;
    let raised = join(&moderator, &space).await;
    ada.patch(&of(&space, &raised, "/role"), json!({ "role": "moderator" })).await.expect(200);
    join(&member, &space).await;
    let gone = join(&banned, &space).await;
    ada.patch(&of(&space, &gone, "/ban"), json!({})).await.expect(200);
    ada.patch(&path(&space), json!({ "requireJoinApproval": true })).await.expect(200);
    join(&pending, &space).await;
    let (no, banished) = ("403 space/posting-not-allowed", "403 space/banned");
    let actors: [(&Actor<'_>, [&str; 3]); 7] = [
        (&ada, ["201", "201", "201"]),
        (&moderator, ["201", "201", "201"]),
        (&member, ["201", "201", no]),
        (&pending, ["201", no, no]),
        (&user, ["201", no, no]),
        (&banned, [banished, banished, banished]),
        (&app.service(), ["201", "201", "201"]),
    ];
    for (column, permission) in ["anyone", "members", "admins"].iter().enumerate() {
        ada.patch(&path(&space), json!({ "postingPermission": permission })).await.expect(200);
        for (row, (actor, expected)) in actors.iter().enumerate() {
            let posted = actor.post("/entities", in_space(&space, "t")).await;
            assert_eq!(posted.outcome(), expected[column], "{permission} {row}");
        }
        let anonymous = app.anonymous().post("/entities", in_space(&space, "t")).await.outcome();
        assert_eq!(anonymous, if column == 0 { "201" } else { no });
    }
    // A draft is refused like anything else, and may be published only while its author may post.
    member
        .post("/entities", json!({ "isDraft": true, "spaceId": space["id"] }))
        .await
        .refused(403, "space/posting-not-allowed");
    let draft = ada.post("/entities", json!({ "isDraft": true, "spaceId": space["id"] })).await;
    let publish = format!("/entities/{}/publish", draft.expect(201)["id"].as_str().unwrap());
    let second = join(&user, &space).await;
    ada.patch(&of(&space, &second, "/approve"), json!({})).await.expect(200);
    ada.patch(&of(&space, &second, "/role"), json!({ "role": "admin" })).await.expect(200);
    ada.delete(&format!("{}/leave", path(&space))).await.expect(200);
    ada.patch(&publish, json!({})).await.refused(403, "space/posting-not-allowed");
    app.service().patch(&publish, json!({})).await.expect(200);
    for unknown in [json!(UNKNOWN), json!("x")] {
        ada.post("/entities", json!({ "spaceId": unknown }))
            .await
            .refused(404, "entity/space-not-found");
    }
    let stranger = app.stranger().await;
    stranger.post("/entities", in_space(&space, "t")).await.refused(404, "entity/space-not-found");
}

async fn a_closed_space_is_not_there_for_strangers_who_post(app: TestApp) {
    let (ada, member, pending, rejected, stranger, banned) = (
        app.user().await,
        app.user().await,
        app.user().await,
        app.user().await,
        app.user().await,
        app.user().await,
    );
    let space = open_space(&ada).await;
    join(&member, &space).await;
    let gone = join(&banned, &space).await;
    ada.patch(&of(&space, &gone, "/ban"), json!({})).await.expect(200);
    ada.patch(&path(&space), json!({ "requireJoinApproval": true })).await.expect(200);
    join(&pending, &space).await;
    let asked = join(&rejected, &space).await;
    ada.patch(&of(&space, &asked, "/decline"), json!({})).await.expect(200);
    let (no, banished) = ("403 space/posting-not-allowed", "403 space/banned");
    let absent = "404 entity/space-not-found";
    let anonymous = app.anonymous();
    let actors: [(&Actor<'_>, [&str; 3]); 6] = [
        (&member, ["201", "201", no]),
        (&pending, ["201", no, no]),
        (&rejected, ["201", absent, absent]),
        (&stranger, ["201", absent, absent]),
        (&anonymous, ["201", absent, absent]),
        (&banned, [banished; 3]),
    ];
    for (column, permission) in ["anyone", "members", "admins"].iter().enumerate() {
        let change = json!({ "postingPermission": permission, "readingPermission": "members" });
        ada.patch(&path(&space), change).await.expect(200);
        for (row, (actor, expected)) in actors.iter().enumerate() {
            let posted = actor.post("/entities", in_space(&space, "t")).await;
            assert_eq!(posted.outcome(), expected[column], "{permission} {row}");
            if expected[column] == absent {
                let unknown = json!({ "id": UNKNOWN });
                let unknown = actor.post("/entities", in_space(&unknown, "t")).await;
                assert_eq!(posted.json(), unknown.json(), "as for one that is unknown");
            }
        }
    }
}

async fn banned_users_cannot_comment_in_the_space(app: TestApp) {
    let (ada, author, blocked) = (app.user().await, app.user().await, app.user().await);
    let space = open_space(&ada).await;
    join(&author, &space).await;
    let mine = post(&app, &author, in_space(&space, "mine")).await;
    let theirs = post(&app, &ada, in_space(&space, "theirs")).await;
    join(&blocked, &space).await;
    let hidden = post(&app, &blocked, in_space(&space, "hidden")).await;
    blocked.post(&format!("/users/{}/block", author.id), json!({})).await.expect(201);
    let member = membership(&app, &space, &author).await;
    ada.patch(&of(&space, &member, "/ban"), json!({})).await.expect(200);
    for reading in ["anyone", "members"] {
        let change = json!({ "readingPermission": reading });
        ada.patch(&path(&space), change).await.expect(200);
        for entity in [mine, theirs] {
            let said = json!({ "entityId": entity, "content": "x" });
            author.post("/comments", said).await.refused(403, "space/banned");
        }
        let said = json!({ "entityId": hidden, "content": "x" });
        author.post("/comments", said).await.refused(404, "comment/entity-not-found");
    }
    let member = membership(&app, &space, &author).await;
    ada.patch(&of(&space, &member, "/unban"), json!({})).await.expect(200);
    let said = json!({ "entityId": theirs, "content": "x" });
    author.post("/comments", said).await.expect(201);
}

async fn members_only_content_is_not_found_for_others(app: TestApp) {
    let (ada, bob, member, outsider) =
        (app.user().await, app.user().await, app.user().await, app.user().await);
    let space = open_space(&ada).await;
    join(&member, &space).await;
    let gone = join(&bob, &space).await;
    let new = json!({ "title": "t", "spaceId": space["id"], "foreignId": "f" });
    let entity = ada.post("/entities", new).await.expect(201);
    let at = format!("/entities/{}", entity["id"].as_str().unwrap());
    let said = comment(&ada, &at, "c").await;
    ada.post(&format!("{at}/reactions"), json!({ "reactionType": "like" })).await.expect(200);
    ada.patch(&path(&space), json!({ "readingPermission": "members" })).await.expect(200);
    ada.patch(&of(&space, &gone, "/ban"), json!({})).await.expect(200);
    let short = entity["shortId"].as_str().unwrap();
    let reads = [
        at.clone(),
        "/entities/by-foreign-id?foreignId=f".to_owned(),
        format!("/entities/by-short-id?shortId={short}"),
        format!("{at}/reactions"),
        comment_path(&said),
        format!("{}/reactions", comment_path(&said)),
    ];
    for address in &reads {
        for actor in [&*ada, &member, &app.service()] {
            actor.get(address).await.expect(200);
        }
        let lost = address.replace(entity["id"].as_str().unwrap(), UNKNOWN);
        let lost = lost.replace(said["id"].as_str().unwrap(), UNKNOWN);
        let lost =
            lost.replace("foreignId=f", "foreignId=g").replace(short, "mhvXdrZT4jP5T8vBxuvm75");
        for actor in [&*bob, &outsider, &app.anonymous()] {
            let (refused, unknown) = (actor.get(address).await, actor.get(&lost).await);
            assert_eq!((refused.status, refused.text()), (404, unknown.text()), "{address}");
        }
    }
    let lists = [format!("/comments?entityId={}", entity["id"].as_str().unwrap())];
    for actor in [&*bob, &outsider, &app.anonymous()] {
        for list in &lists {
            assert_eq!(actor.get(list).await.expect(200)["pagination"]["totalItems"], 0, "{list}");
        }
        assert_eq!(actor.get(&format!("{at}/top-comment")).await.expect(200), Value::Null);
    }
    let root = outsider.get("/collections/root").await.expect(200);
    let saved = format!("/collections/{}/entities", root["id"].as_str().unwrap());
    for actor in [&bob, &outsider] {
        let like = json!({ "reactionType": "like" });
        actor.post(&format!("{at}/reactions"), like.clone()).await.refused(404, "entity/not-found");
        actor.delete(&format!("{at}/reactions")).await.refused(404, "entity/not-found");
        let on_comment = format!("{}/reactions", comment_path(&said));
        actor.post(&on_comment, like).await.refused(404, "comment/not-found");
        let answer = json!({ "entityId": entity["id"], "content": "x" });
        let expected = match actor.id == bob.id {
            true => "403 space/banned",
            false => "404 comment/entity-not-found",
        };
        assert_eq!(actor.post("/comments", answer).await.outcome(), expected);
        for (kind, target) in [("entity", &entity), ("comment", &said)] {
            let report = json!({ "targetType": kind, "targetId": target["id"], "reason": "spam" });
            actor.post("/reports", report).await.refused(404, "report/target-not-found");
        }
        actor.patch(&at, json!({ "title": "x" })).await.refused(404, "entity/not-found");
        actor.delete(&at).await.refused(404, "entity/not-found");
    }
    assert_eq!(outsider.post(&saved, json!({ "entityId": entity["id"] })).await.status, 404);
    // What was written elsewhere in it is for members as well.
    member.post(&format!("{at}/reactions"), json!({ "reactionType": "like" })).await.expect(200);
    comment(&member, &at, "d").await;
    let likes = ada.get(&at).await.expect(200);
    assert_eq!((&likes["reactionCounts"]["like"], &likes["repliesCount"]), (&json!(2), &json!(2)));
}

async fn feeds_and_their_totals_leave_out_unreadable_spaces(app: TestApp) {
    let (ada, bob, cleo) = (app.user().await, app.user().await, app.user().await);
    let open = open_space(&ada).await;
    let closed =
        create(&ada, json!({ "readingPermission": "members", "requireJoinApproval": false })).await;
    let with = |title: &str, space: Option<&Value>| {
        let mut new = json!({ "title": title, "sourceId": "s", "keywords": ["k"] });
        if let Some(space) = space {
            new["spaceId"] = space["id"].clone();
        }
        new
    };
    post(&app, &ada, with("none", None)).await;
    post(&app, &ada, with("open", Some(&open))).await;
    post(&app, &ada, with("closed", Some(&closed))).await;
    let by = format!("userId={}", ada.id);
    let queries = [
        String::new(),
        "sortBy=hot".to_owned(),
        "sortBy=top".to_owned(),
        "sourceId=s".to_owned(),
        by.clone(),
        "keywordsFilters[includes]=k".to_owned(),
        "timeFrame=day".to_owned(),
        "titleFilters[includes]=e".to_owned(),
        "sortBy=controversial".to_owned(),
    ];
    let everything = "closed open none";
    for query in &queries {
        for (actor, expected) in [
            (&*ada, everything),
            (&app.service(), everything),
            (&*bob, "open none"),
            (&app.anonymous(), "open none"),
        ] {
            assert_eq!(listed(actor, query).await, expected, "{query}");
            assert_eq!(total(actor, query).await, expected.split(' ').count() as i64, "{query}");
        }
    }
    let of_space = |space: &Value| format!("spaceId={}", id(space));
    for (actor, of_open, of_closed) in [
        (&*ada, "open", "closed"),
        (&*bob, "open", ""),
        (&app.anonymous(), "open", ""),
        (&app.service(), "open", "closed"),
    ] {
        assert_eq!(listed(actor, &of_space(&open)).await, of_open);
        assert_eq!(listed(actor, &of_space(&closed)).await, of_closed);
        assert_eq!(total(actor, &of_space(&closed)).await, i64::from(!of_closed.is_empty()));
        assert_eq!(listed(actor, "spaceId=null").await, "none");
    }
    // Members come and go.
    let member = join(&bob, &closed).await;
    join(&cleo, &open).await;
    for query in &queries {
        assert_eq!(listed(&bob, query).await, everything, "{query}");
        assert_eq!(total(&bob, query).await, 3, "{query}");
    }
    ada.patch(&of(&closed, &member, "/ban"), json!({})).await.expect(200);
    let of_cleo = membership(&app, &open, &cleo).await;
    ada.patch(&of(&open, &of_cleo, "/ban"), json!({})).await.expect(200);
    for query in &queries {
        assert_eq!(listed(&bob, query).await, "open none", "{query}");
        assert_eq!(
            (listed(&cleo, query).await.as_str(), total(&cleo, query).await),
            ("none", 1),
            "{query}"
        );
    }
    assert_eq!(listed(&cleo, &of_space(&open)).await, "");
    // A followed author in a space that the viewer cannot read.
    cleo.post(&format!("/users/{}/follow", ada.id), json!({})).await.expect(201);
    assert_eq!(listed(&cleo, "followedOnly=true").await, "none");
    app.run_jobs().await;
}

async fn totals_stay_exact_while_a_space_opens_and_closes(app: TestApp) {
    let (ada, bob) = (app.user().await, app.user().await);
    let space = open_space(&ada).await;
    let mut posted: Vec<EntityId> = Vec::new();
    for n in 0..4 {
        posted.push(post(&app, &ada, in_space(&space, &format!("e{n}"))).await);
    }
    let changes = (0..8).map(|n| {
        let (ada, space, posted) = (&ada, &space, &posted);
        async move {
            match n % 4 {
                0 => ada.post("/entities", in_space(space, "new")).await.status,
                1 => {
                    ada.patch(&path(space), json!({ "readingPermission": "members" })).await.status
                }
                2 => ada.patch(&path(space), json!({ "readingPermission": "anyone" })).await.status,
                _ => ada.delete(&format!("/entities/{}", posted[n / 4])).await.status,
            }
        }
    });
    for status in all_at_once(changes).await {
        assert!([200, 201, 204].contains(&status), "{status}");
    }
    for (reading, seen) in [("members", 0), ("anyone", 4), ("members", 0)] {
        ada.patch(&path(&space), json!({ "readingPermission": reading })).await.expect(200);
        for query in
            [String::new(), format!("userId={}", ada.id), format!("spaceId={}", id(&space))]
        {
            assert_eq!(total(&bob, &query).await, seen, "{reading} {query}");
            assert_eq!(page(&bob, &query).await["data"].as_array().unwrap().len(), seen as usize);
            assert_eq!(total(&ada, &query).await, 4, "{reading} {query}");
        }
    }
}

async fn own_content_is_never_out_of_reach(app: TestApp) {
    let (ada, bob) = (app.user().await, app.user().await);
    let space =
        create(&ada, json!({ "readingPermission": "members", "requireJoinApproval": false })).await;
    let member = join(&bob, &space).await;
    let entity = post(&app, &bob, in_space(&space, "mine")).await;
    let at = format!("/entities/{entity}");
    let said = comment(&bob, &at, "c").await;
    ada.patch(&of(&space, &member, "/ban"), json!({})).await.expect(200);
    bob.get(&at).await.expect(200);
    bob.patch(&at, json!({ "title": "still mine" })).await.expect(200);
    bob.patch(&comment_path(&said), json!({ "content": "d" })).await.expect(200);
    assert_eq!(listed(&bob, &format!("userId={}", bob.id)).await, "still mine");
    assert_eq!(listed(&bob, "").await, "");
    let own = bob.get(&format!("/comments?userId={}", bob.id)).await.expect(200);
    assert_eq!(own["pagination"]["totalItems"], 1);
    bob.delete(&comment_path(&said)).await.expect(204);
    bob.delete(&at).await.expect(204);
}

async fn comments_and_collections_leave_out_unreadable_spaces(app: TestApp) {
    let (ada, bob) = (app.user().await, app.user().await);
    let space = open_space(&ada).await;
    let inside = post(&app, &ada, in_space(&space, "inside")).await;
    let outside = post(&app, &ada, json!({ "title": "outside" })).await;
    let root = bob.get("/collections/root").await.expect(200)["id"].take();
    let saved = format!("/collections/{}/entities", root.as_str().unwrap());
    for entity in [inside, outside] {
        comment(&ada, &format!("/entities/{entity}"), "c").await;
        bob.post(&saved, json!({ "entityId": entity })).await.expect(200);
    }
    let lists = ["/comments".to_owned(), format!("/comments?userId={}", ada.id), saved.clone()];
    for (reading, seen) in [("anyone", 2), ("members", 1)] {
        ada.patch(&path(&space), json!({ "readingPermission": reading })).await.expect(200);
        for list in &lists {
            let listed = bob.get(list).await.expect(200);
            assert_eq!(listed["pagination"]["totalItems"], seen, "{list}");
            assert_eq!(listed["data"].as_array().unwrap().len(), seen, "{list}");
        }
        let listed = bob.v6().get("/lists/root").await.expect(200);
        assert_eq!(listed["entities"].as_array().unwrap().len(), seen);
        let own = ada.get("/comments").await.expect(200);
        assert_eq!(own["pagination"]["totalItems"], 2);
    }
    let listed = bob.get(&format!("{saved}?sortBy=added")).await.expect(200);
    assert_eq!(listed["data"][0]["title"], "outside");
}

async fn nobody_is_notified_about_unreadable_content(app: TestApp) {
    let (ada, bob, cleo) = (app.user().await, app.user().await, app.user().await);
    let space = create(
        &ada,
        json!({ "readingPermission": "members", "requireJoinApproval": false, "slug": "s" }),
    )
    .await;
    join(&bob, &space).await;
    let mentions = json!([
        { "type": "user", "id": bob.id, "username": "b" }, { "type": "user", "id": cleo.id, "username": "c" },
    ]);
    let mut new = in_space(&space, "t");
    new["mentions"] = mentions.clone();
    let entity = ada.post("/entities", new).await.expect(201);
    let heard = told(&bob, "entity-mention").await;
    assert_eq!((heard.len(), told(&cleo, "entity-mention").await.len()), (1, 0));
    for (key, value) in
        [("spaceId", &space["id"]), ("spaceShortId", &space["shortId"]), ("spaceSlug", &json!("s"))]
    {
        assert_eq!(heard[0]["metadata"][key], *value);
    }
    let answer = json!({ "entityId": entity["id"], "content": "x", "mentions": mentions });
    ada.post("/comments", answer.clone()).await.expect(201);
    assert_eq!(
        (told(&bob, "comment-mention").await.len(), told(&cleo, "comment-mention").await.len()),
        (1, 0)
    );
    // A former member is not notified of replies to their comments there.
    let theirs = bob.post("/entities", in_space(&space, "u")).await.expect(201);
    bob.delete(&format!("{}/leave", path(&space))).await.expect(200);
    let answer = json!({ "entityId": theirs["id"], "content": "y" });
    ada.post("/comments", answer).await.expect(201);
    assert!(told(&bob, "entity-comment").await.is_empty());
    let outside = ada.post("/entities", json!({ "title": "t" })).await.expect(201);
    let said = json!({ "entityId": outside["id"], "content": "x" });
    bob.post("/comments", said).await.expect(201);
    let heard = told(&ada, "entity-comment").await;
    assert!(!keys(&heard[0]["metadata"]).contains(&"spaceId".to_owned()));
}

async fn entities_show_their_space_and_its_flag(app: TestApp) {
    let ada = app.user().await;
    let root = open_space(&ada).await;
    let space = create(&ada, json!({ "parentSpaceId": root["id"] })).await;
    let entity = post(&app, &ada, in_space(&space, "in")).await;
    post(&app, &ada, json!({ "title": "out" })).await;
    let at = format!("/entities/{entity}");
    let said = comment(&ada, &at, "c").await;
    let shown = ada.get(&format!("{at}?include=space")).await.expect(200);
    let expected =
        ada.get(&format!("{}/children", path(&root))).await.expect(200)["data"][0].take();
    assert_eq!(shown["space"], expected);
    assert!(ada.get(&at).await.expect(200).get("space").is_none());
    let feed = page(&ada, "include=space").await;
    assert_eq!(
        (&feed["data"][0]["space"], &feed["data"][1]["space"]["id"]),
        (&Value::Null, &space["id"])
    );
    let found = ada.get(&format!("{}?include=space", comment_path(&said))).await.expect(200);
    let found = &found["comment"];
    assert_eq!((&found["spaceId"], &found["entity"]["space"]["id"]), (&space["id"], &space["id"]));
    for (flag, effective, excluded, only) in
        [(false, false, "out in", ""), (true, true, "out", "in")]
    {
        ada.patch(&path(&root), json!({ "nsfw": flag })).await.expect(200);
        let shown = ada.get(&at).await.expect(200);
        assert_eq!((&shown["nsfw"], &shown["nsfwEffective"]), (&json!(false), &json!(effective)));
        for included in ["", "include=user", "include=space"] {
            let feed = page(&ada, included).await;
            let flags = [0, 1].map(|place| feed["data"][place]["nsfwEffective"].clone());
            assert_eq!(flags, [json!(false), json!(effective)], "{included}");
        }
        assert_eq!(listed(&ada, "nsfwFilter=exclude").await, excluded);
        assert_eq!(listed(&ada, "nsfwFilter=only").await, only);
    }
}

async fn points_are_earned_in_the_space_and_summed_below_it(app: TestApp) {
    let ada = app.user().await;
    let root = open_space(&ada).await;
    let child = create(&ada, json!({ "parentSpaceId": root["id"] })).await;
    let below = create(&ada, json!({ "parentSpaceId": child["id"] })).await;
    for space in [&root, &child, &below, &below] {
        ada.post("/entities", in_space(space, "t")).await.expect(201);
    }
    ada.post("/entities", json!({ "title": "t" })).await.expect(201);
    let own = async |query: &str| {
        let shown = ada.get(&format!("/users/{}?{query}", ada.id)).await.expect(200);
        shown["spaceReputation"].as_i64().unwrap()
    };
    let (root, child, below) = (id(&root), id(&child), id(&below));
    assert_eq!(own("spaceReputationId=none").await, 5);
    for (space, alone, with_below) in [(root, 5, 20), (child, 5, 15), (below, 10, 10)] {
        assert_eq!(own(&format!("spaceReputationId={space}")).await, alone);
        let flat = format!("spaceReputationId={space}&spaceReputationDescendants=true");
        assert_eq!(own(&flat).await, with_below);
        let brackets =
            format!("spaceReputation[spaceId]={space}&spaceReputation[includeDescendants]=true");
        assert_eq!(own(&brackets).await, with_below);
    }
    let query = format!("include=user&spaceReputationId={root}&spaceReputationDescendants=true");
    let feed = page(&ada, &query).await;
    assert_eq!(feed["data"][0]["user"]["spaceReputation"], 20);
    let context = page(&ada, "include=user&spaceReputationId=context&sortDir=asc").await;
    let points = context["data"].as_array().unwrap().iter();
    let points: Value = points.map(|one| one["user"]["spaceReputation"].clone()).collect();
    assert_eq!(points.as_array().unwrap().len(), 5);
    assert_eq!(points.as_array().unwrap().iter().filter(|one| **one == 10).count(), 2);
}

async fn files_of_a_space_are_attached_by_its_team(app: TestApp) {
    use crate::support::{Form, Part};
    let (ada, bob) = (app.user().await, app.user().await);
    let space = open_space(&ada).await;
    join(&bob, &space).await;
    let text = Part { name: "file", file: "a.txt", mime: "text/plain", bytes: b"x" };
    let form =
        |space: &str| Form::new().file(text).json("pathParts", json!(["a"])).text("spaceId", space);
    let own = form(space["id"].as_str().unwrap());
    assert_eq!(bob.post_form("/storage", &own).await.status, 403);
    let stored = ada.post_form("/storage", &own).await.expect(201);
    let file =
        bob.get(&format!("/storage/{}", stored["fileId"].as_str().unwrap())).await.expect(200);
    assert_eq!(file["spaceId"], space["id"]);
    ada.post_form("/storage", &form(UNKNOWN)).await.refused(404, "storage/target-not-found");
}

async fn content_of_former_members_links_to_nothing_unreadable(app: TestApp) {
    let (ada, bob, cleo) = (app.user().await, app.user().await, app.user().await);
    let space =
        create(&ada, json!({ "readingPermission": "members", "requireJoinApproval": false })).await;
    let member = join(&bob, &space).await;
    join(&cleo, &space).await;
    let entity = ada.post("/entities", in_space(&space, "secret")).await.expect(201);
    let at = format!("/entities/{}", entity["id"].as_str().unwrap());
    let theirs = comment(&ada, &at, "theirs").await;
    let own = crate::comments::reply(&bob, &theirs, "own").await;
    let written = bob.post("/entities", in_space(&space, "written")).await.expect(201);
    let written_at = format!("/entities/{}", written["id"].as_str().unwrap());
    comment(&cleo, &written_at, "to members").await;
    ada.patch(&of(&space, &member, "/ban"), json!({})).await.expect(200);

    // His own comment is listed, but not its entity nor its parent.
    let shown = bob.get(&format!("{}?include=entity,parent", comment_path(&own))).await.expect(200);
    assert_eq!(shown["comment"]["content"], "own");
    assert_eq!(
        (&shown["comment"]["entity"], &shown["comment"]["parentComment"]),
        (&Value::Null, &Value::Null)
    );
    let listed = bob.get(&format!("/comments?userId={}&include=entity", bob.id)).await.expect(200);
    assert_eq!(
        (&listed["data"][0]["content"], &listed["data"][0]["entity"]),
        (&json!("own"), &Value::Null)
    );
    // His own entity is there, but not what others say about it.
    for query in [
        format!("entityId={}", written["id"].as_str().unwrap()),
        format!("parentId={}", theirs["id"].as_str().unwrap()),
    ] {
        let listed = bob.get(&format!("/comments?{query}")).await.expect(200);
        assert_eq!(listed["pagination"]["totalItems"], 0, "{query}");
    }
    let shown = bob.get(&format!("{written_at}?include=topComment")).await.expect(200);
    assert_eq!(shown["topComment"], Value::Null);
    let shown = cleo.get(&format!("{written_at}?include=topComment")).await.expect(200);
    assert_eq!(shown["topComment"]["content"], "to members");
    // He gets no notifications about the space.
    let like = json!({ "reactionType": "like" });
    cleo.post(&format!("{}/reactions", comment_path(&own)), like.clone()).await.expect(200);
    cleo.post(&format!("{written_at}/reactions"), like).await.expect(200);
    for kind in ["comment-reaction", "entity-reaction"] {
        assert!(told(&bob, kind).await.is_empty(), "{kind}");
    }
    // A quote of what he cannot see is a quote of nothing.
    let outside = bob.post("/entities", json!({ "title": "t" })).await.expect(201);
    let quote =
        json!({ "entityId": outside["id"], "content": "x", "referencedCommentId": theirs["id"] });
    assert_eq!(bob.post("/comments", quote).await.status, 404);
}

async fn every_other_endpoint_hides_members_only_content(app: TestApp) {
    use crate::support::{Form, Part};
    let (ada, bob) = (app.user().await, app.user().await);
    let space = create(&ada, json!({ "readingPermission": "members" })).await;
    let text = Part { name: "files.files", file: "a.txt", mime: "text/plain", bytes: b"x" };
    let form = Form::new().text("title", "t").text("foreignId", "f").file(text);
    let form = form.text("spaceId", space["id"].as_str().unwrap());
    let entity = ada.post_form("/entities", &form).await.expect(201);
    let at = format!("/entities/{}", entity["id"].as_str().unwrap());
    let file = format!("/storage/{}", entity["files"][0]["id"].as_str().unwrap());
    ada.get(&file).await.expect(200);
    bob.get(&file).await.refused(404, "storage/file-not-found");
    bob.v6()
        .patch(&format!("{at}/increment-views"), json!({}))
        .await
        .refused(404, "entity/not-found");
    let made = bob.get("/entities/by-foreign-id?foreignId=f&createIfNotFound=true").await;
    assert_eq!(made.status, 404, "{}", made.outcome());
    let saved = format!("/collections/is-entity-saved?entityId={}", entity["id"].as_str().unwrap());
    let unknown = bob.get(&saved.replace(entity["id"].as_str().unwrap(), UNKNOWN)).await;
    assert_eq!(bob.get(&saved).await.outcome(), unknown.outcome());
    // What is refused is refused before any file is looked at.
    let lost = Form::new().text("foreignId", "f").text("spaceId", UNKNOWN).file(text);
    bob.post_form("/entities", &lost).await.refused(404, "entity/space-not-found");
    let stored = app.stored();
    let shut = Form::new().text("spaceId", space["id"].as_str().unwrap()).file(text);
    bob.post_form("/entities", &shut).await.refused(404, "entity/space-not-found");
    assert_eq!(app.stored(), stored);
}
