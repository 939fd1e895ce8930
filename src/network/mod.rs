//! The other end of a connection: the client's address behind trusted proxies, its share of connections, and
//! how long the server waits for a body.

pub mod body_waits;
pub mod client;
pub mod forwarding;
pub mod places;
