//! Moderation in a space: a table of permissions, decisions about content, and reports.

use serde_json::{Value, json};
use townhall::tenancy::Bundle;

use crate::comments::{comment, path as comment_path};
use crate::notifications::UNKNOWN;
use crate::space_members::{membership, of, open_space};
use crate::spaces::{create, id, join, path};
use crate::support::feed::listed;
use crate::support::{Actor, TestApp, User, all_at_once, count, on_both_engines};

on_both_engines![
    who_may_do_what,
    content_is_removed_and_approved,
    an_entity_is_marked_as_nsfw,
    a_report_is_handled_once,
    reports_are_handled_in_their_own_space,
    required_fields_of_handling_a_report,
    moderators_see_the_reports_of_their_spaces,
];

/// One of each role in the contract, in one space.
struct Cast<'a> {
    app: &'a TestApp,
    space: Value,
    creator: User<'a>,
    admin: User<'a>,
    moderator: User<'a>,
    member: User<'a>,
    user: User<'a>,
}

impl<'a> Cast<'a> {
    async fn new(app: &'a TestApp) -> Cast<'a> {
        let creator = app.user().await;
        let space = open_space(&creator).await;
        let (admin, moderator, member) = (app.user().await, app.user().await, app.user().await);
        for (user, role) in [(&admin, "admin"), (&moderator, "moderator"), (&member, "member")] {
            let membership = join(user, &space).await;
            let role = json!({ "role": role });
            creator.patch(&of(&space, &membership, "/role"), role).await.expect(200);
        }
        creator.patch(&path(&space), json!({ "requireJoinApproval": true })).await.expect(200);
        let user = app.user().await;
        Cast { app, space, creator, admin, moderator, member, user }
    }

    async fn with(&self, status: &str, role: &str) -> Value {
        let user = self.app.user().await;
        let membership = join(&user, &self.space).await;
        let by = &self.creator;
        if status != "pending" {
            by.patch(&of(&self.space, &membership, "/approve"), json!({})).await.expect(200);
            by.patch(&of(&self.space, &membership, "/role"), json!({ "role": role }))
                .await
                .expect(200);
        }
        if status == "banned" {
            by.patch(&of(&self.space, &membership, "/ban"), json!({})).await.expect(200);
        }
        membership
    }
}

/// The replies for anonymous, user, member, moderator, admin, creator and key.
async fn who_may_do_what(app: TestApp) {
    let cast = Cast::new(&app).await;
    let (anonymous, key) = (app.anonymous(), app.service());
    let actors: [(&str, &Actor<'_>); 7] = [
        ("anonymous", &anonymous),
        ("user", &cast.user),
        ("member", &cast.member),
        ("moderator", &cast.moderator),
        ("admin", &cast.admin),
        ("creator", &cast.creator),
        ("key", &key),
    ];
    let at = path(&cast.space);
    let table = [
        ("read the space", "yyyyyyy"),
        ("children", "yyyyyyy"),
        ("breadcrumb", "yyyyyyy"),
        ("rules", "yyyyyyy"),
        ("team", "yyyyyyy"),
        ("active members", "yyyyyyy"),
        ("other members", "mmmyyyy"),
        ("create a child", "-pppyyy"),
        ("approve", "-mmyyyy"),
        ("decline", "-mmyyyy"),
        ("ban a member", "-mmyyyy"),
        ("unban a member", "-mmyyyy"),
        ("ban a moderator", "-mmiyyy"),
        ("ban an admin", "-mmicyy"),
        ("change a role", "-aaayyy"),
        ("update the space", "-aaayyy"),
        ("create a rule", "-aaayyy"),
        ("moderate an entity", "-mmyyyy"),
        ("moderate a comment", "-mmyyyy"),
        ("set nsfw", "-mmyyyy"),
        ("handle a report", "-mmyyyy"),
        ("delete the space", "-ccccyy"),
    ];
    for (action, expected) in table {
        for ((who, actor), expected) in actors.iter().zip(expected.chars()) {
            let reply = act(&cast, actor, &at, action).await;
            let outcome = reply.as_str();
            let told = match outcome {
                "403 space/moderator-required" => 'm',
                "403 space/admin-required" => 'a',
                "403 space/creator-required" => 'c',
                "403 space/insufficient-permissions" => 'i',
                "403 space/parent-admin-required" => 'p',
                "401 Unauthorized" | "401 space/auth-required" => '-',
                _ if outcome.starts_with('2') => 'y',
                _ => '?',
            };
            assert_eq!(told, expected, "{who}: {action}: {outcome}");
        }
    }
    // In another project there is no such space, for nobody.
    let other = app.project_with(&Bundle::ALL).await;
    let (stranger, key) =
        (app.stranger().await, app.bearer(&other.service_key).in_project(other.id));
    for (action, _) in table {
        let expected = match action {
            "create a child" => "404 space/parent-not-found",
            _ => "404 space/not-found",
        };
        assert_eq!(act(&cast, &stranger, &at, action).await, expected, "{action}");
        if action != "create a child" {
            assert_eq!(act(&cast, &key, &at, action).await, expected, "{action}");
        }
    }
}

/// Each on content of its own, so that they do not interfere.
async fn act(cast: &Cast<'_>, actor: &Actor<'_>, at: &str, action: &str) -> String {
    let space = &cast.space;
    let member =
        async |status: &str, role: &str, end: &str| of(space, &cast.with(status, role).await, end);
    let entity = async || {
        let new = json!({ "title": "t", "spaceId": space["id"] });
        cast.member.post("/entities", new).await.expect(201)
    };
    let reply = match action {
        "read the space" => actor.get(at).await,
        "children" | "breadcrumb" | "rules" | "team" => actor.get(&format!("{at}/{action}")).await,
        "active members" => actor.get(&format!("{at}/members")).await,
        "other members" => actor.get(&format!("{at}/members?status=pending")).await,
        "create a child" => {
            let by = cast.creator.id;
            let new = json!({ "name": "Child", "parentSpaceId": space["id"], "userId": by });
            actor.post("/spaces", new).await
        }
        "approve" => actor.patch(&member("pending", "", "/approve").await, json!({})).await,
        "decline" => actor.patch(&member("pending", "", "/decline").await, json!({})).await,
        "ban a member" => actor.patch(&member("active", "member", "/ban").await, json!({})).await,
        "unban a member" => {
            actor.patch(&member("banned", "member", "/unban").await, json!({})).await
        }
        "ban a moderator" => {
            actor.patch(&member("active", "moderator", "/ban").await, json!({})).await
        }
        "ban an admin" => actor.patch(&member("active", "admin", "/ban").await, json!({})).await,
        "change a role" => {
            let role = json!({ "role": "moderator" });
            actor.patch(&member("active", "member", "/role").await, role).await
        }
        "update the space" => actor.patch(at, json!({ "description": "d" })).await,
        "create a rule" => actor.post(&format!("{at}/rules"), json!({ "title": "r" })).await,
        "moderate an entity" => {
            let entity = entity().await["id"].as_str().unwrap().to_owned();
            let address = format!("{at}/entities/{entity}/moderation");
            actor.patch(&address, json!({ "action": "approve" })).await
        }
        "set nsfw" => {
            let entity = entity().await["id"].as_str().unwrap().to_owned();
            actor.patch(&format!("{at}/entities/{entity}/nsfw"), json!({ "nsfw": true })).await
        }
        "moderate a comment" => {
            let entity = format!("/entities/{}", entity().await["id"].as_str().unwrap());
            let said = comment(&cast.member, &entity, "c").await;
            let address = format!("{at}/comments/{}/moderation", said["id"].as_str().unwrap());
            actor.patch(&address, json!({ "action": "remove" })).await
        }
        "handle a report" => {
            let (entity, report) = report(cast.app, cast, "entity").await;
            let body = json!({ "entityId": entity["id"], "actions": ["dismiss"], "summary": "s" });
            actor.patch(&format!("{at}/reports/entity/{report}"), body).await
        }
        "delete the space" => {
            let doomed = create(&cast.creator, json!({ "parentSpaceId": space["id"] })).await;
            actor.delete(&path(&doomed)).await
        }
        other => panic!("{other}"),
    };
    reply.outcome()
}

/// Something new of the member's that the user has reported, and the id of the report.
async fn report(app: &TestApp, cast: &Cast<'_>, kind: &str) -> (Value, String) {
    let new = json!({ "title": "t", "spaceId": cast.space["id"] });
    let mut target = cast.member.post("/entities", new).await.expect(201);
    if kind == "comment" {
        let entity = format!("/entities/{}", target["id"].as_str().unwrap());
        target = comment(&cast.member, &entity, "c").await;
    }
    let body = json!({ "targetType": kind, "targetId": target["id"], "reason": "spam" });
    cast.user.post("/reports", body).await.expect(201);
    let address = format!("/reports?targetId={}", target["id"].as_str().unwrap());
    let report =
        app.service().get(&address).await.expect(200)["data"][0]["id"].as_str().unwrap().to_owned();
    (target, report)
}

async fn content_is_removed_and_approved(app: TestApp) {
    let cast = Cast::new(&app).await;
    let new = json!({ "title": "t", "spaceId": cast.space["id"] });
    let entity = cast.member.post("/entities", new).await.expect(201);
    let at = format!("/entities/{}", entity["id"].as_str().unwrap());
    let said = comment(&cast.member, &at, "c").await;
    let on_entity = format!("{}{at}/moderation", path(&cast.space));
    let on_comment = format!("{}{}/moderation", path(&cast.space), comment_path(&said));
    let remove = json!({ "action": "remove", "reason": "rude" });
    for (address, key) in [(&on_entity, "entity"), (&on_comment, "comment")] {
        let by_token =
            json!({ "action": "remove", "reason": "rude", "actingUserId": cast.user.id });
        let reply = cast.moderator.patch(address, by_token).await.expect(200);
        assert_eq!(reply["moderationStatus"], "removed", "{key}");
    }
    let shown = cast.member.get(&at).await.expect(200);
    let expected = json!(["removed", app.now().to_string(), cast.moderator.id, "user", "rude"]);
    let fields = |one: &Value| {
        json!([
            one["moderationStatus"],
            one["moderatedAt"],
            one["moderatedById"],
            one["moderatedByType"],
            one["moderationReason"]
        ])
    };
    assert_eq!(fields(&shown), expected);
    assert_eq!(listed(&cast.user, "").await, "");
    let placeholder = cast.user.get(&comment_path(&said)).await.expect(200)["comment"].take();
    assert_eq!((&placeholder["content"], &placeholder["userId"]), (&Value::Null, &Value::Null));
    assert_eq!(cast.member.get(&comment_path(&said)).await.expect(200)["comment"]["content"], "c");
    let before =
        cast.member.get(&format!("/users/{}", cast.member.id)).await.expect(200)["reputation"]
            .take();

    // Decided anew, by a key for somebody and for nobody.
    let key = app.service();
    let acting = json!({ "action": "approve", "actingUserId": cast.admin.id });
    key.patch(&on_entity, acting).await.expect(200);
    let expected = json!(["approved", app.now().to_string(), cast.admin.id, "user", null]);
    assert_eq!(fields(&cast.member.get(&at).await.expect(200)), expected);
    assert_eq!(listed(&cast.user, "").await, "t");
    key.patch(&on_entity, remove.clone()).await.expect(200);
    key.patch(&on_entity, json!({ "action": "approve" })).await.expect(200);
    let expected = json!(["approved", app.now().to_string(), null, "client", null]);
    assert_eq!(fields(&cast.member.get(&at).await.expect(200)), expected);
    let after =
        cast.member.get(&format!("/users/{}", cast.member.id)).await.expect(200)["reputation"]
            .take();
    assert_eq!(before, after, "a decision costs nobody points");

    let other = open_space(&cast.moderator).await;
    let elsewhere =
        |address: &str| address.replace(&id(&cast.space).to_string(), &id(&other).to_string());
    let lost = |address: &str| {
        address
            .replace(entity["id"].as_str().unwrap(), UNKNOWN)
            .replace(said["id"].as_str().unwrap(), UNKNOWN)
    };
    for (address, kind) in [(&on_entity, "entity"), (&on_comment, "comment")] {
        let refused = cast.moderator.patch(&elsewhere(address), remove.clone()).await;
        refused.refused(404, &format!("moderation/{kind}-not-in-space"));
        let refused = cast.moderator.patch(&lost(address), remove.clone()).await;
        refused.refused(404, &format!("moderation/{kind}-not-found"));
        for wrong in [
            json!({}),
            json!({ "action": "ban" }),
            json!({ "action": "remove", "reason": "x".repeat(1001) }),
        ] {
            cast.moderator.patch(address, wrong).await.refused(400, "moderation/invalid-body");
        }
        let nowhere = address.replace(&id(&cast.space).to_string(), UNKNOWN);
        cast.moderator.patch(&nowhere, remove.clone()).await.refused(404, "space/not-found");
    }
    app.suspend(cast.moderator.id).await;
    cast.moderator.patch(&on_entity, remove).await.refused(403, "user/suspended");
}

async fn an_entity_is_marked_as_nsfw(app: TestApp) {
    let cast = Cast::new(&app).await;
    let new = json!({ "title": "t", "spaceId": cast.space["id"] });
    let entity = cast.member.post("/entities", new).await.expect(201);
    let at = format!("/entities/{}", entity["id"].as_str().unwrap());
    let flag = format!("{}{at}/nsfw", path(&cast.space));
    for nsfw in [true, false, true] {
        let set = cast.moderator.patch(&flag, json!({ "nsfw": nsfw })).await.expect(200);
        assert_eq!(set["nsfw"], nsfw);
        let shown = cast.user.get(&at).await.expect(200);
        assert_eq!((&shown["nsfw"], &shown["nsfwEffective"]), (&json!(nsfw), &json!(nsfw)));
        assert_eq!(
            (&shown["moderationStatus"], &shown["updatedAt"]),
            (&Value::Null, &entity["updatedAt"])
        );
    }
    for wrong in [json!({}), json!({ "nsfw": "true" }), json!({ "nsfw": null })] {
        cast.moderator.patch(&flag, wrong).await.refused(400, "moderation/invalid-body");
    }
    let loose = cast.member.post("/entities", json!({ "title": "t" })).await.expect(201);
    let of = |id: &str| format!("{}/entities/{id}/nsfw", path(&cast.space));
    let body = json!({ "nsfw": true });
    let refused = cast.moderator.patch(&of(loose["id"].as_str().unwrap()), body.clone()).await;
    refused.refused(404, "moderation/entity-not-in-space");
    cast.moderator
        .patch(&of(UNKNOWN), body.clone())
        .await
        .refused(404, "moderation/entity-not-found");
    // A draft is its author's alone.
    let draft = json!({ "isDraft": true, "spaceId": cast.space["id"] });
    let draft = cast.member.post("/entities", draft).await.expect(201);
    let draft = draft["id"].as_str().unwrap();
    for actor in [&*cast.moderator, &app.service()] {
        actor.patch(&of(draft), body.clone()).await.refused(404, "moderation/entity-not-found");
        let remove = format!("{}/entities/{draft}/moderation", path(&cast.space));
        let removed = actor.patch(&remove, json!({ "action": "remove" })).await;
        removed.refused(404, "moderation/entity-not-found");
    }
    let without = app.project_with(&[Bundle::Spaces, Bundle::Moderation]).await;
    let there = app.bearer(&without.service_key).in_project(without.id);
    for end in [
        "entities/x/nsfw",
        "entities/x/moderation",
        "comments/x/moderation",
        "reports/entity/x",
        "reports/comment/x",
    ] {
        let address = format!("/spaces/{UNKNOWN}/{}", end.replace("/x", &format!("/{UNKNOWN}")));
        let refused = there.patch(&address, body.clone()).await;
        refused.refused(403, "database/tables-not-available");
    }
}

async fn a_report_is_handled_once(app: TestApp) {
    let cast = Cast::new(&app).await;
    for kind in ["entity", "comment"] {
        let (target, report) = report(&app, &cast, kind).await;
        let at = format!("{}/reports/{kind}/{report}", path(&cast.space));
        let body = json!({
            format!("{kind}Id"): target["id"], "actions": [format!("remove-{kind}"), format!("remove-{kind}")],
            "summary": "gone",
        });
        let handled = all_at_once((0..6).map(|_| cast.moderator.patch(&at, body.clone()))).await;
        assert_eq!((count(&handled, 201), count(&handled, 409)), (1, 5));
        let one = handled.iter().find(|reply| reply.status == 201).unwrap();
        let expected =
            json!({ "message": "Report handled successfully", "code": "report/handled" });
        assert_eq!(one.json(), expected);
        cast.moderator.patch(&at, body).await.refused(409, "report/already-handled");
        let seen = app.service().get(&format!("/reports/{report}")).await.expect(200);
        assert_eq!((&seen["status"], &seen["actionTaken"]), (&json!("actioned"), &json!("gone")));
        assert_eq!(
            (&seen["target"]["moderationStatus"], &seen["target"]["moderationReason"]),
            (&json!("removed"), &json!("gone"))
        );
        assert_eq!(seen["space"]["id"], cast.space["id"]);
    }
    // Dismissed, and then reported anew.
    let (target, first) = report(&app, &cast, "entity").await;
    let body = json!({ "entityId": target["id"], "actions": ["dismiss"], "summary": "fine" });
    cast.admin
        .patch(&format!("{}/reports/entity/{first}", path(&cast.space)), body)
        .await
        .expect(201);
    let again = json!({ "targetType": "entity", "targetId": target["id"], "reason": "spam" });
    assert_eq!(cast.user.post("/reports", again).await.json()["code"], "report/created");
    // A ban from a report.
    let (target, report) = report(&app, &cast, "comment").await;
    let at = format!("{}/reports/comment/{report}", path(&cast.space));
    let ban = |user: Value| json!({ "commentId": target["id"], "actions": ["ban-user", "remove-comment"], "summary": "s", "userId": user, "reason": "spam" });
    let by = &cast.moderator;
    by.patch(&at, ban(json!(UNKNOWN))).await.refused(404, "report/user-not-found");
    by.patch(&at, ban(json!(cast.user.id))).await.refused(404, "space/member-not-found");
    by.patch(&at, ban(json!(cast.admin.id))).await.refused(403, "space/insufficient-permissions");
    let seen = app.service().get(&format!("/reports/{report}")).await.expect(200);
    assert_eq!(
        (&seen["status"], &seen["target"]["moderationStatus"]),
        (&json!("open"), &Value::Null),
        "nothing was done"
    );
    by.patch(&at, ban(json!(cast.member.id))).await.expect(201);
    assert_eq!(membership(&app, &cast.space, &cast.member).await["status"], "banned");
    let mine = cast.member.post("/entities", json!({ "spaceId": cast.space["id"] })).await;
    mine.refused(403, "space/banned");
    cast.member.post("/entities", json!({ "title": "elsewhere" })).await.expect(201);
}

async fn reports_are_handled_in_their_own_space(app: TestApp) {
    let cast = Cast::new(&app).await;
    let other = open_space(&cast.moderator).await;
    let (target, report) = report(&app, &cast, "entity").await;
    let body = json!({ "entityId": target["id"], "actions": ["dismiss"], "summary": "s" });
    let at = |space: &Value, kind: &str, report: &str| {
        format!("{}/reports/{kind}/{report}", path(space))
    };
    let by = &cast.moderator;
    by.patch(&at(&other, "entity", &report), body.clone())
        .await
        .refused(404, "report/not-found-in-space");
    by.patch(&at(&cast.space, "entity", UNKNOWN), body.clone())
        .await
        .refused(404, "report/not-found");
    by.patch(&at(&cast.space, "entity", "x"), body.clone())
        .await
        .refused(400, "report/invalid-params");
    let of_comment = json!({ "commentId": target["id"], "actions": ["dismiss"], "summary": "s" });
    by.patch(&at(&cast.space, "comment", &report), of_comment)
        .await
        .refused(404, "report/not-found");
    let wrong = json!({ "entityId": UNKNOWN, "actions": ["dismiss"], "summary": "s" });
    by.patch(&at(&cast.space, "entity", &report), wrong)
        .await
        .refused(404, "report/entity-not-found");
    let nowhere = format!("/spaces/{UNKNOWN}/reports/entity/{report}");
    by.patch(&nowhere, body.clone()).await.refused(404, "space/not-found");
    cast.member.delete(&format!("/entities/{}", target["id"].as_str().unwrap())).await.expect(204);
    by.patch(&at(&cast.space, "entity", &report), body)
        .await
        .refused(404, "report/entity-not-found");
    // The project itself may ban as well, where there is a space to be banned from.
    let (target, report) = self::report(&app, &cast, "entity").await;
    let ban = json!({
        "actions": ["ban-user", "remove-content"], "summary": "s", "userId": cast.member.id, "reason": "r",
    });
    app.service().patch(&format!("/reports/{report}"), ban.clone()).await.expect(200);
    assert_eq!(membership(&app, &cast.space, &cast.member).await["status"], "banned");
    let _ = target;
    let loose = cast.member.post("/entities", json!({ "title": "t" })).await.expect(201);
    let body = json!({ "targetType": "entity", "targetId": loose["id"], "reason": "spam" });
    cast.user.post("/reports", body).await.expect(201);
    let listed = app.service().get("/reports?spaceId=none").await.expect(200);
    let report = listed["data"][0]["id"].as_str().unwrap();
    app.service()
        .patch(&format!("/reports/{report}"), ban)
        .await
        .refused(400, "report/invalid-actions");
}

async fn required_fields_of_handling_a_report(app: TestApp) {
    let cast = Cast::new(&app).await;
    let (target, report) = report(&app, &cast, "entity").await;
    let at = format!("{}/reports/entity/{report}", path(&cast.space));
    let id = &target["id"];
    let (body, actions, missing) =
        ("report/invalid-body", "report/invalid-actions", "report/missing-fields");
    for (wrong, code) in [
        (json!({ "actions": ["dismiss"], "summary": "s" }), body),
        (json!({ "entityId": "x", "actions": ["dismiss"], "summary": "s" }), body),
        (json!({ "entityId": id, "summary": "s" }), body),
        (json!({ "entityId": id, "actions": [], "summary": "s" }), body),
        (json!({ "entityId": id, "actions": ["remove-comment"], "summary": "s" }), body),
        (json!({ "entityId": id, "actions": "dismiss", "summary": "s" }), body),
        (json!({ "entityId": id, "actions": ["dismiss"], "summary": "x".repeat(1001) }), body),
        (
            json!({ "entityId": id, "actions": ["dismiss", "remove-entity"], "summary": "s" }),
            actions,
        ),
        (json!({ "entityId": id, "actions": ["dismiss"] }), missing),
        (json!({ "entityId": id, "actions": ["remove-entity"], "summary": " " }), missing),
        (
            json!({ "entityId": id, "actions": ["ban-user"], "summary": "s", "reason": "r" }),
            missing,
        ),
        (
            json!({ "entityId": id, "actions": ["ban-user"], "summary": "s", "userId": cast.member.id }),
            missing,
        ),
    ] {
        cast.moderator.patch(&at, wrong).await.refused(400, code);
    }
    let seen = app.service().get(&format!("/reports/{report}")).await.expect(200);
    assert_eq!(seen["status"], "open");
}

async fn moderators_see_the_reports_of_their_spaces(app: TestApp) {
    let cast = Cast::new(&app).await;
    let (target, report) = report(&app, &cast, "entity").await;
    report_elsewhere(&app, &cast).await;
    for (who, actor) in
        [("moderator", &cast.moderator), ("admin", &cast.admin), ("creator", &cast.creator)]
    {
        let seen = actor.get("/reports/moderated").await.expect(200);
        assert_eq!(seen["pagination"]["totalItems"], 1, "{who}");
        assert_eq!(
            (&seen["data"][0]["id"], &seen["data"][0]["target"]["id"]),
            (&json!(report), &target["id"])
        );
        assert_eq!(seen["data"][0]["space"]["id"], cast.space["id"]);
        let one =
            actor.get(&format!("/reports/moderated?spaceId={}", id(&cast.space))).await.expect(200);
        assert_eq!(one["pagination"]["totalItems"], 1);
    }
    // The user has a space of their own.
    for (actor, own) in [(&cast.member, 0), (&cast.user, 1)] {
        let seen = actor.get("/reports/moderated").await.expect(200);
        assert_eq!(seen["pagination"]["totalItems"], own);
        let asked = format!("/reports/moderated?spaceId={}", id(&cast.space));
        actor.get(&asked).await.refused(403, "report/forbidden");
    }
    for unknown in [UNKNOWN, "none"] {
        let asked = format!("/reports/moderated?spaceId={unknown}");
        cast.moderator.get(&asked).await.refused(403, "report/forbidden");
    }
    for (query, found) in [
        ("status=open", 1),
        ("status=pending", 1),
        ("status=dismissed", 0),
        ("targetType=comment", 0),
        ("status=on-hold", 0),
    ] {
        let seen = cast.moderator.get(&format!("/reports/moderated?{query}")).await.expect(200);
        assert_eq!(seen["pagination"]["totalItems"], found, "{query}");
    }
    let by_key = format!("/reports/moderated?userId={}", cast.moderator.id);
    assert_eq!(app.service().get(&by_key).await.expect(200)["pagination"]["totalItems"], 1);
    let context =
        cast.moderator.get("/reports/moderated?spaceReputationId=context").await.expect(200);
    assert_eq!(context["data"][0]["target"]["user"]["spaceReputation"], 5);
}

async fn report_elsewhere(app: &TestApp, cast: &Cast<'_>) {
    let other = open_space(&cast.user).await;
    let new = json!({ "title": "t", "spaceId": other["id"] });
    let target = cast.user.post("/entities", new).await.expect(201);
    let body = json!({ "targetType": "entity", "targetId": target["id"], "reason": "spam" });
    cast.member.post("/reports", body).await.expect(201);
    let all = app.service().get("/reports").await.expect(200);
    assert_eq!(all["pagination"]["totalItems"], 2);
}
