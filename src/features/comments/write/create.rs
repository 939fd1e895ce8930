//! Create Comment: a user, or a key for any user, comments on an entity or replies to a comment.

use db::{JsonText, Later, Tx};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::auth::caller::ActorOrKey;
use crate::auth::deferred::Deferred;
use crate::auth::perspective::Perspective;
use crate::domain_events::{self, Context};
use crate::error::Result;
use crate::features::comments::events::CREATED;
use crate::features::comments::model::Comment;
use crate::features::comments::rules::Gif;
use crate::features::comments::show::View;
use crate::features::comments::store::{self, CommentRow, Counted};
use crate::features::comments::write::notify::{self, News};
use crate::features::comments::write::screen::screen;
use crate::features::comments::{
    ENTITY_NOT_FOUND, INVALID_PARENT, INVALID_TIMESTAMP, MISSING_CONTENT, MISSING_ENTITY_ID,
    MISSING_USER_ID, PARENT_NOT_FOUND, POINTS, REFERENCED_NOT_FOUND, row, visibility,
};
use crate::features::entities;
use crate::features::entities::rules::{Attachments, Content, ForeignId, Mentions, times};
use crate::features::entities::store::EntityRow;
use crate::features::notifications;
use crate::features::spaces::{self, store::access};
use crate::features::users::{self, reputation};
use crate::features::visibility::store::blocks;
use crate::http::input::Body;
use crate::http::operation::Call;
use crate::http::reply::Created;
use crate::tenancy::Project;
use crate::values::ids::{CommentId, EntityId, UserId, new_id};
use crate::values::metadata::{Metadata, to_json};

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct NewComment {
    entity_id: Option<EntityId>,
    /// Content, a gif or attachments: at least one of them.
    content: Option<Content>,
    gif: Option<Gif>,
    attachments: Option<Attachments>,
    /// The comment it replies to.
    parent_id: Option<CommentId>,
    /// A comment that it quotes.
    referenced_comment_id: Option<CommentId>,
    foreign_id: Option<ForeignId>,
    mentions: Option<Mentions>,
    metadata: Option<Metadata>,
    /// With a key only.
    created_at: Option<String>,
    /// With a key only, and only together with `createdAt`.
    updated_at: Option<String>,
}

pub(super) async fn create_comment(
    call: Call<Deferred<ActorOrKey>>,
    Body(new): Body<NewComment>,
) -> Result<Created<Comment>> {
    let entity = new.entity_id.ok_or(MISSING_ENTITY_ID)?;
    let mentions = new.mentions.unwrap_or_default();
    let mut mentioned: Vec<UserId> = mentions.users().collect();
    mentioned.sort_unstable();
    mentioned.dedup();
    let attachments = new.attachments.unwrap_or_default();
    let blank = CommentRow {
        foreign_id: new.foreign_id.and_then(ForeignId::unless_blank),
        parent_id: new.parent_id,
        referenced_id: new.referenced_comment_id,
        content: new.content.and_then(Content::unless_blank),
        gif: new.gif.map(|gif| JsonText(to_json(&gif))),
        attachments: JsonText(to_json(&attachments)),
        metadata: JsonText(to_json(&new.metadata.unwrap_or_default())),
        ..row::blank(CommentId(new_id(call.now, &call.app.random)), entity, call.now)
    };
    if blank.content.is_none() && blank.gif.is_none() && attachments.is_empty() {
        return Err(MISSING_CONTENT.into());
    }
    let (app, project, now) = (call.app.clone(), call.project.clone(), call.now);
    let (checked, caller) = (call.caller.clone(), *call.caller);
    let (created, updated) = (new.created_at, new.updated_at);
    let perspective = Perspective::from(caller);
    let view = View::written(&call, perspective, caller.user());
    let work = move |tx: &Tx<'_>| {
        // Sent together, in the order of locks. An error undoes the points.
        let checking = checked.begin(tx)?;
        let locking = entities::visibility::lock(tx, &project, entity, perspective)?;
        let answering = blank.parent_id.map(|id| visibility::lock(tx, &project, id, perspective));
        let answering = answering.transpose()?;
        let awarded = caller.user();
        let awarded = awarded.map(|user| reputation::awarded(tx, &project, user, None, POINTS));
        let awarded = awarded.transpose()?;
        checking.settle(tx)?;
        let entity = open_entity(tx, &project, (entity, locking.opt()?), perspective)?;
        let author = caller.user().ok_or(MISSING_USER_ID)?;
        let (created_at, updated_at) = match caller {
            ActorOrKey::User(_) => (now, now),
            ActorOrKey::Key { .. } => {
                let given = times(created.as_deref(), updated.as_deref(), INVALID_TIMESTAMP)?;
                given.unwrap_or((now, now))
            }
        };
        check_referenced(tx, &project, &blank, perspective)?;
        let parent = match answering {
            Some(found) => Some(answered(tx, &project, &blank, (found.opt()?, perspective))?),
            None => None,
        };
        let (mentions, mentioned) = without_blocked(tx, &project, author, &mentions, &mentioned)?;
        let row = CommentRow {
            mentions,
            user_id: Some(author),
            space_id: entity.space_id,
            created_at,
            updated_at,
            parent_deleted_at: parent.as_ref().and_then(|parent| parent.parent_deleted_at),
            entity_is_removed: false,
            entity_is_draft: entity.is_draft,
            entity_user_id: entity.user_id,
            ..blank.clone()
        };
        // Deleted by a concurrent request.
        let author = awarded.map(Later::opt).transpose()?.flatten().ok_or(users::NOT_FOUND)?;
        reputation::put_aside(tx, &project, author.id, row.space_id, POINTS)?;
        let context = Context { app: &app, project: &project, now };
        let view = view.clone().with_own(None).with_author(author.clone());
        if let Some(moderation) = screen(tx, context, &row, false)? {
            store::insert(tx, project.id, &row, &mentioned)?;
            store::hide_by_rule(tx, project.id, row.id, &moderation)?;
            // A rule that removes a new comment leaves no placeholder.
            if !moderation.is_held() {
                store::hide(tx, project.id, row.id, now)?;
            }
            return view.comment(tx, CommentRow { moderation, ..row });
        }
        let news =
            News { entity: &entity, comment: &row, parent: parent.as_ref(), mentioned: &mentioned };
        let notices = notify::notifications(tx, &app, &project, news, &author, now)?;
        let only = notify::only_to_author(&notices);
        tx.batch(|| {
            store::insert(tx, project.id, &row, &mentioned)?;
            let live = i64::from(row.is_counted());
            store::count(tx, project.id, &row, Counted { live, direct: 1, listed: 1 })?;
            only.map_or(Ok(()), |one| {
                notifications::store::insert::insert_kept(tx, project.id, now, one)
            })
        })?;
        if only.is_some() {
            notifications::created(tx, context, &notices)?;
        } else if !notices.is_empty() {
            notifications::add(tx, context, &notices)?;
        }
        view.comment(tx, row)
    };
    let event = move |comment: &Comment| {
        // No event for what a rule hides.
        if comment.moderation_status.is_some() {
            return Ok(None);
        }
        Ok(Some(CREATED.event(comment)?.by(caller.user())))
    };
    let names = [CREATED.name()];
    let created = domain_events::write(&call.app, &call.project, &names, work, event);
    created.await.map(Created)
}

/// The entity to comment on, if it is open to comments.
fn open_entity(
    tx: &Tx<'_>,
    project: &Project,
    (id, found): (EntityId, Option<EntityRow>),
    perspective: Perspective,
) -> Result<EntityRow> {
    let found = entities::visibility::locked(tx, project, found, perspective)?;
    if let Perspective::User(user) = perspective {
        check_ban(tx, project, found.as_ref(), id, user)?;
    }
    // An entity that a moderator removed takes no more comments from anybody.
    let open = found.filter(|entity| !entity.is_removed());
    open.ok_or(ENTITY_NOT_FOUND.into())
}

/// Refuses users who are banned from the space of a published entity, even their own. Entities hidden for any
/// other reason are not found.
fn check_ban(
    tx: &Tx<'_>,
    project: &Project,
    found: Option<&EntityRow>,
    id: EntityId,
    user: UserId,
) -> Result<()> {
    let unseen = match found {
        Some(_) => None,
        None => entities::store::find(tx, project.id, id)?,
    };
    let Some(entity) = found.or(unseen.as_ref()).filter(|entity| !entity.is_draft) else {
        return Ok(());
    };
    let Some(space) = entity.space_id else { return Ok(()) };
    let is_hidden = match entity.user_id.filter(|_| found.is_none()) {
        Some(author) => blocks::is_blocked_between(tx, project, Some(user), author)?,
        None => false,
    };
    if !is_hidden && access::is_banned(tx, project.id, space, user)? {
        return Err(spaces::BANNED.into());
    }
    Ok(())
}

/// Without mentions of users with a block between them and the author.
fn without_blocked(
    tx: &Tx<'_>,
    project: &Project,
    author: UserId,
    mentions: &Mentions,
    mentioned: &[UserId],
) -> Result<(JsonText, Vec<UserId>)> {
    let hidden = blocks::blocked_among(tx, project, Some(author), mentioned)?;
    let visible = mentioned.iter().copied().filter(|user| !hidden.contains(user)).collect();
    let mentions = hidden.into_iter().fold(mentions.clone(), Mentions::without);
    Ok((JsonText(to_json(&mentions)), visible))
}

/// The quoted comment must exist.
fn check_referenced(
    tx: &Tx<'_>,
    project: &Project,
    new: &CommentRow,
    perspective: Perspective,
) -> Result<()> {
    if let Some(id) = new.referenced_id {
        let found = store::find(tx, project.id, id)?.filter(CommentRow::is_live);
        visibility::seen(tx, project, found, perspective)?.ok_or(REFERENCED_NOT_FOUND)?;
    }
    Ok(())
}

/// The parent comment, which is locked.
fn answered(
    tx: &Tx<'_>,
    project: &Project,
    new: &CommentRow,
    (found, perspective): (Option<CommentRow>, Perspective),
) -> Result<CommentRow> {
    let found = visibility::locked(tx, project, found, perspective)?;
    let parent = found.filter(CommentRow::is_live).ok_or(PARENT_NOT_FOUND)?;
    if parent.entity_id != new.entity_id {
        return Err(INVALID_PARENT.into());
    }
    Ok(parent)
}
