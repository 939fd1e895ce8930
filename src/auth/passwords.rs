//! Passwords: Argon2id on a bounded pool, so that many sign-ins cannot starve other requests. Hashing memory
//! is pooled and reused.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use argon2::password_hash::phc::{Output, ParamsString, PasswordHash, Salt};
use argon2::{Algorithm, Argon2, Block, Params, Version};
use tokio::sync::Semaphore;

use crate::error::{Error, Result};
use crate::values::random::Random;

/// Concurrent hashes; each takes its memory cost.
const CONCURRENCY: usize = 2;
/// How long a request may wait for its turn.
const PATIENCE: Duration = Duration::from_secs(2);

#[derive(Debug, Clone)]
pub struct Passwords {
    hasher: Argon2<'static>,
    turns: Arc<Semaphore>,
    memory: Arc<Memory>,
    random: Random,
}

/// Reused working memory, at most one block for each concurrent hash. With memory allocated for each hash, a
/// burst of sign-ins left the server at several hundred MiB.
#[derive(Default)]
struct Memory(Mutex<Vec<Vec<Block>>>);

impl Memory {
    fn take(&self) -> Vec<Block> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).pop().unwrap_or_default()
    }

    fn give_back(&self, blocks: Vec<Block>) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(blocks);
    }
}

/// Without the content: it is derived from passwords.
impl fmt::Debug for Memory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Memory").finish_non_exhaustive()
    }
}

/// The cost of one hash.
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
        let turns = Arc::new(Semaphore::new(CONCURRENCY));
        Ok(Passwords { hasher, turns, memory: Arc::default(), random })
    }

    pub async fn hash(&self, password: String) -> Result<String> {
        let salt: [u8; 16] = self.random.bytes();
        let hasher = self.hasher.clone();
        self.on_the_pool(move |memory| {
            let hash = encoded(&hasher, memory, password.as_bytes(), &salt);
            hash.map_err(|error| Error::internal(error.to_string()))
        })
        .await
    }

    pub async fn verify(&self, password: String, hash: String) -> Result<bool> {
        self.on_the_pool(move |memory| {
            let hash = PasswordHash::new(&hash).map_err(|e| Error::internal(e.to_string()))?;
            Ok(holds(&hash, memory, password.as_bytes()).unwrap_or(false))
        })
        .await
    }

    async fn on_the_pool<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Vec<Block>) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let turn = tokio::time::timeout(PATIENCE, self.turns.clone().acquire_owned()).await;
        let Ok(Ok(turn)) = turn else {
            return Err(Error::Busy("too many passwords are being checked"));
        };
        let memory = self.memory.clone();
        let done = tokio::task::spawn_blocking(move || {
            let mut blocks = memory.take();
            let result = work(&mut blocks);
            // Returned before the permit, so that the next hash finds it.
            memory.give_back(blocks);
            drop(turn);
            result
        });
        done.await.map_err(Error::internal)?
    }
}

/// The hash with its parameters, as stored.
fn encoded(
    hasher: &Argon2<'_>,
    memory: &mut Vec<Block>,
    password: &[u8],
    salt: &[u8],
) -> argon2::password_hash::Result<String> {
    let hash = PasswordHash {
        algorithm: Algorithm::Argon2id.ident(),
        version: Some(Version::V0x13.into()),
        params: ParamsString::try_from(hasher.params())?,
        salt: Some(Salt::new(salt)?),
        hash: Some(output(hasher, memory, password, salt, Params::DEFAULT_OUTPUT_LEN)?),
    };
    Ok(hash.to_string())
}

/// Whether this password matches a stored hash, which names its own parameters.
fn holds(
    hash: &PasswordHash,
    memory: &mut Vec<Block>,
    password: &[u8],
) -> argon2::password_hash::Result<bool> {
    let (Some(salt), Some(stored)) = (&hash.salt, &hash.hash) else {
        return Ok(false);
    };
    let algorithm = Algorithm::try_from(hash.algorithm.as_str())?;
    let version = hash.version.map(Version::try_from).transpose()?.unwrap_or_default();
    let hasher = Argon2::new(algorithm, version, Params::try_from(hash)?);
    // Outputs are compared in constant time.
    Ok(output(&hasher, memory, password, salt, stored.len())? == *stored)
}

fn output(
    hasher: &Argon2<'_>,
    memory: &mut Vec<Block>,
    password: &[u8],
    salt: &[u8],
    length: usize,
) -> argon2::password_hash::Result<Output> {
    memory.resize(hasher.params().block_count(), Block::default());
    let mut output = [0; Output::MAX_LENGTH];
    let output = output.get_mut(..length).ok_or(argon2::password_hash::Error::OutputSize)?;
    hasher.hash_password_into_with_memory(password, salt, output, memory)?;
    Ok(Output::new(output)?)
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

    /// The crate's own hashing, which allocates fresh memory, must agree with ours.
    #[tokio::test]
    async fn hashes_in_used_memory_are_those_of_fresh_memory() {
        use argon2::password_hash::{PasswordHasher, PasswordVerifier};
        let passwords = Passwords::new(Cost::Least, Random::seeded(2)).unwrap();
        for password in ["first", "second", "third"] {
            let ours = passwords.hash(password.to_owned()).await.unwrap();
            let read = PasswordHash::new(&ours).unwrap();
            passwords.hasher.verify_password(password.as_bytes(), &read).unwrap();
            let theirs: PasswordHash = passwords
                .hasher
                .hash_password_with_salt(password.as_bytes(), b"some salt")
                .unwrap();
            assert!(passwords.verify(password.to_owned(), theirs.to_string()).await.unwrap());
        }
    }

    #[tokio::test]
    async fn a_hash_made_at_another_cost_still_verifies() {
        let least = Passwords::new(Cost::Least, Random::seeded(3)).unwrap();
        let standard = Passwords::new(Cost::Standard, Random::seeded(3)).unwrap();
        let hash = least.hash("p".to_owned()).await.unwrap();
        assert!(standard.verify("p".to_owned(), hash).await.unwrap());
        let hash = standard.hash("p".to_owned()).await.unwrap();
        assert!(least.verify("p".to_owned(), hash).await.unwrap());
    }

    #[tokio::test]
    async fn no_more_memory_is_kept_than_hashes_work_at_once() {
        let passwords = Passwords::new(Cost::Least, Random::seeded(4)).unwrap();
        let mut rush = tokio::task::JoinSet::new();
        for _ in 0..50 {
            let passwords = passwords.clone();
            rush.spawn(async move { passwords.hash("p".to_owned()).await.unwrap() });
        }
        assert_eq!(rush.join_all().await.len(), 50);
        let kept = passwords.memory.0.lock().unwrap().len();
        assert!((1..=CONCURRENCY).contains(&kept), "{kept}");
    }
}
