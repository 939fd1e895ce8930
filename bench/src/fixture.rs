//! What every scenario finds in the database: one project with all bundles, many users, a few of
//! them with a password, many entities, and many comments on the first of them. Users are written through the server's own stores.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use db::Db;
use townhall::auth::passwords::{Cost, Passwords};
use townhall::auth::tokens::Tokens;
use townhall::error::Error;
use townhall::features::projects::admin::{self, NewProject, ProjectSecrets};
use townhall::features::users::model::User;
use townhall::features::users::store::{self as users, UserRow};
use townhall::storage::signed::Signer;
use townhall::tenancy::Bundle;
use townhall::values::clock::Clock;
use townhall::values::ids::{ProjectId, SessionId, SpaceId, UserId, new_id};
use townhall::values::random::Random;
use townhall::values::time::Timestamp;
use uuid::Uuid;

use crate::chat::{self, Chat};
use crate::entities::{self, Entities};
use crate::server::SECRET;
use crate::webhooks::Webhooks;
use crate::{connections, spaces, tables};

pub const PASSWORD: &str = "correct horse battery staple";
/// Users that can sign in.
const SIGNERS: usize = 16;
/// Rows in one transaction.
const BATCH: usize = 1000;
const TOKEN_TTL: Duration = Duration::from_secs(24 * 3600);

#[derive(Debug)]
pub struct Fixture {
    pub project: ProjectId,
    pub users: Arc<[UserId]>,
    /// The first of the users: those with a password.
    pub signers: Vec<SigningIn>,
    /// One of the users, as replies show them.
    pub shown: User,
    /// The hash of their password.
    pub password_hash: String,
    /// Makes tokens that the server takes for its own.
    pub tokens: Tokens,
    pub passwords: Arc<Passwords>,
    pub now: Timestamp,
    pub entities: Entities,
    /// Those of the first entity.
    pub comments: Entities,
    /// The one that entities are in.
    pub space: SpaceId,
    pub chat: Chat,
    pub webhooks: Webhooks,
    /// Which page of a list is asked for.
    pub page: u32,
}

/// How much is seeded, and what is asked of it.
#[derive(Debug, Clone, Copy)]
pub struct Scale {
    pub users: usize,
    pub entities: usize,
    pub comments: usize,
    /// Further comments, on all entities in turn.
    pub spread_comments: usize,
    /// Of the custom table.
    pub rows: usize,
    pub chat: chat::Size,
    pub page: u32,
}

#[derive(Debug, Clone)]
pub struct SigningIn {
    pub id: UserId,
    pub email: String,
}

impl Fixture {
    pub async fn seed(db: &Db, scale: Scale) -> Result<Fixture, String> {
        let count = scale.users;
        let (clock, random) = (Clock::system(), Random::System);
        let now = clock.now();
        let project = create_project(db, now, &random).await?;
        let passwords = Passwords::new(Cost::Standard, random.clone()).map_err(text)?;
        let password_hash = passwords.hash(PASSWORD.to_owned()).await.map_err(text)?;
        let rows: Vec<UserRow> =
            (0..count).map(|number| user(number, count, &password_hash, now, &random)).collect();
        let signers = rows
            .iter()
            .take(SIGNERS)
            .filter_map(|row| row.email.clone().map(|email| SigningIn { id: row.id, email }));
        let signers = signers.collect();
        let ids: Arc<[UserId]> = rows.iter().map(|row| row.id).collect();
        for batch in rows.chunks(BATCH) {
            let batch = batch.to_vec();
            let written = db
                .write(move |tx| batch.iter().try_for_each(|row| users::insert(tx, project, row)));
            written.await.map_err(text)?;
        }
        let first = rows.first().ok_or("there must be users")?;
        connections::seed(db, project, first.id)?;
        let links = Signer::new(SECRET.as_bytes(), "", TOKEN_TTL).links(project, now);
        let shown = User::public(&links, first).map_err(text)?;
        entities::number_users(db, project)?;
        let entities = Entities::seed(db, project, scale.entities, now)?;
        let comments = entities.seed_comments(db, project, scale.comments, now)?;
        entities.spread_comments(db, project, scale.spread_comments, now)?;
        entities::forget_numbers(db)?;
        let members: Vec<UserId> = rows.iter().map(|row| row.id).take(2).collect();
        let space = spaces::seed(db, project, &members, now, &random).await?;
        spaces::fill(db, project, space, entities.created(scale.entities / 10))?;
        tables::seed(db, project, scale.rows, now).await?;
        let chat = chat::seed(db, project, &ids, scale.chat, now).await?;
        let mut small = [project; 3];
        for one in &mut small {
            *one = create_project(db, now, &random).await?;
        }
        let webhooks = Webhooks::seed(db, small, now).await?;
        db.execute_script("{analyze}").map_err(|error| error.to_string())?;
        Ok(Fixture {
            project,
            users: ids,
            signers,
            shown,
            password_hash,
            tokens: Tokens::new(SECRET.as_bytes(), TOKEN_TTL, TOKEN_TTL),
            passwords: Arc::new(passwords),
            now,
            entities,
            comments,
            space,
            chat,
            webhooks,
            page: scale.page,
        })
    }

    /// All that requests are about.
    pub fn projects(&self) -> [ProjectId; 4] {
        let Webhooks { without, dead, live } = &self.webhooks;
        [self.project, without.project, dead.project, live.project]
    }

    /// The projects and their users.
    pub fn known_ids(&self) -> HashSet<Uuid> {
        let Webhooks { without, dead, live } = &self.webhooks;
        let small = [without, dead, live].into_iter().flat_map(|writers| &writers.users);
        let users = small.chain(&*self.users).map(|user| user.0);
        self.projects().map(|project| project.0).into_iter().chain(users).collect()
    }

    /// An access token of the user.
    pub fn token(&self, user: UserId) -> String {
        self.token_in(self.project, user)
    }

    /// The same for a user of another project.
    pub fn token_in(&self, project: ProjectId, user: UserId) -> String {
        self.tokens.access(project, user, SessionId(user.0), self.now)
    }
}

pub async fn create_project(db: &Db, now: Timestamp, random: &Random) -> Result<ProjectId, String> {
    let id = ProjectId(new_id(now, random));
    let secrets = ProjectSecrets::generate(now, random).map_err(text)?;
    let new = NewProject { id, name: "Bench".to_owned(), bundles: Bundle::ALL.to_vec() };
    let created = db.write(move |tx| admin::create_project(tx, &new, &secrets, now));
    created.await.map_err(text)?;
    Ok(id)
}

/// Users joined one second after the other, the last of them now: ids sort by creation.
fn user(
    number: usize,
    count: usize,
    password_hash: &str,
    now: Timestamp,
    random: &Random,
) -> UserRow {
    let joined = now.minus(Duration::from_secs((count - number) as u64));
    let id = UserId(new_id(joined, random));
    UserRow {
        foreign_id: Some(format!("member-{number}")),
        name: Some(format!("Member Number {number}")),
        username: Some(format!("member_{number}")),
        email: Some(format!("member{number}@example.com")),
        password_hash: (number < SIGNERS).then(|| password_hash.to_owned()),
        bio: Some("Likes long walks, short queries and things that are there.".to_owned()),
        reputation: i64::try_from(number % 1000).unwrap_or(0),
        ..UserRow::new(id, joined)
    }
}

pub fn text(error: Error) -> String {
    error.to_string()
}
