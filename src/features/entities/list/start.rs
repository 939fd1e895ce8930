//! What a list begins with. Decided here, by counting up to a bound, because an engine plans a
//! statement before it knows its arguments.

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

/// So many are sorted without a thought.
pub const FEW: i64 = 2000;

/// What a statement begins with.
#[derive(Debug, Clone, PartialEq)]
pub enum Start {
    /// The index of the order, or of the feed.
    Feed,
    /// The entities with a term, by their age.
    Term(Uuid),
    /// The few entities with a term.
    FewOfTerm(Uuid),
    /// The same, and those whose metadata is not kept as terms.
    FewOfTermOrWide(Uuid),
    /// The few entities about as far north as a place.
    FewOfPlace(Around),
    /// The entities by whomever a user follows.
    Followed(UserId),
    /// The entities by whomever a viewer does not meet.
    Hidden(Hidden),
}

impl Start {
    /// The term that all it yields have.
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

/// For a feed whose size is kept.
pub fn of_known_size(search: &Search, total: i64) -> Start {
    match terms(&search.filters, false).first() {
        Some(term) if total < FEW => Start::FewOfTerm(*term),
        Some(term) if matches!(search.sort, Sort::New(_)) => Start::Term(*term),
        _ => Start::Feed,
    }
}

/// The least that the list can begin with, and whether any metadata has to be looked into.
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
    // What was removed is not in the index of places.
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

/// Terms that every entity has whose metadata is kept as terms.
fn of_metadata(filters: &Filters) -> impl Iterator<Item = Uuid> {
    let pairs = filters.metadata.includes.iter().filter_map(sole_term);
    pairs.chain(filters.metadata.exists.iter().map(|key| terms::key(key)))
}
