//! Stored counts that `townhall doctor` checks and repairs: each is declared once, in the `store/recount.rs` of its
//! feature, and the statements of both come from that declaration.

pub mod sql;
