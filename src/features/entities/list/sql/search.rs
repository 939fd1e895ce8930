//! The statements of a list: how many entities it has, and which are on a page.

use std::collections::HashMap;

use db::{Conn, Query, args};

use crate::error::Result;
use crate::features::entities::list::filters::Filters;
use crate::features::entities::list::metadata_sort::Sorter;
use crate::features::entities::list::request::{Filed, Nsfw, Sort};
use crate::features::entities::list::search::{Ahead, Search, Shows, Wanted};
use crate::features::entities::list::sql::Conditions;
use crate::features::entities::list::start::{self, Start};
use crate::features::entities::store::listed::ListedRow;
use crate::features::entities::terms;
use crate::features::users::store::authored::{self, PageQuery, WithAuthor};
use crate::http::input::Direction;
use crate::values::ids::EntityId;
use crate::values::time::Timestamp;

/// Its own flag, or that of its space.
const NSFW: &str = "(e.nsfw OR COALESCE((SELECT s.nsfw_effective FROM spaces s
    WHERE s.project_id = $1 AND s.id = e.space_id), FALSE))";

impl Search {
    pub(in crate::features::entities::list) fn count(
        &self,
        c: &Conn<'_>,
        start: &Start,
        any_wide: bool,
    ) -> Result<i64> {
        let conditions = self.conditions(start, any_wide);
        let text = conditions.select("count(*)");
        Ok(c.one(&Query::<i64>::built("entities::list::count", text), conditions.builder.args())?)
    }

    fn conditions(&self, start: &Start, any_wide: bool) -> Conditions {
        let mut to = Conditions::new(self.project, start);
        to.builder.add(match self.shows {
            Shows::Listed => "e.is_listed",
            Shows::Published => "NOT e.is_draft AND e.deleted_at IS NULL",
            Shows::Drafts => "e.is_draft AND e.deleted_at IS NULL",
        });
        match &self.space {
            Filed::Anywhere => to.readable(self.reader),
            Filed::Nowhere => to.builder.add("e.space_id IS NULL"),
            Filed::In(space) => to.builder.equal("e.space_id", *space),
        }
        match &self.source {
            Filed::Anywhere => {}
            Filed::Nowhere => to.builder.add("e.source_id IS NULL"),
            Filed::In(source) => to.builder.equal("e.source_id", source.clone()),
        }
        if let Some(author) = self.author {
            to.builder.equal("e.user_id", author);
        }
        if let Some(user) = self.followed_by.filter(|_| !matches!(start, Start::Followed(_))) {
            to.followed_by(user);
        }
        if !matches!(start, Start::Hidden(_)) {
            to.without(&self.hidden);
        }
        if let Some(since) = self.since {
            let since = to.builder.bind(since);
            to.builder.add(format_args!("e.created_at >= {since}"));
        }
        match self.nsfw {
            Nsfw::All => {}
            Nsfw::Exclude => to.builder.add(format_args!("NOT {NSFW}")),
            Nsfw::Only => to.builder.add(NSFW),
        }
        self.filter(&mut to, start, any_wide);
        to
    }

    fn filter(&self, to: &mut Conditions, start: &Start, any_wide: bool) {
        let Filters { keywords, title, content, has_attachments, near, metadata } = &self.filters;
        let mut wanted = start::terms(&self.filters, any_wide);
        wanted.retain(|term| Some(*term) != start.term());
        for term in wanted {
            to.with_term(term);
        }
        for word in &keywords.excludes {
            to.without_term(terms::keyword(word));
        }
        to.text_filter("b.title", title);
        to.text_filter("b.content", content);
        match has_attachments {
            Some(true) => to.builder.add("e.has_attachments"),
            Some(false) => to.builder.add("NOT e.has_attachments"),
            None => {}
        }
        if let Some(near) = near {
            to.near(near, !matches!(start, Start::FewOfPlace(_)));
        }
        to.metadata(metadata, any_wide);
    }

    pub(in crate::features::entities::list) fn page(
        &self,
        c: &Conn<'_>,
        start: &Start,
        any_wide: bool,
        wanted: Wanted,
        first: Option<authored::Ahead<'_, ListedRow>>,
    ) -> Result<Vec<WithAuthor<ListedRow>>> {
        match &self.sort {
            Sort::Metadata { property, kind, direction } => {
                let mut to = self.conditions(start, any_wide);
                to.needs_body = true;
                let property = to.builder.bind(property.clone());
                let columns =
                    format!("e.id, e.created_at, b.metadata -> CAST({property} AS TEXT) AS value");
                let query = Query::<(EntityId, Timestamp, Option<db::JsonText>)>::built(
                    "entities::list::by_metadata",
                    to.select(&columns),
                );
                let mut sorter = Sorter::new(*kind, *direction, wanted.page);
                c.each(&query, to.builder.args(), |(id, created_at, value)| {
                    sorter.take(id, created_at, value.as_ref().map(|value| value.0.as_str()));
                })?;
                self.of_ids(c, &sorter.finish(), wanted.with_authors)
            }
            sort => {
                let segments = segments(sort, start);
                self.segments(c, (start, any_wide), wanted, &segments, first)
            }
        }
    }

    /// The entities with these ids, in this order.
    fn of_ids(
        &self,
        c: &Conn<'_>,
        ids: &[EntityId],
        with_authors: bool,
    ) -> Result<Vec<WithAuthor<ListedRow>>> {
        if ids.is_empty() {
            return Ok(Vec::new());
        }
        let query = PageQuery {
            ids: "SELECT e.id FROM entities e WHERE e.project_id = $1 AND e.id {any}($2)"
                .to_owned(),
            order: "e.id".to_owned(),
            with_authors,
        };
        let mut rows: Vec<WithAuthor<ListedRow>> =
            query.all(c, args![self.project, EntityId::list(ids)])?;
        let places: HashMap<EntityId, usize> = ids.iter().copied().zip(0..).collect();
        rows.sort_by_cached_key(|(row, _)| places.get(&row.entity.id).copied());
        Ok(rows)
    }

    /// Sends the first statement of a page ahead, if it is known or can be guessed.
    pub(in crate::features::entities::list) fn prefetch<'c>(
        &self,
        c: &'c Conn<'_>,
        Wanted { page, with_authors }: Wanted,
    ) -> Result<Option<Ahead<'c>>> {
        let is_rare = match start::terms(&self.filters, false).first() {
            Some(term) => self.guesses.is_rare(self.project, *term),
            None => Some(false),
        };
        let Some(is_rare) = is_rare else { return Ok(None) };
        let start = start::of_known_size(self, if is_rare { 0 } else { start::FEW });
        let segments = segments(&self.sort, &start);
        let Some(first) = segments.first() else { return Ok(None) };
        let to = self.segment((&start, false), first);
        let query = first.query(&to, (i64::from(page.limit), page.offset()), with_authors);
        let sent = query.prefetch(c, to.builder.args())?;
        Ok(Some((start, sent)))
    }

    fn segment(&self, (start, any_wide): (&Start, bool), segment: &Segment) -> Conditions {
        let mut to = self.conditions(start, any_wide);
        if let Some(condition) = &segment.condition {
            to.builder.add(condition);
        }
        to
    }

    fn segments(
        &self,
        c: &Conn<'_>,
        start: (&Start, bool),
        wanted: Wanted,
        segments: &[Segment],
        mut first: Option<authored::Ahead<'_, ListedRow>>,
    ) -> Result<Vec<WithAuthor<ListedRow>>> {
        let read = |segment: &Segment, limit, skip| {
            if let Some(rows) = first.take().map_or(Ok(None), authored::Ahead::rows)? {
                return Ok(rows);
            }
            let to = self.segment(start, segment);
            segment.query(&to, (limit, skip), wanted.with_authors).all(c, to.builder.args())
        };
        let count = |segment: &Segment| {
            let to = self.segment(start, segment);
            let counted = Query::<i64>::built("entities::list::segment", to.select("count(*)"));
            Ok(c.one(&counted, to.builder.args())?)
        };
        wanted.page.of_parts(segments, read, count)
    }
}

/// A part of a list with an order of its own.
#[derive(Debug)]
struct Segment {
    condition: Option<String>,
    order: String,
}

impl Segment {
    fn query(&self, to: &Conditions, (limit, offset): (i64, i64), with_authors: bool) -> PageQuery {
        let (select, order) = (to.select("e.id"), &self.order);
        PageQuery {
            ids: format!("{select} ORDER BY {order} LIMIT {limit} OFFSET {offset}"),
            // Where it starts from the entities with a term.
            order: order.replace("s.entity_id", "e.id").replace("s.created_at", "e.created_at"),
            with_authors,
        }
    }
}

fn segments(sort: &Sort, start: &Start) -> Vec<Segment> {
    let newest = "e.created_at DESC, e.id DESC";
    let whole = |order: &str| vec![Segment { condition: None, order: order.to_owned() }];
    let first_those = |with: String, order: String, without: String| {
        // Those without come last in one order, too, but no index holds it.
        if start.sorts_all() {
            return whole(&format!("{order} DESC NULLS LAST, {newest}"));
        }
        let with = Segment { condition: Some(with), order: format!("{order} DESC, {newest}") };
        vec![with, Segment { condition: Some(without), order: newest.to_owned() }]
    };
    match sort {
        Sort::New(direction) => match (start, direction) {
            (Start::Term(_), Direction::Desc) => whole("s.created_at DESC, s.entity_id DESC"),
            (Start::Term(_), Direction::Asc) => whole("s.created_at ASC, s.entity_id DESC"),
            (_, Direction::Desc) => whole(newest),
            (_, Direction::Asc) => whole("e.created_at ASC, e.id DESC"),
        },
        Sort::LastChanged => whole("e.updated_at DESC, e.id DESC"),
        Sort::Hot => whole(&format!("e.score DESC, {newest}")),
        Sort::Balance => by_balance(newest, start),
        Sort::Top(kind) => {
            let count = format!("e.{}", kind.column());
            first_those(format!("{count} > 0"), count.clone(), format!("{count} = 0"))
        }
        Sort::Controversial => {
            let key = "e.controversy";
            first_those(format!("{key} IS NOT NULL"), key.to_owned(), format!("{key} IS NULL"))
        }
        Sort::Metadata { .. } => Vec::new(),
    }
}

/// Most votes in balance first, then most upvotes. Entities without votes come before those whose
/// downvotes prevail.
fn by_balance(newest: &str, start: &Start) -> Vec<Segment> {
    let (votes, balance) =
        ("e.upvote_count + e.downvote_count", "e.upvote_count - e.downvote_count");
    let order = format!("{balance} DESC, e.upvote_count DESC, {newest}");
    if start.sorts_all() {
        return vec![Segment { condition: None, order }];
    }
    let voted = |sign: &str| Segment {
        condition: Some(format!("{votes} > 0 AND {balance} {sign} 0")),
        order: order.clone(),
    };
    let unvoted = Segment { condition: Some(format!("{votes} = 0")), order: newest.to_owned() };
    vec![voted(">="), unvoted, voted("<")]
}
