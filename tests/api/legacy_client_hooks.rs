//! The hooks of `@replyke/react-js` 6.0.4 that hold state: what an app shows after each call.

use serde_json::{Value, json};

use crate::support::published::Page;
use crate::support::site::{Site, html};
use crate::support::{TestApp, TestConfig, on_both_engines};

on_both_engines![
    votes_show_at_once,
    an_entity_is_shown_and_changed,
    a_feed_is_fetched_and_posted_to,
    a_comment_section_is_shown_and_written_in,
    replies_are_shown_in_their_section,
    users_are_suggested_while_somebody_writes,
    follows_and_connections_are_managed,
    metadata_of_a_page_is_shown,
];

async fn votes_show_at_once(app: TestApp) {
    let (page, user) = Page::signed_up(&app).await;
    let entity = page.call("useCreateEntity", json!({ "title": "t" }), "Entity").await;
    let new = json!({ "entityId": entity["id"], "content": "x" });
    let said = page.call("useCreateComment", new, "Comment").await;
    for (hook, name, kind, subject, target) in [
        ("useVotedEntity", "Entity", "Entity", "entity", entity),
        ("useVotedComment", "Comment", "Comment", "comment", said),
    ] {
        for (verb, up, down) in [
            (format!("upvote{name}"), true, false),
            (format!("downvote{name}"), false, true),
            (format!("remove{name}Downvote"), false, false),
            (format!("upvote{name}"), true, false),
            (format!("remove{name}Upvote"), false, false),
        ] {
            page.act(hook, &target, &verb, json!([])).await;
            let shown = page.state_of(hook, json!([target]), subject, kind).await;
            let voters = |is_in: bool| if is_in { json!([user["id"]]) } else { json!([]) };
            let expected = (voters(up), voters(down));
            assert_eq!((shown["upvotes"].clone(), shown["downvotes"].clone()), expected, "{verb}");
            let path = format!(
                "/{}/{}",
                ["entities", "comments"][usize::from(subject == "comment")],
                target["id"].as_str().unwrap()
            );
            let stored = app.anonymous().legacy().get(&path).await.expect(200);
            let stored = stored.get("comment").unwrap_or(&stored);
            assert_eq!(
                (stored["upvotes"].clone(), stored["downvotes"].clone()),
                expected,
                "{verb}"
            );
        }
    }
}

async fn an_entity_is_shown_and_changed(app: TestApp) {
    let (page, _) = Page::signed_up(&app).await;
    let made =
        page.call("useCreateEntity", json!({ "title": "t", "foreignId": "f" }), "Entity").await;
    for by in [
        json!({ "entityId": made["id"] }),
        json!({ "foreignId": "f" }),
        json!({ "shortId": made["shortId"] }),
    ] {
        let shown = page.state_of("useEntityData", json!([by]), "entity", "Entity").await;
        assert_eq!(shown["id"], made["id"], "{by}");
    }
    let by = json!({ "foreignId": "new", "createIfNotFound": true });
    let blank = page.state_of("useEntityData", json!([by]), "entity", "Entity").await;
    assert_eq!(blank["foreignId"], "new");
    let by = json!({ "entityId": made["id"] });
    page.act("useEntityData", &by, "updateEntity", json!([{ "update": { "title": "new" } }])).await;
    page.act("useEntityData", &by, "incrementEntityViews", json!([])).await;
    let stored = app.anonymous().legacy().get(&crate::entities::path(&made)).await.expect(200);
    assert_eq!((&stored["title"], &stored["views"]), (&json!("new"), &json!(2)));
    page.act("useEntityData", &by, "deleteEntity", json!([])).await;
    app.anonymous().get(&crate::entities::path(&made)).await.refused(404, "entity/not-found");
}

async fn a_feed_is_fetched_and_posted_to(app: TestApp) {
    let (page, user) = Page::signed_up(&app).await;
    let other = app.user().await;
    for title in ["a", "b", "c"] {
        crate::entities::create(&other, json!({ "title": title })).await;
        app.advance(std::time::Duration::from_secs(1));
    }
    let list = json!({ "listId": "feed" });
    let filters = json!([{ "sortBy": "new" }, { "limit": 2 }]);
    page.act("useEntityList", &list, "fetchEntities", filters).await;
    let shown = page.state_of("useEntityList", json!([list]), "entities.1", "Entity").await;
    assert_eq!(shown["title"], "b");
    page.act("useEntityList", &list, "loadMore", json!([])).await;
    let last = page.state_of("useEntityList", json!([list]), "entities.2", "Entity").await;
    assert_eq!(last["title"], "a");
    let new = json!([{ "title": "mine", "insertPosition": "first" }]);
    let made = page.act("useEntityList", &list, "createEntity", new).await;
    assert_eq!((&made["title"], &made["user"]["id"]), (&json!("mine"), &user["id"]));
    page.act("useEntityList", &list, "deleteEntity", json!([{ "entityId": made["id"] }])).await;
    assert_eq!(
        app.anonymous().legacy().get("/entities").await.expect(200).as_array().unwrap().len(),
        3
    );
}

async fn a_comment_section_is_shown_and_written_in(app: TestApp) {
    let (page, user) = Page::signed_up(&app).await;
    let entity = page.call("useCreateEntity", json!({ "title": "t" }), "Entity").await;
    let other = app.user().await;
    let said = crate::comments::comment(&other, &crate::entities::path(&entity), "said").await;
    let section = json!({ "entityId": entity["id"], "highlightedCommentId": said["id"] });
    let shown =
        page.state_of("useCommentSectionData", json!([section]), "comments.0", "Comment").await;
    assert_eq!(shown["id"], said["id"]);
    let path = "highlightedComment";
    let shown =
        page.state_of("useCommentSectionData", json!([section]), path, "FoundComment").await;
    assert_eq!(shown["comment"]["id"], said["id"]);
    let new = json!([{ "content": "mine", "mentions": [] }]);
    page.act("useCommentSectionData", &section, "createComment", new).await;
    let own = json!([{ "userId": user["id"], "includeEntity": true }]);
    let kind = "Anything";
    let mine = page.state_of("useProfileComments", own, "comments.0", kind).await;
    assert_eq!((&mine["content"], &mine["entity"]["id"]), (&json!("mine"), &entity["id"]));
    let update = json!([{ "commentId": mine["id"], "content": "changed" }]);
    page.act("useCommentSectionData", &section, "updateComment", update).await;
    let gone = json!([{ "commentId": mine["id"] }]);
    page.act("useCommentSectionData", &section, "deleteComment", gone).await;
    let left = app.anonymous().legacy().get("/comments").await.expect(200);
    assert_eq!(crate::legacy_entities::ids(&left), [said["id"].as_str().unwrap()]);
}

async fn replies_are_shown_in_their_section(app: TestApp) {
    let (page, user) = Page::signed_up(&app).await;
    let entity = page.call("useCreateEntity", json!({ "title": "t" }), "Entity").await;
    let other = app.user().await;
    let said = crate::comments::comment(&other, &crate::entities::path(&entity), "said").await;
    for reply in 0..7 {
        crate::comments::reply(&other, &said, &format!("reply {reply}")).await;
        app.advance(std::time::Duration::from_secs(1));
    }
    let of = json!({ "entityId": entity["id"], "commentId": said["id"], "sortBy": "old" });
    for (number, last) in [(1, 4), (2, 6)] {
        page.act("useReplies", &of, "setPage", json!([number])).await;
        let path = format!("replies.{last}");
        let shown = page.state_of("useReplies", json!([of]), &path, "Comment").await;
        assert_eq!(shown["parentId"], said["id"]);
    }
    let shown = page.state_of("useReplies", json!([of]), "replies", "Comments").await;
    let mut contents: Vec<&str> =
        shown.as_array().unwrap().iter().map(|one| one["content"].as_str().unwrap()).collect();
    contents.sort_unstable();
    assert_eq!(contents, (0..7).map(|reply| format!("reply {reply}")).collect::<Vec<_>>());
    assert_eq!(shown[0]["user"]["id"], other.id.to_string());
    assert_ne!(shown[0]["user"]["id"], user["id"]);
}

async fn users_are_suggested_while_somebody_writes(app: TestApp) {
    let (page, user) = Page::signed_up(&app).await;
    let text = json!("hello @pag");
    let suggested =
        page.state_of("useWrittenMentions", json!([text]), "mentionSuggestions.0", "User").await;
    assert_eq!(suggested["id"], user["id"]);
    page.act("useWrittenMentions", &text, "handleMentionClick", json!([suggested])).await;
    let mention =
        page.state_of("useWrittenMentions", json!([text]), "mentions.0", "Anything").await;
    assert_eq!(mention, json!({ "id": user["id"], "username": "page" }));
    let content = page.state_of("useWrittenMentions", json!([text]), "content", "Text").await;
    assert_eq!(content, "hello @page ");
    let entity = page.call(
        "useCreateEntity",
        json!({ "content": content, "mentions": [mention] }),
        "Entity",
    );
    assert_eq!(entity.await["mentions"][0]["id"], user["id"]);
}

async fn follows_and_connections_are_managed(app: TestApp) {
    let (page, user) = Page::signed_up(&app).await;
    let other = app.user().await;
    let to = json!({ "userId": other.id });
    for follows in [true, false] {
        page.state_of("useFollowManager", json!([to]), "isFollowing", "Flag").await;
        page.act("useFollowManager", &to, "toggleFollow", json!([])).await;
        let status = page.call("useFetchFollowStatus", to.clone(), "Anything").await;
        assert_eq!(status["isFollowing"], follows);
    }
    let status = async || {
        page.act("useConnectionManager", &to, "refreshConnectionStatus", json!([])).await;
        page.state_of("useConnectionManager", json!([to]), "connectionStatus", "Text").await
    };
    let act = async |method: &str, args: Value| {
        page.act("useConnectionManager", &to, method, args).await;
        status().await
    };
    assert_eq!(status().await, "none");
    assert_eq!(act("sendConnectionRequest", json!(["hi"])).await, "pending-sent");
    assert_eq!(act("withdrawConnectionRequest", json!([])).await, "none");
    let own = format!("/users/{}/connection", user["id"].as_str().unwrap());
    other.post(&own, json!({})).await.expect(201);
    assert_eq!(status().await, "pending-received");
    assert_eq!(act("declineConnectionRequest", json!([])).await, "declined-received");
    // Who declined may ask anew.
    assert_eq!(act("sendConnectionRequest", json!([])).await, "pending-sent");
    assert_eq!(act("removeConnectionSmart", json!([])).await, "none");
    other.post(&own, json!({})).await.expect(201);
    assert_eq!(status().await, "pending-received");
    assert_eq!(act("acceptConnectionRequest", json!([])).await, "connected");
    assert_eq!(act("disconnectUser", json!([])).await, "none");
}

async fn metadata_of_a_page_is_shown(app: TestApp) {
    let allow = |config: &mut TestConfig| config.set("TOWNHALL_OUTBOUND_ALLOW", "127.0.0.1/32");
    let app = app.restart_with(allow).await;
    let site = Site::open(&[("/", html("<title>Title</title>"))]).await;
    let page = Page::open(&app, None).await;
    let found = page.call("useGetMetadata", json!({ "url": site.url("/") }), "Anything").await;
    assert_eq!(found["title"], "Title");
}
