//! All SQL about devices, preferences, push services and templates.

use db::{Conn, JsonText, Tx, args};

use crate::error::Result;
use crate::features::push::devices::Platform;
use crate::tenancy::store::changed;
use crate::values::ids::{ConversationId, ProjectId, PushDeviceId, UserId};
use crate::values::time::Timestamp;

db::row! {
    #[derive(Debug, Clone, PartialEq)]
    pub struct DeviceRow {
        pub id: PushDeviceId,
        pub user_id: UserId,
        pub platform: Platform,
        pub device_key: String,
        pub p256dh: Option<String>,
        pub auth: Option<String>,
        pub created_at: Timestamp,
        pub updated_at: Timestamp,
    }
}

db::row! {
    #[derive(Debug)]
    pub struct ProviderRow {
        pub provider: String,
        pub secret: Vec<u8>,
        pub settings: JsonText,
        pub updated_at: Timestamp,
    }
}

db::statements! {
    query DEVICES -> DeviceRow =
        "SELECT id, user_id, platform, device_key, p256dh, auth, created_at, updated_at FROM push_devices
         WHERE project_id = $1 AND user_id {any}($2) ORDER BY user_id, created_at, id";
    query HAS_DEVICE -> i64 =
        "SELECT 1 FROM push_devices WHERE project_id = $1 AND user_id = $2 LIMIT 1";
    /// Members with a device who get pushes of messages, without the sender $3: active, not muted, not waiting to be let
    /// into the space. After the user $5, in the order of their ids.
    query LISTENERS -> UserId =
        "SELECT m.user_id FROM conversation_members m
         WHERE m.project_id = $1 AND m.conversation_id = $2 AND m.user_id <> $3 AND m.is_active
            AND NOT m.muted_forever AND (m.muted_until IS NULL OR m.muted_until <= $4) AND m.user_id > $5
            AND EXISTS (SELECT 1 FROM push_devices d WHERE d.project_id = $1 AND d.user_id = m.user_id)
            AND NOT EXISTS (SELECT 1 FROM conversations c JOIN space_members s ON s.project_id = c.project_id
                    AND s.space_id = c.space_id
                WHERE c.project_id = $1 AND c.id = $2 AND s.project_id = $1 AND s.user_id = m.user_id
                    AND s.status = 'pending')
         ORDER BY m.user_id LIMIT $6";
    command REGISTER -> DeviceRow =
        "INSERT INTO push_devices (project_id, user_id, key_hash, id, platform, device_key, p256dh, auth,
            created_at, updated_at)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $9)
         ON CONFLICT (project_id, user_id, key_hash) DO UPDATE SET platform = excluded.platform,
            p256dh = excluded.p256dh, auth = excluded.auth, updated_at = excluded.updated_at
         RETURNING id, user_id, platform, device_key, p256dh, auth, created_at, updated_at";
    /// All but the $3 that were registered last.
    command FORGET_OLDER =
        "DELETE FROM push_devices WHERE project_id = $1 AND user_id = $2 AND id IN
            (SELECT d.id FROM push_devices d WHERE d.project_id = $1 AND d.user_id = $2
             ORDER BY d.updated_at DESC, d.id DESC LIMIT 1000 OFFSET $3)";
    command UNBIND =
        "DELETE FROM push_devices WHERE project_id = $1 AND user_id = $2 AND key_hash = $3";
    command UNBIND_OTHERS =
        "DELETE FROM push_devices WHERE project_id = $1 AND user_id = $2 AND key_hash <> $3";
    command FORGET = "DELETE FROM push_devices WHERE project_id = $1 AND key_hash = $2";

    query PREFERENCES -> (UserId, JsonText) =
        "SELECT user_id, disabled_types FROM notification_preferences
         WHERE project_id = $1 AND user_id {any}($2)";
    command SET_PREFERENCES =
        "INSERT INTO notification_preferences (project_id, user_id, disabled_types, updated_at)
         VALUES ($1, $2, $3, $4)
         ON CONFLICT (project_id, user_id) DO UPDATE SET disabled_types = excluded.disabled_types,
            updated_at = excluded.updated_at";

    query FIND_PROVIDER -> ProviderRow =
        "SELECT provider, secret, settings, updated_at FROM push_providers
         WHERE project_id = $1 AND provider = $2";
    query LIST_PROVIDERS -> ProviderRow =
        "SELECT provider, secret, settings, updated_at FROM push_providers
         WHERE project_id = $1 ORDER BY provider";
    command SET_PROVIDER =
        "INSERT INTO push_providers (project_id, provider, secret, settings, created_at, updated_at)
         VALUES ($1, $2, $3, $4, $5, $5)
         ON CONFLICT (project_id, provider) DO UPDATE SET secret = excluded.secret,
            settings = excluded.settings, updated_at = excluded.updated_at";
    command RENEW_SECRET =
        "UPDATE push_providers SET secret = $4 WHERE project_id = $1 AND provider = $2 AND secret = $3";
    command DELETE_PROVIDER = "DELETE FROM push_providers WHERE project_id = $1 AND provider = $2";

    query TEMPLATES -> (String, JsonText) =
        "SELECT type, settings FROM push_templates WHERE project_id = $1 ORDER BY type";
    command SET_TEMPLATE =
        "INSERT INTO push_templates (project_id, type, settings, updated_at) VALUES ($1, $2, $3, $4)
         ON CONFLICT (project_id, type) DO UPDATE SET settings = excluded.settings,
            updated_at = excluded.updated_at";
}

/// The devices of some users: user by user, the oldest first.
pub fn devices(c: &Conn<'_>, project: ProjectId, users: &[UserId]) -> Result<Vec<DeviceRow>> {
    Ok(c.all(&DEVICES, args![project, UserId::list(users)])?)
}

pub fn has_device(c: &Conn<'_>, project: ProjectId, user: UserId) -> Result<bool> {
    Ok(c.opt(&HAS_DEVICE, args![project, user])?.is_some())
}

/// Some of the users who get a push for a message of this sender.
pub fn listeners(
    c: &Conn<'_>,
    project: ProjectId,
    conversation: ConversationId,
    sender: UserId,
    (now, after, limit): (Timestamp, UserId, i64),
) -> Result<Vec<UserId>> {
    Ok(c.all(&LISTENERS, args![project, conversation, sender, now, after, limit])?)
}

/// Binds a device to a user, anew if it was bound before.
pub fn register(
    tx: &Tx<'_>,
    project: ProjectId,
    row: &DeviceRow,
    key_hash: &[u8],
) -> Result<DeviceRow> {
    let args = args![
        project,
        row.user_id,
        key_hash,
        row.id,
        row.platform,
        &row.device_key,
        &row.p256dh,
        &row.auth,
        row.updated_at
    ];
    Ok(tx.one(&REGISTER, args)?)
}

pub fn forget_older(tx: &Tx<'_>, project: ProjectId, user: UserId, keep: i64) -> Result<()> {
    tx.execute(&FORGET_OLDER, args![project, user, keep])?;
    Ok(())
}

/// Removes one user's binding of a device.
pub fn unbind(tx: &Tx<'_>, project: ProjectId, user: UserId, key_hash: &[u8]) -> Result<()> {
    tx.execute(&UNBIND, args![project, user, key_hash])?;
    Ok(())
}

/// Removes all bindings of a user, but this one.
pub fn unbind_others(
    tx: &Tx<'_>,
    project: ProjectId,
    user: UserId,
    spared: Option<&[u8]>,
) -> Result<()> {
    tx.execute(&UNBIND_OTHERS, args![project, user, spared.unwrap_or_default()])?;
    Ok(())
}

/// Removes a device for all its users.
pub fn forget(tx: &Tx<'_>, project: ProjectId, key_hash: &[u8]) -> Result<()> {
    tx.execute(&FORGET, args![project, key_hash])?;
    Ok(())
}

/// The preferences of those users who have set any.
pub fn preferences(
    c: &Conn<'_>,
    project: ProjectId,
    users: &[UserId],
) -> Result<Vec<(UserId, JsonText)>> {
    Ok(c.all(&PREFERENCES, args![project, UserId::list(users)])?)
}

pub fn set_preferences(
    tx: &Tx<'_>,
    project: ProjectId,
    user: UserId,
    disabled: &str,
    now: Timestamp,
) -> Result<()> {
    tx.execute(&SET_PREFERENCES, args![project, user, disabled, now])?;
    Ok(())
}

pub fn find_provider(
    c: &Conn<'_>,
    project: ProjectId,
    provider: &str,
) -> Result<Option<ProviderRow>> {
    Ok(c.opt(&FIND_PROVIDER, args![project, provider])?)
}

pub fn providers(c: &Conn<'_>, project: ProjectId) -> Result<Vec<ProviderRow>> {
    Ok(c.all(&LIST_PROVIDERS, args![project])?)
}

pub fn set_provider(
    tx: &Tx<'_>,
    project: ProjectId,
    provider: &str,
    (secret, settings): (&[u8], &str),
    now: Timestamp,
) -> Result<()> {
    tx.execute(&SET_PROVIDER, args![project, provider, secret, settings, now])?;
    changed(tx, project)
}

/// Unless it was set anew meanwhile.
pub fn renew_secret(
    tx: &Tx<'_>,
    project: ProjectId,
    provider: &str,
    (old, new): (&[u8], &[u8]),
) -> Result<()> {
    tx.execute(&RENEW_SECRET, args![project, provider, old, new])?;
    Ok(())
}

pub fn delete_provider(tx: &Tx<'_>, project: ProjectId, provider: &str) -> Result<bool> {
    changed(tx, project)?;
    Ok(tx.execute(&DELETE_PROVIDER, args![project, provider])? > 0)
}

pub fn templates(c: &Conn<'_>, project: ProjectId) -> Result<Vec<(String, JsonText)>> {
    Ok(c.all(&TEMPLATES, args![project])?)
}

pub fn set_template(
    tx: &Tx<'_>,
    project: ProjectId,
    kind: &str,
    settings: &str,
    now: Timestamp,
) -> Result<()> {
    tx.execute(&SET_TEMPLATE, args![project, kind, settings, now])?;
    Ok(())
}
