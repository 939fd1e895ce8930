//! Rules made ready to match: pure, and linear in the length of the text. Every pattern has a bounded size.

use regex::{Regex, RegexBuilder};

use crate::features::moderation::queue::model::Match;
use crate::features::moderation::reports::model::TargetType;
use crate::features::moderation::rules::model::{Condition, LinkMode, Rule, RuleState};

/// Bytes of a compiled pattern.
const MAX_SIZE: usize = 1 << 20;
/// Ranges that are kept of one text.
const MAX_MATCHES: usize = 20;
const LINK: &str = r#"(?i)\b(?:https?://|www\.)[^\s<>"'`)\]}]+"#;

#[derive(Debug)]
pub struct CompiledRule {
    pub rule: Rule,
    pattern: Option<Regex>,
}

/// The active rules of a project, in their order.
#[derive(Debug, Default)]
pub struct RuleSet {
    pub rules: Vec<CompiledRule>,
}

/// The parts of a text that are looked at.
#[derive(Debug, Clone, Copy, Default)]
pub struct Texts<'a> {
    pub title: Option<&'a str>,
    pub content: Option<&'a str>,
}

impl<'a> Texts<'a> {
    fn parts(self) -> impl Iterator<Item = (&'static str, &'a str)> {
        let parts = [("title", self.title), ("content", self.content)];
        parts.into_iter().filter_map(|(field, text)| Some((field, text?)))
    }

    pub fn is_blank(self) -> bool {
        self.parts().all(|(_, text)| text.trim().is_empty())
    }

    /// In lower case, without differences in white space.
    pub fn normalized(self) -> String {
        let words = self.parts().flat_map(|(_, text)| text.split_whitespace());
        words.map(str::to_lowercase).collect::<Vec<_>>().join(" ")
    }
}

impl RuleSet {
    /// Without those that are off, and those that cannot be compiled: they were valid when they were saved.
    pub fn new(rules: Vec<Rule>) -> Self {
        let active = rules.into_iter().filter(|rule| rule.rule.state != RuleState::Off);
        RuleSet { rules: active.filter_map(CompiledRule::new).collect() }
    }

    pub fn of(&self, kind: TargetType) -> impl Iterator<Item = &CompiledRule> {
        self.rules.iter().filter(move |rule| rule.rule.rule.targets.contains(&kind))
    }
}

impl CompiledRule {
    pub fn new(rule: Rule) -> Option<Self> {
        let pattern = Self::text_pattern(&rule.rule.condition).ok()?;
        Some(CompiledRule { rule, pattern })
    }

    /// The pattern of a condition about the text; none for the others.
    pub fn text_pattern(condition: &Condition) -> Result<Option<Regex>, String> {
        let text = match condition {
            Condition::Words { words } => of_words(words),
            Condition::Pattern { pattern } => pattern.clone(),
            Condition::Links { .. } => LINK.to_owned(),
            _ => return Ok(None),
        };
        let built = RegexBuilder::new(&text).size_limit(MAX_SIZE).build();
        built.map(Some).map_err(|error| error.to_string())
    }

    /// What of the text matches; none for a condition that is not about the text.
    pub fn find(&self, texts: Texts<'_>) -> Vec<Match> {
        let Some(pattern) = &self.pattern else { return Vec::new() };
        let links = match &self.rule.rule.condition {
            Condition::Links { mode, domains } => Some((*mode, domains)),
            _ => None,
        };
        let mut matches = Vec::new();
        for (field, text) in texts.parts() {
            let found = pattern.find_iter(text).filter(|found| !found.is_empty());
            let found = found.filter(|found| match links {
                Some((mode, domains)) => is_meant(mode, domains, found.as_str()),
                None => true,
            });
            matches.extend(found.take(MAX_MATCHES).map(|found| Match {
                field: field.to_owned(),
                start: found.start(),
                end: found.end(),
            }));
        }
        matches
    }

    pub fn is_about_text(&self) -> bool {
        self.pattern.is_some()
    }
}

/// Whole words: a boundary wherever the word begins or ends with a letter or digit.
fn of_words(words: &[String]) -> String {
    let is_letter =
        |letter: Option<char>| letter.is_some_and(|one| one.is_alphanumeric() || one == '_');
    let mut text = String::from("(?i)(?:");
    for (number, word) in words.iter().enumerate() {
        let word = word.trim();
        let (word, is_open) = match word.strip_suffix('*') {
            Some(beginning) => (beginning, true),
            None => (word, false),
        };
        text.push_str(if number == 0 { "" } else { "|" });
        text.push_str(if is_letter(word.chars().next()) { r"\b" } else { "" });
        text.push_str(&regex::escape(word));
        let ends_with_letter = is_letter(word.chars().next_back());
        text.push_str(match (is_open, ends_with_letter) {
            (true, _) => r"\w*",
            (false, true) => r"\b",
            (false, false) => "",
        });
    }
    text.push(')');
    text
}

/// Whether a link leads to one of the domains, or to none of those that are allowed.
fn is_meant(mode: LinkMode, domains: &[String], link: &str) -> bool {
    let host = host(link);
    let is_listed = domains.iter().any(|domain| {
        let domain = domain.trim().trim_start_matches("www.").to_ascii_lowercase();
        host == domain || host.strip_suffix(&domain).is_some_and(|rest| rest.ends_with('.'))
    });
    match mode {
        LinkMode::Deny => is_listed,
        LinkMode::Allow => !is_listed,
    }
}

/// In lower case, without a user, a port or `www`.
fn host(link: &str) -> String {
    let rest = link.split_once("://").map_or(link, |(_, rest)| rest);
    let authority = rest.split(['/', '?', '#', '\\']).next().unwrap_or(rest);
    let host = authority.rsplit('@').next().unwrap_or(authority);
    let host = host.split(':').next().unwrap_or(host).trim_end_matches(['.', ',', '!', ';']);
    host.to_ascii_lowercase().trim_start_matches("www.").to_owned()
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;
    use crate::features::moderation::rules::model::{NewRule, RuleAction};
    use crate::values::ids::RuleId;
    use crate::values::time::Timestamp;

    fn compiled(condition: Condition) -> CompiledRule {
        let at = Timestamp::from_millis(0);
        let rule = NewRule {
            name: "r".to_owned(),
            targets: vec![TargetType::Entity],
            condition,
            action: RuleAction::Flag,
            state: RuleState::On,
            message: None,
        };
        assert_eq!(rule.check(), []);
        let id = RuleId(Uuid::nil());
        CompiledRule::new(Rule { id, position: 1, rule, created_at: at, updated_at: at }).unwrap()
    }

    fn found<'a>(rule: &CompiledRule, text: &'a str) -> Vec<&'a str> {
        let matches = rule.find(Texts { title: None, content: Some(text) });
        matches.into_iter().map(|found| &text[found.start..found.end]).collect()
    }

    #[test]
    fn words_match_whole_and_in_any_case() {
        let words = ["spam", "buy now", "c++", "viagr*", "größe"].map(str::to_owned).to_vec();
        let rule = compiled(Condition::Words { words });
        assert_eq!(found(&rule, "Spam, spammer, no-SPAM"), ["Spam", "SPAM"]);
        assert_eq!(
            found(&rule, "Buy now C++ and viagra! GRÖSSE GRÖßE"),
            ["Buy now", "C++", "viagra", "GRÖßE"]
        );
        assert!(found(&rule, "buy  now").is_empty());
    }

    #[test]
    fn links_match_by_domain() {
        let deny =
            Condition::Links { mode: LinkMode::Deny, domains: vec!["bad.example".to_owned()] };
        let deny = compiled(deny);
        for link in [
            "https://bad.example/x",
            "http://a.BAD.example:80",
            "www.bad.example.",
            "https://u@bad.example?x",
        ] {
            assert_eq!(found(&deny, link).len(), 1, "{link}");
        }
        for other in [
            "https://notbad.example",
            "https://bad.example.org",
            "bad.example",
            "https://x/bad.example",
        ] {
            assert!(found(&deny, other).is_empty(), "{other}");
        }
        let allow =
            Condition::Links { mode: LinkMode::Allow, domains: vec!["good.example".to_owned()] };
        let allow = compiled(allow);
        assert_eq!(found(&allow, "(https://a.good.example) https://x.org/y"), ["https://x.org/y"]);
    }

    #[test]
    fn a_pattern_is_bounded_and_its_ranges_are_bytes() {
        let rule = compiled(Condition::Pattern { pattern: r"\d{3,}".to_owned() });
        assert_eq!(found(&rule, "ä 12 345 €6789"), ["345", "6789"]);
        let many = "123 ".repeat(1_000);
        assert_eq!(found(&rule, &many).len(), MAX_MATCHES);
        let large = Condition::Pattern { pattern: r"(\w{500}){500}".to_owned() };
        assert!(CompiledRule::text_pattern(&large).is_err());
        assert!(
            CompiledRule::text_pattern(&Condition::Pattern { pattern: "(".to_owned() }).is_err()
        );
    }

    #[test]
    fn texts_are_compared_without_case_and_space() {
        let one = Texts { title: Some("A  b"), content: Some("\nC") };
        let other = Texts { title: None, content: Some("a B c") };
        assert_eq!(one.normalized(), other.normalized());
        assert!(Texts { title: Some(" "), content: None }.is_blank());
    }
}
