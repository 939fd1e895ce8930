//! The command line about workspaces: the settings of a project, and who leaves them with their account.

use serde_json::{Value, json};

use crate::support::{Installation, Running, installed_on_both_engines};

installed_on_both_engines![
    settings_of_workspaces_change_one_by_one,
    a_user_who_is_deleted_by_command_leaves_workspaces_as_by_the_api,
];

fn settings_of_workspaces_change_one_by_one(town: Installation) {
    let create = || {
        let made = town.json(&["project", "create", "--name", "Forum"]);
        made["projectId"].as_str().unwrap().to_owned()
    };
    let (id, other) = (create(), create());
    let of = |shown: Value| {
        let keys =
            ["workspaceInviteAcceptUrl", "workspaceInheritDefault", "workspaceInheritEnforced"];
        json!(keys.map(|key| shown[key].clone()))
    };
    let usual = json!([null, false, false]);
    assert_eq!(of(town.json(&["project", "show", &id])), usual);
    let page = "https://app.example/join?from=mail";
    for (arguments, expected) in [
        (&["--workspace-invite-accept-url", page][..], json!([page, false, false])),
        (&["--workspace-inherit-default", "on"], json!([page, true, false])),
        (&["--workspace-inherit-enforced", "on"], json!([page, true, true])),
        (&["--score-hours", "7"], json!([page, true, true])),
        (&["--workspace-inherit-default", "off"], json!([page, false, true])),
        (
            &["--workspace-invite-accept-url", "", "--workspace-inherit-enforced", "off"],
            usual.clone(),
        ),
    ] {
        let answer = town.json(&[&["project", "settings", &id][..], arguments].concat());
        assert_eq!(of(answer), expected, "{arguments:?}");
        assert_eq!(of(town.json(&["project", "show", &id])), expected);
    }
    let text = town.run(&["project", "settings", &id, "--workspace-inherit-default", "on"]).stdout;
    assert!(text.contains("workspaces inherit     true\n"), "{text}");
    assert!(text.contains("workspace invitations  default\n"), "{text}");
    for wrong in [
        ["--workspace-invite-accept-url", "app.example"],
        ["--workspace-invite-accept-url", "javascript:alert(1)"],
        ["--workspace-invite-accept-url", "ftp://app.example/"],
        ["--workspace-inherit-default", "maybe"],
        ["--workspace-inherit-enforced", "1"],
    ] {
        let done = town.run(&[&["project", "settings", &id][..], &wrong].concat());
        assert_eq!(done.code, 2, "{wrong:?}");
    }
    assert_eq!(of(town.json(&["project", "show", &other])), usual, "each project has its own");
}

/// Makes a request with a token and returns its reply.
fn post(server: &Running, path: &str, bearer: &str, body: &Value) -> Value {
    let (status, reply) = server.request("POST", path, bearer, &body.to_string());
    assert!((200..300).contains(&status), "{path}: {reply}");
    serde_json::from_str(&reply).unwrap()
}

fn a_user_who_is_deleted_by_command_leaves_workspaces_as_by_the_api(town: Installation) {
    let made = town.json(&["project", "create", "--name", "Forum"]);
    let id = made["projectId"].as_str().unwrap();
    let accept = ["--workspace-invite-accept-url", "https://app.example/join"];
    town.json(&[&["project", "settings", id][..], &accept].concat());
    let removed = "workspace.member.removed";
    let hook = ["--url", "https://a.example/", "--secret", "s", "--events", removed];
    town.json(&[&["webhooks", "set", id][..], &hook].concat());
    let server = town.serve();
    let at = |path: &str| format!("/v8/{id}{path}");
    let [owner, ann, bob] = ["owner", "ann", "bob"].map(|name| {
        let user =
            json!({ "email": format!("{name}@example.com"), "password": "correct horse battery" });
        post(&server, &at("/auth/sign-up"), "", &user)
    });
    town.db().execute_script("UPDATE users SET is_verified = TRUE").unwrap();
    let token = |user: &Value| user["accessToken"].as_str().unwrap().to_owned();
    let workspace = post(&server, &at("/workspaces"), &token(&owner), &json!({ "name": "Press" }));
    let invites = at(&format!("/workspaces/{}/invites", workspace["id"].as_str().unwrap()));
    for user in [&ann, &bob] {
        let invite =
            post(&server, &invites, &token(&owner), &json!({ "userId": user["user"]["id"] }));
        let accept = at(&format!("/workspace-invites/{}/accept", invite["id"].as_str().unwrap()));
        post(&server, &accept, &token(user), &json!({}));
    }
    drop(server);
    for (command, user) in [("delete", &ann), ("erase", &bob)] {
        let user = user["user"]["id"].as_str().unwrap();
        town.json(&["user", command, "--yes", "--project", id, "--user", user]);
    }
    let jobs = town.json(&["jobs", "list", "--project", id]);
    let sent = jobs.as_array().unwrap().iter().filter(|job| job["event"] == removed);
    assert_eq!(sent.count(), 2, "{jobs}");
}
