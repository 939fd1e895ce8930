//! The numbers of the realtime layer: every queue, wait and count has one.

use std::time::Duration;

#[derive(Debug, Clone)]
pub struct RealtimeLimits {
    /// How often a socket is asked whether it is still there, and how long it may take to answer.
    pub ping_interval: Duration,
    pub ping_timeout: Duration,
    /// How long a connection may stay without saying whose it is.
    pub connect_timeout: Duration,
    /// How long the way from polling to WebSocket may take.
    pub upgrade_timeout: Duration,
    /// How long an open socket outlives its token.
    pub token_grace: Duration,
    /// How often all sockets are looked at.
    pub sweep: Duration,
    /// Bytes of one packet, and of all packets in the body of a request.
    pub max_payload: usize,
    /// Packets in the body of a request.
    pub max_packets: usize,
    /// Packets, and their bytes, that may wait for a socket that reads slowly.
    pub queue: usize,
    pub queue_bytes: usize,
    pub sockets_per_user: usize,
    pub rooms_per_socket: usize,
    /// Connections of this server, and those of one network that have not yet said whose they are.
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
