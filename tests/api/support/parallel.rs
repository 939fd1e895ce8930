//! Requests that race each other: all of them are on their way before the first is answered.

use std::future::Future;
use std::pin::Pin;
use std::task::Poll;

use super::Reply;

/// Drives all futures at once; their outcomes in the order they were given.
pub async fn all_at_once<F: Future>(futures: impl IntoIterator<Item = F>) -> Vec<F::Output> {
    let mut running: Vec<(Pin<Box<F>>, Option<F::Output>)> =
        futures.into_iter().map(|future| (Box::pin(future), None)).collect();
    std::future::poll_fn(|context| {
        for (future, outcome) in running.iter_mut().filter(|(_, outcome)| outcome.is_none()) {
            if let Poll::Ready(value) = future.as_mut().poll(context) {
                *outcome = Some(value);
            }
        }
        if running.iter().all(|(_, outcome)| outcome.is_some()) {
            Poll::Ready(())
        } else {
            Poll::Pending
        }
    })
    .await;
    running.into_iter().filter_map(|(_, outcome)| outcome).collect()
}

/// How many of the replies have this status.
pub fn count(replies: &[Reply], status: u16) -> usize {
    replies.iter().filter(|reply| reply.status == status).count()
}
