//! `townhall audit`

use std::fmt::Write as _;

use clap::Args;
use serde_json::{Value, json};

use crate::audit::store::{self, Filter};
use crate::audit::{Entry, INSTALLATION, verify_all};
use crate::cli::{Admin, CommandResult, Output, project_id};
use crate::values::ids::ProjectId;

#[derive(Debug, Args)]
pub(super) struct AuditArgs {
    /// Of this project; without it, of the whole installation
    #[arg(long, value_parser = project_id, value_name = "ID")]
    project: Option<ProjectId>,
    /// Only what this operator or key did
    #[arg(long, value_name = "NAME")]
    actor: Option<String>,
    /// Only this action
    #[arg(long)]
    action: Option<String>,
    #[arg(long, default_value_t = 100, value_name = "N")]
    limit: u32,
    /// Read every entry of every project and compare with the seals
    #[arg(long)]
    verify: bool,
}

pub(super) fn run(args: &AuditArgs, admin: &Admin) -> CommandResult {
    if args.verify {
        return check(admin);
    }
    let (project, limit) = (args.project.unwrap_or(INSTALLATION), i64::from(args.limit));
    let filter = Filter { actor: args.actor.clone(), action: args.action.clone(), before: None };
    let entries = admin.read(move |c| store::list(c, project, &filter, limit))?;
    let mut text = String::new();
    for Entry { at, actor_name, client, action, target, new_state, .. } in &entries {
        let (client, new) = (client.as_deref().unwrap_or("-"), new_state.as_deref().unwrap_or(""));
        let _ = writeln!(text, "{at}  {actor_name}  {client}  {action}  {target}  {new}");
    }
    Ok(Output::new(text, json!(entries)))
}

fn check(admin: &Admin) -> CommandResult {
    let findings = admin.read(verify_all)?;
    let mut text = String::new();
    for (project, finding) in &findings {
        let after = finding.after.map_or_else(|| "the beginning".to_owned(), |id| id.to_string());
        let _ = writeln!(text, "{project}: {} between {after} and {}", finding.text, finding.last);
    }
    if findings.is_empty() {
        text.push_str("every entry is as it was sealed\n");
    }
    let json: Vec<Value> = findings
        .iter()
        .map(|(project, f)| json!({ "projectId": project, "after": f.after, "last": f.last, "problem": f.text }))
        .collect();
    Ok(Output { text, json: json.into(), failed: !findings.is_empty() })
}
