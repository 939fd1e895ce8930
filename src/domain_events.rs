//! Domain events: what has happened, said by the feature it happened in. A feature declares each kind of event beside
//! the write that causes it; a feature that is interested is an observer above it, registered in `features/mod.rs`. Observers
//! are called in the transaction of the event, so that work for outside, a job, is stored if and only if the event is.
//! Before that, observers may refuse what is about to be stored, while no transaction is open.

use std::fmt;
use std::future::Future;
use std::marker::PhantomData;
use std::pin::Pin;
use std::sync::Arc;

use db::Tx;
use serde::Serialize;
use serde_json::value::RawValue;

use crate::error::{Error, Fault, Result};
use crate::state::App;
use crate::tenancy::Project;
use crate::values::ids::UserId;
use crate::values::time::Timestamp;

/// A kind of event about a `T`, as the API shows it.
pub struct EventKind<T> {
    name: &'static str,
    /// The error of the request, when an observer refuses it.
    refused: Option<Fault>,
    about: PhantomData<fn(&T)>,
}

impl<T> EventKind<T> {
    /// `name`: as webhooks call it.
    pub const fn new(name: &'static str) -> Self {
        EventKind { name, refused: None, about: PhantomData }
    }

    pub const fn name(&self) -> &'static str {
        self.name
    }

    /// Observers may refuse it beforehand, with this fault.
    pub const fn refusable(self, fault: Fault) -> Self {
        EventKind { refused: Some(fault), ..self }
    }
}

impl<T: Serialize> EventKind<T> {
    pub fn event(&self, about: &T) -> Result<Event> {
        let data = serde_json::value::to_raw_value(about).map_err(Error::internal)?;
        Ok(Event { name: self.name, refused: self.refused, initiator: None, changed: None, data })
    }
}

/// Something that happened, or is about to.
#[derive(Debug)]
pub struct Event {
    pub name: &'static str,
    refused: Option<Fault>,
    /// Who caused it, for events that say so; nobody for an anonymous one.
    pub initiator: Option<Option<UserId>>,
    /// The names of the fields that a change is about; none for something new.
    pub changed: Option<Vec<String>>,
    pub data: Box<RawValue>,
}

impl Event {
    pub fn by(self, initiator: Option<UserId>) -> Self {
        Event { initiator: Some(initiator), ..self }
    }

    pub fn changing(self, fields: &[String]) -> Self {
        Event { changed: Some(fields.to_vec()), ..self }
    }
}

/// The names of the fields that have changed.
pub fn changed<const N: usize>(fields: [(&str, bool); N]) -> Vec<String> {
    fields
        .into_iter()
        .filter(|(_, has_changed)| *has_changed)
        .map(|(name, _)| name.into())
        .collect()
}

/// Why an observer refuses; none for a reason that is not the caller's business.
#[derive(Debug)]
pub struct Refusal(pub Option<String>);

pub type Verdict<'a> = Pin<Box<dyn Future<Output = Result<(), Refusal>> + Send + 'a>>;

pub trait EventObserver: Send + Sync {
    /// Whether it is called for events of this name.
    fn observes(&self, project: &Project, name: &str) -> bool;
    /// Whether it may refuse events of this name.
    fn validates(&self, _project: &Project, _name: &str) -> bool {
        false
    }
    /// In the transaction of the event.
    fn happened(&self, tx: &Tx<'_>, context: Context<'_>, event: &Event) -> Result<()>;
    fn validate<'a>(&'a self, _: &'a App, _: &'a Project, _: &'a Event) -> Verdict<'a> {
        Box::pin(async { Ok(()) })
    }
}

#[derive(Debug, Clone, Copy)]
pub struct Context<'a> {
    pub app: &'a App,
    pub project: &'a Project,
    pub now: Timestamp,
}

fn observers(app: &App) -> impl Iterator<Item = &'static dyn EventObserver> {
    app.lists.of::<&'static dyn EventObserver>().iter().copied()
}

/// Calls the observers of an event, which is made only if there are any.
pub fn happened<T>(
    tx: &Tx<'_>,
    context: Context<'_>,
    kind: &EventKind<T>,
    event: impl FnOnce() -> Result<Event>,
) -> Result<()> {
    if !is_observed(context.app, context.project, kind) {
        return Ok(());
    }
    tell(tx, context, &event()?)
}

pub fn is_observed<T>(app: &App, project: &Project, kind: &EventKind<T>) -> bool {
    observers(app).any(|observer| observer.observes(project, kind.name))
}

fn tell(tx: &Tx<'_>, context: Context<'_>, event: &Event) -> Result<()> {
    observers(context.app)
        .filter(|observer| observer.observes(context.project, event.name))
        .try_for_each(|observer| observer.happened(tx, context, event))
}

/// One transaction that is an event, and which observers may refuse. To let them see what would be stored, it is
/// rehearsed first: run and rolled back. `names`: of all events that it may be; `event`: which one it is, by its
/// result.
pub async fn write<R, F, E>(
    app: &App,
    project: &Arc<Project>,
    names: &[&str],
    work: F,
    event: E,
) -> Result<R>
where
    R: Send + 'static,
    F: Fn(&Tx<'_>) -> Result<R> + Send + Sync + 'static,
    E: Fn(&R) -> Result<Option<Event>> + Send + Sync + 'static,
{
    let (work, event) = (Arc::new(work), Arc::new(event));
    let is_any = |of: &dyn Fn(&dyn EventObserver, &str) -> bool| {
        observers(app).any(|observer| names.iter().any(|name| of(observer, name)))
    };
    if is_any(&|observer, name| observer.validates(project, name)) {
        let rehearsed = rehearse(app, Arc::clone(&work), Arc::clone(&event)).await?;
        if let Some(proposed) = rehearsed {
            validate(app, project, &proposed).await?;
        }
    }
    if !is_any(&|observer, name| observer.observes(project, name)) {
        return app.db.write(move |tx| work(tx)).await;
    }
    let (state, of) = (app.clone(), Arc::clone(project));
    let written = app.db.write(move |tx| {
        let result = work(tx)?;
        if let Some(event) = event(&result)? {
            let now = state.clock.now();
            tell(tx, Context { app: &state, project: &of, now }, &event)?;
        }
        Ok(result)
    });
    written.await
}

async fn validate(app: &App, project: &Project, event: &Event) -> Result<()> {
    let Some(fault) = event.refused else { return Ok(()) };
    for observer in observers(app).filter(|one| one.validates(project, event.name)) {
        if let Err(Refusal(why)) = observer.validate(app, project, event).await {
            return Err(why.map_or(fault.into(), |why| fault.because(why)));
        }
    }
    Ok(())
}

/// How a transaction ends that only shows what it would do.
enum Rehearsed {
    Event(Option<Event>),
    Failed(Error),
}

impl From<db::Error> for Rehearsed {
    fn from(error: db::Error) -> Self {
        Rehearsed::Failed(error.into())
    }
}

async fn rehearse<R, F, E>(app: &App, work: Arc<F>, event: Arc<E>) -> Result<Option<Event>>
where
    R: Send + 'static,
    F: Fn(&Tx<'_>) -> Result<R> + Send + Sync + 'static,
    E: Fn(&R) -> Result<Option<Event>> + Send + Sync + 'static,
{
    let rehearsed = app.db.write::<(), _, _>(move |tx| {
        let done = work(tx).and_then(|result| {
            tx.flush()?;
            event(&result)
        });
        Err(done.map_or_else(Rehearsed::Failed, Rehearsed::Event))
    });
    match rehearsed.await {
        Err(Rehearsed::Event(event)) => Ok(event),
        Err(Rehearsed::Failed(error)) => Err(error),
        Ok(()) => Ok(None),
    }
}

impl<T> fmt::Debug for EventKind<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "EventKind({})", self.name)
    }
}
