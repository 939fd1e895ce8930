//! Workspaces: create, fetch, list, update, inherit, transfer, delete; and what the other tests of workspaces share.

use std::time::Duration;

use serde_json::{Value, json};
use townhall::features::users::store as users;
use townhall::tenancy::store as projects;
use townhall::tenancy::store::WorkspaceSettings;
use townhall::values::ids::{ProjectId, UserId};

use crate::entities::UNKNOWN;
use crate::support::{Actor, Reply, TestApp, User, keys, on_both_engines};

on_both_engines![
    a_root_is_made_by_a_user_with_a_verified_address,
    a_sub_workspace_needs_the_capability_and_has_a_depth_of_ten_at_most,
    a_new_workspace_has_the_flag_of_the_project,
    a_user_lists_what_they_own_or_are_a_member_of_newest_first,
    a_page_of_workspaces_is_in_the_order_of_creation,
    a_workspace_is_seen_by_those_with_a_relation_to_it,
    members_are_counted_when_asked_for,
    a_workspace_is_updated_by_who_may_edit_it,
    the_flag_is_flipped_by_owners_unless_it_is_enforced,
    a_deleted_workspace_takes_everything_below_along,
    a_transfer_ends_the_new_owners_membership,
    a_demoted_owner_becomes_a_member,
    a_transfer_is_refused_to_strangers_and_to_the_unverified,
    a_deleted_user_leaves_their_workspaces_and_keeps_owning_them,
];

pub fn id(value: &Value) -> String {
    value["id"].as_str().unwrap().to_owned()
}

pub fn path(workspace: &Value) -> String {
    format!("/workspaces/{}", id(workspace))
}

pub fn member_path(workspace: &Value, user: &User<'_>) -> String {
    format!("{}/members/{}", path(workspace), user.id)
}

/// A user whose address is verified.
pub async fn verified(app: &TestApp) -> User<'_> {
    let user = app.user().await;
    verify(app, app.project.id, user.id).await;
    user
}

pub async fn verify(app: &TestApp, project: ProjectId, user: UserId) {
    let now = app.now();
    app.app.db.write(move |tx| users::set_verified(tx, project, user, now)).await.unwrap();
}

/// Sets how the workspaces of the first project behave; every node knows when this returns.
pub async fn settings(app: &TestApp, new: WorkspaceSettings) {
    let (project, now) = (app.project.id, app.now());
    let set = app.app.db.write(move |tx| projects::set_workspaces(tx, project, &new, now));
    assert!(set.await.unwrap());
    app.advance(Duration::from_secs(1));
}

pub const ACCEPT_URL: &str = "https://app.example/join";

/// Invitations lead somewhere.
pub async fn with_invitations(app: &TestApp) {
    let invite_accept_url = Some(ACCEPT_URL.to_owned());
    settings(app, WorkspaceSettings { invite_accept_url, ..WorkspaceSettings::default() }).await;
}

pub async fn create(owner: &Actor<'_>, name: &str) -> Value {
    owner.post("/workspaces", json!({ "name": name })).await.expect(201)
}

pub async fn create_below(owner: &Actor<'_>, parent: &Value, name: &str) -> Value {
    let body = json!({ "name": name, "parentWorkspaceId": parent["id"] });
    owner.post("/workspaces", body).await.expect(201)
}

pub async fn inherit(owner: &Actor<'_>, workspace: &Value, inherits: bool) -> Reply {
    let body = json!({ "inheritsFromParent": inherits });
    owner.patch(&format!("{}/inherit-flag", path(workspace)), body).await
}

/// Makes a verified user a member by an invitation of the project itself.
pub async fn join(app: &TestApp, workspace: &Value, user: &User<'_>, grant: Value) {
    verify(app, app.project.id, user.id).await;
    let mut body = grant;
    body["userId"] = json!(user.id);
    let invites = format!("{}/invites", path(workspace));
    let invite = app.service().post(&invites, body).await.expect(201);
    let accept = format!("/workspace-invites/{}/accept", id(&invite));
    user.post(&accept, json!({})).await.expect(200);
}

async fn a_root_is_made_by_a_user_with_a_verified_address(app: TestApp) {
    let (ada, bob) = (verified(&app).await, app.user().await);
    let body = json!({ "name": "Press", "metadata": { "colour": "red" } });
    let reply = ada.post("/workspaces", body.clone()).await;
    let made = reply.expect(201);
    assert_eq!(
        keys(&made),
        [
            "createdAt",
            "depth",
            "id",
            "inheritsFromParent",
            "metadata",
            "name",
            "ownerId",
            "parentWorkspaceId",
            "updatedAt"
        ]
    );
    assert_eq!(made["name"], "Press");
    assert_eq!(made["metadata"], json!({ "colour": "red" }));
    assert_eq!(made["ownerId"], json!(ada.id));
    assert_eq!((&made["parentWorkspaceId"], &made["depth"]), (&Value::Null, &json!(0)));
    assert_eq!(made["inheritsFromParent"], false);
    assert_eq!(ada.get(&path(&made)).await.expect(200), made);
    assert_eq!(ada.v7().get(&path(&made)).await.expect(200), made);

    bob.post("/workspaces", body.clone()).await.refused(403, "workspace/email-not-verified");
    for key in [app.service(), app.master()] {
        key.post("/workspaces", body.clone()).await.refused(400, "workspace/missing-user-id");
        let named = |user: &str| json!({ "name": "n", "actingUserId": user });
        let reply = key.post("/workspaces", named(&bob.id.to_string())).await;
        reply.refused(403, "workspace/email-not-verified");
        let made = key.post("/workspaces", named(&ada.id.to_string())).await.expect(201);
        assert_eq!(made["ownerId"], json!(ada.id));
        let reply = key.post("/workspaces", named(UNKNOWN)).await;
        reply.refused(404, "workspace/invalid-target");
    }
    for wrong in [
        json!({}),
        json!({ "name": "" }),
        json!({ "name": null }),
        json!({ "name": 7 }),
        json!({ "name": "n".repeat(101) }),
        json!({ "name": "n", "metadata": [] }),
        json!({ "name": "n", "parentWorkspaceId": "root" }),
        json!({ "name": "n", "inheritsFromParent": true }),
        json!([]),
    ] {
        ada.post("/workspaces", wrong.clone()).await.refused(400, "workspace/invalid-body");
    }
    ada.post("/workspaces", json!({ "name": "é".repeat(100) })).await.expect(201);
    ada.v6().post("/workspaces", body).await.refused(404, "route/not-found");
}

async fn a_sub_workspace_needs_the_capability_and_has_a_depth_of_ten_at_most(app: TestApp) {
    with_invitations(&app).await;
    let (ada, bob, cleo) = (verified(&app).await, app.user().await, app.user().await);
    let root = create(&ada, "root").await;
    let below = json!({ "name": "b", "parentWorkspaceId": root["id"] });
    bob.post("/workspaces", below.clone()).await.refused(403, "workspace/unauthorized");
    join(&app, &root, &bob, json!({ "capabilities": ["create-sub-workspace"] })).await;
    join(&app, &root, &cleo, json!({ "capabilities": ["edit-workspace"] })).await;
    cleo.post("/workspaces", below.clone()).await.refused(403, "workspace/unauthorized");
    let made = bob.post("/workspaces", below).await.expect(201);
    assert_eq!((&made["ownerId"], &made["depth"]), (&json!(bob.id), &json!(1)));
    assert_eq!(made["parentWorkspaceId"], root["id"]);
    let unknown = json!({ "name": "b", "parentWorkspaceId": UNKNOWN });
    bob.post("/workspaces", unknown).await.refused(404, "workspace/not-found");

    let mut deepest = made;
    for depth in 2..=10 {
        deepest = create_below(&ada, &deepest, "deeper").await;
        assert_eq!(deepest["depth"], depth);
    }
    let body = json!({ "name": "too deep", "parentWorkspaceId": deepest["id"] });
    ada.post("/workspaces", body.clone()).await.refused(400, "workspace/max-depth-exceeded");
    // Who may not is told so first.
    cleo.post("/workspaces", body).await.refused(403, "workspace/unauthorized");
}

async fn a_new_workspace_has_the_flag_of_the_project(app: TestApp) {
    let ada = verified(&app).await;
    let before = create(&ada, "before").await;
    settings(&app, WorkspaceSettings { inherits_default: true, ..Default::default() }).await;
    let (root, below) = (create(&ada, "root").await, create_below(&ada, &before, "below").await);
    let flags = [&before, &root, &below].map(|one| one["inheritsFromParent"].clone());
    assert_eq!(flags, [json!(false), json!(true), json!(true)]);
}

async fn a_user_lists_what_they_own_or_are_a_member_of_newest_first(app: TestApp) {
    with_invitations(&app).await;
    let (ada, bob) = (verified(&app).await, verified(&app).await);
    let mut made = Vec::new();
    for (n, owner) in [&ada, &bob, &ada, &bob].into_iter().enumerate() {
        made.push(create(owner, &n.to_string()).await);
        app.advance(Duration::from_secs(1));
    }
    join(&app, &made[1], &ada, json!({})).await;
    // What is below one's own, but somebody else's, is not listed.
    join(&app, &made[0], &bob, json!({ "capabilities": ["create-sub-workspace"] })).await;
    create_below(&bob, &made[0], "below").await;

    let list = ada.get("/workspaces").await.expect(200);
    let names = |list: &Value| {
        let data = list["data"].as_array().unwrap();
        data.iter().map(|one| one["name"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(names(&list), ["2", "1", "0"]);
    assert_eq!(list["pagination"]["totalItems"], 3);
    let named = format!("/workspaces?actingUserId={}", ada.id);
    assert_eq!(app.service().get(&named).await.expect(200), list);
    assert_eq!(ada.get(&named).await.expect(200), list);
    bob.get(&named).await.refused(403, "workspace/unauthorized");
    app.service().get("/workspaces").await.refused(400, "workspace/missing-user-id");
    let counted = bob.get("/workspaces?include=memberCount").await.expect(200);
    let counts: Vec<Value> =
        counted["data"].as_array().unwrap().iter().map(|one| one["memberCount"].clone()).collect();
    assert_eq!(names(&counted), ["below", "3", "1", "0"]);
    assert_eq!(counts, [json!(0), json!(0), json!(1), json!(1)]);
}

async fn a_page_of_workspaces_is_in_the_order_of_creation(app: TestApp) {
    let ada = verified(&app).await;
    for n in 0..5 {
        create(&ada, &n.to_string()).await;
        app.advance(Duration::from_secs(1));
    }
    for (query, names, has_more) in [
        ("limit=2", vec!["4", "3"], true),
        ("limit=2&page=3", vec!["0"], false),
        ("page=9", vec![], false),
        ("limit=1000", vec!["4", "3", "2", "1", "0"], false),
    ] {
        let list = ada.get(&format!("/workspaces?{query}")).await.expect(200);
        let data = list["data"].as_array().unwrap();
        let found: Vec<&str> = data.iter().map(|one| one["name"].as_str().unwrap()).collect();
        assert_eq!(found, names, "{query}");
        assert_eq!(list["pagination"]["hasMore"], has_more, "{query}");
        assert_eq!(list["pagination"]["totalItems"], 5);
    }
    let clamped = ada.get("/workspaces?limit=1000").await.expect(200);
    assert_eq!(clamped["pagination"]["pageSize"], 100);
    for wrong in ["page=0", "limit=0", "page=x", "limit=-1", "page=1.5"] {
        let reply = ada.get(&format!("/workspaces?{wrong}")).await;
        reply.refused(400, "workspace/invalid-query");
    }
}

async fn a_workspace_is_seen_by_those_with_a_relation_to_it(app: TestApp) {
    with_invitations(&app).await;
    let (ada, bob, cleo) = (verified(&app).await, verified(&app).await, app.user().await);
    let root = create(&ada, "root").await;
    join(&app, &root, &bob, json!({ "capabilities": ["create-sub-workspace"] })).await;
    let child = create_below(&bob, &root, "child").await;
    join(&app, &child, &cleo, json!({})).await;
    let dora = app.user().await;
    join(&app, &root, &dora, json!({})).await;

    // By user: whether they see the root, and the child before and after it inherits.
    for (who, user, seen) in [
        ("owner of both", &ada, [true, true, true]),
        ("owner of the child", &bob, [true, true, true]),
        ("member of the child", &cleo, [false, true, true]),
        ("member of the root", &dora, [true, false, true]),
    ] {
        inherit(&bob, &child, false).await.expect(200);
        let mut found = vec![user.get(&path(&root)).await, user.get(&path(&child)).await];
        inherit(&ada, &child, true).await.expect(200);
        found.push(user.get(&path(&child)).await);
        let unknown = user.get(&format!("/workspaces/{UNKNOWN}")).await;
        for (reply, is_seen) in found.iter().zip(seen) {
            match is_seen {
                true => drop(reply.expect(200)),
                false => assert_eq!(reply.body, unknown.body, "{who}"),
            }
        }
    }
    let (stranger, nobody) = (app.stranger().await, app.anonymous());
    for actor in [&nobody, &stranger.in_project(app.project.id), &app.bearer("rubbish")] {
        actor.get(&path(&root)).await.refused(404, "workspace/not-found");
    }
    app.service().get(&path(&root)).await.expect(200);
    let other = app.service().in_project(app.other.id);
    assert_ne!(other.get(&path(&root)).await.status, 200);
    stranger.get(&path(&root)).await.refused(404, "workspace/not-found");
}

async fn members_are_counted_when_asked_for(app: TestApp) {
    with_invitations(&app).await;
    let (ada, bob) = (verified(&app).await, app.user().await);
    let root = create(&ada, "root").await;
    let fetch = async |query: &str| ada.get(&format!("{}{query}", path(&root))).await.expect(200);
    assert_eq!(fetch("?include=memberCount").await["memberCount"], 0);
    join(&app, &root, &bob, json!({})).await;
    assert_eq!(fetch("?include=unknown,memberCount").await["memberCount"], 1);
    assert_eq!(fetch("").await.get("memberCount"), None);
}

async fn a_workspace_is_updated_by_who_may_edit_it(app: TestApp) {
    with_invitations(&app).await;
    let (ada, bob, cleo) = (verified(&app).await, app.user().await, app.user().await);
    let root = create(&ada, "root").await;
    join(&app, &root, &bob, json!({ "capabilities": ["edit-workspace"] })).await;
    join(&app, &root, &cleo, json!({ "capabilities": ["invite"] })).await;
    app.advance(Duration::from_secs(5));
    let renamed = bob.patch(&path(&root), json!({ "name": "new" })).await.expect(200);
    assert_eq!((&renamed["name"], &renamed["metadata"]), (&json!("new"), &json!({})));
    assert_ne!(renamed["updatedAt"], root["updatedAt"]);
    let described = app.service().patch(&path(&root), json!({ "metadata": { "a": 1 } })).await;
    assert_eq!(described.expect(200)["name"], "new");
    assert_eq!(ada.get(&path(&root)).await.expect(200), described.json());
    cleo.patch(&path(&root), json!({ "name": "x" })).await.refused(403, "workspace/unauthorized");
    let stranger = app.user().await;
    let reply = stranger.patch(&path(&root), json!({ "name": "x" })).await;
    reply.refused(403, "workspace/unauthorized");
    let unknown = format!("/workspaces/{UNKNOWN}");
    stranger.patch(&unknown, json!({ "name": "x" })).await.refused(404, "workspace/not-found");
    for wrong in [
        json!({}),
        json!({ "name": "" }),
        json!({ "name": null }),
        json!({ "metadata": "x" }),
        json!({ "name": "x", "ownerId": bob.id }),
    ] {
        ada.patch(&path(&root), wrong).await.refused(400, "workspace/invalid-body");
    }
}

async fn the_flag_is_flipped_by_owners_unless_it_is_enforced(app: TestApp) {
    with_invitations(&app).await;
    let (ada, bob, cleo) = (verified(&app).await, app.user().await, app.user().await);
    let root = create(&ada, "root").await;
    join(&app, &root, &bob, json!({ "capabilities": ["create-sub-workspace"] })).await;
    let child = create_below(&bob, &root, "child").await;
    let all: Vec<&str> = CAPABILITIES.to_vec();
    join(&app, &child, &cleo, json!({ "capabilities": all })).await;
    for owner in [&ada, &bob] {
        assert_eq!(inherit(owner, &child, true).await.expect(200)["inheritsFromParent"], true);
        assert_eq!(inherit(owner, &child, false).await.expect(200)["inheritsFromParent"], false);
    }
    inherit(&cleo, &child, true).await.refused(403, "workspace/unauthorized");
    inherit(&app.service(), &child, true).await.expect(200);
    let flag = format!("{}/inherit-flag", path(&child));
    for wrong in [json!({}), json!({ "inheritsFromParent": "true" })] {
        ada.patch(&flag, wrong).await.refused(400, "workspace/invalid-body");
    }
    settings(&app, WorkspaceSettings { inherit_enforced: true, ..Default::default() }).await;
    inherit(&cleo, &child, true).await.refused(403, "workspace/unauthorized");
    for owner in [&*ada, &app.service()] {
        inherit(owner, &child, false).await.refused(403, "workspace/inherit-enforced");
    }
}

pub const CAPABILITIES: [&str; 7] = [
    "view",
    "invite",
    "remove-member",
    "edit-member-access",
    "edit-member-profile",
    "create-sub-workspace",
    "edit-workspace",
];

async fn a_deleted_workspace_takes_everything_below_along(app: TestApp) {
    with_invitations(&app).await;
    let (ada, bob) = (verified(&app).await, verified(&app).await);
    let (root, kept) = (create(&ada, "root").await, create(&ada, "kept").await);
    join(&app, &root, &bob, json!({ "capabilities": CAPABILITIES })).await;
    let child = create_below(&bob, &root, "child").await;
    let inner = create_below(&bob, &child, "inner").await;
    join(&app, &inner, &app.user().await, json!({})).await;
    let invites = format!("{}/invites", path(&inner));
    bob.post(&invites, json!({ "email": "x@example.com" })).await.expect(201);

    let stranger = app.user().await;
    stranger.delete(&path(&child)).await.refused(403, "workspace/unauthorized");
    bob.delete(&path(&root)).await.refused(403, "workspace/unauthorized");
    let reply = ada.delete(&path(&child)).await.expect(200);
    assert!(reply["message"].is_string());
    for gone in [&child, &inner] {
        bob.get(&path(gone)).await.refused(404, "workspace/not-found");
        bob.delete(&path(gone)).await.refused(404, "workspace/not-found");
    }
    assert_eq!(app.rows("workspaces").await, 2);
    assert_eq!(app.rows("workspace_lines").await, 2);
    assert_eq!(app.rows("workspace_members").await, 1);
    app.service().delete(&path(&root)).await.expect(200);
    assert_eq!(app.rows("workspace_members").await, 0);
    assert_eq!(app.rows("workspace_invitations").await, 0);
    ada.get(&path(&kept)).await.expect(200);
}

async fn transfer(actor: &Actor<'_>, workspace: &Value, body: Value) -> Reply {
    actor.post(&format!("{}/transfer-ownership", path(workspace)), body).await
}

async fn a_transfer_ends_the_new_owners_membership(app: TestApp) {
    with_invitations(&app).await;
    let (ada, bob) = (verified(&app).await, app.user().await);
    let root = create(&ada, "root").await;
    join(&app, &root, &bob, json!({ "capabilities": ["invite"] })).await;
    let moved = transfer(&ada, &root, json!({ "newOwnerId": bob.id })).await.expect(200);
    assert_eq!(moved["ownerId"], json!(bob.id));
    assert_eq!(app.rows("workspace_members").await, 0);
    ada.get(&path(&root)).await.refused(404, "workspace/not-found");
    bob.get(&path(&root)).await.expect(200);
    transfer(&ada, &root, json!({ "newOwnerId": ada.id }))
        .await
        .refused(403, "workspace/unauthorized");
    // To the owner: nothing changes.
    let again = json!({ "newOwnerId": bob.id, "previousOwnerDisposition": "demote" });
    assert_eq!(transfer(&bob, &root, again).await.expect(200), moved);
    assert_eq!(app.rows("workspace_members").await, 0);
    // The project may do it as well.
    transfer(&app.service(), &root, json!({ "newOwnerId": ada.id })).await.expect(200);
    ada.get(&path(&root)).await.expect(200);
}

async fn a_demoted_owner_becomes_a_member(app: TestApp) {
    let (ada, bob) = (verified(&app).await, verified(&app).await);
    let root = create(&ada, "root").await;
    let body = json!({ "newOwnerId": bob.id, "previousOwnerDisposition": "demote" });
    transfer(&ada, &root, body).await.expect(200);
    let authority = format!("{}/authority/me", path(&root));
    let own = ada.get(&authority).await.expect(200);
    assert_eq!(own["rank"], 0);
    assert_eq!(own["capabilities"], json!(["view"]));
    let body = json!({
        "newOwnerId": ada.id,
        "previousOwnerDisposition": "demote",
        "previousOwnerRank": 7,
        "previousOwnerCapabilities": ["invite"],
    });
    transfer(&bob, &root, body).await.expect(200);
    let own = bob.get(&authority).await.expect(200);
    assert_eq!((&own["rank"], &own["capabilities"]), (&json!(7), &json!(["view", "invite"])));
    for wrong in [
        json!({}),
        json!({ "newOwnerId": "x" }),
        json!({ "newOwnerId": bob.id, "previousOwnerDisposition": "keep" }),
        json!({ "newOwnerId": bob.id, "previousOwnerRelativeRank": 1 }),
        json!({ "newOwnerId": bob.id, "previousOwnerRank": -1 }),
        json!({ "newOwnerId": bob.id, "previousOwnerRank": 2_147_483_648_u32 }),
        json!({ "newOwnerId": bob.id, "previousOwnerCapabilities": ["rule"] }),
    ] {
        transfer(&ada, &root, wrong).await.refused(400, "workspace/invalid-body");
    }
}

async fn a_transfer_is_refused_to_strangers_and_to_the_unverified(app: TestApp) {
    let (ada, bob, eve) = (verified(&app).await, app.user().await, app.stranger().await);
    let root = create(&ada, "root").await;
    let child = create_below(&ada, &root, "child").await;
    for unknown in [json!(eve.id), json!(UNKNOWN)] {
        let reply = transfer(&ada, &root, json!({ "newOwnerId": unknown })).await;
        reply.refused(404, "workspace/invalid-target");
    }
    let reply = transfer(&ada, &root, json!({ "newOwnerId": bob.id })).await;
    reply.refused(403, "workspace/email-not-verified");
    let cleo = verified(&app).await;
    transfer(&cleo, &root, json!({ "newOwnerId": cleo.id }))
        .await
        .refused(403, "workspace/unauthorized");
    // The same for a user with a block between them.
    ada.post(&format!("/users/{}/block", cleo.id), json!({})).await.expect(201);
    let reply = transfer(&ada, &root, json!({ "newOwnerId": cleo.id })).await;
    reply.refused(404, "workspace/invalid-target");
    // An owner above takes it back.
    transfer(&app.service(), &child, json!({ "newOwnerId": cleo.id })).await.expect(200);
    transfer(&ada, &child, json!({ "newOwnerId": ada.id })).await.expect(200);
}

async fn a_deleted_user_leaves_their_workspaces_and_keeps_owning_them(app: TestApp) {
    with_invitations(&app).await;
    let (ada, bob) = (verified(&app).await, verified(&app).await);
    let (root, other) = (create(&ada, "root").await, create(&bob, "other").await);
    join(&app, &root, &bob, json!({})).await;
    let invites = format!("{}/invites", path(&root));
    let cleo = app.user().await;
    for body in [json!({ "userId": cleo.id }), json!({ "email": "dora@example.com" })] {
        ada.post(&invites, body).await.expect(201);
    }
    for user in [&bob, &cleo] {
        app.service().delete(&format!("/users/{}", user.id)).await.expect(204);
    }
    assert_eq!(app.rows("workspace_members").await, 0);
    assert_eq!(app.rows("workspace_invitations").await, 1, "only the one to an address is left");
    let kept = app.service().get(&path(&other)).await.expect(200);
    assert_eq!(kept["ownerId"], json!(bob.id));
    let members = format!("{}/members", path(&other));
    let roster = app.service().get(&members).await.expect(200);
    assert_eq!(roster["data"], json!([{ "user": null, "reasons": [{ "type": "owner" }] }]));
    // A deleted owner cannot be made a member.
    let body = json!({ "newOwnerId": ada.id, "previousOwnerDisposition": "demote" });
    transfer(&app.service(), &other, body).await.expect(200);
    assert_eq!(app.rows("workspace_members").await, 0);
}
