//! The lowest layer: ids, times, randomness and the checked types of the API. Nothing here knows a project, a
//! request or a table.

pub mod cidr;
pub mod clock;
pub mod detail;
pub mod fingerprint;
pub mod ids;
pub mod javascript;
pub mod json;
pub mod metadata;
pub mod names;
pub mod percent;
pub mod random;
#[cfg(test)]
pub mod scratch;
pub mod texts;
pub mod time;
pub mod timezone;
