//! A file of a form while it arrives: buffered in memory, written in larger pieces, and refused as soon as it
//! is too large.

use std::fs::{File, OpenOptions};
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::sync::Arc;

use aws_lc_rs::digest;
use bytes::BytesMut;

use crate::error::{Error, Result};
use crate::http::multipart::head::PartHead;
use crate::http::multipart::{FileField, Upload};
use crate::storage::staging::Staged;
use crate::storage::unavailable;
use crate::values::random::hex;

/// Bytes buffered in memory before they are written.
pub(super) const BUFFER: usize = 256 * 1024;

pub(super) struct OpenFile {
    field: &'static FileField,
    upload: Upload,
    file: File,
    buffer: BytesMut,
    hash: digest::Context,
}

impl OpenFile {
    /// `name` is the name of the staged file.
    pub(super) async fn create(
        field: &'static FileField,
        head: PartHead,
        name: &str,
        staged: Arc<Staged>,
    ) -> Result<Self> {
        let path = staged.path().join(name);
        let made = path.clone();
        let file = tokio::task::spawn_blocking(move || {
            OpenOptions::new().create_new(true).write(true).mode(0o600).open(made)
        });
        let file = file.await.map_err(Error::internal)?.map_err(unavailable)?;
        let upload = Upload {
            field: field.name,
            file_name: head.file_name.unwrap_or_default(),
            mime: media_type(head.content_type.as_deref()),
            size: 0,
            sha256: String::new(),
            path,
            staged,
        };
        let (buffer, hash) =
            (BytesMut::with_capacity(BUFFER), digest::Context::new(&digest::SHA256));
        Ok(OpenFile { field, upload, file, buffer, hash })
    }

    pub(super) async fn finish(mut self) -> Result<Upload> {
        self.flush().await?;
        self.upload.sha256 = hex(self.hash.finish().as_ref());
        Ok(self.upload)
    }

    pub(super) async fn take(&mut self, mut data: &[u8]) -> Result<()> {
        self.upload.size += data.len() as u64;
        if self.upload.size > self.field.largest {
            return Err(self.too_large());
        }
        self.upload.staged.reserve(data.len() as u64)?;
        while !data.is_empty() {
            let (now, later) = data.split_at(data.len().min(BUFFER - self.buffer.len()));
            self.buffer.extend_from_slice(now);
            data = later;
            if self.buffer.len() == BUFFER {
                self.flush().await?;
            }
        }
        Ok(())
    }

    fn too_large(&self) -> Error {
        let FileField { called, too_large, .. } = self.field;
        let text = match called {
            Some(called) => {
                format!("{called} \"{}\" exceeds 50MB limit.", self.upload.file_name)
            }
            None => too_large.message.to_owned(),
        };
        too_large.about_upload(text)
    }

    /// Writes and hashes the buffer, off the async workers.
    async fn flush(&mut self) -> Result<()> {
        let mut file = self.file.try_clone().map_err(unavailable)?;
        let mut buffer = std::mem::take(&mut self.buffer);
        let mut hash = self.hash.clone();
        let written = tokio::task::spawn_blocking(move || {
            file.write_all(&buffer)?;
            hash.update(&buffer);
            buffer.clear();
            Ok((buffer, hash))
        });
        (self.buffer, self.hash) = written.await.map_err(Error::internal)?.map_err(unavailable)?;
        Ok(())
    }
}

/// The client's media type for the file, if it is valid.
fn media_type(said: Option<&str>) -> String {
    const UNKNOWN: &str = "application/octet-stream";
    const MAX: usize = 255;
    let is_token = |text: &str| {
        let allowed = |b: u8| b.is_ascii_alphanumeric() || b"!#$&-^_.+".contains(&b);
        !text.is_empty() && text.bytes().all(allowed)
    };
    let said = said.unwrap_or_default();
    let essence = said.split(';').next().unwrap_or_default().trim();
    let is_media = essence.split_once('/').is_some_and(|(a, b)| is_token(a) && is_token(b));
    let is_plain = said.len() <= MAX && said.bytes().all(|b| (0x20..0x7f).contains(&b));
    if is_media && is_plain { said.to_owned() } else { UNKNOWN.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_media_types_are_believed() {
        for said in ["image/png", "IMAGE/SVG+XML; x=1", "application/vnd.ms-excel"] {
            assert_eq!(media_type(Some(said)), said);
        }
        let long = format!("text/plain; x={}", "y".repeat(300));
        for said in
            [None, Some(""), Some("png"), Some("a/b c"), Some("a/b\u{7}"), Some("ä/b"), Some(&long)]
        {
            assert_eq!(media_type(said), "application/octet-stream", "{said:?}");
        }
    }
}
