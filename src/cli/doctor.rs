//! `townhall doctor`: is everything as it should be?

use std::fmt::Write as _;

use db::Db;
use serde_json::{Value, json};

use crate::app::World;
use crate::cli::{Output, plain};
use crate::config::{Config, is_writable};
use crate::features::chat::counters as chat;
use crate::features::collections::counters as collections;
use crate::features::comments::counters as comments;
use crate::features::connections::counters as connections;
use crate::features::entities::counters as entities;
use crate::features::follows::counters as follows;
use crate::features::notifications::counters as notifications;
use crate::features::projects::store as projects;
use crate::features::reports::counters as reports;
use crate::features::spaces::counters as spaces;
use crate::features::tables::examine::examine;
use crate::features::tables::sql::Dialect;
use crate::ids::{
    ChatMessageId, CollectionId, CommentId, ConversationId, EntityId, ProjectId, ReportId, SpaceId,
    UserId,
};
use crate::schema::MIGRATIONS;
use crate::start;
use crate::time::Timestamp;

/// Below this much free space the operator should act.
const LITTLE_SPACE: u64 = 1 << 30;

#[derive(Debug)]
struct Check {
    name: &'static str,
    result: Result<String, String>,
}

pub(super) fn diagnose(config: &Config, fix: bool) -> Output {
    let mut checks = vec![
        Check { name: "configuration", result: Ok("readable".to_owned()) },
        Check { name: "storage", result: storage(config) },
        Check { name: "disk", result: disk(config) },
    ];
    match start::open_database(config) {
        Ok(db) => {
            let schema = schema(&db);
            let is_sound = schema.is_ok();
            checks.push(Check { name: "database", result: schema });
            if is_sound {
                let now = World::real().clock.now();
                checks.push(Check { name: "clock", result: clock(&db, now) });
                checks.push(Check { name: "custom tables", result: tables(&db) });
                checks.push(Check { name: "counters", result: counters(&db, fix) });
            }
        }
        Err(error) => checks.push(Check { name: "database", result: Err(error) }),
    }
    report(&checks)
}

fn report(checks: &[Check]) -> Output {
    let mut text = String::new();
    for check in checks {
        let (mark, detail) = match &check.result {
            Ok(detail) => ("ok", detail),
            Err(detail) => ("FAIL", detail),
        };
        let _ = writeln!(text, "{mark:<5} {:<14} {detail}", check.name);
    }
    let json: Vec<Value> = checks
        .iter()
        .map(|check| {
            let status = if check.result.is_ok() { "pass" } else { "fail" };
            let detail = check.result.as_ref().unwrap_or_else(|detail| detail);
            json!({ "check": check.name, "status": status, "detail": detail })
        })
        .collect();
    let failed = checks.iter().any(|check| check.result.is_err());
    let status = if failed { "fail" } else { "pass" };
    Output { text, json: json!({ "status": status, "checks": json }), failed }
}

fn storage(config: &Config) -> Result<String, String> {
    let directory = config.data_dir.display();
    if is_writable(&config.data_dir) {
        Ok(format!("{directory} is writable"))
    } else {
        Err(format!("{directory} is missing or not writable"))
    }
}

fn disk(config: &Config) -> Result<String, String> {
    let space = rustix::fs::statvfs(&config.data_dir).map_err(|error| error.to_string())?;
    let free = space.f_bavail * space.f_frsize;
    let text = format!("{} MiB free", free >> 20);
    if free < LITTLE_SPACE { Err(text) } else { Ok(text) }
}

fn schema(db: &Db) -> Result<String, String> {
    let states = db.migration_status(MIGRATIONS).map_err(|error| error.to_string())?;
    match states.iter().filter(|state| state.applied_at.is_none()).count() {
        0 => Ok(format!("reachable, schema {}", states.len())),
        pending => Err(format!("{pending} migrations are pending: townhall migrate up")),
    }
}

/// A clock that was set back shows in rows that come from the future.
fn clock(db: &Db, now: Timestamp) -> Result<String, String> {
    let newest = block_on(db.read(projects::newest))?;
    match newest {
        Some(newest) if newest > now => {
            Err(format!("it is {now}, but the database holds something from {newest}"))
        }
        _ => Ok(now.to_string()),
    }
}

/// What does not agree with what it counts.
struct Drift {
    notified: Vec<(ProjectId, UserId)>,
    reacted: Vec<(ProjectId, EntityId)>,
    reacted_comments: Vec<(ProjectId, CommentId)>,
    /// Entities and comments with a wrong number of answers.
    answered: Vec<(ProjectId, EntityId)>,
    answered_comments: Vec<(ProjectId, CommentId)>,
    reported: Vec<(ProjectId, ReportId)>,
    saved: Vec<(ProjectId, CollectionId)>,
    followed: Vec<(ProjectId, UserId)>,
    connected: Vec<(ProjectId, UserId)>,
    /// Spaces with a wrong number of members or children.
    joined: Vec<(ProjectId, SpaceId)>,
    /// Conversations with a wrong number of members, messages with one of replies or reactions.
    conversations: Vec<(ProjectId, ConversationId)>,
    messages: Vec<(ProjectId, ChatMessageId)>,
    /// How many feeds of each project.
    feeds: Vec<(ProjectId, usize)>,
}

impl Drift {
    fn find(db: &Db) -> Result<Self, String> {
        let mut feeds = Vec::new();
        for project in block_on(db.read_slow(entities::projects))? {
            let wrong = block_on(db.read_slow(move |c| entities::drifted_feeds(c, project)))?;
            feeds.extend(Some((project, wrong.len())).filter(|(_, wrong)| *wrong > 0));
        }
        Ok(Drift {
            notified: block_on(db.read_slow(notifications::drifted))?,
            reacted: block_on(db.read_slow(entities::miscounted))?,
            reacted_comments: block_on(db.read_slow(comments::miscounted_reactions))?,
            answered: block_on(db.read_slow(comments::miscounted_entities))?,
            answered_comments: block_on(db.read_slow(comments::miscounted_comments))?,
            reported: block_on(db.read_slow(reports::drifted))?,
            saved: block_on(db.read_slow(collections::drifted))?,
            followed: block_on(db.read_slow(follows::drifted))?,
            connected: block_on(db.read_slow(connections::drifted))?,
            joined: block_on(db.read_slow(spaces::miscounted))?,
            conversations: block_on(db.read_slow(chat::miscounted))?,
            messages: block_on(db.read_slow(chat::miscounted_messages))?,
            feeds,
        })
    }

    fn feeds(&self) -> usize {
        self.feeds.iter().map(|(_, wrong)| wrong).sum()
    }

    fn reactions(&self) -> usize {
        self.reacted.len() + self.reacted_comments.len()
    }

    fn answers(&self) -> usize {
        self.answered.len() + self.answered_comments.len()
    }

    fn in_chat(&self) -> usize {
        self.conversations.len() + self.messages.len()
    }

    fn total(&self) -> usize {
        let on_content = self.reactions() + self.answers() + self.reported.len();
        let of_users = self.notified.len() + self.followed.len() + self.connected.len();
        let listed = self.saved.len() + self.joined.len() + self.feeds();
        on_content + of_users + listed + self.in_chat()
    }

    /// How many were repaired.
    fn repair(self, db: &Db) -> Result<u64, String> {
        let mut repaired = 0;
        for (project, user) in self.notified {
            block_on(db.write(move |tx| notifications::repair(tx, project, user)))?;
            repaired += 1;
        }
        for (project, entity) in self.reacted {
            block_on(db.write(move |tx| entities::repair_reactions(tx, project, entity)))?;
            repaired += 1;
        }
        for (project, comment) in self.reacted_comments {
            block_on(db.write(move |tx| comments::repair_reactions(tx, project, comment)))?;
            repaired += 1;
        }
        for (project, entity) in self.answered {
            block_on(db.write(move |tx| comments::repair_entity(tx, project, entity)))?;
            repaired += 1;
        }
        for (project, comment) in self.answered_comments {
            block_on(db.write(move |tx| comments::repair_comment(tx, project, comment)))?;
            repaired += 1;
        }
        for (project, report) in self.reported {
            block_on(db.write(move |tx| reports::repair(tx, project, report)))?;
            repaired += 1;
        }
        for (project, collection) in self.saved {
            block_on(db.write(move |tx| collections::repair(tx, project, collection)))?;
            repaired += 1;
        }
        for (project, user) in self.followed {
            block_on(db.write(move |tx| follows::repair(tx, project, user)))?;
            repaired += 1;
        }
        for (project, user) in self.connected {
            block_on(db.write(move |tx| connections::repair(tx, project, user)))?;
            repaired += 1;
        }
        for (project, space) in self.joined {
            block_on(db.write(move |tx| spaces::repair(tx, project, space)))?;
            repaired += 1;
        }
        for (project, conversation) in self.conversations {
            block_on(db.write(move |tx| chat::repair(tx, project, conversation)))?;
            repaired += 1;
        }
        for (project, message) in self.messages {
            block_on(db.write(move |tx| chat::repair_message(tx, project, message)))?;
            repaired += 1;
        }
        for (project, _) in self.feeds {
            repaired += block_on(db.write(move |tx| entities::repair_feeds(tx, project)))?;
        }
        Ok(repaired)
    }
}

fn counters(db: &Db, fix: bool) -> Result<String, String> {
    let drift = Drift::find(db)?;
    match drift.total() {
        0 => Ok("all agree with what they count".to_owned()),
        drifted if fix => {
            let repaired = drift.repair(db)?;
            Ok(format!("{drifted} had drifted, {repaired} were repaired"))
        }
        _ => Err(format!(
            "{} wrong counts of notifications, {} of reactions, {} of comments, {} of reports, \
             {} of feeds, {} of collections, {} of follows, {} of connections, {} of spaces, \
             {} of chat; \
             repair with --fix",
            drift.notified.len(),
            drift.reactions(),
            drift.answers(),
            drift.reported.len(),
            drift.feeds(),
            drift.saved.len(),
            drift.followed.len(),
            drift.connected.len(),
            drift.joined.len(),
            drift.in_chat(),
        )),
    }
}

/// Tables that were changed behind the server's back cannot be used through it.
fn tables(db: &Db) -> Result<String, String> {
    let dialect = Dialect(db.engine());
    match block_on(db.read_slow(move |c| examine(c, dialect)))? {
        (count, wrong) if wrong.is_empty() => Ok(format!("{count}, all as they were made")),
        (_, wrong) => Err(wrong.join("; ")),
    }
}

fn block_on<T>(work: impl Future<Output = crate::error::Result<T>>) -> Result<T, String> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.map_err(|error| error.to_string())?.block_on(work).map_err(plain)
}
