//! Changes of a target's counts: by an amount, never to a value, and only in the columns that do change. An
//! engine may update every index over a column that a statement names.

use db::{Builder, Command, Tx};

use crate::error::Result;
use crate::features::reactions::store::controversy::comment_controversy;
use crate::features::reactions::store::controversy::controversy;
use crate::features::reactions::target::TargetId;
use crate::features::reactions::{ReactionCounts, ReactionType};
use crate::values::ids::ProjectId;

/// Columns computed from the votes, `up_now` and `down_now`.
const OF_ENTITY: &str = concat!("controversy = ", controversy!("up_now", "down_now"));
const OF_COMMENT: &str = concat!(
    "balance = up_now - (down_now), controversy = ",
    comment_controversy!("up_now", "down_now")
);

/// Adds to (or subtracts from) each count.
pub fn change(tx: &Tx<'_>, project: ProjectId, target: TargetId, by: ReactionCounts) -> Result<()> {
    let (table, computed) = match target {
        TargetId::Entity(_) => ("entities", OF_ENTITY),
        TargetId::Comment(_) => ("comments", OF_COMMENT),
    };
    let mut changes = Builder::list([project.into(), target.into()]);
    let (mut up, mut down) = ("upvote_count".to_owned(), "downvote_count".to_owned());
    for kind in ReactionType::ALL.iter().copied().filter(|kind| by.of(*kind) != 0) {
        let (column, added) = (kind.column(), changes.bind(by.of(kind)));
        let now = format!("{column} + {added}");
        changes.add(format_args!("{column} = {now}"));
        match kind {
            ReactionType::Upvote => up = now,
            ReactionType::Downvote => down = now,
            _ => {}
        }
    }
    if changes.is_empty() {
        return Ok(());
    }
    if by.upvote != 0 || by.downvote != 0 {
        changes.add(computed.replace("up_now", &up).replace("down_now", &down));
    }
    let text = format!("UPDATE {table} SET {changes} WHERE project_id = $1 AND id = $2");
    let change = Command::<()>::built("reactions::reaction_deltas::change", text);
    Ok(tx.pipeline(&change, changes.args())?)
}
