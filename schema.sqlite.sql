-- The schema after all migrations, for reading: the migrations create it, nothing loads this file.
-- Generated. Regenerate it with: UPDATE_GENERATED=1 cargo test --test api generated_

CREATE TABLE account_deletions (
    project_id BLOB NOT NULL,
    user_id BLOB NOT NULL,
    code_hash BLOB NOT NULL,
    wrong_tries INTEGER NOT NULL,
    expires_at INTEGER NOT NULL,
    PRIMARY KEY (project_id, user_id),
    FOREIGN KEY (project_id, user_id) REFERENCES users (project_id, id) ON DELETE CASCADE
) STRICT;
CREATE INDEX account_deletions_expiry ON account_deletions (expires_at);

CREATE TABLE audit_log (
    project_id BLOB NOT NULL,
    id BLOB NOT NULL,
    at INTEGER NOT NULL,
    actor_kind TEXT NOT NULL,
    actor_id BLOB,
    actor_name TEXT NOT NULL,
    client TEXT,
    action TEXT NOT NULL,
    target TEXT NOT NULL,
    old_state TEXT,
    new_state TEXT,
    PRIMARY KEY (project_id, id)
) STRICT;
CREATE INDEX audit_log_action ON audit_log (project_id, action, id);
CREATE INDEX audit_log_actor ON audit_log (project_id, actor_name, id);
CREATE INDEX audit_log_at ON audit_log (at, project_id);

CREATE TABLE audit_seals (
    project_id BLOB NOT NULL,
    position INTEGER NOT NULL,
    last_id BLOB NOT NULL,
    entries INTEGER NOT NULL,
    hash BLOB NOT NULL,
    sealed_at INTEGER NOT NULL,
    cut_before INTEGER,
    PRIMARY KEY (project_id, position)
) STRICT;
CREATE INDEX audit_seals_old ON audit_seals (last_id, project_id) WHERE cut_before IS NULL;

CREATE TABLE blocks (
    project_id BLOB NOT NULL,
    blocker_id BLOB NOT NULL,
    blocked_id BLOB NOT NULL,
    id BLOB NOT NULL,
    created_at INTEGER NOT NULL,
    PRIMARY KEY (project_id, blocker_id, blocked_id),
    FOREIGN KEY (project_id, blocker_id) REFERENCES users (project_id, id) ON DELETE CASCADE,
    FOREIGN KEY (project_id, blocked_id) REFERENCES users (project_id, id) ON DELETE CASCADE
) STRICT, WITHOUT ROWID;
CREATE INDEX blocks_blocked ON blocks (project_id, blocked_id, blocker_id);
CREATE INDEX blocks_newest ON blocks (project_id, blocker_id, created_at DESC, id DESC);

CREATE TABLE chat_mentions (
    project_id BLOB NOT NULL,
    user_id BLOB NOT NULL,
    message_id BLOB NOT NULL,
    PRIMARY KEY (project_id, user_id, message_id),
    FOREIGN KEY (project_id, message_id) REFERENCES chat_messages (project_id, id) ON DELETE CASCADE
) STRICT, WITHOUT ROWID;
CREATE INDEX chat_mentions_message ON chat_mentions (project_id, message_id);

CREATE TABLE chat_messages (
    project_id BLOB NOT NULL,
    id BLOB NOT NULL,
    conversation_id BLOB NOT NULL,
    user_id BLOB,
    content TEXT,
    gif TEXT,
    mentions TEXT NOT NULL,
    metadata TEXT NOT NULL,
    parent_message_id BLOB,
    quoted_message_id BLOB,
    has_files INTEGER NOT NULL,
    thread_reply_count INTEGER NOT NULL,
    reaction_counts TEXT NOT NULL,
    is_removed INTEGER NOT NULL,
    edited_at INTEGER,
    user_deleted_at INTEGER,
    moderation_status TEXT,
    moderated_at INTEGER,
    moderated_by_id BLOB,
    moderated_by_type TEXT,
    moderation_reason TEXT,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    PRIMARY KEY (project_id, id),
    FOREIGN KEY (project_id, conversation_id) REFERENCES conversations (project_id, id) ON DELETE CASCADE,
    FOREIGN KEY (project_id, user_id) REFERENCES users (project_id, id)
) STRICT;
CREATE INDEX chat_messages_answered ON chat_messages (project_id, conversation_id, created_at DESC) WHERE parent_message_id IS NULL AND NOT is_removed AND thread_reply_count > 0;
CREATE INDEX chat_messages_conversation ON chat_messages (project_id, conversation_id, id);
CREATE INDEX chat_messages_main ON chat_messages (project_id, conversation_id, created_at DESC) WHERE parent_message_id IS NULL AND NOT is_removed;
CREATE INDEX chat_messages_thread ON chat_messages (project_id, parent_message_id, created_at) WHERE parent_message_id IS NOT NULL AND NOT is_removed;
CREATE INDEX chat_messages_unread ON chat_messages (project_id, conversation_id, created_at, user_id) WHERE parent_message_id IS NULL AND NOT is_removed AND user_deleted_at IS NULL;
CREATE INDEX chat_messages_user ON chat_messages (project_id, user_id) WHERE user_id IS NOT NULL;

CREATE TABLE chat_reactions (
    project_id BLOB NOT NULL,
    message_id BLOB NOT NULL,
    user_id BLOB NOT NULL,
    emoji TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    PRIMARY KEY (project_id, message_id, user_id, emoji),
    FOREIGN KEY (project_id, message_id) REFERENCES chat_messages (project_id, id) ON DELETE CASCADE,
    FOREIGN KEY (project_id, user_id) REFERENCES users (project_id, id)
) STRICT, WITHOUT ROWID;
CREATE INDEX chat_reactions_listed ON chat_reactions (project_id, message_id, emoji, created_at, user_id);
CREATE INDEX chat_reactions_user ON chat_reactions (project_id, user_id);

CREATE TABLE collection_entities (
    project_id BLOB NOT NULL,
    collection_id BLOB NOT NULL,
    entity_id BLOB NOT NULL,
    id BLOB NOT NULL,
    user_id BLOB NOT NULL,
    created_at INTEGER NOT NULL,
    PRIMARY KEY (project_id, collection_id, entity_id),
    FOREIGN KEY (project_id, collection_id) REFERENCES collections (project_id, id) ON DELETE CASCADE,
    FOREIGN KEY (project_id, entity_id) REFERENCES entities (project_id, id)
) STRICT, WITHOUT ROWID;
CREATE INDEX collection_entities_added ON collection_entities (project_id, collection_id, created_at DESC, id DESC);
CREATE INDEX collection_entities_entity ON collection_entities (project_id, entity_id, user_id);

CREATE TABLE collections (
    project_id BLOB NOT NULL,
    id BLOB NOT NULL,
    user_id BLOB NOT NULL,
    parent_id BLOB,
    is_root INTEGER NOT NULL,
    name TEXT NOT NULL,
    depth INTEGER NOT NULL,
    entity_count INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    PRIMARY KEY (project_id, id),
    FOREIGN KEY (project_id, user_id) REFERENCES users (project_id, id) ON DELETE CASCADE,
    FOREIGN KEY (project_id, parent_id) REFERENCES collections (project_id, id)
) STRICT;
CREATE INDEX collections_children ON collections (project_id, parent_id, created_at, id);
CREATE UNIQUE INDEX collections_name ON collections (project_id, parent_id, name);
CREATE UNIQUE INDEX collections_root ON collections (project_id, user_id) WHERE is_root;
CREATE INDEX collections_user ON collections (project_id, user_id, depth, id);

CREATE TABLE comment_bodies (
    project_id BLOB NOT NULL,
    id BLOB NOT NULL,
    content TEXT,
    gif TEXT,
    mentions TEXT NOT NULL,
    attachments TEXT NOT NULL,
    metadata TEXT NOT NULL,
    PRIMARY KEY (project_id, id),
    FOREIGN KEY (project_id, id) REFERENCES comments (project_id, id) ON DELETE CASCADE
) STRICT;

CREATE TABLE comment_mentions (
    project_id BLOB NOT NULL,
    user_id BLOB NOT NULL,
    comment_id BLOB NOT NULL,
    PRIMARY KEY (project_id, user_id, comment_id),
    FOREIGN KEY (project_id, comment_id) REFERENCES comments (project_id, id) ON DELETE CASCADE
) STRICT, WITHOUT ROWID;
CREATE INDEX comment_mentions_comment ON comment_mentions (project_id, comment_id);

CREATE TABLE comments (
    project_id BLOB NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
    id BLOB NOT NULL,
    foreign_id TEXT,
    entity_id BLOB NOT NULL,
    space_id BLOB,
    user_id BLOB,
    parent_id BLOB,
    thread_id BLOB NOT NULL,
    referenced_id BLOB,
    upvote_count INTEGER NOT NULL,
    downvote_count INTEGER NOT NULL,
    like_count INTEGER NOT NULL,
    love_count INTEGER NOT NULL,
    wow_count INTEGER NOT NULL,
    sad_count INTEGER NOT NULL,
    angry_count INTEGER NOT NULL,
    funny_count INTEGER NOT NULL,
    balance INTEGER NOT NULL,
    controversy REAL NOT NULL,
    replies_count INTEGER NOT NULL,
    answers_count INTEGER NOT NULL,
    moderation_status TEXT,
    moderated_at INTEGER,
    moderated_by_id BLOB,
    moderated_by_type TEXT,
    moderation_reason TEXT,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    parent_deleted_at INTEGER,
    user_deleted_at INTEGER,
    deleted_at INTEGER,
    PRIMARY KEY (project_id, id),
    FOREIGN KEY (project_id, user_id) REFERENCES users (project_id, id)
) STRICT;
CREATE INDEX comments_author ON comments (project_id, user_id, created_at DESC, id DESC) WHERE user_id IS NOT NULL;
CREATE INDEX comments_best ON comments (project_id, entity_id, upvote_count DESC, created_at, id) WHERE deleted_at IS NULL AND user_deleted_at IS NULL AND parent_deleted_at IS NULL AND upvote_count > 0;
CREATE INDEX comments_emptied ON comments (project_id, entity_id, thread_id) WHERE user_deleted_at IS NOT NULL;
CREATE INDEX comments_entity_controversial ON comments (project_id, entity_id, controversy DESC, created_at DESC, id DESC) WHERE deleted_at IS NULL AND controversy >= 0;
CREATE INDEX comments_entity_new ON comments (project_id, entity_id, created_at DESC, id DESC) WHERE deleted_at IS NULL;
CREATE INDEX comments_entity_top ON comments (project_id, entity_id, balance DESC, upvote_count DESC, created_at DESC, id DESC) WHERE deleted_at IS NULL AND upvote_count + downvote_count > 0;
CREATE INDEX comments_foreign_id ON comments (project_id, foreign_id, created_at, id) WHERE foreign_id IS NOT NULL AND deleted_at IS NULL;
CREATE INDEX comments_held ON comments (project_id, entity_id, user_id) WHERE moderated_by_type = 'hold';
CREATE INDEX comments_hidden ON comments (project_id, entity_id) WHERE deleted_at IS NOT NULL;
CREATE INDEX comments_new ON comments (project_id, created_at DESC, id DESC) WHERE deleted_at IS NULL;
CREATE INDEX comments_thread_controversial ON comments (project_id, thread_id, controversy DESC, created_at DESC, id DESC) WHERE deleted_at IS NULL AND controversy >= 0;
CREATE INDEX comments_thread_new ON comments (project_id, thread_id, created_at DESC, id DESC) WHERE deleted_at IS NULL;
CREATE INDEX comments_thread_top ON comments (project_id, thread_id, balance DESC, upvote_count DESC, created_at DESC, id DESC) WHERE deleted_at IS NULL AND upvote_count + downvote_count > 0;

CREATE TABLE connection_counts (
    project_id BLOB NOT NULL,
    user_id BLOB NOT NULL,
    connected INTEGER NOT NULL,
    sent INTEGER NOT NULL,
    received INTEGER NOT NULL,
    PRIMARY KEY (project_id, user_id),
    FOREIGN KEY (project_id, user_id) REFERENCES users (project_id, id) ON DELETE CASCADE
) STRICT, WITHOUT ROWID;

CREATE TABLE connection_sides (
    project_id BLOB NOT NULL,
    user_id BLOB NOT NULL,
    other_id BLOB NOT NULL,
    connection_id BLOB NOT NULL,
    kind TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    PRIMARY KEY (project_id, user_id, other_id),
    FOREIGN KEY (project_id, connection_id) REFERENCES connections (project_id, id) ON DELETE CASCADE
) STRICT, WITHOUT ROWID;
CREATE INDEX connection_sides_connection ON connection_sides (project_id, connection_id);
CREATE INDEX connection_sides_list ON connection_sides (project_id, user_id, kind, created_at DESC, connection_id DESC);

CREATE TABLE connections (
    project_id BLOB NOT NULL,
    id BLOB NOT NULL,
    low_id BLOB NOT NULL,
    high_id BLOB NOT NULL,
    requester_id BLOB NOT NULL,
    status TEXT NOT NULL,
    message TEXT,
    responded_at INTEGER,
    created_at INTEGER NOT NULL,
    PRIMARY KEY (project_id, id),
    FOREIGN KEY (project_id, low_id) REFERENCES users (project_id, id) ON DELETE CASCADE,
    FOREIGN KEY (project_id, high_id) REFERENCES users (project_id, id) ON DELETE CASCADE
) STRICT;
CREATE INDEX connections_high ON connections (project_id, high_id);
CREATE UNIQUE INDEX connections_pair ON connections (project_id, low_id, high_id);

CREATE TABLE conversation_members (
    project_id BLOB NOT NULL,
    conversation_id BLOB NOT NULL,
    user_id BLOB NOT NULL,
    id BLOB NOT NULL,
    role TEXT,
    last_read_at INTEGER,
    muted_until INTEGER,
    muted_forever INTEGER NOT NULL,
    is_active INTEGER NOT NULL,
    left_at INTEGER,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    PRIMARY KEY (project_id, conversation_id, user_id),
    FOREIGN KEY (project_id, conversation_id) REFERENCES conversations (project_id, id) ON DELETE CASCADE,
    FOREIGN KEY (project_id, user_id) REFERENCES users (project_id, id)
) STRICT;
CREATE INDEX conversation_members_listed ON conversation_members (project_id, conversation_id, created_at, id, user_id) WHERE is_active;
CREATE INDEX conversation_members_user ON conversation_members (project_id, user_id, conversation_id);

CREATE TABLE conversations (
    project_id BLOB NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
    id BLOB NOT NULL,
    kind TEXT NOT NULL,
    name TEXT,
    description TEXT,
    space_id BLOB,
    created_by_id BLOB,
    avatar_file_id BLOB,
    posting_permission TEXT,
    metadata TEXT NOT NULL,
    first_id BLOB,
    second_id BLOB,
    member_count INTEGER NOT NULL,
    has_visible INTEGER NOT NULL,
    last_message_at INTEGER,
    last_created_at INTEGER,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    deleted_at INTEGER,
    PRIMARY KEY (project_id, id),
    FOREIGN KEY (project_id, space_id) REFERENCES spaces (project_id, id),
    FOREIGN KEY (project_id, created_by_id) REFERENCES users (project_id, id)
) STRICT;
CREATE INDEX conversations_avatar ON conversations (project_id, avatar_file_id) WHERE avatar_file_id IS NOT NULL;
CREATE INDEX conversations_creator ON conversations (project_id, created_by_id) WHERE created_by_id IS NOT NULL;
CREATE UNIQUE INDEX conversations_pair ON conversations (project_id, first_id, second_id) WHERE first_id IS NOT NULL;
CREATE UNIQUE INDEX conversations_space ON conversations (project_id, space_id) WHERE space_id IS NOT NULL;

CREATE TABLE custom_columns (
    project_id BLOB NOT NULL,
    table_id BLOB NOT NULL,
    position INTEGER NOT NULL,
    name TEXT NOT NULL,
    data_type TEXT NOT NULL,
    nullable INTEGER NOT NULL,
    default_value TEXT,
    indexed INTEGER NOT NULL,
    references_id BLOB,
    on_delete TEXT,
    PRIMARY KEY (project_id, table_id, position),
    FOREIGN KEY (project_id, table_id) REFERENCES custom_tables (project_id, id) ON DELETE CASCADE,
    FOREIGN KEY (project_id, references_id) REFERENCES custom_tables (project_id, id)
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX custom_columns_name ON custom_columns (project_id, table_id, name);
CREATE INDEX custom_columns_references ON custom_columns (project_id, references_id) WHERE references_id IS NOT NULL;

CREATE TABLE custom_tables (
    project_id BLOB NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
    id BLOB NOT NULL,
    name TEXT NOT NULL,
    timestamps INTEGER NOT NULL,
    paranoid INTEGER NOT NULL,
    access TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    PRIMARY KEY (project_id, id)
) STRICT;
CREATE UNIQUE INDEX custom_tables_name ON custom_tables (project_id, name);

CREATE TABLE email_verifications (
    project_id BLOB NOT NULL,
    id BLOB NOT NULL,
    user_id BLOB NOT NULL,
    token_hash BLOB NOT NULL,
    guessable INTEGER NOT NULL,
    wrong_tries INTEGER NOT NULL,
    expires_at INTEGER NOT NULL,
    PRIMARY KEY (project_id, id),
    FOREIGN KEY (project_id, user_id) REFERENCES users (project_id, id) ON DELETE CASCADE
) STRICT;
CREATE INDEX email_verifications_expiry ON email_verifications (expires_at);
CREATE UNIQUE INDEX email_verifications_token ON email_verifications (project_id, token_hash);
CREATE INDEX email_verifications_user ON email_verifications (project_id, user_id);

CREATE TABLE entities (
    project_id BLOB NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
    id BLOB NOT NULL,
    foreign_id TEXT,
    source_id TEXT,
    space_id BLOB,
    user_id BLOB,
    is_draft INTEGER NOT NULL,
    is_listed INTEGER NOT NULL,
    is_wide INTEGER NOT NULL,
    nsfw INTEGER NOT NULL,
    upvote_count INTEGER NOT NULL,
    downvote_count INTEGER NOT NULL,
    like_count INTEGER NOT NULL,
    love_count INTEGER NOT NULL,
    wow_count INTEGER NOT NULL,
    sad_count INTEGER NOT NULL,
    angry_count INTEGER NOT NULL,
    funny_count INTEGER NOT NULL,
    controversy REAL,
    replies_count INTEGER NOT NULL,
    shares_count INTEGER NOT NULL,
    views INTEGER NOT NULL,
    score REAL NOT NULL,
    score_updated_at INTEGER NOT NULL,
    latitude REAL,
    longitude REAL,
    has_attachments INTEGER NOT NULL,
    moderation_status TEXT,
    moderated_at INTEGER,
    moderated_by_id BLOB,
    moderated_by_type TEXT,
    moderation_reason TEXT,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    deleted_at INTEGER,
    comments_count INTEGER NOT NULL DEFAULT 0,
    top_comments_count INTEGER NOT NULL DEFAULT 0,
    is_emptied INTEGER NOT NULL DEFAULT FALSE,
    PRIMARY KEY (project_id, id),
    FOREIGN KEY (project_id, user_id) REFERENCES users (project_id, id)
) STRICT;
CREATE INDEX entities_author ON entities (project_id, user_id, created_at DESC, id DESC) WHERE user_id IS NOT NULL;
CREATE INDEX entities_balance ON entities (project_id, (upvote_count - downvote_count) DESC, upvote_count DESC, created_at DESC, id DESC) WHERE is_listed AND upvote_count + downvote_count > 0;
CREATE INDEX entities_controversial ON entities (project_id, controversy DESC, created_at DESC, id DESC) WHERE is_listed AND controversy IS NOT NULL;
CREATE INDEX entities_drafts ON entities (project_id, user_id, updated_at DESC, id DESC) WHERE is_draft;
CREATE UNIQUE INDEX entities_foreign_id ON entities (project_id, foreign_id) WHERE foreign_id IS NOT NULL AND deleted_at IS NULL;
CREATE INDEX entities_hot ON entities (project_id, score DESC, created_at DESC, id DESC, space_id, is_listed) WHERE is_listed;
CREATE INDEX entities_loose_hot ON entities (project_id, score DESC, created_at DESC, id DESC) WHERE is_listed AND source_id IS NULL AND space_id IS NULL;
CREATE INDEX entities_loose_new ON entities (project_id, created_at DESC, id DESC) WHERE is_listed AND source_id IS NULL AND space_id IS NULL;
CREATE INDEX entities_new ON entities (project_id, created_at DESC, id DESC, space_id, is_listed) WHERE is_listed;
CREATE INDEX entities_place ON entities (project_id, latitude, longitude, id) WHERE is_listed AND latitude IS NOT NULL;
CREATE INDEX entities_ranks ON entities (project_id, id, is_listed, space_id, user_id, created_at, score, upvote_count, downvote_count, like_count, love_count, wow_count, sad_count, angry_count, funny_count);
CREATE INDEX entities_source_hot ON entities (project_id, source_id, score DESC, created_at DESC, id DESC) WHERE is_listed AND source_id IS NOT NULL;
CREATE INDEX entities_source_new ON entities (project_id, source_id, created_at DESC, id DESC) WHERE is_listed AND source_id IS NOT NULL;
CREATE INDEX entities_space ON entities (project_id, space_id, id) WHERE space_id IS NOT NULL;
CREATE INDEX entities_space_controversial ON entities (project_id, space_id, controversy DESC, created_at DESC, id DESC) WHERE is_listed AND space_id IS NOT NULL AND controversy IS NOT NULL;
CREATE INDEX entities_space_hot ON entities (project_id, space_id, score DESC, created_at DESC, id DESC) WHERE is_listed AND space_id IS NOT NULL;
CREATE INDEX entities_space_new ON entities (project_id, space_id, created_at DESC, id DESC) WHERE is_listed AND space_id IS NOT NULL;
CREATE INDEX entities_space_top ON entities (project_id, space_id, upvote_count DESC, created_at DESC, id DESC) WHERE is_listed AND space_id IS NOT NULL AND upvote_count > 0;
CREATE INDEX entities_top_angry ON entities (project_id, angry_count DESC, created_at DESC, id DESC) WHERE is_listed AND angry_count > 0;
CREATE INDEX entities_top_downvote ON entities (project_id, downvote_count DESC, created_at DESC, id DESC) WHERE is_listed AND downvote_count > 0;
CREATE INDEX entities_top_funny ON entities (project_id, funny_count DESC, created_at DESC, id DESC) WHERE is_listed AND funny_count > 0;
CREATE INDEX entities_top_like ON entities (project_id, like_count DESC, created_at DESC, id DESC) WHERE is_listed AND like_count > 0;
CREATE INDEX entities_top_love ON entities (project_id, love_count DESC, created_at DESC, id DESC) WHERE is_listed AND love_count > 0;
CREATE INDEX entities_top_sad ON entities (project_id, sad_count DESC, created_at DESC, id DESC) WHERE is_listed AND sad_count > 0;
CREATE INDEX entities_top_upvote ON entities (project_id, upvote_count DESC, created_at DESC, id DESC) WHERE is_listed AND upvote_count > 0;
CREATE INDEX entities_top_wow ON entities (project_id, wow_count DESC, created_at DESC, id DESC) WHERE is_listed AND wow_count > 0;
CREATE INDEX entities_wide ON entities (project_id, id) WHERE is_wide;

CREATE TABLE entity_bodies (
    project_id BLOB NOT NULL,
    id BLOB NOT NULL,
    title TEXT,
    content TEXT,
    mentions TEXT NOT NULL,
    attachments TEXT NOT NULL,
    keywords TEXT NOT NULL,
    metadata TEXT NOT NULL,
    PRIMARY KEY (project_id, id),
    FOREIGN KEY (project_id, id) REFERENCES entities (project_id, id) ON DELETE CASCADE
) STRICT;

CREATE TABLE entity_counts (
    project_id BLOB NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
    scope TEXT NOT NULL,
    shard INTEGER NOT NULL,
    total INTEGER NOT NULL,
    within TEXT,
    space_id BLOB,
    PRIMARY KEY (project_id, scope, shard)
) STRICT, WITHOUT ROWID;
CREATE INDEX entity_counts_within ON entity_counts (project_id, within, space_id) WHERE space_id IS NOT NULL;

CREATE TABLE entity_terms (
    project_id BLOB NOT NULL,
    term BLOB NOT NULL,
    created_at INTEGER NOT NULL,
    entity_id BLOB NOT NULL,
    PRIMARY KEY (project_id, term, created_at, entity_id),
    FOREIGN KEY (project_id, entity_id) REFERENCES entities (project_id, id) ON DELETE CASCADE
) STRICT, WITHOUT ROWID;
CREATE INDEX entity_terms_entity ON entity_terms (project_id, entity_id, term);

CREATE TABLE event_bodies (
    project_id BLOB NOT NULL,
    id BLOB NOT NULL,
    description TEXT,
    metadata TEXT NOT NULL,
    PRIMARY KEY (project_id, id),
    FOREIGN KEY (project_id, id) REFERENCES events (project_id, id) ON DELETE CASCADE
) STRICT;

CREATE TABLE event_hosts (
    project_id BLOB NOT NULL,
    event_id BLOB NOT NULL,
    user_id BLOB NOT NULL,
    position INTEGER NOT NULL,
    PRIMARY KEY (project_id, event_id, user_id),
    FOREIGN KEY (project_id, event_id) REFERENCES events (project_id, id) ON DELETE CASCADE
) STRICT, WITHOUT ROWID;
CREATE INDEX event_hosts_user ON event_hosts (project_id, user_id, event_id);

CREATE TABLE event_invites (
    project_id BLOB NOT NULL,
    event_id BLOB NOT NULL,
    user_id BLOB NOT NULL,
    id BLOB NOT NULL,
    invited_at INTEGER NOT NULL,
    PRIMARY KEY (project_id, event_id, user_id),
    FOREIGN KEY (project_id, event_id) REFERENCES events (project_id, id) ON DELETE CASCADE,
    FOREIGN KEY (project_id, user_id) REFERENCES users (project_id, id)
) STRICT;
CREATE INDEX event_invites_listed ON event_invites (project_id, event_id, invited_at DESC, id DESC);
CREATE INDEX event_invites_user ON event_invites (project_id, user_id, event_id);

CREATE TABLE event_rsvps (
    project_id BLOB NOT NULL,
    event_id BLOB NOT NULL,
    user_id BLOB NOT NULL,
    id BLOB NOT NULL,
    status TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    PRIMARY KEY (project_id, event_id, user_id),
    FOREIGN KEY (project_id, event_id) REFERENCES events (project_id, id) ON DELETE CASCADE,
    FOREIGN KEY (project_id, user_id) REFERENCES users (project_id, id)
) STRICT;
CREATE INDEX event_rsvps_listed ON event_rsvps (project_id, event_id, status, created_at DESC, id DESC);
CREATE INDEX event_rsvps_user ON event_rsvps (project_id, user_id, status, event_id);

CREATE TABLE event_totals (
    project_id BLOB NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
    hours INTEGER NOT NULL,
    status TEXT NOT NULL,
    visibility TEXT NOT NULL,
    type TEXT NOT NULL,
    number INTEGER NOT NULL,
    total INTEGER NOT NULL,
    PRIMARY KEY (project_id, hours, status, visibility, type, number)
) STRICT, WITHOUT ROWID;

CREATE TABLE events (
    project_id BLOB NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
    id BLOB NOT NULL,
    user_id BLOB,
    title TEXT NOT NULL,
    start_time INTEGER NOT NULL,
    end_time INTEGER,
    length_class INTEGER,
    timezone TEXT,
    type TEXT NOT NULL,
    url TEXT,
    venue_name TEXT,
    address TEXT,
    latitude REAL,
    longitude REAL,
    space_id BLOB,
    visibility TEXT NOT NULL,
    status TEXT NOT NULL,
    allow_maybe INTEGER NOT NULL,
    guest_list_visible INTEGER NOT NULL,
    capacity INTEGER,
    cover_image_id BLOB,
    going_count INTEGER NOT NULL,
    maybe_count INTEGER NOT NULL,
    not_going_count INTEGER NOT NULL,
    invite_count INTEGER NOT NULL,
    revision INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    deleted_at INTEGER,
    PRIMARY KEY (project_id, id),
    FOREIGN KEY (project_id, user_id) REFERENCES users (project_id, id)
) STRICT;
CREATE INDEX events_cover ON events (project_id, cover_image_id) WHERE cover_image_id IS NOT NULL;
CREATE INDEX events_current ON events (project_id, status, length_class, start_time) WHERE length_class IS NOT NULL AND deleted_at IS NULL;
CREATE INDEX events_going ON events (project_id, status, visibility, type, going_count, id) WHERE deleted_at IS NULL;
CREATE INDEX events_place ON events (project_id, latitude) WHERE latitude IS NOT NULL AND deleted_at IS NULL;
CREATE INDEX events_space ON events (project_id, space_id, status, start_time, id) WHERE space_id IS NOT NULL AND deleted_at IS NULL;
CREATE INDEX events_time ON events (project_id, status, visibility, type, start_time, id) WHERE deleted_at IS NULL;
CREATE INDEX events_user ON events (project_id, user_id) WHERE user_id IS NOT NULL;

CREATE TABLE files (
    project_id BLOB NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
    id BLOB NOT NULL,
    user_id BLOB,
    entity_id BLOB,
    comment_id BLOB,
    chat_message_id BLOB,
    space_id BLOB,
    event_id BLOB,
    path TEXT NOT NULL,
    size INTEGER NOT NULL,
    mime TEXT NOT NULL,
    position INTEGER NOT NULL,
    metadata TEXT NOT NULL,
    image TEXT,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    sha256 TEXT,
    PRIMARY KEY (project_id, id)
) STRICT;
CREATE INDEX files_chat_message ON files (project_id, chat_message_id, position, id) WHERE chat_message_id IS NOT NULL;
CREATE INDEX files_comment ON files (project_id, comment_id, position, id) WHERE comment_id IS NOT NULL;
CREATE INDEX files_entity ON files (project_id, entity_id, position, id) WHERE entity_id IS NOT NULL;
CREATE INDEX files_event ON files (project_id, event_id, position, id) WHERE event_id IS NOT NULL;
CREATE INDEX files_space ON files (project_id, space_id, position, id) WHERE space_id IS NOT NULL;
CREATE INDEX files_user ON files (project_id, user_id) WHERE user_id IS NOT NULL;

CREATE TABLE follow_counts (
    project_id BLOB NOT NULL,
    user_id BLOB NOT NULL,
    followers INTEGER NOT NULL,
    following INTEGER NOT NULL,
    PRIMARY KEY (project_id, user_id),
    FOREIGN KEY (project_id, user_id) REFERENCES users (project_id, id) ON DELETE CASCADE
) STRICT, WITHOUT ROWID;

CREATE TABLE follows (
    project_id BLOB NOT NULL,
    id BLOB NOT NULL,
    follower_id BLOB NOT NULL,
    followed_id BLOB NOT NULL,
    created_at INTEGER NOT NULL,
    PRIMARY KEY (project_id, id),
    FOREIGN KEY (project_id, follower_id) REFERENCES users (project_id, id) ON DELETE CASCADE,
    FOREIGN KEY (project_id, followed_id) REFERENCES users (project_id, id) ON DELETE CASCADE
) STRICT;
CREATE INDEX follows_followers ON follows (project_id, followed_id, created_at DESC, id DESC);
CREATE INDEX follows_following ON follows (project_id, follower_id, created_at DESC, id DESC);
CREATE UNIQUE INDEX follows_pair ON follows (project_id, follower_id, followed_id);

CREATE TABLE grant_totals (
    project_id BLOB NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
    target_id BLOB NOT NULL,
    total INTEGER NOT NULL,
    grants INTEGER NOT NULL,
    PRIMARY KEY (project_id, target_id)
) STRICT, WITHOUT ROWID;

CREATE TABLE identities (
    project_id BLOB NOT NULL,
    id BLOB NOT NULL,
    user_id BLOB NOT NULL,
    provider TEXT NOT NULL,
    provider_account_id TEXT NOT NULL,
    email TEXT,
    name TEXT,
    avatar TEXT,
    is_verified INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    PRIMARY KEY (project_id, id),
    FOREIGN KEY (project_id, user_id) REFERENCES users (project_id, id) ON DELETE CASCADE
) STRICT;
CREATE UNIQUE INDEX identities_account ON identities (project_id, provider, provider_account_id);
CREATE INDEX identities_user ON identities (project_id, user_id, created_at, id);

CREATE TABLE installation (
    name TEXT NOT NULL PRIMARY KEY,
    value TEXT NOT NULL
) STRICT;

CREATE TABLE job_queues (
    project_id BLOB NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
    id BLOB NOT NULL,
    run_at INTEGER NOT NULL,
    failures INTEGER NOT NULL,
    failing_since INTEGER,
    paused_at INTEGER,
    PRIMARY KEY (project_id, id)
) STRICT;
CREATE INDEX job_queues_due ON job_queues (run_at) WHERE paused_at IS NULL;
CREATE INDEX job_queues_retries ON job_queues (run_at) WHERE paused_at IS NULL AND failures > 0;

CREATE TABLE jobs (
    project_id BLOB NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
    id BLOB NOT NULL,
    payload TEXT NOT NULL,
    attempts INTEGER NOT NULL,
    run_at INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    queue_id BLOB,
    position INTEGER NOT NULL DEFAULT 0,
    ended_at INTEGER,
    has_failed INTEGER NOT NULL DEFAULT FALSE,
    last_error TEXT,
    PRIMARY KEY (project_id, id)
) STRICT;
CREATE INDEX jobs_due ON jobs (run_at, id) WHERE queue_id IS NULL AND ended_at IS NULL;
CREATE INDEX jobs_ended ON jobs (ended_at) WHERE ended_at IS NOT NULL;
CREATE INDEX jobs_failed ON jobs (project_id) WHERE has_failed;
CREATE INDEX jobs_queued ON jobs (project_id, queue_id, position) WHERE queue_id IS NOT NULL AND ended_at IS NULL;

CREATE TABLE jwt_issuers (
    project_id BLOB NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
    issuer TEXT NOT NULL,
    settings TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    PRIMARY KEY (project_id, issuer)
) STRICT;

CREATE TABLE mail_preferences (
    project_id BLOB NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
    user_id BLOB NOT NULL,
    frequency TEXT NOT NULL,
    timezone TEXT,
    quiet_from INTEGER,
    quiet_until INTEGER,
    language TEXT,
    updated_at INTEGER NOT NULL,
    PRIMARY KEY (project_id, user_id),
    FOREIGN KEY (project_id, user_id) REFERENCES users (project_id, id) ON DELETE CASCADE
) STRICT;

CREATE TABLE mail_quotas (
    project_id BLOB NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
    address_hash BLOB NOT NULL,
    sent_at TEXT NOT NULL,
    expires_at INTEGER NOT NULL,
    PRIMARY KEY (project_id, address_hash)
) STRICT;
CREATE INDEX mail_quotas_expiry ON mail_quotas (expires_at);

CREATE TABLE mail_schedules (
    project_id BLOB NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
    user_id BLOB NOT NULL,
    since INTEGER,
    due_at INTEGER,
    not_before INTEGER NOT NULL,
    PRIMARY KEY (project_id, user_id),
    FOREIGN KEY (project_id, user_id) REFERENCES users (project_id, id) ON DELETE CASCADE
) STRICT;
CREATE INDEX mail_schedules_due ON mail_schedules (due_at) WHERE due_at IS NOT NULL;

CREATE TABLE mail_templates (
    project_id BLOB NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
    language TEXT NOT NULL,
    settings TEXT NOT NULL,
    updated_at INTEGER NOT NULL,
    PRIMARY KEY (project_id, language)
) STRICT;

CREATE TABLE moderation_appeals (
    project_id BLOB NOT NULL,
    id BLOB NOT NULL,
    decision_id BLOB NOT NULL,
    user_id BLOB NOT NULL,
    text TEXT NOT NULL,
    state TEXT NOT NULL,
    outcome_id BLOB,
    answer TEXT,
    created_at INTEGER NOT NULL,
    decided_at INTEGER,
    claimed_by BLOB,
    claimed_by_name TEXT,
    claimed_until INTEGER,
    decider_id BLOB,
    PRIMARY KEY (project_id, id),
    FOREIGN KEY (project_id, user_id) REFERENCES users (project_id, id) ON DELETE CASCADE
) STRICT;
CREATE INDEX moderation_appeals_decider ON moderation_appeals (project_id, decider_id, created_at, id) WHERE state = 'open' AND outcome_id IS NULL;
CREATE UNIQUE INDEX moderation_appeals_decision ON moderation_appeals (project_id, decision_id);
CREATE INDEX moderation_appeals_outcome ON moderation_appeals (project_id, outcome_id) WHERE outcome_id IS NOT NULL;
CREATE INDEX moderation_appeals_queue ON moderation_appeals (project_id, created_at, id) WHERE state = 'open' AND outcome_id IS NULL;
CREATE INDEX moderation_appeals_user ON moderation_appeals (project_id, user_id, created_at DESC, id DESC);

CREATE TABLE moderation_decisions (
    project_id BLOB NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
    id BLOB NOT NULL,
    report_id BLOB,
    target_type TEXT NOT NULL,
    target_id BLOB NOT NULL,
    author_id BLOB,
    space_id BLOB,
    action TEXT NOT NULL,
    ends_at INTEGER,
    reason TEXT,
    rule_id BLOB,
    operator_id BLOB,
    decided_by TEXT NOT NULL,
    decided_at INTEGER NOT NULL,
    apply_at INTEGER NOT NULL,
    state TEXT NOT NULL,
    error TEXT,
    appeal_id BLOB,
    is_strike INTEGER NOT NULL DEFAULT TRUE,
    PRIMARY KEY (project_id, id)
) STRICT;
CREATE INDEX moderation_decisions_author ON moderation_decisions (project_id, author_id, decided_at DESC, id DESC) WHERE author_id IS NOT NULL;
CREATE INDEX moderation_decisions_new ON moderation_decisions (project_id, decided_at DESC, id DESC);
CREATE INDEX moderation_decisions_pending ON moderation_decisions (apply_at) WHERE state = 'pending';
CREATE INDEX moderation_decisions_target ON moderation_decisions (project_id, target_id, decided_at DESC, id DESC);

CREATE TABLE moderation_notes (
    project_id BLOB NOT NULL,
    id BLOB NOT NULL,
    user_id BLOB NOT NULL,
    text TEXT NOT NULL,
    operator_id BLOB,
    written_by TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    PRIMARY KEY (project_id, id),
    FOREIGN KEY (project_id, user_id) REFERENCES users (project_id, id) ON DELETE CASCADE
) STRICT;
CREATE INDEX moderation_notes_user ON moderation_notes (project_id, user_id, created_at DESC, id DESC);

CREATE TABLE moderation_posts (
    project_id BLOB NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
    id BLOB NOT NULL,
    user_id BLOB,
    text_hash BLOB NOT NULL,
    written_at INTEGER NOT NULL,
    PRIMARY KEY (project_id, id),
    FOREIGN KEY (project_id, user_id) REFERENCES users (project_id, id) ON DELETE CASCADE
) STRICT;
CREATE INDEX moderation_posts_old ON moderation_posts (written_at);
CREATE INDEX moderation_posts_text ON moderation_posts (project_id, text_hash, written_at DESC);
CREATE INDEX moderation_posts_user ON moderation_posts (project_id, user_id, written_at DESC);

CREATE TABLE moderation_rule_hits (
    project_id BLOB NOT NULL,
    id BLOB NOT NULL,
    rule_id BLOB NOT NULL,
    target_type TEXT NOT NULL,
    target_id BLOB NOT NULL,
    action TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    PRIMARY KEY (project_id, id),
    FOREIGN KEY (project_id, rule_id) REFERENCES moderation_rules (project_id, id) ON DELETE CASCADE
) STRICT;
CREATE INDEX moderation_rule_hits_old ON moderation_rule_hits (created_at);
CREATE INDEX moderation_rule_hits_rule ON moderation_rule_hits (project_id, rule_id, created_at DESC, id DESC);

CREATE TABLE moderation_rules (
    project_id BLOB NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
    id BLOB NOT NULL,
    position INTEGER NOT NULL,
    name TEXT NOT NULL,
    targets TEXT NOT NULL,
    condition TEXT NOT NULL,
    action TEXT NOT NULL,
    state TEXT NOT NULL,
    message TEXT,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    PRIMARY KEY (project_id, id)
) STRICT;

CREATE TABLE notification_counts (
    project_id BLOB NOT NULL,
    user_id BLOB NOT NULL,
    space_id BLOB NOT NULL,
    total INTEGER NOT NULL,
    unread INTEGER NOT NULL,
    unread_since INTEGER NOT NULL,
    PRIMARY KEY (project_id, user_id, space_id),
    FOREIGN KEY (project_id, user_id) REFERENCES users (project_id, id) ON DELETE CASCADE
) STRICT, WITHOUT ROWID;

CREATE TABLE notification_preferences (
    project_id BLOB NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
    user_id BLOB NOT NULL,
    disabled_types TEXT NOT NULL,
    updated_at INTEGER NOT NULL,
    PRIMARY KEY (project_id, user_id),
    FOREIGN KEY (project_id, user_id) REFERENCES users (project_id, id) ON DELETE CASCADE
) STRICT;

CREATE TABLE notifications (
    project_id BLOB NOT NULL,
    user_id BLOB NOT NULL,
    id BLOB NOT NULL,
    type TEXT NOT NULL,
    action TEXT NOT NULL,
    is_read INTEGER NOT NULL,
    metadata TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    subject_id BLOB,
    target_id BLOB,
    actor_id BLOB,
    space_id BLOB,
    is_hidden INTEGER NOT NULL DEFAULT FALSE,
    PRIMARY KEY (project_id, user_id, id),
    FOREIGN KEY (project_id, user_id) REFERENCES users (project_id, id) ON DELETE CASCADE
) STRICT;
CREATE UNIQUE INDEX notifications_subject ON notifications (project_id, subject_id, target_id, user_id, type, actor_id, (CASE WHEN is_read THEN NULL ELSE 1 END)) WHERE subject_id IS NOT NULL;

CREATE TABLE oauth_providers (
    project_id BLOB NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
    provider TEXT NOT NULL,
    client_secret BLOB,
    settings TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    PRIMARY KEY (project_id, provider)
) STRICT;

CREATE TABLE oauth_states (
    project_id BLOB NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
    state_hash BLOB NOT NULL,
    provider TEXT NOT NULL,
    redirect_after_auth TEXT NOT NULL,
    code_verifier TEXT NOT NULL,
    nonce TEXT NOT NULL,
    browser_hash BLOB,
    link_to_user_id BLOB,
    expires_at INTEGER NOT NULL,
    PRIMARY KEY (project_id, state_hash),
    FOREIGN KEY (project_id, link_to_user_id) REFERENCES users (project_id, id) ON DELETE CASCADE
) STRICT;
CREATE INDEX oauth_states_expiry ON oauth_states (expires_at);
CREATE INDEX oauth_states_user ON oauth_states (project_id, link_to_user_id) WHERE link_to_user_id IS NOT NULL;

CREATE TABLE operator_challenges (
    challenge BLOB NOT NULL PRIMARY KEY,
    operator_id BLOB REFERENCES operators (id) ON DELETE CASCADE,
    expires_at INTEGER NOT NULL
) STRICT;
CREATE INDEX operator_challenges_expiry ON operator_challenges (expires_at);

CREATE TABLE operator_invitations (
    id BLOB NOT NULL PRIMARY KEY,
    token_hash BLOB NOT NULL,
    scope BLOB NOT NULL,
    role TEXT NOT NULL,
    operator_id BLOB REFERENCES operators (id) ON DELETE CASCADE,
    invited_by TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL
) STRICT;
CREATE INDEX operator_invitations_expiry ON operator_invitations (expires_at);
CREATE UNIQUE INDEX operator_invitations_token ON operator_invitations (token_hash);

CREATE TABLE operator_passkeys (
    id BLOB NOT NULL PRIMARY KEY,
    operator_id BLOB NOT NULL REFERENCES operators (id) ON DELETE CASCADE,
    credential_id BLOB NOT NULL,
    public_key BLOB NOT NULL,
    sign_count INTEGER NOT NULL,
    name TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    used_at INTEGER
) STRICT;
CREATE UNIQUE INDEX operator_passkeys_credential ON operator_passkeys (credential_id);
CREATE INDEX operator_passkeys_operator ON operator_passkeys (operator_id, created_at);

CREATE TABLE operator_roles (
    operator_id BLOB NOT NULL REFERENCES operators (id) ON DELETE CASCADE,
    scope BLOB NOT NULL,
    role TEXT NOT NULL,
    PRIMARY KEY (operator_id, scope)
) STRICT;

CREATE TABLE operator_sessions (
    id BLOB NOT NULL PRIMARY KEY,
    token_hash BLOB NOT NULL,
    operator_id BLOB NOT NULL REFERENCES operators (id) ON DELETE CASCADE,
    client TEXT NOT NULL,
    agent TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    used_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL
) STRICT;
CREATE INDEX operator_sessions_expiry ON operator_sessions (expires_at);
CREATE INDEX operator_sessions_operator ON operator_sessions (operator_id, used_at);
CREATE UNIQUE INDEX operator_sessions_token ON operator_sessions (token_hash);

CREATE TABLE operators (
    id BLOB NOT NULL PRIMARY KEY,
    email TEXT NOT NULL,
    name TEXT NOT NULL,
    password_hash TEXT NOT NULL,
    totp_secret BLOB,
    totp_step INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    disabled_at INTEGER
) STRICT;
CREATE UNIQUE INDEX operators_email ON operators (email);

CREATE TABLE password_resets (
    project_id BLOB NOT NULL,
    user_id BLOB NOT NULL,
    token_hash BLOB NOT NULL,
    expires_at INTEGER NOT NULL,
    PRIMARY KEY (project_id, user_id),
    FOREIGN KEY (project_id, user_id) REFERENCES users (project_id, id) ON DELETE CASCADE
) STRICT;
CREATE INDEX password_resets_expiry ON password_resets (expires_at);
CREATE UNIQUE INDEX password_resets_token ON password_resets (project_id, token_hash);

CREATE TABLE project_bundles (
    project_id BLOB NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
    bundle TEXT NOT NULL,
    PRIMARY KEY (project_id, bundle)
) STRICT;

CREATE TABLE project_keys (
    project_id BLOB NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
    id BLOB NOT NULL,
    kind TEXT NOT NULL,
    label TEXT,
    hash BLOB NOT NULL,
    created_at INTEGER NOT NULL,
    revoked_at INTEGER,
    scopes TEXT NOT NULL DEFAULT '',
    expires_at INTEGER,
    used_at INTEGER,
    PRIMARY KEY (project_id, id)
) STRICT;
CREATE UNIQUE INDEX project_keys_hash ON project_keys (project_id, hash);
CREATE INDEX project_keys_id ON project_keys (id);

CREATE TABLE projects (
    id BLOB NOT NULL PRIMARY KEY,
    name TEXT NOT NULL,
    state TEXT NOT NULL,
    allowed_origins TEXT NOT NULL,
    public_key TEXT,
    previous_public_key TEXT,
    key_updated_at INTEGER,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    entity_deletion TEXT NOT NULL DEFAULT 'hard',
    keeps_files_of_deleted INTEGER NOT NULL DEFAULT FALSE,
    score_hours REAL NOT NULL DEFAULT 120,
    deletes_spaces INTEGER NOT NULL DEFAULT TRUE,
    keys_in_browsers INTEGER NOT NULL DEFAULT FALSE,
    anonymous_posts INTEGER NOT NULL DEFAULT TRUE,
    v7_auth_forbids INTEGER,
    catalogue_version INTEGER NOT NULL DEFAULT 0,
    live_feeds INTEGER NOT NULL DEFAULT FALSE,
    workspace_invite_accept_url TEXT,
    workspace_inherits_default INTEGER NOT NULL DEFAULT FALSE,
    workspace_inherit_enforced INTEGER NOT NULL DEFAULT FALSE,
    event_deletion TEXT NOT NULL DEFAULT 'hard',
    keeps_files_of_deleted_events INTEGER NOT NULL DEFAULT TRUE,
    user_grants INTEGER NOT NULL DEFAULT TRUE,
    has_search INTEGER NOT NULL DEFAULT TRUE,
    search_language TEXT NOT NULL DEFAULT 'english',
    interest_matching INTEGER NOT NULL DEFAULT FALSE,
    interest_samples INTEGER NOT NULL DEFAULT FALSE,
    rules_version INTEGER NOT NULL DEFAULT 0,
    notification_mails INTEGER NOT NULL DEFAULT FALSE,
    statements_of_reasons INTEGER NOT NULL DEFAULT TRUE,
    statement_ground TEXT,
    statement_contact TEXT,
    statements_over_api INTEGER NOT NULL DEFAULT FALSE
) STRICT;

CREATE TABLE push_devices (
    project_id BLOB NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
    user_id BLOB NOT NULL,
    key_hash BLOB NOT NULL,
    id BLOB NOT NULL,
    platform TEXT NOT NULL,
    device_key TEXT NOT NULL,
    p256dh TEXT,
    auth TEXT,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    PRIMARY KEY (project_id, user_id, key_hash),
    FOREIGN KEY (project_id, user_id) REFERENCES users (project_id, id) ON DELETE CASCADE
) STRICT;
CREATE INDEX push_devices_key ON push_devices (project_id, key_hash);

CREATE TABLE push_providers (
    project_id BLOB NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
    provider TEXT NOT NULL,
    secret BLOB NOT NULL,
    settings TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    PRIMARY KEY (project_id, provider)
) STRICT;

CREATE TABLE push_templates (
    project_id BLOB NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
    type TEXT NOT NULL,
    settings TEXT NOT NULL,
    updated_at INTEGER NOT NULL,
    PRIMARY KEY (project_id, type)
) STRICT;

CREATE TABLE reaction_milestones (
    project_id BLOB NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
    target_id BLOB NOT NULL,
    kind TEXT NOT NULL,
    threshold INTEGER NOT NULL,
    PRIMARY KEY (project_id, target_id, kind, threshold)
) STRICT, WITHOUT ROWID;

CREATE TABLE reactions (
    project_id BLOB NOT NULL,
    target_id BLOB NOT NULL,
    user_id BLOB NOT NULL,
    id BLOB NOT NULL,
    target_type TEXT NOT NULL,
    reaction_type TEXT NOT NULL,
    previous_type TEXT,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    PRIMARY KEY (project_id, target_id, user_id),
    FOREIGN KEY (project_id, user_id) REFERENCES users (project_id, id)
) STRICT;
CREATE INDEX reactions_target ON reactions (project_id, target_id, created_at, id);
CREATE INDEX reactions_target_type ON reactions (project_id, target_id, reaction_type, created_at, id);
CREATE INDEX reactions_user ON reactions (project_id, user_id);

CREATE TABLE refresh_tokens (
    project_id BLOB NOT NULL,
    id BLOB NOT NULL,
    user_id BLOB NOT NULL,
    family_id BLOB NOT NULL,
    successor_id BLOB,
    revoked_at INTEGER,
    expires_at INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    PRIMARY KEY (project_id, id),
    FOREIGN KEY (project_id, user_id) REFERENCES users (project_id, id) ON DELETE CASCADE
) STRICT;
CREATE INDEX refresh_tokens_expiry ON refresh_tokens (expires_at);
CREATE INDEX refresh_tokens_family ON refresh_tokens (project_id, family_id);
CREATE UNIQUE INDEX refresh_tokens_live ON refresh_tokens (project_id, family_id) WHERE revoked_at IS NULL;
CREATE INDEX refresh_tokens_user ON refresh_tokens (project_id, user_id);

CREATE TABLE report_entries (
    project_id BLOB NOT NULL,
    report_id BLOB NOT NULL,
    user_id BLOB NOT NULL,
    id BLOB NOT NULL,
    reason TEXT NOT NULL,
    details TEXT,
    created_at INTEGER NOT NULL,
    PRIMARY KEY (project_id, report_id, user_id),
    FOREIGN KEY (project_id, report_id) REFERENCES reports (project_id, id) ON DELETE CASCADE,
    FOREIGN KEY (project_id, user_id) REFERENCES users (project_id, id)
) STRICT;
CREATE INDEX report_entries_user ON report_entries (project_id, user_id, created_at DESC, id DESC);

CREATE TABLE reports (
    project_id BLOB NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
    id BLOB NOT NULL,
    space_id BLOB,
    target_type TEXT NOT NULL,
    target_id BLOB NOT NULL,
    status TEXT NOT NULL,
    reporter_count INTEGER NOT NULL,
    action_taken TEXT,
    handled_at INTEGER,
    handled_by_id BLOB,
    handled_by_type TEXT,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    author_id BLOB,
    decision_id BLOB,
    rule_id BLOB,
    is_held INTEGER NOT NULL DEFAULT FALSE,
    matches TEXT,
    claimed_by BLOB,
    claimed_by_name TEXT,
    claimed_until INTEGER,
    PRIMARY KEY (project_id, id)
) STRICT;
CREATE INDEX reports_author ON reports (project_id, author_id, created_at DESC, id DESC) WHERE author_id IS NOT NULL;
CREATE INDEX reports_decision ON reports (project_id, decision_id) WHERE decision_id IS NOT NULL;
CREATE INDEX reports_new ON reports (project_id, created_at DESC, id DESC);
CREATE UNIQUE INDEX reports_open ON reports (project_id, target_type, target_id) WHERE status = 'open';
CREATE INDEX reports_queue_claims ON reports (project_id, claimed_by, created_at DESC, id DESC) WHERE status = 'open' AND decision_id IS NULL AND claimed_by IS NOT NULL;
CREATE INDEX reports_queue_held ON reports (project_id, created_at DESC, id DESC) WHERE status = 'open' AND decision_id IS NULL AND is_held;
CREATE INDEX reports_queue_most ON reports (project_id, reporter_count DESC, created_at DESC, id DESC) WHERE status = 'open' AND decision_id IS NULL;
CREATE INDEX reports_queue_new ON reports (project_id, created_at DESC, id DESC) WHERE status = 'open' AND decision_id IS NULL;
CREATE INDEX reports_queue_rule ON reports (project_id, rule_id, created_at DESC, id DESC) WHERE status = 'open' AND decision_id IS NULL AND rule_id IS NOT NULL;
CREATE INDEX reports_queue_space ON reports (project_id, space_id, created_at DESC, id DESC) WHERE status = 'open' AND decision_id IS NULL AND space_id IS NOT NULL;
CREATE INDEX reports_queue_type ON reports (project_id, target_type, created_at DESC, id DESC) WHERE status = 'open' AND decision_id IS NULL;
CREATE INDEX reports_space ON reports (project_id, space_id, created_at DESC, id DESC);
CREATE INDEX reports_status ON reports (project_id, status, created_at DESC, id DESC);
CREATE INDEX reports_target ON reports (project_id, target_id, created_at DESC, id DESC);

CREATE TABLE reputation_buckets (
    project_id BLOB NOT NULL,
    user_id BLOB NOT NULL,
    space_id BLOB NOT NULL,
    points INTEGER NOT NULL,
    PRIMARY KEY (project_id, user_id, space_id),
    FOREIGN KEY (project_id, user_id) REFERENCES users (project_id, id) ON DELETE CASCADE
) STRICT;
CREATE INDEX reputation_buckets_space ON reputation_buckets (project_id, space_id, user_id);

CREATE TABLE reputation_grants (
    project_id BLOB NOT NULL,
    id BLOB NOT NULL,
    source_type TEXT NOT NULL,
    sender_id BLOB,
    recipient_id BLOB NOT NULL,
    amount INTEGER NOT NULL,
    space_id BLOB,
    target_type TEXT,
    target_id BLOB,
    conversation_id BLOB,
    note TEXT,
    metadata TEXT,
    created_at INTEGER NOT NULL,
    PRIMARY KEY (project_id, id),
    FOREIGN KEY (project_id, sender_id) REFERENCES users (project_id, id),
    FOREIGN KEY (project_id, recipient_id) REFERENCES users (project_id, id) ON DELETE CASCADE
) STRICT;
CREATE INDEX reputation_grants_given ON reputation_grants (project_id, target_id, sender_id, amount) WHERE target_id IS NOT NULL AND sender_id IS NOT NULL;
CREATE INDEX reputation_grants_received ON reputation_grants (project_id, recipient_id, created_at DESC, id DESC);
CREATE INDEX reputation_grants_sent ON reputation_grants (project_id, sender_id, created_at DESC, id DESC) WHERE sender_id IS NOT NULL;
CREATE INDEX reputation_grants_target ON reputation_grants (project_id, target_id, created_at DESC, id DESC) WHERE target_id IS NOT NULL AND amount > 0;

CREATE TABLE schema_migrations (
    version INTEGER PRIMARY KEY,
    name TEXT NOT NULL,
    checksum TEXT NOT NULL,
    applied_at INTEGER NOT NULL
) STRICT;

CREATE TABLE search_blocks (
    project_id BLOB NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
    term TEXT NOT NULL,
    class INTEGER NOT NULL,
    last INTEGER NOT NULL,
    count INTEGER NOT NULL,
    bytes BLOB NOT NULL,
    PRIMARY KEY (project_id, term, class, last)
) STRICT, WITHOUT ROWID;

CREATE TABLE search_docs (
    project_id BLOB NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
    number INTEGER NOT NULL,
    class INTEGER NOT NULL,
    record_id BLOB NOT NULL,
    parent_id BLOB,
    space_id BLOB,
    author_id BLOB,
    created_at INTEGER NOT NULL,
    length INTEGER NOT NULL,
    words BLOB NOT NULL,
    PRIMARY KEY (project_id, number)
) STRICT, WITHOUT ROWID;
CREATE INDEX search_docs_author ON search_docs (project_id, author_id, class, number) WHERE author_id IS NOT NULL;
CREATE INDEX search_docs_parent ON search_docs (project_id, parent_id, class, number) WHERE parent_id IS NOT NULL;
CREATE UNIQUE INDEX search_docs_record ON search_docs (project_id, record_id);
CREATE INDEX search_docs_space ON search_docs (project_id, space_id, class, number) WHERE space_id IS NOT NULL;

CREATE TABLE search_sections (
    project_id BLOB NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
    section INTEGER NOT NULL,
    documents INTEGER NOT NULL,
    length INTEGER NOT NULL,
    PRIMARY KEY (project_id, section)
) STRICT, WITHOUT ROWID;

CREATE TABLE search_state (
    project_id BLOB NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
    language TEXT NOT NULL,
    next_number INTEGER NOT NULL,
    is_filled INTEGER NOT NULL,
    vector_model TEXT,
    vectors_to INTEGER NOT NULL DEFAULT 0,
    vectors_claimed_until INTEGER,
    load_from INTEGER,
    load_term TEXT,
    load_until INTEGER,
    next_word INTEGER NOT NULL DEFAULT 1,
    PRIMARY KEY (project_id)
) STRICT;

CREATE TABLE search_todo (
    project_id BLOB NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
    record_id BLOB NOT NULL,
    kind INTEGER NOT NULL,
    stamp INTEGER NOT NULL,
    PRIMARY KEY (project_id, record_id)
) STRICT, WITHOUT ROWID;

CREATE TABLE search_vector_blocks (
    project_id BLOB NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
    class INTEGER NOT NULL,
    block INTEGER NOT NULL,
    bytes BLOB NOT NULL,
    PRIMARY KEY (project_id, class, block)
) STRICT, WITHOUT ROWID;

CREATE TABLE search_vectors (
    project_id BLOB NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
    number INTEGER NOT NULL,
    chunk INTEGER NOT NULL,
    bytes BLOB NOT NULL,
    PRIMARY KEY (project_id, number, chunk)
) STRICT, WITHOUT ROWID;

CREATE TABLE search_words (
    project_id BLOB NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
    section INTEGER NOT NULL,
    word TEXT NOT NULL,
    frequency INTEGER NOT NULL,
    letters INTEGER NOT NULL,
    reversed TEXT NOT NULL,
    number INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (project_id, section, word)
) STRICT, WITHOUT ROWID;
CREATE INDEX search_words_end ON search_words (project_id, section, letters, reversed, word) WHERE letters > 0;
CREATE UNIQUE INDEX search_words_number ON search_words (project_id, number);
CREATE INDEX search_words_start ON search_words (project_id, section, letters, word) WHERE letters > 0;

CREATE TABLE space_bans (
    project_id BLOB NOT NULL,
    space_id BLOB NOT NULL,
    user_id BLOB NOT NULL,
    id BLOB NOT NULL,
    banned_by_id BLOB,
    reason TEXT,
    report_id BLOB,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    PRIMARY KEY (project_id, space_id, user_id),
    FOREIGN KEY (project_id, space_id, user_id) REFERENCES space_members (project_id, space_id, user_id) ON DELETE CASCADE
) STRICT;

CREATE TABLE space_digests (
    project_id BLOB NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
    space_id BLOB NOT NULL,
    is_enabled INTEGER NOT NULL,
    url TEXT,
    secret BLOB,
    hour INTEGER,
    timezone TEXT,
    next_at INTEGER,
    updated_at INTEGER NOT NULL,
    PRIMARY KEY (project_id, space_id),
    FOREIGN KEY (project_id, space_id) REFERENCES spaces (project_id, id) ON DELETE CASCADE
) STRICT;
CREATE INDEX space_digests_due ON space_digests (next_at) WHERE next_at IS NOT NULL;

CREATE TABLE space_lines (
    project_id BLOB NOT NULL,
    ancestor_id BLOB NOT NULL,
    space_id BLOB NOT NULL,
    PRIMARY KEY (project_id, ancestor_id, space_id),
    FOREIGN KEY (project_id, space_id) REFERENCES spaces (project_id, id) ON DELETE CASCADE
) STRICT, WITHOUT ROWID;
CREATE INDEX space_lines_space ON space_lines (project_id, space_id, ancestor_id);

CREATE TABLE space_log (
    project_id BLOB NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
    id BLOB NOT NULL,
    space_id BLOB NOT NULL,
    action TEXT NOT NULL,
    target_type TEXT NOT NULL,
    target_id BLOB NOT NULL,
    decided_by TEXT NOT NULL,
    reason TEXT,
    created_at INTEGER NOT NULL,
    PRIMARY KEY (project_id, id)
) STRICT;
CREATE INDEX space_log_new ON space_log (project_id, space_id, created_at DESC, id DESC);
CREATE INDEX space_log_users ON space_log (project_id, target_id) WHERE target_type = 'user';

CREATE TABLE space_members (
    project_id BLOB NOT NULL,
    space_id BLOB NOT NULL,
    user_id BLOB NOT NULL,
    id BLOB NOT NULL,
    role TEXT NOT NULL,
    rank INTEGER NOT NULL,
    status TEXT NOT NULL,
    joined_at INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    PRIMARY KEY (project_id, space_id, user_id),
    FOREIGN KEY (project_id, space_id) REFERENCES spaces (project_id, id) ON DELETE CASCADE,
    FOREIGN KEY (project_id, user_id) REFERENCES users (project_id, id) ON DELETE CASCADE
) STRICT;
CREATE UNIQUE INDEX space_members_id ON space_members (project_id, id);
CREATE INDEX space_members_list ON space_members (project_id, space_id, status, rank, joined_at, id);
CREATE INDEX space_members_user ON space_members (project_id, user_id, status, joined_at DESC, space_id);

CREATE TABLE space_rules (
    project_id BLOB NOT NULL,
    id BLOB NOT NULL,
    space_id BLOB NOT NULL,
    title TEXT NOT NULL,
    description TEXT,
    position INTEGER NOT NULL,
    approved_by_id BLOB,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    PRIMARY KEY (project_id, id),
    FOREIGN KEY (project_id, space_id) REFERENCES spaces (project_id, id) ON DELETE CASCADE
) STRICT;
CREATE INDEX space_rules_order ON space_rules (project_id, space_id, position, id);

CREATE TABLE spaces (
    project_id BLOB NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
    id BLOB NOT NULL,
    slug TEXT,
    name TEXT NOT NULL,
    name_key TEXT NOT NULL,
    description TEXT,
    user_id BLOB,
    avatar_file_id BLOB,
    banner_file_id BLOB,
    reading_permission TEXT NOT NULL,
    posting_permission TEXT NOT NULL,
    visibility TEXT NOT NULL,
    is_open INTEGER NOT NULL,
    nsfw INTEGER NOT NULL,
    nsfw_effective INTEGER NOT NULL,
    requires_approval INTEGER NOT NULL,
    parent_id BLOB,
    depth INTEGER NOT NULL,
    metadata TEXT NOT NULL,
    members_count INTEGER NOT NULL,
    children_count INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    deleted_at INTEGER,
    is_log_public INTEGER NOT NULL DEFAULT FALSE,
    PRIMARY KEY (project_id, id),
    FOREIGN KEY (project_id, user_id) REFERENCES users (project_id, id)
) STRICT;
CREATE INDEX spaces_children ON spaces (project_id, parent_id, created_at DESC, id) WHERE deleted_at IS NULL;
CREATE INDEX spaces_deleted ON spaces (project_id, id) WHERE deleted_at IS NOT NULL;
CREATE INDEX spaces_fewest ON spaces (project_id, members_count, created_at DESC, id) WHERE deleted_at IS NULL AND visibility = 'public';
CREATE INDEX spaces_members ON spaces (project_id, members_count DESC, created_at DESC, id) WHERE deleted_at IS NULL AND visibility = 'public';
CREATE INDEX spaces_name ON spaces (project_id, name_key, created_at DESC, id) WHERE deleted_at IS NULL AND visibility = 'public';
CREATE INDEX spaces_newest ON spaces (project_id, created_at DESC, id) WHERE deleted_at IS NULL AND visibility = 'public';
CREATE INDEX spaces_shut ON spaces (project_id, id) WHERE NOT is_open;
CREATE UNIQUE INDEX spaces_slug ON spaces (project_id, slug) WHERE slug IS NOT NULL AND deleted_at IS NULL;
CREATE INDEX spaces_user ON spaces (project_id, user_id) WHERE user_id IS NOT NULL;

CREATE TABLE suspensions (
    project_id BLOB NOT NULL,
    id BLOB NOT NULL,
    user_id BLOB NOT NULL,
    reason TEXT,
    start_date INTEGER NOT NULL,
    end_date INTEGER,
    created_by TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    PRIMARY KEY (project_id, id),
    FOREIGN KEY (project_id, user_id) REFERENCES users (project_id, id) ON DELETE CASCADE
) STRICT;
CREATE INDEX suspensions_user ON suspensions (project_id, user_id, start_date);

CREATE TABLE user_grams (
    project_id BLOB NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
    gram TEXT NOT NULL,
    user_id BLOB NOT NULL,
    PRIMARY KEY (project_id, gram, user_id)
) STRICT, WITHOUT ROWID;

CREATE TABLE users (
    project_id BLOB NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
    id BLOB NOT NULL,
    foreign_id TEXT,
    role TEXT NOT NULL,
    name TEXT,
    username TEXT,
    email TEXT,
    password_hash TEXT,
    is_verified INTEGER NOT NULL,
    is_active INTEGER NOT NULL,
    avatar TEXT,
    avatar_file_id BLOB,
    banner_file_id BLOB,
    bio TEXT,
    birthdate INTEGER,
    latitude REAL,
    longitude REAL,
    metadata TEXT NOT NULL,
    secure_metadata TEXT NOT NULL,
    reputation INTEGER NOT NULL,
    last_active INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    avatar_path TEXT,
    PRIMARY KEY (project_id, id)
) STRICT;
CREATE UNIQUE INDEX users_email ON users (project_id, email);
CREATE UNIQUE INDEX users_foreign_id ON users (project_id, foreign_id);
CREATE UNIQUE INDEX users_username ON users (project_id, username);

CREATE TABLE webhook_endpoints (
    project_id BLOB NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
    id BLOB NOT NULL,
    is_first INTEGER NOT NULL,
    url TEXT,
    secret BLOB,
    previous_secret BLOB,
    events TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    PRIMARY KEY (project_id, id)
) STRICT;
CREATE UNIQUE INDEX webhook_endpoints_first ON webhook_endpoints (project_id) WHERE is_first;

CREATE TABLE workspace_invitations (
    project_id BLOB NOT NULL,
    id BLOB NOT NULL,
    workspace_id BLOB NOT NULL,
    invited_by BLOB NOT NULL,
    user_id BLOB,
    email TEXT,
    capabilities TEXT NOT NULL,
    permissions TEXT NOT NULL,
    rank INTEGER NOT NULL,
    title TEXT,
    status TEXT NOT NULL,
    expires_at INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    PRIMARY KEY (project_id, id),
    FOREIGN KEY (project_id, workspace_id) REFERENCES workspaces (project_id, id) ON DELETE CASCADE,
    FOREIGN KEY (project_id, user_id) REFERENCES users (project_id, id) ON DELETE CASCADE
) STRICT;
CREATE INDEX workspace_invitations_email ON workspace_invitations (project_id, email, id) WHERE email IS NOT NULL;
CREATE INDEX workspace_invitations_pending ON workspace_invitations (project_id, workspace_id, id) WHERE status = 'pending';
CREATE INDEX workspace_invitations_user ON workspace_invitations (project_id, user_id, id) WHERE user_id IS NOT NULL;
CREATE INDEX workspace_invitations_workspace ON workspace_invitations (project_id, workspace_id);

CREATE TABLE workspace_lines (
    project_id BLOB NOT NULL,
    ancestor_id BLOB NOT NULL,
    workspace_id BLOB NOT NULL,
    PRIMARY KEY (project_id, ancestor_id, workspace_id),
    FOREIGN KEY (project_id, workspace_id) REFERENCES workspaces (project_id, id) ON DELETE CASCADE
) STRICT, WITHOUT ROWID;
CREATE INDEX workspace_lines_workspace ON workspace_lines (project_id, workspace_id, ancestor_id);

CREATE TABLE workspace_members (
    project_id BLOB NOT NULL,
    workspace_id BLOB NOT NULL,
    user_id BLOB NOT NULL,
    id BLOB NOT NULL,
    capabilities TEXT NOT NULL,
    permissions TEXT NOT NULL,
    rank INTEGER NOT NULL,
    title TEXT,
    metadata TEXT NOT NULL,
    joined_at INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    PRIMARY KEY (project_id, workspace_id, user_id),
    FOREIGN KEY (project_id, workspace_id) REFERENCES workspaces (project_id, id) ON DELETE CASCADE,
    FOREIGN KEY (project_id, user_id) REFERENCES users (project_id, id) ON DELETE CASCADE
) STRICT;
CREATE INDEX workspace_members_user ON workspace_members (project_id, user_id, workspace_id);

CREATE TABLE workspaces (
    project_id BLOB NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
    id BLOB NOT NULL,
    name TEXT NOT NULL,
    metadata TEXT NOT NULL,
    owner_id BLOB NOT NULL,
    parent_id BLOB,
    root_id BLOB NOT NULL,
    depth INTEGER NOT NULL,
    inherits_from_parent INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    PRIMARY KEY (project_id, id),
    FOREIGN KEY (project_id, parent_id) REFERENCES workspaces (project_id, id)
) STRICT;
CREATE INDEX workspaces_owner ON workspaces (project_id, owner_id, id);
CREATE INDEX workspaces_parent ON workspaces (project_id, parent_id) WHERE parent_id IS NOT NULL;
