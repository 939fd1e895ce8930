//! Comments as targets of reactions.

use db::{Conn, Later, Tx};
use serde_json::{Map, Value};

use crate::auth::caller::Actor;
use crate::auth::deferred::Deferred;
use crate::auth::perspective::Perspective;
use crate::error::{Result, faults};
use crate::features::comments::model::Comment;
use crate::features::comments::show::View;
use crate::features::comments::store::{self, CommentRow};
use crate::features::comments::write::notify;
use crate::features::comments::{CommentPath, INVALID_QUERY, NOT_FOUND, visibility};
use crate::features::entities;
use crate::features::notifications::Subject;
use crate::features::reactions::ReactionCounts;
use crate::features::reactions::target::{Faults, Known, NoticeTypes, Target, TargetId};
use crate::features::spaces::store::access::KnownSpace;
use crate::features::users::store::UserRow;
use crate::http::operation::Call;
use crate::tenancy::Project;
use crate::values::ids::{CommentId, ProjectId, SpaceId, UserId};

faults! {
    ALREADY_UPVOTED = 409 "comment/already-upvoted": "User already upvoted comment.";
    ALREADY_DOWNVOTED = 409 "comment/already-downvoted": "User already downvoted comment.";
    NOT_UPVOTED = 409 "comment/not-upvoted": "User has not upvoted comment.";
    NOT_DOWNVOTED = 409 "comment/not-downvoted": "User has not downvoted comment.";
}

fn comment_id(id: TargetId) -> CommentId {
    CommentId(id.uuid())
}

impl Target for CommentRow {
    type Path = CommentPath;
    type View = View;
    type Shown = Comment;

    const FAULTS: Faults = Faults {
        not_found: NOT_FOUND,
        invalid_query: INVALID_QUERY,
        already_upvoted: ALREADY_UPVOTED,
        already_downvoted: ALREADY_DOWNVOTED,
        not_upvoted: NOT_UPVOTED,
        not_downvoted: NOT_DOWNVOTED,
    };
    const NOTICES: NoticeTypes = NoticeTypes {
        action: notify::OPEN_COMMENT,
        upvote: "comment-upvote",
        reaction: "comment-reaction",
        milestone_specific: "comment-reaction-milestone-specific",
        milestone_total: "comment-reaction-milestone-total",
    };

    fn named(path: &CommentPath) -> TargetId {
        TargetId::Comment(path.comment_id)
    }

    fn lock(
        tx: &Tx<'_>,
        project: &Project,
        id: TargetId,
        perspective: Perspective,
    ) -> Result<Later<Self>> {
        visibility::lock(tx, project, comment_id(id), perspective)
    }

    fn locked(
        tx: &Tx<'_>,
        project: &Project,
        (found, space): (Self, Option<&KnownSpace>),
        perspective: Perspective,
    ) -> Result<Option<Self>> {
        let locked = visibility::locked_in(tx, project, found, perspective, space)?;
        Ok(locked.filter(CommentRow::is_live))
    }

    /// A placeholder still lists its reactions.
    fn find(
        c: &Conn<'_>,
        project: &Project,
        id: TargetId,
        perspective: Perspective,
    ) -> Result<Option<Self>> {
        visibility::find(c, project, comment_id(id), perspective)
    }

    fn id(&self) -> TargetId {
        TargetId::Comment(self.id)
    }

    fn author(&self) -> Option<UserId> {
        self.user_id
    }

    fn space(&self) -> Option<SpaceId> {
        self.space_id
    }

    fn is_removed(&self) -> bool {
        CommentRow::is_removed(self) || self.entity_is_removed
    }

    fn notified_of(&self) -> Subject {
        Subject::Comment { entity: self.entity_id, comment: self.id }
    }

    fn reactions(&self) -> ReactionCounts {
        self.reactions
    }

    fn set_reactions(&mut self, counts: ReactionCounts) {
        self.reactions = counts;
    }

    fn change_reactions(&self, tx: &Tx<'_>, project: ProjectId, by: ReactionCounts) -> Result<()> {
        store::change_reactions(tx, project, self.id, by)
    }

    fn subject(
        &self,
        c: &Conn<'_>,
        project: ProjectId,
        space: Option<&KnownSpace>,
    ) -> Result<Map<String, Value>> {
        let entity = entities::store::find(c, project, self.entity_id)?;
        let space = space.and_then(|space| space.row.as_ref());
        let about = |entity| entities::write::notify::subject_in(entity, space);
        let mut keys = entity.as_ref().map(about).unwrap_or_default();
        notify::about(&mut keys, self);
        Ok(keys)
    }

    fn view(call: &Call<Deferred<Actor>>) -> View {
        View::written(call, Perspective::from(&*call.caller), Some(call.caller.user))
    }

    fn lists_voters(view: &View) -> bool {
        view.lists_voters()
    }

    fn show(self, view: &View, c: &Conn<'_>, known: Known) -> Result<Comment> {
        view.clone().with_known(known).comment(c, self)
    }

    fn set_author(shown: &mut Comment, view: &View, author: Option<UserRow>) -> Result<()> {
        view.set_author(shown, author)
    }
}
