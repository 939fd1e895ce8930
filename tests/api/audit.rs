//! `scripts/audit` with small advisory databases.

use std::path::Path;
use std::process::Command;

use db::Engine;

use crate::support::{Installation, outcome};

/// Exit code and output with the database in this directory.
fn audit(database: &Path) -> (i32, String) {
    let done = outcome(Command::new("scripts/audit").env("ADVISORY_DB", database));
    assert_eq!(done.stderr, "");
    (done.code, done.stdout)
}

/// The audit with one advisory about a crate that Townhall depends on.
fn audit_with(advisory: &str, patched: &str) -> (i32, String) {
    let place = Installation::new(Engine::Sqlite);
    let folder = place.data_dir.join("crates/hyper");
    std::fs::create_dir_all(&folder).unwrap();
    let text = format!(
        "```toml\n[advisory]\nid = \"RUSTSEC-2000-0001\"\npackage = \"hyper\"\n{advisory}\n\n\
         [versions]\npatched = [\"{patched}\"]\n```\n\n# Requests are smuggled\n\nMore text.\n"
    );
    std::fs::write(folder.join("RUSTSEC-2000-0001.md"), text).unwrap();
    audit(&place.data_dir)
}

#[test]
fn the_licences_are_allowed_and_a_missing_advisory_database_is_no_failure() {
    let (code, printed) = audit(Path::new("/nowhere"));
    assert_eq!(code, 0, "{printed}");
    assert!(printed.contains("Advisories: not checked, there is no database in /nowhere"));
    assert!(printed.contains("townhall"), "{printed}");
}

#[test]
fn a_vulnerable_dependency_fails_the_audit() {
    let (code, printed) = audit_with("", ">= 99.0.0");
    assert_eq!(code, 1, "{printed}");
    assert!(printed.contains("VULNERABLE: hyper 1."), "{printed}");
    assert!(printed.contains("RUSTSEC-2000-0001 Requests are smuggled"), "{printed}");
}

#[test]
fn what_is_patched_withdrawn_or_for_information_passes_the_audit() {
    for (advisory, patched, listed) in [
        ("", ">= 1.0.0, < 2.0.0", false),
        ("", "^1.0", false),
        ("withdrawn = \"2000-01-02\"", ">= 99.0.0", false),
        ("informational = \"unmaintained\"", ">= 99.0.0", true),
    ] {
        let (code, printed) = audit_with(advisory, patched);
        assert_eq!(code, 0, "{advisory} {patched}: {printed}");
        assert_eq!(
            printed.contains("RUSTSEC-2000-0001"),
            listed,
            "{advisory} {patched}: {printed}"
        );
    }
}
