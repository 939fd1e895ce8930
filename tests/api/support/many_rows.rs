//! Thousands of rows in every table, for tests that look at query plans.

use std::fmt::Write as _;

use db::Engine;

/// Thousands of rows in every table, over many projects: enough that an engine prefers an index
/// wherever there is one that helps.
pub(super) fn script(engine: Engine) -> String {
    let uuid = |n: &str| match engine {
        Engine::Sqlite => format!("unhex(printf('%032x', {n}))"),
        Engine::Postgres => format!("lpad(to_hex({n}), 32, '0')::uuid"),
    };
    let (project, id) = (uuid("n / 10"), uuid("n"));
    // Another one of the same project.
    let other = uuid("n / 10 * 10 + (n + 1) % 10");
    let hash = match engine {
        Engine::Sqlite => "unhex(printf('%064x', n))",
        Engine::Postgres => "decode(lpad(to_hex(n), 64, '0'), 'hex')",
    };
    let tables = [
        ("projects (id, name, state, allowed_origins, created_at, updated_at)", 600, {
            format!("{id}, 'p', 'active', '[]', n, n")
        }),
        ("project_bundles (project_id, bundle)", 5_999, format!("{project}, 'bundle' || n")),
        ("project_keys (project_id, id, kind, hash, created_at)", 5_999, {
            format!("{project}, {id}, 'service', {hash}, n")
        }),
        (
            "users (project_id, id, foreign_id, role, username, email, is_verified, is_active,
                metadata, secure_metadata, reputation, last_active, created_at, updated_at)",
            5_999,
            format!(
                "{project}, {id}, 'f' || n, 'visitor', 'user' || n, n || '@x.org', FALSE, TRUE,
                 '{{}}', '{{}}', 0, n, n, n"
            ),
        ),
        (
            "identities (project_id, id, user_id, provider, provider_account_id, is_verified,
                created_at, updated_at)",
            5_999,
            format!("{project}, {id}, {id}, 'external', 'f' || n, FALSE, n, n"),
        ),
        (
            "refresh_tokens (project_id, id, user_id, family_id, expires_at, created_at,
                updated_at)",
            5_999,
            format!("{project}, {id}, {id}, {id}, n, n, n"),
        ),
        ("password_resets (project_id, user_id, token_hash, expires_at)", 5_999, {
            format!("{project}, {id}, {hash}, n")
        }),
        (
            "email_verifications (project_id, id, user_id, token_hash, guessable, wrong_tries,
                expires_at)",
            5_999,
            format!("{project}, {id}, {id}, {hash}, TRUE, 0, n"),
        ),
        ("account_deletions (project_id, user_id, code_hash, wrong_tries, expires_at)", 5_999, {
            format!("{project}, {id}, {hash}, 0, n")
        }),
        (
            "audit_log (project_id, id, at, actor_kind, actor_name, action, target)",
            5_999,
            format!("{project}, {id}, n, 'key', 'k' || n, 'a' || n, 't'"),
        ),
        ("audit_seals (project_id, position, last_id, entries, hash, sealed_at)", 5_999, {
            format!("{project}, n, {id}, 1, {hash}, n")
        }),
        ("mail_quotas (project_id, address_hash, sent_at, expires_at)", 5_999, {
            format!("{project}, {hash}, '[]', n")
        }),
        ("oauth_providers (project_id, provider, settings, created_at, updated_at)", 5_999, {
            format!("{project}, 'p' || n, '{{}}', n, n")
        }),
        (
            "oauth_states (project_id, state_hash, provider, redirect_after_auth, code_verifier, nonce,
                link_to_user_id, expires_at)",
            5_999,
            format!("{project}, {hash}, 'google', 'https://a.example', 'v', 'n', {id}, n"),
        ),
        (
            "push_devices (project_id, user_id, key_hash, id, platform, device_key, created_at, updated_at)",
            5_999,
            format!("{project}, {id}, {hash}, {id}, 'ios', 't' || n, n, n"),
        ),
        ("notification_preferences (project_id, user_id, disabled_types, updated_at)", 5_999, {
            format!("{project}, {id}, '[]', n")
        }),
        ("push_providers (project_id, provider, secret, settings, created_at, updated_at)", 5_999, {
            format!("{project}, 'p' || n, {hash}, '{{}}', n, n")
        }),
        ("mail_preferences (project_id, user_id, frequency, updated_at)", 5_999, {
            format!("{project}, {id}, 'daily', n")
        }),
        ("mail_schedules (project_id, user_id, since, due_at, not_before)", 5_999, {
            format!("{project}, {id}, n, n, n")
        }),
        ("mail_templates (project_id, language, settings, updated_at)", 5_999, {
            format!("{project}, 'l' || n, '{{}}', n")
        }),
        ("push_templates (project_id, type, settings, updated_at)", 5_999, {
            format!("{project}, 't' || n, '{{}}', n")
        }),
        ("jwt_issuers (project_id, issuer, settings, created_at, updated_at)", 5_999, {
            format!("{project}, 'https://i.example/' || n, '{{}}', n, n")
        }),
        ("search_state (project_id, language, next_number, is_filled)", 599, {
            format!("{id}, 'english', 1, TRUE")
        }),
        ("search_todo (project_id, record_id, kind, stamp)", 5_999, {
            format!("{project}, {id}, 1, 1")
        }),
        (
            "search_docs (project_id, number, class, record_id, parent_id, space_id, author_id,
                created_at, length, words)",
            5_999,
            format!("{project}, n, n % 8, {id}, {id}, {id}, {id}, n, 1, {hash}"),
        ),
        ("search_blocks (project_id, term, class, last, count, bytes)", 5_999, {
            format!("{project}, 't' || n, n % 8, n, 1, {hash}")
        }),
        ("search_words (project_id, section, word, frequency, letters, reversed, number)", 5_999, {
            format!("{project}, n % 3, 'w' || n, 1, 5, 'w' || n, n")
        }),
        ("search_vectors (project_id, number, chunk, bytes)", 5_999, {
            format!("{project}, n, 0, {hash}")
        }),
        ("search_vector_blocks (project_id, class, block, bytes)", 5_999, {
            format!("{project}, n % 5, n, {hash}")
        }),
        ("search_sections (project_id, section, documents, length)", 5_999, {
            format!("{project}, n % 10, 1, 1")
        }),
        (
            "suspensions (project_id, id, user_id, start_date, created_by, created_at, updated_at)",
            5_999,
            format!("{project}, {id}, {id}, n, 'test', n, n"),
        ),
        (
            "spaces (project_id, id, slug, name, name_key, user_id, reading_permission,
                posting_permission, visibility, is_open, nsfw, nsfw_effective, requires_approval,
                parent_id, depth, metadata, members_count, children_count, created_at, updated_at,
                deleted_at)",
            5_999,
            format!(
                "{project}, {id}, 's' || n, 'n' || n, 'n' || n, {id}, 'anyone', 'members', 'public',
                 n % 10 > 2, FALSE, FALSE, TRUE, {other}, 0, '{{}}', 1, 0, n, n,
                 CASE n % 10 WHEN 0 THEN n END"
            ),
        ),
        ("space_lines (project_id, ancestor_id, space_id)", 5_999, {
            format!("{project}, {id}, {id}")
        }),
        (
            "space_members (project_id, space_id, user_id, id, role, rank, status, joined_at,
                created_at)",
            5_999,
            format!("{project}, {id}, {id}, {id}, 'admin', 0, 'active', n, n"),
        ),
        ("space_digests (project_id, space_id, is_enabled, secret, next_at, updated_at)", 5_999, {
            format!("{project}, {id}, TRUE, {hash}, n, n")
        }),
        (
            "space_bans (project_id, space_id, user_id, id, created_at, updated_at)",
            5_999,
            format!("{project}, {id}, {id}, {id}, n, n"),
        ),
        (
            "workspaces (project_id, id, name, metadata, owner_id, parent_id, root_id, depth,
                inherits_from_parent, created_at, updated_at)",
            5_999,
            format!("{project}, {id}, 'n' || n, '{{}}', {id}, NULL, {id}, 0, FALSE, n, n"),
        ),
        ("workspace_lines (project_id, ancestor_id, workspace_id)", 5_999, {
            format!("{project}, {id}, {id}")
        }),
        (
            "workspace_members (project_id, workspace_id, user_id, id, capabilities, permissions,
                rank, metadata, joined_at, created_at)",
            5_999,
            format!("{project}, {id}, {other}, {id}, '[]', '[]', 0, '{{}}', n, n"),
        ),
        (
            "workspace_invitations (project_id, id, workspace_id, invited_by, user_id, email,
                capabilities, permissions, rank, status, expires_at, created_at, updated_at)",
            5_999,
            format!(
                "{project}, {id}, {id}, {id}, CASE WHEN n % 10 > 5 THEN {id} END, n || '@x.org',
                 '[]', '[]', 0, 'pending', n, n, n"
            ),
        ),
        (
            "space_rules (project_id, id, space_id, title, position, created_at, updated_at)",
            5_999,
            format!("{project}, {id}, {id}, 't', 0, n, n"),
        ),
        (
            "custom_tables (project_id, id, name, timestamps, paranoid, access, created_at)",
            5_999,
            format!("{project}, {id}, 't' || n, TRUE, FALSE, 'open', n"),
        ),
        (
            "custom_columns (project_id, table_id, position, name, data_type, nullable, indexed,
                references_id, on_delete)",
            5_999,
            format!("{project}, {id}, 0, 'c', 'uuid', TRUE, FALSE, {other}, 'restrict'"),
        ),
        ("reputation_buckets (project_id, user_id, space_id, points)", 5_999, {
            format!("{project}, {id}, {id}, 1")
        }),
        (
            "files (project_id, id, user_id, entity_id, path, size, mime, position, metadata,
                created_at, updated_at)",
            5_999,
            format!("{project}, {id}, {id}, {id}, 'p', 1, 'text/plain', 0, '{{}}', n, n"),
        ),
        (
            "notifications (project_id, id, user_id, type, action, is_read, metadata, created_at,
                updated_at, subject_id, target_id, actor_id, space_id)",
            5_999,
            format!(
                "{project}, {id}, {id}, 'entity-reaction', 'open-entity', FALSE, '{{}}', n, n, {id},
                 {id}, {id}, {id}"
            ),
        ),
        (
            "notification_counts (project_id, user_id, space_id, total, unread, unread_since)",
            5_999,
            format!("{project}, {id}, {id}, 1, 1, 1"),
        ),
        (
            "entities (project_id, id, foreign_id, source_id, space_id, user_id, is_draft, is_listed,
                is_wide, nsfw, upvote_count, downvote_count, like_count, love_count, wow_count,
                sad_count, angry_count, funny_count, replies_count, shares_count, views, score,
                score_updated_at, has_attachments, created_at, updated_at)",
            5_999,
            format!(
                "{project}, {id}, 'f' || n, 's' || n, {id}, {id}, FALSE, TRUE, FALSE, FALSE, n, 0, n, 0,
                 0, 0, 0, 0, 0, 0, n, n, n, FALSE, n, n"
            ),
        ),
        (
            "entity_bodies (project_id, id, title, mentions, attachments, keywords, metadata)",
            5_999,
            format!("{project}, {id}, 't' || n, '[]', '[]', '[]', '{{}}'"),
        ),
        ("entity_terms (project_id, term, created_at, entity_id)", 5_999, {
            format!("{project}, {id}, n, {id}")
        }),
        ("entity_counts (project_id, scope, shard, total, within, space_id)", 5_999, {
            format!("{project}, 'in:' || n, 0, 1, 'source:' || n, {id}")
        }),
        (
            "comments (project_id, id, foreign_id, entity_id, user_id, parent_id, thread_id,
                upvote_count, downvote_count, like_count, love_count, wow_count, sad_count,
                angry_count, funny_count, balance, controversy, replies_count, answers_count,
                created_at, updated_at)",
            5_999,
            format!(
                "{project}, {id}, 'f' || n, {id}, {id}, NULL, {id}, n, 0, 0, 0, 0, 0, 0, 0, n, 0, 0,
                 0, n, n"
            ),
        ),
        (
            "comment_bodies (project_id, id, content, mentions, attachments, metadata)",
            5_999,
            format!("{project}, {id}, 't' || n, '[]', '[]', '{{}}'"),
        ),
        (
            "reports (project_id, id, space_id, target_type, target_id, status, reporter_count,
                created_at, updated_at, author_id)",
            5_999,
            format!("{project}, {id}, {id}, 'entity', {id}, 'open', 1, n, n, {id}"),
        ),
        (
            "moderation_decisions (project_id, id, report_id, target_type, target_id, author_id, space_id,
                action, decided_by, decided_at, apply_at, state)",
            5_999,
            format!("{project}, {id}, {id}, 'entity', {id}, {id}, {id}, 'warn', 'o', n, n, 'applied'"),
        ),
        (
            "moderation_rules (project_id, id, position, name, targets, condition, action, state, created_at,
                updated_at)",
            5_999,
            format!("{project}, {id}, n, 'r', '[]', '{{}}', 'flag', 'on', n, n"),
        ),
        ("moderation_posts (project_id, id, user_id, text_hash, written_at)", 5_999, {
            format!("{project}, {id}, {id}, {id}, n")
        }),
        (
            "moderation_rule_hits (project_id, id, rule_id, target_type, target_id, action, created_at)",
            5_999,
            format!("{project}, {id}, {id}, 'entity', {id}, 'flag', n"),
        ),
        ("moderation_notes (project_id, id, user_id, text, written_by, created_at)", 5_999, {
            format!("{project}, {id}, {id}, 't', 'o', n")
        }),
        (
            "moderation_appeals (project_id, id, decision_id, user_id, text, state, outcome_id, created_at)",
            5_999,
            format!("{project}, {id}, {id}, {id}, 't', 'open', CASE WHEN n % 2 = 0 THEN {id} END, n"),
        ),
        (
            "space_log (project_id, id, space_id, action, target_type, target_id, decided_by, created_at)",
            5_999,
            format!("{project}, {id}, {id}, 'ban', 'user', {id}, 'rule', n"),
        ),
        ("report_entries (project_id, report_id, user_id, id, reason, created_at)", 5_999, {
            format!("{project}, {id}, {id}, {id}, 'spam', n")
        }),
        (
            "conversations (project_id, id, kind, space_id, created_by_id, avatar_file_id, metadata,
                first_id, second_id, member_count, has_visible, last_message_at, created_at, updated_at)",
            5_999,
            format!("{project}, {id}, 'group', {id}, {id}, {id}, '{{}}', {id}, {id}, 1, TRUE, n, n, n"),
        ),
        (
            "conversation_members (project_id, conversation_id, user_id, id, role, muted_forever,
                is_active, created_at, updated_at)",
            5_999,
            format!("{project}, {id}, {id}, {id}, 'admin', FALSE, n % 10 > 2, n, n"),
        ),
        (
            "chat_messages (project_id, id, conversation_id, user_id, content, mentions, metadata,
                parent_message_id, has_files, thread_reply_count, reaction_counts, is_removed,
                created_at, updated_at)",
            5_999,
            format!(
                "{project}, {id}, {id}, {id}, 't' || n, '[]', '{{}}',
                 CASE WHEN n % 10 > 5 THEN {other} END, FALSE, 0, '{{}}', FALSE, n, n"
            ),
        ),
        ("chat_mentions (project_id, user_id, message_id)", 5_999, {
            format!("{project}, {id}, {id}")
        }),
        ("chat_reactions (project_id, message_id, user_id, emoji, created_at)", 5_999, {
            format!("{project}, {id}, {id}, 'x', n")
        }),
        ("comment_mentions (project_id, user_id, comment_id)", 5_999, {
            format!("{project}, {id}, {id}")
        }),
        (
            "reactions (project_id, target_id, user_id, id, target_type, reaction_type, created_at,
                updated_at)",
            5_999,
            format!("{project}, {id}, {id}, {id}, 'entity', 'like', n, n"),
        ),
        ("reaction_milestones (project_id, target_id, kind, threshold)", 5_999, {
            format!("{project}, {id}, 'total', n")
        }),
        (
            "collections (project_id, id, user_id, parent_id, is_root, name, depth, entity_count,
                created_at, updated_at)",
            5_999,
            format!("{project}, {id}, {id}, {id}, TRUE, 'n' || n, 0, 1, n, n"),
        ),
        ("collection_entities (project_id, collection_id, entity_id, id, user_id, created_at)", 5_999, {
            format!("{project}, {id}, {id}, {id}, {id}, n")
        }),
        ("blocks (project_id, blocker_id, blocked_id, id, created_at)", 5_999, {
            format!("{project}, {id}, {other}, {id}, n")
        }),
        ("follows (project_id, id, follower_id, followed_id, created_at)", 5_999, {
            format!("{project}, {id}, {id}, {other}, n")
        }),
        ("follow_counts (project_id, user_id, followers, following)", 5_999, {
            format!("{project}, {id}, 1, 1")
        }),
        (
            "connections (project_id, id, low_id, high_id, requester_id, status, created_at)",
            5_999,
            format!("{project}, {id}, {id}, {other}, {id}, 'accepted', n"),
        ),
        (
            "connection_sides (project_id, user_id, other_id, connection_id, kind, created_at)",
            5_999,
            format!("{project}, {id}, {other}, {id}, 'connected', n"),
        ),
        ("connection_counts (project_id, user_id, connected, sent, received)", 5_999, {
            format!("{project}, {id}, 1, 0, 0")
        }),
        (
            "events (project_id, id, user_id, title, start_time, end_time, length_class, type, latitude,
                longitude, space_id, visibility, status, allow_maybe, guest_list_visible,
                cover_image_id, going_count, maybe_count, not_going_count, invite_count, revision,
                created_at, updated_at)",
            5_999,
            format!(
                "{project}, {id}, {id}, 't' || n, n, n + 1, 0, 'online', 1, 1, {id}, 'public', 'active',
                 TRUE, TRUE, {id}, n, 0, 0, 1, 0, n, n"
            ),
        ),
        ("event_bodies (project_id, id, metadata)", 5_999, format!("{project}, {id}, '{{}}'")),
        ("event_totals (project_id, hours, status, visibility, type, number, total)", 5_999, {
            format!("{project}, 1, 'active', 'public', 'online', n, 1")
        }),
        ("event_hosts (project_id, event_id, user_id, position)", 5_999, {
            format!("{project}, {id}, {id}, 0")
        }),
        (
            "event_rsvps (project_id, event_id, user_id, id, status, created_at, updated_at)",
            5_999,
            format!("{project}, {id}, {id}, {id}, 'going', n, n"),
        ),
        ("event_invites (project_id, event_id, user_id, id, invited_at)", 5_999, {
            format!("{project}, {id}, {id}, {id}, n")
        }),
        (
            "reputation_grants (project_id, id, source_type, sender_id, recipient_id, amount, target_type,
                target_id, created_at)",
            5_999,
            format!("{project}, {id}, 'user', {id}, {other}, 1, 'entity', {id}, n"),
        ),
        ("grant_totals (project_id, target_id, total, grants)", 5_999, {
            format!("{project}, {id}, 1, 1")
        }),
        ("user_grams (project_id, gram, user_id)", 5_999, format!("{project}, 'g' || n, {id}")),
        ("installation (name, value)", 5_999, "'n' || n, 'v'".to_owned()),
        ("jobs (project_id, id, payload, attempts, run_at, created_at)", 5_999, {
            format!("{project}, {id}, '{{}}', 0, n, n")
        }),
        ("job_queues (project_id, id, run_at, failures)", 5_999, format!("{project}, {id}, n, 0")),
        (
            "webhook_endpoints (project_id, id, is_first, url, events, created_at, updated_at)",
            5_999,
            format!("{project}, {id}, FALSE, 'https://a.example', '[]', n, n"),
        ),
    ];
    let mut sql = match engine {
        Engine::Sqlite => String::new(),
        // Checking each foreign key would take most of the time.
        Engine::Postgres => "SET session_replication_role = replica;\n".to_owned(),
    };
    for (table, count, values) in tables {
        let _ = writeln!(
            sql,
            "INSERT INTO {table}
             WITH RECURSIVE rows (n) AS
                (SELECT 0 UNION ALL SELECT n + 1 FROM rows WHERE n < {count})
             SELECT {values} FROM rows;"
        );
    }
    sql.push_str("{analyze};\n");
    sql
}
