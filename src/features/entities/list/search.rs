//! Finds the entities of a page, and the total.
//!
//! A list scans the index of its order and stops at the end of the page. If a filter matches only few
//! entities, it starts from those and sorts them instead; `start.rs` decides which, `sql/` has the
//! statements.

use std::sync::Arc;

use db::Conn;

use crate::error::Result;
use crate::features::entities::list::filters::Filters;
use crate::features::entities::list::guesses::Guesses;
use crate::features::entities::list::request::{Filed, Nsfw, Sort};
use crate::features::entities::list::start::{self, Start};
use crate::features::entities::model::Entity;
use crate::features::entities::show::View;
use crate::features::entities::store::feed_totals::{self, Scope, Size};
use crate::features::entities::store::listed::ListedRow;
use crate::features::spaces::store::access::Reader;
use crate::features::users::store::authored::{self, WithAuthor};
use crate::features::visibility::store::blocks::Hidden;
use crate::http::page::{Page, Paged};
use crate::values::ids::{ProjectId, SpaceId, UserId};
use crate::values::time::Timestamp;

/// Pages beyond this offset run off the async workers.
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
    /// Only authors that this user follows.
    pub followed_by: Option<UserId>,
    /// Authors hidden from the viewer.
    pub hidden: Hidden,
    /// The reader decides which spaces are visible.
    pub reader: Reader,
    pub nsfw: Nsfw,
    pub filters: Filters,
    pub guesses: Arc<Guesses>,
}

/// The first statement of a page that was sent ahead, and what it starts from.
pub(in crate::features::entities::list) type Ahead<'c> = (Start, authored::Ahead<'c, ListedRow>);

/// What of a list is read.
#[derive(Debug, Clone, Copy)]
pub(in crate::features::entities::list) struct Wanted {
    pub page: Page,
    pub with_authors: bool,
}

/// Which entities are listed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shows {
    Listed,
    /// Includes entities that a moderator removed, for their author.
    Published,
    Drafts,
}

impl Search {
    /// Whether an index alone answers it quickly.
    pub fn is_quick(&self, page: Page) -> bool {
        let quick_sort = !matches!(self.sort, Sort::Metadata { .. });
        // These have no index of their own: they filter a larger feed.
        let filters_more = |scope: &Scope| {
            matches!(scope, Scope::NoSource | Scope::NoSpace | Scope::UnsourcedKeyword(_))
        };
        let scope = self.known_scope().filter(|scope| !filters_more(scope));
        quick_sort && scope.is_some() && page.offset() < SLOW_OFFSET
    }

    /// The entities of the page, in order, and the size of the whole list.
    fn run(&self, c: &Conn<'_>, wanted: Wanted) -> Result<(Vec<WithAuthor<ListedRow>>, i64)> {
        if !self.is_open(c)? {
            return Ok((Vec::new(), 0));
        }
        if let Some(scope) = self.known_scope() {
            let ahead = self.prefetch(c, wanted)?;
            let size = feed_totals::size(c, self.project, &scope, self.reader)?;
            return self.walk(c, size, wanted, ahead);
        }
        let (start, any_wide) = start::choose(self, c)?;
        // However the page is found: the followed are fewer than all there are.
        let counted = match self.followed_by {
            Some(user) => self.count(c, &Start::Followed(user), any_wide),
            None => self.count(c, &start, any_wide),
        };
        let total = counted?;
        if wanted.page.offset() >= total {
            return Ok((Vec::new(), total));
        }
        Ok((self.page(c, &start, any_wide, wanted, None)?, total))
    }

    /// Content in unreadable spaces is left out.
    fn is_open(&self, c: &Conn<'_>) -> Result<bool> {
        match self.space {
            Filed::In(space) => self.reader.may_read(c, self.project, space),
            Filed::Anywhere | Filed::Nowhere => Ok(true),
        }
    }

    /// The same of a feed whose size is known.
    fn walk(
        &self,
        c: &Conn<'_>,
        size: Size,
        wanted: Wanted,
        ahead: Option<Ahead<'_>>,
    ) -> Result<(Vec<WithAuthor<ListedRow>>, i64)> {
        let total = size.readable() - self.count_hidden(c)?;
        if wanted.page.offset() >= total {
            return Ok((Vec::new(), total));
        }
        let start = start::of_known_size(self, total);
        if let Some(term) = start::terms(&self.filters, false).first() {
            self.guesses.note(self.project, *term, total < start::FEW);
        }
        let first = ahead.filter(|(guessed, _)| *guessed == start).map(|(_, first)| first);
        Ok((self.page(c, &start, false, wanted, first)?, total))
    }

    /// How many entities of a feed are by hidden authors.
    fn count_hidden(&self, c: &Conn<'_>) -> Result<i64> {
        match self.hidden.is_nobody() {
            true => Ok(0),
            false => self.count(c, &Start::Hidden(self.hidden), false),
        }
    }

    /// The page as it is shown.
    pub fn show(&self, c: &Conn<'_>, page: Page, view: &View) -> Result<Paged<Entity>> {
        let (rows, total) = self.run(c, Wanted { page, with_authors: view.user })?;
        Ok(page.of(view.listed(c, rows)?, total))
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
        let wanted = Wanted { page, with_authors: view.user };
        let ahead = self.prefetch(c, wanted)?;
        let size = feed_totals::size(c, self.project, &scope, self.reader)?;
        if size.is_sparse() {
            return Ok(None);
        }
        let (rows, total) = self.walk(c, size, wanted, ahead)?;
        Ok(Some(page.of(view.listed(c, rows)?, total)))
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
            (Filed::Anywhere, Filed::Nowhere, None, [word]) => {
                Some(Scope::UnsourcedKeyword(word.clone()))
            }
            _ => None,
        }
    }
}
