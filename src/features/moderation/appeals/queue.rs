//! Open appeals as items of the queue: a constant number of statements, however many there are.

use db::Conn;
use uuid::Uuid;

use crate::error::Result;
use crate::features::moderation::appeals::model::{AppealCursor, AppealItem, OpenAppeals};
use crate::features::moderation::appeals::store::{self, OpenRow};
use crate::features::moderation::decisions::{Decision, Verdict, store as decisions};
use crate::features::moderation::queue::model::{Content, ContentState};
use crate::features::moderation::queue::{Contents, authors_of};
use crate::features::moderation::target::{Target, TargetKind};
use crate::features::spaces::members::store as members;
use crate::values::ids::{
    AppealId, DecisionId, OperatorId, ProjectId, SpaceBanId, SpaceId, UserId,
};
use crate::values::time::Timestamp;

/// The open appeals, or those behind a cursor, oldest first. The operator who decided should not look at it again, so
/// those about the operator's own decisions come behind all others.
pub fn open(
    c: &Conn<'_>,
    project: ProjectId,
    operator: Option<OperatorId>,
    after: Option<AppealCursor>,
    limit: i64,
    now: Timestamp,
) -> Result<OpenAppeals> {
    let mut rows = page(c, project, operator, after, limit + 1)?;
    let size = usize::try_from(limit).unwrap_or(0);
    let has_more = rows.len() > size;
    rows.truncate(size);
    let total = store::count_open(c, project)?;
    let Some((is_own, last)) = rows.last() else {
        return Ok(OpenAppeals { total, ..OpenAppeals::default() });
    };
    let (is_own, created_at, id) = (*is_own, last.created_at, last.id);
    let next = has_more.then_some(AppealCursor { is_own, created_at, id });
    let ids: Vec<DecisionId> = rows.iter().map(|(_, row)| row.decision_id).collect();
    let decisions = decisions::find_all(c, project, &ids)?;
    let targets: Vec<Target> = decisions.iter().map(|decision| decision.target()).collect();
    let contents = Contents::load(c, project, &targets)?;
    let standing = standing_bans(c, project, &decisions)?;
    let users: Vec<UserId> = rows.iter().map(|(_, row)| row.user_id).collect();
    let authors = authors_of(c, project, &users, now)?;
    let show = |(is_own, row): (bool, OpenRow)| {
        let decision = decisions.iter().find(|decision| decision.id == row.decision_id)?.clone();
        Some(AppealItem {
            id: row.id,
            text: row.text,
            created_at: row.created_at,
            is_own,
            is_undone: is_undone(
                &decision,
                contents.content(decision.target()).as_ref(),
                &standing,
            ),
            content: contents.content(decision.target()),
            author: authors.get(&row.user_id).cloned(),
            claim: row.claim.at(now),
            decision,
        })
    };
    let items = rows.into_iter().filter_map(show).collect();
    Ok(OpenAppeals { items, total, next })
}

/// Those about decisions of others, then the operator's own, which are marked.
fn page(
    c: &Conn<'_>,
    project: ProjectId,
    operator: Option<OperatorId>,
    after: Option<AppealCursor>,
    limit: i64,
) -> Result<Vec<(bool, OpenRow)>> {
    let first = (Timestamp::from_millis(0), AppealId(Uuid::nil()));
    // On the command line nobody in particular looks.
    let viewer = operator.unwrap_or(OperatorId(Uuid::nil()));
    let behind = |is_own| match after {
        Some(after) if after.is_own == is_own => (after.created_at, after.id),
        _ => first,
    };
    let mut rows = Vec::new();
    if !after.is_some_and(|after| after.is_own) {
        let others = store::open(c, project, (viewer, false), behind(false), limit)?;
        rows.extend(others.into_iter().map(|row| (false, row)));
    }
    let left = limit - i64::try_from(rows.len()).unwrap_or(limit);
    if operator.is_some() && left > 0 {
        let own = store::open(c, project, (viewer, true), behind(true), left)?;
        rows.extend(own.into_iter().map(|row| (true, row)));
    }
    Ok(rows)
}

/// The bans among these decisions that have not ended.
fn standing_bans(
    c: &Conn<'_>,
    project: ProjectId,
    decisions: &[Decision],
) -> Result<Vec<SpaceBanId>> {
    let bans = decisions.iter().filter(|decision| decision.action == Verdict::Ban);
    let pairs = bans.filter_map(|ban| Some((ban.space_id?, ban.author_id?)));
    let (spaces, users): (Vec<SpaceId>, Vec<UserId>) = pairs.unzip();
    members::bans_among(c, project, &spaces, &users)
}

/// Whether taking the decision back would change nothing but the count of strikes: the ban has ended, or the content is
/// gone. A comment that nobody has seen yet was deleted when it was removed, and comes back.
fn is_undone(decision: &Decision, content: Option<&Content>, bans: &[SpaceBanId]) -> bool {
    match (decision.action, decision.target_type) {
        (Verdict::Ban, _) => !bans.contains(&SpaceBanId(decision.id.0)),
        (Verdict::Remove, TargetKind::Comment) => content.is_none(),
        (Verdict::Remove, _) => content.is_none_or(|found| {
            matches!(found.state, ContentState::Deleted | ContentState::Visible)
        }),
        _ => false,
    }
}
