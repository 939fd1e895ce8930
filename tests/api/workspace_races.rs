//! Concurrent changes of one tree: one owner, no orphans, no membership that a check had forbidden.

use serde_json::{Value, json};

use crate::support::{TestApp, all_at_once, count, on_both_engines};
use crate::workspaces::{
    CAPABILITIES, create, create_below, id, join, member_path, path, verified, with_invitations,
};

on_both_engines![
    of_many_transfers_at_once_each_begins_with_the_owner_before,
    deletion_of_a_tree_among_changes_leaves_nothing,
    two_who_remove_each_other_do_not_both_succeed,
    a_flag_and_the_grants_that_depend_on_it_are_checked_in_one_order,
    deletion_of_users_among_changes_leaves_no_membership,
];

async fn of_many_transfers_at_once_each_begins_with_the_owner_before(app: TestApp) {
    let ada = verified(&app).await;
    let mut users = Vec::new();
    for _ in 0..4 {
        users.push(verified(&app).await);
    }
    let root = create(&ada, "root").await;
    let address = format!("{}/transfer-ownership", path(&root));
    let transfers = (0..64).map(|n| {
        let to = users[n % 4].id;
        ada.post(&address, json!({ "newOwnerId": to, "previousOwnerDisposition": "demote" }))
    });
    let replies = all_at_once(transfers).await;
    // Ada owns it until one of them succeeds, and is a plain member from then on.
    assert_eq!((count(&replies, 200), count(&replies, 403)), (1, 63));
    assert_eq!(app.rows("workspace_members").await, 1);
    let roster = app.service().get(&format!("{}/members", path(&root))).await.expect(200);
    assert_eq!(roster["total"], 2);
}

async fn deletion_of_a_tree_among_changes_leaves_nothing(app: TestApp) {
    with_invitations(&app).await;
    let (ada, bob) = (verified(&app).await, verified(&app).await);
    for round in 0..3 {
        let root = create(&ada, "root").await;
        let child = create_below(&ada, &root, "child").await;
        let gone = if round == 0 { &root } else { &child };
        let address = path(gone);
        let made = (0..20).map(|n| {
            let below = json!({ "name": n.to_string(), "parentWorkspaceId": child["id"] });
            ada.post("/workspaces", below)
        });
        let invites = (0..20).map(|n| {
            let body = json!({ "email": format!("u{n}@example.com") });
            let address = format!("{}/invites", path(&child));
            let ada = &ada;
            async move { ada.post(&address, body).await }
        });
        let accepted = json!({ "userId": bob.id });
        let invite = ada.post(&format!("{}/invites", path(&child)), accepted).await.expect(201);
        let accept = format!("/workspace-invites/{}/accept", id(&invite));
        let (deleted, made, invited, joined) = tokio::join!(
            ada.delete(&address),
            all_at_once(made),
            all_at_once(invites),
            bob.post(&accept, json!({})),
        );
        deleted.expect(200);
        assert_eq!(count(&made, 201) + count(&made, 404), 20);
        assert_eq!(count(&invited, 201) + count(&invited, 404), 20);
        assert!([200, 404].contains(&joined.status), "{}", joined.text());
        let left = if round == 0 { 0 } else { 1 };
        assert_eq!(app.rows("workspaces").await, left);
        assert_eq!(app.rows("workspace_lines").await, left);
        for table in ["workspace_members", "workspace_invitations"] {
            assert_eq!(app.rows(table).await, 0, "{table}");
        }
        if round > 0 {
            ada.delete(&path(&root)).await.expect(200);
        }
    }
}

async fn two_who_remove_each_other_do_not_both_succeed(app: TestApp) {
    with_invitations(&app).await;
    let (ada, bob, cleo) = (verified(&app).await, app.user().await, app.user().await);
    let root = create(&ada, "root").await;
    for _ in 0..4 {
        // Each is junior to the other in one of the two workspaces, and the capability reaches down.
        join(&app, &root, &bob, json!({ "capabilities": CAPABILITIES, "rank": 3 })).await;
        join(&app, &root, &cleo, json!({ "capabilities": CAPABILITIES, "rank": 3 })).await;
        let (of_bob, of_cleo) = (member_path(&root, &bob), member_path(&root, &cleo));
        ada.patch(&of_cleo, json!({ "rank": 4 })).await.expect(200);
        let lower = json!({ "rank": 5, "actingUserId": ada.id });
        // Bob removes cleo while he is made junior to her and she removes him.
        let service = app.service();
        let (by_bob, _, by_cleo) = tokio::join!(
            bob.delete(&of_cleo),
            service.patch(&of_bob, lower),
            cleo.delete(&of_bob),
        );
        let both = [by_bob.status, by_cleo.status];
        assert_ne!(both, [204, 204], "each acted as a member");
        for user in [&bob, &cleo] {
            let gone = json!({ "actingUserId": ada.id });
            let place = member_path(&root, user);
            let reply = service.send(http::Method::DELETE, &place, Some(gone)).await;
            assert!([204, 404].contains(&reply.status));
        }
    }
}

async fn a_flag_and_the_grants_that_depend_on_it_are_checked_in_one_order(app: TestApp) {
    with_invitations(&app).await;
    let (ada, bob) = (verified(&app).await, app.user().await);
    let root = create(&ada, "root").await;
    join(&app, &root, &bob, json!({ "capabilities": ["create-sub-workspace"] })).await;
    let child = create_below(&ada, &root, "child").await;
    let flag = format!("{}/inherit-flag", path(&child));
    for _ in 0..3 {
        ada.patch(&flag, json!({ "inheritsFromParent": true })).await.expect(200);
        let made = (0..32).map(|_| {
            bob.post("/workspaces", json!({ "name": "b", "parentWorkspaceId": child["id"] }))
        });
        let (flipped, made) = tokio::join!(
            ada.patch(&flag, json!({ "inheritsFromParent": false })),
            all_at_once(made)
        );
        flipped.expect(200);
        assert_eq!(count(&made, 201) + count(&made, 403), 32);
        let late = json!({ "name": "b", "parentWorkspaceId": child["id"] });
        bob.post("/workspaces", late).await.refused(403, "workspace/unauthorized");
    }
}

async fn deletion_of_users_among_changes_leaves_no_membership(app: TestApp) {
    with_invitations(&app).await;
    let ada = verified(&app).await;
    for _ in 0..3 {
        let (one, two) = (create(&ada, "one").await, create(&ada, "two").await);
        let bob = verified(&app).await;
        join(&app, &one, &bob, json!({ "rank": 1 })).await;
        let invites = format!("{}/invites", path(&two));
        let invite = ada.post(&invites, json!({ "userId": bob.id })).await.expect(201);
        let accept = format!("/workspace-invites/{}/accept", id(&invite));
        let (service, place) = (app.service(), member_path(&one, &bob));
        let gone = format!("/users/{}", bob.id);
        let (again, doomed): (Value, String) = (json!({ "userId": bob.id }), path(&two));
        let (deleted, changed, accepted, invited, removed) = tokio::join!(
            service.delete(&gone),
            all_at_once((0..8).map(|n| ada.patch(&place, json!({ "rank": n })))),
            bob.post(&accept, json!({})),
            ada.post(&invites, again),
            ada.delete(&doomed),
        );
        deleted.expect(204);
        removed.expect(200);
        assert_eq!(count(&changed, 200) + count(&changed, 404), 8);
        assert!([200, 403, 404].contains(&accepted.status), "{}", accepted.text());
        assert!([201, 404, 409].contains(&invited.status), "{}", invited.text());
        assert_eq!(app.rows("workspace_members").await, 0);
        assert_eq!(app.rows("workspace_invitations").await, 0);
    }
}
