//! Who wrote when, for reads from a replica: users always see their own writes. A node remembers its own writers, so
//! users read from a replica only if no other node could have written for them.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use db::Moment;

use crate::auth::credential::Presented;
use crate::error::Result;
use crate::http::operation::CheckedRequest;
use crate::http::reply::Response;
use crate::values::ids::ProjectId;

/// Beyond this many, everybody counts as having written just now.
const MAX_WRITERS: usize = 100_000;

#[derive(Debug, Default)]
pub(super) struct Writers {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    last: HashMap<Writer, Moment>,
    /// When those who are not in the list may have written last.
    others: Option<Moment>,
}

/// A user, or the network of anonymous callers.
pub(super) type Writer = (ProjectId, u128);

impl Writers {
    fn wrote(&self, writer: Writer) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if state.last.len() >= MAX_WRITERS {
            state.last.clear();
            state.others = Some(Moment::now());
        }
        state.last.insert(writer, Moment::now());
    }

    fn last(&self, writer: Writer) -> Option<Moment> {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.last.get(&writer).copied().or(state.others)
    }
}

/// Runs a request: where its reads go, and what it means for later ones.
pub(super) async fn run(
    request: CheckedRequest,
    network: u128,
    work: impl AsyncFnOnce(CheckedRequest) -> Result<Response>,
) -> Result<Response> {
    let app = request.app.clone();
    let reader = reader(&request, network);
    let (reads, tolerates_lag) = (request.operation.is_read(), request.operation.tolerates_lag);
    let work = std::pin::pin!(work(request));
    let Some((writer, may_lag)) = reader else { return work.await };
    let writers = app.features.get::<Writers>();
    if reads && may_lag && tolerates_lag {
        return db::tolerate_lag(writers.last(writer), work).await;
    }
    let reply = work.await;
    if !reads {
        // Whatever the reply: part of it may have been written.
        writers.wrote(writer);
    }
    reply
}

/// Who asks, and whether they may read from a replica unless they wrote; none for those who read from the primary.
fn reader(request: &CheckedRequest, network: u128) -> Option<(Writer, bool)> {
    let app = &request.app;
    if !app.db.has_replica() {
        return None;
    }
    match request.presented {
        Presented::User { user, .. } => {
            let may_lag = app.nodes.others(app.clock.uptime()) == 0;
            Some(((request.project.id, user.0.as_u128()), may_lag))
        }
        Presented::Key { .. } => None,
        _ => Some(((request.project.id, network), true)),
    }
}
