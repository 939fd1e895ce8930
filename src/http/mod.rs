//! The HTTP layer: from bytes on a connection to a handler's arguments, and back.
//!
//! One [`operation::Operation`] declares everything about an endpoint; the router, the limiter,
//! the checks and the OpenAPI document all read that one declaration.

pub mod access;
mod account;
pub mod address;
pub mod admission;
mod audited;
pub mod body;
mod call;
pub mod compression;
pub mod cookies;
pub mod cors;
pub mod dispatch;
pub mod events;
pub mod include;
pub mod input;
pub mod legacy;
pub mod multipart;
pub mod negotiation;
pub mod nested;
pub mod openapi;
pub mod operation;
mod outside;
pub mod page;
pub mod patch;
pub mod prepared;
pub mod query;
pub mod render;
pub mod reply;
pub mod representation;
pub mod router;
mod shared_reads;
pub mod unnamed;
pub mod version;
mod writers;
