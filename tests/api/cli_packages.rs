//! What packages bring along: completions and man pages, made by the program itself.

use std::process::Command;

use db::Engine;
use serde_json::json;

use crate::support::{Installation, fresh_directory};

#[test]
fn completions_name_every_command() {
    let town = Installation::new(Engine::Sqlite);
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let done = town.run(&["completions", shell]);
        assert_eq!((done.code, done.stderr.as_str()), (0, ""));
        for command in ["backup", "doctor", "jwt-issuer", "completions"] {
            assert!(done.stdout.contains(command), "{shell} does not know {command}");
        }
        let document = town.json(&["completions", shell]);
        assert_eq!(document, json!({ "shell": shell, "script": done.stdout }));
    }
    assert_eq!(town.run(&["completions", "tcsh"]).code, 2);
}

#[test]
fn bash_takes_the_completions() {
    let town = Installation::new(Engine::Sqlite);
    let script = town.run(&["completions", "bash"]).stdout;
    let ask = "COMP_WORDS=(townhall proj) COMP_CWORD=1; _townhall townhall proj townhall; echo ${COMPREPLY[@]}";
    let directory = fresh_directory();
    let file = directory.join("ask.bash");
    std::fs::write(&file, format!("{script}\n{ask}\n")).unwrap();
    let asked = Command::new("bash").arg(&file).output().unwrap();
    std::fs::remove_dir_all(directory).unwrap();
    assert_eq!(String::from_utf8_lossy(&asked.stdout), "project\n");
}

#[test]
fn every_command_has_a_man_page() {
    let town = Installation::new(Engine::Sqlite);
    let directory = fresh_directory().join("man");
    let shown = directory.display().to_string();
    assert_eq!(town.json(&["man", &shown]), json!({ "directory": shown }));
    let page = |name: &str| {
        std::fs::read_to_string(directory.join(name))
            .unwrap_or_else(|error| panic!("{name}: {error}"))
    };
    for (name, says) in [
        ("townhall.1", "community backend"),
        ("townhall-project-create.1", "bundles"),
        ("townhall-backup.1", "archive"),
    ] {
        assert!(page(name).contains(".TH") && page(name).contains(says), "{name}");
    }
    std::fs::remove_dir_all(directory.parent().unwrap()).unwrap();
}
