//! Passwords: Argon2id on a bounded pool, so a rush of sign-ins cannot starve everything else.

use std::sync::Arc;
use std::time::Duration;

use argon2::password_hash::phc::PasswordHash;
use argon2::password_hash::{PasswordHasher, PasswordVerifier};
use argon2::{Algorithm, Argon2, Params, Version};
use tokio::sync::Semaphore;

use crate::error::{Error, Result};
use crate::random::Random;

/// Hashes at work at once; each takes its memory cost.
const AT_ONCE: usize = 2;
/// How long a request may wait for its turn.
const PATIENCE: Duration = Duration::from_secs(2);

#[derive(Debug, Clone)]
pub struct Passwords {
    hasher: Argon2<'static>,
    turns: Arc<Semaphore>,
    random: Random,
}

/// How much work one hash is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cost {
    /// 19 MiB, two passes: the first recommendation of the OWASP cheat sheet.
    Standard,
    /// The least the algorithm allows, so that a test suite does not spend its time hashing.
    Least,
}

impl Passwords {
    pub fn new(cost: Cost, random: Random) -> Result<Self> {
        let (memory, passes) = match cost {
            Cost::Standard => (19 * 1024, 2),
            Cost::Least => (8, 1),
        };
        let params =
            Params::new(memory, passes, 1, None).map_err(|e| Error::internal(e.to_string()))?;
        let hasher = Argon2::new(Algorithm::Argon2id, Version::V0x13, params);
        Ok(Passwords { hasher, turns: Arc::new(Semaphore::new(AT_ONCE)), random })
    }

    pub async fn hash(&self, password: String) -> Result<String> {
        let salt: [u8; 16] = self.random.bytes();
        self.on_the_pool(move |hasher| {
            let hash: Result<PasswordHash, _> =
                hasher.hash_password_with_salt(password.as_bytes(), &salt);
            hash.map(|hash| hash.to_string()).map_err(|error| Error::internal(error.to_string()))
        })
        .await
    }

    pub async fn verify(&self, password: String, hash: String) -> Result<bool> {
        self.on_the_pool(move |hasher| {
            let hash = PasswordHash::new(&hash).map_err(|e| Error::internal(e.to_string()))?;
            Ok(hasher.verify_password(password.as_bytes(), &hash).is_ok())
        })
        .await
    }

    async fn on_the_pool<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Argon2<'static>) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let turn = tokio::time::timeout(PATIENCE, self.turns.clone().acquire_owned()).await;
        let Ok(Ok(turn)) = turn else {
            return Err(Error::Busy("too many passwords are being checked"));
        };
        let hasher = self.hasher.clone();
        let done = tokio::task::spawn_blocking(move || {
            let result = work(&hasher);
            drop(turn);
            result
        });
        done.await.map_err(Error::internal)?
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_password_verifies_against_its_own_hash_only() {
        let passwords = Passwords::new(Cost::Least, Random::seeded(1)).unwrap();
        let hash = passwords.hash("correct horse".to_owned()).await.unwrap();
        assert!(hash.starts_with("$argon2id$"));
        assert!(passwords.verify("correct horse".to_owned(), hash.clone()).await.unwrap());
        assert!(!passwords.verify("wrong horse".to_owned(), hash.clone()).await.unwrap());
        assert_ne!(passwords.hash("correct horse".to_owned()).await.unwrap(), hash);
    }
}
