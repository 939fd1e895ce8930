//! What hides content from a viewer: blocks between users, spaces they may not read, and moderators' decisions.
//! The lowest feature: every list and fetch asks here.

pub mod moderation;
pub mod restrictions;
pub mod screening;
pub mod store;
