//! Reads that many ask for at once. Anonymous callers with the same question get the same reply, so those who wait
//! share one: a page that thousands open at once costs the database one read after the other, not thousands together.
//!
//! A reply is never older than its question: a read that has begun takes no more callers.

use std::collections::HashMap;
use std::hash::{Hash, Hasher};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use db::Moment;
use serde_json::Value;
use tokio::sync::{self, OnceCell};

use crate::auth::credential::Presented;
use crate::error::{Error, Result};
use crate::http::address::Dialect;
use crate::http::operation::CheckedRequest;
use crate::http::reply::{Body, Response};
use crate::http::version::Version;
use crate::tenancy::Project;

/// Runs a request, or waits for another one that asks the same.
pub(super) async fn run(
    request: CheckedRequest,
    dialect: Dialect,
    work: impl AsyncFnOnce(CheckedRequest) -> Result<Response>,
) -> Result<Response> {
    let Some(question) = Question::of(&request, dialect) else { return work(request).await };
    let lines = request.app.features.get::<Lines<Question>>();
    lines.answer(question, async || work(request).await).await
}

/// Everything that the reply depends on.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Question {
    operation: &'static str,
    version: Version,
    dialect: Dialect,
    project: Settings,
    params: Value,
    query: String,
    /// The caller's last write, which a replica must have.
    since: Option<Moment>,
}

impl Question {
    /// None if the reply may depend on the caller.
    fn of(request: &CheckedRequest, dialect: Dialect) -> Option<Self> {
        let is_anonymous = match request.presented {
            Presented::Nothing | Presented::Placeholder | Presented::Unusable => true,
            Presented::User { .. } | Presented::Key { .. } => false,
        };
        let is_shared = request.operation.is_shared && is_anonymous && request.body.is_empty();
        is_shared.then(|| Question {
            operation: &request.operation.id,
            version: request.version,
            dialect,
            project: Settings(request.project.clone()),
            params: request.params.clone(),
            query: request.query_text.clone(),
            since: db::must_see(),
        })
    }
}

/// A project as this request has found it: after a change of its settings it is another one.
#[derive(Debug, Clone)]
struct Settings(Arc<Project>);

impl PartialEq for Settings {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for Settings {}

impl Hash for Settings {
    fn hash<H: Hasher>(&self, state: &mut H) {
        Arc::as_ptr(&self.0).hash(state);
    }
}

/// Those who wait, in one line for each question.
#[derive(Debug)]
struct Lines<Q> {
    lines: Mutex<HashMap<Q, Line>>,
}

#[derive(Debug, Default)]
struct Line {
    callers: usize,
    /// Held while a reply is read.
    turn: Arc<sync::Mutex<()>>,
    next: Next,
}

/// The reply of the next read; none if each of its callers has to ask alone.
type Next = Arc<OnceCell<Option<http::Response<Bytes>>>>;

impl<Q> Default for Lines<Q> {
    fn default() -> Self {
        Lines { lines: Mutex::default() }
    }
}

impl<Q: Clone + Eq + Hash> Lines<Q> {
    async fn answer(
        &self,
        question: Q,
        read: impl AsyncFnOnce() -> Result<Response>,
    ) -> Result<Response> {
        let place = self.join(question);
        let (mut read, mut own) = (Some(read), None);
        let shared = {
            let reading = std::pin::pin!(async {
                let _turn = place.turn.lock().await;
                place.begin();
                let reply = read.take()?().await;
                let copy = reply.as_ref().ok().and_then(copied);
                own = Some(reply);
                copy
            });
            // If this caller goes away while it reads for others, one of them reads.
            place.next.get_or_init(|| reading).await
        };
        match (own, shared) {
            (Some(reply), _) => reply,
            (None, Some(copy)) => Ok(copy.clone().map(Body::Whole)),
            (None, None) => {
                let read = read.ok_or_else(|| Error::internal("a shared read had no reply"))?;
                read().await
            }
        }
    }

    fn join(&self, question: Q) -> Place<'_, Q> {
        let mut lines = self.lock();
        let line = lines.entry(question.clone()).or_default();
        line.callers += 1;
        let (turn, next) = (line.turn.clone(), line.next.clone());
        Place { lines: self, question, turn, next }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Q, Line>> {
        self.lines.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A caller's place in a line, which ends with it.
struct Place<'a, Q: Clone + Eq + Hash> {
    lines: &'a Lines<Q>,
    question: Q,
    turn: Arc<sync::Mutex<()>>,
    next: Next,
}

impl<Q: Clone + Eq + Hash> Place<'_, Q> {
    /// Later callers wait for the read after this one.
    fn begin(&self) {
        if let Some(line) = self.lines.lock().get_mut(&self.question)
            && Arc::ptr_eq(&line.next, &self.next)
        {
            line.next = Next::default();
        }
    }
}

impl<Q: Clone + Eq + Hash> Drop for Place<'_, Q> {
    fn drop(&mut self) {
        let mut lines = self.lines.lock();
        if let Some(line) = lines.get_mut(&self.question) {
            line.callers -= 1;
            if line.callers == 0 {
                lines.remove(&self.question);
            }
        }
    }
}

/// A reply that others can have, too: one that is in memory.
fn copied(reply: &Response) -> Option<http::Response<Bytes>> {
    let Body::Whole(body) = reply.body() else { return None };
    let mut copy = http::Response::new(body.clone());
    *copy.status_mut() = reply.status();
    *copy.headers_mut() = reply.headers().clone();
    *copy.extensions_mut() = reply.extensions().clone();
    Some(copy)
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::pin::pin;
    use std::task::Poll;

    use tokio::sync::Semaphore;

    use super::*;
    use crate::http::reply::{TEXT, with_body};

    /// A database whose reads end when the test says so. Their replies are numbered.
    struct Reads {
        begun: Cell<usize>,
        may_end: Semaphore,
    }

    impl Reads {
        fn new() -> Self {
            Reads { begun: Cell::new(0), may_end: Semaphore::new(0) }
        }

        async fn read(&self) -> Result<Response> {
            let number = self.begun.get() + 1;
            self.begun.set(number);
            self.may_end.acquire().await.unwrap().forget();
            Ok(with_body(http::StatusCode::OK, TEXT, number.to_string()))
        }
    }

    fn text(reply: Result<Response>) -> String {
        match reply.unwrap().into_body() {
            Body::Whole(bytes) => String::from_utf8(bytes.to_vec()).unwrap(),
            _ => String::new(),
        }
    }

    /// Runs a caller until it waits.
    macro_rules! begin {
        ($caller:expr) => {
            std::future::poll_fn(|context| {
                assert!($caller.as_mut().poll(context).is_pending());
                Poll::Ready(())
            })
            .await
        };
    }

    #[tokio::test]
    async fn those_who_wait_share_the_next_read() {
        let (lines, reads) = (Lines::default(), Reads::new());
        let mut first = pin!(lines.answer("newest", async || reads.read().await));
        let mut second = pin!(lines.answer("newest", async || reads.read().await));
        let mut third = pin!(lines.answer("newest", async || reads.read().await));
        begin!(first);
        begin!(second);
        begin!(third);
        assert_eq!(reads.begun.get(), 1, "the others came after it had begun");
        reads.may_end.add_permits(2);
        assert_eq!(text(first.await), "1");
        let (second, third) = tokio::join!(second, third);
        assert_eq!([text(second), text(third)], ["2", "2"]);
        assert!(lines.lock().is_empty());
    }

    #[tokio::test]
    async fn another_question_waits_for_nobody() {
        let (lines, reads) = (Lines::default(), Reads::new());
        let mut newest = pin!(lines.answer("newest", async || reads.read().await));
        begin!(newest);
        reads.may_end.add_permits(2);
        assert_eq!(text(lines.answer("hottest", async || reads.read().await).await), "2");
    }

    #[tokio::test]
    async fn a_read_that_fails_is_for_its_caller_alone() {
        let (lines, reads) = (Lines::default(), Reads::new());
        let mut first = pin!(lines.answer("newest", async || reads.read().await));
        let mut failing =
            pin!(lines.answer("newest", async || Err(Error::Busy("no connection is free"))));
        let mut third = pin!(lines.answer("newest", async || reads.read().await));
        begin!(first);
        begin!(failing);
        begin!(third);
        reads.may_end.add_permits(2);
        assert_eq!(text(first.await), "1");
        let (failing, third) = tokio::join!(failing, third);
        assert!(matches!(failing, Err(Error::Busy(_))));
        assert_eq!(text(third), "2");
    }

    #[tokio::test]
    async fn a_caller_who_goes_away_leaves_the_read_to_others() {
        let (lines, reads) = (Lines::default(), Reads::new());
        let mut first = Box::pin(lines.answer("newest", async || reads.read().await));
        let mut second = Box::pin(lines.answer("newest", async || reads.read().await));
        let mut third = Box::pin(lines.answer("newest", async || reads.read().await));
        begin!(first);
        begin!(second);
        begin!(third);
        drop(first);
        begin!(second);
        assert_eq!(reads.begun.get(), 2);
        drop(second);
        reads.may_end.add_permits(1);
        assert_eq!(text(third.await), "3");
        assert!(lines.lock().is_empty());
    }
}
