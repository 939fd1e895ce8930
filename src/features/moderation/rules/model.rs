//! Rules as the admin sees them, and what makes one valid.

use db::JsonText;
use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::features::moderation::reports::model::TargetType;
use crate::features::moderation::rules::compile::CompiledRule;
use crate::features::moderation::rules::store::RuleRow;
use crate::values::ids::RuleId;
use crate::values::metadata::to_json;
use crate::values::names::names;
use crate::values::time::Timestamp;

pub const MAX_RULES: usize = 100;
const LONGEST_NAME: usize = 100;
const LONGEST_MESSAGE: usize = 1_000;
const LONGEST_PATTERN: usize = 1_000;
const LONGEST_WORD: usize = 100;
const MAX_WORDS: usize = 500;
/// A day, for how long posts are remembered.
pub const MAX_MINUTES: u32 = 24 * 60;

names! {
    /// What happens to content that matches.
    #[schemars(rename = "RuleAction")]
    RuleAction {
        /// Only its author sees it until a moderator approves it.
        Hold "hold",
        /// A report is opened; everybody sees it.
        Flag "flag",
        Remove "remove",
        /// The author is notified.
        Warn "warn",
    }
    #[schemars(rename = "RuleState")]
    RuleState {
        Off "off",
        /// Only notes what it would have done.
        Shadow "shadow",
        On "on",
    }
    #[schemars(rename = "LinkMode")]
    LinkMode {
        /// Links to other domains match.
        Allow "allow",
        /// Links to these domains match.
        Deny "deny",
    }
}

/// What a rule looks for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "type")]
pub enum Condition {
    /// Whole words and phrases, in upper or lower case. A `*` at the end stands for the rest of a word.
    Words { words: Vec<String> },
    /// A regular expression of the `regex` crate, which takes linear time.
    Pattern { pattern: String },
    /// Links; a domain includes its subdomains. With `allow` and no domains every link matches.
    Links { mode: LinkMode, domains: Vec<String> },
    /// The account is younger.
    NewAccount { hours: u32 },
    /// The author has written so many in so many minutes before.
    Rate { posts: u32, minutes: u32 },
    /// Somebody has written the same text before.
    Duplicate { minutes: u32 },
    /// The author has nothing that others can see.
    FirstPost,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct NewRule {
    pub name: String,
    pub targets: Vec<TargetType>,
    pub condition: Condition,
    pub action: RuleAction,
    pub state: RuleState,
    /// For the author: the reason of a removal or a warning.
    pub message: Option<String>,
}

#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Rule {
    pub id: RuleId,
    /// From the top; the first rule that matches decides.
    pub position: i64,
    #[serde(flatten)]
    pub rule: NewRule,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
}

/// What is wrong with a rule.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct InvalidField {
    pub field: &'static str,
    pub message: String,
}

impl NewRule {
    /// All that is wrong with it.
    pub fn check(&self) -> Vec<InvalidField> {
        let mut wrong = Vec::new();
        let mut refuse = |field, message: &str| {
            wrong.push(InvalidField { field, message: message.to_owned() });
        };
        let name = self.name.trim().chars().count();
        if name == 0 || name > LONGEST_NAME {
            refuse("name", "must have 1 to 100 characters");
        }
        if self.targets.is_empty() {
            refuse("targets", "must not be empty");
        }
        if self.message.as_ref().is_some_and(|text| text.chars().count() > LONGEST_MESSAGE) {
            refuse("message", "must have at most 1000 characters");
        }
        if let Some((field, message)) = self.condition.wrong() {
            refuse(field, message);
        }
        if wrong.is_empty()
            && let Err(why) = CompiledRule::text_pattern(&self.condition)
        {
            wrong.push(InvalidField { field: "pattern", message: why });
        }
        wrong
    }
}

impl Condition {
    fn wrong(&self) -> Option<(&'static str, &'static str)> {
        let fits = |list: &[String]| {
            let is_fine =
                |one: &String| !one.trim().is_empty() && one.chars().count() <= LONGEST_WORD;
            list.len() <= MAX_WORDS && list.iter().all(is_fine)
        };
        let minutes_fit = |minutes: u32| (1..=MAX_MINUTES).contains(&minutes);
        match self {
            Condition::Words { words } if words.is_empty() || !fits(words) => {
                Some(("words", "must be 1 to 500 words of at most 100 characters"))
            }
            Condition::Pattern { pattern }
                if pattern.is_empty() || pattern.chars().count() > LONGEST_PATTERN =>
            {
                Some(("pattern", "must have 1 to 1000 characters"))
            }
            Condition::Links { domains, .. } if !fits(domains) => {
                Some(("domains", "must be at most 500 domains of at most 100 characters"))
            }
            Condition::Links { mode: LinkMode::Deny, domains } if domains.is_empty() => {
                Some(("domains", "must not be empty"))
            }
            Condition::NewAccount { hours } if !(1..=24 * 365).contains(hours) => {
                Some(("hours", "must be 1 to 8760"))
            }
            Condition::Rate { posts, minutes }
                if !(1..=1_000).contains(posts) || !minutes_fit(*minutes) =>
            {
                Some(("posts", "must be 1 to 1000 posts in 1 to 1440 minutes"))
            }
            Condition::Duplicate { minutes } if !minutes_fit(*minutes) => {
                Some(("minutes", "must be 1 to 1440"))
            }
            _ => None,
        }
    }

    /// Whether earlier posts must be remembered for it.
    pub fn looks_back(&self) -> bool {
        matches!(self, Condition::Rate { .. } | Condition::Duplicate { .. })
    }
}

impl RuleRow {
    pub fn new(id: RuleId, position: i64, rule: &NewRule, now: Timestamp) -> Self {
        RuleRow {
            id,
            position,
            name: rule.name.trim().to_owned(),
            targets: JsonText(to_json(&rule.targets)),
            condition: JsonText(to_json(&rule.condition)),
            action: rule.action,
            state: rule.state,
            message: rule.message.clone().filter(|text| !text.trim().is_empty()),
            created_at: now,
            updated_at: now,
        }
    }
}

impl TryFrom<RuleRow> for Rule {
    type Error = Error;

    fn try_from(row: RuleRow) -> Result<Self> {
        Ok(Rule {
            id: row.id,
            position: row.position,
            rule: NewRule {
                name: row.name,
                targets: serde_json::from_str(&row.targets.0).map_err(Error::internal)?,
                condition: serde_json::from_str(&row.condition.0).map_err(Error::internal)?,
                action: row.action,
                state: row.state,
                message: row.message,
            },
            created_at: row.created_at,
            updated_at: row.updated_at,
        })
    }
}
