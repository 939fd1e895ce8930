//! `townhall moderation rules …`

use std::fmt::Write as _;

use clap::{Args, Subcommand};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::cli::{Admin, CommandResult, Output, confirm, project_id};
use crate::features::moderation::reports::model::TargetType;
use crate::features::moderation::rules::{
    self, Condition, InvalidField, LinkMode, NewRule, Rule, RuleAction, RuleState, Saved,
};
use crate::tenancy::{self, NOT_FOUND};
use crate::values::ids::{ProjectId, RuleId, new_id};

#[derive(Debug, Subcommand)]
pub(super) enum RulesCommand {
    /// The rules of a project, in the order in which they are asked
    List {
        #[arg(value_parser = project_id)]
        project: ProjectId,
    },
    /// Add a rule behind the others, in shadow unless --state says otherwise
    Add {
        #[arg(value_parser = project_id)]
        project: ProjectId,
        #[command(flatten)]
        change: Box<RuleChange>,
    },
    /// Change a rule: what is not named stays as it is
    Set {
        #[arg(value_parser = project_id)]
        project: ProjectId,
        #[arg(value_parser = rule_id)]
        rule: RuleId,
        #[command(flatten)]
        change: Box<RuleChange>,
        /// Ask it before all others
        #[arg(long)]
        first: bool,
    },
    /// Remove a rule; what it holds stays in the queue
    Remove {
        #[arg(value_parser = project_id)]
        project: ProjectId,
        #[arg(value_parser = rule_id)]
        rule: RuleId,
        /// Do not ask
        #[arg(long)]
        yes: bool,
    },
    /// What a rule would have found in the last thirty days; one of the project, or one that is described
    Try {
        #[arg(value_parser = project_id)]
        project: ProjectId,
        #[arg(value_parser = rule_id)]
        rule: Option<RuleId>,
        #[command(flatten)]
        change: Box<RuleChange>,
    },
}

#[derive(Debug, Clone, Args)]
pub(super) struct RuleChange {
    #[arg(long)]
    name: Option<String>,
    #[command(flatten)]
    looks_for: LooksFor,
    /// In which content: entity, comment, message
    #[arg(long = "in", value_name = "KIND", num_args = 1.., value_delimiter = ',', value_parser = named::<TargetType>)]
    targets: Option<Vec<TargetType>>,
    /// What happens: flag, hold, remove or warn
    #[arg(long, value_parser = named::<RuleAction>)]
    action: Option<RuleAction>,
    /// off, shadow or on
    #[arg(long, value_parser = named::<RuleState>)]
    state: Option<RuleState>,
    /// For the author; empty: none
    #[arg(long, value_name = "TEXT")]
    message: Option<String>,
}

#[derive(Debug, Clone, Args)]
#[group(multiple = false)]
struct LooksFor {
    /// Whole words and phrases; a `*` at the end stands for the rest of a word
    #[arg(long, num_args = 1.., value_delimiter = ',', value_name = "WORD")]
    words: Option<Vec<String>>,
    /// A regular expression
    #[arg(long, value_name = "REGEX")]
    pattern: Option<String>,
    /// Links to these domains
    #[arg(long, num_args = 1.., value_delimiter = ',', value_name = "DOMAIN")]
    links_to: Option<Vec<String>>,
    /// Links to any other domain; without domains, every link
    #[arg(long, num_args = 0.., value_delimiter = ',', value_name = "DOMAIN")]
    links_except: Option<Vec<String>>,
    /// Authors whose account is younger
    #[arg(long, value_name = "HOURS")]
    new_account: Option<u32>,
    /// Authors who have written so many in so many minutes: 10/5
    #[arg(long, value_name = "POSTS/MINUTES", value_parser = rate)]
    rate: Option<(u32, u32)>,
    /// Texts that somebody has written in the last minutes
    #[arg(long, value_name = "MINUTES")]
    duplicate: Option<u32>,
    /// Authors without content that others can see
    #[arg(long)]
    first_post: bool,
}

impl LooksFor {
    fn condition(&self) -> Option<Condition> {
        if let Some(words) = self.words.clone() {
            return Some(Condition::Words { words });
        }
        if let Some(pattern) = self.pattern.clone() {
            return Some(Condition::Pattern { pattern });
        }
        if let Some(domains) = self.links_to.clone() {
            return Some(Condition::Links { mode: LinkMode::Deny, domains });
        }
        if let Some(domains) = self.links_except.clone() {
            return Some(Condition::Links { mode: LinkMode::Allow, domains });
        }
        if let Some(hours) = self.new_account {
            return Some(Condition::NewAccount { hours });
        }
        if let Some((posts, minutes)) = self.rate {
            return Some(Condition::Rate { posts, minutes });
        }
        if let Some(minutes) = self.duplicate {
            return Some(Condition::Duplicate { minutes });
        }
        self.first_post.then_some(Condition::FirstPost)
    }
}

impl RuleChange {
    /// A rule that has everything it needs.
    fn new_rule(&self) -> CommandResult<NewRule> {
        let every = || vec![TargetType::Entity, TargetType::Comment, TargetType::Message];
        let condition = self.looks_for.condition();
        Ok(NewRule {
            name: self.name.clone().ok_or("--name is needed")?,
            targets: self.targets.clone().unwrap_or_else(every),
            condition: condition.ok_or("say what it looks for, such as --words")?,
            action: self.action.ok_or("--action is needed")?,
            state: self.state.unwrap_or(RuleState::Shadow),
            message: self.message.clone(),
        })
    }

    /// A rule that is only tried needs no name and no action.
    fn tried(&self) -> CommandResult<NewRule> {
        let change = RuleChange {
            name: Some("tried".to_owned()),
            action: self.action.or(Some(RuleAction::Flag)),
            ..self.clone()
        };
        change.new_rule()
    }

    fn apply(&self, rule: NewRule) -> NewRule {
        NewRule {
            name: self.name.clone().unwrap_or(rule.name),
            targets: self.targets.clone().unwrap_or(rule.targets),
            condition: self.looks_for.condition().unwrap_or(rule.condition),
            action: self.action.unwrap_or(rule.action),
            state: self.state.unwrap_or(rule.state),
            message: self.message.clone().or(rule.message),
        }
    }
}

pub(super) fn run(command: RulesCommand, admin: &Admin) -> CommandResult {
    match command {
        RulesCommand::List { project } => {
            let all = admin.read(move |c| {
                tenancy::store::find(c, project)?.ok_or(NOT_FOUND)?;
                rules::list(c, project)
            })?;
            Ok(listed(&all))
        }
        RulesCommand::Add { project, change } => add(admin, project, &change),
        RulesCommand::Set { project, rule, change, first } => {
            set(admin, project, rule, &change, first)
        }
        RulesCommand::Remove { project, rule, yes } => {
            confirm("The rule is removed.", yes)?;
            if !admin.write(move |tx| rules::remove(tx, project, rule))? {
                return Err("the project has no such rule".to_owned());
            }
            let json = json!({ "ruleId": rule, "removed": true });
            Ok(Output::new(format!("rule {rule} is removed\n"), json))
        }
        RulesCommand::Try { project, rule, change } => try_out(admin, project, rule, &change),
    }
}

fn add(admin: &Admin, project: ProjectId, change: &RuleChange) -> CommandResult {
    let (rule, now) = (change.new_rule()?, admin.world.clock.now());
    check(&rule.check())?;
    let id = RuleId(new_id(now, &admin.world.random));
    let saved = admin.write(move |tx| {
        tenancy::store::find(tx, project)?.ok_or(NOT_FOUND)?;
        rules::add(tx, project, id, &rule, now)
    })?;
    match saved {
        Saved::Rule(rule) => Ok(shown(&rule)),
        Saved::Invalid(wrong) => Err(described(&wrong)),
    }
}

fn set(
    admin: &Admin,
    project: ProjectId,
    id: RuleId,
    change: &RuleChange,
    first: bool,
) -> CommandResult {
    let now = admin.world.clock.now();
    let known = admin.read(move |c| rules::find(c, project, id))?;
    let rule = change.apply(known.rule);
    check(&rule.check())?;
    let saved = admin.write(move |tx| {
        rules::replace(tx, project, id, &rule, now)?;
        if first {
            rules::order_rules(tx, project, &[id])?;
        }
        rules::find(tx, project, id)
    })?;
    Ok(shown(&saved))
}

fn try_out(
    admin: &Admin,
    project: ProjectId,
    id: Option<RuleId>,
    change: &RuleChange,
) -> CommandResult {
    let rule = match id {
        Some(id) => change.apply(admin.read(move |c| rules::find(c, project, id))?.rule),
        None => change.tried()?,
    };
    let now = admin.world.clock.now();
    let tried = admin.block_on(Box::pin(rules::backtest(&admin.db, project, &rule, now)))?;
    let tried = tried.map_err(|wrong| described(&wrong))?;
    let mut text = format!("{} of {} texts match\n", tried.matched, tried.examined);
    if tried.is_cut_off {
        text.push_str("there is more than was examined\n");
    }
    for one in &tried.samples {
        let said = one.title.as_ref().or(one.text.as_ref()).map_or("", String::as_str);
        let said: String = said.chars().filter(|letter| !letter.is_control()).take(80).collect();
        let (kind, id, at) = (one.target_type.name(), one.target_id, one.created_at);
        let _ = writeln!(text, "{kind:<7}  {id}  {at}  {said}");
    }
    Ok(Output::new(text, json!(tried)))
}

fn check(wrong: &[InvalidField]) -> CommandResult<()> {
    if wrong.is_empty() { Ok(()) } else { Err(described(wrong)) }
}

/// On one line: what is wrong with a pattern is drawn on several.
fn described(wrong: &[InvalidField]) -> String {
    let one_line = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let texts: Vec<String> =
        wrong.iter().map(|one| format!("{}: {}", one.field, one_line(&one.message))).collect();
    texts.join("; ")
}

fn listed(all: &[Rule]) -> Output {
    let mut text = String::new();
    all.iter().for_each(|rule| write_rule(&mut text, rule));
    if all.is_empty() {
        text.push_str("no rules\n");
    }
    Output::new(text, json!({ "rules": all }))
}

fn shown(rule: &Rule) -> Output {
    let mut text = String::new();
    write_rule(&mut text, rule);
    Output::new(text, json!(rule))
}

fn write_rule(text: &mut String, rule: &Rule) {
    let NewRule { name, condition, action, state, targets, .. } = &rule.rule;
    let targets: Vec<&str> = targets.iter().map(|target| target.name()).collect();
    let (id, position, targets) = (rule.id, rule.position, targets.join(","));
    let (state, action, condition) = (state.name(), action.name(), json!(condition));
    let _ = writeln!(
        text,
        "{position:>3}  {id}  {state:<6}  {action:<6}  {targets}  {name}  {condition}"
    );
}

/// A value by the name that the API and the database know it by.
fn named<T: DeserializeOwned>(text: &str) -> Result<T, String> {
    serde_json::from_value(Value::from(text)).map_err(|error| error.to_string())
}

fn rule_id(text: &str) -> Result<RuleId, String> {
    text.parse().map_err(ToString::to_string)
}

fn rate(text: &str) -> Result<(u32, u32), String> {
    let parts = text.split_once('/');
    let numbers =
        parts.and_then(|(posts, minutes)| Some((posts.parse().ok()?, minutes.parse().ok()?)));
    numbers.ok_or_else(|| "must be a number of posts and of minutes, such as 10/5".to_owned())
}
