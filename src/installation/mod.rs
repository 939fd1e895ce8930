//! Facts about the whole installation, stored in the database that its nodes share.
//!
//! Tokens and addresses of files are signed with one secret. A node with another one would refuse what the
//! others have signed, so the first start stores a fingerprint of the secret that every later start is
//! checked against.

pub mod store;

use aws_lc_rs::hmac::{HMAC_SHA256, Key, sign};

use crate::values::random::hex;

/// Distinguishes secrets and reveals nothing about them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fingerprint(String);

impl Fingerprint {
    pub fn of(secret: &[u8]) -> Self {
        let tag = sign(&Key::new(HMAC_SHA256, secret), b"townhall: fingerprint of the secret key");
        Fingerprint(hex(&tag.as_ref()[..16]))
    }
}
