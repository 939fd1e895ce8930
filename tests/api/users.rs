//! Fetching and deleting users: which fields are shown to which caller, and who may delete one.

use db::{Command, Query, args};
use serde_json::{Value, json};
use townhall::values::ids::UserId;

use crate::support::{Actor, Reply, TestApp, User, on_both_engines};

on_both_engines![
    a_fetched_user_has_exactly_the_public_fields,
    a_key_sees_the_private_fields_too,
    files_show_only_when_they_are_included,
    usernames_are_compared_as_they_are_given,
    wrong_identifiers_are_told_apart_from_unknown_ones,
    a_user_of_another_project_is_unknown,
    everybody_has_their_own_rights_over_a_user,
    deleting_a_user_deletes_their_data,
    a_token_of_a_deleted_user_is_refused,
];

const PUBLIC: [&str; 15] = [
    "avatar",
    "avatarFileId",
    "bannerFileId",
    "bio",
    "birthdate",
    "createdAt",
    "foreignId",
    "id",
    "location",
    "metadata",
    "name",
    "projectId",
    "reputation",
    "role",
    "username",
];
const PRIVATE: [&str; 6] =
    ["email", "isActive", "isVerified", "lastActive", "secureMetadata", "updatedAt"];

async fn profiled(app: &TestApp) -> User<'_> {
    let user = app.user().await;
    let update = json!({
        "name": "Ada",
        "bio": "Notes",
        "avatar": "https://img.example/a.png",
        "birthdate": "1815-12-10",
        "location": { "latitude": 51.5, "longitude": -0.25 },
        "metadata": { "theme": "dark" },
        "secureMetadata": { "plan": "gold" },
    });
    app.service().patch(&format!("/users/{}", user.id), update).await.expect(200);
    user
}

/// The three ways to fetch a user that was made with a foreign id.
async fn all_ways(app: &TestApp, actor: &Actor<'_>, user: &User<'_>) -> Vec<Reply> {
    let (project, id) = (app.project.id, user.id);
    let set = "UPDATE users SET foreign_id = 'ext-1' WHERE project_id = $1 AND id = $2";
    let named = app
        .app
        .db
        .write(move |tx| tx.execute(&Command::<()>::built("foreign id", set), args![project, id]));
    named.await.unwrap();
    let username = user.get(&format!("/users/{id}")).await.expect(200)["username"].clone();
    let username = username.as_str().unwrap().to_owned();
    vec![
        actor.get(&format!("/users/{id}")).await,
        actor.get(&format!("/users/by-username?username={username}")).await,
        actor.get("/users/by-foreign-id?foreignId=ext-1").await,
    ]
}

async fn a_fetched_user_has_exactly_the_public_fields(app: TestApp) {
    let user = profiled(&app).await;
    let other = app.user().await;
    for actor in [&app.anonymous(), &*user, &*other, &app.bearer("no token at all")] {
        for reply in all_ways(&app, actor, &user).await {
            let body = reply.expect(200);
            assert_eq!(reply.keys(), PUBLIC);
            assert_eq!(body["id"], user.id.to_string());
            assert_eq!(body["projectId"], app.project.id.to_string());
            assert_eq!(body["role"], "visitor");
            assert_eq!(body["name"], "Ada");
            assert_eq!(body["birthdate"], "1815-12-10T00:00:00.000Z");
            let point = json!({ "type": "Point", "coordinates": [-0.25, 51.5] });
            assert_eq!(body["location"], point);
            assert_eq!(body["metadata"], json!({ "theme": "dark" }));
            assert_eq!(body["reputation"], 0);
            assert_eq!(body["createdAt"], "2026-08-01T12:00:00.000Z");
        }
    }
}

async fn a_key_sees_the_private_fields_too(app: TestApp) {
    let user = profiled(&app).await;
    let mut expected: Vec<&str> = PUBLIC.into_iter().chain(PRIVATE).collect();
    expected.sort_unstable();
    for key in [app.service(), app.master()] {
        for reply in all_ways(&app, &key, &user).await {
            let body = reply.expect(200);
            assert_eq!(reply.keys(), expected);
            assert_eq!(body["email"], user.email);
            assert_eq!(body["secureMetadata"], json!({ "plan": "gold" }));
            assert_eq!(body["isVerified"], false);
            assert_eq!(body["isActive"], true);
        }
    }
}

async fn files_show_only_when_they_are_included(app: TestApp) {
    let user = app.user().await;
    let fetched = |query: &'static str| {
        let path = format!("/users/{}{query}", user.id);
        let anonymous = app.anonymous();
        async move { anonymous.get(&path).await.expect(200) }
    };
    for query in ["?include=files", "?include=%20bogus%20,%20files%20", "?include=FILES"] {
        let body = fetched(query).await;
        let body = body.as_object().unwrap();
        assert_eq!(body.get("avatarFile"), Some(&Value::Null), "{query}");
        assert_eq!(body.get("bannerFile"), Some(&Value::Null), "{query}");
    }
    for query in ["", "?include=", "?include=bogus"] {
        assert!(fetched(query).await.get("avatarFile").is_none(), "{query}");
    }
}

async fn usernames_are_compared_as_they_are_given(app: TestApp) {
    app.user().await;
    let by_username = |name: &'static str| {
        let anonymous = app.anonymous();
        async move { anonymous.get(&format!("/users/by-username?username={name}")).await }
    };
    by_username("user0").await.expect(200);
    for other in ["User0", "user0%20", "user", "%25"] {
        by_username(other).await.refused(404, "user/not-found");
    }
}

async fn wrong_identifiers_are_told_apart_from_unknown_ones(app: TestApp) {
    let unknown = app.project.id;
    let by_id = format!("/users/{unknown}");
    // path, reply, reply under v6
    let table = [
        ("/users/not-a-uuid", "400 user/invalid-params", "400 user/invalid-user-id"),
        ("/users/12345678123442348234123456789012", "400 user/invalid-params", ""),
        (by_id.as_str(), "404 user/not-found", "404 user/not-found"),
        ("/users/by-username", "400 user/invalid-query", ""),
        ("/users/by-username?username=", "400 user/invalid-query", ""),
        ("/users/by-username?username=nobody", "404 user/not-found", ""),
        ("/users/by-foreign-id", "400 user/invalid-query", "400 user/invalid-identifier"),
        (
            "/users/by-foreign-id?foreignId=",
            "400 user/invalid-query",
            "400 user/invalid-identifier",
        ),
        ("/users/by-foreign-id?foreignId=%00", "400 user/invalid-query", ""),
        ("/users/by-foreign-id?foreignId=nobody", "404 user/not-found", "404 user/not-found"),
        ("/users/suggestions", "400 user/invalid-query", ""),
        ("/users/check-username", "400 username/invalid-query", "400 username/invalid-input"),
    ];
    let anonymous = app.anonymous();
    for (path, answer, in_v6) in table {
        assert_eq!(anonymous.get(path).await.outcome(), answer, "{path}");
        assert_eq!(anonymous.v7().get(path).await.outcome(), answer, "v7 {path}");
        if !in_v6.is_empty() {
            assert_eq!(anonymous.v6().get(path).await.outcome(), in_v6, "v6 {path}");
        }
    }
}

async fn a_user_of_another_project_is_unknown(app: TestApp) {
    let stranger = app.stranger().await;
    let user = app.user().await;
    let unknown = format!("/users/{}", app.project.id);
    let foreign = format!("/users/{}", stranger.id);
    for actor in [&app.anonymous(), &*user, &app.service(), &app.master()] {
        let (expected, answer) = (actor.get(&unknown).await, actor.get(&foreign).await);
        answer.refused(404, "user/not-found");
        assert_eq!(answer.body, expected.body);
    }
    app.service().patch(&foreign, json!({ "name": "x" })).await.refused(404, "user/not-found");
    app.service().delete(&foreign).await.refused(404, "user/not-found");
    stranger.get(&foreign).await.expect(200);
}

async fn everybody_has_their_own_rights_over_a_user(app: TestApp) {
    let (owner, other, stranger) = (app.user().await, app.user().await, app.stranger().await);
    let refused = "403 auth/elevated-auth-required";
    // actor, fetch, update, delete, list their own identities
    let table = [
        (app.anonymous(), "200", "401 Unauthorized", "401 Unauthorized", "401 Unauthorized"),
        (app.bearer("x.y.z"), "200", "403 Forbidden", "403 Forbidden", "403 Forbidden"),
        ((*owner).clone(), "200", "200", refused, "200"),
        ((*other).clone(), "200", "403 user/not-authorized", refused, "200"),
        (
            stranger.in_project(app.project.id),
            "200",
            "403 Forbidden",
            "403 Forbidden",
            "403 Forbidden",
        ),
        (
            app.bearer(&app.other.service_key),
            "200",
            "403 Forbidden",
            "403 Forbidden",
            "403 Forbidden",
        ),
        (app.service(), "200", "200", "204", "401 Unauthorized"),
        (app.master(), "200", "200", "204", "401 Unauthorized"),
    ];
    for (number, (actor, fetch, update, delete, identities)) in table.iter().enumerate() {
        let target = if *delete == "204" { app.user().await.id } else { owner.id };
        let path = format!("/users/{target}");
        assert_eq!(actor.get(&path).await.outcome(), *fetch, "fetch by actor {number}");
        let update_with = json!({ "name": "new" });
        let updated = actor.patch(&path, update_with).await.outcome();
        assert_eq!(updated, *update, "update by actor {number}");
        let listed = actor.get("/oauth/identities").await.outcome();
        assert_eq!(listed, *identities, "identities of actor {number}");
        assert_eq!(actor.delete(&path).await.outcome(), *delete, "delete by actor {number}");
        let left = if *delete == "204" { "404 user/not-found" } else { "200" };
        assert_eq!(app.anonymous().get(&path).await.outcome(), left, "after actor {number}");
    }
}

/// How many rows of a table belong to the user.
async fn rows_of(app: &TestApp, table: &str, user: UserId) -> i64 {
    let project = app.project.id;
    let column = if table == "users" { "id" } else { "user_id" };
    let count = format!("SELECT count(*) FROM {table} WHERE project_id = $1 AND {column} = $2");
    let counted = app
        .app
        .db
        .read(move |c| c.one(&Query::<i64>::built("count", &count), args![project, user]));
    counted.await.unwrap()
}

async fn deleting_a_user_deletes_their_data(app: TestApp) {
    let (user, bystander) = (app.user().await, app.user().await);
    for one in [&user, &bystander] {
        let (project, id) = (app.project.id, one.id);
        let rows = [
            "INSERT INTO identities (project_id, id, user_id, provider, provider_account_id,
                is_verified, created_at, updated_at)
             VALUES ($1, $2, $2, 'github', $3, TRUE, 1, 1)",
            "INSERT INTO suspensions (project_id, id, user_id, start_date, created_by, created_at,
                updated_at) VALUES ($1, $2, $2, 1, 'test', 1, 1)",
            "INSERT INTO reputation_buckets (project_id, user_id, space_id, points)
             VALUES ($1, $2, $2, 5)",
        ];
        let seeded = app.app.db.write(move |tx| {
            let account = id.to_string();
            tx.execute(&Command::<()>::built("seed", rows[0]), args![project, id, account])?;
            for sql in &rows[1..] {
                tx.execute(&Command::<()>::built("seed", *sql), args![project, id])?;
            }
            Ok::<_, db::Error>(())
        });
        seeded.await.unwrap();
        one.post("/auth/send-verification-email", json!({})).await.expect(200);
        one.post("/auth/request-account-deletion", json!({})).await.expect(200);
        let email = json!({ "email": one.email });
        app.anonymous().post("/auth/request-password-reset", email).await.expect(200);
    }
    app.run_jobs().await;
    let tables = [
        "users",
        "refresh_tokens",
        "identities",
        "suspensions",
        "reputation_buckets",
        "password_resets",
        "email_verifications",
        "account_deletions",
    ];
    for table in tables {
        assert_eq!(rows_of(&app, table, user.id).await, 1, "{table} before");
    }
    app.service().delete(&format!("/users/{}", user.id)).await.expect(204);
    for table in tables {
        assert_eq!(rows_of(&app, table, user.id).await, 0, "{table} after");
        assert_eq!(rows_of(&app, table, bystander.id).await, 1, "{table} of another user");
    }
    let again = app.service().delete(&format!("/users/{}", user.id)).await;
    again.refused(404, "user/not-found");
    app.service().delete("/users/x").await.refused(400, "user/invalid-params");
}

async fn a_token_of_a_deleted_user_is_refused(app: TestApp) {
    let (user, other) = (app.user().await, app.user().await);
    app.service().v7().delete(&format!("/users/{}", user.id)).await.expect(204);
    let own = format!("/users/{}", user.id);
    user.patch(&own, json!({})).await.refused(403, "auth/no-user-found");
    user.get("/oauth/identities").await.refused(403, "auth/no-user-found");
    user.get(&format!("/users/{}", other.id)).await.expect(200);
    let body = json!({ "refreshToken": user.refresh_token });
    let refreshed = app.anonymous().post("/auth/request-new-access-token", body).await;
    refreshed.refused(403, "auth/refresh-token-mismatch");
}
