//! What the command line does, the admin does, too; or it is said why not.

use std::collections::BTreeSet;

use clap::CommandFactory as _;
use townhall::cli::Cli;
use townhall::features;
use townhall::features::admin::commands::{COMMANDS, Reach};

/// The words of every command that does something.
fn leaves(command: &clap::Command, words: &str, found: &mut BTreeSet<String>) {
    let below: Vec<_> = command.get_subcommands().filter(|one| one.get_name() != "help").collect();
    if below.is_empty() {
        found.insert(words.to_owned());
    }
    for one in below {
        let words = format!("{words} {}", one.get_name());
        leaves(one, words.trim(), found);
    }
}

#[test]
fn every_command_is_reachable_in_the_admin_or_named_with_a_reason() {
    let mut there_are = BTreeSet::new();
    leaves(&Cli::command(), "", &mut there_are);
    let listed: BTreeSet<String> = COMMANDS.iter().map(|(words, _)| (*words).to_owned()).collect();
    let missing: Vec<_> = there_are.difference(&listed).collect();
    assert!(missing.is_empty(), "not in src/features/admin/commands.rs: {missing:?}");
    let unknown: Vec<_> = listed.difference(&there_are).collect();
    assert!(unknown.is_empty(), "there are no such commands: {unknown:?}");
    assert_eq!(listed.len(), COMMANDS.len(), "a command is listed twice");
}

#[test]
fn the_pages_that_are_named_exist() {
    let pages: BTreeSet<String> =
        features::pages().iter().map(|page| format!("{} {}", page.method, page.path)).collect();
    for (words, reach) in COMMANDS {
        if let Reach::Page(page) = reach {
            assert!(pages.contains(*page), "{words}: there is no {page}");
        }
    }
}

#[test]
fn the_documentation_lists_what_only_the_shell_does() {
    let documented = std::fs::read_to_string("docs/admin.md").unwrap();
    for (words, reach) in COMMANDS {
        let row = match reach {
            Reach::Shell(why) => format!("| `townhall {words}` | {why} |"),
            Reach::Page(_) => continue,
        };
        assert!(documented.contains(&row), "docs/admin.md lacks: {row}");
    }
}
