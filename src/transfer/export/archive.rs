//! An export as one archive, for a download. Unpacked it is what `townhall export` writes and `townhall import` reads. Memory
//! does not grow with the project: documents and the list of files are on disk before they are sent.

use std::fs::File;
use std::io::{self, BufRead as _, BufReader, BufWriter, Read, Write};
use std::path::Path;

use bytes::Bytes;
use flate2::Compression;
use flate2::write::GzEncoder;
use tar::{Builder, Header, HeaderMode};
use tokio::runtime::Handle;

use super::sink::{Sink, create_private};
use super::{Export, Exported, Format, Step, files_of};
use crate::features::exports::download::{self, Going, Wanted};
use crate::state::App;
use crate::storage::blocking::Blocking;
use crate::transfer::files::{Hold, each_object};
use crate::transfer::{Failure, Result};

/// Documents between two looks at whether to go on.
const LOOK_EVERY: u64 = 1_000;
/// Names the files whose bytes were lost before the export.
const MISSING: &str = "missing-files.txt";

/// The file or folder of documents in an archive.
pub const fn name_of(format: Format) -> &'static str {
    match format {
        Format::Jsonl => "export.jsonl",
        Format::Csv => "export",
    }
}

/// For the list of archivers.
pub fn pack(
    app: &App,
    wanted: Wanted,
    scratch: &Path,
    out: &mut (dyn Write + Send),
    going: Going<'_>,
) -> Result<(), String> {
    let export = Export {
        db: &app.db,
        storage: &app.storage,
        runtime: &Handle::current(),
        random: &app.random,
        now: app.clock.now(),
        project: wanted.project,
        format: match wanted.format {
            download::Format::Jsonl => Format::Jsonl,
            download::Format::Csv => Format::Csv,
        },
    };
    let step = |_: &str, count: u64| match count % LOOK_EVERY {
        0 => going().map_err(Failure::from),
        _ => Ok(()),
    };
    export.pack(scratch, out, &step).map(drop).map_err(|failure| failure.0)
}

impl Export<'_> {
    fn pack(
        &self,
        scratch: &Path,
        out: &mut (dyn Write + Send),
        step: Step<'_>,
    ) -> Result<Exported> {
        let hold = Hold { db: self.db, runtime: self.runtime, random: self.random, now: self.now };
        hold.during(|| {
            let name = name_of(self.format);
            let (path, list) = (scratch.join(name), scratch.join("objects"));
            let mut done = self.stage(&path, &list, step)?;
            let mut archive = Builder::new(GzEncoder::new(out, Compression::fast()));
            archive.mode(HeaderMode::Deterministic);
            match self.format {
                Format::Jsonl => archive.append_path_with_name(&path, name)?,
                Format::Csv => archive.append_dir_all(name, &path)?,
            }
            self.stored(&mut archive, &files_of(Path::new(name), self.format), &list, &mut done)?;
            if !done.missing_files.is_empty() {
                let text = done.missing_files.join("\n");
                archive.append_data(&mut header(text.len() as u64), MISSING, text.as_bytes())?;
            }
            archive.into_inner()?.finish()?.flush()?;
            Ok(done)
        })
    }

    /// Writes the documents, and which objects of the storage belong to them: a size and a key on each line.
    fn stage(&self, path: &Path, list: &Path, step: Step<'_>) -> Result<Exported> {
        let mut sink = Sink::create(path, self.format)?;
        let mut objects = BufWriter::new(create_private(list)?);
        let mut done = Exported::default();
        self.db.snapshot(|c| {
            self.header(c, &mut sink)?;
            self.documents(c, &mut sink, &mut done, step)?;
            self.custom_tables(c, &mut sink, &mut done, step)?;
            each_object(c, self.project, &mut |(key, size)| Ok(writeln!(objects, "{size} {key}")?))
        })?;
        objects.flush()?;
        sink.finish(done.documents.values().sum())?;
        Ok(done)
    }

    fn stored<W: Write>(
        &self,
        archive: &mut Builder<W>,
        directory: &Path,
        list: &Path,
        done: &mut Exported,
    ) -> Result<()> {
        let prefix = format!("{}/", self.project);
        for line in BufReader::new(File::open(list)?).lines() {
            let line = line?;
            let (size, key) = line.split_once(' ').ok_or("the list of files is damaged")?;
            let size = size.parse()?;
            let Some(chunks) = self.runtime.block_on(self.storage.read(key, None))? else {
                done.missing_files.push(key.to_owned());
                continue;
            };
            let content = Blocking { runtime: self.runtime, chunks, rest: Bytes::new() };
            let below = key.strip_prefix(&prefix).unwrap_or(key);
            let exact = Exact { content, left: size };
            archive.append_data(&mut header(size), directory.join(below), exact)?;
            done.files += 1;
        }
        Ok(())
    }
}

fn header(size: u64) -> Header {
    let mut header = Header::new_gnu();
    header.set_size(size);
    header.set_mode(0o600);
    header
}

/// Fails at the end of content that is shorter than its header says, which would break the rest of the archive.
struct Exact<R> {
    content: R,
    left: u64,
}

impl<R: Read> Read for Exact<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let most = usize::try_from(self.left).unwrap_or(usize::MAX).min(buffer.len());
        let count = self.content.read(&mut buffer[..most])?;
        if count == 0 && most > 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        self.left -= count as u64;
        Ok(count)
    }
}
