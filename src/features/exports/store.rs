//! The SQL that reads documents. It is made from the declared types.

use db::{Conn, Query, Value, args};

use super::kinds::Kind;
use crate::error::Result;
use crate::values::ids::{ProjectId, UserId};

const NAME: &str = "exports";
const DELETED: &str = "deleted_at";
const DEPTH: &str = "depth";

type Take<'t> = &'t mut dyn FnMut(Vec<Value<'static>>);

/// Passes on every document of a type: in the order of its key, parents first. What was deleted is left out.
pub fn each(c: &Conn<'_>, project: ProjectId, kind: &Kind, take: Take<'_>) -> Result<()> {
    let query = Query::<Vec<Value<'static>>>::built(NAME, select(kind, ""));
    Ok(c.each(&query, args![project], take)?)
}

/// The same of one user.
pub fn each_of_user(
    c: &Conn<'_>,
    project: ProjectId,
    user: UserId,
    kind: &Kind,
    take: Take<'_>,
) -> Result<()> {
    let owners: Vec<String> = kind.owners.iter().map(|owner| format!("m.{owner} = $2")).collect();
    let text = select(kind, &format!(" AND ({})", owners.join(" OR ")));
    Ok(c.each(&Query::<Vec<Value<'static>>>::built(NAME, text), args![project, user], take)?)
}

/// How many documents of a type a user has.
pub fn count_of_user(c: &Conn<'_>, project: ProjectId, user: UserId, kind: &Kind) -> Result<u64> {
    let mut count = 0;
    each_of_user(c, project, user, kind, &mut |_| count += 1)?;
    Ok(count)
}

/// The columns with the project first: those of the table, then those of its bodies.
fn select(kind: &Kind, condition: &str) -> String {
    let bodies = kind.body.map_or(kind.fields.len(), |(_, first)| first);
    let columns = kind.fields.iter().enumerate().map(|(at, field)| {
        let table = if at < bodies { "m" } else { "b" };
        format!("{table}.\"{}\"", field.column)
    });
    let columns: Vec<String> = columns.collect();
    let mut text = format!("SELECT {} FROM {} m", columns.join(", "), kind.table);
    if let Some((body, _)) = kind.body {
        text += &format!(" JOIN {body} b ON b.project_id = m.project_id AND b.id = m.id");
    }
    text += &format!(" WHERE m.project_id = $1{condition}");
    if kind.place(DELETED).is_some() {
        text += &format!(" AND m.{DELETED} IS NULL");
    }
    let depth = kind.by_depth.then(|| format!("m.{DEPTH}"));
    let key = kind.key.iter().map(|at| format!("m.\"{}\"", kind.fields[*at].column));
    let order: Vec<String> = depth.into_iter().chain(key).collect();
    text + &format!(" ORDER BY {}", order.join(", "))
}
