//! A moderator's decisions, stored with the content they are about.

pub mod comment;
pub mod entity;
