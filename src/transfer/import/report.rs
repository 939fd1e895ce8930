//! What an import did: counts by type, and for everything that was left out or changed the reason and some examples.

use std::collections::BTreeMap;

use serde_json::{Value, json};

/// Examples of each reason.
const MAX_EXAMPLES: usize = 10;

/// Documents with the same reason.
#[derive(Debug, Default)]
pub struct Left {
    pub count: u64,
    pub examples: Vec<String>,
}

/// By type and reason.
type Reasons = BTreeMap<(String, String), Left>;

#[derive(Debug, Default)]
pub struct Report {
    pub added: BTreeMap<String, u64>,
    pub unchanged: BTreeMap<String, u64>,
    pub left_out: Reasons,
    /// What was changed to fit, such as a title that was cut.
    pub notes: Reasons,
    pub files: u64,
}

impl Report {
    pub(super) fn add(&mut self, kind: &str) {
        *self.added.entry(kind.to_owned()).or_default() += 1;
    }

    pub(super) fn unchanged(&mut self, kind: &str) {
        *self.unchanged.entry(kind.to_owned()).or_default() += 1;
    }

    pub(super) fn leave_out(&mut self, kind: &str, reason: &str, label: &str) {
        count(&mut self.left_out, kind, reason, label);
    }

    pub(super) fn note(&mut self, kind: &str, note: &str, label: &str) {
        count(&mut self.notes, kind, note, label);
    }

    pub fn json(&self, is_dry_run: bool) -> Value {
        json!({
            "dryRun": is_dry_run,
            "added": self.added,
            "unchanged": self.unchanged,
            "leftOut": shown(&self.left_out),
            "notes": shown(&self.notes),
            "files": self.files,
        })
    }

    pub fn text(&self, is_dry_run: bool) -> String {
        let mut text = String::new();
        let verb = if is_dry_run { "would add" } else { "added" };
        for (kind, count) in &self.added {
            text += &format!("{verb} {count} of {kind}\n");
        }
        for (kind, count) in &self.unchanged {
            text += &format!("{count} of {kind} were there already\n");
        }
        for (word, reasons) in [("left out", &self.left_out), ("note", &self.notes)] {
            for ((kind, reason), Left { count, examples }) in reasons {
                let examples = examples.join(", ");
                text += &format!("{word}: {count} of {kind}: {reason} ({examples})\n");
            }
        }
        text
    }
}

fn count(reasons: &mut Reasons, kind: &str, reason: &str, label: &str) {
    let one = reasons.entry((kind.to_owned(), reason.to_owned())).or_default();
    one.count += 1;
    if one.examples.len() < MAX_EXAMPLES {
        one.examples.push(label.to_owned());
    }
}

fn shown(reasons: &Reasons) -> Vec<Value> {
    let one = |((kind, reason), left): (&(String, String), &Left)| json!({ "type": kind, "reason": reason, "count": left.count, "examples": left.examples });
    reasons.iter().map(one).collect()
}
