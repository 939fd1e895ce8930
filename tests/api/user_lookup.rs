//! Finding users: by foreign id (a key may create them), by a part of the username; whether a username is
//! available; and the points of a user in one space.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use townhall::features::users::store::points;
use townhall::http::query::percent_encode;
use townhall::tenancy::Bundle;
use townhall::values::ids::{SpaceId, UserId};
use uuid::Uuid;

use crate::support::{TestApp, all_at_once, on_both_engines};

on_both_engines![
    only_a_key_makes_a_user_on_the_way,
    a_made_user_is_found_again_and_never_changed,
    parallel_calls_make_one_user,
    a_user_is_not_made_from_wrong_values,
    suggestions_begin_with_the_beginnings,
    suggestions_take_every_character_literally,
    suggestions_are_five_at_most_and_never_of_another_project,
    a_username_is_available_when_sign_up_would_take_it,
    points_of_a_space_are_shown_when_asked_for,
    space_reputation_parameters_are_strict,
    space_reputation_needs_its_bundle,
];

async fn only_a_key_makes_a_user_on_the_way(app: TestApp) {
    let user = app.user().await;
    let path = "/users/by-foreign-id?foreignId=42&createIfNotFound=true";
    for actor in [&app.anonymous(), &*user, &app.bearer("no token")] {
        actor.get(path).await.refused(404, "user/not-found");
    }
    let off = "/users/by-foreign-id?foreignId=42&createIfNotFound=1";
    app.service().get(off).await.refused(404, "user/not-found");
    for (key, id) in [(app.service(), "42"), (app.master(), "43")] {
        let path = format!("/users/by-foreign-id?foreignId={id}&createIfNotFound=true");
        let made = key.get(&path).await.expect(201);
        assert_eq!(made["foreignId"], id);
        assert_eq!(made["role"], "visitor");
        for empty in ["name", "username", "email", "avatar", "bio"] {
            assert_eq!(made[empty], Value::Null, "{empty}");
        }
        assert_eq!(made["metadata"], json!({}));
        assert_eq!(made["secureMetadata"], json!({}));
        app.anonymous().get(&path).await.expect(200);
    }
}

async fn a_made_user_is_found_again_and_never_changed(app: TestApp) {
    let query = |name: &str| {
        let metadata = percent_encode(r#"{"a":[1]}"#);
        let secure = percent_encode(r#"{"s":true}"#);
        format!(
            "/users/by-foreign-id?foreignId=a%20b%2Fc&createIfNotFound=true&name={name}\
             &username=Ada%21&avatar=https%3A%2F%2Fimg.example%2Fa&bio=Hi\
             &metadata={metadata}&secureMetadata={secure}&include=files"
        )
    };
    let made = app.service().get(&query("Ada")).await.expect(201);
    assert_eq!(made["foreignId"], "a b/c");
    assert_eq!((made["name"].as_str(), made["username"].as_str()), (Some("Ada"), Some("ada")));
    assert_eq!(made["avatar"], "https://img.example/a");
    assert_eq!(made["bio"], "Hi");
    assert_eq!(made["metadata"], json!({ "a": [1] }));
    assert_eq!(made["secureMetadata"], json!({ "s": true }));
    assert!(made.as_object().unwrap().contains_key("avatarFile"));
    let found = app.service().get(&query("Grace")).await.expect(200);
    assert_eq!(found, made);
    for other in ["a%20b%2Fc%20", "A%20b%2Fc", "a%20b"] {
        let path = format!("/users/by-foreign-id?foreignId={other}");
        app.service().get(&path).await.refused(404, "user/not-found");
    }
    let path = format!("/users/{}", made["id"].as_str().unwrap());
    let updated = app.service().patch(&path, json!({})).await.expect(200);
    assert_eq!(updated["authMethods"], json!([]));
}

async fn parallel_calls_make_one_user(app: TestApp) {
    for (number, extra) in ["", "&username=same"].into_iter().enumerate() {
        let path = format!("/users/by-foreign-id?foreignId=p{number}&createIfNotFound=true{extra}");
        let service = app.service();
        let calls = (0..16).map(|_| service.get(&path));
        let replies = all_at_once(calls).await;
        let made = replies.iter().filter(|reply| reply.status == 201).count();
        let found = replies.iter().filter(|reply| reply.status == 200).count();
        let outcomes: Vec<String> = replies.iter().map(|reply| reply.outcome()).collect();
        assert_eq!((made, found), (1, 15), "{outcomes:?}");
        let ids: BTreeSet<String> =
            replies.iter().map(|reply| reply.json()["id"].to_string()).collect();
        assert_eq!(ids.len(), 1);
    }
}

async fn a_user_is_not_made_from_wrong_values(app: TestApp) {
    app.user().await;
    let long = |name: &str, length| format!("{name}={}", "x".repeat(length));
    let deep = format!("metadata={}{}", "%5B".repeat(70), "%5D".repeat(70));
    let wrong = [
        long("bio", 301),
        long("name", 256),
        long("username", 256),
        "username=%21%21".to_owned(),
        "metadata=nonsense".to_owned(),
        "metadata=%5B1%5D".to_owned(),
        "secureMetadata=5".to_owned(),
        "metadata=%7B%22a%22%3A%22%5Cu0000%22%7D".to_owned(),
        deep,
    ];
    let path =
        |extra: &str| format!("/users/by-foreign-id?foreignId=9&createIfNotFound=true&{extra}");
    for extra in &wrong {
        app.service().get(&path(extra)).await.refused(400, "user/invalid-query");
    }
    let too_long = format!("/users/by-foreign-id?foreignId={}", "x".repeat(256));
    app.service().get(&too_long).await.refused(400, "user/invalid-query");
    let taken = app.service().get(&path("username=User0")).await;
    assert_eq!(taken.refused(409, "DUPLICATE_USERNAME")["field"], "username");
    app.service().get("/users/by-foreign-id?foreignId=9").await.refused(404, "user/not-found");
    let dropped = app.service().v6().get(&path("metadata=nonsense&secureMetadata=5")).await;
    assert_eq!(dropped.expect(201)["metadata"], json!({}));
}

async fn make(app: &TestApp, username: &str) -> UserId {
    let path = format!(
        "/users/by-foreign-id?foreignId=f-{username}&createIfNotFound=true&username={username}"
    );
    let made = app.service().get(&path).await.expect(201);
    assert_eq!(made["username"], username);
    made["id"].as_str().unwrap().parse().unwrap()
}

async fn suggested(app: &TestApp, query: &str) -> Vec<String> {
    let path = format!("/users/suggestions?query={}", percent_encode(query));
    let users = app.anonymous().get(&path).await.expect(200);
    let names = users.as_array().unwrap().iter().map(|user| user["username"].as_str().unwrap());
    names.map(ToOwned::to_owned).collect()
}

async fn suggestions_begin_with_the_beginnings(app: TestApp) {
    for username in ["zada", "adam", "ada", "madame", "bob"] {
        make(&app, username).await;
    }
    let nameless = "/users/by-foreign-id?foreignId=n&createIfNotFound=true&name=ada";
    app.service().get(nameless).await.expect(201);
    assert_eq!(suggested(&app, "ada").await, ["ada", "adam", "madame", "zada"]);
    assert_eq!(suggested(&app, "ADA").await, ["ada", "adam", "madame", "zada"]);
    assert_eq!(suggested(&app, "dam").await, ["adam", "madame"]);
    assert_eq!(suggested(&app, "nobody").await, [""; 0]);
    assert_eq!(suggested(&app, "ä").await, [""; 0]);
    let path = "/users/suggestions?query=bob";
    let public = app.service().get(path).await.expect(200);
    assert!(public[0].get("email").is_none(), "suggestions are public for everybody");
}

async fn suggestions_take_every_character_literally(app: TestApp) {
    for username in ["a.b", "a_b", "axb"] {
        make(&app, username).await;
    }
    assert_eq!(suggested(&app, "a_b").await, ["a_b"]);
    assert_eq!(suggested(&app, "_").await, ["a_b"]);
    assert_eq!(suggested(&app, ".").await, ["a.b"]);
    for query in ["%", "a%b", "\\", "'", "*", "[a-z]", " "] {
        assert_eq!(suggested(&app, query).await, [""; 0], "{query}");
    }
}

async fn suggestions_are_five_at_most_and_never_of_another_project(app: TestApp) {
    for username in ["xa7", "a6", "a5", "a4", "a3", "a2", "a1"] {
        make(&app, username).await;
    }
    app.stranger().await;
    assert_eq!(suggested(&app, "a").await, ["a1", "a2", "a3", "a4", "a5"]);
    assert_eq!(suggested(&app, "user").await, [""; 0]);
    let anonymous = app.anonymous();
    let longest = format!("/users/suggestions?query={}", "a".repeat(256));
    anonymous.get(&longest).await.expect(200);
    for query in ["query=", &format!("query={}", "a".repeat(257)), "q=a"] {
        let path = format!("/users/suggestions?{query}");
        anonymous.get(&path).await.refused(400, "user/invalid-query");
    }
}

async fn a_username_is_available_when_sign_up_would_take_it(app: TestApp) {
    make(&app, "ada").await;
    let table = [
        ("grace", true),
        ("ada", false),
        ("%20ADA%21%20", false),
        ("ad", true),
        ("", false),
        ("%C3%84", false),
        (&"x".repeat(256), false),
    ];
    for (username, available) in table {
        let path = format!("/users/check-username?username={username}");
        let reply = app.anonymous().get(&path).await.expect(200);
        assert_eq!(reply, json!({ "available": available }), "{username}");
    }
    let elsewhere = app.anonymous().in_project(app.other.id);
    let reply = elsewhere.get("/users/check-username?username=ada").await.expect(200);
    assert_eq!(reply["available"], true);
}

pub(crate) async fn give_points(app: &TestApp, user: UserId, space: Option<SpaceId>, points: i64) {
    let project = app.project.id;
    let given = app.app.db.write(move |tx| points::add(tx, project, user, space, points));
    given.await.unwrap();
}

async fn points_of_a_space_are_shown_when_asked_for(app: TestApp) {
    let (rich, poor) = (make(&app, "rich").await, make(&app, "rich_not").await);
    let space = crate::spaces::create(&*app.user().await, json!({})).await;
    let space = crate::spaces::id(&space);
    give_points(&app, rich, Some(space), 7).await;
    give_points(&app, rich, None, -3).await;
    let unknown = Uuid::from_u128(space.0.as_u128() + 1);
    let table = [
        (format!("spaceReputationId={space}"), 7),
        (format!("spaceReputationId={}", space.to_string().to_uppercase()), 7),
        (format!("spaceReputationId={space}&spaceReputationDescendants=true"), 7),
        ("spaceReputationId=none".to_owned(), -3),
        (format!("spaceReputationId={unknown}"), 0),
        (format!("spaceReputation[spaceId]={space}"), 7),
        (format!("spaceReputation%5BspaceId%5D={space}"), 7),
        (format!("spaceReputation[spaceId]={space}&spaceReputation[includeDescendants]=true"), 7),
        (format!("spaceReputation[spaceId]=none&spaceReputationId={space}"), -3),
    ];
    for (parameters, points) in table {
        for path in [
            format!("/users/{rich}?{parameters}"),
            format!("/users/by-username?username=rich&{parameters}"),
            format!("/users/by-foreign-id?foreignId=f-rich&{parameters}"),
        ] {
            let user = app.anonymous().get(&path).await.expect(200);
            assert_eq!(user["spaceReputation"], points, "{path}");
        }
        let path = format!("/users/suggestions?query=rich&{parameters}");
        let users = app.anonymous().get(&path).await.expect(200);
        assert_eq!(users[0]["spaceReputation"], points, "{path}");
        assert_eq!(users[1]["id"], poor.to_string());
        assert_eq!(users[1]["spaceReputation"], 0, "{path}");
    }
    let plain = app.anonymous().get(&format!("/users/{rich}")).await.expect(200);
    assert!(plain.get("spaceReputation").is_none());
}

async fn space_reputation_parameters_are_strict(app: TestApp) {
    let id = make(&app, "ada").await;
    let wrong = [
        "spaceReputationId=",
        "spaceReputationId=general",
        "spaceReputationId=null",
        "spaceReputationId=context",
        "spaceReputationId=12",
        "spaceReputationId=none&spaceReputationDescendants=true",
        "spaceReputation[spaceId]=context",
        "spaceReputation[spaceId]=none&spaceReputation[includeDescendants]=true",
        "spaceReputation[spaceId]=x&spaceReputationId=none",
    ];
    for parameters in wrong {
        for path in [
            format!("/users/{id}?{parameters}"),
            format!("/users/by-username?username=ada&{parameters}"),
            format!("/users/by-foreign-id?foreignId=f-ada&{parameters}"),
            format!("/users/suggestions?query=ada&{parameters}"),
        ] {
            app.anonymous().get(&path).await.refused(400, "user/invalid-query");
        }
    }
}

async fn space_reputation_needs_its_bundle(app: TestApp) {
    let project = app.project_with(&[Bundle::Moderation]).await;
    let actor = app.anonymous().in_project(project.id);
    let missing = actor.get("/users/suggestions?query=a&spaceReputationId=none").await;
    let missing = missing.refused(403, "database/tables-not-available");
    assert_eq!(missing["missingTables"], json!(["ReputationBuckets", "ReputationGrants"]));
    actor.get("/users/suggestions?query=a").await.expect(200);
}
