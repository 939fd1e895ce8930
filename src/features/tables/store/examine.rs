//! Checks that every table in the catalogue exists.

use db::{Conn, Query, Value};
use uuid::Uuid;

use crate::error::Result;
use crate::features::tables::sql::Dialect;
use crate::features::tables::store::catalogue;

/// The number of tables, and the problems found.
pub fn examine(c: &Conn<'_>, dialect: Dialect) -> Result<(usize, Vec<String>)> {
    let (mut count, mut wrong) = (0, Vec::new());
    for project in catalogue::projects(c)? {
        for table in catalogue::list(c, project)? {
            count += 1;
            let query =
                Query::<Vec<Value<'static>>>::built("tables::examine", dialect.find(&table));
            if let Err(error) = c.opt(&query, &[Uuid::nil().into()]) {
                wrong.push(format!("table {} of project {project}: {error}", table.name));
            }
        }
    }
    Ok((count, wrong))
}
