//! The installation's secret in an archive: encrypted with a key made of a passphrase.

use argon2::Argon2;
use aws_lc_rs::aead::{AES_256_GCM, Aad, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};

use crate::transfer::Result;
use crate::values::random::Random;

/// AES-256-GCM under a key that Argon2id makes of the passphrase and the salt; all in base64.
#[derive(Debug, Serialize, Deserialize)]
pub struct SealedSecret {
    salt: String,
    nonce: String,
    sealed: String,
}

impl SealedSecret {
    pub fn seal(secret: &[u8], passphrase: &str, random: &Random) -> Result<Self> {
        let (salt, nonce) = (random.bytes::<16>(), random.bytes::<NONCE_LEN>());
        let mut sealed = secret.to_vec();
        let key = key(passphrase, &salt)?;
        key.seal_in_place_append_tag(
            Nonce::assume_unique_for_key(nonce),
            Aad::empty(),
            &mut sealed,
        )?;
        let [salt, nonce, sealed] = [&salt[..], &nonce, &sealed].map(|part| STANDARD.encode(part));
        Ok(SealedSecret { salt, nonce, sealed })
    }

    pub fn open(&self, passphrase: &str) -> Result<Vec<u8>> {
        let mut sealed = STANDARD.decode(&self.sealed)?;
        let nonce = Nonce::try_assume_unique_for_key(&STANDARD.decode(&self.nonce)?)?;
        let key = key(passphrase, &STANDARD.decode(&self.salt)?)?;
        let opened = key.open_in_place(nonce, Aad::empty(), &mut sealed);
        let opened = opened.map_err(|_| "this is not the passphrase of the archive's secret")?;
        Ok(opened.to_vec())
    }
}

fn key(passphrase: &str, salt: &[u8]) -> Result<LessSafeKey> {
    let mut key = [0; 32];
    Argon2::default().hash_password_into(passphrase.as_bytes(), salt, &mut key)?;
    Ok(LessSafeKey::new(UnboundKey::new(&AES_256_GCM, &key)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_passphrase_opens_a_secret() {
        let sealed = SealedSecret::seal(b"the secret", "open sesame", &Random::seeded(1)).unwrap();
        assert_eq!(sealed.open("open sesame").unwrap(), b"the secret");
        assert!(sealed.open("open sesam").is_err());
        assert!(!serde_json::to_string(&sealed).unwrap().contains("secret\""));
    }
}
