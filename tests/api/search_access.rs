//! Search shows, counts, ranks and corrects by nothing that the caller may not read.

use serde_json::{Value, json};

use crate::comments::comment;
use crate::search_content::{found, search};
use crate::space_members::{membership, of};
use crate::spaces::{create, join, path};
use crate::support::chat::{block, direct, group, leave, send};
use crate::support::feed::post;
use crate::support::{Actor, TestApp, on_both_engines};

on_both_engines![
    members_only_content_is_found_by_members,
    messages_are_found_by_active_members,
    hidden_content_is_not_found,
    blocked_authors_are_left_out,
    other_projects_are_out_of_reach,
    private_words_change_nothing_for_others,
    pages_are_full_although_much_is_hidden,
];

async fn members_only_content_is_found_by_members(app: TestApp) {
    let (ada, member, stranger) = (app.user().await, app.user().await, app.user().await);
    let closed = json!({ "readingPermission": "members", "requireJoinApproval": false });
    let space = create(&ada, closed).await;
    join(&member, &space).await;
    let entity = post(&app, &ada, json!({ "title": "orchard", "spaceId": space["id"] })).await;
    comment(&ada, &entity.to_string(), "the orchard reply").await;
    app.index().await;
    assert_eq!(found(&member, "orchard").await.len(), 2);
    assert_eq!(found(&ada, "orchard").await.len(), 2);
    for other in [&stranger as &Actor<'_>, &app.service(), &app.anonymous().v7()] {
        assert_eq!(found(other, "orchard").await, [""; 0]);
    }
    assert_eq!(found(&member, "orchrad").await, [""; 0], "closed words are never corrections");

    // Open to everybody, then closed again.
    ada.patch(&path(&space), json!({ "readingPermission": "anyone" })).await.expect(200);
    assert_eq!(found(&stranger, "orchard").await, [""; 0], "not indexed yet");
    app.index().await;
    assert_eq!(found(&stranger, "orchard").await.len(), 2);
    assert_eq!(found(&stranger, "orchrad").await.len(), 2);
    ada.patch(&path(&space), json!({ "readingPermission": "members" })).await.expect(200);
    assert_eq!(found(&stranger, "orchard").await, [""; 0], "at once");
    app.index().await;
    assert_eq!(found(&stranger, "orchard").await, [""; 0]);
    assert_eq!(found(&member, "orchard").await.len(), 2);

    let gone = membership(&app, &space, &member).await;
    ada.patch(&of(&space, &gone, "/ban"), json!({})).await.expect(200);
    assert_eq!(found(&member, "orchard").await, [""; 0]);
}

async fn messages_are_found_by_active_members(app: TestApp) {
    let (ada, grace, stranger) = (app.user().await, app.user().await, app.user().await);
    let conversation = group(&ada, &[&grace]).await;
    send(&ada, &conversation, "lighthouse at nine").await;
    app.index().await;
    assert_eq!(found(&ada, "lighthouse").await.len(), 1);
    assert_eq!(found(&grace, "lighthouse").await.len(), 1);
    for other in [&stranger as &Actor<'_>, &app.service(), &app.anonymous().v7()] {
        assert_eq!(found(other, "lighthouse").await, [""; 0]);
        let body = json!({ "query": "lighthouse", "conversationId": conversation });
        assert_eq!(search(other, body).await, [json!(null); 0]);
    }
    block(&grace, &ada).await;
    assert_eq!(found(&grace, "lighthouse").await.len(), 1, "groups are as they were");
    leave(&grace, &conversation).await;
    assert_eq!(found(&grace, "lighthouse").await, [""; 0]);
}

async fn hidden_content_is_not_found(app: TestApp) {
    let (ada, grace) = (app.user().await, app.user().await);
    let space = create(&ada, json!({ "postingPermission": "anyone" })).await;
    post(&app, &ada, json!({ "title": "walnut draft", "isDraft": true })).await;
    let deleted = post(&app, &ada, json!({ "title": "walnut deleted" })).await;
    comment(&grace, &deleted.to_string(), "walnut below deleted").await;
    let removed = json!({ "title": "walnut removed", "spaceId": space["id"] });
    let removed = post(&app, &grace, removed).await;
    comment(&ada, &removed.to_string(), "walnut below removed").await;
    let kept = post(&app, &ada, json!({ "title": "Kept" })).await;
    let gone = comment(&ada, &kept.to_string(), "walnut gone").await;
    let conversation = direct(&ada, &grace).await;
    let message = send(&ada, &conversation, "walnut message").await;
    app.index().await;
    assert_eq!(found(&ada, "walnut").await.len(), 6);

    ada.delete(&format!("/entities/{deleted}")).await.expect(204);
    ada.delete(&format!("/comments/{}", gone["id"].as_str().unwrap())).await.expect(204);
    let at =
        format!("/chat/conversations/{conversation}/messages/{}", message["id"].as_str().unwrap());
    ada.delete(&at).await.expect(200);
    let moderation = format!("{}/entities/{removed}/moderation", path(&space));
    ada.patch(&moderation, json!({ "action": "remove" })).await.expect(200);
    for actor in [&ada, &grace] {
        assert_eq!(found(actor, "walnut").await, [""; 0], "before anything is indexed again");
    }
    app.run_jobs().await;
    app.index().await;
    assert_eq!(found(&ada, "walnut").await, [""; 0]);
    ada.patch(&moderation, json!({ "action": "approve" })).await.expect(200);
    app.index().await;
    let mut again = found(&ada, "walnut").await;
    again.sort();
    assert_eq!(again, ["walnut below removed", "walnut removed"]);
}

async fn blocked_authors_are_left_out(app: TestApp) {
    let (ada, grace) = (app.user().await, app.user().await);
    let entity = post(&app, &grace, json!({ "title": "harbour" })).await;
    comment(&ada, &entity.to_string(), "my harbour").await;
    let own = post(&app, &ada, json!({ "title": "Else" })).await;
    comment(&grace, &own.to_string(), "her harbour").await;
    app.index().await;
    assert_eq!(found(&ada, "harbour").await.len(), 3);
    block(&grace, &ada).await;
    assert_eq!(found(&ada, "harbour").await, ["my harbour"], "what one wrote oneself is found");
    assert_eq!(found(&grace, "harbour").await.len(), 2);
}

async fn other_projects_are_out_of_reach(app: TestApp) {
    let (ada, stranger) = (app.user().await, app.stranger().await);
    post(&app, &ada, json!({ "title": "meadow" })).await;
    app.index().await;
    assert_eq!(found(&ada, "meadow").await, ["meadow"]);
    assert_eq!(found(&stranger, "meadow").await, [""; 0]);
    assert_eq!(found(&stranger, "meadwo").await, [""; 0]);
    let elsewhere = ada.in_project(app.other.id);
    let refused = elsewhere.post("/search/content", json!({ "query": "meadow" })).await;
    refused.says(403, "Forbidden");
}

/// Everything that a caller can see of a search, with each similarity in full.
async fn outcome(actor: &Actor<'_>) -> Vec<Value> {
    let mut all = Vec::new();
    for query in ["garden", "gardne", "kryptonite", "kryptonyte", "kryptonite garden", "plants"] {
        for path in ["/search/content", "/search/users", "/search/spaces"] {
            let found = actor.post(path, json!({ "query": query })).await.expect(200);
            all.push(json!([query, path, found]));
        }
    }
    all
}

async fn private_words_change_nothing_for_others(app: TestApp) {
    let (ada, grace, stranger) = (app.user().await, app.user().await, app.user().await);
    for title in ["garden plants", "plants", "a garden and more plants"] {
        post(&app, &grace, json!({ "title": title })).await;
    }
    let closed = json!({ "name": "Kept", "readingPermission": "members", "visibility": "private" });
    let space = create(&ada, closed).await;
    let conversation = direct(&ada, &grace).await;
    app.index().await;
    let anonymous = app.anonymous().v7();
    let before =
        (outcome(&stranger).await, outcome(&anonymous).await, outcome(&app.service()).await);

    // Words of every closed class: rare ones, frequent ones, near misses of open ones.
    for n in 0..40 {
        let title = format!("kryptonite gardne plants {n}");
        let new = json!({ "title": title, "content": "garden garden", "spaceId": space["id"] });
        let entity = post(&app, &ada, new).await;
        comment(&ada, &entity.to_string(), "kryptonite plants").await;
        send(&ada, &conversation, "kryptonite garden gardne").await;
    }
    post(&app, &ada, json!({ "title": "kryptonite", "isDraft": true })).await;
    ada.patch(&path(&space), json!({ "name": "kryptonite garden" })).await.expect(200);
    app.index().await;
    assert_eq!(found(&ada, "kryptonite").await.len(), 20);
    let after =
        (outcome(&stranger).await, outcome(&anonymous).await, outcome(&app.service()).await);
    assert_eq!(before, after);
}

async fn pages_are_full_although_much_is_hidden(app: TestApp) {
    let (ada, grace, reader) = (app.user().await, app.user().await, app.user().await);
    for n in 0..5 {
        post(&app, &ada, json!({ "title": format!("The long title of an olive tree {n}") })).await;
    }
    for _ in 0..90 {
        post(&app, &grace, json!({ "title": "olive" })).await;
    }
    app.index().await;
    block(&grace, &reader).await;
    assert_eq!(found(&reader, "olive").await.len(), 5, "behind ninety better ones that are hidden");
}
