//! Pages of what users have written, with the author of each row if asked for. The statement that finds the ids of a page reads
//! all this, so that a page takes one round trip.

use db::{Conn, Maybe, Prefetch, Query, Row, Value};

use super::{UserRow, public_user_columns};
use crate::error::Result;

/// A row of a page. `$1` is always the project.
pub trait Written: Row {
    /// Of the statement.
    const NAME: &'static str;
    /// SQL: the columns of the row.
    const SELECTED: &'static str;
    /// Of the table that has the ids of the page.
    const ALIAS: &'static str;
    /// SQL: this table, and what is joined to it.
    const FROM: &'static str;
    /// SQL: rows that have been deleted are left out.
    const IS_LIVE: &'static str;
}

/// A row and its author: none if nobody asked, or there is none any more.
pub type WithAuthor<R> = (R, Maybe<UserRow>);

/// What finds the rows of a page.
#[derive(Debug)]
pub struct PageQuery {
    /// Selects their ids.
    pub ids: String,
    /// Of the rows.
    pub order: String,
    pub with_authors: bool,
}

impl PageQuery {
    fn query<W: Written, R: Row>(&self, c: &Conn<'_>) -> Query<R> {
        let PageQuery { ids, order, with_authors } = self;
        let (selected, alias, from, is_live) = (W::SELECTED, W::ALIAS, W::FROM, W::IS_LIVE);
        let in_order =
            if c.keeps_order_of_join() { String::new() } else { format!(" ORDER BY {order}") };
        // Two statements with different rows: a cluster refuses a join with users that can find none.
        let (author, users) = match with_authors {
            true => (
                concat!(", ", public_user_columns!()),
                format!(
                    " LEFT JOIN users u ON u.project_id = {alias}.project_id AND u.id = {alias}.user_id"
                ),
            ),
            false => ("", String::new()),
        };
        let text = format!(
            "WITH page AS MATERIALIZED ({ids})
             SELECT {selected}{author} FROM page CROSS JOIN {from}{users}
             WHERE {alias}.project_id = $1 AND {alias}.id = page.id AND {is_live}{in_order}"
        );
        Query::built(W::NAME, text)
    }

    /// `args`: those of `ids`, the project first.
    pub fn all<W: Written>(&self, c: &Conn<'_>, args: &[Value<'_>]) -> Result<Vec<WithAuthor<W>>> {
        Ok(match self.with_authors {
            true => c.all(&self.query::<W, WithAuthor<W>>(c), args)?,
            false => without_authors(c.all(&self.query::<W, W>(c), args)?),
        })
    }

    /// The same, sent ahead.
    pub fn prefetch<'c, W: Written>(
        &self,
        c: &'c Conn<'_>,
        args: &[Value<'_>],
    ) -> Result<Ahead<'c, W>> {
        Ok(match self.with_authors {
            true => Ahead::WithAuthors(c.prefetch(&self.query::<W, WithAuthor<W>>(c), args)?),
            false => Ahead::Alone(c.prefetch(&self.query::<W, W>(c), args)?),
        })
    }
}

/// A page that was sent ahead.
#[derive(Debug)]
pub enum Ahead<'c, W: Written> {
    Alone(Prefetch<'c, W>),
    WithAuthors(Prefetch<'c, WithAuthor<W>>),
}

impl<W: Written> Ahead<'_, W> {
    /// Its rows; none if it was not sent, and is to be run now.
    pub fn rows(self) -> Result<Option<Vec<WithAuthor<W>>>> {
        Ok(match self {
            Ahead::Alone(sent) => sent.rows()?.map(without_authors),
            Ahead::WithAuthors(sent) => sent.rows()?,
        })
    }
}

fn without_authors<W: Written>(rows: Vec<W>) -> Vec<WithAuthor<W>> {
    rows.into_iter().map(|row| (row, Maybe(None))).collect()
}
