//! `townhall moderation …`: rules, the queue, decisions.

use serde_json::{Value, json};

use crate::support::{Installation, installed_on_both_engines};

installed_on_both_engines![rules_are_managed_and_tried, the_queue_is_shown_and_decided];

const UNKNOWN: &str = "0f8fad5b-d9cb-469f-a165-70867728950e";

fn project(town: &Installation) -> String {
    let made = town.json(&["project", "create", "--name", "Forum"]);
    made["projectId"].as_str().unwrap().to_owned()
}

fn rules(town: &Installation, more: &[&str]) -> Value {
    town.json(&[&["moderation", "rules"][..], more].concat())
}

fn rules_are_managed_and_tried(town: Installation) {
    let id = project(&town);
    assert_eq!(rules(&town, &["list", &id])["rules"], json!([]));
    let add = ["add", &id, "--name", "Ads", "--words", "casino,buy now", "--action", "hold"];
    let first = rules(&town, &add);
    assert_eq!((&first["state"], &first["position"]), (&json!("shadow"), &json!(1)));
    let condition = json!({ "type": "words", "words": ["casino", "buy now"] });
    assert_eq!(first["condition"], condition);
    assert_eq!(first["targets"], json!(["entity", "comment", "message"]));
    let links = ["add", &id, "--name", "Links", "--links-except", "--in", "comment"];
    let second = rules(&town, &[&links[..], &["--action", "flag", "--state", "on"]].concat());
    assert_eq!(second["condition"], json!({ "type": "links", "mode": "allow", "domains": [] }));
    let (one, two) = (first["id"].as_str().unwrap(), second["id"].as_str().unwrap());
    let set = rules(&town, &["set", &id, two, "--rate", "10/5", "--first"]);
    assert_eq!(set["condition"], json!({ "type": "rate", "posts": 10, "minutes": 5 }));
    assert_eq!((&set["position"], &set["state"]), (&json!(1), &json!("on")));
    let listed = rules(&town, &["list", &id]);
    let order: Vec<_> = listed["rules"].as_array().unwrap().iter().map(|one| &one["id"]).collect();
    assert_eq!(order, [two, one]);

    let server = town.serve();
    let user = json!({ "email": "ann@example.com", "password": "correct horse battery" });
    let path = format!("/v8/{id}/auth/sign-up");
    let (status, body) = server.request("POST", &path, "", &user.to_string());
    assert_eq!(status, 201, "{body}");
    let body: Value = serde_json::from_str(&body).unwrap();
    let token = body["accessToken"].as_str().unwrap();
    let post = json!({ "title": "Casino night" }).to_string();
    let (status, body) = server.request("POST", &format!("/v8/{id}/entities"), token, &post);
    assert_eq!(status, 201, "{body}");
    let tried = rules(&town, &["try", &id, one]);
    assert_eq!((&tried["matched"], &tried["examined"]), (&json!(1), &json!(1)));
    assert_eq!(rules(&town, &["try", &id, "--pattern", "^x"])["matched"], 0);

    for wrong in [
        &["add", &id, "--name", "No condition", "--action", "flag"][..],
        &["add", &id, "--words", "x", "--action", "flag"],
        &["add", &id, "--name", "x", "--pattern", "(", "--action", "flag"],
        &["add", UNKNOWN, "--name", "x", "--words", "x", "--action", "flag"],
        &["set", &id, UNKNOWN, "--state", "on"],
        &["remove", &id, one],
        &["remove", &id, UNKNOWN, "--yes"],
        &["try", &id],
    ] {
        town.fails(&[&["moderation", "rules"][..], wrong].concat());
    }
    let two_conditions = ["moderation", "rules", "try", &id, "--words", "x", "--pattern", "y"];
    assert_eq!(town.run(&two_conditions).code, 2);
    assert_eq!(rules(&town, &["remove", &id, one, "--yes"])["removed"], true);
    let logged = town.json(&["audit"]).to_string();
    assert!(logged.contains("townhall moderation rules add"), "{logged}");
}

fn the_queue_is_shown_and_decided(town: Installation) {
    let id = project(&town);
    town.json(&["project", "bundles", &id, "--add", "moderation,entities,notifications"]);
    let rule = ["add", &id, "--name", "Ads", "--words", "casino", "--action", "flag"];
    rules(&town, &[&rule[..], &["--state", "on"]].concat());
    let server = town.serve();
    let user = json!({ "email": "ann@example.com", "password": "correct horse battery" });
    let (_, body) =
        server.request("POST", &format!("/v8/{id}/auth/sign-up"), "", &user.to_string());
    let body: Value = serde_json::from_str(&body).unwrap();
    let token = body["accessToken"].as_str().unwrap();
    let post = json!({ "title": "Casino night" }).to_string();
    let (status, made) = server.request("POST", &format!("/v8/{id}/entities"), token, &post);
    assert_eq!(status, 201, "{made}");
    let queue = |more: &[&str]| town.json(&[&["moderation", "queue", &id][..], more].concat());
    let waiting = queue(&[]);
    assert_eq!((&waiting["totalReports"], &waiting["totalAppeals"]), (&json!(1), &json!(0)));
    assert_eq!(queue(&["--kind", "held"])["totalReports"], 0);
    assert_eq!(queue(&["--kind", "appeal"])["totalReports"], 0);
    let report = waiting["reports"][0]["id"].as_str().unwrap();
    let decide = ["moderation", "decide", &id];
    let warn = [&decide[..], &[report, "--action", "warn", "--reason", "No ads"]].concat();
    let decided = town.json(&warn);
    let decision = &decided["decided"][0];
    assert_eq!(
        (&decision["action"], &decision["decidedBy"]),
        (&json!("warn"), &json!("command line"))
    );
    assert_eq!(queue(&[])["totalReports"], 0);
    assert_eq!(town.run(&warn).code, 1, "it is decided already");
    town.fails(&["moderation", "decide", UNKNOWN, report, "--action", "warn"]);
    town.fails(&["moderation", "queue", UNKNOWN]);
    assert_eq!(town.run(&[&decide[..], &["x", "--action", "warn"]].concat()).code, 2);
    let post = json!({ "title": "A quiet night" }).to_string();
    let (_, made) = server.request("POST", &format!("/v8/{id}/entities"), token, &post);
    let entity: Value = serde_json::from_str(&made).unwrap();
    let item = format!("entity:{}", entity["id"].as_str().unwrap());
    let removed = town.json(&[&decide[..], &[&item, "--action", "remove"]].concat());
    assert_eq!(removed["decided"][0]["targetType"], "entity");
}
