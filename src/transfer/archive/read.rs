//! Reading an archive entry by entry, in the order in which it was written.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{BufReader, Read};
use std::path::{Path, PathBuf};

use aws_lc_rs::digest::{SHA256, digest};

use super::{Added, FORMAT, MANIFEST, Manifest, TABLE, TABLES, TableFacts, TableHead, VERSION};
use crate::transfer::{Checksum, Result, rows};
use crate::values::random::hex;

type Take<'t> = &'t mut dyn FnMut(&str, &mut dyn Read) -> Result<()>;

/// Passes on every entry, those of tables first, the manifest last.
pub fn each(path: &Path, take: Take<'_>) -> Result<()> {
    let unreadable = |error: std::io::Error| format!("{}: {error}", path.display());
    if path.is_dir() {
        let mut names = Vec::new();
        list(path, path, &mut names).map_err(unreadable)?;
        // The head of a table before its rows.
        names.sort_by_key(|name| {
            (name == MANIFEST, !name.starts_with(TABLES), name.replace(TABLE, ""))
        });
        for name in names {
            let file = File::open(path.join(&name)).map_err(unreadable)?;
            take(&name, &mut BufReader::new(file))?;
        }
        return Ok(());
    }
    let file = File::open(path).map_err(unreadable)?;
    let mut archive = tar::Archive::new(zstd::Decoder::new(file).map_err(unreadable)?);
    for entry in archive.entries().map_err(unreadable)? {
        let mut entry = entry.map_err(unreadable)?;
        let name = entry.path().map_err(unreadable)?;
        let name = name.to_str().ok_or("an entry has no name")?.to_owned();
        take(&name, &mut entry)?;
    }
    // The checksum is at the end.
    std::io::copy(&mut archive.into_inner(), &mut std::io::sink()).map_err(unreadable)?;
    Ok(())
}

fn list(root: &Path, directory: &Path, names: &mut Vec<String>) -> std::io::Result<()> {
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        let path: PathBuf = entry.path();
        if entry.file_type()?.is_dir() {
            list(root, &path, names)?;
        } else if let Some(name) = path.strip_prefix(root).ok().and_then(Path::to_str) {
            names.push(name.to_owned());
        }
    }
    Ok(())
}

/// Reads everything: every entry against the manifest, and every row.
pub fn verify(path: &Path) -> Result<Manifest> {
    let mut check = Check::default();
    each(path, &mut |name, content| check.entry(name, content))?;
    check.finish()
}

#[derive(Default)]
struct Check {
    entries: BTreeMap<String, Added>,
    tables: Vec<(TableHead, Checksum)>,
    manifest: Option<Manifest>,
}

impl Check {
    fn entry(&mut self, name: &str, content: &mut dyn Read) -> Result<()> {
        if self.manifest.is_some() {
            return Err(format!("{name} is behind the manifest").into());
        }
        let mut bytes = Vec::new();
        // Stored files have at most 50 MB; rows come in pieces.
        content.read_to_end(&mut bytes).map_err(|error| format!("{name}: {error}"))?;
        if name == MANIFEST {
            let manifest = serde_json::from_slice(&bytes);
            self.manifest = Some(manifest.map_err(|error| format!("{name}: {error}"))?);
            return Ok(());
        }
        if name.ends_with(TABLE) {
            let head =
                serde_json::from_slice(&bytes).map_err(|error| format!("{name}: {error}"))?;
            self.tables.push((head, Checksum::default()));
        } else if name.starts_with(TABLES) {
            let (head, sum) = self.tables.last_mut().ok_or("rows of no table")?;
            let rows = rows::decode(&bytes, head.columns.len());
            let rows = rows.ok_or_else(|| format!("{name} holds no rows"))?;
            rows.iter().for_each(|row| sum.add(row, &head.json));
        }
        let sha256 = hex(digest(&SHA256, &bytes).as_ref());
        let added = Added { name: name.to_owned(), bytes: bytes.len() as u64, sha256 };
        self.entries.insert(name.to_owned(), added);
        Ok(())
    }

    fn finish(mut self) -> Result<Manifest> {
        let manifest =
            self.manifest.ok_or("there is no manifest: the archive is cut off, or none")?;
        if manifest.format != FORMAT || manifest.version > VERSION {
            let Manifest { format, version, .. } = manifest;
            return Err(format!("{format} {version} is not known to this program").into());
        }
        for entry in &manifest.entries {
            let name = &entry.name;
            match self.entries.remove(name) {
                Some(found) if found == *entry => {}
                Some(_) => return Err(format!("{name} is not what was written").into()),
                None => return Err(format!("{name} is missing").into()),
            }
        }
        if let Some(name) = self.entries.keys().next() {
            return Err(format!("{name} is not in the manifest").into());
        }
        let facts = |(head, sum): (TableHead, Checksum)| TableFacts {
            name: head.name,
            rows: sum.rows,
            checksum: sum.to_string(),
        };
        let tables: Vec<TableFacts> = self.tables.into_iter().map(facts).collect();
        if tables != manifest.tables {
            return Err("the rows are not those that the manifest counts".into());
        }
        Ok(manifest)
    }
}
