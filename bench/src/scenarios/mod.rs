//! The scenarios, one file each.

pub mod fetch_user;
pub mod sign_in;
pub mod token_check;
