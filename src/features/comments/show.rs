//! From rows to replies: a constant number of statements, however many rows and includes. Comments that are
//! deleted or removed for the viewer are shown as placeholders.

use std::collections::HashMap;
use std::sync::Arc;

use db::Conn;
use uuid::Uuid;

use crate::auth::perspective::Perspective;
use crate::error::{Error, Result};
use crate::features::comments::model::Comment;
use crate::features::comments::store::{self, CommentRow};
use crate::features::comments::visibility;
use crate::features::entities;
use crate::features::grants;
use crate::features::reactions::store::hidden::{self, VotesByTarget};
use crate::features::reactions::target::Known;
use crate::features::reactions::{self, ReactionType};
use crate::features::users::model::{self, User};
use crate::features::users::reputation::{self, Bucket};
use crate::features::users::store::UserRow;
use crate::features::users::store::authored::WithAuthor;
use crate::http::include::Include;
use crate::http::operation::Call;
use crate::http::version::Version;
use crate::storage::signed::Links;
use crate::tenancy::Project;
use crate::values::ids::{EntityId, UserId};

/// Which parts of comments are shown, and to which viewer.
#[derive(Debug, Clone)]
pub struct View {
    pub project: Arc<Project>,
    pub perspective: Perspective,
    /// The viewer; none for a key or an anonymous caller.
    viewer: Option<UserId>,
    version: Version,
    /// With the author of each.
    pub(super) user: bool,
    grants: bool,
    /// How the entity is shown, if it is included.
    entity: Option<entities::show::View>,
    bucket: Option<Bucket>,
    /// The viewer's reaction, if it is known already.
    own: Option<Option<ReactionType>>,
    /// The authors of all comments, if known already.
    authors: Option<Vec<UserRow>>,
    /// The voters of all comments, if known already.
    votes: Option<VotesByTarget>,
    /// Authors see their names on what they deleted.
    shows_deleted: bool,
    links: Links,
}

impl View {
    /// As asked for by `include`.
    pub fn asked<A>(
        call: &Call<A>,
        perspective: Perspective,
        viewer: Option<UserId>,
        include: &Include,
    ) -> Self {
        let with_entity = include.has("entity") || include.has("space");
        View {
            project: call.project.clone(),
            perspective,
            viewer,
            version: call.version,
            // v6 has no `include` and always shows the author.
            user: include.has("user") || call.version == Version::V6,
            grants: include.has("grants"),
            entity: with_entity
                .then(|| entities::show::View::asked(call, viewer, &include.only("space"))),
            bucket: None,
            own: None,
            authors: None,
            votes: None,
            shows_deleted: false,
            links: call.links(),
        }
    }

    /// For what the server sends by itself: with the author, as a key sees it.
    pub fn for_key(project: Arc<Project>, links: Links) -> Self {
        View {
            project,
            perspective: Perspective::Key,
            viewer: None,
            version: Version::V8,
            user: true,
            grants: false,
            entity: None,
            bucket: None,
            own: None,
            authors: None,
            votes: None,
            shows_deleted: false,
            links,
        }
    }

    /// For replies to writes: with the author.
    pub fn written<A>(call: &Call<A>, perspective: Perspective, viewer: Option<UserId>) -> Self {
        View { user: true, ..View::asked(call, perspective, viewer, &Include::default()) }
    }

    pub fn with_own(self, reaction: Option<ReactionType>) -> Self {
        View { own: Some(reaction), ..self }
    }

    pub fn with_author(self, author: UserRow) -> Self {
        View { authors: Some(vec![author]), ..self }
    }

    /// The reply to a reaction need not read back what the change knows.
    pub fn with_known(self, known: Known) -> Self {
        let Known { own, votes, author_follows, .. } = known;
        View { own: Some(own), votes, user: self.user && !author_follows, ..self }
    }

    /// For what was shown without its author.
    pub fn set_author(&self, comment: &mut Comment, author: Option<UserRow>) -> Result<()> {
        let author = author.filter(|author| comment.user_id == Some(author.id));
        let shown = author.map(|row| User::public(&self.links, &row)).transpose()?;
        comment.user = Some(shown.map(Box::new));
        Ok(())
    }

    /// Whether the voters of each comment are shown.
    pub fn lists_voters(&self) -> bool {
        self.version == Version::V6
    }

    /// Those of a list, whose statement has read their authors.
    pub fn listed(&self, c: &Conn<'_>, rows: Vec<WithAuthor<CommentRow>>) -> Result<Vec<Comment>> {
        // Allocated at their final size: a list that grows copies its rows, which are large.
        let (mut comments, mut authors) =
            (Vec::with_capacity(rows.len()), Vec::with_capacity(rows.len()));
        for (row, author) in rows {
            authors.extend(author.0);
            comments.push(self.alone(row)?);
        }
        let authors = self.user.then_some(authors);
        View { authors, ..self.clone() }.completed(c, comments)
    }

    pub fn with_points(self, bucket: Option<Bucket>) -> Self {
        View { bucket, ..self }
    }

    /// For a list of the viewer's own comments.
    pub fn with_deleted(self) -> Self {
        View { shows_deleted: true, ..self }
    }

    pub fn with_user(self) -> Self {
        View { user: true, ..self }
    }

    pub fn comment(&self, c: &Conn<'_>, row: CommentRow) -> Result<Comment> {
        let mut comments = self.comments(c, vec![row])?;
        comments.pop().ok_or_else(|| Error::internal("the comment was not shown"))
    }

    /// With the parent comment, which is null if there is none or it is hidden.
    pub fn with_parent(&self, c: &Conn<'_>, row: CommentRow) -> Result<Comment> {
        let parent = row.parent_id.map(|id| store::find(c, self.project.id, id)).transpose()?;
        // Shown together, so that shared rows are read once.
        let mut rows = vec![row];
        rows.extend(self.seen(c, parent.flatten())?);
        let mut shown = self.comments(c, rows)?.into_iter();
        let mut comment =
            shown.next().ok_or_else(|| Error::internal("the comment was not shown"))?;
        comment.parent_comment = Some(shown.next().map(Box::new));
        Ok(comment)
    }

    /// The comment, if it exists for the viewer.
    pub fn seen(&self, c: &Conn<'_>, found: Option<CommentRow>) -> Result<Option<CommentRow>> {
        // v6 has no placeholders of deleted comments.
        let is_there =
            |row: &CommentRow| self.version != Version::V6 || row.user_deleted_at.is_none();
        visibility::seen(c, &self.project, found.filter(is_there), self.perspective)
    }

    pub fn comments(&self, c: &Conn<'_>, rows: Vec<CommentRow>) -> Result<Vec<Comment>> {
        let mut comments = Vec::with_capacity(rows.len());
        for row in rows {
            comments.push(self.alone(row)?);
        }
        self.completed(c, comments)
    }

    /// The comment without what further statements read.
    fn alone(&self, row: CommentRow) -> Result<Comment> {
        let is_placeholder = self.hides(&row);
        let mut comment = Comment::new(self.project.id, row)?;
        if is_placeholder {
            comment.strip();
        }
        Ok(comment)
    }

    fn completed(&self, c: &Conn<'_>, mut comments: Vec<Comment>) -> Result<Vec<Comment>> {
        let project = self.project.id;
        let ids: Vec<Uuid> = comments.iter().map(|comment| comment.id.0).collect();
        if self.user {
            self.add_authors(c, &mut comments)?;
        }
        if let Some(viewer) = self.viewer {
            let stored = match self.own {
                Some(_) => HashMap::new(),
                None => reactions::store::of_user(c, project, viewer, ids.clone())?,
            };
            for comment in &mut comments {
                let own = self.own.unwrap_or_else(|| stored.get(&comment.id.0).copied());
                comment.user_reaction = Some(own);
            }
        }
        if self.grants {
            let given = grants::store::summaries(c, &self.project, ids.clone(), self.viewer)?;
            for comment in &mut comments {
                comment.grants = Some(given.get(&comment.id.0).copied().unwrap_or_default());
            }
        }
        if let Some(view) = &self.entity {
            self.add_entities(c, view, &mut comments)?;
        }
        if self.lists_voters() {
            let found = match &self.votes {
                Some(_) => None,
                None => Some(hidden::votes(c, &self.project, self.viewer, ids)?),
            };
            let votes = found.as_ref().or(self.votes.as_ref());
            for comment in &mut comments {
                let votes = votes.and_then(|votes| votes.get(&comment.id.0)).cloned();
                let votes = votes.unwrap_or_default();
                let own = comment.user_reaction.flatten();
                (comment.upvotes, comment.downvotes) = votes.with_own(self.viewer, own);
            }
        }
        Ok(comments)
    }

    /// Whether only a placeholder is shown.
    fn hides(&self, row: &CommentRow) -> bool {
        let is_own = self.perspective.is_key() || row.is_by(self.perspective);
        match (row.user_deleted_at, row.is_removed()) {
            (Some(_), _) => !(is_own && self.shows_deleted),
            (None, true) => !is_own,
            (None, false) => false,
        }
    }

    fn add_authors(&self, c: &Conn<'_>, comments: &mut [Comment]) -> Result<()> {
        let ids = comments.iter().filter_map(|comment| comment.user_id).collect();
        let authors = match &self.authors {
            Some(rows) => model::by_id(&self.links, rows)?,
            None => model::shown(c, &self.links, ids)?,
        };
        for comment in comments.iter_mut() {
            let author = comment.user_id.and_then(|id| authors.get(&id).cloned());
            comment.user = Some(author.map(Box::new));
        }
        let Some(bucket) = self.bucket else { return Ok(()) };
        let shown = comments.iter_mut().filter_map(|comment| {
            Some(comment.user.as_mut()?.as_mut()?.points_in(bucket.of(comment.space_id)))
        });
        reputation::add_points(c, self.project.id, shown.collect())
    }

    /// A hidden entity or parent is null, also beside the viewer's own comment.
    fn add_entities(
        &self,
        c: &Conn<'_>,
        view: &entities::show::View,
        comments: &mut [Comment],
    ) -> Result<()> {
        let mut ids: Vec<EntityId> = comments.iter().map(|comment| comment.entity_id).collect();
        ids.sort_unstable();
        ids.dedup();
        let rows = entities::store::find_all(c, self.project.id, &ids)?;
        let rows = entities::visibility::among(c, &self.project, rows, self.perspective)?;
        let shown = view.entities(c, rows)?;
        for comment in comments {
            let entity = shown.iter().find(|entity| entity.id == comment.entity_id);
            comment.entity = Some(entity.cloned().map(Box::new));
        }
        Ok(())
    }
}
