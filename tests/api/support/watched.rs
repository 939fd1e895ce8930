//! The statements that a piece of work runs, for tests that count or explain them.

use std::collections::HashSet;
use std::sync::{Arc, LazyLock, Mutex};

use db::Engine;
use townhall::features;

use super::project_scope::unbound;

/// Name and text, as the engine sees it.
pub type Seen = (&'static str, String);

#[derive(Debug, Clone, Default)]
pub struct Watched(Arc<Mutex<Option<Vec<Seen>>>>);

impl Watched {
    pub(super) fn hook(&self, engine: Engine) -> db::Watch {
        let seen = self.0.clone();
        Arc::new(move |db::Ran { name, sql: text, .. }| {
            if engine == Engine::Postgres {
                keeps_to_its_project(name, text);
            }
            if let Some(seen) = seen.lock().unwrap().as_mut() {
                seen.push((name, text.to_owned()));
            }
        })
    }

    /// The statements that run meanwhile. Not those that load a project: another node's announcement of a change makes
    /// this one load it again, at any time.
    pub async fn during(&self, work: impl Future) -> Vec<Seen> {
        *self.0.lock().unwrap() = Some(Vec::new());
        work.await;
        let mut seen = self.0.lock().unwrap().take().unwrap();
        seen.retain(|(name, _)| !name.starts_with("townhall::tenancy::"));
        seen
    }
}

/// Whatever a test does, every statement that is built at run time keeps to its project. For the others there is
/// the registry.
fn keeps_to_its_project(name: &'static str, text: &str) {
    static KNOWN: LazyLock<HashSet<&str>> =
        LazyLock::new(|| features::statements().map(|statement| statement.name()).collect());
    static SEEN: Mutex<Option<HashSet<String>>> = Mutex::new(None);
    let is_of_a_test = !name.contains("::") || name.starts_with("test");
    if is_of_a_test || name.starts_with("db::") || KNOWN.contains(name) {
        return;
    }
    if SEEN.lock().unwrap().get_or_insert_default().insert(text.to_owned()) {
        let elsewhere = unbound(text);
        assert!(elsewhere.is_empty(), "{name} leaves its project with {elsewhere:?}: {text}");
    }
}
