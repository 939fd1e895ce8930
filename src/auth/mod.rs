//! Who is calling: tokens, keys, passwords, and the caller types that handlers name in their
//! signatures.

pub mod caller;
pub mod claims;
pub mod credential;
pub mod deferred;
pub mod es256;
pub mod jwk;
pub mod keys;
pub mod operators;
pub mod passwords;
pub mod perspective;
pub mod rs256;
pub mod sealed;
pub mod store;
pub mod tokens;
