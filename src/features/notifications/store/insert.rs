//! The SQL that stores new notifications. Each actor, kind and target has at most one unread notification: a
//! repeat is not stored. A unique index enforces it; the statements check first.

use std::collections::HashSet;

use db::{Builder, Command, Placeholder, Tx, Value, args};

use crate::error::Result;
use crate::features::notifications::Notification;
use crate::features::notifications::store::{BATCH_SIZE, Changes, NO_SPACE, counted};
use crate::values::ids::{NotificationId, ProjectId, SpaceId, UserId};
use crate::values::time::Timestamp;

/// SQL: the user $3 has no other unread notification of this type, about this target, by this actor. Nothing is
/// compared with null, of which a cluster would conclude that the table is not read.
macro_rules! is_news {
    ($type:literal, $subject:literal, $target:literal, $actor:literal) => {
        concat!(
            "NOT EXISTS (SELECT 1 FROM notifications o
                WHERE o.project_id = $1 AND o.subject_id = COALESCE(",
            $subject,
            ", {nil}) AND o.target_id = COALESCE(",
            $target,
            ", {nil}) AND o.user_id = $3 AND o.type = ",
            $type,
            " AND o.actor_id = COALESCE(",
            $actor,
            ", {nil}) AND NOT o.is_read AND o.id <> $2)"
        )
    };
}

/// The columns of a new notification.
macro_rules! insert {
    ($rest:expr) => {
        concat!(
            "INSERT INTO notifications (project_id, user_id, id, type, action, is_read, metadata,
                created_at, updated_at, subject_id, target_id, actor_id, space_id) ",
            $rest
        )
    };
}

/// Their values.
macro_rules! selected {
    ($project:literal) => {
        concat!(
            "SELECT ",
            $project,
            ", CAST($3 AS {uuid}), CAST($2 AS {uuid}), CAST($4 AS TEXT), CAST($5 AS TEXT), FALSE,
            CAST($6 AS {document}), CAST($7 AS {time}), CAST($7 AS {time}), CAST($8 AS {uuid}),
            CAST($9 AS {uuid}), CAST($10 AS {uuid}), CAST($11 AS {uuid})"
        )
    };
}

db::statements! {
    /// Locks the user's row, so that it cannot be deleted before the notification refers to it.
    command INSERT =
        insert!(concat!(
            selected!("u.project_id"),
            " FROM users u WHERE u.project_id = $1 AND u.id = $3 AND ",
            is_news!("$4", "$8", "$9", "$10"),
            " {for_key_share}"
        ));
    command COUNT_INSERTED =
        concat!(
            "INSERT INTO notification_counts (project_id, user_id, space_id, total, unread,
                unread_since)
             SELECT n.project_id, n.user_id, COALESCE(n.space_id, {nil}), 1, 1, n.created_at
             FROM notifications n WHERE n.project_id = $1 AND n.user_id = $2 AND n.id = $3 ",
            counted!()
        );
    /// For a user who is locked against deletion. On PostgreSQL this and the next are one statement and share
    /// one snapshot.
    command INSERT_KEPT =
        insert!(concat!(
            selected!("CAST($1 AS {uuid})"),
            " WHERE ",
            is_news!("$4", "$8", "$9", "$10")
        ));
    command COUNT_KEPT =
        concat!(
            "INSERT INTO notification_counts (project_id, user_id, space_id, total, unread,
                unread_since)
             SELECT CAST($1 AS {uuid}), CAST($3 AS {uuid}), CAST($4 AS {uuid}), 1, 1,
                CAST($5 AS {time})
             WHERE ",
            is_news!("$6", "$7", "$8", "$9"),
            " ",
            counted!()
        );
    query STORED -> NotificationId =
        "SELECT id FROM notifications WHERE project_id = $1 AND user_id {any}($2) AND id {any}($3)";
    /// Replaces the content of an unread notification.
    command REWORD =
        "UPDATE notifications SET metadata = $7
         WHERE project_id = $1 AND subject_id = $2 AND target_id = $3 AND user_id = $4 AND type = $5
            AND actor_id = $6 AND NOT is_read";
}

/// Stores one unread notification, if its recipient exists and it is no repeat. The result is not awaited.
pub fn insert_one(
    tx: &Tx<'_>,
    project: ProjectId,
    now: Timestamp,
    n: &Notification<'_>,
) -> Result<()> {
    tx.pipeline(&INSERT, &values(project, now, n))?;
    Ok(tx.pipeline(&COUNT_INSERTED, args![project, n.user, n.id])?)
}

/// The same for a recipient who is locked against deletion in any way, while nobody else acts on the target
/// as the same actor.
pub fn insert_kept(
    tx: &Tx<'_>,
    project: ProjectId,
    now: Timestamp,
    n: &Notification<'_>,
) -> Result<()> {
    if tx.is_on_cluster() {
        // Rows that come from no table of the project would go through the coordinator.
        return insert_one(tx, project, now, n);
    }
    let (subject, target) = n.about.subject.ids(n.user);
    let space = n.about.space.unwrap_or(NO_SPACE);
    tx.batch(|| {
        tx.pipeline(&INSERT_KEPT, &values(project, now, n))?;
        let key = args![project, n.id, n.user, space, now, n.kind, subject, target, n.about.actor];
        Ok(tx.pipeline(&COUNT_KEPT, key)?)
    })
}

fn values<'a>(project: ProjectId, now: Timestamp, n: &'a Notification<'_>) -> [Value<'a>; 11] {
    let (subject, target) = n.about.subject.ids(n.user);
    [
        project.into(),
        n.id.into(),
        n.user.into(),
        n.kind.into(),
        n.action.into(),
        Value::from(&*n.metadata),
        now.into(),
        subject.into(),
        target.into(),
        n.about.actor.into(),
        n.about.space.into(),
    ]
}

/// Which of them are stored.
pub fn stored(
    tx: &Tx<'_>,
    project: ProjectId,
    new: &[Notification<'_>],
) -> Result<HashSet<NotificationId>> {
    let users: Vec<UserId> = new.iter().map(|one| one.user).collect();
    let ids: Vec<NotificationId> = new.iter().map(|one| one.id).collect();
    let stored =
        tx.all(&STORED, args![project, UserId::list(&users), NotificationId::list(&ids)])?;
    Ok(stored.into_iter().collect())
}

/// Updates the unread notification that conflicts with this one to say what this one says; false if there is
/// none.
pub fn reword(tx: &Tx<'_>, project: ProjectId, n: &Notification<'_>) -> Result<bool> {
    let (subject, target) = n.about.subject.ids(n.user);
    let key =
        args![project, subject, target, n.user, n.kind, n.about.actor, Value::from(&*n.metadata)];
    Ok(tx.execute(&REWORD, key)? > 0)
}

/// Stores the notifications that are no repeats and whose recipients exist; returns how many.
pub fn insert(
    tx: &Tx<'_>,
    project: ProjectId,
    now: Timestamp,
    new: &[Notification<'_>],
) -> Result<u64> {
    let mut in_order: Vec<&Notification<'_>> = new.iter().collect();
    in_order.sort_by_key(|notification| notification.user);
    let mut inserted = 0;
    for some in in_order.chunks(BATCH_SIZE) {
        let mut changes = Changes::default();
        for (user, space) in insert_some(tx, project, now, some)? {
            inserted += 1;
            changes.note(user, space, false, 1);
        }
        changes.write(tx, project, now)?;
    }
    Ok(inserted)
}

/// One statement for many records; returns recipient and space of each stored one. Values equal to those of
/// the previous record are bound once, so a message to everybody is sent once.
fn insert_some(
    tx: &Tx<'_>,
    project: ProjectId,
    now: Timestamp,
    new: &[&Notification<'_>],
) -> Result<Vec<(UserId, Option<SpaceId>)>> {
    let mut rows = Builder::list([project.into(), now.into()]);
    let mut before: Option<(&Notification<'_>, [Placeholder; 7])> = None;
    for n in new {
        let content = match before {
            Some((other, content)) if n.says_the_same(other) => content,
            _ => {
                let [_, _, _, kind, action, metadata, _, subject, target, actor, space] =
                    values(project, now, n);
                [kind, action, metadata, subject, target, actor, space]
                    .map(|value| rows.bind(value))
            }
        };
        before = Some((n, content));
        let [kind, action, metadata, subject, target, actor, space] = content;
        let (id, user) = (rows.bind(n.id), rows.bind(n.user));
        rows.add(format_args!(
            "(CAST({id} AS {{uuid}}), CAST({user} AS {{uuid}}), CAST({kind} AS TEXT),
              CAST({action} AS TEXT), CAST({metadata} AS {{document}}),
              CAST({subject} AS {{uuid}}), CAST({target} AS {{uuid}}),
              CAST({actor} AS {{uuid}}), CAST({space} AS {{uuid}}))"
        ));
    }
    let text = format!(
        insert!(
            "SELECT u.project_id, u.id, v.column1, v.column3, v.column4, FALSE, v.column5, $2, $2,
                v.column6, v.column7, v.column8, v.column9
             FROM (VALUES {}) AS v JOIN users u ON u.project_id = $1 AND u.id = v.column2
             WHERE NOT EXISTS (SELECT 1 FROM notifications o
                WHERE o.project_id = $1 AND o.subject_id = COALESCE(v.column6, {{nil}})
                    AND o.target_id = COALESCE(v.column7, {{nil}}) AND o.user_id = v.column2
                    AND o.type = v.column3 AND o.actor_id = COALESCE(v.column8, {{nil}})
                    AND NOT o.is_read)
             {{for_key_share}} RETURNING user_id, space_id"
        ),
        rows
    );
    let insert = Command::<(UserId, Option<SpaceId>)>::built("notifications::insert_some", text);
    Ok(tx.all(&insert, rows.args())?)
}
