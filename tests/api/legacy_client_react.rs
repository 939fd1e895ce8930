//! `@replyke/react-js` 6.0.4 against this server, changed in nothing but the address: in a browser, on a page of
//! another site. Each reply must fit the types that the client itself declares.

use std::time::Duration;

use serde_json::{Value, json};

use crate::support::published::{Page, ask};
use crate::support::{TestApp, on_both_engines};

on_both_engines![
    a_page_signs_up_and_keeps_its_session,
    a_page_of_a_stranger_gets_no_session,
    a_page_signs_in_with_a_signed_token,
    a_page_writes_and_reads_entities,
    a_page_writes_and_reads_comments,
    a_page_follows_and_connects,
    a_page_keeps_lists,
    a_page_shows_notifications,
    a_page_reports_uploads_and_asks_for_the_rest,
];

async fn a_page_signs_up_and_keeps_its_session(app: TestApp) {
    let (page, user) = Page::signed_up(&app).await;
    assert_eq!(user["username"], "page");
    page.call("useFetchConnectionsCount", Value::Null, "Count").await;
    // The tokens are gone after a reload; the cookie brings them back.
    page.reload().await;
    assert_eq!(page.state("useUser", "user", "AuthUser").await["id"], user["id"]);
    page.call("useFetchConnectionsCount", Value::Null, "Count").await;
    // An expired token is renewed on the way: the first request is refused, the second succeeds.
    app.advance(Duration::from_hours(2));
    let count = json!({ "do": "call", "page": page.name, "hook": "useFetchConnectionsCount" });
    let outcome = ask(count).await;
    let seen: Vec<u64> = outcome["requests"]
        .as_array()
        .unwrap()
        .iter()
        .map(|request| request["status"].as_u64().unwrap())
        .collect();
    assert_eq!((seen, &outcome["result"]["count"]), (vec![403, 200, 200], &json!(0)));
    page.function("useAuth", "signOut", json!([]), "Nothing").await;
    page.reload().await;
    let nobody = json!({ "do": "call", "page": page.name, "hook": "useFetchConnectionsCount" });
    assert_eq!(ask(nobody).await["failed"], "Error: No user is logged in");
    let again = json!({ "email": "page@example.com", "password": "correct horse" });
    page.function("useAuth", "signInWithEmailAndPassword", json!([again]), "Nothing").await;
    page.call("useFetchConnectionsCount", Value::Null, "Count").await;
}

/// A stranger's page, opened in the same browser, sends the cookie and gets nothing for it.
async fn a_page_of_a_stranger_gets_no_session(app: TestApp) {
    let (page, _) = Page::signed_up(&app).await;
    let address = |path: &str| format!("http://{}/api/v6/{}{path}", app.address, app.project.id);
    let refresh = address("/auth/request-new-access-token");
    let attack = |url: String| json!({ "do": "attack", "page": page.name, "url": url });
    let stolen = ask(attack(refresh.clone())).await;
    assert_eq!(stolen["result"], json!({ "user": null, "accessToken": null }));
    let ended = ask(attack(address("/auth/sign-out"))).await;
    for attacked in [&stolen, &ended] {
        let cookies = attacked["cookies"].as_str().unwrap();
        assert!(cookies.contains(&format!("refresh-jwt-{}=", app.project.id)), "{attacked}");
    }
    page.reload().await;
    assert_eq!(page.state("useUser", "user", "AuthUser").await["username"], "page");
}

async fn a_page_signs_in_with_a_signed_token(app: TestApp) {
    let page = Page::open(&app, None).await;
    let payload = json!({ "id": "u1", "name": "Ada" });
    let key = json!({ "projectId": app.project.id, "privateKey": app.project.private_key, "payload": payload });
    let token = page.call("useSignTestingJwt", key, "Text").await;
    let signed = Page::open(&app, Some(token.as_str().unwrap().to_owned())).await;
    let user = signed.state("useUser", "user", "AuthUser").await;
    assert_eq!((&user["foreignId"], &user["name"]), (&json!("u1"), &json!("Ada")));
    let found = signed.call("useFetchUserByForeignId", json!({ "foreignId": "u1" }), "User").await;
    assert_eq!(found["id"], user["id"]);
    signed.call("useFetchConnectionsCount", Value::Null, "Count").await;
}

async fn a_page_writes_and_reads_entities(app: TestApp) {
    let (page, user) = Page::signed_up(&app).await;
    let new = json!({ "title": "t", "content": "c", "foreignId": "f", "keywords": ["k"] });
    let made = page.call("useCreateEntity", new, "Entity").await;
    assert_eq!(made["user"]["id"], user["id"]);
    let one = json!({ "entityId": made["id"] });
    page.call("useFetchEntity", one.clone(), "Entity").await;
    page.call("useFetchEntityByForeignId", json!({ "foreignId": "f" }), "Entity").await;
    page.call("useFetchEntityByShortId", json!({ "shortId": made["shortId"] }), "Entity").await;
    page.call("useIncrementEntityViews", one.clone(), "Nothing").await;
    let update = json!({ "entityId": made["id"], "update": { "title": "new" } });
    assert_eq!(page.call("useUpdateEntity", update, "Entity").await["title"], "new");
    let up = page.call("useUpvoteEntity", one.clone(), "Entity").await;
    assert_eq!((&up["upvotes"], &up["views"]), (&json!([user["id"]]), &json!(2)));
    page.call("useRemoveEntityUpvote", one.clone(), "Entity").await;
    let down = page.call("useDownvoteEntity", one.clone(), "Entity").await;
    assert_eq!(down["downvotes"], json!([user["id"]]));
    page.call("useRemoveEntityDownvote", one.clone(), "Entity").await;
    for sort in ["hot", "top", "new", "controversial"] {
        let options = json!({ "page": 1, "limit": 10, "sortBy": sort, "keywordsFilters": { "includes": ["k"] } });
        let args = json!(["feed", options]);
        let listed = page.function("useEntityListActions", "fetchEntities", args, "Entities").await;
        assert_eq!(listed[0]["id"], made["id"], "{sort}");
    }
    page.call("useDeleteEntity", one, "Nothing").await;
}

async fn a_page_writes_and_reads_comments(app: TestApp) {
    let (page, user) = Page::signed_up(&app).await;
    let entity = page.call("useCreateEntity", json!({ "title": "t" }), "Entity").await;
    let new = json!({ "entityId": entity["id"], "content": "said", "foreignId": "c" });
    let said = page.call("useCreateComment", new, "Comment").await;
    let answer =
        json!({ "entityId": entity["id"], "content": "answer", "parentCommentId": said["id"] });
    let answer = page.call("useCreateComment", answer, "Comment").await;
    assert_eq!(answer["parentId"], said["id"]);
    let one = json!({ "commentId": answer["id"] });
    let with_parent = json!({ "commentId": answer["id"], "withParent": true });
    let found = page.call("useFetchComment", with_parent, "FoundComment").await;
    assert_eq!(found["parentComment"]["id"], said["id"]);
    page.call("useFetchCommentByForeignId", json!({ "foreignId": "c" }), "FoundComment").await;
    let all = json!({ "entityId": entity["id"], "page": 1, "limit": 10, "sortBy": "top" });
    let listed = page.call("useFetchManyComments", all, "Comments").await;
    assert_eq!(listed.as_array().unwrap().len(), 2);
    let own = json!({ "userId": user["id"], "page": 1, "limit": 10, "sortBy": "new", "includeEntity": true });
    let own = page.call("useFetchManyComments", own, "CommentWithoutVotesOfItsEntity").await;
    assert_eq!(own[0]["entity"]["id"], entity["id"]);
    let update = json!({ "commentId": answer["id"], "content": "changed" });
    assert_eq!(page.call("useUpdateComment", update, "Comment").await["content"], "changed");
    page.call("useDeleteComment", one, "Nothing").await;
    let rest = json!({ "entityId": entity["id"], "page": 1, "sortBy": "old" });
    let rest = page.call("useFetchManyComments", rest, "Comments").await;
    assert_eq!(rest[0]["id"], said["id"]);
}

async fn a_page_follows_and_connects(app: TestApp) {
    let (page, user) = Page::signed_up(&app).await;
    let other = app.user().await;
    let own = format!("/users/{}", user["id"].as_str().unwrap());
    let to = json!({ "userId": other.id });
    page.call("useFollowUser", to.clone(), "Nothing").await;
    let status = page.call("useFetchFollowStatus", to.clone(), "Anything").await;
    assert_eq!(status["isFollowing"], true);
    page.call("useFetchFollowing", json!({ "page": 1, "limit": 5 }), "Following").await;
    page.call("useFetchFollowers", Value::Null, "Followers").await;
    page.call("useFetchFollowersByUserId", to.clone(), "Followers").await;
    page.call("useFetchFollowingByUserId", to.clone(), "Following").await;
    for count in ["useFetchFollowersCount", "useFetchFollowingCount"] {
        page.call(count, Value::Null, "Count").await;
    }
    for count in ["useFetchFollowersCountByUserId", "useFetchFollowingCountByUserId"] {
        page.call(count, to.clone(), "Count").await;
    }
    page.call("useUnfollowByFollowId", json!({ "followId": status["followId"] }), "Nothing").await;
    page.call("useFollowUser", to.clone(), "Nothing").await;
    page.call("useUnfollowUserByUserId", to.clone(), "Nothing").await;

    page.call(
        "useRequestConnection",
        json!({ "userId": other.id, "message": "hi" }),
        "ConnectionAction",
    )
    .await;
    let sent = page.call("useFetchSentPendingConnections", Value::Null, "Pending").await;
    assert_eq!(sent["requests"][0]["message"], "hi");
    page.call("useFetchConnectionStatus", to.clone(), "ConnectionStatus").await;
    page.call("useRemoveConnectionByUserId", to.clone(), "Removed").await;
    for answer in ["useDeclineConnection", "useAcceptConnection"] {
        let asker = app.user().await;
        asker.post(&format!("{own}/connection"), json!({})).await.expect(201);
        let received =
            page.call("useFetchReceivedPendingConnections", Value::Null, "Pending").await;
        let id = json!({ "connectionId": received["requests"][0]["id"] });
        page.call(answer, id, "ConnectionAction").await;
    }
    let all =
        page.call("useFetchConnections", json!({ "page": 1, "limit": 5 }), "Connections").await;
    assert_eq!(all["pagination"]["totalCount"], 1);
    let of = json!({ "userId": user["id"] });
    page.call("useFetchConnectionsByUserId", of.clone(), "Connections").await;
    page.call("useFetchConnectionsCountByUserId", of, "Count").await;
    assert_eq!(page.call("useFetchConnectionsCount", Value::Null, "Count").await["count"], 1);
    let id = json!({ "connectionId": all["connections"][0]["id"] });
    page.call("useRemoveConnection", id, "Anything").await;
}

async fn a_page_keeps_lists(app: TestApp) {
    let (page, _) = Page::signed_up(&app).await;
    let entity = page.call("useCreateEntity", json!({ "title": "t" }), "Entity").await;
    let root = page.state("useLists", "currentList", "List").await;
    let id = json!({ "entityId": entity["id"] });
    page.function("useLists", "addToList", json!([id]), "Nothing").await;
    let saved = json!([entity["id"]]);
    let is_saved =
        page.function("useIsEntitySaved", "checkIfEntityIsSaved", saved.clone(), "Flag").await;
    assert_eq!(is_saved, true);
    // The client opens a list that it has made.
    page.function("useLists", "createList", json!([{ "listName": "below" }]), "Nothing").await;
    let parent = page.state("useLists", "currentList.parentId", "Text").await;
    let below = page.state("useLists", "currentList", "List").await;
    assert_eq!((&below["name"], &parent), (&json!("below"), &root["id"]));
    let rename = json!([{ "listId": below["id"], "update": { "name": "renamed" } }]);
    page.function("useLists", "updateList", rename, "Nothing").await;
    page.function("useLists", "goToRoot", json!([]), "Nothing").await;
    page.reload().await;
    let children = page.state("useLists", "subLists.0", "List").await;
    assert_eq!((&children["id"], &children["name"]), (&below["id"], &json!("renamed")));
    let root = page.state("useLists", "currentList", "List").await;
    assert_eq!(root["entityIds"], saved);
    page.function("useLists", "removeFromList", json!([id]), "Nothing").await;
    page.function("useLists", "deleteList", json!([{ "list": children }]), "Nothing").await;
    assert_eq!(app.rows("collections").await, 1);
}

async fn a_page_shows_notifications(app: TestApp) {
    let (page, user) = Page::signed_up(&app).await;
    let entity = page.call("useCreateEntity", json!({ "title": "t" }), "Entity").await;
    let new = json!({ "entityId": entity["id"], "content": "mine" });
    let mine = page.call("useCreateComment", new, "Comment").await;
    let other = app.user().await;
    let path = crate::entities::path(&entity);
    crate::comments::comment(&other, &path, "said").await;
    crate::comments::reply(&other, &mine, "answer").await;
    crate::reactions::react(&other, &path, "upvote").await;
    crate::follows::follow(&other, user["id"].as_str().unwrap().parse().unwrap()).await;
    let listed = page.state_of(
        "useAppNotifications",
        json!([{ "limit": 10 }]),
        "appNotifications.3",
        "Anything",
    );
    listed.await;
    let all = page.state_of(
        "useAppNotifications",
        json!([{ "limit": 10 }]),
        "appNotifications",
        "Notifications",
    );
    let all = all.await;
    let mut kinds: Vec<&str> =
        all.as_array().unwrap().iter().map(|one| one["type"].as_str().unwrap()).collect();
    kinds.sort_unstable();
    assert_eq!(kinds, ["comment-reply", "entity-comment", "entity-upvote", "new-follow"]);
    let command = |method: &str, args: Value| json!({ "hook": "useAppNotifications", "props": [{ "limit": 10 }], "method": method, "args": args });
    page.outcome(command("markNotificationAsRead", json!([all[0]["id"]]))).await;
    page.outcome(command("markAllNotificationsAsRead", json!([]))).await;
    let id = user["id"].as_str().unwrap();
    let unread = app.service().get(&format!("/app-notifications/count?userId={id}")).await;
    assert_eq!(unread.expect(200), json!(0));
}

async fn a_page_reports_uploads_and_asks_for_the_rest(app: TestApp) {
    let (page, user) = Page::signed_up(&app).await;
    let other = app.user().await;
    let entity = crate::reactions::publish(&other).await;
    let said = crate::comments::comment(&other, &entity, "x").await;
    for (kind, target) in
        [("entity", json!(crate::comments::id_of(&entity))), ("comment", said["id"].clone())]
    {
        let report = json!({ "targetId": target, "reason": "spam", "details": "d" });
        page.outcome(
            json!({ "hook": "useCreateReport", "props": [{ "type": kind }], "args": [report] }),
        )
        .await;
    }
    assert_eq!(app.rows("reports").await, 2);
    let file = json!({ "$file": "a.txt", "content": "hello", "type": "text/plain" });
    let upload = json!({ "hook": "useUploadFile", "args": [file, ["a"]], "type": "Stored" });
    let stored = page.outcome(upload).await["result"].take();
    let opened = app.anonymous().open(stored["publicPath"].as_str().unwrap()).await;
    assert_eq!(opened.text(), "hello");
    let update = json!([{ "name": "Ada", "bio": "b" }]);
    let updated = page.function("useUser", "updateUser", update, "AuthUser").await;
    assert_eq!((&updated["name"], &updated["id"]), (&json!("Ada"), &user["id"]));
    page.call("useFetchUser", json!({ "userId": user["id"] }), "User").await;
    let suggested = page.call("useFetchUserSuggestions", json!({ "query": "page" }), "Users").await;
    assert_eq!(suggested[0]["id"], user["id"]);
    let name = json!({ "username": "page" });
    let available = page.call("useCheckUsernameAvailability", name, "Available").await;
    assert_eq!(available["available"], false);
    page.state("useProject", "project.id", "Text").await;
}
