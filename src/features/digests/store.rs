//! All SQL about digests: their settings, which of them are due, and what is new in a space.

use db::{Conn, Tx, args};

use crate::error::{Error, Result};
use crate::state::{SealedSecret, SealedSecrets};
use crate::values::ids::{EntityId, MemberId, ProjectId, SpaceId};
use crate::values::time::Timestamp;
use crate::values::timezone::ZoneName;

db::row! {
    #[derive(Debug, Clone, Default)]
    pub struct DigestRow {
        pub is_enabled: bool,
        pub url: Option<String>,
        pub secret: Option<Vec<u8>>,
        pub hour: Option<i64>,
        pub timezone: Option<String>,
        pub next_at: Option<Timestamp>,
    }
}

impl DigestRow {
    /// When it is due next; none if hour or zone is missing.
    pub fn due_after(&self, now: Timestamp) -> Option<Timestamp> {
        let zone = ZoneName::try_from(self.timezone.clone()?).ok()?;
        zone.next(i8::try_from(self.hour?).ok()?, now)
    }
}

/// What the secret is sealed for.
pub fn place(project: ProjectId, space: SpaceId) -> String {
    format!("digest of space {space} of project {project}")
}

pub const SECRETS: SealedSecrets = SealedSecrets {
    list: |c, project| {
        let rows = c.all(&SEALED, args![project])?.into_iter();
        let secrets = rows.map(|(space, sealed): (SpaceId, Vec<u8>)| SealedSecret {
            name: space.to_string(),
            place: place(project, space),
            sealed,
        });
        Ok(secrets.collect())
    },
    replace: |tx, project, space, (old, new)| {
        let space: SpaceId = space.parse().map_err(|why: &str| Error::internal(why))?;
        tx.execute(&RENEW_SECRET, args![project, space, old, new])?;
        Ok(())
    },
};

db::statements! {
    query FIND -> DigestRow =
        "SELECT is_enabled, url, secret, hour, timezone, next_at FROM space_digests
         WHERE project_id = $1 AND space_id = $2";
    command REPLACE =
        "INSERT INTO space_digests (project_id, space_id, is_enabled, url, secret, hour, timezone, next_at,
            updated_at)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
         ON CONFLICT (project_id, space_id) DO UPDATE SET is_enabled = excluded.is_enabled, url = excluded.url,
            secret = excluded.secret, hour = excluded.hour, timezone = excluded.timezone,
            next_at = excluded.next_at, updated_at = excluded.updated_at";
    query SEALED -> (SpaceId, Vec<u8>) =
        "SELECT space_id, secret FROM space_digests WHERE project_id = $1 AND secret IS NOT NULL";
    command RENEW_SECRET =
        "UPDATE space_digests SET secret = $4 WHERE project_id = $1 AND space_id = $2 AND secret = $3";
    query DUE -> (ProjectId, SpaceId, Timestamp), unscoped "the schedule serves every project" =
        "SELECT project_id, space_id, next_at FROM space_digests WHERE next_at <= $1 ORDER BY next_at LIMIT $2";
    /// Of several nodes one moves a digest on from $3.
    command MOVE_ON =
        "UPDATE space_digests SET next_at = $4 WHERE project_id = $1 AND space_id = $2 AND next_at = $3";

    query NEW_ENTITIES -> EntityId =
        "SELECT id FROM entities
         WHERE project_id = $1 AND space_id = $2 AND is_listed AND created_at >= $3 AND created_at < $4
         ORDER BY created_at DESC, id DESC LIMIT $5";
    query COUNT_ENTITIES -> i64 =
        "SELECT count(*) FROM entities
         WHERE project_id = $1 AND space_id = $2 AND is_listed AND created_at >= $3 AND created_at < $4";
    query NEW_MEMBERS -> MemberId =
        "SELECT id FROM space_members
         WHERE project_id = $1 AND space_id = $2 AND status = 'active' AND rank IN (0, 1, 2)
            AND joined_at >= $3 AND joined_at < $4
         ORDER BY joined_at DESC, id DESC LIMIT $5";
    query COUNT_MEMBERS -> i64 =
        "SELECT count(*) FROM space_members
         WHERE project_id = $1 AND space_id = $2 AND status = 'active' AND rank IN (0, 1, 2)
            AND joined_at >= $3 AND joined_at < $4";
    query COUNT_COMMENTS -> i64 =
        "SELECT count(*) FROM comments c
         JOIN entities e ON e.project_id = c.project_id AND e.id = c.entity_id
         WHERE c.project_id = $1 AND c.created_at >= $3 AND c.created_at < $4 AND c.deleted_at IS NULL
            AND c.user_deleted_at IS NULL AND c.parent_deleted_at IS NULL
            AND (c.moderation_status IS NULL OR c.moderation_status <> 'removed')
            AND e.project_id = $1 AND e.space_id = $2 AND e.is_listed";
}

pub fn find(c: &Conn<'_>, project: ProjectId, space: SpaceId) -> Result<Option<DigestRow>> {
    Ok(c.opt(&FIND, args![project, space])?)
}

pub fn replace(
    tx: &Tx<'_>,
    project: ProjectId,
    space: SpaceId,
    row: &DigestRow,
    now: Timestamp,
) -> Result<()> {
    let args = args![
        project,
        space,
        row.is_enabled,
        &row.url,
        row.secret.as_deref(),
        row.hour,
        &row.timezone,
        row.next_at,
        now
    ];
    tx.execute(&REPLACE, args)?;
    Ok(())
}

/// Some of the digests that are due, of any project.
pub fn due(
    c: &Conn<'_>,
    now: Timestamp,
    limit: i64,
) -> Result<Vec<(ProjectId, SpaceId, Timestamp)>> {
    Ok(c.all(&DUE, args![now, limit])?)
}

/// False if another node was faster.
pub fn move_on(
    tx: &Tx<'_>,
    project: ProjectId,
    space: SpaceId,
    from: Timestamp,
    to: Option<Timestamp>,
) -> Result<bool> {
    Ok(tx.execute(&MOVE_ON, args![project, space, from, to])? > 0)
}

/// What happened in a space in some time.
#[derive(Debug)]
pub struct News {
    pub entities: Vec<EntityId>,
    pub members: Vec<MemberId>,
    pub entity_count: i64,
    pub comment_count: i64,
    pub member_count: i64,
}

/// Up to `limit` of the newest entities and members, and the number of all.
pub fn news(
    c: &Conn<'_>,
    project: ProjectId,
    space: SpaceId,
    (from, until): (Timestamp, Timestamp),
    limit: i64,
) -> Result<News> {
    let counted = args![project, space, from, until];
    let listed = args![project, space, from, until, limit];
    Ok(News {
        entities: c.all(&NEW_ENTITIES, listed)?,
        members: c.all(&NEW_MEMBERS, listed)?,
        entity_count: c.one(&COUNT_ENTITIES, counted)?,
        comment_count: c.one(&COUNT_COMMENTS, counted)?,
        member_count: c.one(&COUNT_MEMBERS, counted)?,
    })
}
