//! A write that accompanies those of a task: it runs in the transaction of the task's first write, after it, and is
//! committed with it or not at all. For records of who caused a change, which no feature has to think of.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use crate::{Error, Tx};

type Run = dyn Fn(&Tx<'_>) -> Result<(), Error> + Send + Sync;

tokio::task_local! {
    static COMPANION: Arc<Companion>;
}

pub(crate) struct Companion {
    run: Box<Run>,
    is_committed: AtomicBool,
}

/// Runs the future; `companion` takes part in its first write that is committed. Like every write it may run more than
/// once.
pub async fn accompanied<T>(
    companion: impl Fn(&Tx<'_>) -> Result<(), Error> + Send + Sync + 'static,
    work: impl Future<Output = T>,
) -> T {
    let companion = Companion { run: Box::new(companion), is_committed: AtomicBool::new(false) };
    COMPANION.scope(Arc::new(companion), work).await
}

/// The companion of the running task, unless an earlier write has taken it along.
pub(crate) fn current() -> Option<Arc<Companion>> {
    let companion = COMPANION.try_with(Arc::clone).ok()?;
    (!companion.is_committed.load(Relaxed)).then_some(companion)
}

impl Companion {
    pub fn run(&self, tx: &Tx<'_>) -> Result<(), Error> {
        (self.run)(tx)
    }

    pub fn committed(&self) {
        self.is_committed.store(true, Relaxed);
    }
}
