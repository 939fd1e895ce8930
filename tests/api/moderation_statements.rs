//! Statements of reasons: what they say, and how a project words them or switches them off.

use serde_json::{Value, json};
use townhall::features::moderation::appeals::APPEAL_WITHIN;
use townhall::features::moderation::decisions::{Action, Item, Suspend};
use townhall::features::moderation::target::{Target, TargetKind};
use townhall::tenancy::store::{self, StatementTexts};

use crate::moderation_decisions::{apply, decide_one, reported};
use crate::reactions::publish;
use crate::support::{TestApp, User, on_both_engines};

on_both_engines![
    a_statement_has_what_the_law_asks_for,
    a_project_words_ground_and_contact,
    without_statements_only_a_warning_is_sent,
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
