//! The SQL of the lists of spaces.

pub mod many;
pub mod mine;
pub mod mutual;
pub mod order;
