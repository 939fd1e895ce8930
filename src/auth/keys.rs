//! Service and master keys: opaque, random, shown once and stored only as a hash.

use aws_lc_rs::constant_time::verify_slices_are_equal;
use aws_lc_rs::digest;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD as BASE64;

use crate::tenancy::keys::{KeyKind, StoredKey};
use crate::values::random::Random;

/// Prefix of every key: a leaked one is easy to recognize, and no token looks like one.
const PREFIX: &str = "thk_";

pub fn generate(kind: KeyKind, random: &Random) -> String {
    let secret = BASE64.encode(random.bytes::<32>());
    format!("{PREFIX}{}_{secret}", kind.name())
}

/// SHA-256: a key or a token is 256 random bits, so a slow hash would add no protection. Short codes are
/// hashed the same way; they are protected by their expiry and a limit of attempts.
pub fn hash(secret: &str) -> Vec<u8> {
    digest::digest(&digest::SHA256, secret.as_bytes()).as_ref().to_vec()
}

/// The stored key that matches this bearer value, if any.
pub fn find<'a>(bearer: &str, keys: &'a [StoredKey]) -> Option<&'a StoredKey> {
    if !bearer.starts_with(PREFIX) {
        return None;
    }
    let hash = hash(bearer);
    keys.iter().find(|key| verify_slices_are_equal(&key.hash, &hash).is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::values::ids::KeyId;

    #[test]
    fn a_key_is_found_by_its_secret_alone() {
        let random = Random::seeded(5);
        let secret = generate(KeyKind::Service, &random);
        let other = generate(KeyKind::Service, &random);
        let (id, kind) = (KeyId(uuid::Uuid::nil()), KeyKind::Service);
        let (scopes, used_at) = (Vec::new(), Default::default());
        let hash = hash(&secret);
        let keys = [StoredKey { id, label: None, kind, hash, scopes, expires_at: None, used_at }];
        assert!(find(&secret, &keys).is_some());
        assert!(find(&other, &keys).is_none());
        assert!(find("", &keys).is_none());
    }
}
