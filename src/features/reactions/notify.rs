//! Notifications for the author of a target: somebody reacted, and a milestone of reactions was reached,
//! which is sent once ever.

use db::Tx;
use serde_json::{Map, Value, json};

use crate::auth::caller::Initiator;
use crate::error::Result;
use crate::features::notifications::initiator;
use crate::features::notifications::{About, Notification};
use crate::features::reactions::change::Change;
use crate::features::reactions::store::ReactorRow;
use crate::features::reactions::target::Target;
use crate::features::reactions::{ReactionType, store};
use crate::features::spaces::store::access::KnownSpace;
use crate::features::visibility::store::blocks;
use crate::tenancy::Bundle;
use crate::values::ids::{NotificationId, UserId, new_id};
use crate::values::metadata::to_json;

/// What the author is notified of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Announce {
    Reaction,
    /// As on the older upvote route.
    Upvote,
    Silently,
}

/// The notifications for a new or changed reaction, with the target's counts after it.
pub(super) fn notifications<T: Target>(
    tx: &Tx<'_>,
    (change, actor): (&Change<T>, &Initiator),
    (target, space): (&T, Option<&KnownSpace>),
    (kind, before, announce): (ReactionType, Option<ReactionType>, Announce),
) -> Result<Vec<Notification<'static>>> {
    let mut notices = Vec::new();
    let Some(author) = target.author() else { return Ok(notices) };
    let (project, now) = (&change.project, change.now);
    let is_silent = announce == Announce::Silently || target.is_removed();
    if is_silent || !project.has(Bundle::Notifications) {
        return Ok(notices);
    }
    // Users who can no longer read the space get no notifications about it.
    if space.is_some_and(|space| space.shuts_out(author)) {
        return Ok(notices);
    }
    let notice = |kind, metadata: Map<String, Value>, actor| Notification {
        id: NotificationId(new_id(now, &change.app.random)),
        user: author,
        kind,
        action: T::NOTICES.action,
        metadata: to_json(&metadata).into(),
        about: About { subject: target.notified_of(), space: target.space(), actor },
    };
    let subject = || target.subject(tx, project.id, space);

    // A changed type notifies nobody, but a vote always notifies.
    let is_news = before.is_none() || announce == Announce::Upvote;
    if is_news && author != actor.id {
        let mut metadata = subject()?;
        initiator(&mut metadata, actor.clone());
        notices.push(match announce {
            Announce::Upvote => notice(T::NOTICES.upvote, metadata, Some(actor.id)),
            _ => {
                metadata.insert("reactionType".to_owned(), json!(kind));
                notice(T::NOTICES.reaction, metadata, Some(actor.id))
            }
        });
    }

    let (id, counts) = (target.id(), target.reactions());
    let specific = counts.of(kind);
    if is_milestone(specific) && store::reach(tx, project.id, id, kind.name(), specific)? {
        let mut metadata = subject()?;
        metadata.insert("reactionType".to_owned(), json!(kind));
        metadata.insert("milestoneCount".to_owned(), specific.into());
        metadata.insert(
            "lastThreeUsers".to_owned(),
            latest(tx, (change, actor), target, author, Some(kind))?,
        );
        notices.push(notice(T::NOTICES.milestone_specific, metadata, None));
    }
    let total = counts.total();
    let grew = before.is_none();
    if grew && is_milestone(total) && store::reach(tx, project.id, id, "total", total)? {
        let mut metadata = subject()?;
        metadata.insert("milestoneCount".to_owned(), total.into());
        metadata.insert("reactionCounts".to_owned(), json!(counts));
        metadata.insert(
            "lastThreeUsers".to_owned(),
            latest(tx, (change, actor), target, author, None)?,
        );
        notices.push(notice(T::NOTICES.milestone_total, metadata, None));
    }
    Ok(notices)
}

/// 10, 50, 100, 500, 1000, …
fn is_milestone(count: i64) -> bool {
    let mut power = 10;
    while power < count && power * 5 < count {
        power *= 10;
    }
    count == power || count == power * 5
}

fn latest<T: Target>(
    tx: &Tx<'_>,
    (change, actor): (&Change<T>, &Initiator),
    target: &T,
    author: UserId,
    kind: Option<ReactionType>,
) -> Result<Value> {
    let mut latest = store::latest(tx, change.project.id, target.id(), kind)?;
    // The user who just reacted comes first, even if they only changed their reaction.
    latest.retain(|user| user.id != actor.id);
    // Users with a block between them and the author are left out.
    let ids: Vec<UserId> = latest.iter().map(|user| user.id).collect();
    let hidden = blocks::blocked_among(tx, &change.project, Some(author), &ids)?;
    latest.retain(|user| !hidden.contains(&user.id));
    let Initiator { id, name, username, avatar, .. } = actor.clone();
    latest.insert(0, ReactorRow { id, name, username, avatar });
    latest.truncate(3);
    let users = latest.into_iter().map(|user| {
        json!({
            "id": user.id, "name": user.name, "username": user.username, "avatar": user.avatar,
        })
    });
    Ok(users.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn milestones_are_one_and_five_times_each_power_of_ten() {
        let reached: Vec<i64> = (-5..=10_000).filter(|count| is_milestone(*count)).collect();
        assert_eq!(reached, [10, 50, 100, 500, 1000, 5000, 10_000]);
    }
}
