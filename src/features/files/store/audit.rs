//! What the rows of files say about stored bytes, for the operator's check-up.

use db::{Conn, JsonText, args};
use uuid::Uuid;

use crate::error::{Error, Result};
use crate::features::files::model::{ImageFacts, StoredVariant};
use crate::values::ids::{FileId, ProjectId};

/// Rows that are read together.
const PAGE: i64 = 500;

db::row! {
    /// What a row says about its objects.
    #[derive(Debug, Clone)]
    pub struct Stored {
        pub id: FileId,
        pub path: String,
        pub size: i64,
        pub image: Option<JsonText>,
        pub sha256: Option<String>,
    }
}

db::statements! {
    query AFTER -> Stored =
        "SELECT id, path, size, image, sha256 FROM files
         WHERE project_id = $1 AND id > $2 ORDER BY id LIMIT $3";
    query FIND -> Stored =
        "SELECT id, path, size, image, sha256 FROM files WHERE project_id = $1 AND id = $2";
    query EXISTS -> i64 = "SELECT count(*) FROM files WHERE project_id = $1 AND id = $2";
}

/// One object of a file: the only one, or a size of an image.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Object {
    pub path: String,
    pub size: u64,
    /// None for files that were stored before it was kept.
    pub sha256: Option<String>,
}

impl Object {
    pub fn key(&self, project: ProjectId) -> String {
        format!("{project}/{}", self.path)
    }
}

impl Stored {
    /// Where its bytes should be. The size of an image's row is that of the upload, not of what was made of it.
    pub fn objects(&self) -> Result<Vec<Object>> {
        let Some(image) = &self.image else {
            let size = u64::try_from(self.size).map_err(Error::internal)?;
            return Ok(vec![Object { path: self.path.clone(), size, sha256: self.sha256.clone() }]);
        };
        let facts: ImageFacts = serde_json::from_str(&image.0).map_err(Error::internal)?;
        let object = |one: &StoredVariant| Object {
            path: one.path.clone(),
            size: one.size,
            sha256: one.sha256.clone(),
        };
        Ok(facts.all().map(object).collect())
    }
}

/// The next rows of a project after that one.
pub fn page(c: &Conn<'_>, project: ProjectId, last: Option<FileId>) -> Result<Vec<Stored>> {
    let last = last.unwrap_or(FileId(Uuid::nil()));
    Ok(c.all(&AFTER, args![project, last, PAGE])?)
}

pub fn find(c: &Conn<'_>, project: ProjectId, id: FileId) -> Result<Option<Stored>> {
    Ok(c.opt(&FIND, args![project, id])?)
}

pub fn exists(c: &Conn<'_>, project: ProjectId, id: FileId) -> Result<bool> {
    Ok(c.one(&EXISTS, args![project, id])? > 0)
}
