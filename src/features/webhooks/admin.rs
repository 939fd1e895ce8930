//! Setting up endpoints: by the API for the first one, by the command line for all of them.

use db::JsonText;

use crate::auth::sealed::Sealer;
use crate::error::{Error, Result};
use crate::features::webhooks::deliver;
use crate::features::webhooks::signature::{Secrets, place};
use crate::features::webhooks::store::{self, EndpointRow};
use crate::features::webhooks::{INVALID_BODY, is_event};
use crate::jobs::store::queues;
use crate::mail::Mail;
use crate::outbound::{Failure, Outbound, Schemes, Target};
use crate::state::{App, SealedSecret, SealedSecrets};
use crate::tenancy;
use crate::values::ids::{ProjectId, QueueId, new_id};
use crate::values::metadata::to_json;
use crate::values::random::Random;
use crate::values::time::Timestamp;

const MAX_SECRET: usize = 1000;

/// What is none stays as it is.
#[derive(Debug, Default, Clone)]
pub struct Change {
    /// A URL that is null sends nothing any more.
    pub url: Option<Option<String>>,
    pub secret: Option<String>,
    pub events: Option<Vec<String>>,
    /// Whether the secret before a new one still signs beside it.
    pub keeps_previous_secret: bool,
}

/// Refuses a URL that is not called and events that nobody sends.
pub async fn check(outbound: &Outbound, change: &Change) -> Result<()> {
    if let Some(unknown) = change.events.iter().flatten().find(|name| !is_event(name)) {
        return Err(INVALID_BODY.because(format!("events: there is no event `{unknown}`")));
    }
    if let Some(secret) = &change.secret
        && (secret.is_empty() || secret.chars().count() > MAX_SECRET)
    {
        let why = format!("secret: must have 1 to {MAX_SECRET} characters");
        return Err(INVALID_BODY.because(why));
    }
    let Some(Some(url)) = &change.url else { return Ok(()) };
    let refused = |failure: Failure| INVALID_BODY.because(format!("url: {failure}"));
    outbound.check(&Target::parse(url).map_err(refused)?, Schemes::Both).await.map_err(refused)
}

/// The endpoint after a change.
fn changed(
    row: EndpointRow,
    change: Change,
    sealed: Option<Vec<u8>>,
    now: Timestamp,
) -> Result<EndpointRow> {
    let mut row = EndpointRow { updated_at: now, ..row };
    if let Some(new) = sealed {
        let previous = row.secret.replace(new);
        row.previous_secret = previous.filter(|_| change.keeps_previous_secret);
    }
    row.url = change.url.unwrap_or(row.url);
    if let Some(mut events) = change.events {
        let mut seen = std::collections::HashSet::new();
        events.retain(|event| seen.insert(event.clone()));
        row.events = JsonText(to_json(&events));
    }
    if row.url.is_some() && row.secret.is_none() {
        return Err(INVALID_BODY.because("secret: is required with a URL"));
    }
    Ok(row)
}

pub async fn set_first(
    app: &App,
    project: ProjectId,
    change: Change,
    now: Timestamp,
) -> Result<EndpointRow> {
    check(&app.outbound, &change).await?;
    let id = QueueId(new_id(now, &app.random));
    let (sealer, random) = (app.clone(), app.clone());
    let written = app.db.write(move |tx| {
        // Before it is read: otherwise two who set it would each bring back what the other has replaced.
        tenancy::store::lock(tx, project)?;
        let found = store::find_first(tx, project)?;
        let row = found.unwrap_or_else(|| blank(id, true, now));
        put(tx, project, row, change.clone(), (&sealer.sealer, &random.random), now)
    });
    let row = written.await?;
    // The other nodes get an announcement; this one drops its copy at once.
    app.projects.forget(project);
    Ok(row)
}

/// A new endpoint, or another state of one that is there.
pub fn put(
    tx: &db::Tx<'_>,
    project: ProjectId,
    row: EndpointRow,
    change: Change,
    (sealer, random): (&Sealer, &Random),
    now: Timestamp,
) -> Result<EndpointRow> {
    let seal = |secret: &String| sealer.seal(secret, &place(project, row.id), random);
    let sealed = change.secret.as_ref().map(seal).transpose()?;
    let row = changed(row, change, sealed, now)?;
    queues::insert(tx, project, row.id)?;
    store::put(tx, project, &row)?;
    Ok(row)
}

/// An endpoint to which nothing is sent yet.
pub fn blank(id: QueueId, is_first: bool, now: Timestamp) -> EndpointRow {
    EndpointRow {
        id,
        is_first,
        url: None,
        secret: None,
        previous_secret: None,
        events: JsonText("[]".to_owned()),
        created_at: now,
        updated_at: now,
    }
}

/// The events that an endpoint subscribes to.
pub fn events(row: &EndpointRow) -> Vec<String> {
    serde_json::from_str(&row.events.0).unwrap_or_default()
}

/// Sends a test event; returns the status of the reply.
pub async fn send_test(
    outbound: &Outbound,
    sealer: &Sealer,
    project: ProjectId,
    row: &EndpointRow,
    now: Timestamp,
) -> Result<u16> {
    let body = format!(
        r#"{{"type":"webhook.test","projectId":"{project}","stage":"complete","data":{{"endpointId":"{}"}}}}"#,
        row.id
    );
    let secrets = Secrets::open(sealer, project, row)?;
    let request = deliver::request(&secrets, body, now);
    let answer =
        outbound.call(deliver::target(row.url.as_deref())?, request, deliver::LIMITS).await;
    Ok(answer.map_err(Error::internal)?.status.as_u16())
}

/// Tells the operator that an endpoint has failed for a day.
pub(super) async fn mail_paused(app: &App, project: ProjectId, endpoint: QueueId) -> Result<()> {
    let Some(to) = app.config.operator_email.clone() else { return Ok(()) };
    let found = app.db.read(move |c| {
        let name = tenancy::store::find(c, project)?.map(|project| project.name);
        Ok::<_, Error>((name, store::find(c, project, endpoint)?))
    });
    let (Some(name), Some(row)) = found.await? else { return Ok(()) };
    let url = row.url.unwrap_or_default();
    let text = format!(
        "The webhook endpoint {url} of the project {name} ({project}) has failed for a day. Nothing is sent to it \
         until you continue with:\n\n    townhall webhooks resume {project} {endpoint}\n\nEvents of the last day are \
         kept and sent then. What went wrong is shown by:\n\n    townhall webhooks deliveries {project}\n"
    );
    let mail = Mail::new(to, "A webhook endpoint is paused", text);
    app.mailer.send(mail, app.clock.now(), &app.random).await
}

/// The secrets of a project's endpoints.
pub const SECRETS: SealedSecrets = SealedSecrets {
    list: |c, project| {
        let rows = store::list(c, project)?.into_iter();
        let secrets = rows.flat_map(|row| {
            let (name, place) = (row.id.to_string(), place(project, row.id));
            let of =
                move |sealed| SealedSecret { name: name.clone(), place: place.clone(), sealed };
            [row.secret, row.previous_secret].into_iter().flatten().map(of)
        });
        Ok(secrets.collect())
    },
    replace: |tx, project, endpoint, change| {
        let endpoint: QueueId = endpoint.parse().map_err(|why: &str| Error::internal(why))?;
        store::renew_secret(tx, project, endpoint, change)
    },
};
