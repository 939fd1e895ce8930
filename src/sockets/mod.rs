//! The Socket.IO server at `/socket.io/`, over WebSocket and long polling. `endpoint` takes requests,
//! `connect` authenticates a socket, `client` handles what it sends, and `dispatcher` delivers broadcast
//! events to the sockets of this node.

mod audience;
mod client;
mod connect;
mod dispatcher;
mod endpoint;
mod engine;
mod polling;
mod sweep;
mod websocket;

pub(crate) use dispatcher::dispatch;
pub(crate) use endpoint::{handle, is_ours};
