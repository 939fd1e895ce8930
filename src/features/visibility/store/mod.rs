//! Who is hidden from whom, as SQL.

pub mod blocks;
pub mod spaces;
