//! The socket of a connection, which records its state: a connection that only waits for its next request
//! drops its buffers, so that it costs next to nothing.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::task::{Context, Poll};

use bytes::{Buf as _, Bytes};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;

/// The state of a connection. It changes in one task only; the atomics merely satisfy the compiler.
#[derive(Debug, Default)]
pub(super) struct Activity {
    /// Requests whose reply has not been sent completely.
    under_way: AtomicUsize,
    /// Since the last reply: bytes have arrived; the socket had none to read.
    has_read: AtomicBool,
    waits_to_read: AtomicBool,
    /// The socket does not accept more bytes.
    waits_to_write: AtomicBool,
}

impl Activity {
    /// Between two requests, with no bytes of the next one and nothing left to send.
    pub(super) fn is_idle(&self) -> bool {
        self.under_way.load(Relaxed) == 0
            && self.waits_to_read.load(Relaxed)
            && !self.has_read.load(Relaxed)
            && !self.waits_to_write.load(Relaxed)
    }
}

/// A running request, held by its reply.
#[derive(Debug)]
pub(super) struct Turn(Arc<Activity>);

impl Turn {
    pub(super) fn begin(activity: &Arc<Activity>) -> Self {
        activity.under_way.fetch_add(1, Relaxed);
        Turn(activity.clone())
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        self.0.under_way.fetch_sub(1, Relaxed);
        // Only what the socket reports from here on is about the next request.
        self.0.has_read.store(false, Relaxed);
        self.0.waits_to_read.store(false, Relaxed);
    }
}

#[derive(Debug)]
pub(super) struct Stream {
    pub(super) tcp: TcpStream,
    /// Bytes that were read from the socket already.
    pub(super) read_before: Bytes,
    pub(super) activity: Arc<Activity>,
}

impl AsyncRead for Stream {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        if !this.read_before.is_empty() {
            let size = this.read_before.len().min(into.remaining());
            into.put_slice(&this.read_before[..size]);
            this.read_before.advance(size);
            this.activity.has_read.store(true, Relaxed);
            return Poll::Ready(Ok(()));
        }
        let polled = Pin::new(&mut this.tcp).poll_read(context, into);
        this.activity.waits_to_read.store(polled.is_pending(), Relaxed);
        if polled.is_ready() {
            this.activity.has_read.store(true, Relaxed);
        }
        polled
    }
}

impl Stream {
    fn noted<T>(&self, written: Poll<T>) -> Poll<T> {
        self.activity.waits_to_write.store(written.is_pending(), Relaxed);
        written
    }
}

impl AsyncWrite for Stream {
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        let written = Pin::new(&mut this.tcp).poll_write(context, bytes);
        this.noted(written)
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        parts: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        let written = Pin::new(&mut this.tcp).poll_write_vectored(context, parts);
        this.noted(written)
    }

    fn is_write_vectored(&self) -> bool {
        self.tcp.is_write_vectored()
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().tcp).poll_flush(context)
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().tcp).poll_shutdown(context)
    }
}
