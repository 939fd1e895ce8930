//! What a block hides: for each of the two, every endpoint behaves as if the other did not exist.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use townhall::http::openapi;
use townhall::tenancy::{Bundle, store as projects};
use townhall::values::ids::UserId;

use crate::blocks::block;
use crate::comments::{comment, path, reply};
use crate::notifications::{UNKNOWN, in_every_version};
use crate::reaction_notices::told;
use crate::reactions::{publish, react, reactions};
use crate::space_members::open_space;
use crate::spaces::join;
use crate::support::feed::{listed, lists, page};
use crate::support::{Actor, Reply, TestApp, User, on_both_engines};

on_both_engines![
    no_list_shows_one_to_the_other,
    content_of_blocked_users_is_not_found,
    feeds_leave_out_the_other_and_count_without_them,
    the_viewer_can_choose_to_see_users_they_blocked,
    reactors_are_left_out_of_lists_and_totals,
    comments_of_the_other_are_not_there,
    neither_mentions_the_other_any_more,
    a_key_acting_as_a_user_is_subject_to_their_blocks,
    without_moderation_blocks_are_inert,
];

/// Four users: the first has blocked the second; the third knows them both, and both have asked the
/// fourth and were asked by them.
struct Town<'a> {
    app: &'a TestApp,
    ada: User<'a>,
    bob: User<'a>,
    cleo: User<'a>,
    dan: User<'a>,
    /// What the third wrote and both reacted to, and said about it.
    entity: String,
    comment: Value,
    /// A space of the third's that both have joined.
    space: Value,
    /// A collection of each of the two, in which they have saved what the other wrote.
    collections: [String; 2],
}

impl<'a> Town<'a> {
    async fn new(app: &'a TestApp) -> Town<'a> {
        let (ada, bob) = (app.user().await, app.user().await);
        let (cleo, dan) = (app.user().await, app.user().await);
        let entity = publish(&cleo).await;
        let comment = comment(&cleo, &entity, "c").await;
        let space = open_space(&cleo).await;
        let mut written = Vec::new();
        for user in [&ada, &bob] {
            let new = json!({ "title": "t", "keywords": ["k"] });
            written.push(user.post("/entities", new).await.expect(201)["id"].take());
            crate::comments::comment(user, &entity, "x").await;
            reply(user, &comment, "y").await;
            let body = json!({ "reactionType": "upvote" });
            user.post(&format!("{}/reactions", path(&comment)), body).await.expect(200);
            user.post("/entities", json!({ "title": "d", "isDraft": true })).await.expect(201);
            react(user, &entity, "upvote").await;
            join(user, &space).await;
            follow(user, cleo.id).await;
            follow(&cleo, user.id).await;
            let asked = ask(user, cleo.id).await;
            cleo.patch(&format!("/connections/{asked}/accept"), json!({})).await.expect(200);
        }
        // One list of each kind that both are in.
        ask(&ada, dan.id).await;
        ask(&bob, dan.id).await;
        follow(&ada, bob.id).await;
        follow(&bob, ada.id).await;
        let mut collections = Vec::new();
        for (user, saved) in [(&ada, &written[1]), (&bob, &written[0])] {
            let root = user.get("/collections/root").await.expect(200)["id"].take();
            let inside = format!("/collections/{}", root.as_str().unwrap());
            let body = json!({ "entityId": saved });
            user.post(&format!("{inside}/entities"), body).await.expect(200);
            collections.push(inside);
        }
        block(&ada, &bob).await;
        let collections = collections.try_into().unwrap();
        Town { app, ada, bob, cleo, dan, entity, comment, space, collections }
    }
}

async fn follow(user: &Actor<'_>, other: UserId) {
    user.post(&format!("/users/{other}/follow"), json!({})).await.expect(201);
}

async fn ask(user: &Actor<'_>, other: UserId) -> String {
    let asked = user.post(&format!("/users/{other}/connection"), json!({})).await.expect(201);
    asked["id"].as_str().unwrap().to_owned()
}

/// Every list of the API, and the addresses under which it is asked for. A new list belongs in here.
fn addresses(town: &Town<'_>, viewer: &User<'_>, path: &str) -> Option<Vec<String>> {
    let own = &town.collections[usize::from(viewer.id == town.bob.id)];
    let entity = crate::comments::id_of(&town.entity);
    let (cleo, dan) = (town.cleo.id, town.dan.id);
    let of_users = |end: &str| vec![format!("/users/{cleo}/{end}"), format!("/users/{dan}/{end}")];
    Some(match path {
        "/entities" => [
            "",
            "?sortBy=hot",
            "?keywordsFilters[includes]=k",
            "?include=user",
            "?followedOnly=true",
        ]
        .map(|query| format!("/entities{query}"))
        .to_vec(),
        "/entities/{entityId}/reactions" => {
            let list = reactions(&town.entity);
            vec![list.clone(), format!("{list}?reactionType=upvote&sortDir=asc")]
        }
        "/users/suggestions" => {
            ["user", "ser"].map(|part| format!("/users/suggestions?query={part}")).to_vec()
        }
        "/users/{userId}/followers" => of_users("followers?query=user"),
        "/users/{userId}/following" => of_users("following"),
        "/users/{userId}/connections" => of_users("connections"),
        "/entities/drafts"
        | "/follows/followers"
        | "/follows/following"
        | "/connections"
        | "/connections/pending/sent"
        | "/connections/pending/received" => vec![path.to_owned()],
        "/comments" => [
            String::new(),
            format!("?entityId={entity}&include=user,entity"),
            format!("?entityId={entity}&sortBy=top"),
            format!("?entityId={entity}&parentId=none&sortBy=controversial"),
            format!("?parentId={}", town.comment["id"].as_str().unwrap()),
            format!("?userId={}", town.cleo.id),
            format!("?userId={}", town.bob.id),
            format!("?userId={}", town.ada.id),
        ]
        .into_iter()
        .filter(|query| *query != format!("?userId={}", viewer.id))
        .map(|query| format!("/comments{query}"))
        .collect(),
        "/comments/{commentId}/reactions" => {
            let list = format!("{}/reactions", self::path(&town.comment));
            vec![list.clone(), format!("{list}?reactionType=upvote&sortDir=asc")]
        }
        "/collections/{collectionId}/entities" => ["", "?sortBy=added", "?sortBy=hot&sortDir=asc"]
            .map(|query| format!("{own}/entities{query}"))
            .to_vec(),
        "/collections/{collectionId}/sub-collections" => vec![format!("{own}/sub-collections")],
        "/lists/{listId}/sub-lists" => {
            vec![format!("{}/sub-lists", own.replace("/collections/", "/lists/"))]
        }
        "/reports/moderated" | "/spaces/user-spaces" => vec![path.to_owned()],
        "/spaces" => ["", "?memberOf=true"].map(|query| format!("/spaces{query}")).to_vec(),
        "/spaces/mutual/{userId}" => vec![format!("/spaces/mutual/{cleo}")],
        "/spaces/{spaceId}/members" => ["", "?role=member"]
            .map(|query| format!("{}/members{query}", crate::spaces::path(&town.space)))
            .to_vec(),
        "/spaces/{spaceId}/children" | "/spaces/{spaceId}/team" | "/spaces/{spaceId}/rules" => {
            vec![path.replace("{spaceId}", town.space["id"].as_str().unwrap())]
        }
        // Blocks do not apply in groups: members see each other.
        "/chat/conversations/{conversationId}/members"
        | "/chat/conversations/{conversationId}/messages/{messageId}/reactions"
        // Nor in events, where a block only keeps notifications away, nor in the history of grants.
        | "/events"
        | "/events/{eventId}/rsvps"
        | "/events/{eventId}/invites"
        | "/reputation-grants"
        // Nor in the log of a space, which names nobody but those who were banned.
        | "/spaces/{spaceId}/moderation-log"
        // Nor in workspaces; who invites whom is in `workspace_invites`.
        | "/workspaces"
        | "/workspaces/{workspaceId}/invites"
        | "/me/workspace-invites" => Vec::new(),
        // The caller's own, without users, or for keys only.
        "/blocks" | "/moderation/appeals" | "/app-notifications" | "/reports" | "/db/{tableName}" => Vec::new(),
        _ => return None,
    })
}

/// The paths of operations that reply with lists.
fn list_operations() -> BTreeSet<String> {
    let document = openapi::document(townhall::features::operations(), None);
    let prefix = "/v8/{projectId}";
    let is_list = |operation: &Value| {
        let schema = &operation["responses"]["200"]["content"]["application/json"]["schema"];
        let name = schema["$ref"].as_str().and_then(|name| name.rsplit('/').next());
        let schema = name.map_or(schema, |name| &document["components"]["schemas"][name]);
        schema["type"] == "array" || schema["properties"]["data"]["type"] == "array"
    };
    let paths = document["paths"].as_object().unwrap().iter();
    let lists = paths.filter(|(_, methods)| is_list(&methods["get"]));
    lists.filter_map(|(path, _)| path.strip_prefix(prefix).map(str::to_owned)).collect()
}

async fn no_list_shows_one_to_the_other(app: TestApp) {
    let town = Town::new(&app).await;
    let operations = list_operations();
    assert!(operations.len() >= 14, "{operations:?}");
    for operation in &operations {
        for (viewer, other) in [(&town.ada, &town.bob), (&town.bob, &town.ada)] {
            let addresses = addresses(&town, viewer, operation);
            let addresses =
                addresses.unwrap_or_else(|| panic!("{operation} is a list: add it here"));
            for address in addresses {
                for actor in in_every_version(viewer) {
                    let reply = actor.get(&address).await;
                    let body = reply.expect(200);
                    let id = other.id.to_string();
                    assert!(!reply.text().contains(&id), "{address} shows {body:#}");
                    let pagination = &body["pagination"];
                    let total = &pagination.get("totalItems").unwrap_or(&pagination["total"]);
                    if let Some(data) = body["data"].as_array()
                        && !total.is_null()
                    {
                        assert_eq!(**total, data.len(), "{address}: {body:#}");
                    }
                }
            }
        }
    }
    // They are there for everybody else.
    for list in ["followers", "following", "connections"] {
        for other in [town.app.anonymous(), (*town.dan).clone(), town.app.service()] {
            let page = other.get(&format!("/users/{}/{list}", town.cleo.id)).await.expect(200);
            assert_eq!(page["pagination"]["totalItems"], 2, "{list}");
            let count = other.get(&format!("/users/{}/{list}-count", town.cleo.id)).await;
            assert_eq!(count.expect(200), json!({ "count": 2 }), "{list}");
        }
        for one in [&town.ada, &town.bob] {
            let count = one.get(&format!("/users/{}/{list}-count", town.cleo.id)).await;
            assert_eq!(count.expect(200), json!({ "count": 1 }), "{list}");
        }
        // The one who blocked is not there at all; the other way round the lists stay.
        let (ada, bob) = (town.ada.id, town.bob.id);
        let count = town.bob.get(&format!("/users/{ada}/{list}-count")).await.expect(200);
        assert_eq!(count, json!({ "count": 0 }), "{list}");
        let hidden = town.bob.get(&format!("/users/{ada}/{list}")).await;
        let unknown = town.bob.get(&format!("/users/{UNKNOWN}/{list}")).await;
        assert_eq!(hidden.body, unknown.body, "{list}");
        let seen = town.ada.get(&format!("/users/{bob}/{list}-count")).await.expect(200);
        assert_eq!(seen, json!({ "count": 1 }), "{list}");
    }
}

/// The same to the letter.
fn same(hidden: &Reply, unknown: &Reply, what: &str) {
    assert_eq!((hidden.status, &hidden.body), (unknown.status, &unknown.body), "{what}");
    assert!(hidden.status >= 400, "{what}: {}", hidden.text());
}

async fn content_of_blocked_users_is_not_found(app: TestApp) {
    let town = Town::new(&app).await;
    for (one, other) in [(&town.ada, &town.bob), (&town.bob, &town.ada)] {
        let foreign = format!("of-{}", other.id);
        let new = json!({ "title": "t", "foreignId": foreign });
        let entity = other.post("/entities", new).await.expect(201);
        let id = entity["id"].as_str().unwrap();
        let short = entity["shortId"].as_str().unwrap();
        let nobody = "1111111111111111111111";
        for actor in in_every_version(one) {
            for (hidden, unknown) in [
                (format!("/entities/{id}"), format!("/entities/{UNKNOWN}")),
                (
                    format!("/entities/by-short-id?shortId={short}"),
                    format!("/entities/by-short-id?shortId={nobody}"),
                ),
                (
                    format!("/entities/by-foreign-id?foreignId={foreign}"),
                    "/entities/by-foreign-id?foreignId=none".to_owned(),
                ),
                (format!("/entities/{id}/reactions"), format!("/entities/{UNKNOWN}/reactions")),
                (
                    format!("/entities/{id}/reactions/me"),
                    format!("/entities/{UNKNOWN}/reactions/me"),
                ),
            ] {
                same(&actor.get(&hidden).await, &actor.get(&unknown).await, &hidden);
            }
            let (hidden, unknown) = (format!("/entities/{id}"), format!("/entities/{UNKNOWN}"));
            let title = json!({ "title": "x" });
            let changed = actor.patch(&hidden, title.clone()).await;
            same(&changed, &actor.patch(&unknown, title).await, "update");
            same(&actor.delete(&hidden).await, &actor.delete(&unknown).await, "delete");
            let like = json!({ "reactionType": "like" });
            let reacted = actor.post(&reactions(&hidden), like.clone()).await;
            same(&reacted, &actor.post(&reactions(&unknown), like).await, "react");
            for vote in ["upvote", "downvote", "remove-upvote", "remove-downvote"] {
                let voted = actor.patch(&format!("{hidden}/{vote}"), json!({})).await;
                let nothing = actor.patch(&format!("{unknown}/{vote}"), json!({})).await;
                same(&voted, &nothing, vote);
            }
        }
        let path = format!("/entities/{id}");
        for another in [app.anonymous(), app.service(), (*town.cleo).clone()] {
            another.get(&path).await.expect(200);
        }
        assert_eq!(other.get(&path).await.expect(200)["reactionCounts"]["like"], 0);
    }
}

async fn feeds_leave_out_the_other_and_count_without_them(app: TestApp) {
    let (ada, bob, cleo) = (app.user().await, app.user().await, app.user().await);
    for (user, name) in [(&ada, "a"), (&bob, "b"), (&cleo, "c")] {
        for n in 1..=2 {
            let new = json!({
                "title": format!("{name}{n}"), "keywords": ["k", name], "metadata": { "n": n },
                "sourceId": "s",
            });
            crate::support::feed::post(&app, user, new).await;
        }
    }
    crate::support::feed::post(&app, &app.anonymous(), json!({ "title": "n", "sourceId": "s" }))
        .await;
    block(&ada, &bob).await;
    let of_bob = format!("userId={}", bob.id);
    lists(
        &ada,
        &[
            ("", "n c2 c1 a2 a1"),
            ("sortBy=hot", "n c2 c1 a2 a1"),
            ("sortBy=top", "n c2 c1 a2 a1"),
            ("sortBy=metadata.n", "c2 a2 c1 a1 n"),
            ("sourceId=s", "n c2 c1 a2 a1"),
            ("keywordsFilters[includes]=k", "c2 c1 a2 a1"),
            ("keywordsFilters[includes]=b", ""),
            ("titleFilters[includes]=1", "c1 a1"),
            ("metadataFilters[includes][n]=1", "c1 a1"),
            ("timeFrame=hour", "n c2 c1 a2 a1"),
            (&of_bob, ""),
        ],
    )
    .await;
    assert_eq!(listed(&bob, "").await, "n c2 c1 b2 b1");
    for other in [app.anonymous(), app.service(), (*cleo).clone()] {
        assert_eq!(listed(&other, "").await, "n c2 c1 b2 b1 a2 a1");
    }
    // Pages follow each other without a gap.
    let first = page(&ada, "limit=3").await;
    assert_eq!(crate::support::feed::titles(&first), "n c2 c1");
    assert_eq!(first["pagination"]["totalItems"], 5);
    let second = page(&ada, "limit=3&page=2").await;
    assert_eq!(crate::support::feed::titles(&second), "a2 a1");
    ada.delete(&crate::blocks::path(bob.id)).await;
    assert_eq!(listed(&ada, "").await, "n c2 c1 b2 b1 a2 a1");
}

async fn the_viewer_can_choose_to_see_users_they_blocked(app: TestApp) {
    let (ada, bob, cleo) = (app.user().await, app.user().await, app.user().await);
    for (user, name) in [(&ada, "a"), (&bob, "b"), (&cleo, "c")] {
        crate::support::feed::post(&app, user, json!({ "title": name })).await;
    }
    block(&ada, &bob).await;
    block(&cleo, &ada).await;
    let again = "blockedFilter=include-outbound-blocked";
    assert_eq!(listed(&ada, "").await, "a");
    assert_eq!(listed(&ada, "blockedFilter=exclude").await, "a");
    assert_eq!(listed(&ada, again).await, "b a", "never who has blocked them");
    assert_eq!(listed(&bob, again).await, "c b");
    assert_eq!(listed(&cleo, again).await, "c b a");
    ada.get("/entities?blockedFilter=all").await.refused(400, "entity/invalid-query");
    let shown = page(&ada, again).await["data"][0]["id"].as_str().unwrap().to_owned();
    let like = json!({ "reactionType": "like" });
    let reacted = ada.post(&format!("/entities/{shown}/reactions"), like).await;
    reacted.refused(404, "entity/not-found");
}

async fn reactors_are_left_out_of_lists_and_totals(app: TestApp) {
    let town = Town::new(&app).await;
    react(&town.dan, &town.entity, "love").await;
    let list = reactions(&town.entity);
    for (query, total) in
        [("", 2), ("?reactionType=upvote", 1), ("?reactionType=love", 1), ("?limit=1&page=2", 2)]
    {
        for user in [&town.ada, &town.bob] {
            let found = user.get(&format!("{list}{query}")).await.expect(200);
            assert_eq!(found["pagination"]["total"], total, "{query}");
        }
        let found = town.cleo.get(&format!("{list}{query}")).await.expect(200);
        assert!(found["pagination"]["total"].as_i64().unwrap() >= total, "{query}");
    }
    let all = app.anonymous().get(&list).await.expect(200);
    assert_eq!(all["pagination"]["total"], 3);
    // v6 lists the voters with the entity.
    for (user, voters) in [(&town.ada, 1), (&town.bob, 1), (&town.cleo, 2)] {
        let shown = user.v6().get(&town.entity).await.expect(200);
        assert_eq!(shown["upvotes"].as_array().unwrap().len(), voters);
    }
}

async fn comments_of_the_other_are_not_there(app: TestApp) {
    let (ada, bob, cleo) = (app.user().await, app.user().await, app.user().await);
    let entity = publish(&cleo).await;
    let (of_ada, of_bob) = (publish(&ada).await, publish(&bob).await);
    let mine = crate::comments::comment(&ada, &entity, "a").await;
    app.advance(std::time::Duration::from_secs(1));
    let theirs = crate::comments::comment(&bob, &entity, "b").await;
    let below = reply(&cleo, &mine, "c").await;
    block(&ada, &bob).await;
    for (one, hidden, own_entity, other_entity) in
        [(&ada, &theirs, &of_ada, &of_bob), (&bob, &mine, &of_bob, &of_ada)]
    {
        let unknown = format!("/comments/{UNKNOWN}");
        for end in ["", "/reactions", "/reactions/me"] {
            let reply = one.get(&format!("{}{end}", path(hidden))).await;
            same(&reply, &one.get(&format!("{unknown}{end}")).await, end);
        }
        let react = json!({ "reactionType": "like" });
        let reply = one.post(&format!("{}/reactions", path(hidden)), react.clone()).await;
        same(&reply, &one.post(&format!("{unknown}/reactions"), react).await, "react");
        let on = |entity: &str, parent: &Value, quoted: &Value| {
            json!({
                "entityId": crate::comments::id_of(entity), "content": "x", "parentId": parent,
                "referencedCommentId": quoted,
            })
        };
        let null = Value::Null;
        for (new, code) in [
            (on(other_entity, &null, &null), "comment/entity-not-found"),
            (on(&entity, &hidden["id"], &null), "comment/parent-not-found"),
            (on(own_entity, &null, &hidden["id"]), "comment/referenced-comment-not-found"),
        ] {
            one.post("/comments", new).await.refused(404, code);
        }
        let of_other = format!("/comments?entityId={}", crate::comments::id_of(other_entity));
        assert_eq!(one.get(&of_other).await.expect(200)["pagination"]["totalItems"], 0);
    }
    // Replies to them are listed, but not what they reply to.
    let shown = bob.get(&format!("{}?include=parent", path(&below))).await.expect(200);
    assert_eq!(shown["comment"]["parentComment"], Value::Null);
    // The top comment is by a visible user.
    let up = json!({ "reactionType": "upvote" });
    cleo.post(&format!("{}/reactions", path(&theirs)), up).await.expect(200);
    let top = async |actor: &Actor<'_>| {
        let top = actor.get(&format!("{entity}/top-comment")).await.expect(200);
        let shown = actor.get(&format!("{entity}?include=topComment")).await.expect(200);
        assert_eq!(shown["topComment"]["id"], top["id"]);
        top["id"].clone()
    };
    assert_eq!(top(&cleo).await, theirs["id"]);
    assert_eq!(top(&ada).await, mine["id"]);
    // The viewer can show users they blocked, but not the other way round.
    let again = format!(
        "/comments?entityId={}&blockedFilter=include-outbound-blocked",
        crate::comments::id_of(&entity)
    );
    assert_eq!(ada.get(&again).await.expect(200)["pagination"]["totalItems"], 3);
    assert_eq!(bob.get(&again).await.expect(200)["pagination"]["totalItems"], 2);
    // Also on their content, if anybody else has blocked the viewer.
    let on_other = format!(
        "/comments?entityId={}&blockedFilter=include-outbound-blocked",
        crate::comments::id_of(&of_bob)
    );
    crate::comments::comment(&cleo, &of_bob, "d").await;
    let dan = app.user().await;
    for _ in 0..2 {
        assert_eq!(ada.get(&on_other).await.expect(200)["pagination"]["totalItems"], 1);
        dan.post(&format!("/users/{}/block", ada.id), json!({})).await;
    }
    // Below a comment of the other there is nothing to be seen.
    let below = format!("/comments?parentId={}", mine["id"].as_str().unwrap());
    assert_eq!(bob.get(&below).await.expect(200)["pagination"]["totalItems"], 0);
    assert_eq!(ada.get(&below).await.expect(200)["pagination"]["totalItems"], 1);
    // Blocks do not keep anybody from reporting.
    let report = json!({ "targetType": "comment", "targetId": mine["id"], "reason": "spam" });
    bob.post("/reports", report).await.expect(201);
    // Mentions are dropped without a word.
    let mention = json!({
        "entityId": crate::comments::id_of(&entity), "content": "x",
        "mentions": [{ "id": bob.id, "username": "bob" }, { "id": cleo.id, "username": "cleo" }],
    });
    let said = ada.post("/comments", mention).await.expect(201);
    assert_eq!(said["mentions"].as_array().unwrap().len(), 1);
    // What the other wrote can neither be saved nor is it found where it was saved.
    let root = ada.get("/collections/root").await.expect(200);
    let inside = format!("/collections/{}/entities", root["id"].as_str().unwrap());
    let save = json!({ "entityId": crate::comments::id_of(&of_bob) });
    ada.post(&inside, save).await.refused(404, "entity/not-found");
}

async fn neither_mentions_the_other_any_more(app: TestApp) {
    let (ada, bob, cleo) = (app.user().await, app.user().await, app.user().await);
    let mention = |user: &User<'_>| json!({ "type": "user", "id": user.id, "username": "x" });
    let all = json!([mention(&ada), mention(&bob), mention(&cleo)]);
    let old = bob.post("/entities", json!({ "mentions": all })).await.expect(201);
    let draft = json!({ "mentions": all, "isDraft": true });
    let draft = bob.post("/entities", draft).await.expect(201);
    block(&ada, &bob).await;
    for (author, other) in [(&ada, &bob), (&bob, &ada)] {
        let before = told(other, "entity-mention").await.len();
        let made = author.post("/entities", json!({ "mentions": all })).await.expect(201);
        let expected = json!([mention(author), mention(&cleo)]);
        let kept: Vec<Value> = made["mentions"].as_array().unwrap().clone();
        assert_eq!(kept.len(), 2, "{kept:?}");
        assert!(kept.iter().all(|one| expected.as_array().unwrap().contains(one)), "{kept:?}");
        let path = format!("/entities/{}", made["id"].as_str().unwrap());
        let changed = author.patch(&path, json!({ "mentions": all })).await.expect(200);
        assert_eq!(changed["mentions"].as_array().unwrap().len(), 2, "nor later");
        assert_eq!(told(other, "entity-mention").await.len(), before);
    }
    // Mentions from before the block stay, but notify nobody.
    let path = format!("/entities/{}", old["id"].as_str().unwrap());
    let changed = bob.patch(&path, json!({ "title": "x", "mentions": all })).await.expect(200);
    assert_eq!(changed["mentions"].as_array().unwrap().len(), 3);
    let before = told(&ada, "entity-mention").await.len();
    let publish = format!("/entities/{}/publish", draft["id"].as_str().unwrap());
    let published = bob.patch(&publish, json!({})).await.expect(200);
    assert_eq!(published["mentions"].as_array().unwrap().len(), 3);
    assert_eq!(told(&ada, "entity-mention").await.len(), before);
    assert_eq!(told(&cleo, "entity-mention").await.len(), 4);
}

async fn a_key_acting_as_a_user_is_subject_to_their_blocks(app: TestApp) {
    let town = Town::new(&app).await;
    let entity = publish(&town.ada).await;
    for key in [app.service(), app.master()] {
        key.get(&entity).await.expect(200);
        let as_bob = json!({ "reactionType": "like", "userId": town.bob.id });
        let refused = key.post(&reactions(&entity), as_bob).await;
        refused.refused(404, "entity/not-found");
        let as_cleo = json!({ "reactionType": "like", "userId": town.cleo.id });
        key.post(&reactions(&entity), as_cleo).await.expect(200);
        let acting = json!({ "actingUserId": town.bob.id });
        let follow = format!("/users/{}/follow", town.ada.id);
        key.post(&follow, acting).await.refused(404, "follow/user-not-found");
    }
}

async fn without_moderation_blocks_are_inert(app: TestApp) {
    let town = Town::new(&app).await;
    let id = app.project.id;
    let removed =
        app.app.db.write(move |tx| projects::remove_bundle(tx, id, Bundle::Moderation.name()));
    removed.await.unwrap();
    app.advance(std::time::Duration::from_secs(1));
    let (ada, bob) = (&town.ada, &town.bob);
    bob.get(&format!("/users/{}", ada.id)).await.expect(200);
    bob.post(&format!("/users/{}/follow", ada.id), json!({})).await.expect(201);
    let found = bob.get("/entities?limit=100").await.expect(200);
    assert_eq!(found["pagination"]["totalItems"], 3);
    let suggested = bob.get("/users/suggestions?query=user").await.expect(200);
    assert_eq!(suggested.as_array().unwrap().len(), 4);
    let listed = bob.get(&reactions(&town.entity)).await.expect(200);
    assert_eq!(listed["pagination"]["total"], 2);
    bob.get(&crate::blocks::path(ada.id)).await.refused(403, "database/tables-not-available");
}
