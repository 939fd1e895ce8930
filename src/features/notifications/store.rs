//! The SQL about notifications and their counts. Both change in one transaction. New rows come first, then
//! the counts, in the order of users; whoever changes rows that are there holds the counts before.

use std::collections::BTreeMap;

use db::{Command, Conn, JsonText, Tx, Value, args};

use crate::error::Result;
use crate::features::notifications::Notification;
use crate::http::page::Page;
use crate::ids::{NotificationId, ProjectId, UserId, first_id};
use crate::time::Timestamp;

db::row! {
    #[derive(Debug)]
    pub struct NotificationRow {
        pub id: NotificationId,
        pub r#type: String,
        pub action: String,
        pub is_read: bool,
        pub metadata: JsonText,
        pub created_at: Timestamp,
        pub updated_at: Timestamp,
    }
}

db::row! {
    /// How many notifications a user has.
    #[derive(Debug, Clone, Copy)]
    pub struct Counts {
        pub total: i64,
        pub unread: i64,
        /// Nothing older is unread.
        pub unread_since: Timestamp,
    }
}

impl Counts {
    /// Those of somebody who was never told anything.
    const NONE: Counts = Counts { total: 0, unread: 0, unread_since: Timestamp::from_millis(0) };
}

/// What is added to counts that are there.
macro_rules! counted {
    () => {
        "ON CONFLICT (project_id, user_id) DO UPDATE SET
            total = notification_counts.total + excluded.total,
            unread = notification_counts.unread + excluded.unread,
            unread_since = {least}(notification_counts.unread_since, excluded.unread_since)"
    };
}

db::statements! {
    query LIST -> NotificationRow =
        "SELECT id, type, action, is_read, metadata, created_at, updated_at FROM notifications
         WHERE project_id = $1 AND user_id = $2 ORDER BY id DESC LIMIT $3 OFFSET $4";
    query COUNTS -> Counts =
        "SELECT total, unread, unread_since FROM notification_counts
         WHERE project_id = $1 AND user_id = $2";
    query HOLD_COUNTS -> Counts =
        "SELECT total, unread, unread_since FROM notification_counts
         WHERE project_id = $1 AND user_id = $2 {for_no_key_update}";
    query EXISTS -> i64 =
        "SELECT count(*) FROM notifications WHERE project_id = $1 AND user_id = $2 AND id = $3";
    /// The user's row is held so that it cannot be deleted before the notification refers to it.
    command INSERT =
        "INSERT INTO notifications (project_id, id, user_id, type, action, is_read, metadata,
            created_at, updated_at)
         SELECT project_id, $2, id, $4, $5, FALSE, $6, $7, $7 FROM users
         WHERE project_id = $1 AND id = $3 {for_key_share}";
    command COUNT_ONE =
        concat!(
            "INSERT INTO notification_counts (project_id, user_id, total, unread, unread_since)
             SELECT project_id, id, 1, 1, CAST($3 AS {time}) FROM users
             WHERE project_id = $1 AND id = $2 ",
            counted!()
        );
    /// For a user who is kept from being deleted.
    command INSERT_KEPT =
        "INSERT INTO notifications (project_id, id, user_id, type, action, is_read, metadata,
            created_at, updated_at)
         VALUES ($1, $2, $3, $4, $5, FALSE, $6, $7, $7)";
    command COUNT_KEPT =
        concat!(
            "INSERT INTO notification_counts (project_id, user_id, total, unread, unread_since)
             VALUES ($1, $2, 1, 1, $3) ",
            counted!()
        );
    command MARK =
        "UPDATE notifications SET is_read = TRUE, updated_at = $4
         WHERE project_id = $1 AND user_id = $2 AND id = $3 AND NOT is_read";
    query UNREAD -> (NotificationId, Timestamp) =
        "SELECT id, created_at FROM notifications
         WHERE project_id = $1 AND user_id = $2 AND id >= $3 AND NOT is_read
         ORDER BY id LIMIT $4";
    command MARK_SOME =
        "UPDATE notifications SET is_read = TRUE, updated_at = $4
         WHERE project_id = $1 AND user_id = $2 AND id {any}($3)";
    command COUNT_READ =
        "UPDATE notification_counts SET unread = unread - $3, unread_since = $4
         WHERE project_id = $1 AND user_id = $2";
}

/// How many records one statement inserts.
const AT_ONCE: usize = 250;

pub fn counts(c: &Conn<'_>, project: ProjectId, user: UserId) -> Result<Counts> {
    Ok(c.opt(&COUNTS, args![project, user])?.unwrap_or(Counts::NONE))
}

/// Newest first.
pub fn list(
    c: &Conn<'_>,
    project: ProjectId,
    user: UserId,
    page: Page,
) -> Result<Vec<NotificationRow>> {
    Ok(c.all(&LIST, args![project, user, page.limit, page.offset()])?)
}

/// False if the user has no such notification. Marking it again changes nothing.
pub fn mark(
    tx: &Tx<'_>,
    project: ProjectId,
    user: UserId,
    id: NotificationId,
    now: Timestamp,
) -> Result<bool> {
    let Some(counts) = tx.opt(&HOLD_COUNTS, args![project, user])? else { return Ok(false) };
    if tx.execute(&MARK, args![project, user, id, now])? == 0 {
        return Ok(tx.one(&EXISTS, args![project, user, id])? > 0);
    }
    tx.later(&COUNT_READ, args![project, user, 1, counts.unread_since])?;
    Ok(true)
}

/// Marks the oldest of the user's unread ones, at most `limit`, and tells how many they were.
pub fn mark_some(
    tx: &Tx<'_>,
    project: ProjectId,
    user: UserId,
    now: Timestamp,
    limit: i64,
) -> Result<i64> {
    let Some(counts) = tx.opt(&HOLD_COUNTS, args![project, user])? else { return Ok(0) };
    let since = first_id(counts.unread_since);
    let unread = tx.all(&UNREAD, args![project, user, since, limit])?;
    let Some((_, newest)) = unread.last().copied() else { return Ok(0) };
    let count = i64::try_from(unread.len()).unwrap_or(i64::MAX);
    let ids: Vec<NotificationId> = unread.into_iter().map(|(id, _)| id).collect();
    tx.later(&MARK_SOME, args![project, user, NotificationId::list(&ids), now])?;
    tx.later(&COUNT_READ, args![project, user, count, newest])?;
    Ok(count)
}

/// Stores one notification, unread, if its recipient exists. Nobody waits for the outcome; but the second
/// statement looks for a recipient whom the first may have seen go.
pub fn insert_one(
    tx: &Tx<'_>,
    project: ProjectId,
    now: Timestamp,
    n: &Notification<'_>,
) -> Result<()> {
    let metadata = &*n.metadata;
    tx.later(&INSERT, args![project, n.id, n.user, n.kind, n.action, metadata, now])?;
    Ok(tx.later(&COUNT_ONE, args![project, n.user, now])?)
}

/// The same for a recipient who is kept from being deleted, by whatever means.
pub fn insert_kept(
    tx: &Tx<'_>,
    project: ProjectId,
    now: Timestamp,
    n: &Notification<'_>,
) -> Result<()> {
    let metadata = &*n.metadata;
    tx.together(|| {
        tx.later(&INSERT_KEPT, args![project, n.id, n.user, n.kind, n.action, metadata, now])?;
        Ok(tx.later(&COUNT_KEPT, args![project, n.user, now])?)
    })
}

/// Stores the notifications whose recipient exists, unread, and tells how many they were.
pub fn insert(
    tx: &Tx<'_>,
    project: ProjectId,
    now: Timestamp,
    new: &[Notification<'_>],
) -> Result<u64> {
    let mut in_order: Vec<&Notification<'_>> = new.iter().collect();
    in_order.sort_by_key(|notification| notification.user);
    let mut inserted = 0;
    for some in in_order.chunks(AT_ONCE) {
        let mut recipients: BTreeMap<UserId, i64> = BTreeMap::new();
        for recipient in insert_some(tx, project, now, some)? {
            inserted += 1;
            *recipients.entry(recipient).or_default() += 1;
        }
        count_some(tx, project, now, &recipients)?;
    }
    Ok(inserted)
}

/// One statement for many records; gives the recipient of each that was stored. What a record has
/// in common with the one before it is bound once: a message to everybody travels once.
fn insert_some(
    tx: &Tx<'_>,
    project: ProjectId,
    now: Timestamp,
    new: &[&Notification<'_>],
) -> Result<Vec<UserId>> {
    let mut args: Vec<Value<'_>> = vec![project.into(), now.into()];
    let mut rows = Vec::with_capacity(new.len());
    let mut before: Option<(&Notification<'_>, usize)> = None;
    for n in new {
        let content = match before {
            Some((other, content)) if n.says_the_same(other) => content,
            _ => {
                args.extend([n.kind.into(), n.action.into(), Value::from(&*n.metadata)]);
                args.len() - 2
            }
        };
        before = Some((n, content));
        args.extend([n.id.into(), n.user.into()]);
        let id = args.len() - 1;
        rows.push(format!(
            "(CAST(${id} AS {{uuid}}), CAST(${} AS {{uuid}}), CAST(${content} AS TEXT),
              CAST(${} AS TEXT), CAST(${} AS {{document}}))",
            id + 1,
            content + 1,
            content + 2,
        ));
    }
    let text = format!(
        "INSERT INTO notifications (project_id, id, user_id, type, action, is_read, metadata,
            created_at, updated_at)
         SELECT u.project_id, v.column1, u.id, v.column3, v.column4, FALSE, v.column5, $2, $2
         FROM (VALUES {}) AS v JOIN users u ON u.project_id = $1 AND u.id = v.column2
         {{for_key_share}} RETURNING user_id",
        rows.join(", ")
    );
    Ok(tx.all(&Command::<UserId>::built("notifications::store::insert_some", text), &args)?)
}

fn count_some(
    tx: &Tx<'_>,
    project: ProjectId,
    now: Timestamp,
    recipients: &BTreeMap<UserId, i64>,
) -> Result<()> {
    if recipients.is_empty() {
        return Ok(());
    }
    let mut args: Vec<Value<'_>> = vec![project.into(), now.into()];
    let mut rows = Vec::with_capacity(recipients.len());
    for (user, more) in recipients {
        args.extend([(*user).into(), (*more).into()]);
        let more = args.len();
        rows.push(format!("($1, ${}, ${more}, ${more}, $2)", more - 1));
    }
    let text = format!(
        "INSERT INTO notification_counts (project_id, user_id, total, unread, unread_since)
         VALUES {} {}",
        rows.join(", "),
        counted!()
    );
    tx.execute(&Command::built("notifications::store::count_some", text), &args)?;
    Ok(())
}
