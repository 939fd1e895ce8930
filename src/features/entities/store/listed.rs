//! Entities as lists show them: with the flag of the space that each is in and, if asked for, its author. The statement that finds
//! the entities of a page reads all this, so that a page takes one round trip.

use db::{Conn, Maybe, Prefetch, Query, Value};

use super::entity_columns;
use crate::error::Result;
use crate::features::entities::row::EntityRow;
use crate::features::reactions::reaction_columns;
use crate::features::users::store::{UserRow, public_user_columns};
use crate::features::visibility::moderation::moderation_columns;

db::row! {
    #[derive(Debug, Clone, PartialEq)]
    pub struct ListedRow {
        pub entity: EntityRow,
        /// None outside of spaces.
        pub is_in_nsfw_space: Option<bool>,
        /// None if not asked for, too.
        pub author: Maybe<UserRow>,
    }
}

/// What finds the entities of a page.
#[derive(Debug)]
pub struct PageQuery {
    /// Selects their ids.
    pub ids: String,
    /// Of these entities `e`.
    pub order: String,
    pub with_authors: bool,
}

impl PageQuery {
    fn query(&self, c: &Conn<'_>) -> Query<ListedRow> {
        let PageQuery { ids, order, with_authors } = self;
        let in_order =
            if c.keeps_order_of_join() { String::new() } else { format!(" ORDER BY {order}") };
        let author = if *with_authors { "e.user_id" } else { "NULL" };
        let text = format!(
            "WITH page AS MATERIALIZED ({ids})
             SELECT {}, p.nsfw_effective AS is_in_nsfw_space, {}
             FROM page CROSS JOIN entities e
                JOIN entity_bodies b ON b.project_id = e.project_id AND b.id = e.id
                LEFT JOIN spaces p ON p.project_id = e.project_id AND p.id = e.space_id
                    AND p.deleted_at IS NULL
                LEFT JOIN users u ON u.project_id = e.project_id AND u.id = {author}
             WHERE e.project_id = $1 AND e.id = page.id AND e.deleted_at IS NULL{in_order}",
            entity_columns!(),
            public_user_columns!()
        );
        Query::built("entities::list::page", text)
    }

    /// `args`: those of `ids`, the project first.
    pub fn all(&self, c: &Conn<'_>, args: &[Value<'_>]) -> Result<Vec<ListedRow>> {
        Ok(c.all(&self.query(c), args)?)
    }

    /// The same, sent ahead.
    pub fn prefetch<'c>(
        &self,
        c: &'c Conn<'_>,
        args: &[Value<'_>],
    ) -> Result<Prefetch<'c, ListedRow>> {
        Ok(c.prefetch(&self.query(c), args)?)
    }
}
