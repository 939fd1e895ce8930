//! Who belongs to a workspace and why: authority, roster, standing, and the fences around the access of others.

use serde_json::{Value, json};

use crate::entities::UNKNOWN;
use crate::support::{Actor, TestApp, User, keys, on_both_engines};
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
pub struct Tree<'a> {
    pub ada: User<'a>,
    pub bob: User<'a>,
    pub cleo: User<'a>,
    pub dora: User<'a>,
    pub eve: User<'a>,
    pub root: Value,
    pub child: Value,
    pub inner: Value,
}

pub async fn tree(app: &TestApp) -> Tree<'_> {
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
