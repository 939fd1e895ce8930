//! From an endpoint's path and method to its operation. Literal segments win over parameters.

use http::Method;
use serde_json::Value;

use crate::http::operation::Operation;

type Table = matchit::Router<Vec<&'static Operation>>;

#[derive(Debug)]
pub struct Router {
    project: Table,
    server: Table,
}

impl Router {
    /// Fails, naming the path, when two declarations collide.
    pub fn new(operations: &'static [Operation]) -> Result<Self, String> {
        let mut router = Router { project: Table::new(), server: Table::new() };
        for operation in operations {
            let table = if operation.is_project_scoped() {
                &mut router.project
            } else {
                &mut router.server
            };
            match table.at_mut(operation.path) {
                Ok(found) if found.value.iter().all(|o| o.path == operation.path) => {
                    found.value.push(operation);
                }
                _ => table
                    .insert(operation.path, vec![operation])
                    .map_err(|error| format!("{}: {error}", operation.path))?,
            }
        }
        Ok(router)
    }

    pub fn project(&self, method: &Method, path: &str) -> Option<Match> {
        find(&self.project, method, path)
    }

    pub fn server(&self, method: &Method, path: &str) -> Option<Match> {
        find(&self.server, method, path)
    }
}

#[derive(Debug)]
pub struct Match {
    pub operation: &'static Operation,
    pub params: Value,
}

fn find(table: &Table, method: &Method, path: &str) -> Option<Match> {
    let found = table.at(path).ok()?;
    let operation = found.value.iter().find(|operation| operation.method == *method)?;
    Some(Match { operation, params: Value::from_iter(found.params.iter()) })
}
