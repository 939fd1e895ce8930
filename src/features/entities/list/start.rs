//! Chooses the index that a list starts from, by counting up to a bound: an engine plans a statement before
//! it knows the arguments.

use db::Conn;
use uuid::Uuid;

use crate::error::Result;
use crate::features::entities::list::filters::Filters;
use crate::features::entities::list::request::Sort;
use crate::features::entities::list::search::{Search, Shows};
use crate::features::entities::list::sql::{Around, count, sole_term};
use crate::features::entities::terms;
use crate::features::visibility::store::blocks::Hidden;
use crate::values::ids::UserId;

/// Up to this many rows are always cheap to sort.
pub const FEW: i64 = 2000;

/// The index that a statement starts from.
#[derive(Debug, Clone, PartialEq)]
pub enum Start {
    /// The index of the order, or of the feed.
    Feed,
    /// The entities with a term, by age.
    Term(Uuid),
    /// The few entities with a term.
    FewOfTerm(Uuid),
    /// The same, and entities whose metadata is not indexed as terms.
    FewOfTermOrWide(Uuid),
    /// The few entities at about the same latitude.
    FewOfPlace(Around),
    /// The entities by users that a user follows.
    Followed(UserId),
    /// The entities by authors hidden from the viewer.
    Hidden(Hidden),
}

impl Start {
    /// Whether all its entities are read and sorted, however they are ordered.
    pub fn sorts_all(&self) -> bool {
        matches!(self, Start::FewOfTerm(_) | Start::FewOfTermOrWide(_) | Start::FewOfPlace(_))
    }

    /// The term that all its entities have.
    pub fn term(&self) -> Option<Uuid> {
        match self {
            Start::Term(term) | Start::FewOfTerm(term) => Some(*term),
            Start::Feed
            | Start::FewOfTermOrWide(_)
            | Start::FewOfPlace(_)
            | Start::Followed(_)
            | Start::Hidden(_) => None,
        }
    }
}

/// For a feed whose size is stored.
pub fn of_known_size(search: &Search, total: i64) -> Start {
    match terms(&search.filters, false).first() {
        Some(term) if total < FEW => Start::FewOfTerm(*term),
        Some(term) if matches!(search.sort, Sort::New(_)) => Start::Term(*term),
        _ => Start::Feed,
    }
}

/// The smallest starting set for the list, and whether metadata has to be parsed.
pub fn choose(search: &Search, c: &Conn<'_>) -> Result<(Start, bool)> {
    let wide =
        if search.filters.metadata.is_empty() { 0 } else { count::count_wide(c, search.project)? };
    let any_wide = wide > 0;
    let mut least = (FEW, Start::Feed);
    let mut offer = |count: i64, start: Start| {
        if count < least.0 {
            least = (count, start);
        }
    };
    let exact = terms(&search.filters, any_wide);
    for term in &exact {
        offer(count::count_term(c, search.project, *term)?, Start::FewOfTerm(*term));
    }
    for term in of_metadata(&search.filters).filter(|_| any_wide) {
        offer(count::count_term(c, search.project, term)? + wide, Start::FewOfTermOrWide(term));
    }
    if let Some(user) = search.followed_by {
        offer(count::count_followed(c, search.project, user)?, Start::Followed(user));
    }
    // Removed entities are not in the index of places.
    if let Some(near) = search.filters.near.filter(|_| search.shows == Shows::Listed) {
        let around = Around::new(&near);
        offer(count::count_place(c, search.project, &around)?, Start::FewOfPlace(around));
    }
    let start = match (least.1, exact.first()) {
        (Start::Feed, Some(term)) if matches!(search.sort, Sort::New(_)) => Start::Term(*term),
        (start, _) => start,
    };
    Ok((start, any_wide))
}

/// Terms that every entity of the list has.
pub fn terms(filters: &Filters, any_wide: bool) -> Vec<Uuid> {
    let words = filters.keywords.includes.iter().map(|word| terms::keyword(word));
    words.chain(of_metadata(filters).filter(|_| !any_wide)).collect()
}

/// Terms that every entity of the list has if its metadata is indexed as terms.
fn of_metadata(filters: &Filters) -> impl Iterator<Item = Uuid> {
    let pairs = filters.metadata.includes.iter().filter_map(sole_term);
    pairs.chain(filters.metadata.exists.iter().map(|key| terms::key(key)))
}
