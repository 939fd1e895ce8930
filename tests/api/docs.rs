//! The guides: their shell blocks run, their links lead somewhere, and the index has every page.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

/// README and the guides.
fn pages() -> Vec<PathBuf> {
    let guides = std::fs::read_dir("docs").unwrap().map(|entry| entry.unwrap().path());
    let guides = guides.filter(|path| path.extension().is_some_and(|end| end == "md"));
    let mut pages: Vec<PathBuf> = guides.chain([PathBuf::from("README.md")]).collect();
    pages.sort();
    pages
}

/// One shell after the other: pages start servers of their own.
#[test]
fn every_shell_block_runs_in_bash_and_zsh() {
    for shell in ["bash", "zsh"] {
        let is_there = Command::new(shell).args(["-c", "true"]).status().is_ok();
        if !is_there {
            assert_eq!(shell, "zsh", "bash is needed");
            continue;
        }
        let mut command = Command::new("scripts/check-docs");
        command.args(["--binary", env!("CARGO_BIN_EXE_townhall"), "--shell", shell]);
        let done = command.output().unwrap();
        let [out, err] = [&done.stdout, &done.stderr].map(|text| String::from_utf8_lossy(text));
        assert!(done.status.success(), "{shell}: {out}{err}");
        assert!(out.contains("pages were run"), "{out}");
    }
}

/// The targets of links in a page: `[text](target)`, outside of code.
fn links(page: &str) -> Vec<String> {
    let prose = page.split("\n```").step_by(2).collect::<Vec<_>>().join("\n");
    let targets = prose.split("](").skip(1).filter_map(|rest| rest.split(')').next());
    targets.map(|target| target.split('#').next().unwrap().to_owned()).collect()
}

#[test]
fn every_link_leads_to_a_file() {
    for page in pages() {
        let text = std::fs::read_to_string(&page).unwrap();
        let here = page.parent().unwrap();
        for link in links(&text) {
            let is_elsewhere =
                link.contains("://") || link.is_empty() || link.starts_with("mailto:");
            let found = is_elsewhere || here.join(&link).exists();
            assert!(found, "{}: {link} does not exist", page.display());
        }
    }
}

#[test]
fn the_index_has_every_page() {
    let index = std::fs::read_to_string("docs/README.md").unwrap();
    let listed: BTreeSet<String> = links(&index).into_iter().collect();
    for page in pages().iter().filter(|page| page.starts_with("docs")) {
        let name = Path::new(page).file_name().unwrap().to_str().unwrap();
        assert!(name == "README.md" || listed.contains(name), "{name} is not in docs/README.md");
    }
}
