//! The command line about workspaces: the settings of a project.

use serde_json::{Value, json};

use crate::support::{Installation, installed_on_both_engines};

installed_on_both_engines![settings_of_workspaces_change_one_by_one];

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
