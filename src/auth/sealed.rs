//! Secrets that the server must be able to read again, such as those of OAuth clients: encrypted with
//! AES-256-GCM under a key that is derived from the server's secret key, so that a copy of the database
//! reveals none. Each is bound to the place it is stored at.

use std::fmt;

use aws_lc_rs::aead::{AES_256_GCM, Aad, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use aws_lc_rs::hmac;

use crate::error::{Error, Result};
use crate::values::random::Random;

pub struct Sealer {
    key: LessSafeKey,
    /// Of the secret before this one: it opens, but no longer seals.
    previous: Option<LessSafeKey>,
}

impl Sealer {
    pub fn new(secret: &[u8]) -> Result<Self> {
        Ok(Sealer { key: key_of(secret)?, previous: None })
    }

    /// Also opens what was sealed with the secret before this one.
    pub fn accepting(self, previous: Option<&[u8]>) -> Result<Self> {
        Ok(Sealer { previous: previous.map(key_of).transpose()?, ..self })
    }

    /// `place`: where it is stored, so that no sealed text opens elsewhere.
    pub fn seal(&self, text: &str, place: &str, random: &Random) -> Result<Vec<u8>> {
        let nonce: [u8; NONCE_LEN] = random.bytes();
        let mut sealed = text.as_bytes().to_vec();
        let nonce_of_call = Nonce::assume_unique_for_key(nonce);
        self.key
            .seal_in_place_append_tag(nonce_of_call, Aad::from(place), &mut sealed)
            .map_err(|_| Error::internal("a secret could not be sealed"))?;
        Ok([&nonce[..], &sealed].concat())
    }

    pub fn open(&self, sealed: &[u8], place: &str) -> Result<String> {
        let keys = std::iter::once(&self.key).chain(&self.previous);
        let opened = keys.into_iter().find_map(|key| open(key, sealed, place));
        opened.ok_or_else(|| {
            Error::internal(format!(
                "the secret of {place} was sealed with another TOWNHALL_SECRET_KEY: set it again"
            ))
        })
    }

    /// Sealed again, if it was sealed with the secret before this one.
    pub fn renewed(&self, sealed: &[u8], place: &str, random: &Random) -> Result<Option<Vec<u8>>> {
        let older = self.previous.as_ref().and_then(|previous| open(previous, sealed, place));
        older.map(|text| self.seal(&text, place, random)).transpose()
    }
}

fn key_of(secret: &[u8]) -> Result<LessSafeKey> {
    let root = hmac::Key::new(hmac::HMAC_SHA256, secret);
    let derived = hmac::sign(&root, b"townhall sealed secret");
    let key = UnboundKey::new(&AES_256_GCM, derived.as_ref());
    Ok(LessSafeKey::new(key.map_err(|_| Error::internal("a key of the wrong length"))?))
}

fn open(key: &LessSafeKey, sealed: &[u8], place: &str) -> Option<String> {
    let (nonce, text) = sealed.split_at_checked(NONCE_LEN)?;
    let nonce = Nonce::try_assume_unique_for_key(nonce).ok()?;
    let mut text = text.to_vec();
    let plain = key.open_in_place(nonce, Aad::from(place), &mut text).ok()?;
    String::from_utf8(plain.to_vec()).ok()
}

impl fmt::Debug for Sealer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Sealer(…)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_opens_under_its_key_and_at_its_place() {
        let (sealer, random) = (Sealer::new(b"secret").unwrap(), Random::seeded(3));
        let sealed = sealer.seal("hush", "here", &random).unwrap();
        assert!(!sealed.windows(4).any(|part| part == b"hush"));
        assert_ne!(sealed, sealer.seal("hush", "here", &random).unwrap());
        assert_eq!(sealer.open(&sealed, "here").unwrap(), "hush");
        assert!(sealer.open(&sealed, "there").is_err());
        assert!(Sealer::new(b"another").unwrap().open(&sealed, "here").is_err());
        let newer = Sealer::new(b"another").unwrap().accepting(Some(b"secret")).unwrap();
        assert_eq!(newer.open(&sealed, "here").unwrap(), "hush");
        let renewed = newer.renewed(&sealed, "here", &random).unwrap().unwrap();
        assert_eq!(Sealer::new(b"another").unwrap().open(&renewed, "here").unwrap(), "hush");
        assert_eq!(newer.renewed(&renewed, "here", &random).unwrap(), None);
        let mut changed = sealed.clone();
        changed[20] ^= 1;
        for wrong in [&changed[..], &sealed[..11], &[]] {
            assert!(sealer.open(wrong, "here").is_err());
        }
    }
}
