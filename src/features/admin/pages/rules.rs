//! Rules that check what users write: made, tried on the last thirty days, switched on.

use maud::{Markup, html};
use serde_json::json;

use crate::error::{Error, Result};
use crate::features::admin::layout::{self, csrf};
use crate::features::admin::visit::{INVALID, NOT_FOUND, Visit};
use crate::features::moderation::reports::model::TargetType;
use crate::features::moderation::rules::{
    self, Condition, InvalidField, LinkMode, NewRule, Rule, RuleAction, RuleState, Saved,
};
use crate::http::reply::Response;
use crate::values::ids::RuleId;

const TARGETS: [TargetType; 3] = [TargetType::Entity, TargetType::Comment, TargetType::Message];
const ACTIONS: [RuleAction; 4] =
    [RuleAction::Hold, RuleAction::Flag, RuleAction::Remove, RuleAction::Warn];
const STATES: [RuleState; 3] = [RuleState::Off, RuleState::Shadow, RuleState::On];
/// What a rule looks for: its name, and what its value means.
const CONDITIONS: [(&str, &str); 8] = [
    ("words", "words and phrases, one on each line"),
    ("pattern", "a regular expression"),
    ("links-deny", "links to these domains, one on each line"),
    ("links-allow", "links to any domain but these, one on each line"),
    ("new-account", "accounts younger than so many hours"),
    ("rate", "so many posts in so many minutes, as in 5 10"),
    ("duplicate", "the same text within so many minutes"),
    ("first-post", "first posts; no value"),
];

pub(super) async fn list(visit: Visit) -> Result<Response> {
    let project = visit.project()?.id;
    let all = visit.app.db.read(move |c| rules::list(c, project)).await?;
    let here = format!("/admin/p/{project}/rules");
    let content = html! {
        @if all.is_empty() { p { "No rule yet: everything is published at once." } }
        @else { p { "The first rule from the top that is on and matches decides." } }
        ol.rules { @for rule in &all { (shown(&visit, &here, rule)) } }
        section aria-labelledby="new" { h2 #new { "New rule" } (form(&visit, &here, None)) }
    };
    Ok(layout::page(&visit, "Rules", &content))
}

fn shown(visit: &Visit, here: &str, one: &Rule) -> Markup {
    let id = one.id.to_string();
    let button =
        |name: &str, text: &str| layout::button(visit, here, &[("do", name), ("rule", &id)], text);
    html! { li.item {
        h2 { (one.rule.name) }
        p { (one.rule.state.name()) ": " (one.rule.action.name()) " " (described(&one.rule.condition)) }
        @for state in STATES { @if state != one.rule.state { (button(state.name(), &format!("Set {}", state.name()))) } }
        (button("try", "Try on the last 30 days")) (button("first", "To the top")) (button("delete", "Delete"))
        details { summary { "Change" } (form(visit, here, Some(one))) }
    } }
}

/// The name of a condition and its value, as the form has them.
fn parts(condition: &Condition) -> (&'static str, String) {
    match condition {
        Condition::Words { words } => ("words", words.join("\n")),
        Condition::Pattern { pattern } => ("pattern", pattern.clone()),
        Condition::Links { mode: LinkMode::Deny, domains } => ("links-deny", domains.join("\n")),
        Condition::Links { mode: LinkMode::Allow, domains } => ("links-allow", domains.join("\n")),
        Condition::NewAccount { hours } => ("new-account", hours.to_string()),
        Condition::Rate { posts, minutes } => ("rate", format!("{posts} {minutes}")),
        Condition::Duplicate { minutes } => ("duplicate", minutes.to_string()),
        Condition::FirstPost => ("first-post", String::new()),
    }
}

fn described(condition: &Condition) -> String {
    let (name, value) = parts(condition);
    format!("{name} {}", value.replace('\n', ", "))
}

fn form(visit: &Visit, here: &str, rule: Option<&Rule>) -> Markup {
    let (chosen, value) = rule.map_or(("words", String::new()), |one| parts(&one.rule.condition));
    let has = |target| rule.is_none_or(|one| one.rule.targets.contains(&target));
    let action = rule.map_or(RuleAction::Flag, |one| one.rule.action);
    html! {
        form.stack method="post" action=(here) {
            (csrf(visit)) input type="hidden" name="do" value="save";
            @if let Some(rule) = rule { input type="hidden" name="rule" value=(rule.id); }
            label { "Name" input name="name" required maxlength="100" value=[rule.map(|one| &one.rule.name)]; }
            label { "Looks for" select name="condition" {
                @for (name, text) in CONDITIONS { option value=(name) selected[name == chosen] { (text) } }
            } }
            label { "Value" textarea name="value" rows="4" { (value) } }
            fieldset { legend { "In" } @for target in TARGETS { label.check {
                input type="checkbox" name="target" value=(target.name()) checked[has(target)]; (target.name())
            } } }
            label { "Then" select name="action" {
                @for one in ACTIONS { option value=(one.name()) selected[one == action] { (one.name()) } }
            } }
            label { "Message for the author" input name="message" maxlength="1000" value=[rule.and_then(|one| one.rule.message.as_ref())]; }
            div { button { "Save" } button.quiet name="try" value="1" { "Only try it" } }
        }
    }
}

/// The rule of a form. A new one begins in shadow, so that nobody is surprised.
fn filled(visit: &Visit, state: RuleState) -> Result<NewRule> {
    let value = visit.field("value").unwrap_or_default();
    let lines = || {
        value.lines().map(str::trim).filter(|line| !line.is_empty()).map(str::to_owned).collect()
    };
    let numbers: Vec<u32> = value.split_whitespace().filter_map(|word| word.parse().ok()).collect();
    let number = |at: usize| {
        numbers.get(at).copied().ok_or_else(|| INVALID.because("The value needs a number."))
    };
    let condition = match visit.required("condition")? {
        "words" => Condition::Words { words: lines() },
        "pattern" => Condition::Pattern { pattern: value.to_owned() },
        "links-deny" => Condition::Links { mode: LinkMode::Deny, domains: lines() },
        "links-allow" => Condition::Links { mode: LinkMode::Allow, domains: lines() },
        "new-account" => Condition::NewAccount { hours: number(0)? },
        "rate" => Condition::Rate { posts: number(0)?, minutes: number(1)? },
        "duplicate" => Condition::Duplicate { minutes: number(0)? },
        "first-post" => Condition::FirstPost,
        _ => return Err(INVALID.into()),
    };
    let named: Vec<&str> = visit.fields("target").collect();
    let action = visit.required("action")?;
    Ok(NewRule {
        name: visit.required("name")?.to_owned(),
        targets: TARGETS.into_iter().filter(|target| named.contains(&target.name())).collect(),
        condition,
        action: ACTIONS.into_iter().find(|one| one.name() == action).ok_or(INVALID)?,
        state,
        message: visit.field("message").map(ToOwned::to_owned),
    })
}

fn refused(wrong: &[InvalidField]) -> Error {
    let texts: Vec<String> =
        wrong.iter().map(|one| format!("{}: {}", one.field, one.message)).collect();
    INVALID.because(texts.join(". "))
}

pub(super) async fn change(visit: Visit) -> Result<Response> {
    let project = visit.project()?.clone();
    let back = format!("/admin/p/{}/rules", project.id);
    let id: Option<RuleId> = visit.field("rule").and_then(|id| id.parse().ok());
    let of = project.id;
    let all = visit.app.db.read(move |c| rules::list(c, of)).await?;
    let known = id.and_then(|id| all.iter().find(|rule| rule.id == id));
    let asked = visit.required("do")?;
    if asked == "save" {
        let rule = filled(&visit, known.map_or(RuleState::Shadow, |rule| rule.rule.state))?;
        if visit.field("try").is_some() {
            return try_out(&visit, &rule).await;
        }
        let entry = visit.entry("Save Rule", rule.name.clone());
        let entry = entry.change(known.map(|rule| &rule.rule), Some(&rule));
        let saving = async {
            match known {
                Some(known) => {
                    rules::update(&visit.app, &project, known.id, &rule, visit.now).await
                }
                None => rules::create(&visit.app, &project, &rule, visit.now).await,
            }
        };
        if let Saved::Invalid(wrong) = db::accompanied(move |tx| entry.write(tx), saving).await? {
            return Err(refused(&wrong));
        }
        return layout::see_other(&back);
    }
    let known = known.ok_or(NOT_FOUND)?;
    let entry = visit.entry("Change Rule", known.rule.name.clone());
    let entry = entry.change(Some(&known.rule), Some(&json!(asked)));
    let changing = async {
        match asked {
            "delete" => rules::delete(&visit.app, &project, known.id).await.map(drop),
            "first" => rules::reorder(&visit.app, &project, &[known.id]).await.map(drop),
            name => {
                let state = STATES.into_iter().find(|state| state.name() == name).ok_or(INVALID)?;
                let rule = NewRule { state, ..known.rule.clone() };
                rules::update(&visit.app, &project, known.id, &rule, visit.now).await.map(drop)
            }
        }
    };
    if asked == "try" {
        return try_out(&visit, &known.rule).await;
    }
    db::accompanied(move |tx| entry.write(tx), changing).await?;
    layout::see_other(&back)
}

/// What the rule would have found, before it is switched on.
async fn try_out(visit: &Visit, rule: &NewRule) -> Result<Response> {
    let project = visit.project()?;
    let tried = rules::backtest(&visit.app.db, project.id, rule, visit.now).await?;
    let tried = tried.map_err(|wrong| refused(&wrong))?;
    let content = html! {
        p { "Of what was written in the last 30 days: " strong { (tried.matched) } " of " (tried.examined) " texts match."
            @if tried.is_cut_off { " There is more than was examined." } }
        @for sample in &tried.samples { article.comment {
            p.by { (sample.target_type.name()) " " (layout::time(sample.created_at)) }
            @if let Some(title) = &sample.title { p { strong { (title) } } }
            p { (layout::or_dash(sample.text.as_deref())) }
        } }
        p { a href={ "/admin/p/" (project.id) "/rules" } { "Back to the rules" } }
    };
    Ok(layout::page(visit, &format!("Trying {}", rule.name), &content))
}
