//! The rules that a space publishes for its members: readable by everybody, edited and ordered by its admins.

use std::collections::BTreeSet;

use db::{Conn, Tx};
use http::Method;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::auth::caller::{ActorOrKey, Anyone};
use crate::error::{Error, Fault, Result, faults};
use crate::features::spaces::authority::{self, Authority};
use crate::features::spaces::rules::{Explanation, Title};
use crate::features::spaces::store::rulebook::{self as store, RuleRow};
use crate::features::spaces::{ADMIN_REQUIRED, NOT_FOUND, ON_BEHALF, store as spaces};
use crate::http::input::{Body, Invalid, Path};
use crate::http::operation::{Call, Operation};
use crate::http::patch::Patch;
use crate::http::reply::{Created, Json};
use crate::values::ids::{ProjectId, SpaceId, SpaceRuleId, UserId, new_id};
use crate::values::time::Timestamp;

faults! {
    RULE_NOT_FOUND = 404 "rule/not-found": "Rule not found";
    INVALID_PARAMS = 400 "rule/invalid-params": "Invalid path parameters";
    INVALID_BODY = 400 "rule/invalid-body": "Invalid body";
    INVALID_IDS = 400 "rule/invalid-ids": "Some rules are not of this space";
}

/// All rules are read and ordered at once.
const MAX_RULES: i64 = 200;

const INVALID: Invalid = Invalid { params: INVALID_PARAMS, ..Invalid::all(INVALID_BODY) };

pub(super) fn operations() -> Vec<Operation> {
    let (get, patch, feature) = (Method::GET, Method::PATCH, "rule");
    let (all, one) = ("/spaces/{spaceId}/rules", "/spaces/{spaceId}/rules/{ruleId}");
    let of_admins: &[Fault] = &[NOT_FOUND, ADMIN_REQUIRED];
    let of_rules: &[Fault] = &[NOT_FOUND, ADMIN_REQUIRED, RULE_NOT_FOUND];
    vec![
        Operation::new(get.clone(), all, "List Rules", feature, INVALID, list_rules)
            .errors(&[NOT_FOUND]),
        Operation::new(get, one, "Fetch Rule", feature, INVALID, fetch_rule)
            .errors(&[NOT_FOUND, RULE_NOT_FOUND]),
        Operation::new(Method::POST, all, "Create Rule", feature, INVALID, create_rule)
            .acts_as(ON_BEHALF)
            .errors(of_admins),
        Operation::new(
            patch.clone(),
            "/spaces/{spaceId}/rules/reorder",
            "Reorder Rules",
            feature,
            INVALID,
            reorder_rules,
        )
        .acts_as(ON_BEHALF)
        .errors(&[NOT_FOUND, ADMIN_REQUIRED, INVALID_IDS]),
        Operation::new(patch, one, "Update Rule", feature, INVALID, update_rule)
            .acts_as(ON_BEHALF)
            .errors(of_rules),
        Operation::new(Method::DELETE, one, "Delete Rule", feature, INVALID, delete_rule)
            .acts_as(ON_BEHALF)
            .errors(of_rules),
    ]
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "SpaceRule")]
struct Rule {
    id: SpaceRuleId,
    project_id: ProjectId,
    space_id: SpaceId,
    title: String,
    description: Option<String>,
    order: i64,
    /// The user who wrote it last; null if a key did.
    last_approved_by: Option<UserId>,
    created_at: Timestamp,
    updated_at: Timestamp,
}

impl Rule {
    fn new(project_id: ProjectId, row: RuleRow) -> Self {
        Rule {
            id: row.id,
            project_id,
            space_id: row.space_id,
            title: row.title,
            description: row.description,
            order: row.position,
            last_approved_by: row.approved_by_id,
            created_at: row.created_at,
            updated_at: row.updated_at,
        }
    }
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct RulesPath {
    space_id: SpaceId,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct RulePath {
    space_id: SpaceId,
    rule_id: SpaceRuleId,
}

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "SpaceRules")]
struct Rules {
    data: Vec<Rule>,
    count: usize,
}

fn find(c: &Conn<'_>, project: ProjectId, path: &RulePath) -> Result<RuleRow> {
    let found = store::find(c, project, path.rule_id)?;
    found.filter(|row| row.space_id == path.space_id).ok_or(RULE_NOT_FOUND.into())
}

async fn list_rules(call: Call<Anyone>, Path(path): Path<RulesPath>) -> Result<Json<Rules>> {
    let project = call.project.id;
    let found = call.app.db.read(move |c| {
        spaces::find(c, project, path.space_id)?.ok_or(NOT_FOUND)?;
        store::list(c, project, path.space_id)
    });
    let data: Vec<Rule> = found.await?.into_iter().map(|row| Rule::new(project, row)).collect();
    Ok(Json(Rules { count: data.len(), data }))
}

async fn fetch_rule(call: Call<Anyone>, Path(path): Path<RulePath>) -> Result<Json<Rule>> {
    let project = call.project.id;
    let found = call.app.db.read(move |c| {
        spaces::find(c, project, path.space_id)?.ok_or(NOT_FOUND)?;
        find(c, project, &path)
    });
    Ok(Json(Rule::new(project, found.await?)))
}

#[derive(Debug, Deserialize, JsonSchema)]
struct NewRule {
    title: Title,
    description: Option<Explanation>,
}

async fn create_rule(
    call: Call<ActorOrKey>,
    (Path(path), Body(new)): (Path<RulesPath>, Body<NewRule>),
) -> Result<Created<Rule>> {
    let (project, caller, now) = (call.project.id, call.caller, call.now);
    let id = SpaceRuleId(new_id(now, &call.app.random));
    let created = call.app.db.write(move |tx| {
        let held = authority::lock(tx, project, path.space_id, caller, Authority::Admin)?;
        let (last, count) = store::last(tx, project, path.space_id)?;
        if count >= MAX_RULES {
            return Err(INVALID_BODY.because("a space has at most 200 rules"));
        }
        let row = RuleRow {
            id,
            space_id: held.space.id,
            title: new.title.as_str().to_owned(),
            description: new.description.clone().map(Explanation::into_text),
            position: last.map_or(0, |last| last + 1),
            approved_by_id: held.by,
            created_at: now,
            updated_at: now,
        };
        store::insert(tx, project, &row)?;
        Ok::<_, Error>(row)
    });
    Ok(Created(Rule::new(project, created.await?)))
}

#[derive(Debug, Default, Clone, Deserialize, JsonSchema)]
#[serde(default)]
struct RuleUpdate {
    title: Option<Title>,
    description: Patch<Explanation>,
}

async fn update_rule(
    call: Call<ActorOrKey>,
    (Path(path), Body(update)): (Path<RulePath>, Body<RuleUpdate>),
) -> Result<Json<Rule>> {
    if update.title.is_none() && update.description == Patch::Absent {
        return Err(INVALID_BODY.because("title or description is needed"));
    }
    let (project, caller, now) = (call.project.id, call.caller, call.now);
    let updated = call.app.db.write(move |tx| {
        let held = authority::lock(tx, project, path.space_id, caller, Authority::Admin)?;
        let mut row = find(tx, project, &path)?;
        let RuleUpdate { title, description } = update.clone();
        if let Some(title) = title {
            row.title = title.into_text();
        }
        description.map(Explanation::into_text).put(&mut row.description);
        (row.approved_by_id, row.updated_at) = (held.by, now);
        store::update(tx, project, &row)?;
        Ok::<_, Error>(row)
    });
    Ok(Json(Rule::new(project, updated.await?)))
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct DeletedRule {
    message: &'static str,
    deleted_rule: RuleName,
}

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "DeletedRuleName")]
struct RuleName {
    id: SpaceRuleId,
    title: String,
}

async fn delete_rule(
    call: Call<ActorOrKey>,
    Path(path): Path<RulePath>,
) -> Result<Json<DeletedRule>> {
    let (project, caller) = (call.project.id, call.caller);
    let deleted = call.app.db.write(move |tx| {
        authority::lock(tx, project, path.space_id, caller, Authority::Admin)?;
        let row = find(tx, project, &path)?;
        store::delete(tx, project, row.id)?;
        Ok::<_, Error>(row)
    });
    let RuleRow { id, title, .. } = deleted.await?;
    let deleted_rule = RuleName { id, title };
    Ok(Json(DeletedRule { message: "Rule deleted.", deleted_rule }))
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "RuleOrder")]
struct NewOrder {
    rule_ids: Vec<SpaceRuleId>,
}

async fn reorder_rules(
    call: Call<ActorOrKey>,
    (Path(path), Body(NewOrder { rule_ids })): (Path<RulesPath>, Body<NewOrder>),
) -> Result<Json<Vec<Rule>>> {
    let distinct: BTreeSet<SpaceRuleId> = rule_ids.iter().copied().collect();
    if rule_ids.is_empty() || distinct.len() < rule_ids.len() {
        return Err(INVALID_BODY.because("ruleIds: must name at least one rule, and none twice"));
    }
    let (project, caller) = (call.project.id, call.caller);
    let ordered = call.app.db.write(move |tx| {
        authority::lock(tx, project, path.space_id, caller, Authority::Admin)?;
        reorder(tx, project, path.space_id, &rule_ids)
    });
    let rules = ordered.await?.into_iter().map(|row| Rule::new(project, row));
    Ok(Json(rules.collect()))
}

/// The named rules first, in that order; the others follow in their old order.
fn reorder(
    tx: &Tx<'_>,
    project: ProjectId,
    space: SpaceId,
    named: &[SpaceRuleId],
) -> Result<Vec<RuleRow>> {
    let mut rows = store::list(tx, project, space)?;
    let missing = named.iter().filter(|id| rows.iter().all(|row| row.id != **id));
    let missing: Vec<String> = missing.map(ToString::to_string).collect();
    if !missing.is_empty() {
        return Err(INVALID_IDS.with("missingIds", missing));
    }
    rows.sort_by_key(|row| named.iter().position(|id| *id == row.id).unwrap_or(named.len()));
    for (position, row) in (0..).zip(&mut rows) {
        if row.position != position {
            row.position = position;
            store::set_position(tx, project, row.id, position)?;
        }
    }
    Ok(rows)
}
