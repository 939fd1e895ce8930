//! A stored file for code that blocks.

use std::io::{self, Read};

use bytes::Bytes;
use futures_util::StreamExt as _;
use tokio::runtime::Handle;

use super::Chunks;

/// A stored file as a blocking reader.
pub struct Blocking<'a> {
    pub runtime: &'a Handle,
    pub chunks: Chunks,
    pub rest: Bytes,
}

impl std::fmt::Debug for Blocking<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Blocking").finish_non_exhaustive()
    }
}

impl Read for Blocking<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.rest.is_empty() {
            match self.runtime.block_on(self.chunks.next()) {
                Some(chunk) => self.rest = chunk?,
                None => return Ok(0),
            }
        }
        let count = buffer.len().min(self.rest.len());
        buffer[..count].copy_from_slice(&self.rest.split_to(count));
        Ok(count)
    }
}
