//! What authentication reads and writes: the sessions and suspensions of users.

pub mod sessions;
pub mod suspensions;
