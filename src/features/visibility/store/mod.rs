//! Which users and spaces are hidden from a viewer, as SQL.

pub mod blocks;
pub mod spaces;
