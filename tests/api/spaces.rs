//! Spaces: creating and fetching them, their tree, and who may change them.

use serde_json::{Value, json};
use townhall::features::projects::Bundle;
use townhall::ids::{SpaceId, short_id};

use crate::notifications::UNKNOWN;
use crate::support::{Actor, TestApp, keys, on_both_engines};

on_both_engines![a_space_is_created_with_its_defaults, a_space_is_found_by_its_ids_and_its_slug,];

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

/// The membership of whoever joins.
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
