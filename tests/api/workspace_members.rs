//! How memberships of workspaces change and end: by capability, by rank, and never beyond what one holds.

use http::Method;
use serde_json::{Value, json};

use crate::entities::UNKNOWN;
use crate::support::{Actor, Reply, TestApp, User, keys, on_both_engines};
use crate::workspace_rosters::{Tree, tree};
use crate::workspaces::{
    CAPABILITIES, create, create_below, inherit, join, member_path, path, verified,
    with_invitations,
};

on_both_engines![
    a_member_is_updated_by_capability_and_rank,
    nobody_gives_what_they_do_not_hold,
    taking_away_needs_rank_alone,
    a_member_sets_their_own_title,
    a_member_is_removed_by_capability_and_rank,
    owners_neither_leave_nor_are_removed,
    a_user_is_removed_from_a_subtree_as_far_as_authority_goes,
    removal_from_a_subtree_is_all_or_nothing_by_rank,
    who_owns_something_below_is_not_removed_from_a_subtree,
];

async fn a_member_is_updated_by_capability_and_rank(app: TestApp) {
    with_invitations(&app).await;
    let (ada, access, profile) = (verified(&app).await, app.user().await, app.user().await);
    let target = app.user().await;
    let root = create(&ada, "root").await;
    join(&app, &root, &access, json!({ "capabilities": ["edit-member-access"], "rank": 3 })).await;
    join(&app, &root, &profile, json!({ "capabilities": ["edit-member-profile"], "rank": 3 }))
        .await;
    join(&app, &root, &target, json!({ "rank": 4 })).await;
    let place = member_path(&root, &target);
    let row = access.patch(&place, json!({ "rank": 5, "permissions": [] })).await.expect(200);
    assert_eq!(
        keys(&row),
        [
            "capabilities",
            "createdAt",
            "id",
            "joinedAt",
            "metadata",
            "permissions",
            "rank",
            "title",
            "userId",
            "workspaceId"
        ]
    );
    assert_eq!(row["rank"], 5);
    let body = json!({ "title": "Lead", "metadata": { "desk": 1 } });
    let row = profile.patch(&place, body).await.expect(200);
    assert_eq!(
        (&row["title"], &row["metadata"], &row["rank"]),
        (&json!("Lead"), &json!({ "desk": 1 }), &json!(5))
    );
    assert_eq!(
        profile.patch(&place, json!({ "title": null })).await.expect(200)["title"],
        Value::Null
    );
    // The other's fields.
    access.patch(&place, json!({ "title": "x" })).await.refused(403, "workspace/unauthorized");
    profile.patch(&place, json!({ "rank": 9 })).await.refused(403, "workspace/unauthorized");
    let both = json!({ "rank": 9, "title": "x" });
    profile.patch(&place, both).await.refused(403, "workspace/unauthorized");
    target.patch(&place, json!({ "metadata": {} })).await.refused(403, "workspace/unauthorized");
    let stranger = app.user().await;
    stranger.patch(&place, json!({ "rank": 9 })).await.refused(403, "workspace/unauthorized");
    // Equals and seniors, and ranks that are not junior.
    let equal = member_path(&root, &access);
    profile
        .patch(&equal, json!({ "title": "x" }))
        .await
        .refused(403, "workspace/insufficient-rank");
    access.patch(&equal, json!({ "rank": 9 })).await.refused(403, "workspace/insufficient-rank");
    for rank in [0, 3] {
        let reply = access.patch(&place, json!({ "rank": rank })).await;
        reply.refused(403, "workspace/insufficient-rank");
    }
    // Nobody there.
    for absent in [&ada, &stranger] {
        let reply = access.patch(&member_path(&root, absent), json!({ "rank": 9 })).await;
        reply.refused(404, "workspace/not-found");
    }
    let elsewhere = format!("/workspaces/{UNKNOWN}/members/{}", target.id);
    ada.patch(&elsewhere, json!({ "rank": 9 })).await.refused(404, "workspace/not-found");
    // A key acts with exactly the authority of the user it names.
    let named = json!({ "rank": 1, "actingUserId": access.id });
    app.service().patch(&place, named).await.refused(403, "workspace/insufficient-rank");
    let named = json!({ "rank": 1, "actingUserId": ada.id });
    app.service().patch(&place, named).await.expect(200);
}

async fn nobody_gives_what_they_do_not_hold(app: TestApp) {
    with_invitations(&app).await;
    let (ada, bob, target) = (verified(&app).await, app.user().await, app.user().await);
    let root = create(&ada, "root").await;
    let grant = json!({ "capabilities": ["edit-member-access", "invite"], "permissions": ["pay"], "rank": 3 });
    join(&app, &root, &bob, grant).await;
    join(&app, &root, &target, json!({ "rank": 4 })).await;
    let place = member_path(&root, &target);
    let set = async |actor: &Actor<'_>, body: Value| actor.patch(&place, body).await.outcome();
    assert_eq!(set(&bob, json!({ "capabilities": ["invite", "view"] })).await, "200");
    assert_eq!(set(&bob, json!({ "permissions": ["pay"] })).await, "200");
    let refused = "403 workspace/no-escalation";
    assert_eq!(set(&bob, json!({ "capabilities": ["invite", "edit-workspace"] })).await, refused);
    assert_eq!(set(&bob, json!({ "permissions": ["pay", "deploy"] })).await, refused);
    // Rank comes first.
    let both = json!({ "rank": 1, "permissions": ["deploy"] });
    assert_eq!(set(&bob, both).await, "403 workspace/insufficient-rank");
    assert_eq!(
        set(&ada, json!({ "permissions": ["deploy"], "capabilities": CAPABILITIES })).await,
        "200"
    );
    // Capabilities that reach down may be given, permissions do not reach.
    let child = create_below(&ada, &root, "child").await;
    inherit(&ada, &child, true).await.expect(200);
    join(&app, &child, &target, json!({})).await;
    let place = member_path(&child, &target);
    let set = async |body: Value| bob.patch(&place, body).await.outcome();
    assert_eq!(set(json!({ "capabilities": ["invite"], "rank": 0 })).await, "200");
    assert_eq!(set(json!({ "permissions": ["pay"] })).await, refused);
}

async fn taking_away_needs_rank_alone(app: TestApp) {
    with_invitations(&app).await;
    let (ada, bob, target) = (verified(&app).await, app.user().await, app.user().await);
    let root = create(&ada, "root").await;
    join(&app, &root, &bob, json!({ "capabilities": ["edit-member-access"], "rank": 3 })).await;
    let grant = json!({ "capabilities": ["invite", "edit-workspace"], "permissions": ["a", "b"], "rank": 4 });
    join(&app, &root, &target, grant).await;
    let place = member_path(&root, &target);
    // What stays is not given.
    let kept = json!({ "capabilities": ["edit-workspace"], "permissions": ["b"] });
    let row = bob.patch(&place, kept).await.expect(200);
    assert_eq!(
        (&row["capabilities"], &row["permissions"]),
        (&json!(["edit-workspace"]), &json!(["b"]))
    );
    bob.patch(&place, json!({ "capabilities": [], "permissions": [] })).await.expect(200);
    let back = json!({ "capabilities": ["edit-workspace"] });
    bob.patch(&place, back).await.refused(403, "workspace/no-escalation");
}

async fn a_member_sets_their_own_title(app: TestApp) {
    with_invitations(&app).await;
    let (ada, bob) = (verified(&app).await, app.user().await);
    let root = create(&ada, "root").await;
    join(
        &app,
        &root,
        &bob,
        json!({ "capabilities": ["edit-member-profile", "edit-member-access"] }),
    )
    .await;
    let place = member_path(&root, &bob);
    assert_eq!(bob.patch(&place, json!({ "title": "Chief" })).await.expect(200)["title"], "Chief");
    assert_eq!(bob.patch(&place, json!({ "title": "" })).await.expect(200)["title"], Value::Null);
    for more in [json!({ "title": "x", "metadata": {} }), json!({ "title": "x", "rank": 9 })] {
        bob.patch(&place, more).await.refused(403, "workspace/insufficient-rank");
    }
    let reply = ada.patch(&member_path(&root, &ada), json!({ "title": "x" })).await;
    reply.refused(404, "workspace/not-found");
}

async fn delete(actor: &Actor<'_>, workspace: &Value, user: &User<'_>) -> Reply {
    actor.delete(&member_path(workspace, user)).await
}

async fn a_member_is_removed_by_capability_and_rank(app: TestApp) {
    with_invitations(&app).await;
    let (ada, bob, cleo) = (verified(&app).await, app.user().await, app.user().await);
    let root = create(&ada, "root").await;
    join(&app, &root, &bob, json!({ "capabilities": ["remove-member"], "rank": 3 })).await;
    join(&app, &root, &cleo, json!({ "capabilities": ["edit-member-access"], "rank": 3 })).await;
    delete(&cleo, &root, &bob).await.refused(403, "workspace/unauthorized");
    delete(&bob, &root, &cleo).await.refused(403, "workspace/insufficient-rank");
    delete(&bob, &root, &bob).await.refused(403, "workspace/insufficient-rank");
    ada.patch(&member_path(&root, &cleo), json!({ "rank": 4 })).await.expect(200);
    delete(&bob, &root, &cleo).await.expect(204);
    delete(&bob, &root, &cleo).await.refused(404, "workspace/not-found");
    cleo.get(&path(&root)).await.refused(404, "workspace/not-found");
    let named = json!({ "actingUserId": ada.id });
    let place = member_path(&root, &bob);
    app.service().send(Method::DELETE, &place, Some(named)).await.expect(204);
}

async fn owners_neither_leave_nor_are_removed(app: TestApp) {
    with_invitations(&app).await;
    let Tree { ada, bob, cleo, dora, root, child, .. } = tree(&app).await;
    let me = |workspace: &Value| format!("{}/members/me", path(workspace));
    cleo.delete(&me(&child)).await.refused(409, "workspace/sole-owner");
    delete(&ada, &child, &cleo).await.refused(409, "workspace/sole-owner");
    delete(&dora, &child, &cleo).await.refused(403, "workspace/unauthorized");
    // An owner above has no membership here.
    ada.delete(&me(&child)).await.refused(404, "workspace/not-found");
    bob.delete(&me(&root)).await.expect(204);
    bob.delete(&me(&root)).await.refused(404, "workspace/not-found");
    dora.send(Method::DELETE, &me(&child), Some(json!({ "actingUserId": dora.id })))
        .await
        .expect(204);
    dora.delete(&format!("/workspaces/{UNKNOWN}/members/me"))
        .await
        .refused(404, "workspace/not-found");
}

async fn sweep(actor: &Actor<'_>, workspace: &Value, user: &User<'_>) -> Reply {
    actor.post(&format!("{}/remove-from-subtree", member_path(workspace, user)), json!({})).await
}

async fn a_user_is_removed_from_a_subtree_as_far_as_authority_goes(app: TestApp) {
    let Tree { ada, bob, cleo, root, child, inner, .. } = tree(&app).await;
    let target = app.user().await;
    for workspace in [&root, &child, &inner] {
        join(&app, workspace, &target, json!({ "rank": 9 })).await;
    }
    sweep(&bob, &root, &target).await.refused(403, "workspace/unauthorized");
    // Bob's capability is that of the root; of the child he sees nothing, of what is below he is a plain member.
    let body = json!({ "capabilities": ["remove-member"] });
    ada.patch(&member_path(&root, &bob), body).await.expect(200);
    join(&app, &inner, &bob, json!({})).await;
    let done = sweep(&bob, &root, &target).await.expect(200);
    assert_eq!(
        done,
        json!({
            "removedCount": 1,
            "removed": [{ "workspaceId": root["id"], "userId": target.id }],
            "skippedCount": 2,
            "skipped": [
                { "id": null, "name": null, "reason": "out-of-reach" },
                { "id": inner["id"], "name": "inner", "reason": "out-of-reach" },
            ],
        })
    );
    let done = sweep(&cleo, &child, &target).await.expect(200);
    assert_eq!((&done["removedCount"], &done["skippedCount"]), (&json!(2), &json!(0)));
    let done = sweep(&ada, &root, &target).await.expect(200);
    assert_eq!((&done["removedCount"], &done["removed"]), (&json!(0), &json!([])));
}

async fn removal_from_a_subtree_is_all_or_nothing_by_rank(app: TestApp) {
    let Tree { ada, bob, root, child, .. } = tree(&app).await;
    inherit(&ada, &child, true).await.expect(200);
    let target = app.user().await;
    let body = json!({ "capabilities": ["remove-member"] });
    ada.patch(&member_path(&root, &bob), body).await.expect(200);
    join(&app, &child, &bob, json!({ "rank": 5 })).await;
    join(&app, &root, &target, json!({ "rank": 9 })).await;
    join(&app, &child, &target, json!({ "rank": 5 })).await;
    sweep(&bob, &root, &target).await.refused(403, "workspace/insufficient-rank");
    let standing = ada.get(&member_path(&root, &target)).await.expect(200);
    assert_eq!(standing["rank"], 9, "nothing was removed");
    ada.patch(&member_path(&child, &target), json!({ "rank": 6 })).await.expect(200);
    assert_eq!(sweep(&bob, &root, &target).await.expect(200)["removedCount"], 2);
}

async fn who_owns_something_below_is_not_removed_from_a_subtree(app: TestApp) {
    let Tree { ada, bob, cleo, root, child, inner, .. } = tree(&app).await;
    join(&app, &root, &cleo, json!({ "rank": 9 })).await;
    let refusal = sweep(&ada, &root, &cleo).await.refused(409, "workspace/owns-descendants");
    let owned = [&child, &inner].map(|one| json!({ "id": one["id"], "name": one["name"] }));
    assert_eq!(refusal["ownedWorkspaces"], json!(owned));
    let body = json!({ "capabilities": ["remove-member"] });
    ada.patch(&member_path(&root, &bob), body).await.expect(200);
    let refusal = sweep(&bob, &root, &cleo).await.refused(409, "workspace/owns-descendants");
    assert_eq!(
        refusal["ownedWorkspaces"][0],
        json!({ "id": null, "name": null }),
        "bob does not see it"
    );
    let standing = ada.get(&member_path(&root, &cleo)).await.expect(200);
    assert_eq!(standing["rank"], 9);
}
