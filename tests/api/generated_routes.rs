//! `townhall routes` and `docs/routes.md`, which holds the same table.

use db::Engine;

use crate::support::{Installation, assert_generated};

const INTRODUCTION: &str = "# Routes

<!-- Generated. Regenerate it with: UPDATE_GENERATED=1 cargo test --test api generated_ -->

Every operation of the API, as `townhall routes` prints it (`--json` for programs).

- Paths with versions are below `/<version>/<project id>`, paths without are below the root.
- Credential: what the server requires before the handler runs. `optional`: users and keys are recognised, and
  callers without a credential are anonymous. `-`: no credential is checked before the handler runs.
- Rate limit: requests of one client network in a window, for each project. Keys have no limit.
- Pages of the admin name the least role of an operator in place of a credential.
- Handler and File: the function that serves the operation, and its source file.

";

#[test]
fn the_documentation_holds_the_table_that_the_command_prints() {
    let printed = Installation::new(Engine::Sqlite).run(&["routes"]);
    assert_eq!((printed.code, printed.stderr.as_str()), (0, ""));
    assert_generated("docs/routes.md", &format!("{INTRODUCTION}{}", printed.stdout));
}

#[test]
fn every_handler_is_in_the_file_that_is_listed() {
    let routes = Installation::new(Engine::Sqlite).json(&["routes"]);
    let routes = routes.as_array().unwrap();
    let (operations, pages) = (townhall::features::operations(), townhall::features::pages());
    assert_eq!(routes.len(), operations.len() + pages.len());
    for route in routes {
        let (file, handler) = (route["file"].as_str().unwrap(), route["handler"].as_str().unwrap());
        let source =
            std::fs::read_to_string(file).unwrap_or_else(|error| panic!("{file}: {error}"));
        let is_there =
            ["(", "<"].iter().any(|next| source.contains(&format!("fn {handler}{next}")));
        assert!(is_there, "{file} has no function {handler}");
    }
}

#[test]
fn a_route_is_listed_as_it_is_declared() {
    let routes = Installation::new(Engine::Sqlite).json(&["routes"]);
    let route = |method: &str, path: &str| {
        let mut found = routes.as_array().unwrap().iter();
        found.find(|route| route["method"] == method && route["path"] == path).unwrap().clone()
    };
    assert_eq!(
        route("POST", "/entities/{entityId}/reactions"),
        serde_json::json!({
            "name": "Add Entity Reaction",
            "method": "POST",
            "path": "/entities/{entityId}/reactions",
            "versions": ["v6", "v7", "v8"],
            "credential": "user or key",
            "rateLimit": { "requests": 100, "windowSeconds": 300 },
            "handler": "add_reaction",
            "file": "src/features/reactions/react.rs",
        })
    );
    let live = route("GET", "/livez");
    assert_eq!(live["versions"], serde_json::json!([]));
    assert_eq!(
        (&live["credential"], &live["rateLimit"]),
        (&serde_json::Value::Null, &serde_json::Value::Null)
    );
}
