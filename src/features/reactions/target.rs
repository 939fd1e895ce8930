//! Targets of reactions. Entities and comments each define how they are loaded, counted and shown; everything
//! else about a reaction is the same for both.

use db::{Conn, Later, Tx};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::de::DeserializeOwned;
use serde::{Serialize, Serializer};
use serde_json::{Map, Value};
use uuid::Uuid;

use crate::auth::caller::Actor;
use crate::auth::deferred::Deferred;
use crate::auth::perspective::Perspective;
use crate::error::{Fault, Result};
use crate::features::notifications::Subject;
use crate::features::reactions::store::hidden::VotesByTarget;
use crate::features::reactions::{ReactionCounts, ReactionType};
use crate::features::spaces::store::access::KnownSpace;
use crate::features::users::store::UserRow;
use crate::http::operation::Call;
use crate::tenancy::Project;
use crate::values::ids::{CommentId, EntityId, ProjectId, SpaceId, UserId};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TargetId {
    Entity(EntityId),
    Comment(CommentId),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(rename = "ReactionTargetType")]
pub enum TargetType {
    Entity,
    Comment,
}

impl TargetType {
    pub const fn name(self) -> &'static str {
        match self {
            TargetType::Entity => "entity",
            TargetType::Comment => "comment",
        }
    }
}

impl TargetId {
    pub const fn kind(self) -> TargetType {
        match self {
            TargetId::Entity(_) => TargetType::Entity,
            TargetId::Comment(_) => TargetType::Comment,
        }
    }

    pub const fn uuid(self) -> Uuid {
        match self {
            TargetId::Entity(id) => id.0,
            TargetId::Comment(id) => id.0,
        }
    }
}

impl From<TargetId> for db::Value<'_> {
    fn from(id: TargetId) -> Self {
        db::Value::Uuid(id.uuid())
    }
}

impl Serialize for TargetId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.uuid().serialize(serializer)
    }
}

impl JsonSchema for TargetId {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "TargetId".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        EntityId::json_schema(generator)
    }
}

/// Errors with texts of the target.
#[derive(Debug, Clone, Copy)]
pub struct Faults {
    pub not_found: Fault,
    pub invalid_query: Fault,
    pub already_upvoted: Fault,
    pub already_downvoted: Fault,
    pub not_upvoted: Fault,
    pub not_downvoted: Fault,
}

/// The types of notifications for the target's author, and where they link to.
#[derive(Debug, Clone, Copy)]
pub struct NoticeTypes {
    pub action: &'static str,
    pub upvote: &'static str,
    pub reaction: &'static str,
    pub milestone_specific: &'static str,
    pub milestone_total: &'static str,
}

pub trait Target: Sized + Send + 'static {
    type Path: DeserializeOwned + JsonSchema + Send + 'static;
    /// How it is shown to the user who reacts.
    type View: Clone + Send + Sync + 'static;
    type Shown: Serialize + JsonSchema + Send + 'static;

    const FAULTS: Faults;
    const NOTICES: NoticeTypes;

    fn named(path: &Self::Path) -> TargetId;
    /// Loads the target for a reaction and locks it until the transaction ends.
    fn lock(
        tx: &Tx<'_>,
        project: &Project,
        id: TargetId,
        perspective: Perspective,
    ) -> Result<Later<Self>>;
    /// What was locked, if this perspective may react to it.
    fn locked(
        tx: &Tx<'_>,
        project: &Project,
        found: (Self, Option<&KnownSpace>),
        perspective: Perspective,
    ) -> Result<Option<Self>>;
    /// Loads the target for reading.
    fn find(
        c: &Conn<'_>,
        project: &Project,
        id: TargetId,
        perspective: Perspective,
    ) -> Result<Option<Self>>;
    fn id(&self) -> TargetId;
    fn author(&self) -> Option<UserId>;
    fn space(&self) -> Option<SpaceId>;
    /// Whether a moderator removed it, or the entity it belongs to.
    fn is_removed(&self) -> bool;
    /// The subject of notifications about it.
    fn notified_of(&self) -> Subject;
    fn reactions(&self) -> ReactionCounts;
    fn set_reactions(&mut self, counts: ReactionCounts);
    fn change_reactions(&self, tx: &Tx<'_>, project: ProjectId, by: ReactionCounts) -> Result<()>;
    /// The content of notifications about it, which is in this space.
    fn subject(
        &self,
        c: &Conn<'_>,
        project: ProjectId,
        space: Option<&KnownSpace>,
    ) -> Result<Map<String, Value>>;
    fn view(call: &Call<Deferred<Actor>>) -> Self::View;
    /// Whether replies list the voters.
    fn lists_voters(view: &Self::View) -> bool;
    fn show(self, view: &Self::View, c: &Conn<'_>, known: Known) -> Result<Self::Shown>;
    fn set_author(
        shown: &mut Self::Shown,
        view: &Self::View,
        author: Option<UserRow>,
    ) -> Result<()>;
}

/// What a change of a reaction knows already of what its reply shows.
#[derive(Debug)]
pub struct Known {
    /// The viewer's reaction.
    pub own: Option<ReactionType>,
    pub votes: Option<VotesByTarget>,
    /// The target's space, if it is in one.
    pub space: Option<KnownSpace>,
    /// The author is [set](Target::set_author) later.
    pub author_follows: bool,
}
