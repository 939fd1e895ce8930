//! Behaviour of the database crate. What is not particular to one engine runs on both.
#![expect(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod announcements;
mod contended;
mod deadlines;
mod examine;
mod mapping;
mod migrations;
mod outages;
mod proxy;
mod reads;
mod replica;
mod storage;
mod support;
mod together;
mod waits;
mod writes;
