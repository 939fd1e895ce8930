//! Everything of one user in an archive (tar, compressed with gzip): a JSON file for each type of documents, and the files that
//! they have stored. Secrets, and what the application keeps from its users, are left out.

use std::fs::File;
use std::io::{self, BufWriter, Read as _, Seek as _, Write};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use bytes::Bytes;
use db::{Conn, Db, Value};
use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::json;
use tokio::runtime::Handle;

use super::kinds::{self, Kind};
use super::{document, store};
use crate::error::{Error, Result};
use crate::features::files::store as files;
use crate::features::users::NOT_FOUND;
use crate::features::users::store as users;
use crate::storage::blocking::Blocking;
use crate::storage::{Storage, unavailable};
use crate::values::ids::{FileId, ProjectId, UserId};
use crate::values::metadata::to_json;
use crate::values::time::Timestamp;

/// Where archives of users are stored below their project. They are not part of the next one.
pub const FOLDER: &str = "user-exports";

#[derive(Debug)]
pub struct UserExport<'a> {
    pub db: &'a Db,
    pub storage: &'a Storage,
    pub runtime: &'a Handle,
    pub now: Timestamp,
    pub project: ProjectId,
    pub user: UserId,
}

/// What was written.
#[derive(Debug, Default)]
pub struct Written {
    pub documents: u64,
    pub files: u64,
}

type Archive = tar::Builder<GzEncoder<BufWriter<File>>>;

impl UserExport<'_> {
    /// Writes the archive into a new file; `scratch` is a folder for pieces of it. Blocks.
    pub fn write(&self, path: &Path, scratch: &Path) -> Result<Written> {
        let file = File::options().write(true).create_new(true).mode(0o600).open(path);
        let file = BufWriter::new(file.map_err(Error::internal)?);
        let mut archive = tar::Builder::new(GzEncoder::new(file, Compression::default()));
        let mut written = Written::default();
        let mut stored = Vec::new();
        self.db.snapshot(|c| {
            users::find(c, self.project, self.user)?.ok_or(NOT_FOUND)?;
            for kind in kinds::of_user() {
                written.documents += self.documents(c, kind, &mut archive, scratch, &mut stored)?;
            }
            Ok::<_, Error>(())
        })?;
        let mut missing = Vec::new();
        for id in stored {
            match self.file(id, &mut archive)? {
                Some(objects) => written.files += objects,
                None => missing.push(id),
            }
        }
        let about = json!({
            "projectId": self.project,
            "userId": self.user,
            "createdAt": self.now,
            "documents": written.documents,
            "files": written.files,
            "missingFiles": missing,
        });
        add(&mut archive, "about.json", format!("{about:#}\n").as_bytes())?;
        let finish = || {
            let file = archive.into_inner()?.finish()?.into_inner().map_err(|e| e.into_error())?;
            file.sync_all()
        };
        finish().map_err(Error::internal)?;
        Ok(written)
    }

    /// The documents of a type as one JSON file; how many they are.
    fn documents(
        &self,
        c: &Conn<'_>,
        kind: &Kind,
        archive: &mut Archive,
        scratch: &Path,
        stored: &mut Vec<FileId>,
    ) -> Result<u64> {
        let path = scratch.join("documents");
        let file = File::options().read(true).write(true).create(true).truncate(true).open(&path);
        let mut lines = BufWriter::new(file.map_err(Error::internal)?);
        let (mut count, mut failure) = (0_u64, None);
        store::each_of_user(c, self.project, self.user, kind, &mut |values| {
            if kind.name == "file" && !note_file(kind, &values, stored) {
                return;
            }
            let separator = if count == 0 { "[\n" } else { ",\n" };
            let line = document::line(kind, &values, kind.secret);
            failure = failure.take().or(write!(lines, "{separator}{line}").err());
            count += 1;
        })?;
        if let Some(failure) = failure {
            return Err(Error::internal(failure));
        }
        if count == 0 {
            return Ok(0);
        }
        let finish = || -> io::Result<()> {
            writeln!(lines, "\n]")?;
            let mut file = lines.into_inner().map_err(|error| error.into_error())?;
            file.rewind()?;
            let size = file.metadata()?.len();
            let mut header = header(size);
            archive.append_data(&mut header, format!("{}.json", kind.name), file.take(size))
        };
        finish().map_err(Error::internal)?;
        Ok(count)
    }

    /// Adds the objects of a file; none if their bytes are gone.
    fn file(&self, id: FileId, archive: &mut Archive) -> Result<Option<u64>> {
        let project = self.project;
        let found =
            self.runtime.block_on(self.db.read(move |c| files::audit::find(c, project, id)))?;
        let Some(found) = found else { return Ok(None) };
        let mut objects = 0;
        for object in found.objects()? {
            let key = object.key(project);
            let found = self.runtime.block_on(self.storage.read(&key, None))?;
            let Some(chunks) = found else { return Ok(None) };
            let content = Blocking { runtime: self.runtime, chunks, rest: Bytes::new() };
            let mut header = header(object.size);
            let name = format!("files/{}", object.path);
            let added = archive.append_data(&mut header, name, content.take(object.size));
            added.map_err(unavailable)?;
            objects += 1;
        }
        Ok(Some(objects))
    }
}

/// Notes a stored file; false for an earlier archive.
fn note_file(kind: &Kind, values: &[Value<'static>], stored: &mut Vec<FileId>) -> bool {
    let value = |column: &str| kind.place(column).map(|at| &values[at]);
    let is_archive = match value("path") {
        Some(Value::Text(path)) => path.starts_with(&format!("{FOLDER}/")),
        _ => false,
    };
    if !is_archive {
        stored.extend(value("id").and_then(document::uuid).map(FileId));
    }
    !is_archive
}

fn header(size: u64) -> tar::Header {
    let mut header = tar::Header::new_gnu();
    header.set_size(size);
    header.set_mode(0o600);
    header
}

fn add(archive: &mut Archive, name: &str, bytes: &[u8]) -> Result<()> {
    let mut header = header(bytes.len() as u64);
    archive.append_data(&mut header, name, bytes).map_err(Error::internal)
}

/// The metadata of the row of an archive.
pub fn metadata() -> String {
    to_json(&json!({ "kind": "user-export" }))
}
