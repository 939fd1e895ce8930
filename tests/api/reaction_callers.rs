//! Who may react, as which user, and to what: the same reply at every endpoint, in every version.

use http::Method;
use serde_json::{Value, json};
use townhall::tenancy::Bundle;

use crate::notifications::{UNKNOWN, in_every_version};
use crate::reactions::{counts, publish, react, reactions, reputation, user_of};
use crate::support::{Actor, Reply, TestApp, on_both_engines};
use crate::suspensions::suspend;

on_both_engines![
    who_may_react_and_who_may_look,
    a_key_reacts_as_the_user_it_names,
    users_cannot_react_to_hidden_content,
    a_draft_is_there_for_its_author_and_for_keys,
    a_hidden_entity_takes_no_reactions,
    an_entity_is_named_by_a_uuid,
    without_entities_there_is_nothing_to_react_to,
    each_operation_has_its_own_limit,
];

/// An operation on a target: its request, and the reply for an authorized caller.
struct Door {
    method: Method,
    end: &'static str,
    admitted: &'static str,
}

const fn door(method: Method, end: &'static str, admitted: &'static str) -> Door {
    Door { method, end, admitted }
}

const WRITES: [Door; 6] = [
    door(Method::POST, "/reactions", "200"),
    door(Method::DELETE, "/reactions", "200"),
    door(Method::PATCH, "/upvote", "200"),
    door(Method::PATCH, "/downvote", "200"),
    door(Method::PATCH, "/remove-upvote", "409 entity/not-upvoted"),
    door(Method::PATCH, "/remove-downvote", "409 entity/not-downvoted"),
];
const LIST: Door = door(Method::GET, "/reactions", "200");
const OWN: Door = door(Method::GET, "/reactions/me", "200");

impl Door {
    async fn knock(&self, actor: &Actor<'_>, entity: &str, named: Option<&str>) -> Reply {
        let path = format!("{entity}{}", self.end);
        if self.method == Method::GET {
            let query = named.map(|user| format!("?userId={user}")).unwrap_or_default();
            return actor.get(&format!("{path}{query}")).await;
        }
        let mut body = json!({ "reactionType": "like" });
        if let Some(user) = named {
            body["userId"] = user.into();
        }
        actor.send(self.method.clone(), &path, Some(body)).await
    }
}

async fn who_may_react_and_who_may_look(app: TestApp) {
    let (author, user, other) = (app.user().await, app.user().await, app.user().await);
    let (suspended, stranger, gone) = (app.user().await, app.stranger().await, app.user().await);
    suspend(&app, &suspended, Some("spam"), None).await;
    app.service().delete(&format!("/users/{}", gone.id)).await.expect(204);
    let ids = [user.id, other.id, suspended.id, stranger.id].map(|id| id.to_string());
    let [own, another, banned, foreign] = ids.each_ref().map(|id| Some(id.as_str()));
    let (service, master, forged) = (app.service(), app.master(), app.bearer("not.a.token"));
    let elsewhere = app.bearer(&stranger.access_token);

    // The caller and the named user: the replies to a write, to one's own reaction, and to the list.
    let may = "admitted";
    let refused = "403 entity/unauthorized";
    let unknown = "404 entity/user-not-found";
    let missing = "400 entity/missing-user-id";
    let banned_is = "403 user/suspended";
    let table = [
        ("anonymous", app.anonymous(), None, "nothing", "nothing"),
        ("forged token", forged, None, "unusable", "unusable"),
        ("stranger", elsewhere, None, "unusable", "unusable"),
        ("user", (*user).clone(), None, may, may),
        ("user naming themselves", (*user).clone(), own, may, may),
        ("user naming another", (*user).clone(), another, refused, may),
        ("user naming nonsense", (*user).clone(), Some("me"), refused, may),
        ("suspended user", (*suspended).clone(), None, banned_is, may),
        ("deleted user", (*gone).clone(), None, "403 auth/no-user-found", "403 auth/no-user-found"),
        ("service key", service.clone(), None, missing, missing),
        ("service key for a user", service.clone(), own, may, may),
        ("service key for nobody known", service.clone(), Some(UNKNOWN), unknown, unknown),
        ("service key for nonsense", service.clone(), Some("me"), unknown, unknown),
        ("service key for a stranger", service.clone(), foreign, unknown, unknown),
        ("service key for a suspended user", service, banned, banned_is, may),
        ("master key", master.clone(), None, missing, missing),
        ("master key for a user", master.clone(), own, may, may),
        ("master key for a suspended user", master, banned, may, may),
    ];
    let untouched = publish(&author).await;
    for (who, actor, named, writes, reads) in &table {
        for (version, actor) in in_every_version(actor).iter().enumerate() {
            for (door, expected) in
                WRITES.iter().map(|door| (door, writes)).chain([(&OWN, reads), (&LIST, &may)])
            {
                let expected = match (*expected, version) {
                    ("admitted", _) => door.admitted,
                    ("nothing" | "unusable", 1) => "401 auth/unauthorized",
                    ("nothing", _) => "401 Unauthorized",
                    ("unusable", _) => "403 Forbidden",
                    (other, _) => other,
                };
                let target =
                    if expected == "200" { publish(&author).await } else { untouched.clone() };
                let reply = door.knock(actor, &target, *named).await;
                let what =
                    format!("{who} in version {}: {} {}", version + 6, door.method, door.end);
                assert_eq!(reply.outcome(), expected, "{what}");
            }
        }
    }
    let found = author.get(&untouched).await.expect(200);
    assert_eq!(found["reactionCounts"], counts(&[]), "no refused request has left anything");
}

async fn a_key_reacts_as_the_user_it_names(app: TestApp) {
    let (author, ada, bob) = (app.user().await, app.user().await, app.user().await);
    let entity = publish(&author).await;
    let path = reactions(&entity);
    for key in [app.service(), app.master().v7(), app.service().v6()] {
        let body = json!({ "reactionType": "love", "userId": ada.id });
        let added = key.post(&path, body).await.expect(200);
        assert_eq!(
            (&added["userReaction"], &added["user"]["reputation"]),
            (&json!("love"), &json!(7))
        );
        let by_query = format!("{path}?userId={}", bob.id);
        let added = key.post(&by_query, json!({ "reactionType": "sad" })).await.expect(200);
        assert_eq!(added["reactionCounts"], counts(&[("love", 1), ("sad", 1)]));
        let own = key.get(&format!("{path}/me?userId={}", ada.id)).await.expect(200);
        assert_eq!(own, json!({ "reactionType": "love" }));

        let in_body = key.send(Method::DELETE, &path, Some(json!({ "userId": ada.id }))).await;
        let removed = in_body.expect(200);
        assert_eq!(removed["reactionCounts"], counts(&[("sad", 1)]));
        assert_eq!(removed["userReaction"], Value::Null);
        key.delete(&format!("{path}?userId={}", bob.id)).await.expect(200);
        assert_eq!(reputation(&app, &author).await, 5);
    }
    let voted = app.service().patch(&format!("{entity}/upvote"), json!({ "userId": ada.id })).await;
    assert_eq!(voted.expect(200)["userReaction"], "upvote");
    assert_eq!(ada.get(&format!("{path}/me")).await.expect(200)["reactionType"], "upvote");
}

async fn users_cannot_react_to_hidden_content(app: TestApp) {
    let (author, user, stranger) = (app.user().await, app.user().await, app.stranger().await);
    let draft = author.post("/entities", json!({ "title": "Draft", "isDraft": true })).await;
    let draft = format!("/entities/{}", draft.expect(201)["id"].as_str().unwrap());
    let deleted = publish(&author).await;
    author.delete(&deleted).await.expect(204);
    let foreign = publish(&stranger).await;
    let unknown = format!("/entities/{UNKNOWN}");
    for actor in in_every_version(&user) {
        for door in WRITES.iter().chain([&OWN, &LIST]) {
            let expected = door.knock(&actor, &unknown, None).await;
            let body = expected.refused(404, "entity/not-found");
            assert_eq!(body["error"], "Entity not found.");
            for hidden in [&draft, &deleted, &foreign] {
                let reply = door.knock(&actor, hidden, None).await;
                assert_eq!((reply.status, reply.body), (404, expected.body.clone()), "{hidden}");
            }
        }
    }
    LIST.knock(&app.anonymous(), &draft, None).await.refused(404, "entity/not-found");
    // A key of the other project is no way in either.
    let key = app.bearer(&app.other.service_key).in_project(app.other.id);
    let named = stranger.id.to_string();
    for door in WRITES.iter().chain([&OWN, &LIST]) {
        for target in [&draft, &publish(&author).await] {
            let reply = door.knock(&key, target, Some(&named)).await;
            reply.refused(404, "entity/not-found");
        }
    }
    assert_eq!(author.get(&draft).await.expect(200)["reactionCounts"], counts(&[]));
    assert_eq!(stranger.get(&foreign).await.expect(200)["reactionCounts"], counts(&[]));
}

async fn a_draft_is_there_for_its_author_and_for_keys(app: TestApp) {
    let (author, other) = (app.user().await, app.user().await);
    let draft = author.post("/entities", json!({ "title": "Draft", "isDraft": true })).await;
    let draft = format!("/entities/{}", draft.expect(201)["id"].as_str().unwrap());
    let named = other.id.to_string();
    for (actor, named) in [((*author).clone(), None), (app.service(), Some(named.as_str()))] {
        for door in WRITES.iter().chain([&OWN, &LIST]) {
            // One after the other, a vote finds what an earlier one has left.
            let reply = door.knock(&actor, &draft, named).await;
            assert_ne!(reply.status, 404, "{} {}", door.method, door.end);
        }
    }
}

async fn a_hidden_entity_takes_no_reactions(app: TestApp) {
    let project = app.project_with(&Bundle::ALL).await;
    app.change_settings(project.id, |settings| settings.entity_deletion = "soft").await;
    let (author, user) =
        (user_of(&app, &project, "author").await, user_of(&app, &project, "user").await);
    let entity = publish(&author).await;
    react(&user, &entity, "love").await;
    author.delete(&entity).await.expect(204);
    for actor in [&*author, &*user] {
        for door in WRITES.iter().chain([&OWN, &LIST]) {
            door.knock(actor, &entity, None).await.refused(404, "entity/not-found");
        }
    }
    assert_eq!(reputation(&app, &author).await, 2, "what was earned stays earned");
}

async fn an_entity_is_named_by_a_uuid(app: TestApp) {
    let user = app.user().await;
    for actor in in_every_version(&user) {
        for door in WRITES.iter().chain([&OWN, &LIST]) {
            for wrong in ["/entities/one", "/entities/01234567-89ab-4def-8123-456789abcde"] {
                let reply = door.knock(&actor, wrong, None).await;
                reply.refused(400, "entity/invalid-params");
            }
        }
    }
}

async fn without_entities_there_is_nothing_to_react_to(app: TestApp) {
    let author = app.user().await;
    let entity = publish(&author).await;
    let project = app.project_with(&[Bundle::Reactions, Bundle::Notifications]).await;
    let user = user_of(&app, &project, "ada").await;
    for door in WRITES.iter().chain([&OWN, &LIST]) {
        let refused = door.knock(&user, &entity, None).await;
        let body = refused.refused(403, "database/tables-not-available");
        assert_eq!(body["missingTables"], json!(["Entities"]), "{} {}", door.method, door.end);
    }
}

async fn each_operation_has_its_own_limit(app: TestApp) {
    let app = app.restart_with(|config| config.set("TOWNHALL_RATE_LIMITS", "on")).await;
    let user = app.user().await;
    let entity = publish(&user).await;
    let declared = [100, 50, 100, 100, 50, 50, 100, 100];
    for (door, limit) in WRITES.iter().chain([&OWN, &LIST]).zip(declared) {
        let reply = door.knock(&user, &entity, None).await;
        let number = |name: &str| reply.header(name).unwrap().parse::<u32>().unwrap();
        let stands = (number("x-ratelimit-limit"), number("x-ratelimit-reset"));
        assert_eq!(stands, (limit, 300), "{} {}", door.method, door.end);
    }
}
