//! Statements that delete a space or the entities of one with everything below them.

pub mod purge_entities;
pub mod space;
