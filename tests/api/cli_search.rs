//! The command line about search: settings, and the index of a project, which a running server keeps.

use serde_json::{Value, json};

use crate::support::{Installation, installed_on_both_engines};

installed_on_both_engines![search_settings_change_one_by_one, a_running_server_indexes_by_itself,];

fn create(town: &Installation) -> (String, String) {
    let made = town.json(&["project", "create", "--name", "Forum"]);
    let text = |key: &str| made[key].as_str().unwrap().to_owned();
    (text("projectId"), text("serviceKey"))
}

fn search_settings_change_one_by_one(town: Installation) {
    let (id, _) = create(&town);
    let of = |shown: Value| {
        let keys = ["search", "searchLanguage", "interestMatching", "interestSamples"];
        json!(keys.map(|key| shown[key].clone()))
    };
    assert_eq!(of(town.json(&["project", "show", &id])), json!([true, "english", false, false]));
    for (arguments, expected) in [
        (&["--search-language", "german"][..], json!([true, "german", false, false])),
        (&["--interest-matching", "on"], json!([true, "german", true, false])),
        (&["--interest-samples", "on"], json!([true, "german", true, true])),
        (&["--search", "off"], json!([false, "german", true, true])),
    ] {
        let answer = town.json(&[&["project", "settings", &id][..], arguments].concat());
        assert_eq!(of(answer), expected, "{arguments:?}");
    }
    town.fails(&["search", "status", &id]);
    town.fails(&["search", "reindex", &id]);
    town.json(&["project", "settings", &id, "--search", "on"]);
    let status = town.json(&["search", "status", &id]);
    assert_eq!((&status["language"], &status["isFilled"]), (&json!("german"), &json!(false)));
    let wrong = town.run(&["project", "settings", &id, "--search-language", "klingon"]);
    assert_eq!(wrong.code, 2);
}

fn a_running_server_indexes_by_itself(town: Installation) {
    let (id, key) = create(&town);
    let server = town.serve();
    let body = json!({ "title": "Growing tomatoes" }).to_string();
    let (status, text) = server.request("POST", &format!("/v8/{id}/entities"), &key, &body);
    assert_eq!(status, 201, "{text}");
    let query = json!({ "query": "tomato" }).to_string();
    let mut tries = 0..20_000;
    let found = tries.find_map(|_| {
        let (status, text) =
            server.request("POST", &format!("/v8/{id}/search/content"), &key, &query);
        assert_eq!(status, 200, "{text}");
        let found: Value = serde_json::from_str(&text).unwrap();
        (found != json!([])).then_some(found)
    });
    let found = found.unwrap();
    assert_eq!(found[0]["record"]["title"], "Growing tomatoes");
    assert_eq!(town.json(&["search", "reindex", &id]), json!({ "reindexing": true }));
    assert_eq!(town.json(&["search", "status", &id])["language"], "english");
}
