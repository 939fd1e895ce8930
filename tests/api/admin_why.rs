//! "Why can X see this?" says what the API does, of posts, comments, messages and files, and which rule decides.

use std::time::Duration;

use serde_json::{Value, json};
use townhall::auth::operators::Role;

use crate::space_members::open_space;
use crate::spaces::path;
use crate::support::chat::{at, block, group, leave, of, send};
use crate::support::visitor::Visitor;
use crate::support::{Form, Part, TestApp, User, on_both_engines};

on_both_engines![
    of_a_post_and_a_comment,
    of_a_message,
    of_the_files_of_a_message,
    of_files_that_are_attached,
];

const BLOCK: &str = "There is no block between them and the author";
const REMOVED: &str = "It was not removed by a moderator and is not held";
const MEMBER: &str = "They are or were a member of its conversation";
const LEFT: &str = "They are still a member, or it is from before they left";

/// Whether they see it, and the rules that say no.
async fn asked(
    operator: &Visitor<'_>,
    user: Option<&User<'_>>,
    item: &Value,
) -> (bool, Vec<String>) {
    let project = operator.app.project.id;
    let (id, user) = (item.as_str().unwrap(), user.map(|user| user.id.to_string()));
    let query = format!("user={}&item={id}", user.unwrap_or_default());
    let reply = operator.get(&format!("/admin/p/{project}/why?{query}")).await;
    assert_eq!(reply.status, 200);
    let page = reply.text();
    let refused = page.split("<tr><td>").skip(1).filter_map(|row| {
        let (rule, answer) = row.split_once("</td><td>")?;
        answer.starts_with("no").then(|| rule.to_owned())
    });
    (page.contains("They see it."), refused.collect())
}

fn no(rule: &str) -> (bool, Vec<String>) {
    (false, vec![rule.to_owned()])
}

const YES: (bool, Vec<String>) = (true, Vec::new());

async fn moderator(app: &TestApp) -> Visitor<'_> {
    Visitor::operator(app, Role::Moderator, Some(app.project.id)).await
}

async fn of_a_post_and_a_comment(app: TestApp) {
    let (ada, bob, operator) = (app.user().await, app.user().await, moderator(&app).await);
    let post = ada.post("/entities", json!({ "title": "Here" })).await.expect(201);
    let comment = json!({ "entityId": post["id"], "content": "There" });
    let comment = ada.post("/comments", comment).await.expect(201);
    for item in [&post["id"], &comment["id"]] {
        assert_eq!(asked(&operator, Some(&bob), item).await, YES);
        assert_eq!(asked(&operator, None, item).await, YES);
    }
    block(&ada, &bob).await;
    bob.get(&format!("/entities/{}", post["id"].as_str().unwrap())).await.expect(404);
    for item in [&post["id"], &comment["id"]] {
        assert_eq!(asked(&operator, Some(&bob), item).await, no(BLOCK));
    }
    let nothing = json!("0198f0a1-0000-4abc-8abc-0123456789ab");
    let rule = "There is such a post, comment, message or file";
    assert_eq!(asked(&operator, Some(&bob), &nothing).await, no(rule));
}

async fn of_a_message(app: TestApp) {
    let (ada, bob, eve) = (app.user().await, app.user().await, app.user().await);
    let operator = moderator(&app).await;
    let crew = group(&ada, &[&bob]).await;
    let early = send(&ada, &crew, "Early").await;
    assert_eq!(asked(&operator, Some(&bob), &early["id"]).await, YES);
    assert_eq!(asked(&operator, Some(&eve), &early["id"]).await, no(MEMBER));
    assert_eq!(asked(&operator, None, &early["id"]).await, no("They are signed in"));
    leave(&bob, &crew).await;
    app.advance(Duration::from_secs(1));
    let late = send(&ada, &crew, "Late").await;
    assert_eq!(asked(&operator, Some(&bob), &early["id"]).await, YES);
    assert_eq!(asked(&operator, Some(&bob), &late["id"]).await, no(LEFT));
    // The page says what the API does.
    for message in [&early, &late] {
        for user in [&ada, &bob, &eve] {
            let found = user.get(&at(&crew, message)).await.status == 200;
            assert_eq!(asked(&operator, Some(user), &message["id"]).await.0, found);
        }
    }
}

async fn of_the_files_of_a_message(app: TestApp) {
    let (ada, bob, eve) = (app.user().await, app.user().await, app.user().await);
    let operator = moderator(&app).await;
    let crew = group(&ada, &[&bob]).await;
    let part = Part { name: "files", file: "a.txt", mime: "text/plain", bytes: b"a" };
    let form = Form::new().text("content", "see").file(part);
    let sent = bob.post_form(&of(&crew, "/messages"), &form).await.expect(201);
    let file = &sent["files"][0]["id"];
    assert_eq!(asked(&operator, Some(&ada), file).await, YES);
    assert_eq!(asked(&operator, Some(&eve), file).await, no(MEMBER));
    let (is_seen, rules) = asked(&operator, None, file).await;
    assert_eq!((is_seen, rules.len()), (false, 1), "{rules:?}");
    ada.delete(&at(&crew, &sent)).await.expect(200);
    assert_eq!(asked(&operator, Some(&ada), &sent["id"]).await, no(REMOVED));
    assert_eq!(asked(&operator, Some(&ada), file).await, no(REMOVED));
    let storage = format!("/storage/{}", file.as_str().unwrap());
    ada.get(&storage).await.expect(404);
}

async fn of_files_that_are_attached(app: TestApp) {
    let (ada, bob, operator) = (app.user().await, app.user().await, moderator(&app).await);
    let space = open_space(&ada).await;
    let post = ada.post("/entities", json!({ "title": "Draft", "isDraft": true })).await;
    let post = post.expect(201)["id"].as_str().unwrap().to_owned();
    let upload = async |holder: Option<(&str, &str)>| {
        let part = Part { name: "file", file: "a.txt", mime: "text/plain", bytes: b"a" };
        let form = Form::new().file(part).json("pathParts", json!(["docs"]));
        let form = holder.map_or(form.clone(), |(name, id)| form.text(name, id));
        ada.post_form("/storage", &form).await.expect(201)["fileId"].clone()
    };
    let free = upload(None).await;
    let of_space = upload(Some(("spaceId", space["id"].as_str().unwrap()))).await;
    let of_post = upload(Some(("entityId", &post))).await;
    for (file, sees) in [(&free, true), (&of_space, true), (&of_post, false)] {
        let storage = format!("/storage/{}", file.as_str().unwrap());
        assert_eq!(bob.get(&storage).await.status == 200, sees);
        let (found, rules) = asked(&operator, Some(&bob), file).await;
        assert_eq!((found, rules.is_empty()), (sees, sees), "{rules:?}");
        assert_eq!(asked(&operator, Some(&ada), file).await, YES);
    }
    ada.delete(&path(&space)).await.expect(200);
    let (found, rules) = asked(&operator, Some(&bob), &of_space).await;
    assert!(!found && !rules.is_empty(), "{rules:?}");
}
