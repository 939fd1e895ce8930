//! Writes and counts that span the whole chat: conversations, members and messages.

pub mod anonymize;
pub mod recount;
