//! The moderation log of a space: what is in it, and who may read it.

use std::time::Duration;

use serde_json::{Value, json};
use townhall::features::moderation::decisions::{Action, Item};
use townhall::features::moderation::rules::RuleAction;
use townhall::features::moderation::target::{Target, TargetKind};

use crate::comments::{UNKNOWN, comment};
use crate::moderation_decisions::{apply, decide_one};
use crate::moderation_rules::{add, rule, words};
use crate::space_members::{of, open_space};
use crate::spaces::{create, join, path};
use crate::support::{Actor, TestApp, on_both_engines};

on_both_engines![
    it_holds_what_was_done_in_the_space,
    it_is_for_moderators_until_an_admin_opens_it,
    the_log_of_a_private_space_is_not_found,
    it_goes_with_the_user_and_the_space,
];

fn log(space: &Value) -> String {
    format!("{}/moderation-log", path(space))
}

async fn entries(actor: &Actor<'_>, space: &Value) -> Vec<(String, String, String)> {
    let listed = actor.get(&format!("{}?limit=100", log(space))).await.expect(200);
    let text = |one: &Value, key: &str| one[key].as_str().unwrap().to_owned();
    let all = listed["data"].as_array().unwrap().iter();
    all.map(|one| (text(one, "action"), text(one, "targetType"), text(one, "decidedBy"))).collect()
}

async fn it_holds_what_was_done_in_the_space(app: TestApp) {
    let (ada, bob) = (app.user().await, app.user().await);
    let space = open_space(&ada).await;
    let member = join(&bob, &space).await;
    let post = |title: &str| json!({ "title": title, "spaceId": space["id"] });
    let entity = bob.post("/entities", post("One")).await.expect(201);
    let at = format!("/entities/{}", entity["id"].as_str().unwrap());
    let said = comment(&bob, &at, "Two").await;
    let step = || app.advance(Duration::from_secs(1));
    let moderated = |kind: &str, id: &Value| {
        format!("{}/{kind}/{}/moderation", path(&space), id.as_str().unwrap())
    };
    let remove = json!({ "action": "remove", "reason": "Off topic" });
    ada.patch(&moderated("entities", &entity["id"]), remove.clone()).await.expect(200);
    step();
    let approve = json!({ "action": "approve" });
    app.service().patch(&moderated("entities", &entity["id"]), approve).await.expect(200);
    step();
    ada.patch(&moderated("comments", &said["id"]), remove).await.expect(200);
    step();
    add(&app, rule(words("casino"), RuleAction::Remove)).await;
    bob.post("/entities", post("casino")).await.expect(201);
    step();
    // By an operator; outside of the space nothing is logged.
    let target =
        |id: &Value| Target { kind: TargetKind::Entity, id: id.as_str().unwrap().parse().unwrap() };
    let outside = bob.post("/entities", json!({ "title": "Elsewhere" })).await.expect(201);
    for one in [&entity, &outside] {
        decide_one(&app, Item::Target(target(&one["id"])), Action::Remove).await;
    }
    apply(&app).await;
    step();
    let ban = json!({ "reason": "Enough" });
    ada.patch(&of(&space, &member, "/ban"), ban).await.expect(200);
    step();
    ada.patch(&of(&space, &member, "/unban"), json!({})).await.expect(200);
    let expected = [
        ("unban", "user", "moderator"),
        ("ban", "user", "moderator"),
        ("remove", "entity", "project"),
        ("remove", "entity", "rule"),
        ("remove", "comment", "moderator"),
        ("approve", "entity", "project"),
        ("remove", "entity", "moderator"),
    ];
    let expected = expected.map(|(a, b, c)| (a.to_owned(), b.to_owned(), c.to_owned()));
    assert_eq!(entries(&ada, &space).await, expected);
    let page = ada.get(&format!("{}?limit=2&page=2", log(&space))).await.expect(200);
    assert_eq!(
        (page["data"].as_array().unwrap().len(), &page["pagination"]["totalItems"]),
        (2, &json!(7))
    );
    let last = ada.get(&format!("{}?limit=1&page=7", log(&space))).await.expect(200);
    let last = &last["data"][0];
    assert_eq!((&last["reason"], &last["targetId"]), (&json!("Off topic"), &entity["id"]));
    assert!(!last.to_string().contains(&ada.id.to_string()), "it names no moderator: {last}");
}

async fn it_is_for_moderators_until_an_admin_opens_it(app: TestApp) {
    let (ada, bob, eve) = (app.user().await, app.user().await, app.user().await);
    let space = open_space(&ada).await;
    join(&bob, &space).await;
    ada.get(&log(&space)).await.expect(200);
    app.service().get(&log(&space)).await.expect(200);
    for actor in [&*bob, &*eve, &app.anonymous()] {
        actor.get(&log(&space)).await.refused(403, "space/moderator-required");
    }
    let opened = json!({ "isPublic": true });
    for actor in [&bob, &eve] {
        actor.patch(&log(&space), opened.clone()).await.refused(403, "space/admin-required");
    }
    assert_eq!(ada.patch(&log(&space), opened.clone()).await.expect(200), opened);
    for actor in [&*bob, &*eve, &app.anonymous()] {
        actor.get(&log(&space)).await.expect(200);
    }
    let closed = json!({ "isPublic": false });
    app.service().patch(&log(&space), closed).await.expect(200);
    eve.get(&log(&space)).await.refused(403, "space/moderator-required");
    ada.patch(&log(&space), json!({ "isPublic": "yes" })).await.refused(400, "space/invalid-body");
    // Of a banned user it is nobody's business.
    ada.patch(&log(&space), opened).await.expect(200);
    let member = crate::space_members::membership(&app, &space, &bob).await;
    ada.patch(&of(&space, &member, "/ban"), json!({})).await.expect(200);
    bob.get(&log(&space)).await.refused(404, "space/not-found");
}

async fn the_log_of_a_private_space_is_not_found(app: TestApp) {
    let (ada, bob, eve) = (app.user().await, app.user().await, app.user().await);
    let space =
        create(&ada, json!({ "readingPermission": "members", "requireJoinApproval": false })).await;
    join(&bob, &space).await;
    ada.patch(&log(&space), json!({ "isPublic": true })).await.expect(200);
    bob.get(&log(&space)).await.expect(200);
    for actor in [&*eve, &app.anonymous()] {
        let hidden = actor.get(&log(&space)).await;
        let unknown = actor.get(&format!("/spaces/{UNKNOWN}/moderation-log")).await;
        assert_eq!((hidden.status, &hidden.body), (404, &unknown.body));
    }
    app.stranger().await.get(&log(&space)).await.refused(404, "space/not-found");
}

async fn it_goes_with_the_user_and_the_space(app: TestApp) {
    let (ada, bob) = (app.user().await, app.user().await);
    let space = open_space(&ada).await;
    let member = join(&bob, &space).await;
    ada.patch(&of(&space, &member, "/ban"), json!({})).await.expect(200);
    assert_eq!(entries(&ada, &space).await.len(), 1);
    app.service().delete(&format!("/users/{}", bob.id)).await.expect(204);
    assert!(entries(&ada, &space).await.is_empty());
}
