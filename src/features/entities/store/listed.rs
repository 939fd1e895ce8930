//! Entities as lists show them: with the flag of the space that each is in and, if asked for, its author. The statement that finds
//! the entities of a page reads all this, so that a page takes one round trip.

use db::{Conn, Maybe, Prefetch, Query, Value};

use super::entity_columns;
use crate::error::Result;
use crate::features::entities::row::EntityRow;
use crate::features::reactions::reaction_columns;
use crate::features::users::store::{UserRow, public_user_columns};
use crate::features::visibility::moderation::moderation_columns;

const NAME: &str = "entities::list::page";

db::row! {
    #[derive(Debug, Clone, PartialEq)]
    pub struct ListedRow {
        pub entity: EntityRow,
        /// None outside of spaces.
        pub is_in_nsfw_space: Option<bool>,
    }
}

db::row! {
    #[derive(Debug, Clone, PartialEq)]
    pub struct AuthoredRow {
        pub listed: ListedRow,
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
    fn text(&self, c: &Conn<'_>) -> String {
        let PageQuery { ids, order, with_authors } = self;
        let in_order =
            if c.keeps_order_of_join() { String::new() } else { format!(" ORDER BY {order}") };
        // Two statements with different rows: a cluster refuses a join with users that can find none.
        let (author, of_users) = match with_authors {
            true => (
                concat!(", ", public_user_columns!()),
                " LEFT JOIN users u ON u.project_id = e.project_id AND u.id = e.user_id",
            ),
            false => ("", ""),
        };
        format!(
            "WITH page AS MATERIALIZED ({ids})
             SELECT {}, p.nsfw_effective AS is_in_nsfw_space{author}
             FROM page CROSS JOIN entities e
                JOIN entity_bodies b ON b.project_id = e.project_id AND b.id = e.id
                LEFT JOIN spaces p ON p.project_id = e.project_id AND p.id = e.space_id
                    AND p.deleted_at IS NULL{of_users}
             WHERE e.project_id = $1 AND e.id = page.id AND e.deleted_at IS NULL{in_order}",
            entity_columns!()
        )
    }

    /// `args`: those of `ids`, the project first.
    pub fn all(&self, c: &Conn<'_>, args: &[Value<'_>]) -> Result<Vec<AuthoredRow>> {
        if self.with_authors {
            return Ok(c.all(&Query::built(NAME, self.text(c)), args)?);
        }
        Ok(without_authors(c.all(&Query::built(NAME, self.text(c)), args)?))
    }

    /// The same, sent ahead.
    pub fn prefetch<'c>(&self, c: &'c Conn<'_>, args: &[Value<'_>]) -> Result<Ahead<'c>> {
        Ok(match self.with_authors {
            true => Ahead::WithAuthors(c.prefetch(&Query::built(NAME, self.text(c)), args)?),
            false => Ahead::Alone(c.prefetch(&Query::built(NAME, self.text(c)), args)?),
        })
    }
}

/// A page that was sent ahead.
#[derive(Debug)]
pub enum Ahead<'c> {
    Alone(Prefetch<'c, ListedRow>),
    WithAuthors(Prefetch<'c, AuthoredRow>),
}

impl Ahead<'_> {
    /// Its rows; none if it was not sent, and is to be run now.
    pub fn rows(self) -> Result<Option<Vec<AuthoredRow>>> {
        Ok(match self {
            Ahead::Alone(sent) => sent.rows()?.map(without_authors),
            Ahead::WithAuthors(sent) => sent.rows()?,
        })
    }
}

fn without_authors(rows: Vec<ListedRow>) -> Vec<AuthoredRow> {
    rows.into_iter().map(|listed| AuthoredRow { listed, author: Maybe(None) }).collect()
}
