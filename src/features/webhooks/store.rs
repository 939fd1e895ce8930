//! All SQL about webhook endpoints. Every change is announced, because nodes keep copies of what a project subscribes
//! to.

use db::{Conn, JsonText, Tx, args};

use crate::error::Result;
use crate::tenancy::store::changed;
use crate::values::ids::{ProjectId, QueueId};
use crate::values::time::Timestamp;

db::row! {
    #[derive(Debug, Clone)]
    pub struct EndpointRow {
        pub id: QueueId,
        pub is_first: bool,
        pub url: Option<String>,
        pub secret: Option<Vec<u8>>,
        pub previous_secret: Option<Vec<u8>>,
        pub events: JsonText,
        pub created_at: Timestamp,
        pub updated_at: Timestamp,
    }
}

macro_rules! endpoints {
    ($rest:literal) => {
        concat!(
            "SELECT id, is_first, url, secret, previous_secret, events, created_at, updated_at
             FROM webhook_endpoints WHERE project_id = $1 ",
            $rest
        )
    };
}

db::statements! {
    query FIND -> EndpointRow = endpoints!("AND id = $2");
    query FIND_FIRST -> EndpointRow = endpoints!("AND is_first");
    query LIST -> EndpointRow = endpoints!("ORDER BY is_first DESC, created_at, id");
    command UPSERT =
        "INSERT INTO webhook_endpoints (project_id, id, is_first, url, secret, previous_secret, events,
            created_at, updated_at)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
         ON CONFLICT (project_id, id) DO UPDATE SET url = excluded.url, secret = excluded.secret,
            previous_secret = excluded.previous_secret, events = excluded.events,
            updated_at = excluded.updated_at";
    command DELETE = "DELETE FROM webhook_endpoints WHERE project_id = $1 AND id = $2";
    command RENEW_SECRET =
        "UPDATE webhook_endpoints SET secret = CASE WHEN secret = $3 THEN $4 ELSE secret END,
            previous_secret = CASE WHEN previous_secret = $3 THEN $4 ELSE previous_secret END
         WHERE project_id = $1 AND id = $2";
}

pub fn find(c: &Conn<'_>, project: ProjectId, id: QueueId) -> Result<Option<EndpointRow>> {
    Ok(c.opt(&FIND, args![project, id])?)
}

/// The endpoint that the API sets.
pub fn find_first(c: &Conn<'_>, project: ProjectId) -> Result<Option<EndpointRow>> {
    Ok(c.opt(&FIND_FIRST, args![project])?)
}

pub fn list(c: &Conn<'_>, project: ProjectId) -> Result<Vec<EndpointRow>> {
    Ok(c.all(&LIST, args![project])?)
}

/// Inserts the endpoint or changes it.
pub fn put(tx: &Tx<'_>, project: ProjectId, row: &EndpointRow) -> Result<()> {
    let EndpointRow { id, is_first, url, secret, previous_secret, events, .. } = row;
    tx.execute(
        &UPSERT,
        args![
            project,
            *id,
            *is_first,
            url.as_deref(),
            secret.as_deref(),
            previous_secret.as_deref(),
            events.0.as_str(),
            row.created_at,
            row.updated_at
        ],
    )?;
    changed(tx, project)
}

pub fn delete(tx: &Tx<'_>, project: ProjectId, id: QueueId) -> Result<bool> {
    changed(tx, project)?;
    Ok(tx.execute(&DELETE, args![project, id])? > 0)
}

/// Replaces the first by the second, unless it was set anew meanwhile.
pub fn renew_secret(
    tx: &Tx<'_>,
    project: ProjectId,
    id: QueueId,
    (old, new): (&[u8], &[u8]),
) -> Result<()> {
    tx.execute(&RENEW_SECRET, args![project, id, old, new])?;
    Ok(())
}
