//! The SQL for reading and marking notifications, and their counts. A user's notifications are counted by the
//! space they are about, so that spaces the user may not read can be left out. Lock order: new rows first
//! (`insert.rs`), then the counts, in the order of users; changes to existing rows lock the counts first.

pub mod hide;
pub mod insert;
pub mod recount;

use std::collections::BTreeMap;

use db::{Builder, Command, Conn, JsonText, Tx, args};

use crate::error::Result;
use crate::features::visibility::store::spaces::member_opens;
use crate::http::page::Page;
use crate::values::ids::{NotificationId, ProjectId, SpaceId, UserId, first_id};
use crate::values::time::Timestamp;

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
    /// An unread notification, and who caused it.
    #[derive(Debug)]
    pub struct UnreadRow {
        pub id: NotificationId,
        pub r#type: String,
        pub action: String,
        pub metadata: JsonText,
        pub actor_id: Option<UserId>,
    }
}

db::row! {
    /// The number of notifications that a user may read.
    #[derive(Debug, Clone, Copy)]
    pub struct Counts {
        pub total: i64,
        pub unread: i64,
    }
}

db::row! {
    /// Which spaces may have unread notifications, and since when.
    #[derive(Debug, Clone, Copy)]
    struct Part {
        space_id: SpaceId,
        unread: i64,
        /// Nothing older is unread.
        unread_since: Timestamp,
    }
}

db::row! {
    #[derive(Debug, Clone, Copy)]
    struct Unread {
        id: NotificationId,
        space_id: SpaceId,
        created_at: Timestamp,
    }
}

/// SQL: the user $2 may read what a notification `n` is about.
macro_rules! readable {
    () => {
        concat!(
            "NOT n.is_hidden AND (n.space_id IS NULL OR COALESCE((SELECT ",
            member_opens!("$2"),
            " FROM spaces s WHERE s.project_id = $1 AND s.id = n.space_id), FALSE))"
        )
    };
}

/// SQL: the user $2 may read the space that the counts `c` are about.
macro_rules! readable_part {
    () => {
        concat!(
            "COALESCE((SELECT ",
            member_opens!("$2"),
            " FROM spaces s WHERE s.project_id = $1 AND s.id = c.space_id), c.space_id = {nil})"
        )
    };
}

/// The change of existing counts.
macro_rules! counted {
    () => {
        "ON CONFLICT (project_id, user_id, space_id) DO UPDATE SET
            total = notification_counts.total + excluded.total,
            unread = notification_counts.unread + excluded.unread,
            unread_since = {least}(notification_counts.unread_since, excluded.unread_since)"
    };
}
pub(super) use counted;

db::statements! {
    query LIST -> NotificationRow =
        concat!(
            "SELECT n.id, n.type, n.action, n.is_read, n.metadata, n.created_at, n.updated_at
             FROM notifications n WHERE n.project_id = $1 AND n.user_id = $2 AND ",
            readable!(),
            " ORDER BY n.id DESC LIMIT $3 OFFSET $4"
        );
    query LIST_UNREAD -> UnreadRow =
        concat!(
            "SELECT n.id, n.type, n.action, n.metadata, n.actor_id FROM notifications n
             WHERE n.project_id = $1 AND n.user_id = $2 AND n.id >= $3 AND n.id < $4 AND NOT n.is_read
                AND NOT (n.type {any}($5)) AND ",
            readable!(),
            " ORDER BY n.id DESC LIMIT $6"
        );
    query COUNTS -> Counts =
        concat!(
            "SELECT CAST(COALESCE(sum(c.total), 0) AS {int}) AS total,
                CAST(COALESCE(sum(c.unread), 0) AS {int}) AS unread
             FROM notification_counts c WHERE c.project_id = $1 AND c.user_id = $2 AND ",
            readable_part!()
        );
    query LOCK_READABLE -> Part =
        concat!(
            "SELECT c.space_id, c.unread, c.unread_since FROM notification_counts c
             WHERE c.project_id = $1 AND c.user_id = $2 AND ",
            readable_part!(),
            " ORDER BY c.space_id {for_no_key_update}"
        );
    query LOCK_PART -> SpaceId =
        "SELECT space_id FROM notification_counts
         WHERE project_id = $1 AND user_id = $2 AND space_id = $3 {for_no_key_update}";
    query FIND -> SpaceId =
        concat!(
            "SELECT COALESCE(n.space_id, {nil}) FROM notifications n
             WHERE n.project_id = $1 AND n.user_id = $2 AND n.id = $3 AND ",
            readable!()
        );
    command MARK =
        "UPDATE notifications SET is_read = TRUE, updated_at = $4
         WHERE project_id = $1 AND user_id = $2 AND id = $3 AND NOT is_read";
    query UNREAD -> Unread =
        "SELECT id, COALESCE(space_id, {nil}) AS space_id, created_at FROM notifications
         WHERE project_id = $1 AND user_id = $2 AND id >= $3 AND NOT is_read AND NOT is_hidden
            AND COALESCE(space_id, {nil}) {any}($4)
         ORDER BY id LIMIT $5";
    command MARK_SOME =
        "UPDATE notifications SET is_read = TRUE, updated_at = $4
         WHERE project_id = $1 AND user_id = $2 AND id {any}($3)";
    command COUNT_READ =
        "UPDATE notification_counts SET unread = unread - $4
         WHERE project_id = $1 AND user_id = $2 AND space_id = $3";
    /// At most once per row and transaction: PostgreSQL checks the foreign key again when a transaction updates a
    /// row a second time, and that deadlocks with user deletion.
    command COUNT_READ_SINCE =
        "UPDATE notification_counts SET unread = unread - $4, unread_since = $5
         WHERE project_id = $1 AND user_id = $2 AND space_id = $3";
}

/// The space under which notifications about no space are counted.
pub(super) const NO_SPACE: SpaceId = SpaceId(uuid::Uuid::nil());

/// Records changed by one statement.
pub(super) const BATCH_SIZE: usize = 250;

pub fn counts(c: &Conn<'_>, project: ProjectId, user: UserId) -> Result<Counts> {
    Ok(c.one(&COUNTS, args![project, user])?)
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

/// The unread ones of some time, both ends included, but for some types. Newest first.
pub fn unread(
    c: &Conn<'_>,
    project: ProjectId,
    user: UserId,
    (since, until): (Timestamp, Timestamp),
    but: Vec<String>,
    limit: usize,
) -> Result<Vec<UnreadRow>> {
    let behind = Timestamp::from_millis(until.millis() + 1);
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    let args = args![project, user, first_id(since), first_id(behind), but, limit];
    Ok(c.all(&LIST_UNREAD, args)?)
}

/// False if the user has no such notification. Marking it again changes nothing.
pub fn mark(
    tx: &Tx<'_>,
    project: ProjectId,
    user: UserId,
    id: NotificationId,
    now: Timestamp,
) -> Result<bool> {
    let Some(space) = tx.opt(&FIND, args![project, user, id])? else { return Ok(false) };
    tx.opt(&LOCK_PART, args![project, user, space])?;
    if tx.execute(&MARK, args![project, user, id, now])? > 0 {
        tx.pipeline(&COUNT_READ, args![project, user, space, 1])?;
    }
    Ok(true)
}

/// Marks the user's oldest unread notifications, at most `limit`; returns how many.
pub fn mark_some(
    tx: &Tx<'_>,
    project: ProjectId,
    user: UserId,
    now: Timestamp,
    limit: i64,
) -> Result<i64> {
    let mut parts = tx.all(&LOCK_READABLE, args![project, user])?;
    parts.retain(|part| part.unread > 0);
    let Some(since) = parts.iter().map(|part| part.unread_since).min() else { return Ok(0) };
    let spaces: Vec<SpaceId> = parts.iter().map(|part| part.space_id).collect();
    let listed = SpaceId::list(&spaces);
    let unread = tx.all(&UNREAD, args![project, user, first_id(since), listed, limit])?;
    let Some(newest) = unread.last().map(|one| one.created_at) else { return Ok(0) };
    let ids: Vec<NotificationId> = unread.iter().map(|one| one.id).collect();
    tx.pipeline(&MARK_SOME, args![project, user, NotificationId::list(&ids), now])?;
    let mut marked: BTreeMap<SpaceId, i64> = BTreeMap::new();
    for one in &unread {
        *marked.entry(one.space_id).or_default() += 1;
    }
    for space in spaces {
        let count = marked.get(&space).copied().unwrap_or(0);
        tx.pipeline(&COUNT_READ_SINCE, args![project, user, space, count, newest])?;
    }
    Ok(i64::try_from(unread.len()).unwrap_or(i64::MAX))
}

/// The changes of some users' counts, in lock order.
#[derive(Debug, Default)]
pub(super) struct Changes(BTreeMap<(UserId, SpaceId), Change>);

#[derive(Debug, Default)]
struct Change {
    total: i64,
    unread: i64,
}

impl Changes {
    pub fn note(&mut self, user: UserId, space: Option<SpaceId>, is_read: bool, by: i64) {
        let change = self.0.entry((user, space.unwrap_or(NO_SPACE))).or_default();
        change.total += by;
        change.unread += if is_read { 0 } else { by };
    }

    /// `since`: a lower bound for the age of newly unread notifications.
    pub fn write(self, tx: &Tx<'_>, project: ProjectId, since: Timestamp) -> Result<()> {
        let changes: Vec<_> = self.0.into_iter().collect();
        for some in changes.chunks(BATCH_SIZE) {
            let mut rows = Builder::list([project.into(), since.into()]);
            for ((user, space), Change { total, unread }) in some {
                let row = [(*user).into(), (*space).into(), (*total).into(), (*unread).into()];
                let row = rows.bind_all(row);
                rows.add(format_args!("($1, {row}, $2)"));
            }
            let text = format!(
                "INSERT INTO notification_counts (project_id, user_id, space_id, total, unread,
                    unread_since)
                 VALUES {rows} {}",
                counted!()
            );
            tx.execute(&Command::built("notifications::store::change", text), rows.args())?;
        }
        Ok(())
    }
}
