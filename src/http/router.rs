//! From an endpoint's method and path to its operation. Literal segments win over parameters, but only
//! over those of the same method.

use std::collections::HashMap;

use http::Method;
use serde_json::Value;

use crate::http::operation::Operation;

type Table = HashMap<Method, matchit::Router<&'static Operation>>;

#[derive(Debug)]
pub struct Router {
    project: Table,
    server: Table,
}

impl Router {
    /// Fails, naming the path, when two declarations collide.
    pub fn new(operations: impl IntoIterator<Item = &'static Operation>) -> Result<Self, String> {
        let mut router = Router { project: Table::new(), server: Table::new() };
        for operation in operations {
            let table = if operation.is_project_scoped() {
                &mut router.project
            } else {
                &mut router.server
            };
            let paths = table.entry(operation.method.clone()).or_default();
            paths
                .insert(operation.path, operation)
                .map_err(|error| format!("{}: {error}", operation.path))?;
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
    let found = table.get(method)?.at(path).ok()?;
    Some(Match { operation: found.value, params: Value::from_iter(found.params.iter()) })
}
