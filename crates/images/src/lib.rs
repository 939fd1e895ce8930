//! Images: from an upload to an original and variants that are safe to serve. Nothing of an upload is served
//! as it came; everything is decoded within limits and encoded again.

mod decode;
mod encode;
mod fields;
mod options;
mod picture;
mod plan;
mod pool;
mod process;
mod pyramid;
#[cfg(test)]
mod tests;

use std::path::PathBuf;

pub use options::{Format, MissingKey, Options};
pub use process::{Job, Processor};

/// An output format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Encoding {
    Webp,
    Jpeg,
    Png,
}

impl Encoding {
    pub fn name(self) -> &'static str {
        match self {
            Encoding::Webp => "webp",
            Encoding::Jpeg => "jpeg",
            Encoding::Png => "png",
        }
    }

    pub fn extension(self) -> &'static str {
        match self {
            Encoding::Webp => "webp",
            Encoding::Jpeg => "jpg",
            Encoding::Png => "png",
        }
    }

    pub fn mime(self) -> &'static str {
        match self {
            Encoding::Webp => "image/webp",
            Encoding::Jpeg => "image/jpeg",
            Encoding::Png => "image/png",
        }
    }

    /// Maximum pixels on an edge in this format.
    fn longest_edge(self) -> u32 {
        match self {
            Encoding::Webp => 16_383,
            Encoding::Jpeg => 65_535,
            Encoding::Png => i32::MAX as u32,
        }
    }
}

/// One output file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Output {
    pub file: PathBuf,
    pub width: u32,
    pub height: u32,
    /// In bytes.
    pub size: u64,
    /// SHA-256 of the bytes.
    pub sha256: Vec<u8>,
    pub encoding: Encoding,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Processed {
    /// The source's size after its orientation is applied.
    pub width: u32,
    pub height: u32,
    pub source_format: &'static str,
    pub original: Output,
    /// In the order of their names in the options.
    pub variants: Vec<(String, Output)>,
}

#[derive(Debug)]
pub enum Failure {
    /// Not an image, or not an accepted one. The text says why.
    Invalid(String),
    /// The options are not possible for this image. The text says why.
    Options(String),
    /// Too many images are being processed.
    Busy,
    Internal(Box<dyn std::error::Error + Send + Sync>),
}

impl Failure {
    fn internal(error: impl std::error::Error + Send + Sync + 'static) -> Self {
        Failure::Internal(Box::new(error))
    }
}
