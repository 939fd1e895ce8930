//! One list of comments for one viewer. The totals of an entity's comments and of a comment's replies are
//! stored; other lists count. The SQL is in `sql.rs`.

use db::Conn;

use crate::auth::perspective::Perspective;
use crate::error::Result;
use crate::features::comments::list::Parent;
use crate::features::comments::list::sql::PlaceRow;
use crate::features::comments::model::Comment;
use crate::features::comments::show::View;
use crate::features::comments::visibility::is_open;
use crate::features::spaces::store::access::Reader;
use crate::features::visibility::store::blocks::Hidden;
use crate::http::page::{Page, Paged};
use crate::values::ids::{EntityId, ProjectId, UserId};

/// Beyond this many skipped rows a list may keep a thread busy.
const QUICK_OFFSET: i64 = 5_000;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sort {
    Newest,
    Oldest,
    Top,
    Controversial,
}

#[derive(Debug)]
pub(super) struct Search {
    pub project: ProjectId,
    pub sort: Sort,
    pub entity: Option<EntityId>,
    pub parent: Option<Parent>,
    pub source: Option<String>,
    pub author: Option<UserId>,
    /// Without placeholders, as in a list of another author's comments.
    pub only_live: bool,
    /// Without comments that their author deleted, as in v6.
    pub without_deleted: bool,
    /// Rules of the project may hold comments.
    pub has_rules: bool,
}

impl Search {
    /// Whether it may run on an async worker: its total is stored and its offset is small.
    pub fn is_quick(&self, page: Page) -> bool {
        self.knows_total() && page.offset() <= QUICK_OFFSET
    }

    /// Whether it lists the comments of one entity or the replies to one comment.
    pub fn has_place(&self) -> bool {
        self.entity.is_some() || matches!(self.parent, Some(Parent::Comment(_)))
    }

    fn knows_total(&self) -> bool {
        self.has_place() && self.author.is_none() && self.source.is_none() && !self.only_live
    }

    pub fn show(
        &self,
        c: &Conn<'_>,
        page: Page,
        view: &View,
        hidden: Hidden,
    ) -> Result<Paged<Comment>> {
        let conditions = {
            let reads = (self.reader(view.perspective), own(view.perspective));
            self.conditions(self.has_place(), &hidden, reads)
        };
        let ahead = self.prefetch(c, &conditions, (page, view.user))?;
        // Also below the viewer's own content, comments belong to their authors.
        let place = self.place(c, view.perspective.into())?;
        let is_there = |place: &PlaceRow| {
            place.is_readable
                && is_open(view.perspective, place.is_open, place.user_id)
                && self.entity.is_none_or(|entity| entity == place.entity_id)
        };
        // A hidden entity lists no comments.
        let place = match place {
            Some(found) => match found.filter(is_there) {
                Some(place) if self.is_met(c, view, &place, &hidden)? => Some(place),
                _ => return Ok(page.of(Vec::new(), 0)),
            },
            None => None,
        };
        let total = match &place {
            Some(place) if self.knows_total() => {
                self.known_total(c, place, own(view.perspective))? - self.hidden_in(c, &hidden)?
            }
            _ => self.count(c, &conditions)?,
        };
        let rows = self.page(c, &conditions, (page, view.user), ahead)?;
        Ok(page.of(view.listed(c, rows)?, total))
    }

    /// Whether neither the entity's author nor that of the parent comment is hidden.
    fn is_met(&self, c: &Conn<'_>, view: &View, place: &PlaceRow, hidden: &Hidden) -> Result<bool> {
        for author in [place.user_id, place.answered_id].into_iter().flatten() {
            if hidden.holds(c, &view.project, author)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Authors see their own comments everywhere.
    fn reader(&self, perspective: Perspective) -> Reader {
        let is_own = self.author.is_some() && self.author == perspective.viewer();
        if is_own { Reader::AUTHOR } else { perspective.into() }
    }
}

/// The user who sees their own comments that a rule holds.
fn own(perspective: Perspective) -> Option<UserId> {
    perspective.viewer().filter(|_| !perspective.is_key())
}
