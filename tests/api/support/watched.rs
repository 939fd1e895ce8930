//! The statements that a piece of work runs, for tests that count or explain them.

use std::sync::{Arc, Mutex};

/// Name and text, as the engine sees it.
pub type Seen = (&'static str, String);

#[derive(Debug, Clone, Default)]
pub struct Watched(Arc<Mutex<Option<Vec<Seen>>>>);

impl Watched {
    pub(super) fn hook(&self) -> db::Watch {
        let seen = self.0.clone();
        Arc::new(move |name, text| {
            if let Some(seen) = seen.lock().unwrap().as_mut() {
                seen.push((name, text.to_owned()));
            }
        })
    }

    /// Everything that the database is asked meanwhile.
    pub async fn during(&self, work: impl Future) -> Vec<Seen> {
        *self.0.lock().unwrap() = Some(Vec::new());
        work.await;
        self.0.lock().unwrap().take().unwrap()
    }
}
