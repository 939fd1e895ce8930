//! OpenTelemetry traces, when a collector is configured: one span for each request, sent as OTLP over HTTP in JSON. No
//! request waits for it: spans go into a bounded queue, and what finds it full is dropped and counted.

mod context;
mod export;

pub use context::Context;

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use http::{HeaderMap, Method};
use tokio::sync::{Notify, mpsc};
use tokio::task::JoinHandle;

use crate::config::TraceSettings;
use crate::values::ids::ProjectId;
use crate::values::random::Random;
use crate::values::time::Timestamp;

/// Spans that wait for the collector.
const QUEUE: usize = 4096;
/// How long the collector may take for the last of them.
const LAST_SPANS: Duration = Duration::from_secs(3);

#[derive(Debug)]
pub struct Traces {
    settings: TraceSettings,
    queue: mpsc::Sender<Span>,
    /// Until the exporter takes it.
    waiting: Mutex<Option<mpsc::Receiver<Span>>>,
    stop: Notify,
    exported: AtomicU64,
    dropped: AtomicU64,
}

/// A request that was served: its pattern, never its address, a body or a credential.
#[derive(Debug)]
pub struct Span {
    pub context: Context,
    pub method: Method,
    pub route: Option<&'static str>,
    pub version: Option<&'static str>,
    pub project: Option<ProjectId>,
    pub status: u16,
    pub request_id: String,
    pub began: Timestamp,
    pub took: Duration,
    pub in_database: Duration,
}

/// Spans since the start.
#[derive(Debug, Clone, Copy)]
pub struct Figures {
    pub exported: u64,
    pub dropped: u64,
}

impl Traces {
    pub fn new(settings: TraceSettings) -> Arc<Self> {
        let (queue, waiting) = mpsc::channel(QUEUE);
        Arc::new(Traces {
            settings,
            queue,
            waiting: Mutex::new(Some(waiting)),
            stop: Notify::new(),
            exported: AtomicU64::new(0),
            dropped: AtomicU64::new(0),
        })
    }

    /// The trace of a request, if it is to be recorded.
    pub fn begin(&self, headers: &HeaderMap, random: &Random) -> Option<Context> {
        context::begin(headers, random, self.settings.ratio)
    }

    pub fn record(&self, span: Span) {
        if self.queue.try_send(span).is_err() {
            self.dropped.fetch_add(1, Relaxed);
        }
    }

    pub fn figures(&self) -> Figures {
        Figures { exported: self.exported.load(Relaxed), dropped: self.dropped.load(Relaxed) }
    }
}

/// Sends spans in the background.
#[derive(Debug)]
pub struct Exporter {
    traces: Arc<Traces>,
    task: JoinHandle<()>,
}

impl Exporter {
    pub fn start(traces: Arc<Traces>) -> Self {
        let waiting = traces.waiting.lock().unwrap_or_else(PoisonError::into_inner).take();
        let own = Arc::clone(&traces);
        let task = tokio::spawn(async move {
            if let Some(waiting) = waiting {
                export::run(&own, waiting).await;
            }
        });
        Exporter { traces, task }
    }

    /// Sends what waits, and ends.
    pub async fn stop(self) {
        self.traces.stop.notify_one();
        let _ = tokio::time::timeout(LAST_SPANS, self.task).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn traces() -> Arc<Traces> {
        Traces::new(TraceSettings {
            url: "http://127.0.0.1:1/v1/traces".to_owned(),
            headers: Vec::new(),
            service: "townhall".to_owned(),
            ratio: 1.0,
            delay: Duration::ZERO,
        })
    }

    fn span(traces: &Traces) -> Span {
        Span {
            context: traces.begin(&HeaderMap::new(), &Random::seeded(1)).unwrap(),
            method: Method::GET,
            route: None,
            version: None,
            project: None,
            status: 200,
            request_id: String::new(),
            began: Timestamp::from_millis(0),
            took: Duration::ZERO,
            in_database: Duration::ZERO,
        }
    }

    #[test]
    fn what_finds_the_queue_full_is_dropped_and_counted() {
        let traces = traces();
        for _ in 0..QUEUE + 3 {
            traces.record(span(&traces));
        }
        assert_eq!((traces.figures().exported, traces.figures().dropped), (0, 3));
    }

    #[tokio::test]
    async fn a_collector_that_is_down_costs_the_spans_and_nothing_else() {
        let traces = traces();
        let exporter = Exporter::start(Arc::clone(&traces));
        traces.record(span(&traces));
        exporter.stop().await;
        assert_eq!((traces.figures().exported, traces.figures().dropped), (0, 1));
        traces.record(span(&traces));
        assert_eq!(traces.figures().dropped, 2, "nobody takes them any more");
    }
}
