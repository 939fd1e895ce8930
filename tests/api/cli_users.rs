//! `townhall user …`: what support and privacy work need.

use serde_json::{Value, json};

use crate::support::{Installation, installed_on_both_engines};

installed_on_both_engines![
    users_are_listed_and_found,
    sessions_are_listed_and_ended,
    a_user_is_erased_with_a_receipt,
];

const UNKNOWN: &str = "0f8fad5b-d9cb-469f-a165-70867728950e";

/// A project, and users made through its server.
fn project_with(town: &Installation, users: &[Value]) -> (String, Vec<String>) {
    let made = town.json(&["project", "create", "--name", "Forum"]);
    let id = made["projectId"].as_str().unwrap().to_owned();
    let server = town.serve();
    let ids = users.iter().map(|user| {
        let path = format!("/v8/{id}/auth/sign-up");
        let (status, body) = server.request("POST", &path, "", &user.to_string());
        assert_eq!(status, 201, "{body}");
        let body: Value = serde_json::from_str(&body).unwrap();
        body["user"]["id"].as_str().unwrap().to_owned()
    });
    let ids = ids.collect();
    (id, ids)
}

fn user(name: &str) -> Value {
    json!({ "email": format!("{name}@example.com"), "password": "correct horse battery", "username": name })
}

fn ids(listed: &Value) -> Vec<&str> {
    let users = listed["users"].as_array().unwrap().iter();
    users.map(|user| user["id"].as_str().unwrap()).collect()
}

fn users_are_listed_and_found(town: Installation) {
    let (project, users) = project_with(&town, &[user("ann"), user("bob"), user("cleo")]);
    let (other, _) = project_with(&town, &[user("ann")]);
    let of = ["--project", &project];
    let mut sorted = users.clone();
    sorted.sort();
    assert_eq!(ids(&town.json(&[&["user", "list"][..], &of].concat())), sorted);
    let page = town.json(&[&["user", "list", "--limit", "2"][..], &of].concat());
    assert_eq!(ids(&page), sorted[..2]);
    let page = town.json(&[&["user", "list", "--after", &sorted[1]][..], &of].concat());
    assert_eq!(ids(&page), sorted[2..]);
    for query in ["bob", "bob@example.com", "BOB@example.com", &users[1]] {
        let found = town.json(&[&["user", "find", query][..], &of].concat());
        assert_eq!(ids(&found), [&users[1]], "{query}");
    }
    for query in ["nobody", UNKNOWN, "%"] {
        town.fails(&[&["user", "find", query][..], &of].concat());
    }
    town.fails(&["user", "find", &users[1], "--project", &other]);
    let shown = town.json(&[&["user", "show", "--user", &users[1]][..], &of].concat());
    assert_eq!((&shown["username"], &shown["sessions"]), (&json!("bob"), &json!(1)));
    assert_eq!(shown["suspensions"], json!([]));
    assert!(!shown.to_string().contains("argon2"), "{shown}");
    town.json(&[&["user", "suspend", "--reason", "spam", "--user", &users[1]][..], &of].concat());
    let shown = town.json(&[&["user", "show", "--user", &users[1]][..], &of].concat());
    assert_eq!(shown["suspensions"][0]["reason"], "spam");
    town.fails(&["user", "show", "--user", UNKNOWN, "--project", &project]);
}

fn sessions_are_listed_and_ended(town: Installation) {
    let (project, users) = project_with(&town, &[user("ann")]);
    let who = ["--project", &project, "--user", &users[0]];
    town.json(&[&["user", "token"][..], &who].concat());
    let sessions = |more: &[&str]| town.json(&[&["user", "sessions"][..], &who, more].concat());
    assert_eq!(sessions(&[])["sessions"].as_array().unwrap().len(), 2);
    assert_eq!(sessions(&["--end"])["sessions"].as_array().unwrap().len(), 2);
    assert_eq!(sessions(&[])["sessions"], json!([]));
}

fn a_user_is_erased_with_a_receipt(town: Installation) {
    let (project, users) = project_with(&town, &[user("ann"), user("bob")]);
    let who = ["--project", &project, "--user", &users[0]];
    let line = town.fails(&[&["user", "erase"][..], &who].concat());
    assert!(line.contains("--yes"), "{line}");
    let receipt = town.json(&[&["user", "erase", "--yes"][..], &who].concat());
    assert_eq!((&receipt["userId"], &receipt["sessions"]), (&json!(users[0]), &json!(1)));
    assert!(receipt["erasedAt"].is_string() && receipt["memberSince"].is_string(), "{receipt}");
    town.fails(&[&["user", "show"][..], &who].concat());
    let who = ["--project", &project, "--user", &users[1]];
    assert_eq!(town.json(&[&["user", "delete", "--yes"][..], &who].concat())["deleted"], true);
    town.fails(&[&["user", "delete", "--yes"][..], &who].concat());
    assert_eq!(town.json(&["user", "list", "--project", &project])["users"], json!([]));
}
