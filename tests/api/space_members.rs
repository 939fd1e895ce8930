//! Members of a space: joining, leaving, approving, banning, roles, and the lists of members.

use serde_json::{Value, json};

use crate::blocks::block;
use crate::notifications::UNKNOWN;
use crate::reaction_notices::told;
use crate::spaces::{create, join, path};
use crate::support::{Actor, TestApp, User, all_at_once, count, keys, on_both_engines};

on_both_engines![
    joining_asks_for_approval_unless_the_space_says_otherwise,
    a_member_leaves_but_never_the_last_admin,
    a_request_is_approved_or_declined_once,
    a_ban_revokes_all_permissions_until_it_is_lifted,
    guards_of_bans_and_roles,
    of_two_admins_who_demote_each_other_one_stays,
    members_are_counted_exactly_under_concurrency,
    members_are_listed_by_role_and_time,
    blocked_users_are_not_among_the_members,
    memberships_go_with_their_user,
];

/// A space that everybody may join.
pub(crate) async fn open_space(actor: &Actor<'_>) -> Value {
    create(actor, json!({ "requireJoinApproval": false })).await
}

pub(crate) fn of(space: &Value, membership: &Value, end: &str) -> String {
    format!("{}/members/{}{end}", path(space), membership["id"].as_str().unwrap())
}

async fn members_count(actor: &Actor<'_>, space: &Value) -> i64 {
    actor.get(&path(space)).await.expect(200)["membersCount"].as_i64().unwrap()
}

/// The own membership, as the team needs it.
pub(crate) async fn membership(app: &TestApp, space: &Value, user: &User<'_>) -> Value {
    for status in ["active", "pending", "banned", "rejected"] {
        let address = format!("{}/members?status={status}&limit=100", path(space));
        let listed = app.service().get(&address).await.expect(200);
        let found = listed["data"]
            .as_array()
            .unwrap()
            .iter()
            .find(|one| one["user"]["id"] == json!(user.id));
        if let Some(found) = found {
            return json!({ "id": found["membershipId"], "status": found["status"], "role": found["role"] });
        }
    }
    panic!("no membership");
}

async fn joining_asks_for_approval_unless_the_space_says_otherwise(app: TestApp) {
    let (ada, bob, cleo) = (app.user().await, app.user().await, app.user().await);
    let closed = create(&ada, json!({})).await;
    let pending = bob.post(&format!("{}/join", path(&closed)), json!({ "userId": cleo.id })).await;
    let pending = pending.expect(201);
    assert_eq!(
        keys(&pending["membership"]),
        ["id", "joinedAt", "role", "spaceId", "status", "userId"]
    );
    let expected = json!({
        "id": pending["membership"]["id"], "spaceId": closed["id"], "userId": bob.id,
        "role": "member", "status": "pending", "joinedAt": app.now().to_string(),
    });
    assert_eq!(pending["membership"], expected);
    assert_eq!(members_count(&ada, &closed).await, 1, "who waits is no member yet");
    let again = format!("{}/join", path(&closed));
    bob.post(&again, json!({})).await.refused(409, "space/already-member");
    let mine = bob.get(&format!("{}/membership/me", path(&closed))).await.expect(200);
    let expected = json!({
        "isMember": false, "role": "member", "status": "pending", "joinedAt": app.now().to_string(),
        "permissions": { "canPost": false, "canModerate": false, "canRead": true, "isAdmin": false,
            "isModerator": false },
    });
    assert_eq!(mine, expected);

    let open = open_space(&ada).await;
    assert_eq!(join(&bob, &open).await["status"], "active");
    assert_eq!(members_count(&ada, &open).await, 2);
    bob.post(&format!("{}/join", path(&open)), json!({}))
        .await
        .refused(409, "space/already-member");
    let nobody = app.anonymous();
    assert_eq!(nobody.post(&format!("{}/join", path(&open)), json!({})).await.status, 401);
    let key = app.service();
    key.post(&format!("{}/join", path(&open)), json!({})).await.refused(401, "space/auth-required");
    let unknown = json!({ "userId": UNKNOWN });
    key.post(&format!("{}/join", path(&open)), unknown).await.refused(404, "user/not-found");
    let joined = key.post(&format!("{}/join", path(&open)), json!({ "userId": cleo.id })).await;
    assert_eq!(joined.expect(201)["membership"]["userId"], json!(cleo.id));
    let nowhere = format!("/spaces/{UNKNOWN}/join");
    bob.post(&nowhere, json!({})).await.refused(404, "space/not-found");
    let stranger = app.stranger().await;
    stranger
        .post(&format!("{}/join", path(&open)), json!({}))
        .await
        .refused(404, "space/not-found");

    let none = json!({
        "isMember": false, "role": null, "status": null, "joinedAt": null,
        "permissions": { "canPost": false, "canModerate": false, "canRead": true, "isAdmin": false,
            "isModerator": false },
    });
    let me = format!("{}/membership/me", path(&open));
    assert_eq!(nobody.get(&me).await.expect(200), none);
    let of_key = key.get(&me).await.expect(200);
    assert!(of_key["isMember"] == false && of_key["permissions"]["isAdmin"] == true);
    let of_ada = key.get(&format!("{me}?userId={}", ada.id)).await.expect(200);
    assert_eq!((&of_ada["role"], &of_ada["isMember"]), (&json!("admin"), &json!(true)));
    app.suspend(cleo.id).await;
    cleo.delete(&format!("{}/leave", path(&open))).await.refused(403, "user/suspended");
}

async fn a_member_leaves_but_never_the_last_admin(app: TestApp) {
    let (ada, bob) = (app.user().await, app.user().await);
    let space = open_space(&ada).await;
    let leave = format!("{}/leave", path(&space));
    bob.delete(&leave).await.refused(404, "space/membership-not-found");
    join(&bob, &space).await;
    bob.delete(&leave).await.expect(200);
    assert_eq!(members_count(&ada, &space).await, 1);
    ada.delete(&leave).await.refused(400, "space/last-admin");
    let member = join(&bob, &space).await;
    ada.patch(&of(&space, &member, "/role"), json!({ "role": "admin" })).await.expect(200);
    app.service().delete(&format!("{leave}?userId={}", ada.id)).await.expect(200);
    assert_eq!(members_count(&ada, &space).await, 1);
    // Its creator has rights without being a member.
    ada.patch(&path(&space), json!({ "name": "Still mine" })).await.expect(200);
    let closed = create(&ada, json!({})).await;
    join(&bob, &closed).await;
    bob.delete(&format!("{}/leave", path(&closed))).await.expect(200);
    assert_eq!(join(&bob, &closed).await["status"], "pending");
    assert_eq!(members_count(&ada, &closed).await, 1);
}

async fn a_request_is_approved_or_declined_once(app: TestApp) {
    let (ada, bob, cleo) = (app.user().await, app.user().await, app.user().await);
    let space = create(&ada, json!({ "name": "Club", "slug": "club" })).await;
    let (asked, other) = (join(&bob, &space).await, join(&cleo, &space).await);
    app.advance(std::time::Duration::from_secs(60));
    let approve = of(&space, &asked, "/approve");
    let approved = all_at_once((0..4).map(|_| ada.patch(&approve, json!({})))).await;
    assert_eq!((count(&approved, 200), count(&approved, 400)), (1, 3));
    let one = approved.iter().find(|reply| reply.status == 200).unwrap().expect(200);
    let expected = json!({ "id": asked["id"], "status": "active", "joinedAt": asked["joinedAt"] });
    assert_eq!(one["membership"], expected);
    assert_eq!(members_count(&ada, &space).await, 2);
    ada.patch(&approve, json!({})).await.refused(400, "space/not-pending");
    let notices = told(&bob, "space-membership-approved").await;
    assert_eq!(notices.len(), 1);
    assert_eq!(notices[0]["action"], "open-space");
    let expected = json!({
        "spaceId": space["id"], "spaceName": "Club", "spaceShortId": space["shortId"],
        "spaceSlug": "club", "spaceAvatar": null,
    });
    assert_eq!(notices[0]["metadata"], expected);

    let declined = ada.patch(&of(&space, &other, "/decline"), json!({})).await.expect(200);
    assert_eq!(declined["membership"], json!({ "id": other["id"], "status": "rejected" }));
    ada.patch(&of(&space, &other, "/approve"), json!({})).await.refused(400, "space/not-pending");
    assert!(told(&cleo, "space-membership-approved").await.is_empty());
    let mine = cleo.get(&format!("{}/membership/me", path(&space))).await.expect(200);
    assert_eq!((&mine["status"], &mine["isMember"]), (&json!("rejected"), &json!(false)));
    assert_eq!(
        cleo.get(&path(&space)).await.expect(200)["memberPermissions"]["status"],
        Value::Null
    );
    cleo.delete(&format!("{}/leave", path(&space)))
        .await
        .refused(404, "space/membership-not-found");
    // A declined user may ask again, with the same membership.
    let again = join(&cleo, &space).await;
    assert_eq!((&again["id"], &again["joinedAt"]), (&other["id"], &json!(app.now().to_string())));
    let unknown = json!({ "id": UNKNOWN });
    for end in ["/approve", "/decline", "/ban", "/unban"] {
        ada.patch(&of(&space, &unknown, end), json!({}))
            .await
            .refused(404, "space/membership-not-found");
    }
    let elsewhere = open_space(&ada).await;
    ada.patch(&of(&elsewhere, &again, "/ban"), json!({}))
        .await
        .refused(404, "space/membership-not-found");
}

async fn a_ban_revokes_all_permissions_until_it_is_lifted(app: TestApp) {
    let (ada, bob) = (app.user().await, app.user().await);
    let space = open_space(&ada).await;
    let member = join(&bob, &space).await;
    let long = json!({ "reason": "x".repeat(1001) });
    ada.patch(&of(&space, &member, "/ban"), long).await.refused(400, "space/invalid-body");
    let banned =
        ada.patch(&of(&space, &member, "/ban"), json!({ "reason": "spam" })).await.expect(200);
    let shown = "createdAt id joinedAt projectId role spaceId status userId";
    assert_eq!(keys(&banned["membership"]).join(" "), shown);
    assert_eq!(
        (&banned["membership"]["status"], &banned["membership"]["role"]),
        (&json!("banned"), &json!("member"))
    );
    assert_eq!(members_count(&ada, &space).await, 1);
    ada.patch(&of(&space, &member, "/ban"), json!({})).await.expect(200);
    assert_eq!(members_count(&ada, &space).await, 1);
    bob.post(&format!("{}/join", path(&space)), json!({})).await.refused(403, "space/banned");
    bob.delete(&format!("{}/leave", path(&space))).await.refused(403, "space/banned");
    let new = json!({ "spaceId": space["id"] });
    bob.post("/entities", new.clone()).await.refused(403, "space/banned");
    let shown = bob.get(&path(&space)).await.expect(200);
    assert_eq!(
        (&shown["isMember"], &shown["memberPermissions"]["canRead"]),
        (&json!(false), &json!(false))
    );
    let unbanned = ada.patch(&of(&space, &member, "/unban"), json!({})).await.expect(200);
    assert_eq!(unbanned["membership"]["status"], "active");
    assert_eq!(members_count(&ada, &space).await, 2);
    bob.post("/entities", new).await.expect(201);
    ada.patch(&of(&space, &member, "/unban"), json!({}))
        .await
        .refused(404, "space/membership-not-found");
    // The older path of the same.
    let removed = ada.v7().delete(&of(&space, &member, "")).await.expect(200);
    assert_eq!(removed["membership"]["status"], "banned");
    assert_eq!(members_count(&ada, &space).await, 1);
}

async fn guards_of_bans_and_roles(app: TestApp) {
    let (ada, bob, cleo, dan) =
        (app.user().await, app.user().await, app.user().await, app.user().await);
    let space = open_space(&ada).await;
    let own = membership(&app, &space, &ada).await;
    let role = async |member: &Value, role: &str| {
        let changed = ada.patch(&of(&space, member, "/role"), json!({ "role": role })).await;
        changed.expect(200)["membership"].take()
    };
    let (admin, moderator, other) =
        (join(&bob, &space).await, join(&cleo, &space).await, join(&dan, &space).await);
    let changed = role(&admin, "admin").await;
    assert_eq!(keys(&changed), ["id", "joinedAt", "role", "status", "userId"]);
    role(&moderator, "moderator").await;
    role(&other, "moderator").await;
    let ban = async |actor: &Actor<'_>, member: &Value| {
        actor.patch(&of(&space, member, "/ban"), json!({})).await.outcome()
    };
    let (denied, creator) = ("403 space/insufficient-permissions", "403 space/creator-required");
    assert_eq!(ban(&cleo, &other).await, denied, "a moderator another");
    assert_eq!(ban(&cleo, &admin).await, denied, "a moderator an admin");
    assert_eq!(ban(&cleo, &moderator).await, denied, "a moderator themselves");
    assert_eq!(ban(&bob, &admin).await, denied, "an admin themselves");
    assert_eq!(ban(&bob, &own).await, creator, "an admin the creator");
    assert_eq!(ban(&ada, &own).await, denied, "the creator themselves");
    assert_eq!(ban(&bob, &other).await, "200", "an admin a moderator");
    cleo.patch(&of(&space, &other, "/unban"), json!({}))
        .await
        .refused(403, "space/insufficient-permissions");
    bob.patch(&of(&space, &other, "/unban"), json!({})).await.expect(200);
    let second = role(&other, "admin").await;
    assert_eq!(ban(&bob, &second).await, creator, "an admin another");
    assert_eq!(ban(&ada, &second).await, "200", "the creator an admin");

    let set = async |actor: &Actor<'_>, member: &Value, role: &str| {
        actor.patch(&of(&space, member, "/role"), json!({ "role": role })).await.outcome()
    };
    assert_eq!(set(&cleo, &moderator, "admin").await, "403 space/admin-required");
    assert_eq!(set(&bob, &own, "member").await, creator);
    assert_eq!(set(&bob, &other, "member").await, "400 space/not-active");
    assert_eq!(set(&bob, &moderator, "owner").await, "400 space/invalid-body");
    assert_eq!(
        set(&bob, &json!({ "id": UNKNOWN }), "member").await,
        "404 space/membership-not-found"
    );
    assert_eq!(set(&ada, &admin, "member").await, "200");
    assert_eq!(set(&ada, &own, "member").await, "400 space/last-admin");
    assert_eq!(ban(&app.service(), &own).await, "400 space/last-admin");
    assert_eq!(set(&app.service(), &admin, "admin").await, "200");
    assert_eq!(ban(&app.service(), &own).await, "200", "a key may");
    ada.patch(&path(&space), json!({ "name": "Mine" })).await.refused(403, "space/admin-required");
}

async fn of_two_admins_who_demote_each_other_one_stays(app: TestApp) {
    let (ada, bob, cleo) = (app.user().await, app.user().await, app.user().await);
    for _ in 0..4 {
        let space = open_space(&cleo).await;
        let (one, other) = (join(&ada, &space).await, join(&bob, &space).await);
        for member in [&one, &other] {
            cleo.patch(&of(&space, member, "/role"), json!({ "role": "admin" })).await.expect(200);
        }
        cleo.delete(&format!("{}/leave", path(&space))).await.expect(200);
        let demote = json!({ "role": "member" });
        let (theirs, own) = (of(&space, &other, "/role"), of(&space, &one, "/role"));
        let (left, right) =
            tokio::join!(ada.patch(&theirs, demote.clone()), bob.patch(&own, demote.clone()));
        let mut outcomes = [left.outcome(), right.outcome()];
        outcomes.sort();
        // The second request finds no admin any more, or would remove the last one.
        assert_eq!(outcomes[0], "200");
        assert!(
            ["400 space/last-admin", "403 space/admin-required"].contains(&outcomes[1].as_str())
        );
        let team = ada.get(&format!("{}/team", path(&space))).await.expect(200);
        assert_eq!(team["data"].as_array().unwrap().len(), 1);
    }
}

async fn members_are_counted_exactly_under_concurrency(app: TestApp) {
    let ada = app.user().await;
    let space = open_space(&ada).await;
    let users = all_at_once((0..32).map(|_| app.user())).await;
    // Each tries twice; one of the two wins.
    let joins = users.iter().chain(&users).map(|user| {
        let (user, path) = (user, format!("{}/join", path(&space)));
        async move { user.post(&path, json!({})).await }
    });
    let joined = all_at_once(joins).await;
    assert_eq!((count(&joined, 201), count(&joined, 409)), (32, 32));
    assert_eq!(members_count(&ada, &space).await, 33);
    let mut changes = Vec::new();
    for (n, user) in users.iter().enumerate() {
        changes.push((n, user, membership(&app, &space, user).await));
    }
    let changes = changes.iter().map(|(n, user, member)| {
        let (ada, space) = (&ada, &space);
        async move {
            match n % 2 {
                0 => user.delete(&format!("{}/leave", path(space))).await,
                _ => ada.patch(&of(space, member, "/ban"), json!({})).await,
            }
        }
    });
    assert_eq!(count(&all_at_once(changes).await, 200), 32);
    assert_eq!(members_count(&ada, &space).await, 1);
}

async fn members_are_listed_by_role_and_time(app: TestApp) {
    let (ada, bob, cleo, dan) =
        (app.user().await, app.user().await, app.user().await, app.user().await);
    let space = create(&ada, json!({ "readingPermission": "members" })).await;
    let mut memberships = Vec::new();
    for user in [&bob, &cleo, &dan] {
        app.advance(std::time::Duration::from_secs(1));
        memberships.push(join(user, &space).await);
    }
    for member in &memberships[..2] {
        ada.patch(&of(&space, member, "/approve"), json!({})).await.expect(200);
    }
    ada.patch(&of(&space, &memberships[1], "/role"), json!({ "role": "moderator" }))
        .await
        .expect(200);
    let list = format!("{}/members", path(&space));
    let ids = |page: &Value| -> Value {
        page["data"].as_array().unwrap().iter().map(|one| one["user"]["id"].clone()).collect()
    };
    for actor in [&app.anonymous(), &*bob, &*ada, &app.service()] {
        let page = actor.get(&list).await.expect(200);
        assert_eq!(ids(&page), json!([ada.id, cleo.id, bob.id]));
        assert_eq!(page["pagination"]["totalItems"], 3);
        let entry = &page["data"][2];
        assert_eq!(keys(entry), ["joinedAt", "membershipId", "role", "status", "user"]);
        assert_eq!(entry["user"]["displayName"], entry["user"]["name"]);
        for private in ["email", "secureMetadata", "isVerified", "isActive", "lastActive"] {
            assert!(entry["user"].get(private).is_none(), "{private}");
        }
    }
    let second = ada.get(&format!("{list}?page=2&limit=2")).await.expect(200);
    assert_eq!((ids(&second), &second["pagination"]["totalPages"]), (json!([bob.id]), &json!(2)));
    let lenient = ada.get(&format!("{list}?page=x&limit=-1")).await.expect(200);
    assert_eq!(lenient["pagination"]["pageSize"], 20);
    let moderators = ada.get(&format!("{list}?role=moderator")).await.expect(200);
    assert_eq!(
        (ids(&moderators), &moderators["pagination"]["totalItems"]),
        (json!([cleo.id]), &json!(1))
    );
    let waiting = format!("{list}?status=pending");
    for actor in [&app.anonymous(), &*bob, &*dan] {
        actor.get(&waiting).await.refused(403, "space/moderator-required");
    }
    for actor in [&*ada, &*cleo, &app.service()] {
        assert_eq!(ids(&actor.get(&waiting).await.expect(200)), json!([dan.id]));
    }
    for wrong in ["status=x", "role=owner", "spaceReputationId=general", "spaceReputationId="] {
        ada.get(&format!("{list}?{wrong}")).await.refused(400, "space/invalid-query");
    }
    ada.get(&format!("/spaces/{UNKNOWN}/members")).await.refused(404, "space/not-found");

    // Points that were earned in this space.
    bob.post("/entities", json!({ "title": "t", "spaceId": space["id"] })).await.expect(201);
    for asked in ["context".to_owned(), space["id"].as_str().unwrap().to_owned()] {
        let page = ada.get(&format!("{list}?spaceReputationId={asked}")).await.expect(200);
        let points = page["data"].as_array().unwrap().iter();
        let points: Value = points.map(|one| one["user"]["spaceReputation"].clone()).collect();
        assert_eq!(points, json!([0, 0, 5]), "{asked}");
    }
    let team = format!("{}/team?spaceReputationId=none", path(&space));
    let team = app.anonymous().get(&team).await.expect(200);
    assert_eq!(ids(&team), json!([ada.id, cleo.id]));
    assert!(team.get("pagination").is_none() && team["data"][0]["user"]["spaceReputation"] == 0);
}

async fn blocked_users_are_not_among_the_members(app: TestApp) {
    let (ada, bob, cleo) = (app.user().await, app.user().await, app.user().await);
    let space = open_space(&ada).await;
    join(&bob, &space).await;
    join(&cleo, &space).await;
    block(&cleo, &ada).await;
    for (viewer, total) in [(&cleo, 2), (&ada, 2), (&bob, 3)] {
        let page = viewer.get(&format!("{}/members", path(&space))).await.expect(200);
        assert_eq!(page["pagination"]["totalItems"], total);
        assert_eq!(page["data"].as_array().unwrap().len(), total);
    }
    let team = cleo.get(&format!("{}/team", path(&space))).await.expect(200);
    assert_eq!(team["data"], json!([]));
    cleo.get(&format!("/spaces/mutual/{}", ada.id)).await.refused(404, "user/not-found");
    ada.get(&format!("/spaces/mutual/{}", cleo.id)).await.refused(404, "user/not-found");
}

async fn memberships_go_with_their_user(app: TestApp) {
    let (ada, bob) = (app.user().await, app.user().await);
    let space = open_space(&ada).await;
    join(&bob, &space).await;
    app.service().delete(&format!("/users/{}", ada.id)).await.expect(204);
    let left = bob.get(&path(&space)).await.expect(200);
    assert_eq!((&left["userId"], &left["membersCount"]), (&Value::Null, &json!(1)));
    let waiting = create(&bob, json!({})).await;
    let cleo = app.user().await;
    join(&cleo, &waiting).await;
    app.service().delete(&format!("/users/{}", cleo.id)).await.expect(204);
    assert_eq!(members_count(&bob, &waiting).await, 1);
    // Everybody leaves at once, and the space is joined at the same time.
    let users = all_at_once((0..6).map(|_| app.user())).await;
    let mixed = users.iter().map(|user| {
        let (app, space) = (&app, &space);
        async move {
            let (joined, deleted) =
                (format!("{}/join", path(space)), format!("/users/{}", user.id));
            let key = app.service();
            tokio::join!(user.post(&joined, json!({})), key.delete(&deleted))
        }
    });
    for (joined, deleted) in all_at_once(mixed).await {
        assert!([201, 401, 403, 404].contains(&joined.status), "{}", joined.outcome());
        deleted.expect(204);
    }
    assert_eq!(members_count(&bob, &space).await, 1);
}
