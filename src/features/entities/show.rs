//! From rows to replies: a constant number of statements, however many rows and includes.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use db::Conn;
use uuid::Uuid;

use crate::error::Result;
use crate::features::entities::extras::EntityExtras;
use crate::features::entities::model::Entity;
use crate::features::entities::store::EntityRow;
use crate::features::entities::store::listed::ListedRow;
use crate::features::files::model::{File, show};
use crate::features::files::store as storage;
use crate::features::grants;
use crate::features::reactions::store::hidden::{self, VotesByTarget};
use crate::features::reactions::target::Known;
use crate::features::reactions::{self, ReactionType};
use crate::features::spaces;
use crate::features::spaces::show::View as SpaceView;
use crate::features::spaces::store::SpaceRow;
use crate::features::users::model::{self, User};
use crate::features::users::reputation::{self, Bucket};
use crate::features::users::store::UserRow;
use crate::features::users::store::authored::WithAuthor;
use crate::http::include::Include;
use crate::http::operation::Call;
use crate::http::version::Version;
use crate::storage::signed::Links;
use crate::tenancy::{Bundle, Project};
use crate::values::ids::{EntityId, SpaceId, UserId};

/// Whether the reply says that the viewer has saved an entity.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Saved {
    Untold,
    Asked,
    All,
}

/// Which parts of entities are shown, and to which viewer.
#[derive(Debug, Clone)]
pub struct View {
    pub project: Arc<Project>,
    /// The viewer; none for a key or an anonymous caller.
    pub viewer: Option<UserId>,
    version: Version,
    /// With the author of each.
    pub(super) user: bool,
    space: bool,
    top_comment: bool,
    saved: Saved,
    grants: bool,
    files: bool,
    bucket: Option<Bucket>,
    /// The viewer's reaction, if it is known already.
    own: Option<Option<ReactionType>>,
    /// The authors of all entities, if known already.
    authors: Option<Vec<UserRow>>,
    /// The voters of all entities, if known already.
    votes: Option<VotesByTarget>,
    /// The spaces of all entities, if known already.
    spaces: Option<Vec<SpaceRow>>,
    /// Those of them whose content is not safe for work, if known already.
    nsfw_spaces: Option<HashSet<SpaceId>>,
    links: Links,
    extras: Option<EntityExtras>,
}

impl View {
    /// As asked for by `include`.
    pub fn asked<A>(call: &Call<A>, viewer: Option<UserId>, include: &Include) -> Self {
        View {
            project: call.project.clone(),
            viewer,
            version: call.version,
            // v6 has no `include` and always shows the author.
            user: include.has("user") || call.version == Version::V6,
            space: include.has("space"),
            top_comment: include.has("topComment"),
            saved: if include.has("saved") { Saved::Asked } else { Saved::Untold },
            grants: include.has("grants"),
            files: include.has("files"),
            bucket: None,
            own: None,
            authors: None,
            votes: None,
            spaces: None,
            nsfw_spaces: None,
            links: call.links(),
            extras: call.app.lists.of().first().copied(),
        }
    }

    /// For what the server sends by itself: with the author, as a key sees it.
    pub fn for_key(project: Arc<Project>, links: Links) -> Self {
        View {
            project,
            viewer: None,
            version: Version::V8,
            user: true,
            space: false,
            top_comment: false,
            saved: Saved::Untold,
            grants: false,
            files: false,
            bucket: None,
            own: None,
            authors: None,
            votes: None,
            spaces: None,
            nsfw_spaces: None,
            links,
            extras: None,
        }
    }

    /// For replies to writes: with the author.
    pub fn written<A>(call: &Call<A>, viewer: Option<UserId>) -> Self {
        View { user: true, ..View::asked(call, viewer, &Include::default()) }
    }

    /// The reply to a reaction need not read back what the change knows.
    pub fn with_known(self, known: Known) -> Self {
        let Known { own, votes, space, author_follows } = known;
        let spaces = space.map(|space| space.row.into_iter().collect());
        View { own: Some(own), votes, spaces, user: self.user && !author_follows, ..self }
    }

    /// For what was shown without its author.
    pub fn set_author(&self, entity: &mut Entity, author: Option<UserRow>) -> Result<()> {
        let author = author.filter(|author| entity.user_id == Some(author.id));
        let shown = author.map(|row| User::public(&self.links, &row)).transpose()?;
        entity.user = Some(shown.map(Box::new));
        Ok(())
    }

    pub fn with_own(self, reaction: Option<ReactionType>) -> Self {
        View { own: Some(reaction), ..self }
    }

    pub fn with_author(self, author: Option<UserRow>) -> Self {
        self.with_authors(author.map(|author| vec![author]))
    }

    fn with_authors(self, authors: Option<Vec<UserRow>>) -> Self {
        View { authors, ..self }
    }

    /// Whether the voters of each entity are shown.
    pub fn lists_voters(&self) -> bool {
        self.version == Version::V6
    }

    /// Those of a list, whose statement has read their authors and the flags of their spaces.
    pub fn listed(&self, c: &Conn<'_>, rows: Vec<WithAuthor<ListedRow>>) -> Result<Vec<Entity>> {
        // Allocated at their final size: a list that grows copies its rows, which are large.
        let (mut nsfw_spaces, mut authors) = (HashSet::new(), Vec::with_capacity(rows.len()));
        let mut entities = Vec::with_capacity(rows.len());
        for (ListedRow { entity, is_in_nsfw_space }, author) in rows {
            nsfw_spaces.extend(entity.space_id.filter(|_| is_in_nsfw_space == Some(true)));
            authors.extend(author.0);
            entities.push(Entity::new(self.project.id, entity)?);
        }
        let view = self.clone().with_authors(self.user.then_some(authors));
        View { nsfw_spaces: Some(nsfw_spaces), ..view }.completed(c, entities)
    }

    pub fn with_files(self) -> Self {
        View { files: true, ..self }
    }

    /// For drafts: nobody has saved them or commented on them.
    pub fn without_saved(self) -> Self {
        View { saved: Saved::Untold, top_comment: false, ..self }
    }

    /// For lists of entities that the viewer has saved.
    pub fn all_saved(self) -> Self {
        View { saved: Saved::All, ..self }
    }

    pub fn with_points(self, bucket: Option<Bucket>) -> Self {
        View { bucket, ..self }
    }

    pub fn entity(&self, c: &Conn<'_>, row: EntityRow) -> Result<Entity> {
        let mut entities = self.entities(c, vec![row])?;
        entities.pop().ok_or_else(|| crate::error::Error::internal("the entity was not shown"))
    }

    pub fn entities(&self, c: &Conn<'_>, rows: Vec<EntityRow>) -> Result<Vec<Entity>> {
        let mut entities = Vec::with_capacity(rows.len());
        for row in rows {
            entities.push(Entity::new(self.project.id, row)?);
        }
        self.completed(c, entities)
    }

    /// With what further statements read.
    fn completed(&self, c: &Conn<'_>, mut entities: Vec<Entity>) -> Result<Vec<Entity>> {
        let project = self.project.id;
        let ids: Vec<EntityId> = entities.iter().map(|entity| entity.id).collect();
        if self.user {
            self.add_authors(c, &mut entities)?;
        }
        if let Some(viewer) = self.viewer {
            let stored = match self.own {
                Some(_) => HashMap::new(),
                None => reactions::store::of_user(c, project, viewer, uuids(&ids))?,
            };
            for entity in &mut entities {
                let own = self.own.unwrap_or_else(|| stored.get(&entity.id.0).copied());
                entity.user_reaction = Some(own);
            }
            self.add_saved(c, viewer, &ids, &mut entities)?;
        }
        for entity in &mut entities {
            entity.shares_count = entity.shares_count.filter(|_| self.version == Version::V6);
        }
        if self.grants {
            let given = grants::store::summaries(c, &self.project, uuids(&ids), self.viewer)?;
            for entity in &mut entities {
                entity.grants = Some(given.get(&entity.id.0).copied().unwrap_or_default());
            }
        }
        self.add_spaces(c, &mut entities)?;
        if let Some(extras) = self.extras.filter(|_| self.top_comment) {
            let mut top = (extras.top_comments)(c, &self.project, &self.links, self.viewer, &ids)?;
            for entity in &mut entities {
                entity.top_comment = top.remove(&entity.id);
            }
        }
        if self.files {
            self.add_files(c, &ids, &mut entities)?;
        }
        if self.lists_voters() {
            let found = match &self.votes {
                Some(_) => None,
                None => Some(hidden::votes(c, &self.project, self.viewer, uuids(&ids))?),
            };
            let votes = found.as_ref().or(self.votes.as_ref());
            for entity in &mut entities {
                let votes = votes.and_then(|votes| votes.get(&entity.id.0)).cloned();
                let votes = votes.unwrap_or_default();
                let own = entity.user_reaction.flatten();
                (entity.upvotes, entity.downvotes) = votes.with_own(self.viewer, own);
            }
        }
        Ok(entities)
    }

    fn add_authors(&self, c: &Conn<'_>, entities: &mut [Entity]) -> Result<()> {
        let project = self.project.id;
        let ids = entities.iter().filter_map(|entity| entity.user_id).collect();
        let authors = match &self.authors {
            Some(rows) => model::by_id(&self.links, rows)?,
            None => model::shown(c, &self.links, ids)?,
        };
        for entity in entities.iter_mut() {
            let author = entity.user_id.and_then(|id| authors.get(&id).cloned());
            entity.user = Some(author.map(Box::new));
        }
        let Some(bucket) = self.bucket else { return Ok(()) };
        let shown = entities.iter_mut().filter_map(|entity| {
            Some(entity.user.as_mut()?.as_mut()?.points_in(bucket.of(entity.space_id)))
        });
        reputation::add_points(c, project, shown.collect())
    }

    /// The space of each if included, and its effect on the entity's own flag.
    fn add_spaces(&self, c: &Conn<'_>, entities: &mut [Entity]) -> Result<()> {
        let project = &self.project;
        let mut ids: Vec<SpaceId> = entities.iter().filter_map(|entity| entity.space_id).collect();
        ids.sort_unstable();
        ids.dedup();
        if !project.has(Bundle::Spaces) {
            ids.clear();
        }
        let rows = match &self.spaces {
            _ if ids.is_empty() => Vec::new(),
            Some(known) => known.clone(),
            None if self.nsfw_spaces.is_some() && !self.space => Vec::new(),
            None => spaces::store::find_all(c, project.id, &ids)?,
        };
        let mut nsfw: HashSet<SpaceId> =
            rows.iter().filter(|row| row.nsfw_effective).map(|row| row.id).collect();
        if !ids.is_empty() {
            nsfw.extend(self.nsfw_spaces.iter().flatten());
        }
        let shown = match self.space {
            true => {
                SpaceView::of(project.clone(), self.viewer, self.links.clone()).spaces(c, rows)?
            }
            false => Vec::new(),
        };
        for entity in entities {
            let Some(id) = entity.space_id else {
                entity.space = self.space.then_some(None);
                continue;
            };
            entity.nsfw_effective |= nsfw.contains(&id);
            let space = shown.iter().find(|space| space.id == id).cloned();
            entity.space = self.space.then(|| space.map(Box::new));
        }
        Ok(())
    }

    fn add_saved(
        &self,
        c: &Conn<'_>,
        viewer: UserId,
        ids: &[EntityId],
        entities: &mut [Entity],
    ) -> Result<()> {
        let has_collections = self.project.has(Bundle::Collections);
        let saved = match (self.saved, self.extras) {
            (Saved::Untold, _) => return Ok(()),
            (Saved::Asked, Some(extras)) if has_collections => {
                (extras.saved)(c, self.project.id, viewer, ids)?
            }
            (Saved::Asked | Saved::All, _) => HashSet::new(),
        };
        for entity in entities {
            entity.is_saved = Some(self.saved == Saved::All || saved.contains(&entity.id));
        }
        Ok(())
    }

    fn add_files(&self, c: &Conn<'_>, ids: &[EntityId], entities: &mut [Entity]) -> Result<()> {
        let mut files: HashMap<EntityId, Vec<File>> = HashMap::new();
        for row in storage::of_entities(c, self.project.id, ids)? {
            if let Some(entity) = row.entity_id {
                files.entry(entity).or_default().push(show(&self.links, &row)?);
            }
        }
        for entity in entities {
            entity.files = Some(files.remove(&entity.id).unwrap_or_default());
        }
        Ok(())
    }
}

fn uuids(ids: &[EntityId]) -> Vec<Uuid> {
    ids.iter().map(|id| id.0).collect()
}
