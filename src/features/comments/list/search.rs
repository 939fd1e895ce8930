//! One list of comments: its conditions, its order and its total. The lists of an entity and below
//! a comment know how many they are; the others count. Only names that are written here become
//! SQL; everything a caller sends is an argument.

use db::{Conn, Query, Value, args};

use crate::auth::perspective::Perspective;
use crate::error::Result;
use crate::features::comments::list::Parent;
use crate::features::comments::model::Comment;
use crate::features::comments::show::View;
use crate::features::comments::store;
use crate::features::comments::visibility::is_open;
use crate::features::spaces::access::{self, Reader};
use crate::features::visibility::blocks::Hidden;
use crate::http::page::{Page, Paged};
use crate::values::ids::{CommentId, EntityId, ProjectId, SpaceId, UserId};

/// Beyond so many skipped rows a list may keep a thread busy.
const QUICK_OFFSET: i64 = 5_000;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sort {
    Newest,
    Oldest,
    Top,
    Controversial,
}

impl Sort {
    const fn order(self) -> &'static str {
        match self {
            Sort::Newest => "c.created_at DESC, c.id DESC",
            Sort::Oldest => "c.created_at, c.id",
            Sort::Top => "c.balance DESC, c.upvote_count DESC, c.created_at DESC, c.id DESC",
            Sort::Controversial => "c.controversy DESC, c.created_at DESC, c.id DESC",
        }
    }
}

db::row! {
    /// An entity or a comment whose answers are listed.
    #[derive(Debug)]
    struct PlaceRow {
        entity_id: EntityId,
        is_open: bool,
        user_id: Option<UserId>,
        space_id: Option<SpaceId>,
        answered_id: Option<UserId>,
        all: i64,
        top: i64,
    }
}

/// SQL: the comments of an entity `e` are listed for everybody. One whose author was deleted keeps its thread.
macro_rules! is_commented {
    () => {
        "(NOT e.is_draft AND COALESCE(e.moderation_status, '') <> 'removed')"
    };
}

db::statements! {
    query ENTITY -> PlaceRow =
        concat!(
            "SELECT e.id AS entity_id, ",
            is_commented!(),
            " AS is_open, e.user_id, e.space_id, NULL AS answered_id,
                e.comments_count AS \"all\", e.top_comments_count AS top
             FROM entities e WHERE e.project_id = $1 AND e.id = $2 AND e.deleted_at IS NULL"
        );
    query COMMENT -> PlaceRow =
        concat!(
            "SELECT e.id AS entity_id, ",
            is_commented!(),
            " AS is_open, e.user_id, e.space_id, p.user_id AS answered_id,
                p.answers_count AS \"all\", p.answers_count AS top
             FROM comments p JOIN entities e ON e.project_id = p.project_id AND e.id = p.entity_id
             WHERE p.project_id = $1 AND p.id = $2 AND e.deleted_at IS NULL"
        );
    query EMPTIED_IN_ENTITY -> i64 =
        "SELECT count(*) FROM comments
         WHERE project_id = $1 AND entity_id = $2 AND user_deleted_at IS NOT NULL";
    query EMPTIED_IN_THREAD -> i64 =
        "SELECT count(*) FROM comments
         WHERE project_id = $1 AND entity_id = $2 AND thread_id = $3 AND user_deleted_at IS NOT NULL";
}

#[derive(Debug)]
pub(super) struct Search {
    pub project: ProjectId,
    pub sort: Sort,
    pub entity: Option<EntityId>,
    pub parent: Option<Parent>,
    pub source: Option<String>,
    pub author: Option<UserId>,
    /// Leaves out what became a placeholder, as in others' lists of an author.
    pub only_live: bool,
    /// Leaves out what its author deleted, as the oldest version does.
    pub without_deleted: bool,
}

/// What is asked for, as SQL.
struct Conditions {
    texts: Vec<String>,
    args: Vec<Value<'static>>,
    with_entity: bool,
}

impl Conditions {
    fn add(&mut self, text: &str, value: impl Into<Value<'static>>) {
        self.args.push(value.into());
        self.texts.push(format!("{text} ${}", self.args.len()));
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
        format!(
            "SELECT {columns} FROM {from} WHERE c.project_id = $1 AND c.deleted_at IS NULL{join}{}",
            self.and()
        )
    }

    /// Every condition, each after an `AND`.
    fn and(&self) -> String {
        self.texts.iter().map(|text| format!(" AND {text}")).collect()
    }
}

impl Search {
    /// Whether it may run where other requests wait for it: its total is known and its page near.
    pub fn is_quick(&self, page: Page) -> bool {
        self.knows_total() && page.offset() <= QUICK_OFFSET
    }

    fn knows_total(&self) -> bool {
        let has_place = self.entity.is_some() || matches!(self.parent, Some(Parent::Comment(_)));
        has_place && self.author.is_none() && self.source.is_none()
    }

    pub fn show(
        &self,
        c: &Conn<'_>,
        page: Page,
        view: &View,
        hidden: Hidden,
    ) -> Result<Paged<Comment>> {
        let place = match (self.parent, self.entity) {
            (Some(Parent::Comment(id)), _) => Some(c.opt(&COMMENT, args![self.project, id])?),
            (_, Some(id)) => Some(c.opt(&ENTITY, args![self.project, id])?),
            _ => None,
        };
        let is_there = |place: &PlaceRow| {
            is_open(view.perspective, place.is_open, place.user_id)
                && self.entity.is_none_or(|entity| entity == place.entity_id)
        };
        // What cannot be seen has no comments.
        let place = match place {
            Some(found) => match found.filter(is_there) {
                Some(place) if self.is_met(c, view, &place, &hidden)? => Some(place),
                _ => return Ok(page.of(Vec::new(), 0)),
            },
            None => None,
        };
        let conditions = self.conditions(place.is_some(), &hidden, self.reader(view.perspective));
        let total = match &place {
            Some(place) if self.knows_total() => {
                self.known_total(c, place)? - self.hidden_in(c, &hidden)?
            }
            _ => {
                let count =
                    Query::<i64>::built("comments::list::count", conditions.select("count(*)"));
                c.one(&count, &conditions.args)?
            }
        };
        let ids = self.page(c, conditions, page)?;
        let rows = store::find_all(c, self.project, &ids)?;
        Ok(page.of(view.comments(c, rows)?, total))
    }

    /// Whether the space may be read, and those who wrote the entity, and the comment whose answers
    /// are listed, are met.
    fn is_met(&self, c: &Conn<'_>, view: &View, place: &PlaceRow, hidden: &Hidden) -> Result<bool> {
        // Also on what one wrote oneself, the comments of others are theirs.
        if !access::may_read(c, self.project, place.space_id, None, view.perspective)? {
            return Ok(false);
        }
        for author in [place.user_id, place.answered_id].into_iter().flatten() {
            if hidden.holds(c, &view.project, author)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn page(&self, c: &Conn<'_>, mut conditions: Conditions, page: Page) -> Result<Vec<CommentId>> {
        conditions.args.extend([Value::from(page.limit), page.offset().into()]);
        let text = format!(
            "{} ORDER BY {} LIMIT ${} OFFSET ${}",
            conditions.select("c.id"),
            self.sort.order(),
            conditions.args.len() - 1,
            conditions.args.len(),
        );
        Ok(c.all(&Query::<CommentId>::built("comments::list::page", text), &conditions.args)?)
    }

    /// An author reads their own wherever they are.
    fn reader(&self, perspective: Perspective) -> Reader {
        let is_own = self.author.is_some() && self.author == perspective.viewer();
        if is_own { Reader::AUTHOR } else { perspective.into() }
    }

    fn conditions(&self, has_place: bool, hidden: &Hidden, reader: Reader) -> Conditions {
        let mut conditions = Conditions {
            texts: Vec::new(),
            args: vec![self.project.into()],
            with_entity: !has_place || self.source.is_some(),
        };
        match (self.parent, self.entity) {
            (Some(Parent::Comment(parent)), _) => conditions.add("c.thread_id =", parent),
            (Some(Parent::None), Some(entity)) => conditions.add("c.thread_id =", entity),
            (Some(Parent::None), None) => conditions.texts.push("c.parent_id IS NULL".to_owned()),
            (None, Some(entity)) => conditions.add("c.entity_id =", entity),
            (None, None) => {}
        }
        if let Some(author) = self.author {
            conditions.add("c.user_id =", author);
        }
        if let Some(source) = &self.source {
            conditions.add("e.source_id =", source.clone());
        }
        if !has_place {
            conditions.texts.push(concat!("e.deleted_at IS NULL AND ", is_commented!()).to_owned());
            let member = reader.member().map(|user| {
                conditions.args.push(user.into());
                format!("${}", conditions.args.len())
            });
            conditions.texts.push(reader.reads("e.space_id", &member.unwrap_or_default()));
        }
        if self.without_deleted || self.only_live {
            conditions.texts.push("c.user_deleted_at IS NULL".to_owned());
        }
        if self.only_live {
            let not_removed = "(c.moderation_status IS NULL OR c.moderation_status <> 'removed')";
            conditions.texts.push(not_removed.to_owned());
        }
        if let Some(viewer) = hidden.viewer() {
            conditions.args.push(viewer.into());
            let place = format!("${}", conditions.args.len());
            conditions.texts.push(hidden.condition("c.user_id", &place));
            if !has_place {
                conditions.texts.push(hidden.condition("e.user_id", &place));
            }
        }
        conditions
    }

    /// How many entries of a list are by those whom whoever looks does not meet: looked up user by
    /// user.
    fn hidden_in(&self, c: &Conn<'_>, hidden: &Hidden) -> Result<i64> {
        let Some(viewer) = hidden.viewer() else { return Ok(0) };
        let mut all = self.conditions(true, &Hidden::default(), Reader::AUTHOR);
        all.args.push(viewer.into());
        let hidden = hidden.users(&format!("${}", all.args.len()));
        let text = format!(
            "WITH s AS MATERIALIZED ({hidden})
             SELECT count(*) FROM s CROSS JOIN comments c
             WHERE c.project_id = $1 AND c.user_id = s.user_id AND c.deleted_at IS NULL{}",
            all.and(),
        );
        Ok(c.one(&Query::<i64>::built("comments::list::hidden", text), &all.args)?)
    }

    fn known_total(&self, c: &Conn<'_>, place: &PlaceRow) -> Result<i64> {
        let total = if self.parent.is_some() { place.top } else { place.all };
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
