//! The SQL of a list of comments: its conditions, its order and its total. Only names that are written
//! here become SQL; everything a caller sends is an argument.

use db::{Builder, Conn, Placeholder, Query, args};

use crate::error::Result;
use crate::features::comments::list::Parent;
use crate::features::comments::list::search::{Search, Sort};
use crate::features::comments::store::CommentRow;
use crate::features::spaces::store::access::Reader;
use crate::features::users::store::authored::{Ahead, PageQuery, WithAuthor};
use crate::features::visibility::store::blocks::Hidden;
use crate::http::page::Page;
use crate::values::ids::{EntityId, UserId};

/// A part of a list with an order of its own.
struct Part {
    condition: Option<&'static str>,
    order: &'static str,
}

const NEWEST: &str = "c.created_at DESC, c.id DESC";
const OLDEST: &str = "c.created_at, c.id";
const TOP: &str = "c.balance DESC, c.upvote_count DESC, c.created_at DESC, c.id DESC";
const CONTROVERSIAL: &str = "c.controversy DESC, c.created_at DESC, c.id DESC";

/// SQL: as the indexes of the top comments have it.
macro_rules! votes {
    () => {
        "c.upvote_count + c.downvote_count"
    };
}

impl Sort {
    const fn order(self) -> &'static str {
        match self {
            Sort::Newest => NEWEST,
            Sort::Oldest => OLDEST,
            Sort::Top => TOP,
            Sort::Controversial => CONTROVERSIAL,
        }
    }

    /// The same order in parts: the indexes by votes hold no comment without votes, which most are. Those come
    /// by age, before the ones whose downvotes prevail.
    const fn parts(self) -> &'static [Part] {
        match self {
            Sort::Newest => &[Part { condition: None, order: NEWEST }],
            Sort::Oldest => &[Part { condition: None, order: OLDEST }],
            Sort::Top => &[
                Part { condition: Some(concat!(votes!(), " > 0 AND c.balance >= 0")), order: TOP },
                Part { condition: Some(concat!(votes!(), " = 0")), order: NEWEST },
                Part { condition: Some(concat!(votes!(), " > 0 AND c.balance < 0")), order: TOP },
            ],
            Sort::Controversial => &[
                Part { condition: Some("c.controversy >= 0"), order: CONTROVERSIAL },
                Part { condition: Some("c.controversy < 0"), order: NEWEST },
            ],
        }
    }
}

db::row! {
    /// An entity or a comment whose answers are listed.
    #[derive(Debug)]
    pub(super) struct PlaceRow {
        pub entity_id: EntityId,
        pub is_open: bool,
        /// Not in a space that the reader may not read.
        pub is_readable: bool,
        pub user_id: Option<UserId>,
        pub answered_id: Option<UserId>,
        pub all: i64,
        pub top: i64,
    }
}

/// SQL: the comments of an entity `e` are listed for everybody. One whose author was deleted keeps its thread.
const COMMENTED: &str = "(NOT e.is_draft AND COALESCE(e.moderation_status, '') <> 'removed')";

/// SQL: the rest of a statement for the entity or the comment `$2`.
const AN_ENTITY: &str =
    "NULL AS answered_id, e.comments_count AS \"all\", e.top_comments_count AS top
     FROM entities e WHERE e.project_id = $1 AND e.id = $2";
const A_COMMENT: &str =
    "p.user_id AS answered_id, p.answers_count AS \"all\", p.answers_count AS top
     FROM comments p JOIN entities e ON e.project_id = p.project_id AND e.id = p.entity_id
     WHERE p.project_id = $1 AND p.id = $2";

db::statements! {
    query HELD_IN_ENTITY -> i64 =
        "SELECT count(*) FROM comments
         WHERE project_id = $1 AND entity_id = $2 AND user_id = $3 AND moderated_by_type = 'hold'
            AND deleted_at IS NULL";
    query HELD_IN_THREAD -> i64 =
        "SELECT count(*) FROM comments
         WHERE project_id = $1 AND entity_id = $2 AND user_id = $3 AND moderated_by_type = 'hold'
            AND deleted_at IS NULL AND thread_id = $4";
    query EMPTIED_IN_ENTITY -> i64 =
        "SELECT count(*) FROM comments
         WHERE project_id = $1 AND entity_id = $2 AND user_deleted_at IS NOT NULL";
    query EMPTIED_IN_THREAD -> i64 =
        "SELECT count(*) FROM comments
         WHERE project_id = $1 AND entity_id = $2 AND thread_id = $3 AND user_deleted_at IS NOT NULL";
}

/// SQL: a new comment that a rule holds is in its author's lists alone.
fn held_are_own(viewer: Placeholder) -> String {
    format!(
        "(c.moderated_by_type IS NULL OR c.moderated_by_type <> 'hold'
            OR c.user_id = CAST({viewer} AS {{uuid}}))"
    )
}

/// What is asked for, as SQL.
#[derive(Clone)]
pub(super) struct Conditions {
    builder: Builder<'static>,
    with_entity: bool,
}

impl Conditions {
    fn part(&self, part: &Part) -> Self {
        let mut conditions = self.clone();
        if let Some(condition) = part.condition {
            conditions.builder.add(condition);
        }
        conditions
    }

    /// The query for a page of a part, and its arguments.
    fn page(
        &self,
        part: &Part,
        (limit, skip): (i64, i64),
        with_authors: bool,
    ) -> (PageQuery, Builder<'static>) {
        let (conditions, order) = (self.part(part), part.order);
        let select = conditions.select("c.id");
        let ids = format!("{select} ORDER BY {order} LIMIT {limit} OFFSET {skip}");
        (PageQuery { ids, order: order.to_owned(), with_authors }, conditions.builder)
    }

    fn select(&self, columns: &str) -> String {
        // The order of a CROSS JOIN is kept by the embedded engine.
        let (from, join) = match self.with_entity {
            true => (
                "comments c CROSS JOIN entities e",
                " AND e.project_id = $1 AND e.id = c.entity_id AND e.deleted_at IS NULL",
            ),
            false => ("comments c", ""),
        };
        format!("SELECT {columns} FROM {from} WHERE {}{join}", self.builder)
    }
}

impl Search {
    /// The entity or comment whose comments are listed: none if the list is not of one, some none if it
    /// does not exist.
    pub(super) fn place(&self, c: &Conn<'_>, reader: Reader) -> Result<Option<Option<PlaceRow>>> {
        let (id, place) = match (self.parent, self.entity) {
            (Some(Parent::Comment(id)), _) => (id.0, A_COMMENT),
            (_, Some(id)) => (id.0, AN_ENTITY),
            _ => return Ok(None),
        };
        let mut sql = Builder::all([self.project.into(), id.into()]);
        let is_readable = reader.reads("e.space_id", &mut sql);
        let text = format!(
            "SELECT e.id AS entity_id, {COMMENTED} AS is_open, {is_readable} AS is_readable, e.user_id, {place}
                AND e.deleted_at IS NULL"
        );
        Ok(Some(c.opt(&Query::<PlaceRow>::built("comments::list::place", text), sql.args())?))
    }

    pub(super) fn count(&self, c: &Conn<'_>, conditions: &Conditions) -> Result<i64> {
        let count = Query::<i64>::built("comments::list::count", conditions.select("count(*)"));
        Ok(c.one(&count, conditions.builder.args())?)
    }

    /// Sends the first statement of the page ahead, if the list is of one entity or comment.
    pub(super) fn prefetch<'c>(
        &self,
        c: &'c Conn<'_>,
        conditions: &Conditions,
        (page, with_authors): (Page, bool),
    ) -> Result<Option<Ahead<'c, CommentRow>>> {
        let Some(first) = self.sort.parts().first().filter(|_| self.has_place()) else {
            return Ok(None);
        };
        let (query, sql) =
            conditions.page(first, (i64::from(page.limit), page.offset()), with_authors);
        Ok(Some(query.prefetch(c, sql.args())?))
    }

    pub(super) fn page(
        &self,
        c: &Conn<'_>,
        conditions: &Conditions,
        (page, with_authors): (Page, bool),
        mut ahead: Option<Ahead<'_, CommentRow>>,
    ) -> Result<Vec<WithAuthor<CommentRow>>> {
        let whole = [Part { condition: None, order: self.sort.order() }];
        let read = |part: &Part, limit, skip| {
            if let Some(rows) = ahead.take().map_or(Ok(None), Ahead::rows)? {
                return Ok(rows);
            }
            let (query, sql) = conditions.page(part, (limit, skip), with_authors);
            query.all(c, sql.args())
        };
        let count = |part: &Part| self.count(c, &conditions.part(part));
        page.of_parts(if self.has_place() { self.sort.parts() } else { &whole }, read, count)
    }

    pub(super) fn conditions(
        &self,
        has_place: bool,
        hidden: &Hidden,
        (reader, viewer): (Reader, Option<UserId>),
    ) -> Conditions {
        let mut builder = Builder::all([self.project.into()]);
        builder.add("c.project_id = $1 AND c.deleted_at IS NULL");
        match (self.parent, self.entity) {
            (Some(Parent::Comment(parent)), _) => builder.equal("c.thread_id", parent),
            (Some(Parent::None), Some(entity)) => builder.equal("c.thread_id", entity),
            (Some(Parent::None), None) => builder.add("c.parent_id IS NULL"),
            (None, Some(entity)) => builder.equal("c.entity_id", entity),
            (None, None) => {}
        }
        if let Some(author) = self.author {
            builder.equal("c.user_id", author);
        }
        if let Some(source) = &self.source {
            builder.equal("e.source_id", source.clone());
        }
        if !has_place {
            builder.add(format_args!("e.deleted_at IS NULL AND {COMMENTED}"));
            let reads = reader.reads("e.space_id", &mut builder);
            builder.add(reads);
        }
        if self.has_rules {
            let viewer = builder.bind(viewer);
            builder.add(held_are_own(viewer));
        }
        if self.without_deleted || self.only_live {
            builder.add("c.user_deleted_at IS NULL");
        }
        if self.only_live {
            builder.add("(c.moderation_status IS NULL OR c.moderation_status <> 'removed')");
        }
        if let Some(viewer) = hidden.viewer() {
            let viewer = builder.bind(viewer);
            builder.add(hidden.condition("c.user_id", viewer));
            if !has_place {
                builder.add(hidden.condition("e.user_id", viewer));
            }
        }
        Conditions { builder, with_entity: !has_place || self.source.is_some() }
    }

    /// How many entries of a list are by users who are blocked for the viewer: looked up user by
    /// user.
    pub(super) fn hidden_in(&self, c: &Conn<'_>, hidden: &Hidden) -> Result<i64> {
        let Some(viewer) = hidden.viewer() else { return Ok(0) };
        let mut all = self.conditions(true, &Hidden::default(), (Reader::AUTHOR, None)).builder;
        let hidden = hidden.users(all.bind(viewer));
        let text = format!(
            "WITH s AS MATERIALIZED ({hidden})
             SELECT count(*) FROM s CROSS JOIN comments c WHERE c.user_id = s.user_id AND {all}"
        );
        Ok(c.one(&Query::<i64>::built("comments::list::hidden", text), all.args())?)
    }

    /// The viewer's own that a rule holds are not among the stored ones.
    fn own_held(&self, c: &Conn<'_>, place: &PlaceRow, viewer: Option<UserId>) -> Result<i64> {
        let (Some(viewer), entity) = (viewer.filter(|_| self.has_rules), place.entity_id) else {
            return Ok(0);
        };
        let thread = match self.parent {
            Some(Parent::Comment(thread)) => thread.0,
            Some(Parent::None) => entity.0,
            None => return Ok(c.one(&HELD_IN_ENTITY, args![self.project, entity, viewer])?),
        };
        Ok(c.one(&HELD_IN_THREAD, args![self.project, entity, viewer, thread])?)
    }

    pub(super) fn known_total(
        &self,
        c: &Conn<'_>,
        place: &PlaceRow,
        viewer: Option<UserId>,
    ) -> Result<i64> {
        let total = if self.parent.is_some() { place.top } else { place.all };
        let total = total + self.own_held(c, place, viewer)?;
        if !self.without_deleted {
            return Ok(total);
        }
        let entity = place.entity_id;
        let emptied = match self.parent {
            Some(Parent::Comment(thread)) => {
                c.one(&EMPTIED_IN_THREAD, args![self.project, entity, thread])?
            }
            Some(Parent::None) => c.one(&EMPTIED_IN_THREAD, args![self.project, entity, entity])?,
            None => c.one(&EMPTIED_IN_ENTITY, args![self.project, entity])?,
        };
        Ok(total - emptied)
    }
}
