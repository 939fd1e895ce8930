//! Open appeals as items of the queue: a constant number of statements, however many there are.

use db::Conn;

use crate::error::Result;
use crate::features::moderation::appeals::model::{AppealItem, OpenAppeals};
use crate::features::moderation::appeals::store;
use crate::features::moderation::decisions::store as decisions;
use crate::features::moderation::queue::{Contents, authors_of};
use crate::features::moderation::target::Target;
use crate::values::ids::{DecisionId, OperatorId, ProjectId, UserId};
use crate::values::time::Timestamp;

/// The oldest open appeals. The operator who decided should not look at it again, so an operator sees those
/// about decisions of others first.
pub fn open(
    c: &Conn<'_>,
    project: ProjectId,
    operator: Option<OperatorId>,
    limit: i64,
    now: Timestamp,
) -> Result<OpenAppeals> {
    let rows = store::open(c, project, limit)?;
    if rows.is_empty() {
        return Ok(OpenAppeals::default());
    }
    let ids: Vec<DecisionId> = rows.iter().map(|row| row.decision_id).collect();
    let decisions = decisions::find_all(c, project, &ids)?;
    let targets: Vec<Target> = decisions.iter().map(|decision| decision.target()).collect();
    let contents = Contents::load(c, project, &targets)?;
    let users: Vec<UserId> = rows.iter().map(|row| row.user_id).collect();
    let authors = authors_of(c, project, &users, now)?;
    let show = |row: store::AppealRow| {
        let decision = decisions.iter().find(|decision| decision.id == row.decision_id)?.clone();
        Some(AppealItem {
            id: row.id,
            text: row.text,
            created_at: row.created_at,
            is_own: operator.is_some() && decision.operator_id == operator,
            content: contents.content(decision.target()),
            author: authors.get(&row.user_id).cloned(),
            decision,
        })
    };
    let mut items: Vec<AppealItem> = rows.into_iter().filter_map(show).collect();
    items.sort_by_key(|item| item.is_own);
    Ok(OpenAppeals { items, total: store::count_open(c, project)? })
}
