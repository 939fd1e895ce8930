//! Reads a form from the connection: texts into memory, files into the staging directory, within limits of
//! number, size and time.

use std::sync::Arc;

use http::header::CONTENT_TYPE;
use serde_json::{Map, Value};
use tokio::sync::SemaphorePermit;

use crate::error::{Error, Fault, Result};
use crate::http::body::{BODY_TOO_LARGE, MAX_JSON_BODY, Source, no_memory};
use crate::http::multipart::file::{BUFFER, OpenFile};
use crate::http::multipart::head::PartHead;
use crate::http::multipart::parser::{Event, Parser};
use crate::http::multipart::{FileField, Form, MAX_FILE, Upload, Uploads};
use crate::state::App;
use crate::storage::staging::Staged;
use crate::tenancy::{Bundle, Project};
use crate::values::json;

/// Maximum parts: more than any operation has fields and files.
const MAX_PARTS: usize = 128;
/// Maximum bytes of a form: twenty files of the largest size, and their texts.
const MAX_FORM: u64 = 21 * MAX_FILE;

#[derive(Debug)]
pub struct ReadForm<'a> {
    pub texts: Value,
    pub uploads: Uploads,
    /// Held as long as the texts are.
    pub memory: SemaphorePermit<'a>,
}

/// `invalid` is the operation's own fault for a malformed body. Without a project no bundle is needed.
pub async fn read_form<'a>(
    app: &'a App,
    project: Option<&Project>,
    form: &'static Form,
    invalid: Fault,
    headers: &http::HeaderMap,
    mut source: Source<'_>,
) -> Result<ReadForm<'a>> {
    let content_type = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
    let parser = content_type.and_then(Parser::new);
    let mut parser = parser.ok_or_else(|| invalid.because("The form names no usable boundary"))?;
    let memory = app.body_memory.try_acquire_many(0).map_err(no_memory)?;
    let mut reader = Reader {
        app,
        project,
        form,
        invalid,
        texts: Map::new(),
        text_size: 0,
        uploads: Vec::new(),
        parts: 0,
        staged: None,
        memory,
    };
    let read = reader.read(&mut parser, &mut source).await;
    // A client that is still sending would get a broken pipe instead of the reply.
    source.discard().await;
    read?;
    let Reader { texts, uploads, memory, .. } = reader;
    Ok(ReadForm { texts: Value::Object(texts), uploads: Uploads(uploads), memory })
}

struct Reader<'a, 'p> {
    app: &'a App,
    project: Option<&'p Project>,
    form: &'static Form,
    invalid: Fault,
    texts: Map<String, Value>,
    text_size: usize,
    uploads: Vec<Upload>,
    parts: usize,
    staged: Option<Arc<Staged>>,
    memory: SemaphorePermit<'a>,
}

/// The part that is being read.
enum Part {
    Text(String, Vec<u8>),
    File(Box<OpenFile>),
    /// A file in a field that the operation does not have.
    Unknown(u64),
}

impl Reader<'_, '_> {
    async fn read(&mut self, parser: &mut Parser, source: &mut Source<'_>) -> Result<()> {
        let mut part = None;
        loop {
            match parser.next().map_err(|why| self.malformed(why))? {
                Event::Hungry => {
                    let chunk = source.next_within_pace().await?;
                    let chunk = chunk.ok_or_else(|| self.malformed("it has no end"))?;
                    if source.read > MAX_FORM {
                        return Err(BODY_TOO_LARGE.into());
                    }
                    parser.push(&chunk);
                }
                Event::Begin(head) => part = Some(self.begin(head).await?),
                Event::Data(data) => match part.as_mut() {
                    Some(part) => self.take(part, &data).await?,
                    None => return Err(Error::internal("data outside a part")),
                },
                Event::End => match part.take() {
                    Some(part) => self.finish(part).await?,
                    None => return Err(Error::internal("a part ends that has not begun")),
                },
                Event::Done => return Ok(()),
            }
        }
    }

    fn malformed(&self, why: &str) -> Error {
        self.invalid.because(format!("The form is malformed: {why}"))
    }

    async fn begin(&mut self, head: PartHead) -> Result<Part> {
        self.parts += 1;
        if self.parts > MAX_PARTS {
            return Err(self.malformed("it has too many parts"));
        }
        let Some(field) = self.form.files.iter().find(|field| field.name == head.name) else {
            let is_known = self.form.json.contains(&head.name.as_str());
            // Some clients send JSON as a file of its own.
            return Ok(match head.file_name {
                Some(_) if !is_known => Part::Unknown(0),
                _ => Part::Text(head.name, Vec::new()),
            });
        };
        match (self.project, self.form.without_bundle) {
            (Some(project), Some(fault)) if !project.has(Bundle::FilesImages) => {
                return Err(fault.into());
            }
            (Some(project), _) => project.require(Bundle::FilesImages)?,
            (None, _) => {}
        }
        let same = self.uploads.iter().filter(|upload| upload.field == field.name).count();
        if same >= field.most {
            return Err(field.too_many.into());
        }
        self.open(field, head).await.map(|file| Part::File(Box::new(file)))
    }

    async fn open(&mut self, field: &'static FileField, head: PartHead) -> Result<OpenFile> {
        let staged = match &self.staged {
            Some(staged) => staged.clone(),
            None => {
                let staged = self.app.staging.directory(&self.app.random).await?;
                self.staged.insert(staged).clone()
            }
        };
        self.remember(BUFFER)?;
        OpenFile::create(field, head, &format!("part-{}", self.parts), staged).await
    }

    /// Takes a share of the memory for bodies.
    fn remember(&mut self, bytes: usize) -> Result<()> {
        let bytes = u32::try_from(bytes).unwrap_or(u32::MAX);
        self.memory.merge(self.app.body_memory.try_acquire_many(bytes).map_err(no_memory)?);
        Ok(())
    }

    async fn take(&mut self, part: &mut Part, data: &[u8]) -> Result<()> {
        match part {
            Part::Text(_, text) => {
                self.text_size += data.len();
                if self.text_size > MAX_JSON_BODY {
                    return Err(BODY_TOO_LARGE.into());
                }
                self.remember(data.len())?;
                text.extend_from_slice(data);
                Ok(())
            }
            Part::File(file) => file.take(data).await,
            Part::Unknown(size) => {
                *size += data.len() as u64;
                if *size > MAX_FILE { Err(BODY_TOO_LARGE.into()) } else { Ok(()) }
            }
        }
    }

    async fn finish(&mut self, part: Part) -> Result<()> {
        match part {
            Part::Text(name, text) => self.keep_text(name, text),
            Part::File(file) => {
                self.uploads.push(file.finish().await?);
                // Its buffer is reused for the next file.
                drop(self.memory.split(BUFFER));
                Ok(())
            }
            Part::Unknown(_) => Ok(()),
        }
    }

    /// Refused: with two values of a field it is ambiguous which one counts.
    fn keep_text(&mut self, name: String, text: Vec<u8>) -> Result<()> {
        let wrong = |why: &str| self.invalid.because(format!("{name}: {why}"));
        if self.texts.contains_key(&name) {
            return Err(wrong("is given more than once"));
        }
        let text = String::from_utf8(text).map_err(|_| wrong("is no text in UTF-8"))?;
        if text.contains('\0') {
            return Err(wrong("text must not contain the NUL character"));
        }
        let is_in = |names: &[&str]| names.contains(&name.as_str());
        let value = if is_in(self.form.json) {
            json::check(text.as_bytes()).map_err(wrong)?;
            serde_json::from_str(&text).map_err(|_| wrong("is not valid JSON"))?
        } else if is_in(self.form.flags) {
            match text.as_str() {
                "true" => Value::Bool(true),
                "false" => Value::Bool(false),
                _ => return Err(wrong("must be true or false")),
            }
        } else if text.is_empty() && is_in(self.form.cleared) {
            Value::Null
        } else {
            Value::String(text)
        };
        self.texts.insert(name, value);
        Ok(())
    }
}
