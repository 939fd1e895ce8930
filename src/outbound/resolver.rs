//! DNS: the system's resolver, or a scripted one in tests, which sends no query and may change its answers.

use std::collections::{HashMap, VecDeque};
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};

#[derive(Debug, Clone)]
pub enum Resolver {
    System,
    Scripted(Arc<Mutex<Script>>),
}

/// The answers still to be given for each name; the last one stays.
pub type Script = HashMap<String, VecDeque<Vec<IpAddr>>>;

impl Resolver {
    /// Knows no name until one is added.
    pub fn scripted() -> Self {
        Resolver::Scripted(Arc::default())
    }

    /// Adds a name to a scripted resolver: one answer after another, the last one repeats.
    pub fn teach(&self, name: &str, answers: impl IntoIterator<Item = Vec<IpAddr>>) {
        if let Resolver::Scripted(script) = self {
            let mut script = script.lock().unwrap_or_else(PoisonError::into_inner);
            script.insert(name.to_owned(), answers.into_iter().collect());
        }
    }

    /// Every address of a name; empty if it is unknown.
    pub(super) async fn resolve(&self, name: &str) -> Vec<IpAddr> {
        match self {
            Resolver::System => {
                let found = tokio::net::lookup_host((name, 0)).await;
                found.map(|all| all.map(|address| address.ip()).collect()).unwrap_or_default()
            }
            Resolver::Scripted(script) => {
                let mut script = script.lock().unwrap_or_else(PoisonError::into_inner);
                match script.get_mut(name) {
                    Some(answers) if answers.len() > 1 => answers.pop_front().unwrap_or_default(),
                    Some(answers) => answers.front().cloned().unwrap_or_default(),
                    None => Vec::new(),
                }
            }
        }
    }
}
