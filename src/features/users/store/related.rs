//! Lists of users related to one user: followers, connections. An index holds each list in order, and its
//! length is stored. A search filters the list, and users hidden from the viewer are left out. A search walks a
//! short list; for a long one it starts from the users whose names may match, unless there are as many of those.

use db::{Builder, Conn, Query, args};
use uuid::Uuid;

use crate::error::Result;
use crate::features::users::store::trigrams;
use crate::features::visibility::store::blocks::Hidden;
use crate::http::page::Page;
use crate::values::ids::{ProjectId, UserId};
use crate::values::time::Timestamp;

/// A page that begins further back is found off the async workers.
const SLOW_OFFSET: i64 = 1000;

/// Where a list is kept: a table `r` with `created_at`.
#[derive(Debug, Clone, Copy)]
pub struct Relation {
    pub table: &'static str,
    /// The column of the relation's id.
    pub id: &'static str,
    /// What makes a row belong to the user, who is `$2`.
    pub of: &'static str,
    /// The column of the other user.
    pub other: &'static str,
}

db::row! {
    #[derive(Debug, Clone, Copy)]
    pub struct RelatedRow {
        pub id: Uuid,
        pub other_id: UserId,
        pub created_at: Timestamp,
    }
}

/// Usernames are stored in lower case.
pub const USERNAME: &str = "u.username";
pub const NAME: &str = "fold(u.name)";

/// What is searched for in a list.
#[derive(Debug, Clone)]
pub struct Sought {
    /// In lower case.
    pub part: String,
    pub columns: &'static [&'static str],
}

/// One list of one user, as a viewer meets it.
#[derive(Debug, Clone)]
pub struct List {
    pub project: ProjectId,
    pub user: UserId,
    pub relation: Relation,
    pub sought: Option<Sought>,
}

impl List {
    /// Whether an index alone answers it, within a moment.
    pub fn is_quick(&self, page: Page) -> bool {
        self.sought.is_none() && page.offset() < SLOW_OFFSET
    }

    /// A page, newest first, and how many there are. `kept` is the length of the whole list.
    pub fn page(
        &self,
        c: &Conn<'_>,
        kept: i64,
        hidden: &Hidden,
        page: Page,
    ) -> Result<(Vec<RelatedRow>, i64)> {
        let gram = match &self.sought {
            Some(sought) if kept > trigrams::FEW => {
                trigrams::rarest(c, self.project, &sought.part)?
            }
            _ => None,
        };
        let total = match &self.sought {
            Some(_) => self.count_sought(c, hidden, gram.as_deref())?,
            None => self.total(c, kept, hidden)?,
        };
        if page.offset() >= total {
            return Ok((Vec::new(), total));
        }
        let Relation { id, other, .. } = self.relation;
        let (text, conditions) = self.select(
            &format!("{id} AS id, {other} AS other_id, r.created_at"),
            hidden,
            gram.as_deref(),
        );
        let text = format!(
            "{text} ORDER BY r.created_at DESC, {id} DESC LIMIT {} OFFSET {}",
            page.limit,
            page.offset()
        );
        Ok((c.all(&Query::built("users::related::page", text), conditions.args())?, total))
    }

    /// The length of the list without a search.
    pub fn total(&self, c: &Conn<'_>, kept: i64, hidden: &Hidden) -> Result<i64> {
        let Some(viewer) = hidden.viewer() else { return Ok(kept) };
        let Relation { table, of, other, .. } = self.relation;
        let text = format!(
            "WITH s AS MATERIALIZED ({})
             SELECT count(*) FROM s CROSS JOIN {table} r
             WHERE r.project_id = $1 AND {of} AND {other} = s.user_id",
            hidden.users("$3")
        );
        let query = Query::<i64>::built("users::related::count_hidden", text);
        Ok(kept - c.one(&query, args![self.project, self.user, viewer])?)
    }

    fn count_sought(&self, c: &Conn<'_>, hidden: &Hidden, gram: Option<&str>) -> Result<i64> {
        let (text, conditions) = self.select("count(*)", hidden, gram);
        Ok(c.one(&Query::<i64>::built("users::related::count", text), conditions.args())?)
    }

    /// `gram`: what the list begins with, if it does.
    fn select<'a>(
        &'a self,
        columns: &str,
        hidden: &Hidden,
        gram: Option<&'a str>,
    ) -> (String, Builder<'a>) {
        let Relation { table, of, other, .. } = self.relation;
        let mut conditions = Builder::all([self.project.into(), self.user.into()]);
        conditions.add("r.project_id = $1");
        conditions.add(of);
        if let Some(viewer) = hidden.viewer() {
            let viewer = conditions.bind(viewer);
            conditions.add(hidden.condition(other, viewer));
        }
        if let Some(Sought { part, columns: fields }) = &self.sought {
            let part = conditions.bind(part);
            let holds = |field: &&str| format!("{{contains}}({field}, CAST({part} AS TEXT)) > 0");
            let fields: Vec<String> = fields.iter().map(holds).collect();
            let fields = fields.join(" OR ");
            if let Some(gram) = gram {
                // The few who may be meant are looked at before anybody's list is.
                let gram = conditions.bind(gram);
                let text = format!(
                    "WITH s AS MATERIALIZED (SELECT g.user_id FROM user_grams g
                        JOIN users u ON u.project_id = g.project_id AND u.id = g.user_id
                        WHERE g.project_id = $1 AND g.gram = {gram} AND ({fields}))
                     SELECT {columns} FROM s CROSS JOIN {table} r
                     WHERE {conditions} AND {other} = s.user_id"
                );
                return (text, conditions);
            }
            // Asked row by row, in the order of the list: a page ends where it is full.
            conditions.add(format_args!(
                "(SELECT 1 FROM users u WHERE u.project_id = $1
                    AND u.id = {other} AND ({fields})) = 1"
            ));
        }
        (format!("SELECT {columns} FROM {table} r WHERE {conditions}"), conditions)
    }
}
