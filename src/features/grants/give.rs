//! Create and Mint Reputation Grant. A user's points go down and the recipient's up in one transaction, while both are
//! locked: nobody gives what they do not have.

use std::sync::Arc;

use db::{JsonText, Tx};
use schemars::JsonSchema;
use serde::Deserialize;
use uuid::Uuid;

use crate::auth::caller::{Actor, KeyHolder, Via};
use crate::auth::perspective::Perspective;
use crate::error::{Error, Result};
use crate::features::grants::model::ReputationGrant;
use crate::features::grants::rules::{Given, Minted, Note, Source, TargetKind};
use crate::features::grants::store::{self, GrantRow};
use crate::features::grants::targets::{self, Target};
use crate::features::grants::{
    CONFLICT, INSUFFICIENT, INVALID_BODY, SELF_GRANT, SPACE_NOT_FOUND, USER_GRANTS_DISABLED,
    USER_NOT_FOUND, notify,
};
use crate::features::spaces::store as spaces;
use crate::features::users::store::{lock_pair, points};
use crate::features::users::{reputation, store as users};
use crate::features::visibility::store::blocks;
use crate::http::input::Body;
use crate::http::operation::Call;
use crate::http::patch::Patch;
use crate::http::reply::Created;
use crate::state::App;
use crate::tenancy::{Bundle, Project};
use crate::values::ids::{GrantId, SpaceId, UserId, new_id, parse_uuid};
use crate::values::metadata::{Metadata, to_json};

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "New{P}Grant")]
pub(super) struct NewGrant<P> {
    recipient_id: UserId,
    amount: P,
    space_id: Option<SpaceId>,
    note: Option<Note>,
    #[serde(default)]
    metadata: Patch<Metadata>,
    target_type: Option<TargetKind>,
    target_id: Option<String>,
}

/// A grant that was checked for its form.
#[derive(Debug)]
struct Wanted {
    app: App,
    project: Arc<Project>,
    row: GrantRow,
    target: Option<(TargetKind, Uuid)>,
}

impl<P: Into<i64>> NewGrant<P> {
    fn wanted<A>(self, call: &Call<A>, sender: Option<UserId>) -> Result<Wanted> {
        let metadata = match self.metadata {
            Patch::Absent => None,
            Patch::Null => return Err(INVALID_BODY.because("metadata: must be an object")),
            Patch::Value(metadata) => Some(JsonText(to_json(&metadata))),
        };
        let target = match (self.target_type, &self.target_id) {
            (None, None) => None,
            (Some(kind), Some(id)) => {
                let id = parse_uuid(id);
                Some((kind, id.ok_or_else(|| INVALID_BODY.because("targetId: must be a UUID"))?))
            }
            _ => return Err(INVALID_BODY.because("targetType and targetId: both or neither")),
        };
        let row = GrantRow {
            id: GrantId(new_id(call.now, &call.app.random)),
            source_type: if sender.is_some() { Source::User } else { Source::App },
            sender_id: sender,
            recipient_id: self.recipient_id,
            amount: self.amount.into(),
            space_id: self.space_id,
            target_type: target.map(|(kind, _)| kind),
            target_id: target.map(|(_, id)| id),
            conversation_id: None,
            note: self.note.and_then(Note::unless_blank),
            metadata,
            created_at: call.now,
        };
        Ok(Wanted { app: call.app.clone(), project: call.project.clone(), row, target })
    }
}

impl Wanted {
    fn require_bundles(&self) -> Result<()> {
        if let Some((kind, _)) = self.target {
            self.project.require(kind.bundle())?;
        }
        if self.row.space_id.is_some() { self.project.require(Bundle::Spaces) } else { Ok(()) }
    }

    /// Lock order: the space before users.
    fn lock_space(&self, tx: &Tx<'_>) -> Result<()> {
        match self.row.space_id {
            Some(space) => match spaces::lock_shared(tx, self.project.id, space)? {
                Some(_) => Ok(()),
                None => Err(SPACE_NOT_FOUND.into()),
            },
            None => Ok(()),
        }
    }

    fn find_target(&self, tx: &Tx<'_>, sender: Perspective) -> Result<Option<Target>> {
        let find = |target| targets::find(&self.app, tx, &self.project, target, sender);
        self.target.map(find).transpose()
    }

    /// Stores the grant with all its effects, once the points have moved.
    fn store(
        &self,
        tx: &Tx<'_>,
        sender: Option<&users::UserRow>,
        target: Option<&Target>,
    ) -> Result<ReputationGrant> {
        let conversation_id = target.and_then(|target| target.conversation);
        let row = GrantRow { conversation_id, ..self.row.clone() };
        let summary = store::insert(tx, self.project.id, &row)?;
        if row.amount > 0 {
            notify::recipient(tx, &self.app, &self.project, &row, sender, target)?;
            notify::members(tx, &self.project, &row, summary)?;
        }
        ReputationGrant::new(row)
    }
}

pub(super) async fn create_grant(
    call: Call<Actor>,
    Body(new): Body<NewGrant<Given>>,
) -> Result<Created<ReputationGrant>> {
    let (sender, perspective) = (call.caller.user, Perspective::from(&call.caller));
    let is_key = matches!(call.caller.via, Via::Key(_));
    let wanted = new.wanted(&call, Some(sender))?;
    if wanted.row.recipient_id == sender {
        return Err(SELF_GRANT.into());
    }
    if !is_key && !call.project.user_grants {
        return Err(USER_GRANTS_DISABLED.into());
    }
    wanted.require_bundles()?;
    let given = call.app.db.write(move |tx| {
        let (project, row) = (&*wanted.project, &wanted.row);
        wanted.lock_space(tx)?;
        // Lock order: a conversation would come before users, but a target is only read.
        if !lock_pair::lock(tx, project.id, sender, row.recipient_id)?
            || (!is_key && blocks::is_blocked_between(tx, project, Some(sender), row.recipient_id)?)
        {
            return Err(Error::from(USER_NOT_FOUND));
        }
        let target = wanted.find_target(tx, perspective)?;
        if reputation::bucket_of(tx, project.id, sender, row.space_id)? < row.amount {
            return Err(INSUFFICIENT.into());
        }
        points::add(tx, project.id, sender, row.space_id, -row.amount)?;
        points::add(tx, project.id, row.recipient_id, row.space_id, row.amount)?;
        let sender = users::find(tx, project.id, sender)?;
        wanted.store(tx, sender.as_ref(), target.as_ref())
    });
    given.await.map(Created).map_err(|error: Error| error.on_conflict(CONFLICT))
}

pub(super) async fn mint_grant(
    call: Call<KeyHolder>,
    Body(new): Body<NewGrant<Minted>>,
) -> Result<Created<ReputationGrant>> {
    let wanted = new.wanted(&call, None)?;
    wanted.require_bundles()?;
    let minted = call.app.db.write(move |tx| {
        let (project, row) = (wanted.project.id, &wanted.row);
        wanted.lock_space(tx)?;
        users::find_for_update(tx, project, row.recipient_id)?.ok_or(USER_NOT_FOUND)?;
        let target = wanted.find_target(tx, Perspective::Key)?;
        points::add(tx, project, row.recipient_id, row.space_id, row.amount)?;
        wanted.store(tx, None, target.as_ref())
    });
    minted.await.map(Created).map_err(|error: Error| error.on_conflict(CONFLICT))
}
