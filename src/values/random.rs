//! Injected randomness: the system's generator in production, a seeded stream in tests, so that ids and codes
//! are reproducible.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use aws_lc_rs::{hmac, rand};

#[derive(Debug, Clone)]
pub enum Random {
    System,
    Seeded(Arc<Stream>),
}

/// HMAC-SHA256 in counter mode: every block of the stream is used once.
#[derive(Debug)]
pub struct Stream {
    key: hmac::Key,
    next: AtomicU64,
}

impl Random {
    pub fn seeded(seed: u64) -> Self {
        let key = hmac::Key::new(hmac::HMAC_SHA256, &seed.to_be_bytes());
        Random::Seeded(Arc::new(Stream { key, next: AtomicU64::new(0) }))
    }

    /// Continues a seeded stream at this block, so that a test's values do not depend on earlier tests.
    pub fn jump(&self, block: u64) {
        if let Random::Seeded(stream) = self {
            stream.next.store(block, Ordering::SeqCst);
        }
    }

    /// `N` random bytes. Without entropy the process aborts.
    pub fn bytes<const N: usize>(&self) -> [u8; N] {
        let mut out = [0; N];
        match self {
            Random::System => {
                if rand::fill(&mut out).is_err() {
                    eprintln!("townhall: the system's random generator failed");
                    std::process::exit(70);
                }
            }
            Random::Seeded(stream) => {
                for chunk in out.chunks_mut(32) {
                    let block = stream.next.fetch_add(1, Ordering::SeqCst).to_be_bytes();
                    let tag = hmac::sign(&stream.key, &block);
                    chunk.copy_from_slice(&tag.as_ref()[..chunk.len()]);
                }
            }
        }
        out
    }

    /// A text of `length` characters, drawn uniformly from `alphabet`.
    pub fn text(&self, alphabet: &[u8], length: usize) -> String {
        // Bytes past the last whole multiple would favor the first characters: draw again.
        let fair = 256 - 256 % alphabet.len();
        let mut text = String::with_capacity(length);
        while text.len() < length {
            for byte in self.bytes::<32>() {
                if usize::from(byte) < fair && text.len() < length {
                    text.push(char::from(alphabet[usize::from(byte) % alphabet.len()]));
                }
            }
        }
        text
    }
}

pub fn hex(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let digit = |nibble: u8| char::from(DIGITS[usize::from(nibble)]);
    bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_seed_gives_one_stream() {
        let (a, b) = (Random::seeded(7), Random::seeded(7));
        assert_eq!(a.bytes::<40>(), b.bytes::<40>());
        assert_ne!(a.bytes::<16>(), a.bytes::<16>());
    }

    #[test]
    fn a_jump_leads_to_the_same_bytes_whatever_was_drawn_before() {
        let (a, b) = (Random::seeded(7), Random::seeded(7));
        a.bytes::<40>();
        a.jump(1 << 32);
        b.jump(1 << 32);
        assert_eq!(a.bytes::<40>(), b.bytes::<40>());
    }

    #[test]
    fn text_uses_the_whole_alphabet_and_nothing_else() {
        let text = Random::seeded(1).text(b"0123456789", 500);
        assert_eq!(text.len(), 500);
        for digit in '0'..='9' {
            assert!(text.contains(digit));
        }
    }

    #[test]
    fn hex_is_lower_case() {
        assert_eq!(hex(&[0, 171, 255]), "00abff");
    }
}
