//! The SQL about workspaces themselves. Every change in a tree locks its root first.

pub mod erase;
pub mod invites;
pub mod members;

use db::{Conn, JsonText, Tx, args};

use crate::error::Result;
use crate::features::workspaces::authority::Node;
use crate::http::page::Page;
use crate::values::ids::{ProjectId, UserId, WorkspaceId};
use crate::values::time::Timestamp;

db::row! {
    #[derive(Debug, Clone, PartialEq)]
    pub struct WorkspaceRow {
        pub id: WorkspaceId,
        pub name: String,
        pub metadata: JsonText,
        pub owner_id: UserId,
        pub parent_id: Option<WorkspaceId>,
        pub root_id: WorkspaceId,
        pub depth: i64,
        pub inherits_from_parent: bool,
        pub created_at: Timestamp,
        pub updated_at: Timestamp,
    }
}

impl WorkspaceRow {
    pub fn node(&self) -> Node {
        Node { id: self.id, owner: self.owner_id, inherits: self.inherits_from_parent }
    }
}

macro_rules! select_workspace {
    ($rest:literal) => {
        concat!(
            "SELECT w.id, w.name, w.metadata, w.owner_id, w.parent_id, w.root_id, w.depth,
                w.inherits_from_parent, w.created_at, w.updated_at
             FROM workspaces w WHERE w.project_id = $1 ",
            $rest
        )
    };
}

db::statements! {
    /// The workspace and those above it, from the root down.
    query LINE -> WorkspaceRow =
        select_workspace!("AND w.id IN (SELECT l.ancestor_id FROM workspace_lines l
            WHERE l.project_id = $1 AND l.workspace_id = $2) ORDER BY w.depth");
    /// The workspace and those below it, parents first.
    query SUBTREE -> WorkspaceRow =
        select_workspace!("AND w.id IN (SELECT l.workspace_id FROM workspace_lines l
            WHERE l.project_id = $1 AND l.ancestor_id = $2) ORDER BY w.depth, w.id");
    query FIND_ALL -> WorkspaceRow = select_workspace!("AND w.id {any}($2)");
    query LOCK_ROOT -> WorkspaceId =
        "SELECT r.id FROM workspaces r WHERE r.project_id = $1 AND r.id =
            (SELECT w.root_id FROM workspaces w WHERE w.project_id = $1 AND w.id = $2) {for_no_key_update}";
    /// Ids sort by creation: the newest first.
    query OWNED -> WorkspaceId =
        "SELECT id FROM workspaces WHERE project_id = $1 AND owner_id = $2 ORDER BY id DESC LIMIT $3";
    query COUNT_OWNED -> i64 =
        "SELECT count(*) FROM workspaces WHERE project_id = $1 AND owner_id = $2";
    command INSERT =
        "INSERT INTO workspaces (project_id, id, name, metadata, owner_id, parent_id, root_id, depth,
            inherits_from_parent, created_at, updated_at)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $10)";
    command INSERT_LINE =
        "INSERT INTO workspace_lines (project_id, ancestor_id, workspace_id)
         SELECT l.project_id, l.ancestor_id, $3 FROM workspace_lines l
         WHERE l.project_id = $1 AND l.workspace_id = $2";
    command INSERT_SELF =
        "INSERT INTO workspace_lines (project_id, ancestor_id, workspace_id) VALUES ($1, $2, $2)";
    command UPDATE =
        "UPDATE workspaces SET name = $3, metadata = $4, owner_id = $5, inherits_from_parent = $6,
            updated_at = $7
         WHERE project_id = $1 AND id = $2";
    command DELETE = "DELETE FROM workspaces WHERE project_id = $1 AND id {any}($2)";
}

/// From the root down to the workspace itself; empty if there is none.
pub fn line(c: &Conn<'_>, project: ProjectId, id: WorkspaceId) -> Result<Vec<WorkspaceRow>> {
    Ok(c.all(&LINE, args![project, id])?)
}

/// The workspace itself, then those below it, parents first.
pub fn subtree(c: &Conn<'_>, project: ProjectId, id: WorkspaceId) -> Result<Vec<WorkspaceRow>> {
    Ok(c.all(&SUBTREE, args![project, id])?)
}

/// Those of the ids that exist, in no particular order.
pub fn find_all(
    c: &Conn<'_>,
    project: ProjectId,
    ids: &[WorkspaceId],
) -> Result<Vec<WorkspaceRow>> {
    if ids.is_empty() {
        return Ok(Vec::new());
    }
    Ok(c.all(&FIND_ALL, args![project, WorkspaceId::list(ids)])?)
}

/// Locks the tree of the workspace until the transaction ends. What is read afterwards includes all committed changes.
pub fn lock_tree(tx: &Tx<'_>, project: ProjectId, id: WorkspaceId) -> Result<()> {
    tx.opt(&LOCK_ROOT, args![project, id])?;
    Ok(())
}

/// The workspaces that a user owns or is a member of, newest first, and how many they are.
pub fn of_user(
    c: &Conn<'_>,
    project: ProjectId,
    user: UserId,
    page: Page,
) -> Result<(Vec<WorkspaceRow>, i64)> {
    let owned = c.one(&COUNT_OWNED, args![project, user])?;
    let total = owned + members::count_of_user(c, project, user)?;
    if page.offset() >= total {
        return Ok((Vec::new(), total));
    }
    // Two lists in the same order: the page is among the first of both.
    let most = page.offset() + i64::from(page.limit);
    let mut ids = c.all(&OWNED, args![project, user, most])?;
    ids.extend(members::newest_of_user(c, project, user, most)?);
    ids.sort_unstable_by_key(|id| std::cmp::Reverse(*id));
    let skipped = usize::try_from(page.offset()).unwrap_or(usize::MAX);
    let limit = usize::try_from(page.limit).unwrap_or(usize::MAX);
    let ids: Vec<WorkspaceId> = ids.into_iter().skip(skipped).take(limit).collect();
    let mut rows = find_all(c, project, &ids)?;
    rows.sort_by_key(|row| std::cmp::Reverse(row.id));
    Ok((rows, total))
}

/// The caller has locked the tree, unless it is a new one.
pub fn insert(tx: &Tx<'_>, project: ProjectId, row: &WorkspaceRow) -> Result<()> {
    let args = args![
        project,
        row.id,
        &row.name,
        &row.metadata,
        row.owner_id,
        row.parent_id,
        row.root_id,
        row.depth,
        row.inherits_from_parent,
        row.created_at,
    ];
    tx.execute(&INSERT, args)?;
    insert_lines(tx, project, row.id, row.parent_id)
}

/// The place of a new workspace below its ancestors.
pub fn insert_lines(
    tx: &Tx<'_>,
    project: ProjectId,
    id: WorkspaceId,
    parent: Option<WorkspaceId>,
) -> Result<()> {
    tx.pipeline(&INSERT_SELF, args![project, id])?;
    match parent {
        Some(parent) => Ok(tx.pipeline(&INSERT_LINE, args![project, parent, id])?),
        None => Ok(()),
    }
}

/// The caller has locked the tree.
pub fn update(tx: &Tx<'_>, project: ProjectId, row: &WorkspaceRow) -> Result<()> {
    let WorkspaceRow { id, name, metadata, owner_id, inherits_from_parent, updated_at, .. } = row;
    let args = args![project, *id, name, metadata, *owner_id, *inherits_from_parent, *updated_at];
    tx.execute(&UPDATE, args)?;
    Ok(())
}

/// With everything that is in them. The caller has locked the tree and names whole subtrees.
pub fn delete(tx: &Tx<'_>, project: ProjectId, ids: &[WorkspaceId]) -> Result<()> {
    tx.execute(&DELETE, args![project, WorkspaceId::list(ids)])?;
    Ok(())
}
