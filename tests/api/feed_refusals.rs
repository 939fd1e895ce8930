//! Every refused query of a list; even absurd ones get a reply.

use serde_json::json;

use crate::support::feed::{feed, post};
use crate::support::{TestApp, on_both_engines};

on_both_engines![
    invalid_queries_are_refused,
    the_oldest_version_names_wrong_pages_and_limits,
    huge_queries_are_answered_quickly,
];

async fn invalid_queries_are_refused(app: TestApp) {
    let long = format!("titleFilters[includes]={}", "x".repeat(257));
    let many = format!("keywordsFilters={}", json!({ "includes": vec!["a"; 101] }));
    let deep = format!("metadataFilters{}=1", "[a]".repeat(1000));
    let nested = format!("metadataFilters={}1{}", "{\"a\":".repeat(80), "}".repeat(80));
    let near = |place: &str| format!("locationFilters={{{place}}}");
    let refused = [
        "page=0",
        "page=-1",
        "page=x",
        "page=",
        "page=1.5",
        "page=٣",
        "page=18446744073709551616",
        "limit=0",
        "limit=-1",
        "limit=1e9",
        "limit=x",
        "limit=",
        "sortBy=",
        "sortBy=title",
        "sortBy=CREATEDAT",
        "sortBy=metadata",
        "sortBy=metadata.",
        "sortBy=metadata.a.b",
        "sortBy=metadata.x');DROP",
        "sortBy=metadata.ä",
        "sortBy=id;--",
        "sortDir=",
        "sortDir=up",
        "sortType=date",
        "sortType=",
        "sortByReaction=hate",
        "sortByReaction=",
        "sortByReaction=Upvote",
        "timeFrame=decade",
        "timeFrame=",
        "userId=x",
        "userId=",
        "followedOnly=yes",
        "blockedFilter=all",
        "nsfwFilter=none",
        "nsfwFilter=",
        "keywordsFilters=",
        "keywordsFilters=a",
        "keywordsFilters=[]",
        "keywordsFilters={",
        r#"keywordsFilters={"includes":[1]}"#,
        r#"keywordsFilters={"includes":{"a":"b"}}"#,
        r#"keywordsFilters={"includes":[["a"]]}"#,
        "keywordsFilters[includes][a]=b",
        "keywordsFilters[includes=a",
        "keywordsFilters[includes]x=a",
        r#"keywordsFilters={"includes":["a"]}&keywordsFilters[includes]=b"#,
        "titleFilters[hasTitle]=maybe",
        r#"titleFilters={"hasTitle":1}"#,
        "titleFilters=true",
        r#"titleFilters={"includes":[null]}"#,
        "contentFilters[hasContent]=TRUE",
        "attachmentsFilters[hasAttachments]=",
        "attachmentsFilters=true",
        "metadataFilters[includes]=x",
        "metadataFilters=1",
        r#"metadataFilters={"includes":[]}"#,
        r#"metadataFilters={"includesAny":[1]}"#,
        r#"metadataFilters={"exists":[1]}"#,
        r#"metadataFilters={"doesNotInclude":"a"}"#,
        r#"metadataFilters={"includes":{"a":"\u0000"}}"#,
        "locationFilters[latitude]=1",
        "locationFilters={}",
        "spaceReputationId=",
        "spaceReputationId=general",
        "spaceReputationId=null",
        "spaceReputationId=context&spaceReputationDescendants=true",
        "spaceReputation=x",
        &long,
        &many,
        &deep,
        &nested,
        &near(r#""latitude":1,"longitude":2"#),
        &near(r#""latitude":91,"longitude":2,"radius":1"#),
        &near(r#""latitude":1,"longitude":-181,"radius":1"#),
        &near(r#""latitude":1,"longitude":2,"radius":0"#),
        &near(r#""latitude":1,"longitude":2,"radius":-1"#),
        &near(r#""latitude":"x","longitude":2,"radius":1"#),
    ];
    for query in refused {
        let reply = app.anonymous().get(&feed(query)).await;
        assert_eq!(reply.outcome(), "400 entity/invalid-query", "{query}");
    }
    let accepted = [
        "page=9223372036854775807&limit=100",
        "limit=9223372036854775807",
        "blockedFilter=exclude",
        "blockedFilter=include-outbound-blocked",
        "unknown=1",
        "sortBy=metadata.A_9",
        "titleFilters={}",
        "metadataFilters={}",
        "include=bogus,,USER",
    ];
    for query in accepted {
        assert_eq!(app.anonymous().get(&feed(query)).await.status, 200, "{query}");
    }
}

async fn the_oldest_version_names_wrong_pages_and_limits(app: TestApp) {
    let v6 = app.anonymous().v6();
    v6.get(&feed("page=0")).await.refused(400, "entity/invalid-page");
    v6.get(&feed("limit=x")).await.refused(400, "entity/invalid-limit");
    for query in ["sortBy=metadata.a.b", "sortDir=up", "timeFrame=x", "titleFilters=x"] {
        v6.get(&feed(query)).await.refused(400, "entity/invalid-query");
    }
}

async fn huge_queries_are_answered_quickly(app: TestApp) {
    post(&app, &app.anonymous(), json!({ "title": "1" })).await;
    let names = format!("include={}", "n,".repeat(10_000));
    let keys = (0..10_000).map(|n| format!("{n}")).collect::<Vec<_>>().join("&");
    let brackets = "metadataFilters[a]=1&".repeat(2000);
    for query in [names, keys, brackets] {
        let status = app.anonymous().get(&format!("/entities?{query}")).await.status;
        assert!([200, 400, 414, 431].contains(&status), "{status}");
    }
}
