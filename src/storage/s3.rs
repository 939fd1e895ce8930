//! Files in an S3 bucket. Settings are the usual `AWS_*` variables; large files are uploaded in parts, so
//! that memory does not grow with them.

use std::fs::File;
use std::io::{self, Read as _};
use std::ops::Range;
use std::path::Path;

use futures_util::{StreamExt as _, TryStreamExt as _};
use object_store::aws::{AmazonS3, AmazonS3Builder, AmazonS3ConfigKey};
use object_store::path::Path as Key;
use object_store::{
    ClientOptions, GetOptions, ObjectStore as _, ObjectStoreExt as _, PutPayload, RetryConfig,
    WriteMultipart,
};
use tokio::sync::Semaphore;

use crate::storage::Chunks;
use crate::storage::bucket_client::BucketConnector;

/// Environment variables besides the server's own settings.
pub const VARIABLES: &[&str] = &[
    "AWS_ACCESS_KEY_ID",
    "AWS_SECRET_ACCESS_KEY",
    "AWS_SESSION_TOKEN",
    "AWS_DEFAULT_REGION",
    "AWS_REGION",
    "AWS_ENDPOINT_URL",
    "AWS_ENDPOINT_URL_S3",
    "AWS_ENDPOINT_URL_STS",
    "AWS_WEB_IDENTITY_TOKEN_FILE",
    "AWS_ROLE_ARN",
    "AWS_ROLE_SESSION_NAME",
    "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",
    "AWS_CONTAINER_CREDENTIALS_FULL_URI",
    "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE",
];

/// The smallest part that S3 accepts; a smaller file is uploaded at once.
const PART: usize = 5 * 1024 * 1024;
/// Concurrent parts of one file.
const PARTS_AT_ONCE: usize = 2;
/// Concurrent uploads: each holds its parts in memory.
const FILES_AT_ONCE: usize = 16;
const RETRIES: usize = 3;

#[derive(Debug)]
pub struct S3 {
    pub(super) bucket: AmazonS3,
    pub(super) prefix: Key,
    uploads: Semaphore,
}

impl S3 {
    /// `address` is `bucket/prefix`, the prefix being optional.
    pub(super) fn open(
        address: &str,
        variables: &[(String, String)],
        path_style: bool,
    ) -> Result<Self, String> {
        let (bucket, prefix) = address.split_once('/').unwrap_or((address, ""));
        if bucket.is_empty() {
            return Err("TOWNHALL_STORAGE: an s3:// address names a bucket".to_owned());
        }
        let refused = |error: &dyn std::fmt::Display| format!("TOWNHALL_STORAGE: {error}");
        let mut builder = AmazonS3Builder::new();
        let mut is_plain = false;
        for (name, value) in variables {
            let key: AmazonS3ConfigKey =
                name.to_lowercase().parse().map_err(|error| refused(&error))?;
            let mut value = value.clone();
            if matches!(name.as_str(), "AWS_ENDPOINT_URL" | "AWS_ENDPOINT_URL_S3") {
                is_plain |= value.starts_with("http://");
                if !path_style {
                    value = with_bucket(&value, bucket);
                }
            }
            builder = builder.with_config(key, value);
        }
        // An http:// endpoint is an explicit choice.
        let client = ClientOptions::new().with_allow_http(is_plain);
        let retry = RetryConfig { max_retries: RETRIES, ..RetryConfig::default() };
        let built = builder
            .with_bucket_name(bucket)
            .with_virtual_hosted_style_request(!path_style)
            .with_client_options(client)
            .with_http_connector(BucketConnector)
            .with_retry(retry)
            .build();
        Ok(S3 {
            bucket: built.map_err(|error| refused(&error))?,
            prefix: Key::parse(prefix.trim_matches('/')).map_err(|error| refused(&error))?,
            uploads: Semaphore::new(FILES_AT_ONCE),
        })
    }

    pub(super) async fn put(&self, key: &str, staged: &Path) -> io::Result<()> {
        let key = self.key(key)?;
        let _place = self.uploads.acquire().await.map_err(io::Error::other)?;
        let staged = staged.to_owned();
        let file = tokio::task::spawn_blocking(move || File::open(staged));
        let file = file.await.map_err(io::Error::other)??;
        let (file, first) = next_part(file).await?;
        if first.len() < PART {
            self.bucket.put(&key, PutPayload::from(first)).await.map_err(as_io)?;
            return Ok(());
        }
        let upload = self.bucket.put_multipart(&key).await.map_err(as_io)?;
        let mut upload = WriteMultipart::new_with_chunk_size(upload, PART);
        match fill(&mut upload, file, first).await {
            Ok(()) => upload.finish().await.map(drop).map_err(as_io),
            Err(error) => {
                // Uploaded parts are useless; the bucket may also delete them by a lifecycle rule.
                let _ = upload.abort().await;
                Err(error)
            }
        }
    }

    pub(super) async fn read(&self, key: &str, range: Option<Range<u64>>) -> io::Result<Chunks> {
        let options = GetOptions::new().with_range(range);
        let found = self.bucket.get_opts(&self.key(key)?, options).await.map_err(as_io)?;
        Ok(found.into_stream().map_err(as_io).boxed())
    }

    pub(super) async fn remove(&self, key: &str) -> io::Result<()> {
        self.bucket.delete(&self.key(key)?).await.map_err(as_io)
    }

    pub(super) async fn remove_under(&self, prefix: &str) -> io::Result<()> {
        let listed = self.bucket.list(Some(&self.key(prefix)?));
        let keys = listed.map_ok(|object| object.location).boxed();
        let removed = self.bucket.delete_stream(keys);
        removed.map_err(as_io).try_for_each(|_| async { Ok(()) }).await
    }

    pub(super) async fn remove_some(&self, prefix: &str, most: usize) -> io::Result<bool> {
        let listed = self.bucket.list(Some(&self.key(prefix)?));
        let keys = listed.map_ok(|object| object.location).take(most).boxed();
        let removed = self.bucket.delete_stream(keys).map_err(as_io);
        let count = removed.try_fold(0, |count, _| async move { Ok(count + 1) }).await?;
        Ok(count == most)
    }

    /// Lists what sorts after every project: a cheap request.
    pub(super) async fn check(&self) -> io::Result<()> {
        let mut listed = self.bucket.list_with_offset(Some(&self.prefix), &self.key("zzzz")?);
        listed.try_next().await.map(drop).map_err(as_io)
    }

    pub(super) fn key(&self, key: &str) -> io::Result<Key> {
        let key =
            Key::parse(key).map_err(|error| io::Error::new(io::ErrorKind::InvalidInput, error))?;
        Ok(self.prefix.parts().chain(key.parts()).collect())
    }
}

/// `https://host` as `https://bucket.host`.
fn with_bucket(endpoint: &str, bucket: &str) -> String {
    match endpoint.split_once("://") {
        Some((scheme, rest)) => format!("{scheme}://{bucket}.{rest}"),
        None => endpoint.to_owned(),
    }
}

async fn fill(upload: &mut WriteMultipart, mut file: File, first: Vec<u8>) -> io::Result<()> {
    let mut part = first;
    while !part.is_empty() {
        upload.wait_for_capacity(PARTS_AT_ONCE).await.map_err(as_io)?;
        upload.put(part.into());
        (file, part) = next_part(file).await?;
    }
    Ok(())
}

async fn next_part(mut file: File) -> io::Result<(File, Vec<u8>)> {
    let read = tokio::task::spawn_blocking(move || {
        let mut part = Vec::new();
        (&mut file).take(PART as u64).read_to_end(&mut part)?;
        Ok((file, part))
    });
    read.await.map_err(io::Error::other)?
}

pub(super) fn as_io(error: object_store::Error) -> io::Error {
    match error {
        object_store::Error::NotFound { .. } => io::Error::new(io::ErrorKind::NotFound, error),
        other => io::Error::other(other),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_names_a_bucket_and_perhaps_a_prefix() {
        let open = |address: &str| S3::open(address, &[], true).map(|s3| s3.prefix.to_string());
        assert_eq!(open("bucket").unwrap(), "");
        assert_eq!(open("bucket/").unwrap(), "");
        assert_eq!(open("bucket/some/where/").unwrap(), "some/where");
        assert!(open("").is_err() && open("/prefix").is_err());
    }

    #[test]
    fn the_bucket_is_part_of_the_host_unless_it_is_part_of_the_path() {
        assert_eq!(with_bucket("https://s3.example:9000", "b"), "https://b.s3.example:9000");
    }
}
