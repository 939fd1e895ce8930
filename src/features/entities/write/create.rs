//! Create Entity: by a user for themselves, anonymously, or with a key for any user.

use db::{Conn, JsonText, Tx};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::auth::caller::{OptionalViewer, may_act_for};
use crate::auth::deferred::Deferred;
use crate::auth::perspective::Perspective;
use crate::domain_events::{self, Context};
use crate::error::{Error, Result};
use crate::features::entities::events::{CREATED, created};
use crate::features::entities::model::Entity;
use crate::features::entities::rules::{
    Attachments, Content, ForeignId, Keywords, Mentions, Place, Title, times,
};
use crate::features::entities::show::View;
use crate::features::entities::store::feed_totals;
use crate::features::entities::store::{self, EntityRow};
use crate::features::entities::terms;
use crate::features::entities::terms::Terms;
use crate::features::entities::write::attached::AttachedFiles;
use crate::features::entities::write::screen::screen;
use crate::features::entities::write::{mentions, notify};
use crate::features::entities::{
    DUPLICATE_FOREIGN_ID, INVALID_TIMESTAMP, SPACE_NOT_FOUND, UNAUTHORIZED, USER_NOT_FOUND,
    USER_REQUIRED,
};
use crate::features::files::uploads::{self, Prepared};
use crate::features::spaces::store as spaces;
use crate::features::spaces::store::access;
use crate::features::users::reputation;
use crate::features::users::store::UserRow;
use crate::http::input::Body;
use crate::http::operation::Call;
use crate::http::reply::FoundOrCreated;
use crate::http::version::Version;
use crate::state::App;
use crate::tenancy::{Bundle, Project};
use crate::values::ids::{EntityId, SpaceId, UserId, new_id};
use crate::values::metadata::{Metadata, to_json};
use crate::values::time::Timestamp;

/// Points that an author gets for publishing, and loses by deleting.
pub const POINTS: i64 = 5;

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct NewEntity {
    foreign_id: Option<ForeignId>,
    source_id: Option<ForeignId>,
    space_id: Option<String>,
    /// Only a key may name another user.
    user_id: Option<String>,
    title: Option<Title>,
    content: Option<Content>,
    attachments: Option<Attachments>,
    keywords: Option<Keywords>,
    mentions: Option<Mentions>,
    location: Option<Place>,
    metadata: Option<Metadata>,
    nsfw: Option<bool>,
    is_draft: Option<bool>,
    /// Creates the entity without an author.
    exclude_user_id: Option<bool>,
    /// Refuses to create an entity for an anonymous caller.
    require_user: Option<bool>,
    /// With a key only.
    created_at: Option<String>,
    /// With a key only, and only together with `createdAt`.
    updated_at: Option<String>,
}

pub(super) async fn create_entity(
    call: Call<Deferred<OptionalViewer>>,
    (Body(new), attached): (Body<NewEntity>, AttachedFiles),
) -> Result<FoundOrCreated<Entity>> {
    let author = author(&call, &new)?;
    let given = times(new.created_at.as_deref(), new.updated_at.as_deref(), INVALID_TIMESTAMP)?;
    let (created_at, updated_at) = given.unwrap_or((call.now, call.now));
    let space: Option<SpaceId> = match &new.space_id {
        Some(name) => Some(name.parse().map_err(|_| Error::from(SPACE_NOT_FOUND))?),
        None => None,
    };
    let id = EntityId(new_id(call.now, &call.app.random));
    let (mut row, terms) = new.into_row(id, author, created_at, updated_at, call.now);
    row.space_id = space;
    let (app, project, now) = (call.app.clone(), call.project.clone(), call.now);
    let (checked, caller) = (call.caller.clone(), *call.caller);

    // A key sees it as the user it names.
    let mut view = View::written(&call, caller.user().or(author));
    let mut files = Prepared::default();
    if !attached.is_empty() {
        project.require(Bundle::FilesImages)?;
        check(&call, &row).await?;
        files = attached.prepare(&app, project.id, &row, now).await?;
        view = view.with_files();
    }
    let rows = files.clone();
    let initiator = caller.user().or(author);
    let work = move |tx: &Tx<'_>| {
        let checking = checked.begin(tx)?;
        permit(tx, &project, caller, &row, now)?;
        admit(tx, &project, caller.into(), &row)?;
        let (mut row, mut terms) = (row.clone(), terms.clone());
        if mentions::drop_blocked(tx, &project, &mut row, None)? {
            terms = terms::of_stored(&row).map_err(Error::internal)?;
        }
        let author = if row.is_draft { None } else { reward(tx, &project, &row)? };
        checking.settle(tx)?;
        insert(tx, &app, &project, &mut row, &terms, now)?;
        uploads::insert(tx, project.id, &rows)?;
        view.clone().with_own(None).with_author(author).entity(tx, row)
    };
    let event = move |entity: &Entity| created(entity, initiator);
    let names = [CREATED.name()];
    let created = domain_events::write(&call.app, &call.project, &names, work, event).await;
    let created = created.map_err(store::insert_refused);
    let entity = uploads::settle(&call.app, call.project.id, &files, created, now).await?;
    Ok(match call.version {
        Version::V6 => FoundOrCreated::Found(entity),
        _ => FoundOrCreated::Created(entity),
    })
}

/// Runs all checks before any file is processed.
async fn check(call: &Call<Deferred<OptionalViewer>>, row: &EntityRow) -> Result<()> {
    let (project, caller, now) = (call.project.clone(), call.caller.clone(), call.now);
    let row = row.clone();
    let checked = call.app.db.read(move |c| {
        caller.check(c)?;
        let caller = *caller;
        permit(c, &project, caller, &row, now)?;
        if let Some(space) = row.space_id {
            let space = spaces::find(c, project.id, space)?.ok_or(SPACE_NOT_FOUND)?;
            if !access::may_post(c, project.id, &space, caller.into())? {
                return Err(SPACE_NOT_FOUND.into());
            }
        }
        match &row.foreign_id {
            Some(id) if store::find_by_foreign_id(c, project.id, id)?.is_some() => {
                Err(DUPLICATE_FOREIGN_ID.with("field", "foreignId"))
            }
            _ => Ok(()),
        }
    });
    checked.await
}

/// The named space must exist and let the caller publish.
pub(super) fn admit(
    tx: &Tx<'_>,
    project: &Project,
    perspective: Perspective,
    row: &EntityRow,
) -> Result<()> {
    match row.space_id {
        Some(space) if !access::admit(tx, project.id, space, perspective)? => {
            Err(SPACE_NOT_FOUND.into())
        }
        _ => Ok(()),
    }
}

/// A key may name any existing user.
fn permit(
    c: &Conn<'_>,
    project: &Project,
    caller: OptionalViewer,
    row: &EntityRow,
    now: Timestamp,
) -> Result<()> {
    match (caller, row.user_id) {
        (OptionalViewer::Key(kind), Some(user)) if !may_act_for(c, project, user, kind, now)? => {
            Err(USER_NOT_FOUND.into())
        }
        _ => Ok(()),
    }
}

/// The author of the entity. A user's token cannot name another user.
fn author(call: &Call<Deferred<OptionalViewer>>, new: &NewEntity) -> Result<Option<UserId>> {
    let named = new.user_id.as_deref();
    let author = match *call.caller {
        OptionalViewer::Key(_) => {
            named.map(|name| name.parse().map_err(|_| Error::from(USER_NOT_FOUND))).transpose()?
        }
        caller => {
            let viewer = caller.user();
            let is_other = named.is_some_and(|name| name.parse().ok() != viewer);
            if is_other || new.created_at.is_some() || new.updated_at.is_some() {
                return Err(UNAUTHORIZED.into());
            }
            viewer
        }
    };
    let is_required = new.require_user == Some(true) || !call.project.anonymous_posts;
    if is_required && author.is_none() {
        return Err(USER_REQUIRED.into());
    }
    Ok(author.filter(|_| new.exclude_user_id != Some(true)))
}

impl NewEntity {
    fn into_row(
        self,
        id: EntityId,
        author: Option<UserId>,
        created_at: Timestamp,
        updated_at: Timestamp,
        now: Timestamp,
    ) -> (EntityRow, Terms) {
        let keywords = self.keywords.unwrap_or_default();
        let metadata = self.metadata.unwrap_or_default();
        let mentions = self.mentions.unwrap_or_default();
        let is_draft = self.is_draft == Some(true);
        let terms = Terms::of(is_draft, &keywords, &metadata, &mentions);
        let row = EntityRow {
            foreign_id: self.foreign_id.and_then(ForeignId::unless_blank),
            source_id: self.source_id.and_then(ForeignId::unless_blank),
            user_id: author,
            is_draft,
            is_listed: !is_draft,
            nsfw: self.nsfw == Some(true),
            latitude: self.location.map(|Place(place)| place.latitude),
            longitude: self.location.map(|Place(place)| place.longitude),
            created_at,
            updated_at,
            title: self.title.and_then(Title::unless_blank),
            content: self.content.and_then(Content::unless_blank),
            mentions: JsonText(to_json(&mentions)),
            attachments: JsonText(to_json(&self.attachments.unwrap_or_default())),
            keywords: JsonText(to_json(&keywords)),
            metadata: JsonText(to_json(&metadata)),
            ..EntityRow::blank(id, now)
        };
        (row, terms)
    }
}

/// Stores a new entity and all its effects but the author's points. The caller maps the error of its transaction with
/// [`store::insert_refused`].
pub(in crate::features::entities) fn insert(
    tx: &Tx<'_>,
    app: &App,
    project: &Project,
    row: &mut EntityRow,
    terms: &Terms,
    now: Timestamp,
) -> Result<()> {
    store::insert(tx, project.id, row, terms)?;
    if row.is_draft { Ok(()) } else { appear(tx, app, project, row, now) }
}

/// Awards the author's points for publishing; returns the author. Runs first, or it deadlocks with user deletion.
pub(super) fn reward(tx: &Tx<'_>, project: &Project, row: &EntityRow) -> Result<Option<UserRow>> {
    let Some(author) = row.user_id else { return Ok(None) };
    // A concurrent request may have deleted the author: then there is no row, or a foreign key fails.
    let gone = |error: Error| error.on_foreign_key(USER_NOT_FOUND);
    let awarded = reputation::awarded(tx, project, author, row.space_id, POINTS).map_err(gone)?;
    tx.flush().map_err(|error| gone(error.into()))?;
    awarded.opt()?.map(Some).ok_or(USER_NOT_FOUND.into())
}

/// The effects of publishing, at creation or later, unless a rule hides it.
pub(super) fn appear(
    tx: &Tx<'_>,
    app: &App,
    project: &Project,
    row: &mut EntityRow,
    now: Timestamp,
) -> Result<()> {
    if screen(tx, Context { app, project, now }, row, false)? {
        return Ok(());
    }
    if row.is_listed {
        feed_totals::add(tx, project.id, row)?;
    }
    notify::mentioned(tx, app, project, row, now)
}
