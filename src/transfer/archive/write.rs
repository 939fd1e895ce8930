//! Writing an archive under a temporary name.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use aws_lc_rs::digest::{Context, SHA256};
use serde::{Deserialize, Serialize};

use crate::storage::durable::{make_directories, sync_directory};
use crate::values::random::hex;

/// Compresses well and still faster than most disks write.
const LEVEL: i32 = 3;

/// An entry as the manifest lists it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Added {
    pub name: String,
    pub bytes: u64,
    pub sha256: String,
}

pub enum Writer {
    Tar(Box<tar::Builder<zstd::Encoder<'static, File>>>),
    Directory(PathBuf),
}

impl Writer {
    pub fn create(path: &Path, directory: bool) -> io::Result<Self> {
        if directory {
            make_directories(path)?;
            return Ok(Writer::Directory(path.to_owned()));
        }
        let mut file = zstd::Encoder::new(create_private(path)?, LEVEL)?;
        // The manifest covers the entries; this covers what is between them, too.
        file.include_checksum(true)?;
        Ok(Writer::Tar(Box::new(tar::Builder::new(file))))
    }

    /// Adds an entry of exactly this many bytes.
    pub fn add(&mut self, name: &str, bytes: u64, content: &mut dyn Read) -> io::Result<Added> {
        let mut content = Hashed { content, context: Context::new(&SHA256), bytes: 0 };
        match self {
            Writer::Tar(tar) => {
                let mut header = tar::Header::new_gnu();
                header.set_size(bytes);
                header.set_mode(0o600);
                tar.append_data(&mut header, name, (&mut content).take(bytes))?;
            }
            Writer::Directory(directory) => {
                let path = directory.join(name);
                path.parent().map_or(Ok(()), make_directories)?;
                let mut file = create_private(&path)?;
                io::copy(&mut content, &mut file)?;
                file.sync_all()?;
            }
        }
        if content.bytes != bytes {
            let message = format!("{name} has {} bytes, not {bytes}", content.bytes);
            return Err(io::Error::other(message));
        }
        let sha256 = hex(content.context.finish().as_ref());
        Ok(Added { name: name.to_owned(), bytes, sha256 })
    }

    /// Everything is on disk when this returns, and it is a whole archive.
    pub fn finish(self) -> io::Result<()> {
        match self {
            Writer::Tar(tar) => {
                let mut file = tar.into_inner()?.finish()?;
                file.flush()?;
                file.sync_all()
            }
            Writer::Directory(directory) => sync_all(&directory),
        }
    }
}

/// For its owner alone: it holds addresses and password hashes.
pub fn create_private(path: &Path) -> io::Result<File> {
    OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)
}

fn sync_all(directory: &Path) -> io::Result<()> {
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            sync_all(&entry.path())?;
        }
    }
    sync_directory(directory)
}

impl std::fmt::Debug for Writer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Writer::Tar(_) => "Tar(…)",
            Writer::Directory(_) => "Directory(…)",
        })
    }
}

/// The size and digest of a file.
pub fn measure(path: &Path) -> io::Result<(u64, String)> {
    let mut file = File::open(path)?;
    let mut content = Hashed { content: &mut file, context: Context::new(&SHA256), bytes: 0 };
    io::copy(&mut content, &mut io::sink())?;
    Ok((content.bytes, hex(content.context.finish().as_ref())))
}

struct Hashed<'a> {
    content: &'a mut dyn Read,
    context: Context,
    bytes: u64,
}

impl Read for Hashed<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.content.read(buffer)?;
        self.context.update(&buffer[..count]);
        self.bytes += count as u64;
        Ok(count)
    }
}
