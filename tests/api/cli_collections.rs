//! The command line about collections and spaces: the counts that the doctor recounts.

use serde_json::{Value, json};

use crate::support::{Installation, installed_on_both_engines};

installed_on_both_engines![the_doctor_recounts_collections_and_spaces];

fn the_doctor_recounts_collections_and_spaces(town: Installation) {
    let made = town.json(&["project", "create", "--name", "Forum"]);
    let (project, key) =
        (made["projectId"].as_str().unwrap(), made["serviceKey"].as_str().unwrap());
    let server = town.serve();
    let send = |method: &str, path: &str, body: Value| {
        let address = format!("/v8/{project}{path}");
        let (status, reply) = server.request(method, &address, key, &body.to_string());
        assert!([200, 201].contains(&status), "{reply}");
        serde_json::from_str::<Value>(&reply).unwrap()
    };
    let user = json!({ "email": "a@example.com", "password": "correct horse" });
    let user = send("POST", "/auth/sign-up", user)["user"]["id"].clone();
    let acting = json!({ "userId": user });
    let root = send("GET", "/collections/root", acting.clone())["id"].as_str().unwrap().to_owned();
    for n in 0..3 {
        let below = format!("/collections/{root}/sub-collections");
        let new = json!({ "userId": user, "collectionName": n.to_string() });
        let inner = send("POST", &below, new)["id"].as_str().unwrap().to_owned();
        let entity = send("POST", "/entities", acting.clone())["id"].clone();
        let saved = json!({ "userId": user, "entityId": entity });
        send("POST", &format!("/collections/{inner}/entities"), saved);
    }
    assert_eq!(town.json(&["doctor"])["status"], "pass");
    town.db().execute_script("UPDATE collections SET entity_count = 7 WHERE name <> '1'").unwrap();
    let drifted = town.run(&["doctor", "--json"]);
    assert_eq!(drifted.code, 1);
    assert!(drifted.stdout.contains("3 of collections"), "{}", drifted.stdout);
    let fixed = town.json(&["doctor", "--fix"]).to_string();
    assert!(fixed.contains("3 had drifted, 3 were repaired"), "{fixed}");
    assert_eq!(town.json(&["doctor"])["status"], "pass");
    assert_eq!(send("GET", "/collections/root", acting)["entityCount"], 0);

    let mut parent = Value::Null;
    for _ in 0..2 {
        let new = json!({ "userId": user, "name": "Space", "parentSpaceId": parent });
        parent = send("POST", "/spaces", new)["id"].clone();
        let new = json!({ "userId": user, "spaceId": parent, "keywords": ["k"] });
        send("POST", "/entities", new);
    }
    assert_eq!(town.json(&["doctor"])["status"], "pass");
    let spoil = "UPDATE spaces SET members_count = 7, children_count = 7;
        DELETE FROM entity_counts WHERE space_id IS NOT NULL";
    town.db().execute_script(spoil).unwrap();
    let drifted = town.run(&["doctor", "--json"]);
    // In each space the project's feed, the author's, the keyword's, and what is from no source.
    assert!(drifted.stdout.contains("8 of feeds"), "{}", drifted.stdout);
    assert!(drifted.stdout.contains("2 of spaces"), "{}", drifted.stdout);
    town.json(&["doctor", "--fix"]);
    assert_eq!(town.json(&["doctor"])["status"], "pass");
    let shown = send("GET", &format!("/spaces/{}", parent.as_str().unwrap()), json!({}));
    assert_eq!((&shown["membersCount"], &shown["childSpacesCount"]), (&json!(1), &json!(0)));
}
