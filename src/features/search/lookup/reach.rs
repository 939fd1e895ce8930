//! How far a search reaches: which classes, and which documents of each. Closed content is limited to what the viewer
//! may read before anything is scored; only for viewers of very much of it that is left to the check of what was found.

use std::collections::HashSet;

use db::Conn;
use text_index::Filter;

use crate::error::Result;
use crate::features::search::class::Class;
use crate::features::search::store::scope::{self, By};
use crate::values::ids::{ConversationId, ProjectId, SpaceId, UserId};

/// What a search is limited to by its caller's wish.
#[derive(Debug, Clone, Default)]
pub struct Limits {
    pub spaces: Option<Vec<SpaceId>>,
    /// Of messages alone.
    pub conversation: Option<ConversationId>,
}

/// The classes within reach, and the documents of each.
#[derive(Debug)]
pub struct Reach {
    pub(super) filters: Vec<(Class, Filter)>,
}

/// Numbers of documents; none: too many to list, or all.
type Numbers = Option<HashSet<i64>>;

impl Reach {
    /// `classes` are those asked for; closed ones count for a viewer only.
    pub fn new(
        c: &Conn<'_>,
        project: ProjectId,
        viewer: Option<UserId>,
        classes: &[Class],
        limits: &Limits,
    ) -> Result<Reach> {
        let mut filters = Vec::new();
        let in_spaces = match &limits.spaces {
            Some(spaces) => Some(set(scope::numbers(c, project, &By::Space(spaces), classes)?)),
            None => None,
        };
        for class in classes {
            let own = match (class.is_open(), viewer) {
                (true, _) => None,
                (false, None) => continue,
                (false, Some(viewer)) => closed(c, project, viewer, *class, limits)?,
            };
            let filter = match (own, &in_spaces) {
                (None, None | Some(None)) => Filter::All,
                (None, Some(Some(numbers))) => Filter::only(numbers.iter().copied()),
                (Some(own), Some(Some(numbers))) => {
                    Filter::only(own.intersection(numbers).copied())
                }
                (Some(own), _) => Filter::only(own),
            };
            filters.push((*class, filter));
        }
        Ok(Reach { filters })
    }

    pub fn classes(&self) -> Vec<Class> {
        self.filters.iter().map(|(class, _)| *class).collect()
    }
}

fn set(numbers: Option<Vec<i64>>) -> Numbers {
    numbers.map(|numbers| numbers.into_iter().collect())
}

/// What a viewer may read of a closed class.
fn closed(
    c: &Conn<'_>,
    project: ProjectId,
    viewer: UserId,
    class: Class,
    limits: &Limits,
) -> Result<Numbers> {
    let numbers = |by: &By<'_>| scope::numbers(c, project, by, &[class]);
    match class {
        Class::Message => {
            let mut conversations = scope::conversations(c, project, viewer)?;
            if let Some(only) = limits.conversation {
                conversations.retain(|conversation| *conversation == only);
            }
            Ok(set(numbers(&By::Conversation(&conversations))?))
        }
        Class::ClosedSpace => Ok(set(numbers(&By::Record(&scope::joined(c, project, viewer)?))?)),
        _ => {
            let spaces = scope::closed_spaces(c, project, viewer)?;
            let in_spaces = numbers(&By::Space(&spaces))?;
            let own = numbers(&By::Author(viewer))?;
            Ok(in_spaces.zip(own).map(|(a, b)| a.into_iter().chain(b).collect()))
        }
    }
}
