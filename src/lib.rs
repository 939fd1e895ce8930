//! Townhall: a self-hostable community backend in one binary.
//!
//! `ARCHITECTURE.md` walks through the parts; `CONTRIBUTING.md` through adding an operation.

pub mod app;
pub mod auth;
pub mod cli;
pub mod clock;
pub mod config;
pub mod error;
pub mod features;
pub mod http;
pub mod ids;
pub mod images;
pub mod installation;
pub mod jobs;
pub mod logs;
pub mod mail;
pub mod metrics;
mod names;
pub mod outbound;
pub mod random;
pub mod realtime;
pub mod schema;
pub mod server;
pub mod start;
pub mod storage;
mod texts;
pub mod time;
