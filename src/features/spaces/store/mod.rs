//! The SQL about spaces themselves. Deleted spaces are invisible to all statements but those that purge them.

pub mod access;
pub mod anonymize;
pub mod moderation_log;
pub mod recount;
pub mod rulebook;

use db::{Conn, JsonText, Tx, args};

use crate::error::Result;
use crate::features::spaces::permissions::SpaceMembership;
use crate::features::spaces::rules::{Posting, Reading, Role, Status, Visibility};
use crate::search_queue::{Kind, store as search_queue};
use crate::values::ids::{FileId, ProjectId, SpaceId, UserId};
use crate::values::time::Timestamp;

db::row! {
    #[derive(Debug, Clone, PartialEq)]
    pub struct SpaceRow {
        pub id: SpaceId,
        pub slug: Option<String>,
        pub name: String,
        pub description: Option<String>,
        pub user_id: Option<UserId>,
        pub avatar_file_id: Option<FileId>,
        pub banner_file_id: Option<FileId>,
        pub reading_permission: Reading,
        pub posting_permission: Posting,
        pub visibility: Visibility,
        pub nsfw: bool,
        pub nsfw_effective: bool,
        pub requires_approval: bool,
        pub parent_id: Option<SpaceId>,
        pub depth: i64,
        pub metadata: JsonText,
        pub members_count: i64,
        pub children_count: i64,
        pub created_at: Timestamp,
        pub updated_at: Timestamp,
    }
}

impl SpaceRow {
    /// Avatar and banner.
    pub fn picture_ids(&self) -> [Option<FileId>; 2] {
        [self.avatar_file_id, self.banner_file_id]
    }
}

db::row! {
    #[derive(Debug)]
    struct StandingRow {
        role: Role,
        status: Status,
    }
}

macro_rules! select_space {
    ($rest:literal) => {
        concat!(
            "SELECT s.id, s.slug, s.name, s.description, s.user_id, s.avatar_file_id, s.banner_file_id,
                s.reading_permission, s.posting_permission, s.visibility, s.nsfw, s.nsfw_effective,
                s.requires_approval, s.parent_id, s.depth, s.metadata, s.members_count,
                s.children_count, s.created_at, s.updated_at
             FROM spaces s WHERE s.project_id = $1 AND s.deleted_at IS NULL ",
            $rest
        )
    };
}

db::statements! {
    query FIND -> SpaceRow = select_space!("AND s.id = $2");
    query FIND_ALL -> SpaceRow = select_space!("AND s.id {any}($2)");
    query FIND_BY_SLUG -> SpaceRow = select_space!("AND s.slug = $2");
    /// For operators: newest first, with a part of the name or the slug in lower case.
    query EVERY -> SpaceRow =
        select_space!("AND s.id < $2 AND ($3 = '' OR {contains}(fold(s.name), CAST($3 AS TEXT)) > 0
            OR {contains}(fold(s.slug), CAST($3 AS TEXT)) > 0) ORDER BY s.id DESC LIMIT $4");
    query LOCK -> SpaceRow = select_space!("AND s.id = $2 {for_no_key_update}");
    query LOCK_SHARED -> SpaceRow = select_space!("AND s.id = $2 {for_share}");
    /// The ancestors of a space, and itself.
    query LINE -> SpaceRow =
        select_space!("AND s.id IN (SELECT l.ancestor_id FROM space_lines l
            WHERE l.project_id = $1 AND l.space_id = $2) ORDER BY s.depth");
    /// The ancestors, locked against changes, parents first.
    query KEEP_ABOVE -> SpaceRow =
        select_space!("AND s.id IN (SELECT l.ancestor_id FROM space_lines l
            WHERE l.project_id = $1 AND l.space_id = $2) AND s.id <> $2 ORDER BY s.depth, s.id {for_share}");
    query STANDING -> StandingRow =
        "SELECT role, status FROM space_members
         WHERE project_id = $1 AND space_id = $2 AND user_id = $3";
    query PUBLIC_CHILDREN -> SpaceRow =
        select_space!("AND s.parent_id = $2 AND s.visibility = 'public'
            ORDER BY s.created_at DESC, s.id LIMIT $3 OFFSET $4");
    query COUNT_PUBLIC_CHILDREN -> i64 =
        "SELECT count(*) FROM spaces s WHERE s.project_id = $1 AND s.parent_id = $2
            AND s.deleted_at IS NULL AND s.visibility = 'public'";
    command INSERT =
        "INSERT INTO spaces (project_id, id, slug, name, name_key, description, user_id, avatar_file_id,
            banner_file_id, reading_permission, posting_permission, visibility, is_open, nsfw,
            nsfw_effective, requires_approval, parent_id, depth, metadata, members_count,
            children_count, created_at, updated_at)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19,
            0, 0, $20, $20)";
    command INSERT_LINE =
        "INSERT INTO space_lines (project_id, ancestor_id, space_id)
         SELECT l.project_id, l.ancestor_id, $3 FROM space_lines l
         WHERE l.project_id = $1 AND l.space_id = $2";
    command INSERT_SELF =
        "INSERT INTO space_lines (project_id, ancestor_id, space_id) VALUES ($1, $2, $2)";
    command UPDATE =
        "UPDATE spaces SET slug = $3, name = $4, name_key = $5, description = $6, avatar_file_id = $7,
            banner_file_id = $8, reading_permission = $9, posting_permission = $10, visibility = $11,
            is_open = $12, nsfw = $13, requires_approval = $14, metadata = $15, updated_at = $16
         WHERE project_id = $1 AND id = $2";
    /// The space and all its descendants, parents first: on a node whose clock is behind, a child gets a lower id.
    query LOCK_SUBTREE -> SpaceId =
        "SELECT s.id FROM spaces s WHERE s.project_id = $1 AND s.deleted_at IS NULL AND s.id IN
            (SELECT l.space_id FROM space_lines l WHERE l.project_id = $1 AND l.ancestor_id = $2)
         ORDER BY s.depth, s.id {for_no_key_update}";
    /// An nsfw space makes all its descendants nsfw.
    command SPREAD_NSFW =
        "UPDATE spaces SET nsfw_effective = EXISTS
            (SELECT 1 FROM space_lines l JOIN spaces a ON a.project_id = l.project_id AND a.id = l.ancestor_id
             WHERE l.project_id = $1 AND l.space_id = spaces.id AND a.nsfw)
         WHERE project_id = $1 AND id IN
            (SELECT space_id FROM space_lines WHERE project_id = $1 AND ancestor_id = $2)";
    command COUNT_CHILD =
        "UPDATE spaces SET children_count = children_count + $3 WHERE project_id = $1 AND id = $2";
    command COUNT_MEMBERS =
        "UPDATE spaces SET members_count = members_count + $3 WHERE project_id = $1 AND id = $2";
}

pub fn find(c: &Conn<'_>, project: ProjectId, id: SpaceId) -> Result<Option<SpaceRow>> {
    Ok(c.opt(&FIND, args![project, id])?)
}

pub fn find_all(c: &Conn<'_>, project: ProjectId, ids: &[SpaceId]) -> Result<Vec<SpaceRow>> {
    if ids.is_empty() {
        return Ok(Vec::new());
    }
    Ok(c.all(&FIND_ALL, args![project, SpaceId::list(ids)])?)
}

/// All, also those that only their members find: newest first, before one of them. An empty part is in every name.
pub fn all(
    c: &Conn<'_>,
    project: ProjectId,
    before: SpaceId,
    part: &str,
    limit: usize,
) -> Result<Vec<SpaceRow>> {
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    Ok(c.all(&EVERY, args![project, before, part, limit])?)
}

pub fn find_by_slug(c: &Conn<'_>, project: ProjectId, slug: &str) -> Result<Option<SpaceRow>> {
    Ok(c.opt(&FIND_BY_SLUG, args![project, slug])?)
}

/// Locked until the transaction ends, for a change of the space or its members.
pub fn lock(tx: &Tx<'_>, project: ProjectId, id: SpaceId) -> Result<Option<SpaceRow>> {
    Ok(tx.opt(&LOCK, args![project, id])?)
}

/// Locked against changes until the transaction ends (shared).
pub fn lock_shared(tx: &Tx<'_>, project: ProjectId, id: SpaceId) -> Result<Option<SpaceRow>> {
    Ok(tx.opt(&LOCK_SHARED, args![project, id])?)
}

/// Locked to add a child: the ancestors are locked against changes, too.
pub fn lock_parent(tx: &Tx<'_>, project: ProjectId, id: SpaceId) -> Result<Option<SpaceRow>> {
    tx.all(&KEEP_ABOVE, args![project, id])?;
    lock(tx, project, id)
}

/// From the root down to the space itself.
pub fn line(c: &Conn<'_>, project: ProjectId, id: SpaceId) -> Result<Vec<SpaceRow>> {
    Ok(c.all(&LINE, args![project, id])?)
}

pub fn standing(
    c: &Conn<'_>,
    project: ProjectId,
    space: SpaceId,
    user: UserId,
) -> Result<Option<SpaceMembership>> {
    let found = c.opt(&STANDING, args![project, space, user])?;
    Ok(found.map(|StandingRow { role, status }| SpaceMembership { role, status }))
}

/// Newest first.
pub fn public_children(
    c: &Conn<'_>,
    project: ProjectId,
    parent: SpaceId,
    limit: i64,
    offset: i64,
) -> Result<Vec<SpaceRow>> {
    Ok(c.all(&PUBLIC_CHILDREN, args![project, parent, limit, offset])?)
}

pub fn count_public_children(c: &Conn<'_>, project: ProjectId, parent: SpaceId) -> Result<i64> {
    Ok(c.one(&COUNT_PUBLIC_CHILDREN, args![project, parent])?)
}

/// A new space without members. The caller has locked the parent.
pub fn insert(tx: &Tx<'_>, project: ProjectId, row: &SpaceRow) -> Result<()> {
    let args = args![
        project,
        row.id,
        &row.slug,
        &row.name,
        row.name.to_lowercase(),
        &row.description,
        row.user_id,
        row.avatar_file_id,
        row.banner_file_id,
        row.reading_permission,
        row.posting_permission,
        row.visibility,
        row.reading_permission == Reading::Anyone,
        row.nsfw,
        row.nsfw_effective,
        row.requires_approval,
        row.parent_id,
        row.depth,
        &row.metadata,
        row.created_at,
    ];
    tx.execute(&INSERT, args)?;
    search_queue::note(tx, project, Kind::Space, row.id.0)?;
    insert_lines(tx, project, row.id, row.parent_id)?;
    match row.parent_id {
        Some(parent) => Ok(tx.pipeline(&COUNT_CHILD, args![project, parent, 1])?),
        None => Ok(()),
    }
}

/// The place of a new space below its ancestors.
pub fn insert_lines(
    tx: &Tx<'_>,
    project: ProjectId,
    id: SpaceId,
    parent: Option<SpaceId>,
) -> Result<()> {
    tx.pipeline(&INSERT_SELF, args![project, id])?;
    match parent {
        Some(parent) => Ok(tx.pipeline(&INSERT_LINE, args![project, parent, id])?),
        None => Ok(()),
    }
}

/// The caller has locked the space.
pub fn update(tx: &Tx<'_>, project: ProjectId, row: &SpaceRow) -> Result<()> {
    let args = args![
        project,
        row.id,
        &row.slug,
        &row.name,
        row.name.to_lowercase(),
        &row.description,
        row.avatar_file_id,
        row.banner_file_id,
        row.reading_permission,
        row.posting_permission,
        row.visibility,
        row.reading_permission == Reading::Anyone,
        row.nsfw,
        row.requires_approval,
        &row.metadata,
        row.updated_at,
    ];
    tx.execute(&UPDATE, args)?;
    search_queue::note(tx, project, Kind::Space, row.id.0)
}

/// Locks all descendants of the space, which the caller has locked.
pub fn lock_subtree(tx: &Tx<'_>, project: ProjectId, root: SpaceId) -> Result<Vec<SpaceId>> {
    Ok(tx.all(&LOCK_SUBTREE, args![project, root])?)
}

/// Locked first: the flags read after that include all committed changes.
pub fn spread_nsfw(tx: &Tx<'_>, project: ProjectId, from: SpaceId) -> Result<()> {
    lock_subtree(tx, project, from)?;
    Ok(tx.pipeline(&SPREAD_NSFW, args![project, from])?)
}

/// The caller has locked the space.
pub fn count_members(tx: &Tx<'_>, project: ProjectId, id: SpaceId, by: i64) -> Result<()> {
    match by {
        0 => Ok(()),
        by => Ok(tx.pipeline(&COUNT_MEMBERS, args![project, id, by])?),
    }
}

/// For a space whose child was deleted.
pub fn uncount_child(tx: &Tx<'_>, project: ProjectId, parent: SpaceId) -> Result<()> {
    Ok(tx.pipeline(&COUNT_CHILD, args![project, parent, -1])?)
}
