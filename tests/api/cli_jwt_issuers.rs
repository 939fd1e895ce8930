//! `townhall project jwt-issuer`: issuers are trusted, shown, changed and removed.

use serde_json::{Value, json};

use crate::support::{Installation, installed_on_both_engines, keys};

installed_on_both_engines![an_issuer_is_trusted_changed_and_removed];

const ISSUER: &str = "https://forum.eu.auth0.com/";

fn an_issuer_is_trusted_changed_and_removed(town: Installation) {
    let made = town.json(&["project", "create", "--name", "Forum"]);
    let id = made["projectId"].as_str().unwrap();
    let set = |more: &[&'static str]| {
        let base = ["project", "jwt-issuer", "set", id, "--issuer", ISSUER];
        let all: Vec<String> = base.iter().chain(more).map(ToString::to_string).collect();
        all
    };
    let run = |all: &[String]| town.json(&all.iter().map(String::as_str).collect::<Vec<_>>());
    let fails = |all: &[String]| town.fails(&all.iter().map(String::as_str).collect::<Vec<_>>());
    assert!(fails(&set(&[])).contains("--audience"));
    let jwks = "https://forum.eu.auth0.com/.well-known/jwks.json";
    let trusted = run(&set(&["--audience", "forum", "web", "--jwks-url", jwks]));
    let expected =
        ["audiences", "claims", "createdAt", "issuer", "jwksUrl", "trustsEmail", "updatedAt"];
    assert_eq!(keys(&trusted), expected);
    assert_eq!((&trusted["issuer"], &trusted["jwksUrl"]), (&json!(ISSUER), &json!(jwks)));
    assert_eq!(trusted["audiences"], json!(["forum", "web"]));

    let changed = run(&set(&[
        "--claim",
        "username=nickname",
        "name=",
        "--trust-email",
        "true",
        "--jwks-url",
        "",
    ]));
    assert_eq!(changed["claims"], json!({ "username": "nickname", "name": "" }));
    assert_eq!((&changed["trustsEmail"], &changed["jwksUrl"]), (&json!(true), &Value::Null));
    assert_eq!(changed["audiences"], json!(["forum", "web"]));
    assert_eq!(run(&set(&["--audience", "any"]))["audiences"], json!([]));
    for (more, why) in [
        (&["--claim", "role=x"][..], "role"),
        (&["--jwks-url", "file:///etc/passwd"], "http"),
        (&["--jwks-url", "https://u:p@a.example"], "password"),
    ] {
        let said = fails(&set(more));
        assert!(said.contains(why), "{said}");
    }
    let wrong = set(&["--claim", "username"]);
    let wrong: Vec<&str> = wrong.iter().map(String::as_str).collect();
    assert_eq!(town.run(&wrong).code, 2);
    let unnamed = ["project", "jwt-issuer", "set", id, "--issuer", "forum", "--audience", "a"];
    assert!(town.fails(&unnamed).contains("forum"), "without an address there is no discovery");

    let blank =
        ["project", "jwt-issuer", "set", id, "--issuer", "https://a.example b", "--audience", "a"];
    assert!(town.fails(&blank).contains("blanks"));

    let listed = town.json(&["project", "jwt-issuer", "list", id]);
    assert_eq!(listed.as_array().unwrap().len(), 1);
    let text = town.run(&["project", "jwt-issuer", "list", id]).stdout;
    assert!(text.contains(ISSUER) && text.contains("username=nickname"), "{text}");
    let remove = ["project", "jwt-issuer", "remove", id, "--issuer", ISSUER];
    assert!(town.fails(&remove).contains("--yes"));
    let confirmed = [&remove[..], &["--yes"]].concat();
    assert_eq!(town.json(&confirmed)["removed"], true);
    assert!(town.fails(&confirmed).contains(ISSUER));
    assert_eq!(town.json(&["project", "jwt-issuer", "list", id]), json!([]));
    let unknown = "01890000-0000-4000-8000-000000000000";
    assert_eq!(town.fails(&["project", "jwt-issuer", "list", unknown]), "No such project");
}
