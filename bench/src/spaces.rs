//! Many public spaces, all with the same two members, and the oldest tenth of the entities in the first
//! of them.

use std::time::Duration;

use db::{Db, Engine, JsonText};
use townhall::error::Error;
use townhall::features::spaces::members::store::{self as members, MemberRow};
use townhall::features::spaces::rules::{Posting, Reading, Role, Status, Visibility};
use townhall::features::spaces::store::{self, SpaceRow};
use townhall::values::ids::{MemberId, ProjectId, SpaceId, UserId, new_id};
use townhall::values::random::Random;
use townhall::values::time::Timestamp;
use uuid::Uuid;

use crate::fixture::text;

const COUNT: u64 = 1000;

/// The first of them.
pub async fn seed(
    db: &Db,
    project: ProjectId,
    users: &[UserId],
    now: Timestamp,
    random: &Random,
) -> Result<SpaceId, String> {
    let mut spaces = Vec::new();
    for number in 0..COUNT {
        let created = now.minus(Duration::from_secs(COUNT - number));
        let id = SpaceId(new_id(created, random));
        let joined = users.iter().take(2).map(|user| MemberRow {
            id: MemberId(new_id(created, random)),
            space_id: id,
            user_id: *user,
            role: Role::Admin,
            status: Status::Active,
            joined_at: created,
            created_at: created,
        });
        let creator = users.first().copied();
        spaces.push((space(id, number, creator, created), joined.collect::<Vec<_>>()));
    }
    let first = spaces.first().map(|(row, _)| row.id).ok_or("no space was made")?;
    let written = db.write(move |tx| {
        for (row, joined) in &spaces {
            store::insert(tx, project, row)?;
            members::insert(tx, project, row.id, joined)?;
        }
        Ok::<_, Error>(())
    });
    written.await.map_err(text)?;
    Ok(first)
}

fn space(id: SpaceId, number: u64, creator: Option<UserId>, created: Timestamp) -> SpaceRow {
    SpaceRow {
        id,
        slug: Some(format!("space-{number}")),
        name: format!("Space number {number}"),
        description: Some("Where people of one mind meet, and others look in.".to_owned()),
        user_id: creator,
        avatar_file_id: None,
        banner_file_id: None,
        reading_permission: Reading::Anyone,
        posting_permission: Posting::Members,
        visibility: Visibility::Public,
        nsfw: false,
        nsfw_effective: false,
        requires_approval: true,
        parent_id: None,
        depth: 0,
        metadata: JsonText("{}".to_owned()),
        members_count: 0,
        children_count: 0,
        created_at: created,
        updated_at: created,
    }
}

/// Puts everything that was created before this moment into the space.
pub fn fill(db: &Db, project: ProjectId, space: SpaceId, before: i64) -> Result<(), String> {
    let literal = |id: Uuid| match db.engine() {
        Engine::Sqlite => format!("x'{}'", id.simple()),
        Engine::Postgres => format!("'{id}'::uuid"),
    };
    let (of, within) = (literal(project.0), literal(space.0));
    let script = format!(
        "UPDATE entities SET space_id = {within} WHERE project_id = {of} AND created_at < {before};
         INSERT INTO entity_counts (project_id, scope, shard, total, within, space_id)
         SELECT {of}, 'space:{space}', 0, count(*), 'project', {within} FROM entities
         WHERE project_id = {of} AND space_id = {within};"
    );
    db.execute_script(&script).map_err(|error| error.to_string())
}
