//! Finding the entities of a page, and how many there are in all.
//!
//! A list walks the index of its order and stops at the end of the page, or, when a filter leaves
//! only few entities, begins with those and sorts them; `start.rs` decides which.

use db::{Conn, Query};

use crate::error::Result;
use crate::features::entities::feed_totals::{self, Scope, Size};
use crate::features::entities::list::filters::Filters;
use crate::features::entities::list::metadata_sort::Sorter;
use crate::features::entities::list::request::{Filed, Nsfw, Sort};
use crate::features::entities::list::sql::Conditions;
use crate::features::entities::list::start::{self, Start};
use crate::features::entities::model::Entity;
use crate::features::entities::show::View;
use crate::features::entities::{store, terms};
use crate::features::spaces::access::Reader;
use crate::features::visibility::blocks::Hidden;
use crate::http::input::Direction;
use crate::http::page::{Page, Paged};
use crate::values::ids::{EntityId, ProjectId, SpaceId, UserId};
use crate::values::time::Timestamp;

/// Its own flag, or that of its space.
const NSFW: &str = "(e.nsfw OR COALESCE((SELECT s.nsfw_effective FROM spaces s
    WHERE s.project_id = $1 AND s.id = e.space_id), FALSE))";
/// A page that begins further back is found off the async workers.
const SLOW_OFFSET: i64 = 1000;

#[derive(Debug, Clone)]
pub struct Search {
    pub project: ProjectId,
    pub shows: Shows,
    pub sort: Sort,
    pub since: Option<Timestamp>,
    pub source: Filed<String>,
    pub space: Filed<SpaceId>,
    pub author: Option<UserId>,
    /// Only authors whom this user follows.
    pub followed_by: Option<UserId>,
    /// Authors whom the viewer does not meet.
    pub hidden: Hidden,
    /// Who reads, and so from which spaces.
    pub reader: Reader,
    pub nsfw: Nsfw,
    pub filters: Filters,
}

/// Which of the entities that are there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shows {
    Listed,
    /// Also what a moderator has removed, for its author.
    Published,
    Drafts,
}

impl Search {
    /// Whether an index alone answers it, within a moment.
    pub fn is_quick(&self, page: Page) -> bool {
        let quick_sort = !matches!(self.sort, Sort::Metadata { .. } | Sort::Balance);
        // These two have no index of their own: they are picked out of the whole feed.
        let scope = self.known_scope();
        let scope = scope.filter(|scope| !matches!(scope, Scope::NoSource | Scope::NoSpace));
        quick_sort && scope.is_some() && page.offset() < SLOW_OFFSET
    }

    /// The ids of the page, in order, and the size of the whole list.
    pub fn run(&self, c: &Conn<'_>, page: Page) -> Result<(Vec<EntityId>, i64)> {
        if !self.is_open(c)? {
            return Ok((Vec::new(), 0));
        }
        if let Some(scope) = self.known_scope() {
            return self.walk(c, feed_totals::size(c, self.project, &scope, self.reader)?, page);
        }
        let (start, any_wide) = start::choose(self, c)?;
        // However the page is found: the followed are fewer than all there are.
        let counted = match self.followed_by {
            Some(user) => self.count(c, &Start::Followed(user), any_wide),
            None => self.count(c, &start, any_wide),
        };
        let total = counted?;
        if page.offset() >= total {
            return Ok((Vec::new(), total));
        }
        Ok((self.page(c, &start, any_wide, page)?, total))
    }

    /// What a space keeps to itself is not there.
    fn is_open(&self, c: &Conn<'_>) -> Result<bool> {
        match self.space {
            Filed::In(space) => self.reader.may_read(c, self.project, space),
            Filed::Anywhere | Filed::Nowhere => Ok(true),
        }
    }

    /// The same of a feed whose size is known.
    fn walk(&self, c: &Conn<'_>, size: Size, page: Page) -> Result<(Vec<EntityId>, i64)> {
        let total = size.readable() - self.count_hidden(c)?;
        if page.offset() >= total {
            return Ok((Vec::new(), total));
        }
        let start = start::of_known_size(self, total);
        Ok((self.page(c, &start, false, page)?, total))
    }

    fn count(&self, c: &Conn<'_>, start: &Start, any_wide: bool) -> Result<i64> {
        let conditions = self.conditions(start, any_wide);
        let text = conditions.select("count(*)");
        Ok(c.one(&Query::<i64>::built("entities::list::count", text), conditions.args())?)
    }

    /// How much of a feed is by authors whom the viewer does not meet.
    fn count_hidden(&self, c: &Conn<'_>) -> Result<i64> {
        match self.hidden.is_nobody() {
            true => Ok(0),
            false => self.count(c, &Start::Hidden(self.hidden), false),
        }
    }

    /// The page as it is shown.
    pub fn show(&self, c: &Conn<'_>, page: Page, view: &View) -> Result<Paged<Entity>> {
        let found = self.run(c, page)?;
        self.shown(c, page, view, found)
    }

    /// The same of a feed, unless walking it would pass by more than it finds.
    pub fn show_quickly(
        &self,
        c: &Conn<'_>,
        page: Page,
        view: &View,
    ) -> Result<Option<Paged<Entity>>> {
        let Some(scope) = self.known_scope() else { return Ok(None) };
        if !self.is_open(c)? {
            return Ok(Some(page.of(Vec::new(), 0)));
        }
        let size = feed_totals::size(c, self.project, &scope, self.reader)?;
        if size.is_sparse() {
            return Ok(None);
        }
        let found = self.walk(c, size, page)?;
        self.shown(c, page, view, found).map(Some)
    }

    fn shown(
        &self,
        c: &Conn<'_>,
        page: Page,
        view: &View,
        (ids, total): (Vec<EntityId>, i64),
    ) -> Result<Paged<Entity>> {
        let rows = store::find_all(c, self.project, &ids)?;
        Ok(page.of(view.entities(c, rows)?, total))
    }

    /// The feed that this is, if its size is kept.
    fn known_scope(&self) -> Option<Scope> {
        let Filters { keywords, title, content, has_attachments, near, metadata } = &self.filters;
        let is_filtered = self.since.is_some()
            || self.followed_by.is_some()
            || self.shows != Shows::Listed
            || self.nsfw != Nsfw::All
            || !(title.is_empty() && content.is_empty() && metadata.is_empty())
            || has_attachments.is_some()
            || near.is_some()
            || !keywords.excludes.is_empty();
        if is_filtered {
            return None;
        }
        match (&self.space, &self.source, self.author, keywords.includes.as_slice()) {
            (Filed::Anywhere, Filed::Anywhere, None, []) => Some(Scope::Project),
            (Filed::In(space), Filed::Anywhere, None, []) => Some(Scope::Space(*space)),
            (Filed::Nowhere, Filed::Anywhere, None, []) => Some(Scope::NoSpace),
            (Filed::Anywhere, Filed::In(source), None, []) => Some(Scope::Source(source.clone())),
            (Filed::Anywhere, Filed::Nowhere, None, []) => Some(Scope::NoSource),
            (Filed::Nowhere, Filed::Nowhere, None, []) => Some(Scope::Loose),
            (Filed::Anywhere, Filed::Anywhere, Some(author), []) => Some(Scope::Author(author)),
            (Filed::Anywhere, Filed::Anywhere, None, [word]) => Some(Scope::Keyword(word.clone())),
            _ => None,
        }
    }

    fn conditions(&self, start: &Start, any_wide: bool) -> Conditions {
        let mut to = Conditions::new(self.project, start);
        to.add(match self.shows {
            Shows::Listed => "e.is_listed",
            Shows::Published => "NOT e.is_draft AND e.deleted_at IS NULL",
            Shows::Drafts => "e.is_draft AND e.deleted_at IS NULL",
        });
        match &self.space {
            Filed::Anywhere => to.readable(self.reader),
            Filed::Nowhere => to.add("e.space_id IS NULL"),
            Filed::In(space) => {
                let space = to.bind(*space);
                to.add(format!("e.space_id = {space}"));
            }
        }
        match &self.source {
            Filed::Anywhere => {}
            Filed::Nowhere => to.add("e.source_id IS NULL"),
            Filed::In(source) => {
                let source = to.bind(source.clone());
                to.add(format!("e.source_id = {source}"));
            }
        }
        if let Some(author) = self.author {
            let author = to.bind(author);
            to.add(format!("e.user_id = {author}"));
        }
        if let Some(user) = self.followed_by.filter(|_| !matches!(start, Start::Followed(_))) {
            to.followed_by(user);
        }
        if !matches!(start, Start::Hidden(_)) {
            to.without(&self.hidden);
        }
        if let Some(since) = self.since {
            let since = to.bind(since);
            to.add(format!("e.created_at >= {since}"));
        }
        match self.nsfw {
            Nsfw::All => {}
            Nsfw::Exclude => to.add(format!("NOT {NSFW}")),
            Nsfw::Only => to.add(NSFW),
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
            Some(true) => to.add("e.has_attachments"),
            Some(false) => to.add("NOT e.has_attachments"),
            None => {}
        }
        if let Some(near) = near {
            to.near(near, !matches!(start, Start::FewOfPlace(_)));
        }
        to.metadata(metadata, any_wide);
    }

    fn page(
        &self,
        c: &Conn<'_>,
        start: &Start,
        any_wide: bool,
        page: Page,
    ) -> Result<Vec<EntityId>> {
        match &self.sort {
            Sort::Metadata { property, kind, direction } => {
                let mut to = self.conditions(start, any_wide);
                to.needs_body = true;
                let property = to.bind(property.clone());
                let columns =
                    format!("e.id, e.created_at, b.metadata -> CAST({property} AS TEXT) AS value");
                let query = Query::<(EntityId, Timestamp, Option<db::JsonText>)>::built(
                    "entities::list::by_metadata",
                    to.select(&columns),
                );
                let mut sorter = Sorter::new(*kind, *direction, page);
                c.each(&query, to.args(), |(id, created_at, value)| {
                    sorter.take(id, created_at, value.as_ref().map(|value| value.0.as_str()));
                })?;
                Ok(sorter.finish())
            }
            sort => self.segments(c, start, any_wide, page, &segments(sort, start)),
        }
    }

    /// The page out of segments that follow each other. Once one has ended its size is known, or
    /// is smaller than what was skipped and so quickly counted.
    fn segments(
        &self,
        c: &Conn<'_>,
        start: &Start,
        any_wide: bool,
        page: Page,
        segments: &[Segment],
    ) -> Result<Vec<EntityId>> {
        let (mut skip, mut left) = (page.offset(), i64::from(page.limit));
        let mut found = Vec::new();
        for (n, segment) in segments.iter().enumerate() {
            let mut to = self.conditions(start, any_wide);
            if let Some(condition) = &segment.condition {
                to.add(condition.clone());
            }
            let text = format!(
                "{} ORDER BY {} LIMIT {left} OFFSET {skip}",
                to.select("e.id"),
                segment.order
            );
            let ids = c.all(&Query::<EntityId>::built("entities::list::page", text), to.args())?;
            let count = i64::try_from(ids.len()).unwrap_or(i64::MAX);
            found.extend(ids);
            left -= count;
            if left == 0 || n + 1 == segments.len() {
                break;
            }
            skip = if count > 0 || skip == 0 {
                0
            } else {
                let text = to.select("count(*)");
                let counted = Query::<i64>::built("entities::list::segment", text);
                skip - c.one(&counted, to.args())?
            };
        }
        Ok(found)
    }
}

/// A part of a list with an order of its own.
#[derive(Debug)]
struct Segment {
    condition: Option<String>,
    order: String,
}

fn segments(sort: &Sort, start: &Start) -> Vec<Segment> {
    let newest = "e.created_at DESC, e.id DESC";
    let whole = |order: &str| vec![Segment { condition: None, order: order.to_owned() }];
    let first_those = |with: String, order: String, without: String| {
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
        Sort::Balance => {
            whole(&format!("e.upvote_count - e.downvote_count DESC, e.upvote_count DESC, {newest}"))
        }
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
