//! Stored counts of members and children against what they count, for the operator's check-up.

use db::{Conn, Tx, args};

use crate::error::Result;
use crate::values::ids::{ProjectId, SpaceId};

db::statements! {
    query MISCOUNTED -> (ProjectId, SpaceId), unscoped "the operator examines every project" =
        "SELECT s.project_id, s.id FROM spaces s WHERE s.deleted_at IS NULL
            AND (s.members_count <> (SELECT count(*) FROM space_members m
                    WHERE m.project_id = s.project_id AND m.space_id = s.id AND m.status = 'active')
                OR s.children_count <> (SELECT count(*) FROM spaces b
                    WHERE b.project_id = s.project_id AND b.parent_id = s.id
                        AND b.deleted_at IS NULL))";
    query LOCK -> SpaceId =
        "SELECT id FROM spaces WHERE project_id = $1 AND id = $2 {for_update}";
    command REPAIR =
        "UPDATE spaces SET
            members_count = (SELECT count(*) FROM space_members m WHERE m.project_id = $1
                AND m.space_id = spaces.id AND m.status = 'active'),
            children_count = (SELECT count(*) FROM spaces b WHERE b.project_id = $1
                AND b.parent_id = spaces.id AND b.deleted_at IS NULL)
         WHERE project_id = $1 AND id = $2";
}

pub fn miscounted(c: &Conn<'_>) -> Result<Vec<(ProjectId, SpaceId)>> {
    Ok(c.all(&MISCOUNTED, args![])?)
}

/// Whoever changes what is counted holds the space: so once it is held, what is committed is all.
pub fn repair(tx: &Tx<'_>, project: ProjectId, space: SpaceId) -> Result<()> {
    tx.opt(&LOCK, args![project, space])?;
    tx.execute(&REPAIR, args![project, space])?;
    Ok(())
}
