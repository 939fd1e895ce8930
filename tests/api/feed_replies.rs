//! The fields of each entity in a list: only what was included, and a constant number of statements.

use serde_json::{Value, json};

use crate::support::feed::{feed, page, post};
use crate::support::{Actor, TestApp, keys, on_both_engines};
use crate::user_lookup::give_points;

on_both_engines![
    only_included_parts_are_embedded,
    a_viewer_sees_their_own_reaction,
    authors_are_shown_without_secrets,
    points_in_a_space_are_shown_beside_authors,
    the_oldest_version_shows_who_voted,
    a_page_costs_as_many_statements_as_an_entity,
];

/// Always there, for everybody.
const PLAIN: [&str; 33] = [
    "attachments",
    "content",
    "createdAt",
    "deletedAt",
    "downvotes",
    "foreignId",
    "id",
    "isDraft",
    "keywords",
    "location",
    "mentions",
    "metadata",
    "moderatedAt",
    "moderatedById",
    "moderatedByType",
    "moderationReason",
    "moderationStatus",
    "nsfw",
    "nsfwEffective",
    "projectId",
    "reactionCounts",
    "repliesCount",
    "score",
    "scoreUpdatedAt",
    "shortId",
    "sourceId",
    "spaceId",
    "title",
    "topComment",
    "updatedAt",
    "upvotes",
    "userId",
    "views",
];

fn plain_and(more: &[&str]) -> Vec<String> {
    let plain = PLAIN.iter().chain(more);
    let mut names: Vec<String> = plain.map(|name| (*name).to_owned()).collect();
    names.sort_unstable();
    names
}

async fn first(actor: &Actor<'_>, query: &str) -> Value {
    page(actor, query).await["data"][0].clone()
}

async fn only_included_parts_are_embedded(app: TestApp) {
    let ada = app.user().await;
    post(&app, &app.anonymous(), json!({ "title": "nobody's" })).await;
    post(&app, &ada, json!({ "title": "ada's" })).await;
    let anybody = app.anonymous();
    for (include, more) in [
        ("", vec![]),
        ("user", vec!["user"]),
        (" USER , bogus", vec!["user"]),
        ("space", vec!["space"]),
        ("topComment", vec![]),
        ("saved", vec![]),
        ("grants", vec!["grants"]),
        ("user,space,topComment,saved,grants", vec!["user", "space", "grants"]),
    ] {
        let query = format!("include={include}");
        assert_eq!(keys(&first(&anybody, &query).await), plain_and(&more), "{include}");
        assert_eq!(keys(&first(&app.service(), &query).await), plain_and(&more), "{include}");
        let mut more = more;
        more.push("userReaction");
        if include.contains("saved") {
            more.push("isSaved");
        }
        assert_eq!(keys(&first(&ada, &query).await), plain_and(&more), "{include}");
    }
    let all = page(&ada, "include=user,space,topComment,saved,grants").await;
    let (with, without) = (&all["data"][0], &all["data"][1]);
    assert_eq!(with["user"]["id"], json!(ada.id));
    assert_eq!((&without["user"], &without["space"]), (&Value::Null, &Value::Null));
    assert_eq!(with["grants"], json!({ "total": 0, "count": 0, "viewerTotal": 0 }));
    assert_eq!((&with["topComment"], &with["isSaved"]), (&Value::Null, &json!(false)));
    let v6 = first(&app.anonymous().v6(), "sortBy=new").await;
    assert_eq!(keys(&v6), plain_and(&["sharesCount", "user"]));
}

async fn a_viewer_sees_their_own_reaction(app: TestApp) {
    let (ada, bob) = (app.user().await, app.user().await);
    let mut ids = Vec::new();
    for title in ["1", "2", "3"] {
        ids.push(post(&app, &ada, json!({ "title": title })).await);
    }
    let love = json!({ "reactionType": "love" });
    bob.post(&format!("/entities/{}/reactions", ids[1]), love).await.expect(200);
    let own = async |actor: &Actor<'_>| {
        let page = page(actor, "").await;
        let own = |entity: &Value| entity.get("userReaction").cloned();
        page["data"].as_array().unwrap().iter().map(own).collect::<Vec<_>>()
    };
    assert_eq!(own(&bob).await, [Some(Value::Null), Some(json!("love")), Some(Value::Null)]);
    assert_eq!(own(&ada).await, [Some(Value::Null), Some(Value::Null), Some(Value::Null)]);
    assert_eq!(own(&app.anonymous()).await, [None, None, None]);
    assert_eq!(own(&app.service()).await, [None, None, None]);
    let counts = &page(&app.anonymous(), "").await["data"][1]["reactionCounts"];
    assert_eq!((&counts["love"], &counts["upvote"]), (&json!(1), &json!(0)));
}

async fn authors_are_shown_without_secrets(app: TestApp) {
    let ada = app.user().await;
    post(&app, &ada, json!({ "title": "1" })).await;
    for actor in [&app.anonymous(), &*ada, &app.service()] {
        let reply = actor.get(&feed("include=user")).await;
        assert!(!reply.text().contains(&ada.email), "{}", reply.text());
        let user = &reply.json()["data"][0]["user"];
        for secret in
            ["email", "secureMetadata", "isVerified", "isActive", "lastActive", "updatedAt"]
        {
            assert!(user.get(secret).is_none(), "{secret}");
        }
    }
}

async fn points_in_a_space_are_shown_beside_authors(app: TestApp) {
    let (ada, bob) = (app.user().await, app.user().await);
    let space = crate::spaces::id(&crate::spaces::create(&bob, json!({})).await);
    give_points(&app, ada.id, Some(space), 7).await;
    post(&app, &bob, json!({ "title": "bob's" })).await;
    post(&app, &ada, json!({ "title": "ada's" })).await;
    post(&app, &app.anonymous(), json!({ "title": "nobody's" })).await;
    let points = async |query: &str| {
        let page = page(&app.anonymous(), &format!("include=user&{query}")).await;
        let of = |entity: &Value| entity["user"].get("spaceReputation").cloned();
        page["data"].as_array().unwrap().iter().map(of).collect::<Vec<_>>()
    };
    let shown = |ada: i64, bob: i64| vec![None, Some(json!(ada)), Some(json!(bob))];
    // Publishing earned both five points outside of spaces.
    for (query, expected) in [
        ("spaceReputationId=none".to_owned(), shown(5, 5)),
        ("spaceReputationId=none&spaceReputationDescendants=true".to_owned(), shown(5, 5)),
        ("spaceReputationId=context".to_owned(), shown(5, 5)),
        (format!("spaceReputationId={space}"), shown(7, 0)),
        (format!("spaceReputationId={space}&spaceReputationDescendants=true"), shown(7, 0)),
        (format!("spaceReputation[spaceId]={space}"), shown(7, 0)),
        (format!("spaceReputation[spaceId]={space}&spaceReputationId=none"), shown(7, 0)),
        (format!(r#"spaceReputation={{"spaceId":"{space}"}}&spaceReputationId=none"#), shown(7, 0)),
        (r#"spaceReputation={"spaceId":"none","includeDescendants":true}"#.to_owned(), shown(5, 5)),
        (String::new(), vec![None, None, None]),
    ] {
        assert_eq!(points(&query).await, expected, "{query}");
    }
    // Without embedded users there is nobody to show them beside.
    let plain = first(&app.anonymous(), "spaceReputationId=none").await;
    assert_eq!(keys(&plain), plain_and(&[]));
    for query in [
        r#"spaceReputation={"spaceId":"context","includeDescendants":true}"#,
        "spaceReputation[spaceId]=general",
        "spaceReputation[spaceId]=",
        "spaceReputation={}",
    ] {
        let reply = app.anonymous().get(&feed(query)).await;
        assert_eq!(reply.outcome(), "400 entity/invalid-query", "{query}");
    }
}

async fn the_oldest_version_shows_who_voted(app: TestApp) {
    let (ada, bob, eve) = (app.user().await, app.user().await, app.user().await);
    let id = post(&app, &ada, json!({ "title": "1" })).await;
    post(&app, &ada, json!({ "title": "2" })).await;
    for (user, kind) in [(&ada, "upvote"), (&bob, "downvote"), (&eve, "upvote")] {
        app.advance(std::time::Duration::from_secs(1));
        let react = json!({ "reactionType": kind });
        user.post(&format!("/entities/{id}/reactions"), react).await.expect(200);
    }
    let voters = async |actor: &Actor<'_>| {
        let page = page(actor, "sortBy=new").await;
        (page["data"][1]["upvotes"].clone(), page["data"][1]["downvotes"].clone())
    };
    assert_eq!(voters(&app.anonymous().v6()).await, (json!([ada.id, eve.id]), json!([bob.id])));
    assert_eq!(voters(&app.anonymous().v7()).await, (json!([]), json!([])));
    assert_eq!(voters(&app.anonymous()).await, (json!([]), json!([])));
    assert_eq!(page(&app.anonymous().v6(), "").await["data"][0]["upvotes"], json!([]));
}

async fn a_page_costs_as_many_statements_as_an_entity(app: TestApp) {
    let users = [app.user().await, app.user().await, app.user().await];
    for n in 0..30 {
        let metadata = json!({ "n": n });
        let new = json!({ "title": format!("t{n}"), "keywords": ["k"], "metadata": metadata });
        post(&app, &users[n % 3], new).await;
    }
    let everything = "include=user,space,topComment,saved,grants&spaceReputationId=context";
    for (query, most) in [
        ("", 3),
        (everything, 7),
        ("sortBy=hot", 3),
        ("sortBy=top", 4),
        ("keywordsFilters[includes]=k", 3),
        ("metadataFilters[includes][n]=1&titleFilters[includes]=t", 5),
    ] {
        for viewer in [&app.anonymous(), &*users[0], &app.anonymous().v6()] {
            let mut counts = Vec::new();
            for limit in [1, 30] {
                let path = feed(&format!("{query}&limit={limit}"));
                // Whatever is remembered for a moment is remembered now.
                viewer.get(&path).await.expect(200);
                counts.push(app.statements.during(viewer.get(&path)).await.len());
            }
            // The caller's account status, blocks and reactions; in v6 the author and voters.
            assert!(counts[1] <= most + 5, "{query}: {counts:?}");
            assert!(counts[0] >= counts[1], "{query}: {counts:?}");
        }
    }
}
