//! From rows to replies: a constant number of statements, however many rows and includes.

use std::collections::HashMap;
use std::sync::Arc;

use db::Conn;

use crate::error::{Error, Result};
use crate::features::events::model::Event;
use crate::features::events::rules::Rsvp;
use crate::features::events::store::{self, EventRow, people};
use crate::features::files::model::{File, show};
use crate::features::files::store as storage;
use crate::features::spaces;
use crate::features::spaces::show::View as SpaceView;
use crate::features::users::model;
use crate::http::include::Include;
use crate::http::operation::Call;
use crate::storage::signed::Links;
use crate::tenancy::{Bundle, Project};
use crate::values::ids::{EventId, SpaceId, UserId};

/// Which parts of events are shown, and to which viewer.
#[derive(Debug, Clone)]
pub struct View {
    project: Arc<Project>,
    /// None for an anonymous caller, and for a key that names nobody.
    viewer: Option<UserId>,
    include: Include,
    /// The viewer's answer, if it is known already.
    own: Option<Option<Rsvp>>,
    links: Links,
}

impl View {
    pub fn new<A>(call: &Call<A>, viewer: Option<UserId>) -> Self {
        View::asked(call, viewer, Include::default())
    }

    pub fn asked<A>(call: &Call<A>, viewer: Option<UserId>, include: Include) -> Self {
        View { project: call.project.clone(), viewer, include, own: None, links: call.links() }
    }

    pub fn of(self, viewer: Option<UserId>) -> Self {
        View { viewer, ..self }
    }

    pub fn with_files(self, files: bool) -> Self {
        let include = if files { self.include.and("files") } else { self.include };
        View { include, ..self }
    }

    /// The reply to an answer knows the answer and need not read it back.
    pub fn with_own(self, own: Option<Rsvp>) -> Self {
        View { own: Some(own), ..self }
    }

    pub fn event(&self, c: &Conn<'_>, row: EventRow) -> Result<Event> {
        self.events(c, vec![row])?.pop().ok_or_else(|| Error::internal("the event was not shown"))
    }

    /// The rows of a page, by ids that are known already.
    pub fn page(&self, c: &Conn<'_>, ids: &[EventId]) -> Result<Vec<Event>> {
        let rows = store::find_all(c, self.project.id, ids)?;
        let mut rows: HashMap<EventId, EventRow> =
            rows.into_iter().map(|row| (row.id, row)).collect();
        self.events(c, ids.iter().filter_map(|id| rows.remove(id)).collect())
    }

    /// In the order of the rows.
    pub fn events(&self, c: &Conn<'_>, rows: Vec<EventRow>) -> Result<Vec<Event>> {
        let project = self.project.id;
        let ids: Vec<EventId> = rows.iter().map(|row| row.id).collect();
        let mut hosts: HashMap<EventId, Vec<UserId>> = HashMap::new();
        for (event, host) in people::hosts(c, project, &ids)? {
            hosts.entry(event).or_default().push(host);
        }
        let shown = rows.into_iter().map(|row| {
            let host_ids = hosts.remove(&row.id).unwrap_or_default();
            Ok(Event { host_ids, ..Event::new(project, row)? })
        });
        let mut events = shown.collect::<Result<Vec<_>>>()?;
        self.add_own(c, &ids, &mut events)?;
        if self.include.has("user") {
            let ids = events.iter().filter_map(|event| event.user_id).collect();
            let users = model::shown(c, &self.links, ids)?;
            for event in &mut events {
                event.user = Some(event.user_id.and_then(|id| users.get(&id).cloned()));
            }
        }
        if self.include.has("space") {
            self.add_spaces(c, &mut events)?;
        }
        if self.include.has("files") {
            let mut files: HashMap<EventId, Vec<File>> = HashMap::new();
            for row in storage::of_events(c, project, &ids)? {
                if let Some(event) = row.event_id {
                    files.entry(event).or_default().push(show(&self.links, &row)?);
                }
            }
            for event in &mut events {
                event.files = Some(files.remove(&event.id).unwrap_or_default());
            }
        }
        Ok(events)
    }

    fn add_own(&self, c: &Conn<'_>, ids: &[EventId], events: &mut [Event]) -> Result<()> {
        if self.own.is_none() && !self.include.has("userRsvp") {
            return Ok(());
        }
        let stored: HashMap<EventId, Rsvp> = match (self.own, self.viewer) {
            (None, Some(viewer)) => {
                people::rsvps_of_user(c, self.project.id, ids, viewer)?.into_iter().collect()
            }
            _ => HashMap::new(),
        };
        for event in events {
            event.user_rsvp = Some(self.own.unwrap_or_else(|| stored.get(&event.id).copied()));
        }
        Ok(())
    }

    fn add_spaces(&self, c: &Conn<'_>, events: &mut [Event]) -> Result<()> {
        let mut ids: Vec<SpaceId> = events.iter().filter_map(|event| event.space_id).collect();
        ids.sort_unstable();
        ids.dedup();
        if !self.project.has(Bundle::Spaces) {
            ids.clear();
        }
        let rows = spaces::store::find_all(c, self.project.id, &ids)?;
        let view = SpaceView::of(self.project.clone(), self.viewer, self.links.clone());
        let shown = view.spaces(c, rows)?;
        for event in events {
            let found = shown.iter().find(|space| Some(space.id) == event.space_id);
            event.space = Some(found.cloned().map(Box::new));
        }
        Ok(())
    }
}
