//! Limits of the realtime layer: every queue, timeout and count has one.

use std::time::Duration;

#[derive(Debug, Clone)]
pub struct RealtimeLimits {
    /// The heartbeat interval, and the timeout for its reply.
    pub ping_interval: Duration,
    pub ping_timeout: Duration,
    /// How long a connection may stay unauthenticated.
    pub connect_timeout: Duration,
    /// Timeout of an upgrade from polling to WebSocket.
    pub upgrade_timeout: Duration,
    /// How long an open socket outlives its token.
    pub token_grace: Duration,
    /// Interval of the sweep over all sockets.
    pub sweep: Duration,
    /// Maximum bytes of one packet, and of all packets in a request's body.
    pub max_payload: usize,
    /// Maximum packets in a request's body.
    pub max_packets: usize,
    /// Maximum packets, and bytes, in the queue of a slow socket.
    pub queue: usize,
    pub queue_bytes: usize,
    pub sockets_per_user: usize,
    pub rooms_per_socket: usize,
    /// Maximum connections of this server, and unauthenticated ones of one network.
    pub connections: usize,
    pub strangers_per_network: usize,
}

impl Default for RealtimeLimits {
    fn default() -> Self {
        RealtimeLimits {
            ping_interval: Duration::from_secs(25),
            ping_timeout: Duration::from_secs(20),
            connect_timeout: Duration::from_secs(15),
            upgrade_timeout: Duration::from_secs(10),
            token_grace: Duration::from_secs(60),
            sweep: Duration::from_secs(1),
            max_payload: 100_000,
            max_packets: 1_000,
            queue: 128,
            queue_bytes: 4 * 1024 * 1024,
            sockets_per_user: 50,
            rooms_per_socket: 100,
            connections: 10_000,
            strangers_per_network: 256,
        }
    }
}
