//! `townhall migrate distribute`: the tables onto the workers of a cluster (PostgreSQL with Citus), every project
//! on one of them; and the words in which `migrate status` and `doctor` say how the tables lie.

use std::fmt::Write as _;

use db::{Db, Layout};
use serde_json::{Value, json};

use crate::cli::{Admin, CommandResult, Output};
use crate::schema::DISTRIBUTION;
use crate::tenancy::store as projects;
use crate::values::ids::ProjectId;

const NO_CLUSTER: &str =
    "this database cannot be distributed: it is not PostgreSQL with the extension citus";

pub(super) fn run(isolate: Option<ProjectId>, admin: &Admin) -> CommandResult {
    let plain = |error: db::Error| error.to_string();
    let moved = admin.db.distribute(&DISTRIBUTION).map_err(plain)?.ok_or(NO_CLUSTER)?;
    let mut text = format!("{} distributed\n", moved.len());
    let mut json = json!({ "distributed": moved });
    if let Some(project) = isolate {
        if admin.read(move |c| projects::find(c, project))?.is_none() {
            return Err(format!("there is no project {project}"));
        }
        let is_new = admin.db.isolate(&project.to_string()).map_err(plain)?;
        let when = if is_new { "now" } else { "already" };
        let _ = writeln!(text, "project {project} has {when} shards of its own");
        json["isolated"] = is_new.into();
    }
    if let Some(layout) = layout(&admin.db)? {
        let _ = writeln!(text, "tables: {}", described(&layout));
        json["tables"] = document(&layout);
    }
    Ok(Output::new(text, json))
}

/// How the tables lie; none if the database is no cluster.
pub(super) fn layout(db: &Db) -> CommandResult<Option<Layout>> {
    db.layout(&DISTRIBUTION).map_err(|error| error.to_string())
}

pub(super) fn described(layout: &Layout) -> String {
    let Layout { workers, tables, shards, isolated, schemas, astray } = layout;
    if *tables == 0 {
        return "all on the coordinator: townhall migrate distribute".to_owned();
    }
    let mut text = format!(
        "{tables} by project in {shards} shards on {workers} workers, {isolated} shards of one project \
         alone, custom tables of {schemas} projects"
    );
    if !astray.is_empty() {
        let _ = write!(
            text,
            "; not distributed, see townhall migrate distribute: {}",
            astray.join(", ")
        );
    }
    text
}

fn document(layout: &Layout) -> Value {
    let Layout { workers, tables, shards, isolated, schemas, astray } = layout;
    json!({
        "workers": workers,
        "distributed": tables,
        "shards": shards,
        "isolatedShards": isolated,
        "projectsWithCustomTables": schemas,
        "notDistributed": astray,
    })
}
