//! The SQL about users; their reputation, suspensions and counters have files of their own.

pub mod authored;
pub mod lock_pair;
pub mod points;
pub mod related;
pub mod trigrams;

use db::{AnyStatement as _, Conn, Later, Query, Tx, args};

use crate::auth::caller::Initiator;
use crate::error::{Error, Result};
pub use crate::features::users::row::UserRow;
use crate::features::users::{DUPLICATE_EMAIL, DUPLICATE_USER_FIELD, DUPLICATE_USERNAME};
use crate::features::visibility::store::blocks::Hidden;
use crate::search_queue::{Kind, store as search_queue};
use crate::values::ids::{ProjectId, UserId};
use crate::values::time::Timestamp;

/// The columns of a whole row.
macro_rules! user_columns {
    () => {
        "id, foreign_id, role, name, username, email, password_hash, is_verified, is_active, avatar,
            avatar_path, avatar_file_id, banner_file_id, bio, birthdate, latitude, longitude,
            metadata, secure_metadata, reputation, last_active, created_at, updated_at"
    };
}
pub(crate) use user_columns;

/// The same of users `u` shown to everybody, as authors are: without e-mail, password hash and secure metadata.
macro_rules! public_user_columns {
    () => {
        "u.id, u.foreign_id, u.role, u.name, u.username, NULL AS email, NULL AS password_hash,
            u.is_verified, u.is_active, u.avatar, u.avatar_path, u.avatar_file_id, u.banner_file_id, u.bio,
            u.birthdate, u.latitude, u.longitude, u.metadata, '{}' AS secure_metadata, u.reputation,
            u.last_active, u.created_at, u.updated_at"
    };
}
pub(crate) use public_user_columns;

/// `SELECT` of a whole row from `users`; conditions follow.
macro_rules! select_user {
    ($rest:literal) => {
        concat!("SELECT ", user_columns!(), " FROM users WHERE project_id = $1 ", $rest)
    };
}

db::statements! {
    query PROVIDERS -> String =
        "SELECT provider FROM identities WHERE project_id = $1 AND user_id = $2
         ORDER BY created_at, id";
    query FIND -> UserRow = select_user!("AND id = $2");
    /// Users are indexed by project and id, and there are few projects.
    query FIND_FOR_UPDATE -> UserRow = select_user!("AND id = $2 {for_update}");
    query LOCK_SHARED -> UserRow = select_user!("AND id = $2 {for_key_share}");
    query LOCK_ALL_SHARED -> UserId =
        "SELECT id FROM users WHERE project_id = $1 AND id {any}($2) ORDER BY id {for_key_share}";
    query FIND_ALL -> UserRow = select_user!("AND id {any}($2)");
    query FIND_ALL_PUBLIC -> UserRow = concat!(
        "SELECT ", public_user_columns!(), " FROM users u WHERE u.project_id = $1 AND u.id {any}($2)");
    query FIND_BY_EMAIL -> UserRow = select_user!("AND email = $2");
    query FIND_BY_FOREIGN_ID -> UserRow = select_user!("AND foreign_id = $2");
    query FIND_BY_USERNAME -> UserRow = select_user!("AND username = $2");
    /// Usernames that begin with $2: those that sort from $2 up to $3.
    query SUGGEST_BY_PREFIX -> UserRow =
        select_user!("AND username >= $2 AND username < $3 ORDER BY username LIMIT $4");
    /// Usernames that contain $2, but not at the beginning.
    query SUGGEST_BY_PART -> UserRow =
        select_user!("AND username IS NOT NULL AND {contains}(username, $2) > 1 ORDER BY username LIMIT $3");
    query IDS_AFTER -> UserId =
        "SELECT id FROM users WHERE project_id = $1 AND id > $2 ORDER BY id LIMIT $3";
    query NAMES -> (Option<String>, Option<String>) =
        "SELECT username, name FROM users WHERE project_id = $1 AND id = $2";
    query HAS_PASSWORD -> bool =
        "SELECT password_hash IS NOT NULL FROM users WHERE project_id = $1 AND id = $2";
    query USERNAME_TAKEN -> i64 = "SELECT count(*) FROM users WHERE project_id = $1 AND username = $2";
    command INSERT =
        "INSERT INTO users (project_id, id, foreign_id, role, name, username, email, password_hash,
            is_verified, is_active, avatar, avatar_path, avatar_file_id, banner_file_id, bio, birthdate,
            latitude, longitude, metadata, secure_metadata, reputation, last_active, created_at,
            updated_at)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19,
            $20, $21, $22, $23, $24)";
    command UPDATE_PROFILE =
        "UPDATE users SET foreign_id = $3, name = $4, username = $5, email = $6, avatar = $7,
            avatar_file_id = $8, bio = $9, birthdate = $10, latitude = $11, longitude = $12,
            metadata = $13, secure_metadata = $14, avatar_path = $15, banner_file_id = $16,
            updated_at = $17
         WHERE project_id = $1 AND id = $2";
    command TOUCH = "UPDATE users SET last_active = $3 WHERE project_id = $1 AND id = $2";
    command SET_PASSWORD =
        "UPDATE users SET password_hash = $3, updated_at = $4 WHERE project_id = $1 AND id = $2";
    command CLEAR_PASSWORD =
        "UPDATE users SET password_hash = NULL, updated_at = $3 WHERE project_id = $1 AND id = $2";
    command SET_VERIFIED =
        "UPDATE users SET is_verified = TRUE, updated_at = $3 WHERE project_id = $1 AND id = $2";
    command DELETE = "DELETE FROM users WHERE project_id = $1 AND id = $2";
}

pub fn find(c: &Conn<'_>, project: ProjectId, id: UserId) -> Result<Option<UserRow>> {
    Ok(c.opt(&FIND, args![project, id])?)
}

/// The same without waiting for it.
pub fn find_later(tx: &Tx<'_>, project: ProjectId, id: UserId) -> Result<Later<UserRow>> {
    Ok(tx.later(&FIND, args![project, id])?)
}

/// Those of the ids that exist, in no particular order.
pub fn find_all(c: &Conn<'_>, project: ProjectId, ids: &[UserId]) -> Result<Vec<UserRow>> {
    if ids.is_empty() {
        return Ok(Vec::new());
    }
    Ok(c.all(&FIND_ALL, args![project, UserId::list(ids)])?)
}

/// The same to show them to everybody.
pub fn find_all_public(c: &Conn<'_>, project: ProjectId, ids: &[UserId]) -> Result<Vec<UserRow>> {
    if ids.is_empty() {
        return Ok(Vec::new());
    }
    Ok(c.all(&FIND_ALL_PUBLIC, args![project, UserId::list(ids)])?)
}

pub fn find_for_update(tx: &Tx<'_>, project: ProjectId, id: UserId) -> Result<Option<UserRow>> {
    Ok(tx.opt(&FIND_FOR_UPDATE, args![project, id])?)
}

/// Locked against deletion until the transaction ends (shared).
pub fn lock_shared(tx: &Tx<'_>, project: ProjectId, id: UserId) -> Result<Option<UserRow>> {
    Ok(tx.opt(&LOCK_SHARED, args![project, id])?)
}

/// The same without waiting for it.
pub fn lock_shared_later(tx: &Tx<'_>, project: ProjectId, id: UserId) -> Result<Later<UserRow>> {
    Ok(tx.later(&LOCK_SHARED, args![project, id])?)
}

/// Those of them that exist, each once; locked against deletion until the transaction ends.
pub fn lock_all_shared(tx: &Tx<'_>, project: ProjectId, ids: &[UserId]) -> Result<Vec<UserId>> {
    if ids.is_empty() {
        return Ok(Vec::new());
    }
    Ok(tx.all(&LOCK_ALL_SHARED, args![project, UserId::list(ids)])?)
}

pub fn find_by_email(c: &Conn<'_>, project: ProjectId, email: &str) -> Result<Option<UserRow>> {
    Ok(c.opt(&FIND_BY_EMAIL, args![project, email])?)
}

pub fn find_by_foreign_id(c: &Conn<'_>, project: ProjectId, id: &str) -> Result<Option<UserRow>> {
    Ok(c.opt(&FIND_BY_FOREIGN_ID, args![project, id])?)
}

/// The user with this id, address, username or foreign id.
pub fn find_by_any(c: &Conn<'_>, project: ProjectId, text: &str) -> Result<Vec<UserRow>> {
    let by_id = match text.parse() {
        Ok(id) => find(c, project, UserId(id))?,
        Err(_) => None,
    };
    let found = [
        by_id,
        // Addresses are stored in lower case.
        find_by_email(c, project, &text.to_lowercase())?,
        find_by_username(c, project, text)?,
        find_by_foreign_id(c, project, text)?,
    ];
    let mut rows: Vec<UserRow> = found.into_iter().flatten().collect();
    rows.sort_by_key(|row| row.id);
    rows.dedup_by_key(|row| row.id);
    Ok(rows)
}

pub fn find_by_username(c: &Conn<'_>, project: ProjectId, name: &str) -> Result<Option<UserRow>> {
    Ok(c.opt(&FIND_BY_USERNAME, args![project, name])?)
}

/// Users whose username begins with `part`, then those that contain it elsewhere; each in order.
pub fn suggest(
    c: &Conn<'_>,
    project: ProjectId,
    part: &str,
    limit: usize,
    hidden: &Hidden,
) -> Result<Vec<UserRow>> {
    let count = |n: usize| i64::try_from(n).unwrap_or(i64::MAX);
    let end = format!("{part}\u{10FFFF}");
    let by_prefix = args![project, part, end, count(limit)];
    let mut found = match hidden.viewer() {
        None => c.all(&SUGGEST_BY_PREFIX, by_prefix)?,
        Some(viewer) => {
            let query = without(&SUGGEST_BY_PREFIX, hidden, "$5");
            c.all(&query, &[by_prefix, args![viewer]].concat())?
        }
    };
    if found.len() < limit {
        let by_part = args![project, part, count(limit - found.len())];
        found.extend(match hidden.viewer() {
            None => c.all(&SUGGEST_BY_PART, by_part)?,
            Some(viewer) => {
                let query = without(&SUGGEST_BY_PART, hidden, "$4");
                c.all(&query, &[by_part, args![viewer]].concat())?
            }
        });
    }
    Ok(found)
}

/// The same query without users hidden from the viewer.
fn without(query: &Query<UserRow>, hidden: &Hidden, viewer: &str) -> Query<UserRow> {
    let visible = format!(" AND {} ORDER BY ", hidden.condition("users.id", viewer));
    Query::built("users::store::suggest_visible", query.text().replacen(" ORDER BY ", &visible, 1))
}

/// The next ids after `after`, for iterating over all users.
pub fn ids_after(
    c: &Conn<'_>,
    project: ProjectId,
    after: UserId,
    limit: usize,
) -> Result<Vec<UserId>> {
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    Ok(c.all(&IDS_AFTER, args![project, after, limit])?)
}

/// `None` when there is no such user.
pub fn has_password(c: &Conn<'_>, project: ProjectId, id: UserId) -> Result<Option<bool>> {
    Ok(c.opt(&HAS_PASSWORD, args![project, id])?)
}

pub fn is_username_taken(c: &Conn<'_>, project: ProjectId, username: &str) -> Result<bool> {
    Ok(c.one(&USERNAME_TAKEN, args![project, username])? > 0)
}

pub fn insert(tx: &Tx<'_>, project: ProjectId, u: &UserRow) -> Result<()> {
    let inserted = tx.execute(
        &INSERT,
        args![
            project,
            u.id,
            &u.foreign_id,
            &u.role,
            &u.name,
            &u.username,
            &u.email,
            &u.password_hash,
            u.is_verified,
            u.is_active,
            &u.avatar,
            &u.avatar_path,
            u.avatar_file_id,
            u.banner_file_id,
            &u.bio,
            u.birthdate,
            u.latitude,
            u.longitude,
            &u.metadata,
            &u.secure_metadata,
            u.reputation,
            u.last_active,
            u.created_at,
            u.updated_at
        ],
    );
    inserted.map_err(duplicate)?;
    search_queue::note(tx, project, Kind::User, u.id.0)?;
    trigrams::insert(tx, project, u)
}

/// Writes the fields that a profile update or an external sign-in may change.
pub fn update_profile(tx: &Tx<'_>, project: ProjectId, u: &UserRow) -> Result<()> {
    let before = tx.opt(&NAMES, args![project, u.id])?;
    let updated = tx.execute(
        &UPDATE_PROFILE,
        args![
            project,
            u.id,
            &u.foreign_id,
            &u.name,
            &u.username,
            &u.email,
            &u.avatar,
            u.avatar_file_id,
            &u.bio,
            u.birthdate,
            u.latitude,
            u.longitude,
            &u.metadata,
            &u.secure_metadata,
            &u.avatar_path,
            u.banner_file_id,
            u.updated_at
        ],
    );
    updated.map_err(duplicate)?;
    search_queue::note(tx, project, Kind::User, u.id.0)?;
    before.map_or(Ok(()), |before| trigrams::replace(tx, project, u, before))
}

/// The field that conflicts with another user's.
fn duplicate(error: db::Error) -> Error {
    Error::from(error)
        .on_unique("users_email", DUPLICATE_EMAIL.with("field", "email"))
        .on_unique("users_username", DUPLICATE_USERNAME.with("field", "username"))
        .on_unique("users_foreign_id", DUPLICATE_USER_FIELD.with("field", "foreignId"))
}

pub fn touch(tx: &Tx<'_>, project: ProjectId, id: UserId, now: Timestamp) -> Result<()> {
    tx.execute(&TOUCH, args![project, id, now])?;
    Ok(())
}

pub fn set_password(
    tx: &Tx<'_>,
    project: ProjectId,
    id: UserId,
    hash: &str,
    now: Timestamp,
) -> Result<()> {
    tx.execute(&SET_PASSWORD, args![project, id, hash, now])?;
    Ok(())
}

pub fn clear_password(tx: &Tx<'_>, project: ProjectId, id: UserId, now: Timestamp) -> Result<()> {
    tx.execute(&CLEAR_PASSWORD, args![project, id, now])?;
    Ok(())
}

pub fn set_verified(tx: &Tx<'_>, project: ProjectId, id: UserId, now: Timestamp) -> Result<()> {
    tx.execute(&SET_VERIFIED, args![project, id, now])?;
    Ok(())
}

/// Deletes the user's row and everything that depends on it; false if there was no such user.
pub fn delete(tx: &Tx<'_>, project: ProjectId, id: UserId) -> Result<bool> {
    search_queue::note(tx, project, Kind::User, id.0)?;
    Ok(tx.execute(&DELETE, args![project, id])? > 0)
}

impl From<&UserRow> for Initiator {
    fn from(user: &UserRow) -> Self {
        Initiator {
            id: user.id,
            foreign_id: user.foreign_id.clone(),
            name: user.name.clone(),
            username: user.username.clone(),
            avatar: user.avatar.clone(),
        }
    }
}

/// The providers of the user's identities, oldest first.
pub fn providers(c: &Conn<'_>, project: ProjectId, user: UserId) -> Result<Vec<String>> {
    Ok(c.all(&PROVIDERS, args![project, user])?)
}
