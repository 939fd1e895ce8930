//! The schema: one numbered list for both engines. A migration that has been released is never
//! edited; the next change is the next number.

use db::{Distribution, Migration};

/// On a cluster: everything of a project is on one worker, its custom tables too.
pub const DISTRIBUTION: Distribution =
    Distribution { reference: "projects", column: "project_id", schema_prefix: "project_" };

pub const MIGRATIONS: &[Migration] = &[
    Migration::shared(
        1,
        "projects and users",
        include_str!("../migrations/0001_projects_and_users.sql"),
    ),
    Migration::twins(
        2,
        "entities and reactions",
        include_str!("../migrations/0002_entities.sql"),
        concat!(
            include_str!("../migrations/0002_functions.postgres.sql"),
            include_str!("../migrations/0002_entities.sql"),
        ),
    ),
    Migration::shared(3, "notifications", include_str!("../migrations/0003_notifications.sql")),
    Migration::shared(4, "files", include_str!("../migrations/0004_files.sql")),
    Migration::shared(5, "comments", include_str!("../migrations/0005_comments.sql")),
    Migration::shared(6, "reports", include_str!("../migrations/0006_reports.sql")),
    Migration::shared(7, "collections", include_str!("../migrations/0007_collections.sql")),
    Migration::shared(8, "relationships", include_str!("../migrations/0008_relationships.sql")),
    Migration::shared(9, "spaces", include_str!("../migrations/0009_spaces.sql")),
    Migration::twins(
        10,
        "custom tables",
        include_str!("../migrations/0010_custom_tables.sql"),
        concat!(
            include_str!("../migrations/0010_functions.postgres.sql"),
            include_str!("../migrations/0010_custom_tables.sql"),
        ),
    ),
    Migration::shared(11, "chat", include_str!("../migrations/0011_chat.sql")),
    Migration::shared(12, "fewer indexes", include_str!("../migrations/0012_fewer_indexes.sql")),
    Migration::shared(
        13,
        "project settings and mail quotas",
        include_str!("../migrations/0013_project_settings.sql"),
    ),
    Migration::shared(14, "file hashes", include_str!("../migrations/0014_file_hashes.sql")),
    Migration::twins(
        15,
        "subjects of notifications",
        concat!(
            include_str!("../migrations/0015_notification_subjects.sqlite.sql"),
            include_str!("../migrations/0015_notification_subjects.sql"),
        ),
        concat!(
            include_str!("../migrations/0015_notification_subjects.postgres.sql"),
            include_str!("../migrations/0015_notification_subjects.sql"),
        ),
    ),
    Migration::shared(16, "installation", include_str!("../migrations/0016_installation.sql")),
    Migration::twins(
        17,
        "feeds of version 6",
        concat!(
            include_str!("../migrations/0017_feeds.sqlite.sql"),
            include_str!("../migrations/0017_feeds.sql"),
        ),
        concat!(
            include_str!("../migrations/0017_feeds.postgres.sql"),
            include_str!("../migrations/0017_feeds.sql"),
        ),
    ),
    Migration::twins(
        18,
        "smaller and covering indexes",
        include_str!("../migrations/0018_indexes.sql"),
        concat!(
            include_str!("../migrations/0018_indexes.sql"),
            include_str!("../migrations/0018_room_for_updates.postgres.sql"),
        ),
    ),
    Migration::shared(
        19,
        "sign-in with accounts elsewhere",
        include_str!("../migrations/0019_oauth.sql"),
    ),
    Migration::shared(20, "outbox and webhooks", include_str!("../migrations/0020_outbox.sql")),
    Migration::shared(21, "workspaces", include_str!("../migrations/0021_workspaces.sql")),
    Migration::shared(22, "events", include_str!("../migrations/0022_events.sql")),
    Migration::shared(
        23,
        "reputation grants",
        include_str!("../migrations/0023_reputation_grants.sql"),
    ),
    Migration::shared(24, "search", include_str!("../migrations/0024_search.sql")),
    Migration::shared(25, "push", include_str!("../migrations/0025_push.sql")),
    Migration::shared(26, "digests", include_str!("../migrations/0026_digests.sql")),
    Migration::shared(27, "operators and audit log", include_str!("../migrations/0027_admin.sql")),
    Migration::shared(28, "moderation queue", include_str!("../migrations/0028_moderation.sql")),
    Migration::shared(
        29,
        "notifications by mail",
        include_str!("../migrations/0029_notification_mails.sql"),
    ),
    Migration::shared(30, "passkeys", include_str!("../migrations/0030_passkeys.sql")),
    Migration::shared(
        31,
        "appeals, statements of reasons, logs of spaces",
        include_str!("../migrations/0031_transparency.sql"),
    ),
    Migration::shared(
        32,
        "search by meaning",
        include_str!("../migrations/0032_search_vectors.sql"),
    ),
    Migration::shared(33, "totals of events", include_str!("../migrations/0033_event_totals.sql")),
    Migration::twins(
        34,
        "payloads of jobs",
        include_str!("../migrations/0034_payloads.sqlite.sql"),
        include_str!("../migrations/0034_payloads.postgres.sql"),
    ),
    Migration::shared(
        35,
        "retention of the audit log, claims of appeals",
        include_str!("../migrations/0035_transparency_everywhere.sql"),
    ),
    Migration::shared(
        36,
        "search: many records in short steps",
        include_str!("../migrations/0036_search_load.sql"),
    ),
    Migration::shared(
        37,
        "appeals against decisions of others first",
        include_str!("../migrations/0037_appeals_of_others.sql"),
    ),
    Migration::shared(38, "event hours", include_str!("../migrations/0038_event_hours.sql")),
    Migration::shared(
        39,
        "search: numbers of words",
        include_str!("../migrations/0039_search_word_numbers.sql"),
    ),
    Migration::shared(40, "strikes", include_str!("../migrations/0040_strikes.sql")),
    Migration::twins(
        41,
        "notifications in the order of their arrival",
        include_str!("../migrations/0041_notification_rows.sqlite.sql"),
        include_str!("../migrations/0041_notification_rows.postgres.sql"),
    ),
    Migration::twins(
        42,
        "search: faster loads",
        "",
        include_str!("../migrations/0042_search_in_bulk.postgres.sql"),
    ),
    Migration::twins(
        43,
        "ranks of entities",
        include_str!("../migrations/0043_entity_ranks.sqlite.sql"),
        "",
    ),
];
