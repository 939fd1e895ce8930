//! Every list of workspaces, members and invitations is found by an index, and a user's page is read in the order of one.

use std::time::Duration;

use db::AnyStatement;
use serde_json::json;
use townhall::features;

use crate::feed_plans::{scans, sorts};
use crate::support::{TestApp, on_both_engines};
use crate::workspaces::{create, id, join, path, verified, with_invitations};

on_both_engines![
    statements_about_workspaces_use_indexes,
    a_page_of_ones_own_workspaces_is_not_sorted,
    a_list_takes_the_same_number_of_statements_however_long_it_is,
];

/// The plans of the statements whose names end so, on a server with thousands of rows.
async fn plans(app: &TestApp, end: &'static str) -> Vec<(&'static str, Vec<String>)> {
    let db = app.app.db.clone();
    let is_asked_for = move |one: &&dyn AnyStatement| {
        one.name().contains("::workspaces::store::") && one.name().ends_with(end)
    };
    let explained = tokio::task::spawn_blocking(move || {
        let explain = |one: &dyn AnyStatement| (one.name(), db.explain(one).unwrap());
        features::statements().filter(is_asked_for).map(explain).collect()
    });
    explained.await.unwrap()
}

async fn statements_about_workspaces_use_indexes(app: TestApp) {
    let app = app.server_with_many_rows().await;
    let plans = plans(&app, "").await;
    assert!(plans.len() > 25, "{}", plans.len());
    for (name, plan) in plans {
        assert!(!scans(&plan), "{name}\n{}", plan.join("\n"));
    }
}

async fn a_page_of_ones_own_workspaces_is_not_sorted(app: TestApp) {
    let app = app.server_with_many_rows().await;
    for end in ["::store::OWNED", "::members::JOINED"] {
        let plans = plans(&app, end).await;
        let [(name, plan)] = plans.as_slice() else { panic!("{plans:?}") };
        assert!(!sorts(app.engine(), plan), "{name}\n{}", plan.join("\n"));
    }
}

async fn a_list_takes_the_same_number_of_statements_however_long_it_is(app: TestApp) {
    with_invitations(&app).await;
    let (ada, bob) = (verified(&app).await, app.user().await);
    let root = create(&ada, "root").await;
    let addresses = [
        "/workspaces?include=memberCount".to_owned(),
        format!("{}/members?include=ancestorOwners,reachHolders,descendants", path(&root)),
        format!("{}/invites", path(&root)),
        format!("/me/workspace-invites?actingUserId={}", bob.id),
    ];
    let count = async || {
        let mut counts = Vec::new();
        for address in &addresses {
            let (service, is_inbox) = (app.service(), address.starts_with("/me"));
            let actor = if is_inbox { &service } else { &*ada };
            let seen = app.statements.during(actor.get(address)).await;
            let own =
                |name: &str| name.contains("workspaces::store") || name.contains("users::store");
            counts.push(seen.iter().filter(|(name, _)| own(name)).count());
        }
        counts
    };
    let invite = async |body| ada.post(&format!("{}/invites", path(&root)), body).await.expect(201);
    join(&app, &root, &app.user().await, json!({})).await;
    let first = invite(json!({ "userId": bob.id })).await;
    assert!(!id(&first).is_empty());
    let few = count().await;
    for n in 0..5 {
        app.advance(Duration::from_secs(1));
        join(&app, &root, &app.user().await, json!({})).await;
        invite(json!({ "email": format!("n{n}@example.com") })).await;
        let other = create(&ada, "other").await;
        let to_bob = json!({ "userId": bob.id });
        ada.post(&format!("{}/invites", path(&other)), to_bob).await.expect(201);
    }
    assert!(few.iter().all(|count| *count > 0), "{few:?}");
    assert_eq!(count().await, few);
}
