//! Spaces: creating and fetching them, their tree, and who may change them.

use serde_json::{Value, json};
use townhall::tenancy::Bundle;
use townhall::values::ids::{SpaceId, short_id};

use crate::avatars::picture;
use crate::notifications::UNKNOWN;
use crate::support::{Actor, Form, Part, TestApp, all_at_once, count, keys, on_both_engines, png};

on_both_engines![
    a_space_is_created_with_its_defaults,
    a_space_is_found_by_its_ids_and_its_slug,
    new_spaces_are_validated,
    who_may_create_a_space_for_which_user,
    a_slug_is_of_one_space_under_any_concurrency,
    a_space_is_updated_field_by_field,
    spaces_are_nested_ten_deep,
    the_team_of_the_parent_is_the_team_of_the_child,
    nsfw_is_inherited_by_child_spaces,
    avatar_and_banner_come_with_a_form,
];

pub(crate) const KEYS: &str = "avatarFileId bannerFileId childSpacesCount createdAt deletedAt depth \
    description id isMember membersCount metadata name nsfw nsfwEffective parentSpaceId \
    postingPermission projectId readingPermission requireJoinApproval shortId slug updatedAt userId \
    visibility";

/// A space of the actor's, with what is given in place of the defaults.
pub(crate) async fn create(actor: &Actor<'_>, new: Value) -> Value {
    let mut body = json!({ "name": "Space" });
    body.as_object_mut().unwrap().extend(new.as_object().unwrap().clone());
    actor.post("/spaces", body).await.expect(201)
}

pub(crate) fn id(space: &Value) -> SpaceId {
    space["id"].as_str().unwrap().parse().unwrap()
}

pub(crate) fn path(space: &Value) -> String {
    format!("/spaces/{}", id(space))
}

/// The membership of a joining user.
pub(crate) async fn join(actor: &Actor<'_>, space: &Value) -> Value {
    let joined = actor.post(&format!("{}/join", path(space)), json!({})).await;
    joined.expect(201)["membership"].take()
}

async fn a_space_is_created_with_its_defaults(app: TestApp) {
    let ada = app.user().await;
    let space = create(&ada, json!({ "name": "Town" })).await;
    assert_eq!(keys(&space).join(" "), KEYS);
    assert_eq!(space["shortId"], short_id(id(&space).0));
    let expected = json!({
        "id": space["id"], "shortId": space["shortId"], "projectId": space["projectId"],
        "slug": null, "name": "Town", "description": null, "userId": ada.id,
        "avatarFileId": null, "bannerFileId": null, "readingPermission": "anyone",
        "postingPermission": "members", "visibility": "public", "nsfw": false,
        "nsfwEffective": false, "requireJoinApproval": true, "parentSpaceId": null, "depth": 0,
        "metadata": {}, "membersCount": 1, "childSpacesCount": 0, "isMember": true,
        "createdAt": app.now().to_string(), "updatedAt": app.now().to_string(), "deletedAt": null,
    });
    assert_eq!(space, expected);
    let mine = ada.get(&format!("{}/membership/me", path(&space))).await.expect(200);
    assert_eq!((&mine["role"], &mine["status"]), (&json!("admin"), &json!("active")));
    let without = app.project_with(&[Bundle::Entities]).await;
    let there = app.service().in_project(without.id);
    there.get("/spaces").await.refused(403, "database/tables-not-available");
}

async fn a_space_is_found_by_its_ids_and_its_slug(app: TestApp) {
    let (ada, bob) = (app.user().await, app.user().await);
    let new =
        json!({ "slug": "straße_1", "visibility": "private", "readingPermission": "members" });
    let space = create(&ada, new).await;
    let short = space["shortId"].as_str().unwrap();
    let addresses = [
        path(&space),
        format!("/spaces/by-short-id?shortId={short}"),
        "/spaces/by-slug?slug=straße_1".to_owned(),
    ];
    for address in &addresses {
        for actor in [&*ada, &bob, &app.anonymous(), &app.service()] {
            let found = actor.get(address).await.expect(200);
            assert_eq!(found["id"], space["id"], "{address}");
            assert_eq!((&found["parentSpace"], &found["childSpaces"]), (&Value::Null, &json!([])));
        }
        let found = app.anonymous().get(address).await.expect(200);
        assert!(found.get("isMember").is_none() && found["memberPermissions"].is_null());
        let found = bob.get(address).await.expect(200);
        assert!(found["isMember"] == false && found["memberPermissions"].is_null());
        let own = ada.get(address).await.expect(200);
        let expected = json!({
            "isAdmin": true, "isModerator": true, "isMember": true, "canPost": true,
            "canModerate": true, "canRead": true, "status": "active",
        });
        assert_eq!(own["memberPermissions"], expected);
        app.stranger().await.get(address).await.refused(404, "space/not-found");
    }
    for (address, code) in [
        ("/spaces/x", "400 space/invalid-params"),
        ("/spaces/by-short-id", "400 space/invalid-query"),
        ("/spaces/by-short-id?shortId=", "400 space/invalid-query"),
        ("/spaces/by-short-id?shortId=x", "404 space/not-found"),
        ("/spaces/by-slug?slug=x", "404 space/not-found"),
        ("/spaces/by-slug", "400 space/invalid-query"),
        (&format!("/spaces/{UNKNOWN}"), "404 space/not-found"),
        ("/spaces/check-slug", "400 space/invalid-query"),
        ("/spaces/check-slug?slug=a/b", "400 space/invalid-query"),
    ] {
        assert_eq!(app.anonymous().get(address).await.outcome(), code, "{address}");
    }
    for (slug, available) in [("straße_1", false), ("STRASSE_1", true), ("new", true)] {
        let reply = app.anonymous().get(&format!("/spaces/check-slug?slug={slug}")).await;
        assert_eq!(reply.expect(200), json!({ "available": available }), "{slug}");
    }
}

async fn new_spaces_are_validated(app: TestApp) {
    let ada = app.user().await;
    let long = "x".repeat(101);
    for wrong in [
        json!({}),
        json!({ "name": "ab" }),
        json!({ "name": long }),
        json!({ "name": 7 }),
        json!({ "name": null }),
        json!({ "name": "abc", "slug": "a b" }),
        json!({ "name": "abc", "slug": long }),
        json!({ "name": "abc", "description": "x".repeat(1001) }),
        json!({ "name": "abc", "readingPermission": "admins" }),
        json!({ "name": "abc", "postingPermission": "nobody" }),
        json!({ "name": "abc", "visibility": "hidden" }),
        json!({ "name": "abc", "requireJoinApproval": "yes" }),
        json!({ "name": "abc", "metadata": [] }),
        json!({ "name": "abc", "metadata": { "x": "y".repeat(1_048_577) } }),
        json!({ "name": "abc", "parentSpaceId": "x" }),
    ] {
        ada.post("/spaces", wrong.clone()).await.refused(400, "space/invalid-body");
    }
    let all = json!({
        "name": "日本語", "slug": "a-1", "description": "d", "readingPermission": "members",
        "postingPermission": "admins", "visibility": "unlisted", "requireJoinApproval": false,
        "nsfw": true, "metadata": { "a": [1] }, "userId": UNKNOWN,
    });
    let made = ada.post("/spaces", all.clone()).await.expect(201);
    for (key, value) in all.as_object().unwrap().iter().filter(|(key, _)| *key != "userId") {
        assert_eq!(made[key], *value, "{key}");
    }
    assert_eq!((&made["userId"], &made["nsfwEffective"]), (&json!(ada.id), &json!(true)));
    let empty = create(&ada, json!({ "slug": "", "description": "" })).await;
    assert_eq!((&empty["slug"], &empty["description"]), (&Value::Null, &Value::Null));
    assert_eq!(app.anonymous().get("/spaces").await.expect(200)["pagination"]["totalItems"], 1);
}

async fn who_may_create_a_space_for_which_user(app: TestApp) {
    let ada = app.user().await;
    let body = json!({ "name": "Space" });
    app.anonymous().post("/spaces", body.clone()).await.refused(401, "space/auth-required");
    for key in [app.service(), app.master()] {
        key.post("/spaces", body.clone()).await.refused(401, "space/auth-required");
        let unknown = json!({ "name": "Space", "userId": UNKNOWN });
        key.post("/spaces", unknown).await.refused(404, "user/not-found");
        let made = create(&key, json!({ "userId": ada.id })).await;
        assert_eq!((&made["userId"], &made["isMember"]), (&json!(ada.id), &json!(true)));
    }
    app.suspend(ada.id).await;
    ada.post("/spaces", body).await.refused(403, "user/suspended");
}

async fn a_slug_is_of_one_space_under_any_concurrency(app: TestApp) {
    let ada = app.user().await;
    let body = json!({ "name": "Space", "slug": "one" });
    let made = all_at_once((0..16).map(|_| ada.post("/spaces", body.clone()))).await;
    assert_eq!((count(&made, 201), count(&made, 409)), (1, 15));
    ada.post("/spaces", body.clone()).await.refused(409, "space/slug-taken");
    let others = [create(&ada, json!({})).await, create(&ada, json!({})).await];
    let slug = json!({ "slug": "two" });
    let changed = all_at_once(others.iter().map(|one| {
        let (path, slug, ada) = (path(one), slug.clone(), &ada);
        async move { ada.patch(&path, slug).await }
    }));
    let changed = changed.await;
    assert_eq!((count(&changed, 200), count(&changed, 409)), (1, 1));
    // In another project it is free.
    app.stranger().await.post("/spaces", body).await.expect(201);
}

async fn a_space_is_updated_field_by_field(app: TestApp) {
    let (ada, bob) = (app.user().await, app.user().await);
    let space =
        create(&ada, json!({ "slug": "s", "description": "d", "metadata": { "a": 1 } })).await;
    let before = ada.get(&path(&space)).await.expect(200);
    app.advance(std::time::Duration::from_secs(60));
    let same = ada.patch(&path(&space), json!({ "bogus": 1, "parentSpaceId": UNKNOWN })).await;
    assert_eq!(same.expect(200), before, "nothing changed");
    for (key, value) in [
        ("name", json!("Other")),
        ("slug", json!("other")),
        ("slug", json!(null)),
        ("description", json!("e")),
        ("description", json!(null)),
        ("readingPermission", json!("members")),
        ("postingPermission", json!("anyone")),
        ("visibility", json!("unlisted")),
        ("requireJoinApproval", json!(false)),
        ("metadata", json!({ "b": 2 })),
    ] {
        let changed = ada.patch(&path(&space), json!({ key: value })).await.expect(200);
        assert_eq!(changed[key], value, "{key}");
        assert_eq!(changed["updatedAt"], app.now().to_string());
        assert_eq!(ada.get(&path(&space)).await.expect(200), changed);
    }
    ada.patch(&path(&space), json!({ "slug": "s" })).await.expect(200);
    let emptied = ada.patch(&path(&space), json!({ "slug": "", "description": "" })).await;
    assert_eq!(emptied.expect(200)["slug"], Value::Null);
    for wrong in [json!({ "name": "x" }), json!({ "name": 1 }), json!({ "slug": "a b" })] {
        ada.patch(&path(&space), wrong).await.refused(400, "space/invalid-body");
    }
    bob.patch(&path(&space), json!({ "name": "Mine" })).await.refused(403, "space/admin-required");
    assert_eq!(app.anonymous().patch(&path(&space), json!({})).await.status, 401);
    let unknown = format!("/spaces/{UNKNOWN}");
    ada.patch(&unknown, json!({})).await.refused(404, "space/not-found");
    app.stranger().await.patch(&path(&space), json!({})).await.refused(404, "space/not-found");
    app.service().patch(&path(&space), json!({ "name": "By key" })).await.expect(200);
}

async fn spaces_are_nested_ten_deep(app: TestApp) {
    let ada = app.user().await;
    let mut line = vec![create(&ada, json!({ "name": "Depth 0", "slug": "d0" })).await];
    for depth in 1..=10 {
        let parent = line.last().unwrap()["id"].clone();
        let child =
            create(&ada, json!({ "name": format!("Depth {depth}"), "parentSpaceId": parent }));
        line.push(child.await);
        assert_eq!(line.last().unwrap()["depth"], depth);
    }
    let deepest = line.last().unwrap();
    let deeper = json!({ "name": "Depth 11", "parentSpaceId": deepest["id"] });
    ada.post("/spaces", deeper).await.refused(400, "space/max-depth-exceeded");
    let lost = json!({ "name": "Lost", "parentSpaceId": UNKNOWN });
    ada.post("/spaces", lost).await.refused(404, "space/parent-not-found");
    let way = app.anonymous().get(&format!("{}/breadcrumb", path(deepest))).await.expect(200);
    assert_eq!(way["depth"], 10);
    let names = way["breadcrumb"].as_array().unwrap().iter().map(|one| one["name"].clone());
    assert_eq!(names.collect::<Value>(), (0..=10).map(|n| format!("Depth {n}")).collect::<Value>());
    let crumb = "avatarFileId depth id name parentSpaceId shortId slug";
    assert_eq!(keys(&way["breadcrumb"][0]).join(" "), crumb);
    let root = app.anonymous().get(&format!("{}/breadcrumb", path(&line[0]))).await.expect(200);
    assert_eq!((&root["depth"], root["breadcrumb"].as_array().unwrap().len()), (&json!(0), 1));
    let nowhere = format!("/spaces/{UNKNOWN}/breadcrumb");
    app.anonymous().get(&nowhere).await.refused(404, "space/not-found");

    // The children of one, of which only what is public is listed, for everybody.
    let root = &line[0];
    for (name, visibility) in [("Hidden", "unlisted"), ("Secret", "private"), ("Second", "public")]
    {
        app.advance(std::time::Duration::from_secs(1));
        let new = json!({ "name": name, "visibility": visibility, "parentSpaceId": root["id"] });
        create(&ada, new).await;
    }
    let children = format!("{}/children", path(root));
    for actor in [&*ada, &app.anonymous(), &app.service()] {
        let page = actor.get(&children).await.expect(200);
        let names = page["data"].as_array().unwrap().iter().map(|one| one["name"].clone());
        assert_eq!(names.collect::<Value>(), json!(["Second", "Depth 1"]));
        assert_eq!(page["pagination"]["totalItems"], 2);
    }
    assert_eq!(ada.get(&children).await.expect(200)["data"][0]["isMember"], true);
    assert!(app.anonymous().get(&children).await.expect(200)["data"][0].get("isMember").is_none());
    let second = ada.get(&format!("{children}?page=2&limit=1")).await.expect(200);
    assert_eq!(
        (&second["data"][0]["name"], &second["pagination"]["hasMore"]),
        (&json!("Depth 1"), &json!(false))
    );
    let shown = ada.get(&path(root)).await.expect(200);
    assert_eq!(
        (&shown["childSpacesCount"], shown["childSpaces"].as_array().unwrap().len()),
        (&json!(4), 2)
    );
    let preview =
        "avatarFileId depth id name parentSpaceId readingPermission shortId slug visibility";
    assert_eq!(keys(&shown["childSpaces"][0]).join(" "), preview);
    assert_eq!(ada.get(&path(&line[1])).await.expect(200)["parentSpace"]["slug"], "d0");
}

async fn the_team_of_the_parent_is_the_team_of_the_child(app: TestApp) {
    let (ada, bob, cleo) = (app.user().await, app.user().await, app.user().await);
    let parent = create(&ada, json!({ "requireJoinApproval": false })).await;
    let child = json!({ "name": "Child", "parentSpaceId": parent["id"] });
    bob.post("/spaces", child.clone()).await.refused(403, "space/parent-admin-required");
    let membership = join(&bob, &parent).await;
    bob.post("/spaces", child.clone()).await.refused(403, "space/parent-admin-required");
    join(&cleo, &parent).await;
    let role = format!("{}/members/{}/role", path(&parent), membership["id"].as_str().unwrap());
    ada.patch(&role, json!({ "role": "moderator" })).await.expect(200);
    bob.post("/spaces", child.clone()).await.refused(403, "space/parent-admin-required");
    let made = ada.post("/spaces", child.clone()).await.expect(201);
    let team = |page: Value| -> Value {
        let of = |one: &Value| json!([one["role"], one["user"]["id"]]);
        page["data"].as_array().unwrap().iter().map(of).collect()
    };
    let expected = json!([["admin", ada.id], ["moderator", bob.id]]);
    let found = ada.get(&format!("{}/team", path(&made))).await.expect(200);
    assert_eq!(team(found), expected);
    assert_eq!(made["membersCount"], 2);
    ada.patch(&role, json!({ "role": "admin" })).await.expect(200);
    let by_bob = bob.post("/spaces", child).await.expect(201);
    assert_eq!(by_bob["membersCount"], 2);
    let found = ada.get(&format!("{}/team", path(&by_bob))).await.expect(200);
    assert_eq!(team(found).as_array().unwrap().len(), 2);
    // Joining the child does not join the parent.
    let mine = cleo.get(&format!("{}/membership/me", path(&made))).await.expect(200);
    assert_eq!(mine["isMember"], false);
    let parent = ada.get(&path(&parent)).await.expect(200);
    assert_eq!((&parent["membersCount"], &parent["childSpacesCount"]), (&json!(3), &json!(2)));
}

async fn nsfw_is_inherited_by_child_spaces(app: TestApp) {
    let ada = app.user().await;
    let root = create(&ada, json!({})).await;
    let child = create(&ada, json!({ "parentSpaceId": root["id"] })).await;
    let below = create(&ada, json!({ "parentSpaceId": child["id"], "nsfw": true })).await;
    let flags = async || {
        let mut flags = Vec::new();
        for space in [&root, &child, &below] {
            let shown = ada.get(&path(space)).await.expect(200);
            flags.push(shown["nsfwEffective"].as_bool().unwrap());
            assert_eq!(
                shown["nsfw"],
                space["nsfw"].as_bool().unwrap() || (space["id"] == root["id"] && flags[0])
            );
        }
        flags
    };
    assert_eq!(flags().await, [false, false, true]);
    let set = ada.patch(&path(&root), json!({ "nsfw": true })).await.expect(200);
    assert_eq!(set["nsfwEffective"], true);
    assert_eq!(flags().await, [true, true, true]);
    let born = create(&ada, json!({ "parentSpaceId": child["id"] })).await;
    assert_eq!((&born["nsfw"], &born["nsfwEffective"]), (&json!(false), &json!(true)));
    ada.patch(&path(&root), json!({ "nsfw": false })).await.expect(200);
    assert_eq!(flags().await, [false, false, true]);

    // A grandchild that comes while the root changes agrees with it afterwards.
    let child_id = child["id"].clone();
    let top = path(&root);
    let (made, changed) = tokio::join!(
        all_at_once((0..6).map(|_| create(&ada, json!({ "parentSpaceId": child_id })))),
        ada.patch(&top, json!({ "nsfw": true })),
    );
    changed.expect(200);
    for space in made {
        assert_eq!(ada.get(&path(&space)).await.expect(200)["nsfwEffective"], true);
    }
    assert_eq!(ada.get(&path(&child)).await.expect(200)["childSpacesCount"], 8);

    // Parent and child change at the same time: the child's own flag counts in either order.
    let (top, middle) = (path(&root), path(&child));
    for _ in 0..4 {
        for (root, child) in [(true, false), (false, true)] {
            let (one, other) = tokio::join!(
                ada.patch(&top, json!({ "nsfw": root })),
                ada.patch(&middle, json!({ "nsfw": child })),
            );
            assert_eq!((one.status, other.status), (200, 200));
            for space in [&middle, &path(&born)] {
                assert_eq!(
                    ada.get(space).await.expect(200)["nsfwEffective"],
                    true,
                    "{root} {child}"
                );
            }
        }
    }
}

async fn avatar_and_banner_come_with_a_form(app: TestApp) {
    let (ada, bob) = (app.user().await, app.user().await);
    let form = |name: &str| {
        Form::new().text("name", name).text("nsfw", "true").json("metadata", json!({ "a": 1 }))
    };
    let both = picture(picture(form("Pictured"), "avatarFile"), "bannerFile");
    let made = ada.post_form("/spaces", &both).await.expect(201);
    assert_eq!((&made["nsfw"], &made["metadata"]), (&json!(true), &json!({ "a": 1 })));
    for file in ["avatarFile", "bannerFile"] {
        assert_eq!(made[file]["id"], made[format!("{file}Id")]);
        assert_eq!(made[file]["spaceId"], made["id"]);
    }
    let plain = bob.get(&path(&made)).await.expect(200);
    assert!(plain.get("avatarFile").is_none());
    let shown = bob.get(&format!("{}?include=files", path(&made))).await.expect(200);
    assert_eq!(shown["avatarFile"]["id"], made["avatarFileId"]);
    bob.get(&format!("/storage/{}", made["avatarFileId"].as_str().unwrap())).await.expect(200);

    // A new one takes the place of the old.
    let update = Form::new().text("description", "d");
    let changed =
        ada.send_form(http::Method::PATCH, &path(&made), &picture(update, "avatarFile")).await;
    let changed = changed.expect(200);
    assert_ne!(changed["avatarFileId"], made["avatarFileId"]);
    assert_eq!(changed["bannerFileId"], made["bannerFileId"]);
    let gone = format!("/storage/{}", made["avatarFileId"].as_str().unwrap());
    bob.get(&gone).await.refused(404, "storage/file-not-found");

    // What is refused leaves nothing behind.
    app.run_jobs().await;
    let stored = app.stored();
    let text = Part { name: "avatarFile", file: "a.png", mime: "image/png", bytes: b"text" };
    let options = json!({ "mode": "exact-dimensions", "dimensions": {} });
    let refused = form("Space").file(text).json("avatarFile.options", options);
    ada.post_form("/spaces", &refused).await.refused(422, "space/invalid-image");
    let bare = form("Space").file(Part { name: "avatarFile", bytes: &png(8, 8), ..text });
    ada.post_form("/spaces", &bare).await.refused(400, "space/invalid-body");
    let lost = picture(form("Space").text("parentSpaceId", UNKNOWN), "avatarFile");
    ada.post_form("/spaces", &lost).await.refused(404, "space/parent-not-found");
    let update = picture(form("Space"), "avatarFile");
    let refused = bob.send_form(http::Method::PATCH, &path(&made), &update).await;
    refused.refused(403, "space/admin-required");
    app.run_jobs().await;
    assert_eq!(app.stored(), stored);
    let list = ada.get("/spaces?include=files&searchName=pictured").await.expect(200);
    assert_eq!(list["data"][0]["bannerFile"]["id"], made["bannerFileId"]);
}
