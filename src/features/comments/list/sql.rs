//! The SQL of a list of comments: its conditions, its order and its total. Only names that are written
//! here become SQL; everything a caller sends is an argument.

use db::{Conn, Query, Value, args};

use crate::error::Result;
use crate::features::comments::list::Parent;
use crate::features::comments::list::search::{Search, Sort};
use crate::features::spaces::store::access::Reader;
use crate::features::visibility::store::blocks::Hidden;
use crate::http::page::Page;
use crate::values::ids::{CommentId, EntityId, SpaceId, UserId};

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
    pub(super) struct PlaceRow {
        pub entity_id: EntityId,
        pub is_open: bool,
        pub user_id: Option<UserId>,
        pub space_id: Option<SpaceId>,
        pub answered_id: Option<UserId>,
        pub all: i64,
        pub top: i64,
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

/// What is asked for, as SQL.
pub(super) struct Conditions {
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
    /// The entity or comment whose comments are listed: none if the list is not of one, some none if it
    /// does not exist.
    pub(super) fn place(&self, c: &Conn<'_>) -> Result<Option<Option<PlaceRow>>> {
        Ok(match (self.parent, self.entity) {
            (Some(Parent::Comment(id)), _) => Some(c.opt(&COMMENT, args![self.project, id])?),
            (_, Some(id)) => Some(c.opt(&ENTITY, args![self.project, id])?),
            _ => None,
        })
    }

    pub(super) fn count(&self, c: &Conn<'_>, conditions: &Conditions) -> Result<i64> {
        let count = Query::<i64>::built("comments::list::count", conditions.select("count(*)"));
        Ok(c.one(&count, &conditions.args)?)
    }

    pub(super) fn page(
        &self,
        c: &Conn<'_>,
        mut conditions: Conditions,
        page: Page,
    ) -> Result<Vec<CommentId>> {
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

    pub(super) fn conditions(
        &self,
        has_place: bool,
        hidden: &Hidden,
        reader: Reader,
    ) -> Conditions {
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

    /// How many entries of a list are by users who are blocked for the viewer: looked up user by
    /// user.
    pub(super) fn hidden_in(&self, c: &Conn<'_>, hidden: &Hidden) -> Result<i64> {
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

    pub(super) fn known_total(&self, c: &Conn<'_>, place: &PlaceRow) -> Result<i64> {
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
