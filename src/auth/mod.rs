//! Who is calling: tokens, keys, passwords, and the caller types that handlers name in their
//! signatures.

pub mod caller;
pub mod credential;
pub mod keys;
pub mod passwords;
pub mod perspective;
pub mod rs256;
pub mod store;
pub mod tokens;
