//! The hot score of an entity: its formula, and the rows it is computed from.

pub mod formula;
pub mod store;
