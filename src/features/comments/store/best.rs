//! The SQL that finds the top comment of entities.

use db::{Conn, Query, args};

use super::{comment_columns, select_comment, whole_comments};
use crate::error::Result;
use crate::features::comments::row::CommentRow;
use crate::features::reactions::reaction_columns;
use crate::features::visibility::moderation::moderation_columns;
use crate::features::visibility::store::blocks::Hidden;
use crate::values::ids::{EntityId, ProjectId};

/// The best comment of an entity `o` by an order of comments `t`; further conditions follow.
macro_rules! best_by {
    ($voted:literal, $order:literal, $further:literal) => {
        concat!(
            "(SELECT t.id FROM comments t
              WHERE t.project_id = $1 AND t.entity_id = o.id AND t.deleted_at IS NULL
                AND t.user_deleted_at IS NULL AND t.parent_deleted_at IS NULL
                AND (t.moderation_status IS NULL OR t.moderation_status <> 'removed') AND ",
            $voted,
            " ",
            $further,
            " ORDER BY ",
            $order,
            " LIMIT 1)"
        )
    };
}

/// The top comment of each entity: most upvotes, then the oldest. The index by upvotes holds upvoted ones only.
macro_rules! best {
    ($further:literal) => {
        concat!(
            "AND c.id IN (SELECT COALESCE(",
            best_by!("t.upvote_count > 0", "t.upvote_count DESC, t.created_at, t.id", $further),
            ", ",
            best_by!("t.upvote_count = 0", "t.created_at, t.id", $further),
            ") FROM entities o WHERE o.project_id = $1 AND o.id {any}($2))"
        )
    };
}

db::statements! {
    query BEST -> CommentRow = select_comment!(best!(""));
}

/// The top comment of each entity that has one, without authors hidden from the viewer.
pub fn of_entities(
    c: &Conn<'_>,
    project: ProjectId,
    entities: &[EntityId],
    hidden: &Hidden,
) -> Result<Vec<CommentRow>> {
    if entities.is_empty() {
        return Ok(Vec::new());
    }
    let Some(viewer) = hidden.viewer() else {
        return Ok(c.all(&BEST, args![project, EntityId::list(entities)])?);
    };
    let visible = format!("AND {}", hidden.condition("t.user_id", "$3"));
    let text = select_comment!(best!("AND visible")).replace("AND visible", &visible);
    let best = Query::<CommentRow>::built("comments::best", text);
    Ok(c.all(&best, args![project, EntityId::list(entities), viewer])?)
}
