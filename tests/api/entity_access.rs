//! Who may do what with an entity: one table for every actor, in every version.

use serde_json::json;
use townhall::values::ids::UserId;

use crate::entities::{counts_are_exact, create, path, suspend};
use crate::support::{Actor, Reply, TestApp, on_both_engines};

on_both_engines![who_may_do_what];

/// One thing somebody may try, on an entity and a draft made for the occasion.
async fn attempt(actor: &Actor<'_>, verb: &str, owner: UserId, entity: &str, draft: &str) -> Reply {
    match verb {
        "create" => actor.post("/entities", json!({})).await,
        "create for the author" => actor.post("/entities", json!({ "userId": owner })).await,
        "backfill" => actor.post("/entities", json!({ "createdAt": "2001-01-01T00:00:00Z" })).await,
        "fetch" => actor.get(entity).await,
        "fetch draft" => actor.get(draft).await,
        "update" => actor.patch(entity, json!({ "title": "x" })).await,
        "update draft" => actor.patch(draft, json!({ "title": "x" })).await,
        "publish" => actor.patch(&format!("{draft}/publish"), json!({})).await,
        "publish again" => actor.patch(&format!("{entity}/publish"), json!({})).await,
        "delete" => actor.delete(entity).await,
        "delete draft" => actor.delete(draft).await,
        "count views" => actor.patch(&format!("{entity}/increment-views"), json!({})).await,
        "list drafts" => actor.get(&format!("/entities/drafts?userId={owner}")).await,
        other => panic!("{other}"),
    }
}

const NO_TOKEN: &str = "401 Unauthorized";
const BAD_TOKEN: &str = "403 Forbidden";
const NOT_THERE: &str = "404 entity/not-found";
const FOR_OTHERS: &str = "403 entity/unauthorized";
const NOT_YOURS: &str = "403 entity/not-authorized";
const BANNED: &str = "403 user/suspended";
const KEYS_ONLY: &str = "403 auth/elevated-auth-required";

/// anonymous, the author, another user, a suspended author, a service and a master key, and a user
/// of the other project, who is nobody here.
#[rustfmt::skip]
const PERMISSIONS: [(&str, [&str; 7]); 13] = [
    ("create",                [ "201",      "201",     "201",      BANNED,    "201", "201", BAD_TOKEN]),
    ("create for the author", [ FOR_OTHERS, "201",     FOR_OTHERS, BANNED,    "201", "201", BAD_TOKEN]),
    ("backfill",              [ FOR_OTHERS, FOR_OTHERS, FOR_OTHERS, BANNED,   "201", "201", BAD_TOKEN]),
    ("fetch",                 [ "200",      "200",     "200",      "200",     "200", "200", "200"]),
    ("fetch draft",           [ NOT_THERE,  "200",     NOT_THERE,  "200",     "200", "200", NOT_THERE]),
    ("update",                [ NO_TOKEN,   "200",     NOT_YOURS,  BANNED,    "200", "200", BAD_TOKEN]),
    ("update draft",          [ NO_TOKEN,   "200",     NOT_THERE,  BANNED,    "200", "200", BAD_TOKEN]),
    ("publish",               [ NO_TOKEN,   "200",     NOT_THERE,  BANNED,    "200", "200", BAD_TOKEN]),
    ("publish again",         [ NO_TOKEN,   NOT_THERE, NOT_THERE,  BANNED,    NOT_THERE, NOT_THERE, BAD_TOKEN]),
    ("delete",                [ NO_TOKEN,   "204",     NOT_YOURS,  BANNED,    "204", "204", BAD_TOKEN]),
    ("delete draft",          [ NO_TOKEN,   "204",     NOT_THERE,  BANNED,    "204", "204", BAD_TOKEN]),
    ("count views",           [ KEYS_ONLY,  KEYS_ONLY, KEYS_ONLY,  KEYS_ONLY, "200", "200", KEYS_ONLY]),
    ("list drafts",           [ NO_TOKEN,   "200",     "200",      "200",     "200", "200", BAD_TOKEN]),
];

/// What older versions reply instead.
fn in_version(version: &str, verb: &str, outcome: &'static str) -> &'static str {
    match (version, verb, outcome) {
        ("v6", "create" | "create for the author" | "backfill", "201") => "200",
        ("v6", "count views", KEYS_ONLY) => "200",
        ("v7", _, NO_TOKEN | BAD_TOKEN) => "401 auth/unauthorized",
        _ => outcome,
    }
}

async fn who_may_do_what(app: TestApp) {
    let (author, other, banned) = (app.user().await, app.user().await, app.user().await);
    let stranger = app.stranger().await;
    suspend(&app, banned.id).await;
    let actors = [
        app.anonymous(),
        (*author).clone(),
        (*other).clone(),
        (*banned).clone(),
        app.service(),
        app.master(),
        app.bearer(&stranger.access_token),
    ];
    for (verb, outcomes) in PERMISSIONS {
        for (number, (actor, outcome)) in actors.iter().zip(outcomes).enumerate() {
            let owner = if number == 3 { banned.id } else { author.id };
            for (version, actor) in [("v6", actor.v6()), ("v7", actor.v7()), ("v8", actor.clone())]
            {
                let entity = create(&app.master(), json!({ "userId": owner })).await;
                let draft =
                    create(&app.master(), json!({ "userId": owner, "isDraft": true })).await;
                let reply = attempt(&actor, verb, owner, &path(&entity), &path(&draft)).await;
                let expected = in_version(version, verb, outcome);
                assert_eq!(reply.outcome(), expected, "{version} {verb} by actor {number}");
            }
        }
    }
    counts_are_exact(&app).await;
}
