//! Requests and transactions that race each other.

use std::future::Future;
use std::task::Poll;

use db::{Query, Tx, args};

use super::Reply;

/// Drives all futures at once; their outcomes in the order they were given.
pub async fn all_at_once<F: Future>(futures: impl IntoIterator<Item = F>) -> Vec<F::Output> {
    let mut running: Vec<_> = futures.into_iter().map(Box::pin).collect();
    let mut outcomes: Vec<Option<F::Output>> = running.iter().map(|_| None).collect();
    std::future::poll_fn(|context| {
        for (future, outcome) in running.iter_mut().zip(&mut outcomes) {
            if outcome.is_none()
                && let Poll::Ready(value) = future.as_mut().poll(context)
            {
                *outcome = Some(value);
            }
        }
        if outcomes.iter().all(Option::is_some) { Poll::Ready(()) } else { Poll::Pending }
    })
    .await;
    outcomes.into_iter().flatten().collect()
}

/// How many of the replies have this status.
pub fn count(replies: &[Reply], status: u16) -> usize {
    replies.iter().filter(|reply| reply.status == status).count()
}

/// How many transactions wait for this one.
pub fn somebody_waits_for(tx: &Tx<'_>) -> Result<i64, db::Error> {
    let waiting = match tx.is_distributed()? {
        true => "SELECT count(*) FROM citus_lock_waits",
        false => {
            "SELECT count(*) FROM pg_locks
             WHERE NOT granted AND pg_backend_pid() = ANY (pg_blocking_pids(pid))"
        }
    };
    tx.one(&Query::<i64>::built("waiting", waiting), args![])
}
