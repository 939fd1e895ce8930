//! Invitations into workspaces: to a user, a username or an address; mails, inbox and outbox, and the answers.

use std::time::Duration;

use serde_json::{Value, json};

use crate::entities::UNKNOWN;
use crate::support::{Actor, Reply, TestApp, User, keys, on_both_engines};
use crate::workspaces::{
    ACCEPT_URL, create, create_below, id, inherit, join, member_path, path, verified, verify,
    with_invitations,
};

on_both_engines![
    an_invitation_is_for_exactly_one_target,
    an_invitation_gives_what_the_inviter_holds,
    inviting_again_renews_the_live_invitation,
    members_and_owners_are_not_invited,
    without_a_page_nobody_is_invited,
    each_invitation_sends_a_mail_with_its_link,
    an_address_gets_three_mails_in_ten_minutes,
    live_invitations_are_listed_for_those_who_may_invite,
    an_invitation_is_revoked_once,
    an_expired_invitation_can_be_sent_again,
    the_inbox_shows_who_invites_where,
    accepting_makes_a_member_with_the_stored_grant,
    accepting_needs_the_target_and_a_verified_address,
    accepting_as_a_member_changes_nothing_else,
    declining_ends_an_invitation,
    an_answered_or_expired_invitation_is_not_answered,
    signing_up_finds_the_invitations_to_the_address,
    a_block_hides_invitations,
    of_many_answers_at_once_one_counts,
    many_invitations_of_one_user_at_once_are_one,
    many_join_at_once,
];

const FORTNIGHT: Duration = Duration::from_secs(14 * 24 * 60 * 60);

async fn invite(actor: &Actor<'_>, workspace: &Value, body: Value) -> Reply {
    actor.post(&format!("{}/invites", path(workspace)), body).await
}

async fn answer(user: &Actor<'_>, invite: &Value, how: &str) -> Reply {
    user.post(&format!("/workspace-invites/{}/{how}", id(invite)), json!({})).await
}

async fn outbox(actor: &Actor<'_>, workspace: &Value) -> Vec<Value> {
    let list = actor.get(&format!("{}/invites", path(workspace))).await.expect(200);
    assert_eq!(keys(&list), ["data"]);
    list["data"].as_array().unwrap().clone()
}

async fn inbox(user: &Actor<'_>) -> Vec<Value> {
    let list = user.get("/me/workspace-invites").await.expect(200);
    assert_eq!(keys(&list), ["data"]);
    list["data"].as_array().unwrap().clone()
}

/// An owner, their workspace and somebody to invite.
async fn scene(app: &TestApp) -> (User<'_>, Value, User<'_>) {
    with_invitations(app).await;
    let (ada, bob) = (verified(app).await, verified(app).await);
    let root = create(&ada, "root").await;
    (ada, root, bob)
}

async fn an_invitation_is_for_exactly_one_target(app: TestApp) {
    let (ada, root, bob) = scene(&app).await;
    let by_id = invite(&ada, &root, json!({ "userId": bob.id })).await.expect(201);
    assert_eq!(
        keys(&by_id),
        [
            "capabilities",
            "createdAt",
            "email",
            "expiresAt",
            "id",
            "invitedBy",
            "permissions",
            "rank",
            "status",
            "title",
            "updatedAt",
            "userId",
            "workspaceId"
        ]
    );
    assert_eq!((&by_id["userId"], &by_id["email"]), (&json!(bob.id), &Value::Null));
    assert_eq!((&by_id["invitedBy"], &by_id["status"]), (&json!(ada.id), &json!("pending")));
    assert_eq!((&by_id["capabilities"], &by_id["permissions"]), (&json!([]), &json!([])));
    assert_eq!((&by_id["rank"], &by_id["title"]), (&json!(0), &Value::Null));
    let cleo = app.user().await;
    let name = cleo.email.split('@').next().unwrap().to_uppercase();
    let by_name = invite(&ada, &root, json!({ "username": name })).await.expect(201);
    assert_eq!((&by_name["userId"], &by_name["email"]), (&json!(cleo.id), &Value::Null));
    let nobody = invite(&ada, &root, json!({ "email": "  New@Example.COM " })).await.expect(201);
    assert_eq!((&nobody["userId"], &nobody["email"]), (&Value::Null, &json!("new@example.com")));
    let dora = app.user().await;
    let body = json!({ "email": dora.email.to_uppercase() });
    let known = invite(&ada, &root, body).await.expect(201);
    assert_eq!((&known["userId"], &known["email"]), (&json!(dora.id), &json!(dora.email)));
    for wrong in [
        json!({}),
        json!({ "userId": bob.id, "username": "user1" }),
        json!({ "userId": bob.id, "email": "x@example.com" }),
        json!({ "userId": "x" }),
        json!({ "email": "x" }),
        json!({ "username": "!" }),
        json!({ "userId": bob.id, "rank": 1, "relativeRank": 1 }),
        json!({ "userId": bob.id, "capabilities": ["rule"] }),
        json!({ "userId": bob.id, "metadata": {} }),
    ] {
        invite(&ada, &root, wrong).await.refused(400, "workspace/invalid-body");
    }
    let eve = app.stranger().await;
    for unknown in [
        json!({ "userId": UNKNOWN }),
        json!({ "userId": eve.id }),
        json!({ "username": "nobody.here" }),
    ] {
        invite(&ada, &root, unknown).await.refused(404, "workspace/invalid-target");
    }
    // By a key that names nobody: the owner invites.
    let by_key =
        invite(&app.service(), &root, json!({ "email": "k@example.com" })).await.expect(201);
    assert_eq!(by_key["invitedBy"], json!(ada.id));
}

async fn an_invitation_gives_what_the_inviter_holds(app: TestApp) {
    let (ada, root, bob) = scene(&app).await;
    let grant = json!({ "capabilities": ["invite"], "permissions": ["pay"], "rank": 3 });
    join(&app, &root, &bob, grant).await;
    let by_bob = async |grant: Value| {
        let mut body = grant;
        body["email"] = json!("x@example.com");
        let reply = invite(&bob, &root, body).await;
        (reply.outcome(), reply.json()["rank"].clone())
    };
    let ok = |rank: i64| ("201".to_owned(), json!(rank));
    let refused = |code: &str| (format!("403 workspace/{code}"), Value::Null);
    assert_eq!(by_bob(json!({})).await, ok(4), "one below the inviter");
    assert_eq!(by_bob(json!({ "rank": 9 })).await, ok(9));
    assert_eq!(by_bob(json!({ "relativeRank": 2 })).await, ok(5));
    assert_eq!(
        by_bob(json!({ "capabilities": ["invite", "view"], "permissions": ["pay"] })).await,
        ok(5)
    );
    assert_eq!(by_bob(json!({ "rank": 3 })).await, refused("insufficient-rank"));
    assert_eq!(
        by_bob(json!({ "capabilities": ["edit-workspace"] })).await,
        refused("no-escalation")
    );
    assert_eq!(by_bob(json!({ "permissions": ["deploy"] })).await, refused("no-escalation"));
    let both = json!({ "rank": 0, "permissions": ["deploy"] });
    assert_eq!(by_bob(both).await, refused("insufficient-rank"));
    let over = json!({ "relativeRank": 2_147_483_647 });
    assert_eq!(by_bob(over).await.0, "400 workspace/invalid-body");
    // The capability, through the flag too, but not for a stranger.
    let stranger = app.user().await;
    let body = json!({ "email": "y@example.com" });
    invite(&stranger, &root, body.clone()).await.refused(403, "workspace/unauthorized");
    let child = create_below(&ada, &root, "child").await;
    invite(&bob, &child, body.clone()).await.refused(403, "workspace/unauthorized");
    inherit(&ada, &child, true).await.expect(200);
    assert_eq!(
        invite(&bob, &child, body.clone()).await.expect(201)["rank"],
        0,
        "no membership there"
    );
    let elsewhere = format!("/workspaces/{UNKNOWN}/invites");
    bob.post(&elsewhere, body).await.refused(404, "workspace/not-found");
    // The unknown target comes before what is given.
    let unknown = json!({ "userId": UNKNOWN, "rank": 0 });
    invite(&bob, &root, unknown).await.refused(404, "workspace/invalid-target");
}

async fn inviting_again_renews_the_live_invitation(app: TestApp) {
    let (ada, root, bob) = scene(&app).await;
    let body = json!({
        "userId": bob.id, "capabilities": ["invite"], "permissions": ["pay"], "rank": 5, "title": "T",
    });
    let first = invite(&ada, &root, body).await.expect(201);
    app.advance(Duration::from_secs(60));
    let again = invite(&ada, &root, json!({ "userId": bob.id })).await.expect(201);
    let parts = |one: &Value| {
        ["id", "capabilities", "permissions", "rank", "title", "createdAt"]
            .map(|key| one[key].clone())
    };
    assert_eq!(parts(&again), parts(&first));
    assert_ne!(again["expiresAt"], first["expiresAt"]);
    // By any name of the same user.
    let cleared =
        json!({ "email": bob.email, "capabilities": [], "permissions": [], "title": null });
    let cleared = invite(&ada, &root, cleared).await.expect(201);
    assert_eq!(cleared["id"], first["id"]);
    assert_eq!((&cleared["capabilities"], &cleared["permissions"]), (&json!([]), &json!([])));
    assert_eq!((&cleared["title"], &cleared["rank"]), (&Value::Null, &json!(5)));
    assert_eq!(outbox(&ada, &root).await.len(), 1);
    // Somebody junior to the invited rank may renew it, but gives no rank that is not junior to their own.
    let cleo = app.user().await;
    join(&app, &root, &cleo, json!({ "capabilities": ["invite"], "rank": 6 })).await;
    assert_eq!(invite(&cleo, &root, json!({ "userId": bob.id })).await.expect(201)["rank"], 5);
    let senior = json!({ "userId": bob.id, "rank": 5 });
    invite(&cleo, &root, senior).await.refused(403, "workspace/insufficient-rank");
    // Answered and expired ones do not count.
    answer(&bob, &first, "decline").await.expect(200);
    let second = invite(&ada, &root, json!({ "userId": bob.id })).await.expect(201);
    assert_ne!(second["id"], first["id"]);
    app.advance(FORTNIGHT);
    let bob = bob.sign_in_again().await;
    let ada = ada.sign_in_again().await;
    let third = invite(&ada, &root, json!({ "userId": bob.id })).await.expect(201);
    assert_ne!(third["id"], second["id"]);
    assert_eq!(third["rank"], 0, "nothing is left of the others");
}

async fn members_and_owners_are_not_invited(app: TestApp) {
    let (ada, root, bob) = scene(&app).await;
    join(&app, &root, &bob, json!({})).await;
    for user in [&ada, &bob] {
        for body in [json!({ "userId": user.id }), json!({ "email": user.email })] {
            invite(&ada, &root, body).await.refused(409, "workspace/already-member");
        }
    }
    // A relation from elsewhere is no membership.
    let child = create_below(&ada, &root, "child").await;
    inherit(&ada, &child, true).await.expect(200);
    invite(&ada, &child, json!({ "userId": bob.id })).await.expect(201);
}

async fn without_a_page_nobody_is_invited(app: TestApp) {
    let (ada, bob) = (verified(&app).await, app.user().await);
    let root = create(&ada, "root").await;
    let refused = invite(&ada, &root, json!({ "userId": bob.id })).await;
    refused.refused(409, "workspace/missing-invite-accept-url");
    let owner = invite(&ada, &root, json!({ "userId": ada.id })).await;
    owner.refused(409, "workspace/missing-invite-accept-url");
    invite(&bob, &root, json!({ "userId": bob.id })).await.refused(403, "workspace/unauthorized");
    invite(&ada, &root, json!({ "userId": UNKNOWN }))
        .await
        .refused(404, "workspace/invalid-target");
}

async fn each_invitation_sends_a_mail_with_its_link(app: TestApp) {
    let (ada, root, bob) = scene(&app).await;
    ada.patch(&format!("/users/{}", ada.id), json!({ "name": "Ada\r\nLovelace" }))
        .await
        .expect(200);
    let made = invite(&ada, &root, json!({ "userId": bob.id })).await.expect(201);
    let mail = app.next_mail().await;
    assert!(mail.contains(&format!("To: {}", bob.email)), "{mail}");
    assert!(mail.contains(&format!("{ACCEPT_URL}?workspaceInviteId={}", id(&made))), "{mail}");
    assert!(mail.contains("Ada Lovelace invites you to the workspace \"root\""), "{mail}");
    // Again, and by address, also to nobody yet.
    invite(&ada, &root, json!({ "userId": bob.id })).await.expect(201);
    assert!(app.next_mail().await.contains(&id(&made)));
    let nobody = invite(&ada, &root, json!({ "email": "new@example.com" })).await.expect(201);
    let mail = app.next_mail().await;
    assert!(mail.contains("To: new@example.com") && mail.contains(&id(&nobody)), "{mail}");
    let resend = format!("{}/invites/{}/resend", path(&root), id(&nobody));
    ada.post(&resend, json!({})).await.expect(200);
    assert!(app.next_mail().await.contains(&id(&nobody)));
    // What is revoked before the mail goes out is not sent.
    let late = invite(&ada, &root, json!({ "email": "late@example.com" })).await.expect(201);
    let revoke = format!("{}/invites/{}/revoke", path(&root), id(&late));
    ada.post(&revoke, json!({})).await.expect(200);
    let before = app.mails().len();
    app.run_jobs().await;
    assert_eq!(app.mails().len(), before);
}

async fn an_address_gets_three_mails_in_ten_minutes(app: TestApp) {
    let app = app.with_networks().await;
    with_invitations(&app).await;
    let ada = verified(&app).await;
    // Of several workspaces, by several inviters: they count together.
    for n in 0..5 {
        let root = create(&ada.at_address(&format!("203.0.113.{n}")), "root").await;
        let body = json!({ "email": "victim@example.com" });
        invite(&app.service(), &root, body).await.expect(201);
    }
    app.run_jobs().await;
    assert_eq!(app.mails().len(), 3);
    assert_eq!(app.rows("workspace_invitations").await, 5, "the invitations are there");
}

async fn live_invitations_are_listed_for_those_who_may_invite(app: TestApp) {
    let (ada, root, bob) = scene(&app).await;
    let first = invite(&ada, &root, json!({ "userId": bob.id })).await.expect(201);
    app.advance(Duration::from_secs(1));
    let second = invite(&ada, &root, json!({ "email": "x@example.com" })).await.expect(201);
    assert_eq!(outbox(&ada, &root).await, [second.clone(), first.clone()]);
    assert_eq!(outbox(&app.service(), &root).await.len(), 2);
    let address = format!("{}/invites", path(&root));
    bob.get(&address).await.refused(403, "workspace/unauthorized");
    let unknown = format!("/workspaces/{UNKNOWN}/invites");
    bob.get(&unknown).await.refused(404, "workspace/not-found");
    answer(&bob, &first, "decline").await.expect(200);
    assert_eq!(outbox(&ada, &root).await, [second]);
    app.advance(FORTNIGHT);
    let ada = ada.sign_in_again().await;
    assert_eq!(outbox(&ada, &root).await, Vec::<Value>::new());
}

async fn an_invitation_is_revoked_once(app: TestApp) {
    let (ada, root, bob) = scene(&app).await;
    let (made, other) = (
        invite(&ada, &root, json!({ "userId": bob.id })).await.expect(201),
        create(&ada, "other").await,
    );
    let revoke =
        |workspace: &Value, invite: &str| format!("{}/invites/{invite}/revoke", path(workspace));
    let own = revoke(&root, &id(&made));
    bob.post(&own, json!({})).await.refused(403, "workspace/unauthorized");
    let elsewhere = revoke(&other, &id(&made));
    ada.post(&elsewhere, json!({})).await.refused(404, "workspace/invite-not-found");
    ada.post(&revoke(&root, UNKNOWN), json!({})).await.refused(404, "workspace/invite-not-found");
    let revoked = ada.post(&own, json!({})).await.expect(200);
    assert_eq!((&revoked["id"], &revoked["status"]), (&made["id"], &json!("revoked")));
    ada.post(&own, json!({})).await.refused(409, "workspace/invite-terminal");
    answer(&bob, &made, "accept").await.refused(409, "workspace/invite-terminal");
    assert!(inbox(&bob).await.is_empty());
}

async fn an_expired_invitation_can_be_sent_again(app: TestApp) {
    let (ada, root, bob) = scene(&app).await;
    let made = invite(&ada, &root, json!({ "userId": bob.id })).await.expect(201);
    app.advance(FORTNIGHT);
    let (ada, bob) = (ada.sign_in_again().await, bob.sign_in_again().await);
    answer(&bob, &made, "accept").await.refused(409, "workspace/invite-expired");
    assert!(inbox(&bob).await.is_empty());
    let resend = format!("{}/invites/{}/resend", path(&root), id(&made));
    bob.post(&resend, json!({})).await.refused(403, "workspace/unauthorized");
    let renewed = ada.post(&resend, json!({})).await.expect(200);
    assert_eq!((&renewed["id"], &renewed["status"]), (&made["id"], &json!("pending")));
    assert_ne!(renewed["expiresAt"], made["expiresAt"]);
    assert_eq!(inbox(&bob).await.len(), 1);
    answer(&bob, &made, "accept").await.expect(200);
    ada.post(&resend, json!({})).await.refused(409, "workspace/invite-terminal");
    let unknown = format!("{}/invites/{UNKNOWN}/resend", path(&root));
    ada.post(&unknown, json!({})).await.refused(404, "workspace/invite-not-found");
    let cleo = invite(&ada, &root, json!({ "email": "c@example.com" })).await.expect(201);
    crate::workspaces::settings(&app, Default::default()).await;
    let resend = format!("{}/invites/{}/resend", path(&root), id(&cleo));
    ada.post(&resend, json!({})).await.refused(409, "workspace/missing-invite-accept-url");
}

async fn the_inbox_shows_who_invites_where(app: TestApp) {
    let (ada, root, bob) = scene(&app).await;
    ada.patch(&format!("/users/{}", ada.id), json!({ "name": "Ada" })).await.expect(200);
    let first = invite(&ada, &root, json!({ "userId": bob.id, "title": "T" })).await.expect(201);
    app.advance(Duration::from_secs(1));
    let other = create(&ada, "other").await;
    invite(&app.service(), &other, json!({ "email": bob.email })).await.expect(201);
    let list = inbox(&bob).await;
    assert_eq!(list.len(), 2);
    assert_eq!(list[0]["workspace"], json!({ "id": other["id"], "name": "other" }), "newest first");
    let mut expected = first;
    expected["workspace"] = json!({ "id": root["id"], "name": "root" });
    let username = ada.email.split('@').next().unwrap();
    expected["invitedBy"] = json!({ "id": ada.id, "name": "Ada", "username": username, "avatar": null, "reputation": 0 });
    assert_eq!(list[1], expected);
    let named = format!("/me/workspace-invites?actingUserId={}", bob.id);
    assert_eq!(app.service().get(&named).await.expect(200)["data"], json!(list));
    ada.get(&named).await.refused(403, "workspace/unauthorized");
    assert!(inbox(&ada).await.is_empty());
    // An inviter who is gone.
    app.service().delete(&format!("/users/{}", ada.id)).await.expect(204);
    assert_eq!(inbox(&bob).await[0]["invitedBy"], Value::Null);
}

async fn accepting_makes_a_member_with_the_stored_grant(app: TestApp) {
    let (ada, root, bob) = scene(&app).await;
    let body = json!({
        "userId": bob.id, "capabilities": ["invite"], "permissions": ["pay"], "rank": 5, "title": "T",
    });
    let made = invite(&ada, &root, body).await.expect(201);
    let reply = answer(&bob, &made, "accept").await.expect(200);
    assert_eq!(reply, json!({ "success": true, "workspaceId": root["id"] }));
    let standing = ada.get(&member_path(&root, &bob)).await.expect(200);
    let parts =
        ["capabilities", "permissions", "rank", "title", "metadata"].map(|key| &standing[key]);
    assert_eq!(
        parts,
        [&json!(["view", "invite"]), &json!(["pay"]), &json!(5), &json!("T"), &json!({})]
    );
    assert!(inbox(&bob).await.is_empty());
    answer(&bob, &made, "accept").await.refused(409, "workspace/invite-terminal");
    // By a key.
    let cleo = verified(&app).await;
    let made = invite(&ada, &root, json!({ "email": cleo.email })).await.expect(201);
    let accept = format!("/workspace-invites/{}/accept", id(&made));
    let named = json!({ "actingUserId": cleo.id });
    app.service().post(&accept, named).await.expect(200);
    cleo.get(&path(&root)).await.expect(200);
}

async fn accepting_needs_the_target_and_a_verified_address(app: TestApp) {
    let (ada, root, bob) = scene(&app).await;
    let cleo = app.user().await;
    let made = invite(&ada, &root, json!({ "userId": cleo.id })).await.expect(201);
    for how in ["accept", "decline"] {
        for other in [&bob, &ada] {
            answer(other, &made, how).await.refused(404, "workspace/invite-not-found");
        }
        let unknown = json!({ "id": UNKNOWN });
        answer(&cleo, &unknown, how).await.refused(404, "workspace/invite-not-found");
        answer(&cleo, &made, how).await.refused(403, "workspace/email-not-verified");
        let stranger = app.stranger().await;
        answer(&stranger, &made, how).await.refused(404, "workspace/invite-not-found");
    }
    assert_eq!(inbox(&cleo).await.len(), 1, "seen without a verified address");
    verify(&app, app.project.id, cleo.id).await;
    answer(&cleo, &made, "accept").await.expect(200);
}

async fn accepting_as_a_member_changes_nothing_else(app: TestApp) {
    let (ada, root, bob) = scene(&app).await;
    // Two invitations to the same user: the second was made before the first was accepted, to the address.
    let made = invite(&ada, &root, json!({ "userId": bob.id, "rank": 5 })).await.expect(201);
    app.advance(FORTNIGHT);
    let (ada, bob) = (ada.sign_in_again().await, bob.sign_in_again().await);
    let second = invite(&ada, &root, json!({ "userId": bob.id, "rank": 9 })).await.expect(201);
    let resend = format!("{}/invites/{}/resend", path(&root), id(&made));
    ada.post(&resend, json!({})).await.expect(200);
    answer(&bob, &made, "accept").await.expect(200);
    answer(&bob, &second, "accept").await.expect(200);
    assert_eq!(ada.get(&member_path(&root, &bob)).await.expect(200)["rank"], 5);
    // As the owner.
    let cleo = verified(&app).await;
    let made = invite(&ada, &root, json!({ "userId": cleo.id })).await.expect(201);
    let to = json!({ "newOwnerId": cleo.id });
    ada.post(&format!("{}/transfer-ownership", path(&root)), to).await.expect(200);
    answer(&cleo, &made, "accept").await.expect(200);
    assert_eq!(app.rows("workspace_members").await, 1);
}

async fn declining_ends_an_invitation(app: TestApp) {
    let (ada, root, bob) = scene(&app).await;
    let made = invite(&ada, &root, json!({ "email": bob.email })).await.expect(201);
    assert_eq!(answer(&bob, &made, "decline").await.expect(200), json!({ "success": true }));
    assert!(inbox(&bob).await.is_empty() && outbox(&ada, &root).await.is_empty());
    bob.get(&path(&root)).await.refused(404, "workspace/not-found");
}

async fn an_answered_or_expired_invitation_is_not_answered(app: TestApp) {
    let (ada, root, bob) = scene(&app).await;
    let made = invite(&ada, &root, json!({ "userId": bob.id })).await.expect(201);
    answer(&bob, &made, "decline").await.expect(200);
    let late = invite(&ada, &root, json!({ "userId": bob.id })).await.expect(201);
    app.advance(FORTNIGHT);
    let bob = bob.sign_in_again().await;
    for how in ["accept", "decline"] {
        answer(&bob, &made, how).await.refused(409, "workspace/invite-terminal");
        answer(&bob, &late, how).await.refused(409, "workspace/invite-expired");
    }
}

async fn signing_up_finds_the_invitations_to_the_address(app: TestApp) {
    let (ada, root, _) = scene(&app).await;
    let made = invite(&ada, &root, json!({ "email": "New@Example.com" })).await.expect(201);
    let external = invite(&ada, &root, json!({ "email": "ext@example.com" })).await.expect(201);
    let other = create(&ada, "other").await;
    let revoked = invite(&ada, &other, json!({ "email": "new@example.com" })).await.expect(201);
    let revoke = format!("{}/invites/{}/revoke", path(&other), id(&revoked));
    ada.post(&revoke, json!({})).await.expect(200);
    let body = json!({ "email": "NEW@example.com", "password": User::PASSWORD });
    let signed_up = app.anonymous().post("/auth/sign-up", body).await.expect(201);
    let user = User::from_reply(&app, app.project.id, &signed_up);
    let bound = outbox(&ada, &root).await;
    let of =
        |made: &Value| bound.iter().find(|one| one["id"] == made["id"]).unwrap()["userId"].clone();
    assert_eq!((of(&made), of(&external)), (json!(user.id), Value::Null));
    assert_eq!(inbox(&user).await.len(), 1);
    answer(&user, &made, "accept").await.refused(403, "workspace/email-not-verified");
    verify(&app, app.project.id, user.id).await;
    answer(&user, &made, "accept").await.expect(200);
    // By the project's own backend.
    let jwt = app.vouch_for(json!({ "sub": "ext", "userData": { "email": "ext@example.com" } }));
    let reply = app.anonymous().post("/auth/verify-external-user", json!({ "userJwt": jwt })).await;
    let user = User::from_reply(&app, app.project.id, &reply.expect(200));
    assert_eq!(inbox(&user).await[0]["userId"], json!(user.id));
    // The same address in another project is somebody else.
    let elsewhere = app.anonymous().in_project(app.other.id);
    let body = json!({ "email": "new@example.com", "password": User::PASSWORD });
    let reply = elsewhere.post("/auth/sign-up", body).await.expect(201);
    assert!(inbox(&User::from_reply(&app, app.other.id, &reply)).await.is_empty());
}

async fn a_block_hides_invitations(app: TestApp) {
    let (ada, root, bob) = scene(&app).await;
    let made = invite(&ada, &root, json!({ "userId": bob.id })).await.expect(201);
    app.run_jobs().await;
    bob.post(&format!("/users/{}/block", ada.id), json!({})).await.expect(201);
    assert!(inbox(&bob).await.is_empty());
    for how in ["accept", "decline"] {
        answer(&bob, &made, how).await.refused(404, "workspace/invite-not-found");
    }
    let name = bob.email.split('@').next().unwrap();
    for body in [json!({ "userId": bob.id }), json!({ "username": name })] {
        invite(&ada, &root, body).await.refused(404, "workspace/invalid-target");
    }
    // An address says nothing about a block, and nothing is sent.
    let other = create(&ada, "other").await;
    let before = app.mails().len();
    invite(&ada, &other, json!({ "email": bob.email })).await.expect(201);
    app.run_jobs().await;
    assert_eq!(app.mails().len(), before);
    assert!(inbox(&bob).await.is_empty());
    // The project is blocked by nobody, but invites in the owner's name.
    invite(&app.service(), &root, json!({ "userId": bob.id })).await.expect(201);
    bob.delete(&format!("/users/{}/block", ada.id)).await.expect(204);
    assert_eq!(inbox(&bob).await.len(), 2);
    answer(&bob, &made, "accept").await.expect(200);
}

async fn of_many_answers_at_once_one_counts(app: TestApp) {
    use crate::support::{all_at_once, count};
    let (ada, root, bob) = scene(&app).await;
    for _ in 0..3 {
        let made = invite(&ada, &root, json!({ "userId": bob.id })).await.expect(201);
        let answers =
            (0..64).map(|n| answer(&bob, &made, if n % 2 == 0 { "accept" } else { "decline" }));
        let replies = all_at_once(answers).await;
        assert_eq!((count(&replies, 200), count(&replies, 409)), (1, 63));
        let members = app.rows("workspace_members").await;
        let seen = bob.get(&path(&root)).await.status;
        assert_eq!(seen, if members == 1 { 200 } else { 404 });
        if members == 1 {
            bob.delete(&format!("{}/members/me", path(&root))).await.expect(204);
        }
    }
}

async fn many_invitations_of_one_user_at_once_are_one(app: TestApp) {
    use crate::support::{all_at_once, count};
    let (ada, root, bob) = scene(&app).await;
    let invites = (0..64).map(|n| {
        let by =
            if n % 2 == 0 { json!({ "userId": bob.id }) } else { json!({ "email": bob.email }) };
        invite(&ada, &root, by)
    });
    let replies = all_at_once(invites).await;
    assert_eq!(count(&replies, 201), 64);
    assert_eq!(app.rows("workspace_invitations").await, 1);
}

async fn many_join_at_once(app: TestApp) {
    use crate::support::{all_at_once, count};
    let (ada, root, _) = scene(&app).await;
    let mut invited = Vec::new();
    for _ in 0..16 {
        let user = verified(&app).await;
        let made = invite(&ada, &root, json!({ "userId": user.id })).await.expect(201);
        invited.push((user, made));
    }
    let replies =
        all_at_once(invited.iter().map(|(user, made)| answer(user, made, "accept"))).await;
    assert_eq!(count(&replies, 200), 16);
    let counted = ada.get(&format!("{}/members?countOnly=true", path(&root))).await.expect(200);
    assert_eq!(counted["total"], 17);
}
