//! "Why can somebody see this?": every rule that decides about a post, a comment, a message or a file, asked of the functions
//! that decide.

use db::Conn;
use maud::html;
use uuid::Uuid;

use crate::auth::perspective::Perspective;
use crate::error::{Error, Result};
use crate::features::admin::layout;
use crate::features::admin::visit::Visit;
use crate::features::chat::conversations::store as conversations;
use crate::features::chat::membership;
use crate::features::chat::messages::store as messages;
use crate::features::comments::{store as comments, visibility as of_comments};
use crate::features::entities::{store as entities, visibility as of_entities};
use crate::features::events::visibility as of_events;
use crate::features::files::holders::{self, Holder};
use crate::features::files::store::{self as files, FileRow};
use crate::features::spaces::store::{self as spaces, access};
use crate::features::visibility::store::blocks;
use crate::http::reply::Response;
use crate::state::App;
use crate::tenancy::Project;
use crate::values::ids::{ChatMessageId, CommentId, EntityId, FileId, UserId, parse_uuid};

/// A rule, and whether it lets the viewer pass.
type Answer = (&'static str, bool);

/// The rules one by one, and what they decide together.
type Verdict = (Vec<Answer>, bool);

pub(super) async fn show(visit: Visit) -> Result<Response> {
    let viewer: Option<UserId> = visit.query("user").and_then(|id| id.parse().ok());
    let verdict = match visit.query("item").and_then(parse_uuid) {
        Some(id) => {
            let (app, project) = (visit.app.clone(), visit.project()?.clone());
            let asked = visit.app.db.read(move |c| {
                let perspective = viewer.map_or(Perspective::Anonymous, Perspective::User);
                Question { c, app: &app, project: &project, perspective }.ask(id)
            });
            Some(asked.await?)
        }
        None => None,
    };
    let content = html! {
        form.search method="get" {
            label { "User id (empty: somebody who is not signed in)" input name="user" value=[visit.query("user")]; }
            label { "Id of a post, comment, message or file" input name="item" required value=[visit.query("item")]; }
            button { "Ask" }
        }
        @if let Some((answers, is_seen)) = &verdict {
            p role="status" { strong { @if *is_seen { "They see it." } @else { "They do not see it." } } }
            table {
                thead { tr { th { "Rule" } th { "Answer" } } }
                tbody { @for (rule, passes) in answers { tr { td { (rule) } td { @if *passes { "yes" } @else { "no" } } } } }
            }
        }
    };
    Ok(layout::page(&visit, "Why?", &content))
}

struct Question<'a, 'c> {
    c: &'a Conn<'c>,
    app: &'a App,
    project: &'a Project,
    perspective: Perspective,
}

impl Question<'_, '_> {
    fn ask(&self, id: Uuid) -> Result<Verdict> {
        if let Some(verdict) = self.entity(EntityId(id))? {
            return Ok(verdict);
        }
        if let Some(verdict) = self.comment(CommentId(id))? {
            return Ok(verdict);
        }
        if let Some(verdict) = self.message(ChatMessageId(id))? {
            return Ok(verdict);
        }
        match files::find(self.c, self.project.id, FileId(id))? {
            Some(row) => self.file(&row),
            None => Ok((vec![("There is such a post, comment, message or file", false)], false)),
        }
    }

    fn entity(&self, id: EntityId) -> Result<Option<Verdict>> {
        let Question { c, project, perspective, .. } = *self;
        let Some(row) = entities::find(c, project.id, id)? else { return Ok(None) };
        let mut answers = vec![("It is a post that is there", true)];
        let is_published = of_entities::is_published_for(perspective, &row);
        answers.push(("It is no draft and not held, or their own", is_published));
        answers.push(("It was not removed by a moderator", !row.moderation.is_removed()));
        answers.push(self.is_unblocked(&[row.user_id])?);
        let may_read = access::may_read(c, project.id, row.space_id, row.user_id, perspective)?;
        answers.push(("They may read its space, or it is in none", may_read));
        let is_seen = of_entities::find(c, project, id, perspective)?.is_some();
        Ok(Some((answers, is_seen)))
    }

    fn comment(&self, id: CommentId) -> Result<Option<Verdict>> {
        let Question { c, project, perspective, .. } = *self;
        let Some(row) = comments::find(c, project.id, id)? else { return Ok(None) };
        let mut answers = vec![("It is a comment that is there", true)];
        let is_reachable = of_comments::is_reachable(&row, perspective);
        let rule = "It is not below somebody else's draft and not held, or their own";
        answers.push((rule, is_reachable));
        answers.push(self.is_unblocked(&[row.user_id, row.entity_user_id])?);
        let may_read = access::may_read(c, project.id, row.space_id, row.user_id, perspective)?;
        answers.push(("They may read its space, or it is in none", may_read));
        let is_seen = of_comments::find(c, project, id, perspective)?.is_some();
        Ok(Some((answers, is_seen)))
    }

    /// Blocks are no rule here: they keep two from writing to each other, and hide nothing.
    fn message(&self, id: ChatMessageId) -> Result<Option<Verdict>> {
        let (c, project) = (self.c, self.project.id);
        let Some(row) = messages::find(c, project, id)? else { return Ok(None) };
        let mut answers = vec![("It is a message that is there", true)];
        answers.push(("It was not removed by a moderator and is not held", !row.is_removed));
        let Some(viewer) = self.perspective.viewer() else {
            answers.push(("They are signed in", false));
            return Ok(Some((answers, false)));
        };
        let standing = membership::seen(c, project, row.conversation_id, viewer)?;
        answers.push(("They are or were a member of its conversation", standing.is_some()));
        if let Some(standing) = &standing {
            let is_early = standing.sees(row.created_at);
            answers.push(("They are still a member, or it is from before they left", is_early));
            let waits = standing.waits(c, project)?;
            answers.push(("They do not wait to be let into its space again", !waits));
        }
        let read = membership::reader(c, project, row.conversation_id, viewer)
            .and_then(|standing| membership::message(c, project, &standing, id));
        match read {
            Ok(_) => Ok(Some((answers, true))),
            Err(Error::Refused(_)) => Ok(Some((answers, false))),
            Err(error) => Err(error),
        }
    }

    /// A file is seen by those who see what it is attached to.
    fn file(&self, row: &FileRow) -> Result<Verdict> {
        let Question { c, app, project, perspective } = *self;
        let mut answers = vec![("It is a file that is there", true)];
        let Some(viewer) = perspective.viewer() else {
            answers
                .push(("They are signed in, or have an address that was signed for them", false));
            return Ok((answers, false));
        };
        answers.extend(self.holder(row, viewer)?);
        Ok((answers, holders::may_see(app, c, project, viewer, row)?))
    }

    /// The rules about what a file is attached to.
    fn holder(&self, row: &FileRow, viewer: UserId) -> Result<Vec<Answer>> {
        let Question { c, project, perspective, .. } = *self;
        let of = |rule, verdict: Option<Verdict>| {
            let mut answers = vec![(rule, verdict.is_some())];
            answers.extend(verdict.into_iter().flat_map(|(answers, _)| answers));
            answers
        };
        Ok(match Holder::of(row) {
            Holder::Entity(id) => of("The post that it is attached to is there", self.entity(id)?),
            Holder::Comment(id) => {
                let mut answers =
                    of("The comment that it is attached to is there", self.comment(id)?);
                let comment = comments::find(c, project.id, id)?;
                let is_shown = comment.is_some_and(|row| row.is_live() || row.is_by(perspective));
                answers.push((
                    "The comment was neither deleted nor removed, or is their own",
                    is_shown,
                ));
                answers
            }
            Holder::Message(id) => {
                of("The message that it was sent with is there", self.message(id)?)
            }
            Holder::Space(id) => {
                let is_there = spaces::find(c, project.id, id)?.is_some();
                vec![(
                    "The space that it is attached to is there: everybody sees its files",
                    is_there,
                )]
            }
            Holder::Event(id) => {
                let found = of_events::find(c, project, id, perspective)?;
                vec![(
                    "They see the event that it is attached to: it is public, or they host it, are invited or a member of its space",
                    found.is_some(),
                )]
            }
            Holder::None => match conversations::by_avatar(c, project.id, row.id)? {
                Some(of) if row.user_id != Some(viewer) => {
                    let knows = membership::knows(c, project.id, &of, viewer)?;
                    vec![("They belong to the conversation whose picture it is", knows)]
                }
                _ => vec![(
                    "It is attached to nothing, or their own: everybody who is signed in sees it",
                    true,
                )],
            },
        })
    }

    fn is_unblocked(&self, authors: &[Option<UserId>]) -> Result<Answer> {
        let authors: Vec<UserId> = authors.iter().copied().flatten().collect();
        let viewer = self.perspective.viewer();
        let blocked = blocks::blocked_among(self.c, self.project, viewer, &authors)?;
        Ok(("There is no block between them and the author", blocked.is_empty()))
    }
}
