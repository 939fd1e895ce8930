//! Entities as targets of reactions.

use db::{Conn, Later, Tx};
use serde_json::{Map, Value};

use crate::auth::caller::Actor;
use crate::auth::deferred::Deferred;
use crate::auth::perspective::Perspective;
use crate::error::{Result, faults};
use crate::features::entities::model::Entity;
use crate::features::entities::show::View;
use crate::features::entities::store::EntityRow;
use crate::features::entities::visibility;
use crate::features::entities::write::notify;
use crate::features::entities::{EntityPath, INVALID_QUERY, store};
use crate::features::notifications::Subject;
use crate::features::reactions::ReactionCounts;
use crate::features::reactions::target::{Faults, Known, NoticeTypes, Target, TargetId};
use crate::features::spaces::store::access::KnownSpace;
use crate::features::users::store::UserRow;
use crate::http::operation::Call;
use crate::tenancy::Project;
use crate::values::ids::{EntityId, ProjectId, SpaceId, UserId};

faults! {
    /// The same fault as that of a fetch, in the words that belong to these operations.
    NOT_FOUND = 404 "entity/not-found": "Entity not found.";
    ALREADY_UPVOTED = 409 "entity/already-upvoted": "User already upvoted entity.";
    ALREADY_DOWNVOTED = 409 "entity/already-downvoted": "User already downvoted entity.";
    NOT_UPVOTED = 409 "entity/not-upvoted": "User has not upvoted entity.";
    NOT_DOWNVOTED = 409 "entity/not-downvoted": "User has not downvoted entity.";
}

fn entity_id(id: TargetId) -> EntityId {
    EntityId(id.uuid())
}

impl Target for EntityRow {
    type Path = EntityPath;
    type View = View;
    type Shown = Entity;

    const FAULTS: Faults = Faults {
        not_found: NOT_FOUND,
        invalid_query: INVALID_QUERY,
        already_upvoted: ALREADY_UPVOTED,
        already_downvoted: ALREADY_DOWNVOTED,
        not_upvoted: NOT_UPVOTED,
        not_downvoted: NOT_DOWNVOTED,
    };
    const NOTICES: NoticeTypes = NoticeTypes {
        action: notify::OPEN_ENTITY,
        upvote: "entity-upvote",
        reaction: "entity-reaction",
        milestone_specific: "entity-reaction-milestone-specific",
        milestone_total: "entity-reaction-milestone-total",
    };

    fn named(path: &EntityPath) -> TargetId {
        TargetId::Entity(path.entity_id)
    }

    fn lock(
        tx: &Tx<'_>,
        project: &Project,
        id: TargetId,
        perspective: Perspective,
    ) -> Result<Later<Self>> {
        visibility::lock(tx, project, entity_id(id), perspective)
    }

    fn locked(
        tx: &Tx<'_>,
        project: &Project,
        (found, space): (Self, Option<&KnownSpace>),
        perspective: Perspective,
    ) -> Result<Option<Self>> {
        visibility::locked_in(tx, project, found, perspective, space)
    }

    fn find(
        c: &Conn<'_>,
        project: &Project,
        id: TargetId,
        perspective: Perspective,
    ) -> Result<Option<Self>> {
        visibility::find(c, project, entity_id(id), perspective)
    }

    fn id(&self) -> TargetId {
        TargetId::Entity(self.id)
    }

    fn author(&self) -> Option<UserId> {
        self.user_id
    }

    fn space(&self) -> Option<SpaceId> {
        self.space_id
    }

    fn is_removed(&self) -> bool {
        EntityRow::is_removed(self)
    }

    fn notified_of(&self) -> Subject {
        Subject::Entity(self.id)
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
        _: &Conn<'_>,
        _: ProjectId,
        space: Option<&KnownSpace>,
    ) -> Result<Map<String, Value>> {
        Ok(notify::subject_in(self, space.and_then(|space| space.row.as_ref())))
    }

    fn view(call: &Call<Deferred<Actor>>) -> View {
        View::written(call, Some(call.caller.user))
    }

    fn lists_voters(view: &View) -> bool {
        view.lists_voters()
    }

    fn show(self, view: &View, c: &Conn<'_>, known: Known) -> Result<Entity> {
        view.clone().with_known(known).entity(c, self)
    }

    fn set_author(shown: &mut Entity, view: &View, author: Option<UserRow>) -> Result<()> {
        view.set_author(shown, author)
    }
}
