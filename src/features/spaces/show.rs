//! From rows to replies: a constant number of statements, however many rows.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use db::Conn;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::error::{Error, Result};
use crate::features::files::model::{File, show};
use crate::features::files::store as storage;
use crate::features::spaces::members::store as members;
use crate::features::spaces::model::{MemberPermissions, Space, SpaceDetailed, SpacePreview};
use crate::features::spaces::permissions::Permissions;
use crate::features::spaces::rules::Status;
use crate::features::spaces::store::{self, SpaceRow};
use crate::http::include::Include;
use crate::http::operation::Call;
use crate::storage::signed::Links;
use crate::tenancy::Project;
use crate::values::ids::{FileId, SpaceId, UserId};

/// Maximum children shown with their parent.
const CHILDREN_SHOWN: i64 = 10;

#[derive(Debug, Default, Deserialize, JsonSchema)]
pub struct IncludeQuery {
    /// `files`.
    #[serde(default)]
    include: Include,
}

/// Which parts of spaces are shown, and to which viewer.
#[derive(Debug, Clone)]
pub struct View {
    pub project: Arc<Project>,
    /// The viewer; none for a key or an anonymous caller.
    pub viewer: Option<UserId>,
    files: bool,
    links: Links,
}

impl View {
    pub fn new<A>(call: &Call<A>, viewer: Option<UserId>) -> Self {
        View::of(call.project.clone(), viewer, call.links())
    }

    /// For a space shown within other content.
    pub fn of(project: Arc<Project>, viewer: Option<UserId>, links: Links) -> Self {
        View { project, viewer, files: false, links }
    }

    pub fn asked<A>(call: &Call<A>, viewer: Option<UserId>, query: &IncludeQuery) -> Self {
        View::new(call, viewer).with_files(query.include.has("files"))
    }

    pub fn with_files(self, files: bool) -> Self {
        View { files, ..self }
    }

    /// In the order of the rows.
    pub fn spaces(&self, c: &Conn<'_>, rows: Vec<SpaceRow>) -> Result<Vec<Space>> {
        let project = self.project.id;
        let ids: Vec<SpaceId> = rows.iter().map(|row| row.id).collect();
        let files =
            self.load(c, rows.iter().flat_map(|row| [row.avatar_file_id, row.banner_file_id]))?;
        let joined = match self.viewer {
            Some(viewer) => members::joined(c, project, viewer, &ids)?,
            None => HashSet::new(),
        };
        let shown = rows.into_iter().map(|row| {
            let mut space = Space::new(project, row)?;
            space.is_member = self.viewer.map(|_| joined.contains(&space.id));
            space.avatar_file = self.file(&files, space.avatar_file_id);
            space.banner_file = self.file(&files, space.banner_file_id);
            Ok(space)
        });
        shown.collect()
    }

    /// The rows of a page, by ids that are known already.
    pub fn page(&self, c: &Conn<'_>, ids: &[SpaceId]) -> Result<Vec<Space>> {
        let rows = store::find_all(c, self.project.id, ids)?;
        let mut rows: HashMap<SpaceId, SpaceRow> =
            rows.into_iter().map(|row| (row.id, row)).collect();
        self.spaces(c, ids.iter().filter_map(|id| rows.remove(id)).collect())
    }

    pub fn space(&self, c: &Conn<'_>, row: SpaceRow) -> Result<Space> {
        self.spaces(c, vec![row])?.pop().ok_or_else(|| Error::internal("the space was not shown"))
    }

    pub fn detailed(&self, c: &Conn<'_>, row: SpaceRow) -> Result<SpaceDetailed> {
        let project = self.project.id;
        let standing = match self.viewer {
            Some(viewer) => store::standing(c, project, row.id, viewer)?,
            None => None,
        };
        let (reading, posting) = (row.reading_permission, row.posting_permission);
        let member_permissions = standing.map(|member| MemberPermissions {
            permissions: Permissions::new(reading, posting, Some(member)),
            status: Some(member.status).filter(|status| *status != Status::Rejected),
        });
        let parent = match row.parent_id {
            Some(parent) => store::find(c, project, parent)?,
            None => None,
        };
        let children = match row.children_count {
            0 => Vec::new(),
            _ => store::public_children(c, project, row.id, CHILDREN_SHOWN, 0)?,
        };
        let of_previews = parent.iter().chain(&children).map(|row| row.avatar_file_id);
        let files = self.load(c, of_previews)?;
        let preview = |row: SpaceRow| {
            let avatar_file = self.file(&files, row.avatar_file_id);
            SpacePreview { avatar_file, ..SpacePreview::new(row) }
        };
        Ok(SpaceDetailed {
            member_permissions,
            parent_space: parent.map(preview),
            child_spaces: children.into_iter().map(preview).collect(),
            space: self.space(c, row)?,
        })
    }

    fn load(
        &self,
        c: &Conn<'_>,
        ids: impl Iterator<Item = Option<FileId>>,
    ) -> Result<HashMap<FileId, File>> {
        let ids: Vec<FileId> = ids.flatten().filter(|_| self.files).collect();
        let rows = storage::find_all(c, self.project.id, &ids)?;
        rows.iter().map(|row| Ok((row.id, show(&self.links, row)?))).collect()
    }

    /// The outer `Option` is the key.
    fn file(&self, files: &HashMap<FileId, File>, id: Option<FileId>) -> Option<Option<Box<File>>> {
        self.files.then(|| id.and_then(|id| files.get(&id).cloned()).map(Box::new))
    }
}
