//! Members of workspaces: authority, roster, standing, fences, ranks, and how memberships change and end.

use http::Method;
use serde_json::{Value, json};

use crate::entities::UNKNOWN;
use crate::support::{Actor, Reply, TestApp, User, keys, on_both_engines};
use crate::workspaces::{
    CAPABILITIES, create, create_below, inherit, join, member_path, path, verified,
    with_invitations,
};

on_both_engines![
    authority_names_every_reason,
    a_strangers_authority_is_empty,
    the_roster_lists_everybody_once_with_their_reasons,
    the_roster_is_counted,
    access_of_others_is_behind_a_fence,
    access_from_elsewhere_is_fenced_where_it_comes_from,
    a_standing_is_fenced_like_the_roster,
    ranks_are_relative_to_the_caller,
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

async fn authority(user: &Actor<'_>, workspace: &Value) -> Value {
    user.get(&format!("{}/authority/me", path(workspace))).await.expect(200)
}

async fn roster(actor: &Actor<'_>, workspace: &Value, query: &str) -> Value {
    actor.get(&format!("{}/members{query}", path(workspace))).await.expect(200)
}

/// The reasons of one user.
fn reasons(roster: &Value, user: &User<'_>) -> Vec<Value> {
    let data = roster["data"].as_array().unwrap();
    let mut found = data.iter().filter(|entry| entry["user"]["id"] == json!(user.id));
    let reasons = found.next().map(|entry| entry["reasons"].as_array().unwrap().clone());
    assert!(found.next().is_none(), "listed twice");
    reasons.unwrap_or_default()
}

fn kinds(reasons: &[Value]) -> Vec<&str> {
    reasons.iter().map(|reason| reason["type"].as_str().unwrap()).collect()
}

async fn authority_names_every_reason(app: TestApp) {
    with_invitations(&app).await;
    let (ada, bob) = (verified(&app).await, app.user().await);
    let root = create(&ada, "root").await;
    let grant = json!({ "capabilities": ["create-sub-workspace", "invite"], "permissions": ["pay"], "rank": 3 });
    join(&app, &root, &bob, grant).await;
    let child = create_below(&ada, &root, "child").await;
    inherit(&ada, &child, true).await.expect(200);
    let own = authority(&bob, &root).await;
    assert_eq!(
        own,
        json!({
            "reasons": [{ "type": "member" }],
            "capabilities": ["view", "invite", "create-sub-workspace"],
            "permissions": ["pay"],
            "rank": 3,
        })
    );
    let below = authority(&bob, &child).await;
    assert_eq!(
        below,
        json!({
            "reasons": [{
                "type": "reach-holder",
                "viaWorkspaceId": root["id"],
                "capabilities": ["create-sub-workspace", "invite"],
            }],
            "capabilities": ["view", "invite", "create-sub-workspace"],
            "permissions": [],
            "rank": null,
        })
    );
    let owner = authority(&ada, &child).await;
    assert_eq!(
        owner["reasons"],
        json!([{ "type": "owner" }, { "type": "ancestor-owner", "viaWorkspaceId": root["id"] }])
    );
    assert_eq!(owner["capabilities"], json!(CAPABILITIES));
    let named = format!("{}/authority/me?actingUserId={}", path(&child), bob.id);
    assert_eq!(app.service().get(&named).await.expect(200), below);
}

async fn a_strangers_authority_is_empty(app: TestApp) {
    let (ada, bob) = (verified(&app).await, app.user().await);
    let root = create(&ada, "root").await;
    let none = json!({ "reasons": [], "capabilities": [], "permissions": [], "rank": null });
    assert_eq!(authority(&bob, &root).await, none);
    let unknown = format!("/workspaces/{UNKNOWN}/authority/me");
    bob.get(&unknown).await.refused(404, "workspace/not-found");
}

/// Ada owns the root and bob is a member of it; cleo owns the child, dora is a member of it, and eve of what is below.
struct Tree<'a> {
    ada: User<'a>,
    bob: User<'a>,
    cleo: User<'a>,
    dora: User<'a>,
    eve: User<'a>,
    root: Value,
    child: Value,
    inner: Value,
}

async fn tree(app: &TestApp) -> Tree<'_> {
    with_invitations(app).await;
    let (ada, bob, cleo) = (verified(app).await, verified(app).await, verified(app).await);
    let (dora, eve) = (verified(app).await, verified(app).await);
    let root = create(&ada, "root").await;
    let child = create_below(&ada, &root, "child").await;
    let to = json!({ "newOwnerId": cleo.id });
    ada.post(&format!("{}/transfer-ownership", path(&child)), to).await.expect(200);
    let inner = create_below(&cleo, &child, "inner").await;
    join(app, &root, &bob, json!({ "capabilities": ["edit-workspace"], "rank": 2 })).await;
    let grant =
        json!({ "capabilities": ["view"], "permissions": ["pay"], "rank": 5, "title": "T" });
    join(app, &child, &dora, grant).await;
    join(app, &inner, &eve, json!({ "capabilities": ["edit-workspace"], "rank": 1 })).await;
    Tree { ada, bob, cleo, dora, eve, root, child, inner }
}

async fn the_roster_lists_everybody_once_with_their_reasons(app: TestApp) {
    let Tree { ada, bob, cleo, dora, eve, root, child, inner } = tree(&app).await;
    let plain = roster(&cleo, &child, "").await;
    assert_eq!(plain["total"], 2);
    let data = plain["data"].as_array().unwrap();
    assert_eq!(data.len(), 2);
    assert_eq!(data[0]["user"]["id"], json!(cleo.id), "the owner is first");
    assert_eq!(keys(&data[0]), ["reasons", "user"]);
    assert_eq!(reasons(&plain, &cleo), [json!({ "type": "owner" })]);
    assert_eq!(
        reasons(&plain, &dora),
        [json!({
            "type": "member", "rank": 5, "relativeRank": 6, "capabilities": ["view"],
            "permissions": ["pay"], "title": "T", "metadata": {},
        })]
    );
    let all = "?include=ancestorOwners,reachHolders,descendants,unknown";
    let whole = roster(&ada, &child, all).await;
    assert_eq!(whole["total"], 2, "the owner and the direct members");
    assert_eq!(whole["data"].as_array().unwrap().len(), 4);
    assert!(reasons(&whole, &bob).is_empty(), "nothing reaches down to the child");
    let above = json!({ "type": "ancestor-owner", "viaWorkspaceId": root["id"] });
    assert_eq!(reasons(&whole, &ada), [above]);
    let below = json!({
        "type": "descendant-member", "workspaceId": inner["id"], "rank": 1,
        "capabilities": ["edit-workspace"],
    });
    assert_eq!(reasons(&whole, &eve), [below]);
    inherit(&ada, &child, true).await.expect(200);
    let whole = roster(&ada, &child, all).await;
    let reach = json!({
        "type": "reach-holder", "viaWorkspaceId": root["id"], "capabilities": ["edit-workspace"],
    });
    assert_eq!(reasons(&whole, &bob), [reach]);
    // Somebody with several reasons is listed once.
    join(&app, &child, &bob, json!({})).await;
    join(&app, &inner, &bob, json!({})).await;
    let whole = roster(&ada, &child, all).await;
    assert_eq!(kinds(&reasons(&whole, &bob)), ["member", "reach-holder", "descendant-member"]);
    // One part each.
    for (include, expected) in [
        ("ancestorOwners", vec!["ancestor-owner", "member", "member", "owner"]),
        ("reachHolders", vec!["member", "member", "owner", "reach-holder"]),
        (
            "descendants",
            vec!["descendant-member", "descendant-member", "member", "member", "owner"],
        ),
    ] {
        let part = roster(&ada, &child, &format!("?include={include}")).await;
        let data = part["data"].as_array().unwrap();
        let mut found: Vec<&str> =
            data.iter().flat_map(|one| kinds(one["reasons"].as_array().unwrap())).collect();
        found.sort_unstable();
        assert_eq!(found, expected, "{include}");
    }
    let stranger = app.user().await;
    for reply in [
        stranger.get(&format!("{}/members", path(&child))).await,
        eve.get(&format!("{}/members", path(&child))).await,
        app.anonymous().get(&format!("{}/members", path(&child))).await,
    ] {
        assert!([401, 404].contains(&reply.status), "{}", reply.text());
    }
}

async fn the_roster_is_counted(app: TestApp) {
    let Tree { ada, bob, child, inner, .. } = tree(&app).await;
    let counted = async || roster(&ada, &child, "?countOnly=true").await;
    assert_eq!(
        counted().await,
        json!({
            "counts": {
                "owner": 1, "member": 1, "ancestorOwner": 1, "reachHolder": 0, "descendantMember": 1,
            },
            "total": 2,
            "distinctUsers": 4,
        })
    );
    inherit(&ada, &child, true).await.expect(200);
    join(&app, &inner, &bob, json!({})).await;
    let now = counted().await;
    assert_eq!(
        (&now["counts"]["reachHolder"], &now["counts"]["descendantMember"]),
        (&json!(1), &json!(2))
    );
    assert_eq!(now["distinctUsers"], 5, "bob is counted once");
    assert_eq!(roster(&ada, &child, "?countOnly=false").await["total"], 2);
}

async fn access_of_others_is_behind_a_fence(app: TestApp) {
    let Tree { ada, cleo, dora, child, .. } = tree(&app).await;
    let plain = verified(&app).await;
    join(&app, &child, &plain, json!({ "rank": 9 })).await;
    let open = ["capabilities", "metadata", "permissions", "rank", "relativeRank", "title", "type"];
    let fenced = ["metadata", "title", "type"];
    let shown = async |actor: &Actor<'_>, of: &User<'_>| {
        keys(&reasons(&roster(actor, &child, "").await, of)[0])
    };
    // Owners here and above, keys, and everybody about themselves.
    for actor in [&*cleo, &*ada, &app.service(), &*dora] {
        assert_eq!(shown(actor, &dora).await, open);
    }
    assert_eq!(shown(&plain, &plain).await, open);
    assert_eq!(shown(&plain, &dora).await, fenced);
    assert_eq!(shown(&dora, &plain).await, fenced);
    for (capability, is_shown) in [
        ("view", false),
        ("invite", true),
        ("remove-member", true),
        ("edit-member-access", true),
        ("edit-member-profile", true),
        ("create-sub-workspace", false),
        ("edit-workspace", false),
    ] {
        let body = json!({ "capabilities": [capability] });
        let change = json!({ "capabilities": [capability], "actingUserId": cleo.id });
        cleo.patch(&member_path(&child, &plain), body).await.expect(200);
        app.service().patch(&member_path(&child, &plain), change).await.expect(200);
        let expected = if is_shown { &open[..] } else { &fenced[..] };
        assert_eq!(shown(&plain, &dora).await, expected, "{capability}");
    }
}

async fn access_from_elsewhere_is_fenced_where_it_comes_from(app: TestApp) {
    let Tree { ada, bob, cleo, dora, eve, child, inner, .. } = tree(&app).await;
    inherit(&ada, &child, true).await.expect(200);
    let all = "?include=reachHolders,descendants";
    // The owner of the child sees what comes from below, not what comes from the root.
    let by_owner = roster(&cleo, &child, all).await;
    assert_eq!(reasons(&by_owner, &bob)[0].get("capabilities"), None);
    assert_eq!(reasons(&by_owner, &eve)[0]["rank"], 1);
    // Who manages members of the child alone sees neither.
    let body = json!({ "capabilities": ["invite"] });
    cleo.patch(&member_path(&child, &dora), body).await.expect(200);
    let by_manager = roster(&dora, &child, all).await;
    assert_eq!(reasons(&by_manager, &bob)[0].get("capabilities"), None);
    assert_eq!(
        reasons(&by_manager, &eve),
        [json!({ "type": "descendant-member", "workspaceId": inner["id"] })]
    );
    // Once the capability reaches down, it shows.
    inherit(&cleo, &inner, true).await.expect(200);
    let by_manager = roster(&dora, &child, all).await;
    assert_eq!(reasons(&by_manager, &eve)[0]["rank"], 1);
    // One's own is always whole.
    let own = roster(&bob, &child, all).await;
    assert_eq!(reasons(&own, &bob)[0]["capabilities"], json!(["edit-workspace"]));
}

async fn a_standing_is_fenced_like_the_roster(app: TestApp) {
    let Tree { ada, bob, cleo, dora, child, root, .. } = tree(&app).await;
    let standing = async |actor: &Actor<'_>, of: &User<'_>| {
        actor.get(&member_path(&child, of)).await.expect(200)
    };
    let mut found = standing(&cleo, &dora).await;
    assert_eq!(found["user"]["id"], json!(dora.id));
    found["user"] = Value::Null;
    assert_eq!(
        found,
        json!({
            "user": null, "reasons": [{ "type": "member" }], "capabilities": ["view"],
            "permissions": ["pay"], "rank": 5, "relativeRank": 6, "title": "T", "metadata": {},
        })
    );
    let own = standing(&dora, &dora).await;
    assert_eq!((&own["rank"], &own["relativeRank"]), (&json!(5), &json!(0)));
    let owner = standing(&dora, &cleo).await;
    assert_eq!(keys(&owner), ["metadata", "reasons", "title", "user"]);
    let of_owner = standing(&ada, &cleo).await;
    assert_eq!((&of_owner["rank"], &of_owner["relativeRank"]), (&Value::Null, &Value::Null));
    assert_eq!(of_owner["capabilities"], json!(CAPABILITIES));
    // Without a relation.
    let none = standing(&cleo, &bob).await;
    assert_eq!((&none["reasons"], &none["capabilities"]), (&json!([]), &json!([])));
    inherit(&ada, &child, true).await.expect(200);
    let reach = standing(&cleo, &bob).await;
    assert_eq!(reach["reasons"], json!([{ "type": "reach-holder", "viaWorkspaceId": root["id"] }]));
    assert_eq!(reach["capabilities"], json!(["view", "edit-workspace"]));
    let by_key = app.service().get(&member_path(&child, &bob)).await.expect(200);
    assert_eq!(by_key["reasons"][0]["capabilities"], json!(["edit-workspace"]));
    // Nobody there, and nobody who may look.
    let unknown = format!("{}/members/{UNKNOWN}", path(&child));
    cleo.get(&unknown).await.refused(404, "workspace/invalid-target");
    let stranger = app.user().await;
    stranger.get(&unknown).await.refused(404, "workspace/not-found");
    let elsewhere = app.stranger().await;
    let theirs = format!("{}/members/{}", path(&child), elsewhere.id);
    cleo.get(&theirs).await.refused(404, "workspace/invalid-target");
}

async fn ranks_are_relative_to_the_caller(app: TestApp) {
    with_invitations(&app).await;
    let (ada, bob, cleo) = (verified(&app).await, app.user().await, app.user().await);
    let root = create(&ada, "root").await;
    join(&app, &root, &bob, json!({ "capabilities": CAPABILITIES, "rank": 3 })).await;
    join(&app, &root, &cleo, json!({ "rank": 10 })).await;
    let seen = async |actor: &Actor<'_>| {
        reasons(&roster(actor, &root, "").await, &cleo)[0]["relativeRank"].clone()
    };
    assert_eq!(seen(&ada).await, 11);
    assert_eq!(seen(&app.service()).await, 11);
    assert_eq!(seen(&bob).await, 7);
    assert_eq!(seen(&cleo).await, 0);
    // On writes, too.
    let place = member_path(&root, &cleo);
    let set = async |actor: &Actor<'_>, body: Value| actor.patch(&place, body).await;
    assert_eq!(set(&bob, json!({ "relativeRank": 1 })).await.expect(200)["rank"], 4);
    assert_eq!(set(&ada, json!({ "relativeRank": 1 })).await.expect(200)["rank"], 0);
    assert_eq!(
        set(&ada, json!({ "relativeRank": 2_147_483_647 })).await.expect(200)["rank"],
        2_147_483_646
    );
    set(&bob, json!({ "relativeRank": 2_147_483_647 }))
        .await
        .refused(400, "workspace/invalid-body");
    assert_eq!(
        set(&ada, json!({ "rank": 2_147_483_647 })).await.expect(200)["rank"],
        2_147_483_647
    );
    for wrong in [
        json!({ "rank": 1, "relativeRank": 1 }),
        json!({ "rank": -1 }),
        json!({ "rank": 1.5 }),
        json!({ "rank": "1" }),
        json!({ "rank": 2_147_483_648_u32 }),
        json!({ "relativeRank": 0 }),
        json!({ "capabilities": ["rule"] }),
        json!({ "permissions": [7] }),
        json!({ "title": "t".repeat(101) }),
        json!({}),
    ] {
        set(&ada, wrong.clone()).await.refused(400, "workspace/invalid-body");
    }
}

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
