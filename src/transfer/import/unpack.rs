//! What is imported may be an archive: of the admin's download (tar, compressed with gzip), or one compressed file, as Disqus
//! sends them. It comes from strangers: nothing in it leads out of the folder that it is unpacked into.

use std::fs::{self, File};
use std::io::{self, BufRead as _, BufReader, Read, Write as _};
use std::path::{Component, Path, PathBuf};

use flate2::bufread::MultiGzDecoder;

use super::{Format, Step};
use crate::transfer::Result;
use crate::transfer::archive::create_private;
use crate::transfer::export::archive::name_of;

const GZIP: &[u8] = &[0x1f, 0x8b];
/// Where the first header of a tar says that it is one.
const MAGIC: (usize, &[u8]) = (257, b"ustar");
const PIECE: usize = 1 << 20;
/// Longer names are cut, so that no file of an export has them.
const MAX_NAME: u64 = 4096;

/// Where the content is; none if the file is no archive.
pub(super) fn unpack(
    path: &Path,
    format: Format,
    scratch: &Path,
    step: Step<'_>,
) -> Result<Option<PathBuf>> {
    if path.is_dir() || !path.exists() {
        return Ok(None);
    }
    let mut file = BufReader::with_capacity(PIECE, File::open(path)?);
    if !file.fill_buf()?.starts_with(GZIP) {
        return Ok(None);
    }
    let mut content = BufReader::with_capacity(PIECE, MultiGzDecoder::new(file));
    let mut beginning = [0; MAGIC.0 + MAGIC.1.len()];
    let count = fill(&mut content, &mut beginning)?;
    let is_tar = count == beginning.len() && beginning.ends_with(MAGIC.1);
    let mut content = beginning[..count].chain(content);
    if is_tar {
        return unpack_all(&mut content, format, scratch, step).map(Some);
    }
    // The name of a table's file says which table it is.
    let name = path.file_stem().unwrap_or_default();
    let target = scratch.join(name);
    copy(&mut content, &target, step)?;
    Ok(Some(target))
}

fn unpack_all(
    content: &mut dyn Read,
    format: Format,
    scratch: &Path,
    step: Step<'_>,
) -> Result<PathBuf> {
    let mut archive = tar::Archive::new(content);
    let mut long_name = None;
    // Raw: a long name would be read into memory whatever its length.
    for entry in archive.entries()?.raw(true) {
        let mut entry = entry?;
        let kind = entry.header().entry_type();
        if kind.is_gnu_longname() {
            long_name = Some(read_name(&mut entry)?);
            continue;
        }
        let path = match long_name.take() {
            Some(name) => name,
            None => entry.path()?.into_owned(),
        };
        if kind.is_dir() {
            continue;
        }
        let is_below = path.components().all(|part| matches!(part, Component::Normal(_)));
        if !kind.is_file() || !is_below {
            return Err(format!("{} is nothing that an export holds", path.display()).into());
        }
        let target = scratch.join(&path);
        fs::create_dir_all(target.parent().unwrap_or(scratch))?;
        copy(&mut entry, &target, step)?;
    }
    let name = match format {
        Format::Jsonl => name_of(super::super::export::Format::Jsonl),
        Format::Csv => name_of(super::super::export::Format::Csv),
        Format::Wxr | Format::Disqus => return Err("an archive is JSON lines or CSV".into()),
    };
    let found = scratch.join(name);
    if found.exists() { Ok(found) } else { Err(format!("the archive holds no {name}").into()) }
}

fn read_name(entry: &mut dyn Read) -> Result<PathBuf> {
    let mut name = String::new();
    entry.take(MAX_NAME).read_to_string(&mut name)?;
    Ok(PathBuf::from(name.trim_end_matches('\0')))
}

fn copy(from: &mut dyn Read, to: &Path, step: Step<'_>) -> Result<()> {
    let mut file = create_private(to)?;
    let (mut piece, mut copied) = (vec![0; PIECE], 0);
    loop {
        let count = from.read(&mut piece)?;
        if count == 0 {
            return Ok(file.flush()?);
        }
        file.write_all(&piece[..count])?;
        copied += count as u64;
        step("bytes", copied)?;
    }
}

/// As much as there is.
fn fill(from: &mut dyn Read, buffer: &mut [u8]) -> io::Result<usize> {
    let mut filled = 0;
    while filled < buffer.len() {
        match from.read(&mut buffer[filled..])? {
            0 => break,
            count => filled += count,
        }
    }
    Ok(filled)
}
