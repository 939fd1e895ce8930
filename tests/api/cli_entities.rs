//! The command line about what a project holds: its settings, and the counts that the doctor recounts.

use serde_json::{Value, json};

use crate::support::{Installation, installed_on_both_engines};

installed_on_both_engines![
    settings_change_one_by_one,
    settings_about_credentials_change_one_by_one,
    the_doctor_recounts_feeds_and_reactions,
    the_doctor_recounts_follows_and_connections,
];

fn create(town: &Installation) -> String {
    let made = town.json(&["project", "create", "--name", "Forum"]);
    made["projectId"].as_str().unwrap().to_owned()
}

fn settings_change_one_by_one(town: Installation) {
    let id = create(&town);
    let other = create(&town);
    let shown = |id: &str| {
        let shown = town.json(&["project", "show", id]);
        (
            shown["entityDeletion"].clone(),
            shown["keepFilesOfDeleted"].clone(),
            shown["scoreHours"].clone(),
        )
    };
    let usual = (json!("hard"), json!(false), json!(120.0));
    assert_eq!(shown(&id), usual);
    for (arguments, expected) in [
        (&["--entity-deletion", "soft"][..], (json!("soft"), json!(false), json!(120.0))),
        (&["--keep-files-of-deleted", "true"], (json!("soft"), json!(true), json!(120.0))),
        (&["--score-hours", "48.5"], (json!("soft"), json!(true), json!(48.5))),
        (&[], (json!("soft"), json!(true), json!(48.5))),
        (
            &[
                "--entity-deletion",
                "hard",
                "--score-hours",
                "1",
                "--keep-files-of-deleted",
                "false",
            ],
            (json!("hard"), json!(false), json!(1.0)),
        ),
    ] {
        let answer = town.json(&[&["project", "settings", &id][..], arguments].concat());
        assert_eq!(shown(&id), expected);
        assert_eq!(answer, town.json(&["project", "show", &id]));
    }
    let text = town.run(&["project", "settings", &id, "--entity-deletion", "soft"]).stdout;
    assert!(text.contains("entity deletion        soft\n"), "{text}");
    assert!(text.contains("keep files of deleted  false\n"), "{text}");
    assert!(text.contains("score hours            1\n"), "{text}");
    for wrong in [
        ["--entity-deletion", "never"],
        ["--keep-files-of-deleted", "maybe"],
        ["--score-hours", "0"],
        ["--score-hours", "-1"],
        ["--score-hours", "NaN"],
        ["--score-hours", "inf"],
        ["--score-hours", "x"],
    ] {
        assert_eq!(
            town.run(&[&["project", "settings", &id][..], &wrong].concat()).code,
            2,
            "{wrong:?}"
        );
    }
    let unknown = "01890000-0000-4000-8000-000000000000";
    town.fails(&["project", "settings", unknown, "--score-hours", "1"]);
    assert_eq!(shown(&other), usual, "each project has its own");
}

fn settings_about_credentials_change_one_by_one(town: Installation) {
    let (id, other) = (create(&town), create(&town));
    let of = |shown: Value| {
        let keys = ["keysInBrowsers", "anonymousPosts", "v7AuthStatus"];
        json!(keys.map(|key| shown[key].clone()))
    };
    let shown = |id: &str| of(town.json(&["project", "show", id]));
    let usual = json!([false, true, null]);
    assert_eq!(shown(&id), usual);
    for (arguments, expected) in [
        (&["--keys-in-browsers", "on"][..], json!([true, true, null])),
        (&["--anonymous-posts", "off"], json!([true, false, null])),
        (&["--v7-auth-status", "403"], json!([true, false, 403])),
        (&["--score-hours", "7"], json!([true, false, 403])),
        (&["--v7-auth-status", "401", "--keys-in-browsers", "off"], json!([false, false, 401])),
        (&["--v7-auth-status", "default", "--anonymous-posts", "on"], usual.clone()),
    ] {
        let answer = town.json(&[&["project", "settings", &id][..], arguments].concat());
        assert_eq!(of(answer), expected, "{arguments:?}");
        assert_eq!(shown(&id), expected, "{arguments:?}");
    }
    assert_eq!(town.json(&["project", "show", &id])["scoreHours"], 7.0);
    let text = town.run(&["project", "settings", &id, "--v7-auth-status", "403"]).stdout;
    assert!(text.contains("keys in browsers       false\n"), "{text}");
    assert!(text.contains("anonymous posts        true\n"), "{text}");
    assert!(text.contains("v7 auth status         403\n"), "{text}");
    for wrong in
        [["--keys-in-browsers", "maybe"], ["--anonymous-posts", "1"], ["--v7-auth-status", "404"]]
    {
        let done = town.run(&[&["project", "settings", &id][..], &wrong].concat());
        assert_eq!(done.code, 2, "{wrong:?}");
    }
    assert_eq!(shown(&other), usual, "each project has its own");
}

fn detail(report: &Value) -> String {
    report["checks"].as_array().unwrap().last().unwrap()["detail"].as_str().unwrap().to_owned()
}

fn the_doctor_recounts_feeds_and_reactions(town: Installation) {
    let made = town.json(&["project", "create", "--name", "Forum"]);
    let (project, key) =
        (made["projectId"].as_str().unwrap(), made["serviceKey"].as_str().unwrap());
    let server = town.serve();
    let post = |path: &str, body: Value| {
        let address = format!("/v8/{project}{path}");
        let (status, reply) = server.request("POST", &address, key, &body.to_string());
        assert!([200, 201].contains(&status), "{reply}");
        serde_json::from_str::<Value>(&reply).unwrap()
    };
    let user = json!({ "email": "a@example.com", "password": "correct horse" });
    let user = post("/auth/sign-up", user)["user"]["id"].clone();
    for n in 0..4 {
        let new = json!({ "userId": user, "keywords": ["k", format!("k{n}")], "sourceId": "s" });
        let entity = post("/entities", new)["id"].as_str().unwrap().to_owned();
        let reaction = json!({ "reactionType": "like", "userId": user });
        post(&format!("/entities/{entity}/reactions"), reaction);
    }
    assert_eq!(town.json(&["doctor"])["status"], "pass");

    // A count that is wrong, one that is missing, one of what is not there; beside a running server.
    town.db()
        .execute_script(
            "UPDATE entity_counts SET total = total + 5 WHERE scope = 'keyword:k0';
             DELETE FROM entity_counts WHERE scope = 'keyword:k1';
             INSERT INTO entity_counts (project_id, scope, shard, total)
                SELECT id, 'source:ghost', 3, 2 FROM projects;
             UPDATE entities SET like_count = 7, upvote_count = 2, controversy = 3",
        )
        .unwrap();
    let drifted = town.run(&["doctor", "--json"]);
    assert_eq!(drifted.code, 1);
    let report: Value = serde_json::from_str(&drifted.stdout).unwrap();
    assert!(
        detail(&report)
            .contains("4 of reactions, 0 of comments, 0 of reports, 3 of feeds, 0 of collections"),
        "{}",
        detail(&report)
    );
    assert_eq!(detail(&town.json(&["doctor", "--fix"])), "7 had drifted, 7 were repaired");
    assert_eq!(town.json(&["doctor"])["status"], "pass");
    let left = town.db().execute_script(
        "INSERT INTO entity_counts (project_id, scope, shard, total)
            SELECT id, 'source:ghost', 3, 0 FROM projects",
    );
    assert!(left.is_ok(), "an empty feed keeps no row: {left:?}");
    let list = |query: &str| {
        let address = format!("/v8/{project}/entities?{query}");
        let (status, reply) = server.request("GET", &address, key, "");
        assert_eq!(status, 200);
        serde_json::from_str::<Value>(&reply).unwrap()
    };
    for (word, total) in [("k", 4), ("k0", 1), ("k1", 1)] {
        let listed = list(&format!("keywordsFilters[includes]={word}"));
        assert_eq!(listed["pagination"]["totalItems"], total, "{word}");
    }
    assert_eq!(list("sourceId=ghost")["pagination"]["totalItems"], 0);
    for entity in list("")["data"].as_array().unwrap() {
        let counts = &entity["reactionCounts"];
        assert_eq!((&counts["like"], &counts["upvote"]), (&json!(1), &json!(0)));
    }
}

fn the_doctor_recounts_follows_and_connections(town: Installation) {
    let made = town.json(&["project", "create", "--name", "Forum"]);
    let (project, key) =
        (made["projectId"].as_str().unwrap(), made["serviceKey"].as_str().unwrap());
    let server = town.serve();
    let post = |path: &str, body: Value| {
        let address = format!("/v8/{project}{path}");
        let (status, reply) = server.request("POST", &address, key, &body.to_string());
        assert_eq!(status, 201, "{reply}");
        serde_json::from_str::<Value>(&reply).unwrap()
    };
    let [one, other] = ["one", "other"].map(|name| {
        let user = json!({ "email": format!("{name}@example.com"), "password": "correct horse" });
        post("/auth/sign-up", user)["user"]["id"].as_str().unwrap().to_owned()
    });
    post(&format!("/users/{other}/follow"), json!({ "actingUserId": one }));
    post(&format!("/users/{other}/connection"), json!({ "actingUserId": one }));
    assert_eq!(town.json(&["doctor"])["status"], "pass");
    let spoil = "UPDATE follow_counts SET followers = 9; DELETE FROM connection_counts";
    town.db().execute_script(spoil).unwrap();
    let drifted = town.run(&["doctor", "--json"]);
    let report: Value = serde_json::from_str(&drifted.stdout).unwrap();
    assert!(detail(&report).contains("2 of follows, 2 of connections"), "{}", detail(&report));
    assert_eq!(detail(&town.json(&["doctor", "--fix"])), "4 had drifted, 4 were repaired");
    assert_eq!(town.json(&["doctor"])["status"], "pass");
}
