//! Statements of reasons: what they say, and how a project words them or switches them off.

use serde_json::{Value, json};
use townhall::auth::operators::Role;
use townhall::features::moderation::appeals::APPEAL_WITHIN;
use townhall::features::moderation::decisions::{Action, Item, Suspend};
use townhall::features::moderation::target::{Target, TargetKind};
use townhall::tenancy::store::{self, StatementTexts};
use townhall::values::ids::AppealId;

use crate::comments::{comment, id_of};
use crate::moderation_decisions::{apply, decide_one, reported};
use crate::reactions::publish;
use crate::spaces::path;
use crate::support::visitor::Visitor;
use crate::support::{TestApp, User, on_both_engines};

on_both_engines![
    a_statement_has_what_the_law_asks_for,
    a_project_words_ground_and_contact,
    without_statements_only_a_warning_is_sent,
    decisions_over_the_api_are_recorded_and_stated_where_the_project_wants_it,
    moderators_of_a_space_state_their_reasons,
    who_removes_their_own_needs_no_statement,
    texts_are_set_in_the_admin,
    an_operator_removes_what_is_in_no_space,
];

async fn told(user: &User<'_>) -> Value {
    user.get("/app-notifications").await.expect(200)["data"][0]["metadata"].clone()
}

async fn a_statement_has_what_the_law_asks_for(app: TestApp) {
    let (ada, bob) = (app.user().await, app.user().await);
    let entity = publish(&ada).await;
    let item = reported(&app, &bob, &entity).await;
    let decision = decide_one(&app, item, Action::Remove).await;
    apply(&app).await;
    let statement = &told(&ada).await["moderation"]["statement"];
    let until = decision.decided_at.plus(APPEAL_WITHIN);
    assert_eq!(
        *statement,
        json!({
            "restriction": {
                "kind": "removal", "scope": "content", "territory": "everywhere",
                "startsAt": app.now(), "endsAt": null,
            },
            "facts": { "text": "Because", "source": "report" },
            "automation": { "detection": false, "decision": false },
            "ground": { "kind": "contractual", "text": "The terms and rules of this community" },
            "redress": {
                "appeal": { "method": "POST", "path": "/moderation/appeals", "until": until },
                "contact": null,
            },
        })
    );
    let user = Item::Target(Target { kind: TargetKind::User, id: ada.id.0 });
    app.advance(std::time::Duration::from_secs(1));
    let decision = decide_one(&app, user, Action::Suspend(Suspend::Week)).await;
    apply(&app).await;
    let restriction = &told(&ada).await["moderation"]["statement"]["restriction"];
    assert_eq!(
        (&restriction["kind"], &restriction["scope"], &restriction["endsAt"]),
        (&json!("suspension"), &json!("account"), &json!(decision.ends_at))
    );
}

async fn a_project_words_ground_and_contact(app: TestApp) {
    let (project, now) = (app.project.id, app.now());
    let texts = StatementTexts {
        ground: Some("Section 3 of the guidelines".to_owned()),
        contact: Some("appeals@example.com".to_owned()),
    };
    let set = app.app.db.write(move |tx| store::set_statements(tx, project, &texts, now));
    assert!(set.await.unwrap());
    app.advance(std::time::Duration::from_secs(1));
    app.app.projects.forget_all();
    let (ada, bob) = (app.user().await, app.user().await);
    let item = reported(&app, &bob, &publish(&ada).await).await;
    decide_one(&app, item, Action::Warn).await;
    apply(&app).await;
    let statement = &told(&ada).await["moderation"]["statement"];
    assert_eq!(statement["ground"]["text"], "Section 3 of the guidelines");
    assert_eq!(statement["redress"]["contact"], "appeals@example.com");
    assert_eq!(statement["restriction"]["kind"], "warning");
}

async fn without_statements_only_a_warning_is_sent(app: TestApp) {
    app.change_settings(app.project.id, |settings| settings.statements_of_reasons = false).await;
    app.app.projects.forget_all();
    let (ada, bob) = (app.user().await, app.user().await);
    for action in [Action::Remove, Action::Suspend(Suspend::Day)] {
        let item = reported(&app, &bob, &publish_again(&app, &ada).await).await;
        decide_one(&app, item, action).await;
        apply(&app).await;
    }
    assert_eq!(ada.get("/app-notifications/count").await.expect(200), 0);
    let user = Item::Target(Target { kind: TargetKind::User, id: ada.id.0 });
    decide_one(&app, user, Action::Warn).await;
    apply(&app).await;
    let moderation = &told(&ada).await["moderation"];
    assert_eq!(moderation["action"], "warn");
    assert!(moderation.get("statement").is_none(), "{moderation}");
}

async fn publish_again(app: &TestApp, user: &User<'_>) -> String {
    app.advance(std::time::Duration::from_secs(1));
    publish(user).await
}

pub(crate) async fn states_over_api(app: &TestApp) {
    app.change_settings(app.project.id, |settings| settings.statements_over_api = true).await;
    app.app.projects.forget_all();
}

pub(crate) async fn notices(user: &User<'_>) -> Vec<Value> {
    let listed = user.get("/app-notifications").await.expect(200);
    let listed = listed["data"].as_array().unwrap().iter();
    listed.map(|one| one["metadata"].clone()).filter(|one| one["moderation"].is_object()).collect()
}

async fn decisions_over_the_api_are_recorded_and_stated_where_the_project_wants_it(app: TestApp) {
    let (ada, bob) = (app.user().await, app.user().await);
    let handle = async |app: &TestApp, actions: &[&str]| {
        let Item::Report(report) = reported(app, &bob, &publish_again(app, &ada).await).await
        else {
            panic!()
        };
        let body = json!({
            "actions": actions, "summary": "Removed", "reason": "Spam", "userId": ada.id,
        });
        app.service().patch(&format!("/reports/{report}"), body).await.expect(200);
    };
    handle(&app, &["remove-content"]).await;
    assert_eq!(app.rows_of(app.project.id, "moderation_decisions").await, 1);
    assert!(notices(&ada).await.is_empty(), "the API notifies nobody by itself");

    states_over_api(&app).await;
    handle(&app, &["remove-content", "suspend-user"]).await;
    assert_eq!(app.rows_of(app.project.id, "moderation_decisions").await, 3);
    let told = notices(&ada).await;
    let actions: Vec<&Value> = told.iter().map(|one| &one["moderation"]["action"]).collect();
    assert!(
        actions.contains(&&json!("remove")) && actions.contains(&&json!("suspend")),
        "{told:?}"
    );
    for one in &told {
        let statement = &one["moderation"]["statement"];
        assert_eq!(
            (&statement["facts"]["text"], &one["content"]),
            (&json!("Spam"), &json!("Spam"))
        );
        assert_eq!(statement["facts"]["source"], "report");
        // The author may appeal against each; the suspension ends with a successful appeal.
        let body = json!({ "decisionId": one["moderation"]["decisionId"], "text": "No" });
        let made = ada.post("/moderation/appeals", body).await.expect(201);
        let id = made["id"].as_str().unwrap().parse().unwrap();
        decide_one(&app, Item::Appeal(AppealId(id)), Action::Approve).await;
        apply(&app).await;
    }
    ada.post("/entities", json!({ "title": "Free" })).await.expect(201);
}

/// A space of the first user's, with a post and a comment of the second user's in it.
async fn in_space(ada: &User<'_>, bob: &User<'_>) -> (String, String, String) {
    let space = ada
        .post("/spaces", json!({ "name": "Cats", "requireJoinApproval": false }))
        .await
        .expect(201);
    if ada.id != bob.id {
        bob.post(&format!("{}/join", path(&space)), json!({})).await.expect(201);
    }
    let new = json!({ "title": "Dogs", "spaceId": space["id"] });
    let entity = bob.post("/entities", new).await.expect(201);
    let entity = format!("/entities/{}", entity["id"].as_str().unwrap());
    let said = comment(bob, &entity, "Dogs").await;
    (path(&space), entity, format!("/comments/{}", said["id"].as_str().unwrap()))
}

async fn moderators_of_a_space_state_their_reasons(app: TestApp) {
    states_over_api(&app).await;
    let (ada, bob) = (app.user().await, app.user().await);
    let (space, entity, said) = in_space(&ada, &bob).await;
    for content in [&said, &entity] {
        app.advance(std::time::Duration::from_secs(1));
        let remove = json!({ "action": "remove", "reason": "No dogs" });
        for _ in 0..2 {
            ada.patch(&format!("{space}{content}/moderation"), remove.clone()).await.expect(200);
        }
    }
    let told = notices(&bob).await;
    assert_eq!(told.len(), 2, "once for each: {told:?}");
    assert_eq!(told[0]["moderation"]["targetId"], json!(id_of(&entity)));
    assert_eq!(
        told[0]["moderation"]["statement"]["facts"],
        json!({ "text": "No dogs", "source": "moderator" })
    );
    assert_eq!(told[1]["moderation"]["targetType"], "comment");
    // An operator decides about the appeal.
    let body = json!({ "decisionId": told[0]["moderation"]["decisionId"], "text": "A cat" });
    let made = bob.post("/moderation/appeals", body).await.expect(201);
    let id = made["id"].as_str().unwrap().parse().unwrap();
    decide_one(&app, Item::Appeal(AppealId(id)), Action::Approve).await;
    apply(&app).await;
    assert_eq!(ada.get(&entity).await.expect(200)["moderationStatus"], "approved");
}

async fn who_removes_their_own_needs_no_statement(app: TestApp) {
    states_over_api(&app).await;
    let ada = app.user().await;
    let (space, entity, _) = in_space(&ada, &ada).await;
    ada.patch(&format!("{space}{entity}/moderation"), json!({ "action": "remove" }))
        .await
        .expect(200);
    assert!(notices(&ada).await.is_empty());
    assert_eq!(app.rows_of(app.project.id, "moderation_decisions").await, 0);
}

async fn texts_are_set_in_the_admin(app: TestApp) {
    let admin = Visitor::operator(&app, Role::Admin, Some(app.project.id)).await;
    let settings = format!("/admin/p/{}/settings", app.project.id);
    let long = "x".repeat(2_001);
    let wrong = [("do", "statements"), ("ground", &*long)];
    assert_eq!(admin.submit(&settings, &wrong).await.status, 400);
    let texts = [("do", "statements"), ("ground", "Section 3"), ("contact", "appeals@example.com")];
    assert_eq!(admin.submit(&settings, &texts).await.status, 303);
    let page = admin.get(&settings).await.text();
    assert!(page.contains("Section 3") && page.contains("appeals@example.com"), "{page}");
    let (ada, bob) = (app.user().await, app.user().await);
    let item = reported(&app, &bob, &publish(&ada).await).await;
    decide_one(&app, item, Action::Remove).await;
    apply(&app).await;
    let statement = &told(&ada).await["moderation"]["statement"];
    assert_eq!(statement["ground"]["text"], "Section 3");
    assert_eq!(statement["redress"]["contact"], "appeals@example.com");
}

async fn an_operator_removes_what_is_in_no_space(app: TestApp) {
    let moderator = Visitor::operator(&app, Role::Moderator, Some(app.project.id)).await;
    let ada = app.user().await;
    let entity = publish(&ada).await;
    let page = format!("/admin/p/{}/content/{}", app.project.id, id_of(&entity));
    let fields = [("do", "remove"), ("reason", "Spam")];
    let decided = moderator.submit(&page, &fields).await;
    assert_eq!(
        (decided.status, decided.header("location")),
        (303, Some(&*format!("{page}?decided=1")))
    );
    assert!(moderator.get(&format!("{page}?decided=1")).await.text().contains("undo it"));
    apply(&app).await;
    assert_eq!(app.service().get(&entity).await.expect(200)["moderationStatus"], "removed");
    assert_eq!(told(&ada).await["content"], "Spam");
    assert_eq!(moderator.submit(&page, &[("do", "delete")]).await.status, 403);
}
