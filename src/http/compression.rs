//! Compressing replies. Encoders are kept and used again: the tables of a new one cost as much as compressing
//! a small reply. Levels are the ones where more time saves little: `zstd` at 1, `gzip` at 2, `br` at 2.

use std::io;
use std::sync::{Mutex, PoisonError};

use brotli::enc::StandardAlloc;
use brotli::enc::encode::{BrotliEncoderOperation, BrotliEncoderStateStruct};
use bytes::Bytes;
use flate2::{Compress, Compression, FlushCompress, Status};
use tokio::sync::Semaphore;

use crate::http::negotiation::Coding;

/// Replies up to this size are not compressed: they fit into one packet anyway.
pub const MAX_UNCOMPRESSED: usize = 1024;
/// Larger replies are compressed off the async workers.
const MAX_INLINE: usize = 128 * 1024;
/// Replies that are compressed off the async workers at once; more wait.
static LARGE_AT_ONCE: Semaphore = Semaphore::const_new(2);

const ZSTD_LEVEL: i32 = 1;
const GZIP_LEVEL: u32 = 2;
const GZIP_WINDOW_BITS: u8 = 15;
const BROTLI_QUALITY: i32 = 2;
/// 256 KiB.
const BROTLI_WINDOW_BITS: i32 = 18;

static ZSTD: Pool<zstd::bulk::Compressor<'static>> = Pool::new();
static GZIP: Pool<Compress> = Pool::new();

pub async fn compress(plain: Bytes, coding: Coding) -> io::Result<Bytes> {
    if plain.len() <= MAX_INLINE {
        return encode(&plain, coding);
    }
    let _permit = LARGE_AT_ONCE.acquire().await.map_err(io::Error::other)?;
    let encoded = tokio::task::spawn_blocking(move || encode(&plain, coding));
    encoded.await.map_err(io::Error::other)?
}

fn encode(plain: &[u8], coding: Coding) -> io::Result<Bytes> {
    let encoded = match coding {
        Coding::Zstd => zstd(plain),
        Coding::Brotli => brotli(plain),
        Coding::Gzip => gzip(plain),
    };
    // Without the spare capacity: a slow client may take its time to read the reply.
    encoded.map(|encoded| Bytes::from(encoded.into_boxed_slice()))
}

fn zstd(plain: &[u8]) -> io::Result<Vec<u8>> {
    let mut encoder = match ZSTD.take() {
        Some(encoder) => encoder,
        None => zstd::bulk::Compressor::new(ZSTD_LEVEL)?,
    };
    let encoded = encoder.compress(plain)?;
    ZSTD.put(encoder);
    Ok(encoded)
}

fn gzip(plain: &[u8]) -> io::Result<Vec<u8>> {
    let level = Compression::new(GZIP_LEVEL);
    let mut encoder = GZIP.take().unwrap_or_else(|| Compress::new_gzip(level, GZIP_WINDOW_BITS));
    let mut encoded = Vec::with_capacity(plain.len() / 3);
    loop {
        let read = usize::try_from(encoder.total_in()).map_err(io::Error::other)?;
        let rest = plain.get(read..).unwrap_or_default();
        if encoder.compress_vec(rest, &mut encoded, FlushCompress::Finish)? == Status::StreamEnd {
            break;
        }
        encoded.reserve(plain.len() / 3 + 64);
    }
    encoder.reset();
    GZIP.put(encoder);
    Ok(encoded)
}

/// This encoder cannot be used again. The input goes in at once: in small pieces, each would get tables of
/// its own.
fn brotli(plain: &[u8]) -> io::Result<Vec<u8>> {
    let mut encoder = BrotliEncoderStateStruct::new(StandardAlloc::default());
    encoder.params.quality = BROTLI_QUALITY;
    encoder.params.lgwin = BROTLI_WINDOW_BITS;
    encoder.params.size_hint = plain.len();
    let mut encoded = vec![0; plain.len() / 3 + 64];
    let (mut unread, mut read, mut written) = (plain.len(), 0, 0);
    while !encoder.is_finished() {
        if written == encoded.len() {
            encoded.resize(written * 2, 0);
        }
        let mut room = encoded.len() - written;
        let is_done = encoder.compress_stream(
            BrotliEncoderOperation::BROTLI_OPERATION_FINISH,
            &mut unread,
            plain,
            &mut read,
            &mut room,
            &mut encoded,
            &mut written,
            &mut None,
            &mut |_, _, _, _| (),
        );
        if !is_done {
            return Err(io::Error::other("the Brotli encoder failed"));
        }
    }
    encoded.truncate(written);
    Ok(encoded)
}

/// Idle encoders, up to a megabyte each: as many as there are usually workers, not as many as there were
/// ever replies at once.
struct Pool<T>(Mutex<Vec<T>>);

impl<T> Pool<T> {
    const MAX_IDLE: usize = 4;

    const fn new() -> Self {
        Pool(Mutex::new(Vec::new()))
    }

    fn take(&self) -> Option<T> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).pop()
    }

    fn put(&self, encoder: T) {
        let mut idle = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if idle.len() < Self::MAX_IDLE {
            idle.push(encoder);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;

    use super::*;

    fn decode(encoded: &[u8], coding: Coding) -> Vec<u8> {
        let mut plain = Vec::new();
        match coding {
            Coding::Zstd => return zstd::decode_all(encoded).unwrap(),
            Coding::Brotli => brotli::BrotliDecompress(&mut &encoded[..], &mut plain).unwrap(),
            Coding::Gzip => {
                flate2::read::GzDecoder::new(encoded).read_to_end(&mut plain).map(drop).unwrap();
            }
        }
        plain
    }

    /// Bytes that no encoder can shrink.
    fn noise(length: usize) -> Vec<u8> {
        let mut state = 1_u64;
        let mut next = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            state.to_be_bytes()[0]
        };
        std::iter::repeat_with(&mut next).take(length).collect()
    }

    #[tokio::test]
    async fn every_coding_gives_back_what_went_in() {
        let text = "{\"id\":1,\"title\":\"Tomatoes\"},".repeat(20_000).into_bytes();
        let noise = noise(300_000);
        for coding in Coding::ALL {
            for plain in [&text[..], &text[..2000], &text[..1], b"", &noise[..], &noise[..70_000]] {
                // Twice: an encoder that is used again remembers nothing.
                for _ in 0..2 {
                    let encoded = compress(Bytes::copy_from_slice(plain), coding).await.unwrap();
                    assert_eq!(decode(&encoded, coding), plain, "{coding:?} {}", plain.len());
                }
            }
            let small = compress(Bytes::from(text.clone()), coding).await.unwrap();
            assert!(small.len() * 20 < text.len(), "{coding:?} {}", small.len());
        }
    }

    #[test]
    fn few_idle_encoders_are_kept() {
        let pool = Pool::new();
        (0..10).for_each(|encoder| pool.put(encoder));
        assert_eq!(std::iter::from_fn(|| pool.take()).count(), Pool::<i32>::MAX_IDLE);
    }
}
