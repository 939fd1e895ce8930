//! Open appeals as items of the queue: a constant number of statements, however many there are.

use db::Conn;
use uuid::Uuid;

use crate::error::Result;
use crate::features::moderation::appeals::model::{AppealCursor, AppealItem, OpenAppeals};
use crate::features::moderation::appeals::store;
use crate::features::moderation::decisions::store as decisions;
use crate::features::moderation::queue::{Contents, authors_of};
use crate::features::moderation::target::Target;
use crate::values::ids::{AppealId, DecisionId, OperatorId, ProjectId, UserId};
use crate::values::time::Timestamp;

/// The oldest open appeals, or those behind a cursor. The operator who decided should not look at it again, so on each
/// page an operator sees those about decisions of others first.
pub fn open(
    c: &Conn<'_>,
    project: ProjectId,
    operator: Option<OperatorId>,
    after: Option<AppealCursor>,
    limit: i64,
    now: Timestamp,
) -> Result<OpenAppeals> {
    let first = (Timestamp::from_millis(0), AppealId(Uuid::nil()));
    let after = after.map_or(first, |after| (after.created_at, after.id));
    let mut rows = store::open(c, project, after, limit + 1)?;
    let size = usize::try_from(limit).unwrap_or(0);
    let has_more = rows.len() > size;
    rows.truncate(size);
    let total = store::count_open(c, project)?;
    let Some(last) = rows.last() else {
        return Ok(OpenAppeals { total, ..OpenAppeals::default() });
    };
    let next = has_more.then_some(AppealCursor { created_at: last.created_at, id: last.id });
    let ids: Vec<DecisionId> = rows.iter().map(|row| row.decision_id).collect();
    let decisions = decisions::find_all(c, project, &ids)?;
    let targets: Vec<Target> = decisions.iter().map(|decision| decision.target()).collect();
    let contents = Contents::load(c, project, &targets)?;
    let users: Vec<UserId> = rows.iter().map(|row| row.user_id).collect();
    let authors = authors_of(c, project, &users, now)?;
    let show = |row: store::OpenRow| {
        let decision = decisions.iter().find(|decision| decision.id == row.decision_id)?.clone();
        Some(AppealItem {
            id: row.id,
            text: row.text,
            created_at: row.created_at,
            is_own: operator.is_some() && decision.operator_id == operator,
            content: contents.content(decision.target()),
            author: authors.get(&row.user_id).cloned(),
            claim: row.claim.at(now),
            decision,
        })
    };
    let mut items: Vec<AppealItem> = rows.into_iter().filter_map(show).collect();
    items.sort_by_key(|item| item.is_own);
    Ok(OpenAppeals { items, total, next })
}
