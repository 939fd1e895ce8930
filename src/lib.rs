//! Townhall: a self-hostable community backend in one binary.
//!
//! The modules are layered; each imports only what is listed before it, which `tests/api/floors.rs` checks.
//! `ARCHITECTURE.md` walks through the parts; `CONTRIBUTING.md` through adding an operation.

// Values.
pub mod error;
pub mod recount;
pub mod search_queue;
pub mod values;

// Tenancy.
pub mod tenancy;

// Auth.
pub mod auth;

// Machinery.
pub mod mail;
pub mod outbound;
pub mod storage;

pub mod config;

pub mod network;
pub mod rate_limits;
pub mod realtime;
pub mod traces;

pub mod metrics;

pub mod state;

pub mod jobs;

pub mod audit;
pub mod domain_events;
pub mod mail_quota;

pub mod http;

pub mod sockets;

// Features.
pub mod features;

// The program.
pub mod app;
pub mod cli;
pub mod installation;
pub mod logs;
pub mod schema;
pub mod server;
pub mod start;
pub mod transfer;
