//! Files of the repository that tests generate: the schema of each engine and the list of routes.

use std::fmt::Write as _;

const HOW: &str = "Regenerate it with: UPDATE_GENERATED=1 cargo test --test api generated_";

/// Fails when the file does not hold this text. With `UPDATE_GENERATED=1` in the environment it writes
/// the file instead.
#[track_caller]
pub fn assert_generated(path: &str, text: &str) {
    if std::env::var_os("UPDATE_GENERATED").is_some_and(|value| value == "1") {
        std::fs::write(path, text).unwrap();
        return;
    }
    let stored = std::fs::read_to_string(path).unwrap_or_default();
    assert!(stored == text, "{path} is out of date. {}\n{HOW}", difference(&stored, text));
}

/// The first line in which the texts differ.
fn difference(stored: &str, generated: &str) -> String {
    let same = stored.lines().zip(generated.lines()).take_while(|(old, new)| old == new).count();
    let mut text = format!("Line {} differs:", same + 1);
    for (label, lines) in [("stored", stored), ("generated", generated)] {
        let _ = write!(text, "\n  {label}: {}", lines.lines().nth(same).unwrap_or("(end of file)"));
    }
    text
}
