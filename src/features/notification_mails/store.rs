//! All SQL about notifications by mail: how users want them, when each is due, and their templates.

use db::{Conn, JsonText, Tx, args};

use crate::error::Result;
use crate::values::ids::{ProjectId, UserId};
use crate::values::names::names;
use crate::values::time::Timestamp;

names! {
    #[derive(Default)]
    #[schemars(rename = "MailFrequency")]
    Frequency {
        #[default]
        Immediate "immediate",
        Daily "daily",
        Weekly "weekly",
        Off "off",
    }
}

db::row! {
    /// How a user wants mails. The hours are in the time zone, UTC unless given.
    #[derive(Debug, Clone, Default, PartialEq)]
    pub struct PreferenceRow {
        pub frequency: Frequency,
        pub timezone: Option<String>,
        pub quiet_from: Option<i64>,
        pub quiet_until: Option<i64>,
        pub language: Option<String>,
    }
}

db::row! {
    /// A mail that is due, about everything since a time.
    #[derive(Debug, Clone, Copy)]
    pub struct DueRow {
        pub project_id: ProjectId,
        pub user_id: UserId,
        pub since: Timestamp,
        pub due_at: Timestamp,
    }
}

db::statements! {
    query FIND -> PreferenceRow =
        "SELECT frequency, timezone, quiet_from, quiet_until, language FROM mail_preferences
         WHERE project_id = $1 AND user_id = $2";
    command REPLACE =
        "INSERT INTO mail_preferences (project_id, user_id, frequency, timezone, quiet_from, quiet_until,
            language, updated_at)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
         ON CONFLICT (project_id, user_id) DO UPDATE SET frequency = excluded.frequency,
            timezone = excluded.timezone, quiet_from = excluded.quiet_from,
            quiet_until = excluded.quiet_until, language = excluded.language,
            updated_at = excluded.updated_at";

    /// If a mail is scheduled already, this notification joins it. Even then the row is locked: the job that takes the mail
    /// waits for this transaction, so no notification is left behind.
    command SCHEDULE =
        "INSERT INTO mail_schedules (project_id, user_id, since, due_at, not_before)
         SELECT u.project_id, u.id, CAST($3 AS {time}), CAST($4 AS {time}), 0 FROM users u
         WHERE u.project_id = $1 AND u.id = $2 AND u.is_verified AND u.email IS NOT NULL
         ON CONFLICT (project_id, user_id) DO UPDATE SET
            since = {least}(COALESCE(mail_schedules.since, excluded.since), excluded.since),
            due_at = COALESCE(mail_schedules.due_at, {greatest}(excluded.due_at, mail_schedules.not_before))
         WHERE mail_schedules.due_at IS NULL OR mail_schedules.since > excluded.since";
    query DUE -> DueRow, unscoped "the schedule serves every project" =
        "SELECT project_id, user_id, since, due_at FROM mail_schedules WHERE due_at <= $1
         ORDER BY due_at LIMIT $2";
    /// Of several nodes one takes it.
    command TAKE =
        "UPDATE mail_schedules SET since = NULL, due_at = NULL, not_before = $5
         WHERE project_id = $1 AND user_id = $2 AND since = $3 AND due_at = $4";
    command POSTPONE =
        "UPDATE mail_schedules SET due_at = {greatest}(CAST($3 AS {time}), not_before)
         WHERE project_id = $1 AND user_id = $2 AND due_at IS NOT NULL";
    command CANCEL =
        "UPDATE mail_schedules SET since = NULL, due_at = NULL WHERE project_id = $1 AND user_id = $2";

    query TEMPLATES -> (String, JsonText) =
        "SELECT language, settings FROM mail_templates WHERE project_id = $1 ORDER BY language";
    command SET_TEMPLATE =
        "INSERT INTO mail_templates (project_id, language, settings, updated_at) VALUES ($1, $2, $3, $4)
         ON CONFLICT (project_id, language) DO UPDATE SET settings = excluded.settings,
            updated_at = excluded.updated_at";
    command DELETE_TEMPLATE = "DELETE FROM mail_templates WHERE project_id = $1 AND language = $2";
}

pub fn find(c: &Conn<'_>, project: ProjectId, user: UserId) -> Result<PreferenceRow> {
    Ok(c.opt(&FIND, args![project, user])?.unwrap_or_default())
}

pub fn replace(
    tx: &Tx<'_>,
    project: ProjectId,
    user: UserId,
    row: &PreferenceRow,
    now: Timestamp,
) -> Result<()> {
    let PreferenceRow { frequency, timezone, quiet_from, quiet_until, language } = row;
    let args = args![project, user, *frequency, timezone, *quiet_from, *quiet_until, language, now];
    tx.execute(&REPLACE, args)?;
    Ok(())
}

/// Schedules a mail about what happened since a time, if the user has a verified address.
pub fn schedule(
    tx: &Tx<'_>,
    project: ProjectId,
    user: UserId,
    since: Timestamp,
    due: Timestamp,
) -> Result<()> {
    Ok(tx.pipeline(&SCHEDULE, args![project, user, since, due])?)
}

/// Some of the mails that are due, of any project. In the order in which they are locked, that of the users.
pub fn due(c: &Conn<'_>, now: Timestamp, limit: i64) -> Result<Vec<DueRow>> {
    let mut due = c.all(&DUE, args![now, limit])?;
    due.sort_by_key(|row| (row.project_id, row.user_id));
    Ok(due)
}

/// False if another node was faster. The next mail to this user comes then at the earliest.
pub fn take(tx: &Tx<'_>, row: &DueRow, not_before: Timestamp) -> Result<bool> {
    let DueRow { project_id, user_id, since, due_at } = *row;
    Ok(tx.execute(&TAKE, args![project_id, user_id, since, due_at, not_before])? > 0)
}

/// Moves a scheduled mail, if there is one, or cancels it.
pub fn reschedule(
    tx: &Tx<'_>,
    project: ProjectId,
    user: UserId,
    due: Option<Timestamp>,
) -> Result<()> {
    match due {
        Some(due) => tx.execute(&POSTPONE, args![project, user, due])?,
        None => tx.execute(&CANCEL, args![project, user])?,
    };
    Ok(())
}

pub fn templates(c: &Conn<'_>, project: ProjectId) -> Result<Vec<(String, JsonText)>> {
    Ok(c.all(&TEMPLATES, args![project])?)
}

pub fn set_template(
    tx: &Tx<'_>,
    project: ProjectId,
    language: &str,
    settings: &str,
    now: Timestamp,
) -> Result<()> {
    tx.execute(&SET_TEMPLATE, args![project, language, settings, now])?;
    Ok(())
}

/// False if there was none.
pub fn delete_template(tx: &Tx<'_>, project: ProjectId, language: &str) -> Result<bool> {
    Ok(tx.execute(&DELETE_TEMPLATE, args![project, language])? > 0)
}
