//! The rules of the project look at a comment that is created or edited, and its way into the open once a moderator
//! has approved what they held. A new comment that is held is in its author's lists alone, and in no count.

use std::sync::Arc;

use db::Tx;

use crate::domain_events::{self, Context};
use crate::error::{Error, Result};
use crate::features::comments::ENTITY_NOT_FOUND;
use crate::features::comments::events::CREATED;
use crate::features::comments::show::View;
use crate::features::comments::store::{self, CommentRow, Counted};
use crate::features::comments::write::notify::{self, News};
use crate::features::entities;
use crate::features::entities::rules::Mentions;
use crate::features::notifications;
use crate::features::users::store as users;
use crate::features::visibility::moderation::ModerationRow;
use crate::features::visibility::screening::{self, ContentKind, Written};
use crate::features::visibility::store::blocks;
use crate::tenancy::Project;
use crate::values::ids::UserId;

/// How a rule hides the comment, if one does.
pub(super) fn screen(
    tx: &Tx<'_>,
    context: Context<'_>,
    row: &CommentRow,
    is_edit: bool,
) -> Result<Option<ModerationRow>> {
    let written = Written {
        kind: ContentKind::Comment,
        id: row.id.0,
        author: row.user_id,
        space: row.space_id,
        title: None,
        content: row.content.as_deref(),
        is_edit,
    };
    screening::screen(tx, context, &written)
}

/// What creating a comment causes, for one that a rule held until now. The caller has locked its entity, its parent
/// and the comment.
pub fn approved(
    tx: &Tx<'_>,
    context: Context<'_>,
    project: &Arc<Project>,
    row: CommentRow,
) -> Result<()> {
    let Context { app, now, .. } = context;
    let live = i64::from(row.is_counted());
    store::count(tx, project.id, &row, Counted { live, direct: 1, listed: 1 })?;
    let entity = entities::store::find(tx, project.id, row.entity_id)?.ok_or(ENTITY_NOT_FOUND)?;
    let parent = match row.parent_id {
        Some(id) => store::find(tx, project.id, id)?,
        None => None,
    };
    let author = match row.user_id {
        Some(id) => users::find(tx, project.id, id)?,
        None => None,
    };
    if let Some(author) = author {
        let mentions: Mentions = serde_json::from_str(&row.mentions.0).map_err(Error::internal)?;
        let mut mentioned: Vec<UserId> = mentions.users().collect();
        let hidden = blocks::blocked_among(tx, project, Some(author.id), &mentioned)?;
        mentioned.retain(|user| !hidden.contains(user));
        let parent = parent.as_ref();
        let news = News { entity: &entity, comment: &row, parent, mentioned: &mentioned };
        let notices = notify::notifications(tx, app, project, news, &author, now)?;
        if !notices.is_empty() {
            notifications::add(tx, context, &notices)?;
        }
    }
    if !domain_events::is_observed(app, project, &CREATED) {
        return Ok(());
    }
    let author = row.user_id;
    let view = View::for_key(project.clone(), app.signer.links(project.id, now));
    let shown = view.comment(tx, row)?;
    domain_events::happened(tx, context, &CREATED, || Ok(CREATED.event(&shown)?.by(author)))
}
