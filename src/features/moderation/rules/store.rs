//! All SQL about rules: the rules themselves, what they remember, what they found in shadow, and what a back-test reads.

use db::{Conn, JsonText, Tx, args};
use uuid::Uuid;

use crate::error::Result;
use crate::features::moderation::reports::model::TargetType;
use crate::features::moderation::rules::model::{RuleAction, RuleState};
use crate::values::ids::{ProjectId, ReportId, RuleId, SpaceId, UserId};
use crate::values::time::Timestamp;

db::row! {
    #[derive(Debug, Clone)]
    pub struct RuleRow {
        pub id: RuleId,
        pub position: i64,
        pub name: String,
        pub targets: JsonText,
        pub condition: JsonText,
        pub action: RuleAction,
        pub state: RuleState,
        pub message: Option<String>,
        pub created_at: Timestamp,
        pub updated_at: Timestamp,
    }
}

db::row! {
    /// What a rule in shadow would have acted on.
    #[derive(Debug, Clone, serde::Serialize)]
    #[serde(rename_all = "camelCase")]
    pub struct Hit {
        pub id: Uuid,
        pub target_type: TargetType,
        pub target_id: Uuid,
        pub action: RuleAction,
        pub created_at: Timestamp,
    }
}

db::row! {
    /// A text of the past.
    #[derive(Debug, Clone)]
    pub struct TextRow {
        pub id: Uuid,
        pub user_id: Option<UserId>,
        pub title: Option<String>,
        pub content: Option<String>,
        pub signed_up_at: Option<Timestamp>,
        pub created_at: Timestamp,
    }
}

db::statements! {
    query LIST -> RuleRow =
        "SELECT id, position, name, targets, condition, action, state, message, created_at, updated_at
         FROM moderation_rules WHERE project_id = $1 ORDER BY position, id";
    command INSERT =
        "INSERT INTO moderation_rules (project_id, id, position, name, targets, condition, action, state,
            message, created_at, updated_at)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $10)";
    command UPDATE =
        "UPDATE moderation_rules SET name = $3, targets = $4, condition = $5, action = $6, state = $7,
            message = $8, updated_at = $9
         WHERE project_id = $1 AND id = $2";
    command DELETE = "DELETE FROM moderation_rules WHERE project_id = $1 AND id = $2";
    command PLACE =
        "UPDATE moderation_rules SET position = $3 WHERE project_id = $1 AND id = $2";
    query SIGNED_UP -> Timestamp = "SELECT created_at FROM users WHERE project_id = $1 AND id = $2";
    query WRITTEN_SINCE -> i64 =
        "SELECT count(*) FROM moderation_posts
         WHERE project_id = $1 AND user_id = $2 AND written_at > $3";
    query SAME_SINCE -> Uuid =
        "SELECT id FROM moderation_posts
         WHERE project_id = $1 AND text_hash = $2 AND written_at > $3 AND id <> $4 LIMIT 1";
    command REMEMBER =
        "INSERT INTO moderation_posts (project_id, id, user_id, text_hash, written_at)
         VALUES ($1, $2, $3, $4, $5)
         ON CONFLICT (project_id, id) DO UPDATE SET text_hash = excluded.text_hash";
    command FORGET_OLD, unscoped "the worker serves every project" =
        "DELETE FROM moderation_posts WHERE written_at < $1 AND (project_id, id) IN
            (SELECT project_id, id FROM moderation_posts WHERE written_at < $1 ORDER BY written_at LIMIT $2)";
    command FORGET_OLD_HITS, unscoped "the worker serves every project" =
        "DELETE FROM moderation_rule_hits WHERE created_at < $1 AND (project_id, id) IN
            (SELECT project_id, id FROM moderation_rule_hits WHERE created_at < $1
             ORDER BY created_at LIMIT $2)";
    query HAS_ENTITY -> Uuid =
        "SELECT id FROM entities WHERE project_id = $1 AND user_id = $2 AND is_listed AND id <> $3 LIMIT 1";
    query HAS_COMMENT -> Uuid =
        "SELECT id FROM comments
         WHERE project_id = $1 AND user_id = $2 AND deleted_at IS NULL AND user_deleted_at IS NULL
            AND COALESCE(moderation_status, '') <> 'removed' AND id <> $3 LIMIT 1";
    query HAS_MESSAGE -> Uuid =
        "SELECT id FROM chat_messages
         WHERE project_id = $1 AND user_id = $2 AND NOT is_removed AND id <> $3 LIMIT 1";
    /// The open report of the content, or a new one.
    command OPEN_REPORT =
        "INSERT INTO reports (project_id, id, space_id, target_type, target_id, status, reporter_count,
            created_at, updated_at, author_id, rule_id, is_held, matches)
         VALUES ($1, $2, $3, $4, $5, 'open', 0, $6, $6, $7, $8, $9, $10)
         ON CONFLICT (project_id, target_type, target_id) WHERE status = 'open'
            DO UPDATE SET rule_id = excluded.rule_id, matches = excluded.matches,
                is_held = (reports.is_held OR excluded.is_held), updated_at = excluded.updated_at";
    command NOTE_HIT =
        "INSERT INTO moderation_rule_hits (project_id, id, rule_id, target_type, target_id, action, created_at)
         VALUES ($1, $2, $3, $4, $5, $6, $7)";
    query HITS -> Hit =
        "SELECT id, target_type, target_id, action, created_at FROM moderation_rule_hits
         WHERE project_id = $1 AND rule_id = $2 ORDER BY created_at DESC, id DESC LIMIT $3";
    query COUNT_HITS -> i64 =
        "SELECT count(*) FROM moderation_rule_hits WHERE project_id = $1 AND rule_id = $2";
    query PAST_ENTITIES -> TextRow =
        "SELECT e.id, e.user_id, b.title, b.content, u.created_at AS signed_up_at, e.created_at
         FROM entities e JOIN entity_bodies b ON b.project_id = e.project_id AND b.id = e.id
            LEFT JOIN users u ON u.project_id = e.project_id AND u.id = e.user_id
         WHERE e.project_id = $1 AND e.id > $2 AND e.deleted_at IS NULL AND NOT e.is_draft
         ORDER BY e.id LIMIT $3";
    query PAST_COMMENTS -> TextRow =
        "SELECT c.id, c.user_id, NULL AS title, b.content, u.created_at AS signed_up_at, c.created_at
         FROM comments c JOIN comment_bodies b ON b.project_id = c.project_id AND b.id = c.id
            LEFT JOIN users u ON u.project_id = c.project_id AND u.id = c.user_id
         WHERE c.project_id = $1 AND c.id > $2 AND c.deleted_at IS NULL
         ORDER BY c.id LIMIT $3";
    query PAST_MESSAGES -> TextRow =
        "SELECT m.id, m.user_id, NULL AS title, m.content, u.created_at AS signed_up_at, m.created_at
         FROM chat_messages m LEFT JOIN users u ON u.project_id = m.project_id AND u.id = m.user_id
         WHERE m.project_id = $1 AND m.id > $2
         ORDER BY m.id LIMIT $3";
}

pub fn list(c: &Conn<'_>, project: ProjectId) -> Result<Vec<RuleRow>> {
    Ok(c.all(&LIST, args![project])?)
}

pub fn insert(tx: &Tx<'_>, project: ProjectId, row: &RuleRow) -> Result<()> {
    let RuleRow {
        id, position, name, targets, condition, action, state, message, created_at, ..
    } = row;
    tx.execute(
        &INSERT,
        args![
            project,
            *id,
            *position,
            name,
            targets,
            condition,
            *action,
            *state,
            message,
            *created_at
        ],
    )?;
    Ok(())
}

/// False if there is no such rule.
pub fn update(tx: &Tx<'_>, project: ProjectId, row: &RuleRow) -> Result<bool> {
    let RuleRow { id, name, targets, condition, action, state, message, updated_at, .. } = row;
    let args = args![project, *id, name, targets, condition, *action, *state, message, *updated_at];
    Ok(tx.execute(&UPDATE, args)? > 0)
}

pub fn delete(tx: &Tx<'_>, project: ProjectId, id: RuleId) -> Result<bool> {
    Ok(tx.execute(&DELETE, args![project, id])? > 0)
}

pub fn place(tx: &Tx<'_>, project: ProjectId, id: RuleId, position: i64) -> Result<bool> {
    Ok(tx.execute(&PLACE, args![project, id, position])? > 0)
}

pub fn signed_up(c: &Conn<'_>, project: ProjectId, user: UserId) -> Result<Option<Timestamp>> {
    Ok(c.opt(&SIGNED_UP, args![project, user])?)
}

/// How many posts of the user are remembered.
pub fn written_since(
    c: &Conn<'_>,
    project: ProjectId,
    user: UserId,
    since: Timestamp,
) -> Result<i64> {
    Ok(c.one(&WRITTEN_SINCE, args![project, user, since])?)
}

/// Whether another post had this text.
pub fn same_since(
    c: &Conn<'_>,
    project: ProjectId,
    hash: Uuid,
    since: Timestamp,
    id: Uuid,
) -> Result<bool> {
    Ok(c.opt(&SAME_SINCE, args![project, hash, since, id])?.is_some())
}

pub fn remember(
    tx: &Tx<'_>,
    project: ProjectId,
    (id, hash): (Uuid, Uuid),
    user: Option<UserId>,
    now: Timestamp,
) -> Result<()> {
    Ok(tx.pipeline(&REMEMBER, args![project, id, user, hash, now])?)
}

/// Whether the user has something that others can see, besides this.
pub fn has_posted(c: &Conn<'_>, project: ProjectId, user: UserId, except: Uuid) -> Result<bool> {
    for statement in [&HAS_ENTITY, &HAS_COMMENT, &HAS_MESSAGE] {
        if c.opt(statement, args![project, user, except])?.is_some() {
            return Ok(true);
        }
    }
    Ok(false)
}

/// A report of a rule.
#[derive(Debug)]
pub struct NewCase<'a> {
    pub id: ReportId,
    pub rule: RuleId,
    pub kind: TargetType,
    pub target: Uuid,
    pub author: Option<UserId>,
    pub space: Option<SpaceId>,
    pub is_held: bool,
    pub matches: &'a JsonText,
}

pub fn open_report(
    tx: &Tx<'_>,
    project: ProjectId,
    new: &NewCase<'_>,
    now: Timestamp,
) -> Result<()> {
    let NewCase { id, rule, kind, target, author, space, is_held, matches } = *new;
    let args = args![project, id, space, kind, target, now, author, rule, is_held, matches];
    Ok(tx.pipeline(&OPEN_REPORT, args)?)
}

pub fn note_hit(tx: &Tx<'_>, project: ProjectId, rule: RuleId, hit: &Hit) -> Result<()> {
    let Hit { id, target_type, target_id, action, created_at } = *hit;
    Ok(tx.pipeline(
        &NOTE_HIT,
        args![project, id, rule, target_type, target_id, action, created_at],
    )?)
}

/// The newest, and how many there are.
pub fn hits(c: &Conn<'_>, project: ProjectId, rule: RuleId, limit: i64) -> Result<(Vec<Hit>, i64)> {
    let newest = c.all(&HITS, args![project, rule, limit])?;
    Ok((newest, c.one(&COUNT_HITS, args![project, rule])?))
}

/// Some of the content of one kind that was made after an id, oldest first.
pub fn past(
    c: &Conn<'_>,
    project: ProjectId,
    kind: TargetType,
    after: Uuid,
    limit: i64,
) -> Result<Vec<TextRow>> {
    let statement = match kind {
        TargetType::Entity => &PAST_ENTITIES,
        TargetType::Comment => &PAST_COMMENTS,
        TargetType::Message => &PAST_MESSAGES,
    };
    Ok(c.all(statement, args![project, after, limit])?)
}

/// Deletes remembered posts after a day, and what rules in shadow found after thirty.
pub fn sweep(tx: &Tx<'_>, now: Timestamp, most: i64) -> Result<u64> {
    let day = std::time::Duration::from_secs(24 * 3600);
    let posts = tx.execute(&FORGET_OLD, args![now.minus(day), most])?;
    Ok(posts + tx.execute(&FORGET_OLD_HITS, args![now.minus(day * 30), most])?)
}
