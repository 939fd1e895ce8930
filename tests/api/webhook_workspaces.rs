//! The seven events of workspaces.

use serde_json::{Value, json};

use crate::support::receiver::{Receiver, subscribed};
use crate::support::{TestApp, on_both_engines};
use crate::workspaces::{create, create_below, id, path, verified, with_invitations};

on_both_engines![what_happens_in_workspaces_is_sent];

const EVENTS: [&str; 7] = [
    "workspace.invite.created",
    "workspace.invite.accepted",
    "workspace.invite.declined",
    "workspace.invite.revoked",
    "workspace.deleted",
    "workspace.member.added",
    "workspace.member.removed",
];

async fn sent(app: &TestApp, hook: &Receiver) -> Vec<(String, Value)> {
    app.run_jobs().await;
    let sent = hook.take().into_iter().map(|one| (one.name().to_owned(), one.json["data"].clone()));
    sent.collect()
}

fn names(sent: &[(String, Value)]) -> Vec<&str> {
    sent.iter().map(|(name, _)| name.as_str()).collect()
}

async fn what_happens_in_workspaces_is_sent(app: TestApp) {
    let (app, hook) = subscribed(app, &EVENTS).await;
    with_invitations(&app).await;
    let (ada, bob) = (verified(&app).await, verified(&app).await);
    let root = create(&ada, "root").await;
    let below = create_below(&ada, &root, "below").await;
    let invites = format!("{}/invites", path(&root));
    let mut made = Vec::new();
    for how in ["decline", "accept"] {
        let invite = ada.post(&invites, json!({ "userId": bob.id })).await.expect(201);
        let again = ada.post(&invites, json!({ "userId": bob.id })).await.expect(201);
        assert_eq!(id(&again), id(&invite));
        bob.post(&format!("/workspace-invites/{}/{how}", id(&invite)), json!({})).await.expect(200);
        made.push(invite);
    }
    let told = sent(&app, &hook).await;
    assert_eq!(names(&told), [EVENTS[0], EVENTS[2], EVENTS[0], EVENTS[1], EVENTS[5]]);
    assert_eq!(told[0].1, made[0]);
    assert_eq!((&told[1].1["id"], &told[1].1["status"]), (&made[0]["id"], &json!("declined")));
    assert_eq!(told[4].1["userId"], json!(bob.id));

    bob.delete(&format!("{}/members/me", path(&root))).await.expect(204);
    let invite = ada.post(&invites, json!({ "userId": bob.id })).await.expect(201);
    ada.post(&format!("{invites}/{}/revoke", id(&invite)), json!({})).await.expect(200);
    ada.delete(&path(&root)).await.expect(200);
    let told = sent(&app, &hook).await;
    assert_eq!(names(&told), [EVENTS[6], EVENTS[0], EVENTS[3], EVENTS[4], EVENTS[4]]);
    assert_eq!((&told[3].1["id"], &told[4].1["id"]), (&below["id"], &root["id"]), "bottom up");

    let other = create(&ada, "other").await;
    let invite = ada.post(&format!("{}/invites", path(&other)), json!({ "userId": bob.id })).await;
    let accept = format!("/workspace-invites/{}/accept", id(&invite.expect(201)));
    bob.post(&accept, json!({})).await.expect(200);
    sent(&app, &hook).await;
    app.service().delete(&format!("/users/{}", bob.id)).await.expect(204);
    assert_eq!(names(&sent(&app, &hook).await), [EVENTS[6]], "with the user");
}
