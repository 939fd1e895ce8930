//! Sizes and keys of stored objects, for `townhall doctor`.

use std::io;
use std::path::{Path, PathBuf};

use futures_util::stream::{self, BoxStream};
use futures_util::{StreamExt as _, TryStreamExt as _};
use object_store::{ObjectStore as _, ObjectStoreExt as _};

use crate::error::Error;
use crate::storage::local::{Local, MARKER, Root};
use crate::storage::s3::{S3, as_io};
use crate::storage::{Place, Storage, unavailable};

impl Storage {
    /// The size of an object; none if it does not exist.
    pub async fn size(&self, key: &str) -> Result<Option<u64>, Error> {
        let found = match &self.place {
            Place::Local(local) => local.size(key).await,
            Place::S3(bucket) => bucket.size(key).await,
        };
        match found {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            found => found.map(Some).map_err(unavailable),
        }
    }

    /// The keys of all stored objects.
    pub async fn keys(&self) -> io::Result<BoxStream<'_, io::Result<String>>> {
        match &self.place {
            Place::Local(local) => {
                let keys = local.keys().await?;
                Ok(stream::iter(keys.into_iter().map(Ok)).boxed())
            }
            Place::S3(bucket) => Ok(bucket.keys().boxed()),
        }
    }
}

impl Local {
    async fn size(&self, key: &str) -> io::Result<u64> {
        let path = self.place(key)?;
        self.blocking(move |_| Ok(std::fs::metadata(path)?.len())).await
    }

    async fn keys(&self) -> io::Result<Vec<String>> {
        self.blocking(move |Root { path: root, .. }| {
            let (mut keys, mut directories) = (Vec::new(), vec![root.clone()]);
            while let Some(directory) = directories.pop() {
                for entry in std::fs::read_dir(&directory)? {
                    let entry = entry?;
                    let path: PathBuf = entry.path();
                    if entry.file_type()?.is_dir() {
                        directories.push(path);
                    } else {
                        let key = path.strip_prefix(root).unwrap_or(Path::new(""));
                        keys.push(key.display().to_string());
                    }
                }
            }
            keys.retain(|key| key != MARKER);
            Ok(keys)
        })
        .await
    }
}

impl S3 {
    async fn size(&self, key: &str) -> io::Result<u64> {
        Ok(self.bucket.head(&self.key(key)?).await.map_err(as_io)?.size)
    }

    fn keys(&self) -> impl futures_util::Stream<Item = io::Result<String>> {
        let prefix = self.prefix.parts().count();
        let listed = self.bucket.list(Some(&self.prefix)).map_err(as_io);
        listed.map_ok(move |object| {
            let parts = object.location.parts().skip(prefix);
            parts.map(|part| part.as_ref().to_owned()).collect::<Vec<_>>().join("/")
        })
    }
}
