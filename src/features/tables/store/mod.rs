//! The storage of custom tables: the catalogue that lists them, their rows, and the locks on them.

pub mod catalogue;
pub mod examine;
pub mod locks;
pub mod remove;
pub mod rows;
