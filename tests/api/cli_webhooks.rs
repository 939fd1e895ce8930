//! `townhall webhooks` and `townhall jobs`: endpoints are set up, shown, tested and removed.

use serde_json::{Value, json};

use crate::support::{Installation, installed_on_both_engines, keys};

installed_on_both_engines![
    endpoints_are_set_listed_changed_and_removed,
    an_endpoint_that_could_not_work_is_refused,
    a_test_event_says_what_went_wrong,
    there_are_no_jobs_at_first,
];

fn project(town: &Installation) -> String {
    let made = town.json(&["project", "create", "--name", "Forum"]);
    made["projectId"].as_str().unwrap().to_owned()
}

fn set<'a>(id: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    [&["webhooks", "set", id][..], more].concat()
}

fn endpoints_are_set_listed_changed_and_removed(town: Installation) {
    let id = project(&town);
    assert_eq!(town.json(&["webhooks", "list", &id]), json!([]));
    let more =
        ["--url", "https://a.example/", "--secret", "s", "--events", "user.created,user.updated"];
    let first = town.json(&set(&id, &more));
    let expected = [
        "createdAt",
        "events",
        "failingSince",
        "failures",
        "hasPreviousSecret",
        "hasSecret",
        "id",
        "isFirst",
        "pausedAt",
        "updatedAt",
        "url",
    ];
    assert_eq!(keys(&first), expected);
    assert_eq!(first["events"], json!(["user.created", "user.updated"]));
    assert_eq!((&first["isFirst"], &first["hasSecret"]), (&json!(true), &json!(true)));
    let rotated = town.json(&set(&id, &["--secret", "t", "--keep-previous-secret"]));
    assert_eq!((&rotated["id"], &rotated["url"]), (&first["id"], &first["url"]));
    assert_eq!(rotated["hasPreviousSecret"], true);

    let second = town.json(&set(&id, &["--add", "--url", "https://b.example/", "--secret", "u"]));
    assert_eq!((&second["isFirst"], &second["events"]), (&json!(false), &json!([])));
    let listed = town.json(&["webhooks", "list", &id]);
    let ids: Vec<&Value> = listed.as_array().unwrap().iter().map(|one| &one["id"]).collect();
    assert_eq!(ids, [&first["id"], &second["id"]]);
    let shown = town.run(&["webhooks", "list", &id]).stdout;
    assert!(shown.contains("https://b.example/") && shown.contains("set, and the one before"));

    let second = second["id"].as_str().unwrap();
    town.json(&["webhooks", "resume", &id, second]);
    town.json(&["webhooks", "remove", &id, second, "--yes"]);
    assert_eq!(town.json(&["webhooks", "list", &id]).as_array().unwrap().len(), 1);
    assert_eq!(town.json(&["webhooks", "deliveries", &id]), json!([]));
}

fn an_endpoint_that_could_not_work_is_refused(town: Installation) {
    let id = project(&town);
    for (more, why) in [
        (&["--url", "https://a.example/"][..], "secret: is required"),
        (&["--url", "http://127.0.0.1/", "--secret", "s"][..], "the address is not public"),
        (&["--url", "nonsense", "--secret", "s"][..], "url: "),
        (&["--events", "entity.deleted"][..], "there is no event `entity.deleted`"),
    ] {
        let said = town.fails(&set(&id, more));
        assert!(said.contains(why), "{said}");
    }
    let unknown = uuid::Uuid::nil().to_string();
    let said = town.fails(&["webhooks", "list", &unknown]);
    assert!(said.contains("No such project"), "{said}");
    let said = town.fails(&["webhooks", "test", &id]);
    assert!(said.contains("no such endpoint"), "{said}");
}

fn a_test_event_says_what_went_wrong(town: Installation) {
    let id = project(&town);
    town.json(&set(&id, &["--url", "https://nowhere.invalid/", "--secret", "s"]));
    let said = town.fails(&["webhooks", "test", &id]);
    assert!(said.contains("not reachable"), "{said}");
}

fn there_are_no_jobs_at_first(town: Installation) {
    let id = project(&town);
    assert_eq!(town.json(&["jobs", "list"]), json!([]));
    assert_eq!(town.json(&["jobs", "list", "--project", &id, "--failed"]), json!([]));
    let unknown = uuid::Uuid::nil().to_string();
    for command in [&["jobs", "retry", &unknown][..], &["jobs", "drop", &unknown, "--yes"][..]] {
        let said = town.fails(command);
        assert!(said.contains("there is no such job"), "{said}");
    }
}
