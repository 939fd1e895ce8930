//! Managing rules. Every change gives the project's rules a new version and announces it to every node.

use std::sync::Arc;

use db::{Conn, Tx};
use serde::Serialize;

use crate::error::Result;
use crate::features::moderation::RULE_NOT_FOUND;
use crate::features::moderation::rules::model::{InvalidField, MAX_RULES, NewRule, Rule};
use crate::features::moderation::rules::store::{self, Hit, RuleRow};
use crate::state::App;
use crate::tenancy::{Project, store as projects};
use crate::values::ids::{ProjectId, RuleId, new_id};
use crate::values::time::Timestamp;

/// What became of a rule that was to be saved.
#[derive(Debug, Clone, Serialize)]
pub enum Saved {
    Rule(Box<Rule>),
    Invalid(Vec<InvalidField>),
}

/// In the order in which they are asked.
pub fn list(c: &Conn<'_>, project: ProjectId) -> Result<Vec<Rule>> {
    store::list(c, project)?.into_iter().map(Rule::try_from).collect()
}

/// Adds a rule behind the others.
pub async fn create(
    app: &App,
    project: &Arc<Project>,
    rule: &NewRule,
    now: Timestamp,
) -> Result<Saved> {
    let wrong = rule.check();
    if !wrong.is_empty() {
        return Ok(Saved::Invalid(wrong));
    }
    let (project, id) = (project.id, RuleId(new_id(now, &app.random)));
    let rule = rule.clone();
    app.db.write(move |tx| add(tx, project, id, &rule, now)).await
}

/// The same in a transaction of the caller. The rule was checked.
pub fn add(
    tx: &Tx<'_>,
    project: ProjectId,
    id: RuleId,
    rule: &NewRule,
    now: Timestamp,
) -> Result<Saved> {
    lock(tx, project)?;
    let others = store::list(tx, project)?;
    if others.len() >= MAX_RULES {
        let message = format!("a project has at most {MAX_RULES} rules");
        return Ok(Saved::Invalid(vec![InvalidField { field: "name", message }]));
    }
    let last = others.last().map_or(0, |other| other.position);
    let row = RuleRow::new(id, last + 1, rule, now);
    store::insert(tx, project, &row)?;
    Ok(Saved::Rule(Box::new(row.try_into()?)))
}

/// Replaces a rule; refused with `moderation/rule-not-found`.
pub async fn update(
    app: &App,
    project: &Arc<Project>,
    id: RuleId,
    rule: &NewRule,
    now: Timestamp,
) -> Result<Saved> {
    let wrong = rule.check();
    if !wrong.is_empty() {
        return Ok(Saved::Invalid(wrong));
    }
    let (project, rule) = (project.id, rule.clone());
    let updated = app.db.write(move |tx| replace(tx, project, id, &rule, now));
    updated.await.map(|rule| Saved::Rule(Box::new(rule)))
}

/// The same in a transaction of the caller. The rule was checked.
pub fn replace(
    tx: &Tx<'_>,
    project: ProjectId,
    id: RuleId,
    rule: &NewRule,
    now: Timestamp,
) -> Result<Rule> {
    lock(tx, project)?;
    if !store::update(tx, project, &RuleRow::new(id, 0, rule, now))? {
        return Err(RULE_NOT_FOUND.into());
    }
    find(tx, project, id)
}

/// Refused with `moderation/rule-not-found`.
pub fn find(c: &Conn<'_>, project: ProjectId, id: RuleId) -> Result<Rule> {
    let found = list(c, project)?.into_iter().find(|rule| rule.id == id);
    found.ok_or(RULE_NOT_FOUND.into())
}

/// False if there is no such rule. What it holds stays in the queue.
pub async fn delete(app: &App, project: &Arc<Project>, id: RuleId) -> Result<bool> {
    let project = project.id;
    app.db.write(move |tx| remove(tx, project, id)).await
}

/// The same in a transaction of the caller.
pub fn remove(tx: &Tx<'_>, project: ProjectId, id: RuleId) -> Result<bool> {
    lock(tx, project)?;
    store::delete(tx, project, id)
}

/// Puts the rules into this order; those that are not named keep theirs, behind.
pub async fn reorder(app: &App, project: &Arc<Project>, order: &[RuleId]) -> Result<Vec<Rule>> {
    let (project, order) = (project.id, order.to_vec());
    app.db.write(move |tx| order_rules(tx, project, &order)).await
}

/// The same in a transaction of the caller.
pub fn order_rules(tx: &Tx<'_>, project: ProjectId, order: &[RuleId]) -> Result<Vec<Rule>> {
    lock(tx, project)?;
    let all: Vec<RuleId> = store::list(tx, project)?.iter().map(|row| row.id).collect();
    let others = all.iter().filter(|id| !order.contains(id));
    let known = order.iter().filter(|id| all.contains(id));
    for (position, id) in (1..).zip(known.chain(others)) {
        store::place(tx, project, *id, position)?;
    }
    list(tx, project)
}

/// What a rule in shadow would have acted on: the newest, and how many there are.
pub fn shadow_hits(
    c: &Conn<'_>,
    project: ProjectId,
    rule: RuleId,
    limit: i64,
) -> Result<(Vec<Hit>, i64)> {
    store::hits(c, project, rule, limit.clamp(1, 100))
}

/// Changes of rules wait for each other at the project's row; every node drops its copy of the rules.
fn lock(tx: &Tx<'_>, project: ProjectId) -> Result<()> {
    projects::rules_changed(tx, project)
}
