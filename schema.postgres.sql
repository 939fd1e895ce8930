-- The schema after all migrations, for reading: the migrations create it, nothing loads this file.
-- Generated. Regenerate it with: UPDATE_GENERATED=1 cargo test --test api generated_

CREATE OR REPLACE FUNCTION public.distance(double precision, double precision, double precision, double precision)
 RETURNS double precision
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE STRICT
RETURN ((((2)::numeric * 6371008.8))::double precision * asin(LEAST((1.0)::double precision, sqrt((power(sin((radians(($3 - $1)) / (2)::double precision)), (2)::double precision) + ((cos(radians($1)) * cos(radians($3))) * power(sin((radians(($4 - $2)) / (2)::double precision)), (2)::double precision)))))));

CREATE OR REPLACE FUNCTION public.fold(text)
 RETURNS text
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE STRICT
RETURN lower(($1 COLLATE "und-x-icu"));

CREATE OR REPLACE FUNCTION public.json_contains(json, text)
 RETURNS boolean
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE STRICT
RETURN (($1)::jsonb @> ($2)::jsonb);

CREATE OR REPLACE FUNCTION public.text_contains(text, text)
 RETURNS boolean
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE STRICT
RETURN (strpos(replace(fold($1), 'ς'::text, 'σ'::text), replace(fold($2), 'ς'::text, 'σ'::text)) > 0);

CREATE OR REPLACE FUNCTION public.text_like(text, text)
 RETURNS boolean
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE STRICT
RETURN ($1 ~~ $2);

CREATE TABLE account_deletions (
    project_id uuid NOT NULL,
    user_id uuid NOT NULL,
    code_hash bytea NOT NULL,
    wrong_tries bigint NOT NULL,
    expires_at bigint NOT NULL,
    CONSTRAINT account_deletions_pkey PRIMARY KEY (project_id, user_id),
    CONSTRAINT account_deletions_project_id_user_id_fkey FOREIGN KEY (project_id, user_id) REFERENCES users(project_id, id) ON DELETE CASCADE
);
CREATE INDEX account_deletions_expiry ON account_deletions USING btree (expires_at);

CREATE TABLE audit_log (
    project_id uuid NOT NULL,
    id uuid NOT NULL,
    at bigint NOT NULL,
    actor_kind text COLLATE "C" NOT NULL,
    actor_id uuid,
    actor_name text COLLATE "C" NOT NULL,
    client text COLLATE "C",
    action text COLLATE "C" NOT NULL,
    target text COLLATE "C" NOT NULL,
    old_state text COLLATE "C",
    new_state text COLLATE "C",
    CONSTRAINT audit_log_pkey PRIMARY KEY (project_id, id)
);
CREATE INDEX audit_log_action ON audit_log USING btree (project_id, action, id);
CREATE INDEX audit_log_actor ON audit_log USING btree (project_id, actor_name, id);
CREATE INDEX audit_log_at ON audit_log USING btree (at, project_id);

CREATE TABLE audit_seals (
    project_id uuid NOT NULL,
    "position" bigint NOT NULL,
    last_id uuid NOT NULL,
    entries bigint NOT NULL,
    hash bytea NOT NULL,
    sealed_at bigint NOT NULL,
    cut_before bigint,
    CONSTRAINT audit_seals_pkey PRIMARY KEY (project_id, "position")
);
CREATE INDEX audit_seals_old ON audit_seals USING btree (last_id, project_id) WHERE cut_before IS NULL;

CREATE TABLE blocks (
    project_id uuid NOT NULL,
    blocker_id uuid NOT NULL,
    blocked_id uuid NOT NULL,
    id uuid NOT NULL,
    created_at bigint NOT NULL,
    CONSTRAINT blocks_pkey PRIMARY KEY (project_id, blocker_id, blocked_id),
    CONSTRAINT blocks_project_id_blocked_id_fkey FOREIGN KEY (project_id, blocked_id) REFERENCES users(project_id, id) ON DELETE CASCADE,
    CONSTRAINT blocks_project_id_blocker_id_fkey FOREIGN KEY (project_id, blocker_id) REFERENCES users(project_id, id) ON DELETE CASCADE
);
CREATE INDEX blocks_blocked ON blocks USING btree (project_id, blocked_id, blocker_id);
CREATE INDEX blocks_newest ON blocks USING btree (project_id, blocker_id, created_at DESC, id DESC);

CREATE TABLE chat_mentions (
    project_id uuid NOT NULL,
    user_id uuid NOT NULL,
    message_id uuid NOT NULL,
    CONSTRAINT chat_mentions_pkey PRIMARY KEY (project_id, user_id, message_id),
    CONSTRAINT chat_mentions_project_id_message_id_fkey FOREIGN KEY (project_id, message_id) REFERENCES chat_messages(project_id, id) ON DELETE CASCADE
);
CREATE INDEX chat_mentions_message ON chat_mentions USING btree (project_id, message_id);

CREATE TABLE chat_messages (
    project_id uuid NOT NULL,
    id uuid NOT NULL,
    conversation_id uuid NOT NULL,
    user_id uuid,
    content text COLLATE "C",
    gif json,
    mentions json NOT NULL,
    metadata json NOT NULL,
    parent_message_id uuid,
    quoted_message_id uuid,
    has_files boolean NOT NULL,
    thread_reply_count bigint NOT NULL,
    reaction_counts json NOT NULL,
    is_removed boolean NOT NULL,
    edited_at bigint,
    user_deleted_at bigint,
    moderation_status text COLLATE "C",
    moderated_at bigint,
    moderated_by_id uuid,
    moderated_by_type text COLLATE "C",
    moderation_reason text COLLATE "C",
    created_at bigint NOT NULL,
    updated_at bigint NOT NULL,
    CONSTRAINT chat_messages_pkey PRIMARY KEY (project_id, id),
    CONSTRAINT chat_messages_project_id_conversation_id_fkey FOREIGN KEY (project_id, conversation_id) REFERENCES conversations(project_id, id) ON DELETE CASCADE,
    CONSTRAINT chat_messages_project_id_user_id_fkey FOREIGN KEY (project_id, user_id) REFERENCES users(project_id, id)
);
CREATE INDEX chat_messages_answered ON chat_messages USING btree (project_id, conversation_id, created_at DESC) WHERE parent_message_id IS NULL AND NOT is_removed AND thread_reply_count > 0;
CREATE INDEX chat_messages_conversation ON chat_messages USING btree (project_id, conversation_id, id);
CREATE INDEX chat_messages_main ON chat_messages USING btree (project_id, conversation_id, created_at DESC) WHERE parent_message_id IS NULL AND NOT is_removed;
CREATE INDEX chat_messages_thread ON chat_messages USING btree (project_id, parent_message_id, created_at) WHERE parent_message_id IS NOT NULL AND NOT is_removed;
CREATE INDEX chat_messages_unread ON chat_messages USING btree (project_id, conversation_id, created_at, user_id) WHERE parent_message_id IS NULL AND NOT is_removed AND user_deleted_at IS NULL;
CREATE INDEX chat_messages_user ON chat_messages USING btree (project_id, user_id) WHERE user_id IS NOT NULL;

CREATE TABLE chat_reactions (
    project_id uuid NOT NULL,
    message_id uuid NOT NULL,
    user_id uuid NOT NULL,
    emoji text COLLATE "C" NOT NULL,
    created_at bigint NOT NULL,
    CONSTRAINT chat_reactions_pkey PRIMARY KEY (project_id, message_id, user_id, emoji),
    CONSTRAINT chat_reactions_project_id_message_id_fkey FOREIGN KEY (project_id, message_id) REFERENCES chat_messages(project_id, id) ON DELETE CASCADE,
    CONSTRAINT chat_reactions_project_id_user_id_fkey FOREIGN KEY (project_id, user_id) REFERENCES users(project_id, id)
);
CREATE INDEX chat_reactions_listed ON chat_reactions USING btree (project_id, message_id, emoji, created_at, user_id);
CREATE INDEX chat_reactions_user ON chat_reactions USING btree (project_id, user_id);

CREATE TABLE collection_entities (
    project_id uuid NOT NULL,
    collection_id uuid NOT NULL,
    entity_id uuid NOT NULL,
    id uuid NOT NULL,
    user_id uuid NOT NULL,
    created_at bigint NOT NULL,
    CONSTRAINT collection_entities_pkey PRIMARY KEY (project_id, collection_id, entity_id),
    CONSTRAINT collection_entities_project_id_collection_id_fkey FOREIGN KEY (project_id, collection_id) REFERENCES collections(project_id, id) ON DELETE CASCADE,
    CONSTRAINT collection_entities_project_id_entity_id_fkey FOREIGN KEY (project_id, entity_id) REFERENCES entities(project_id, id)
);
CREATE INDEX collection_entities_added ON collection_entities USING btree (project_id, collection_id, created_at DESC, id DESC);
CREATE INDEX collection_entities_entity ON collection_entities USING btree (project_id, entity_id, user_id);

CREATE TABLE collections (
    project_id uuid NOT NULL,
    id uuid NOT NULL,
    user_id uuid NOT NULL,
    parent_id uuid,
    is_root boolean NOT NULL,
    name text COLLATE "C" NOT NULL,
    depth bigint NOT NULL,
    entity_count bigint NOT NULL,
    created_at bigint NOT NULL,
    updated_at bigint NOT NULL,
    CONSTRAINT collections_pkey PRIMARY KEY (project_id, id),
    CONSTRAINT collections_project_id_parent_id_fkey FOREIGN KEY (project_id, parent_id) REFERENCES collections(project_id, id),
    CONSTRAINT collections_project_id_user_id_fkey FOREIGN KEY (project_id, user_id) REFERENCES users(project_id, id) ON DELETE CASCADE
);
CREATE INDEX collections_children ON collections USING btree (project_id, parent_id, created_at, id);
CREATE UNIQUE INDEX collections_name ON collections USING btree (project_id, parent_id, name);
CREATE UNIQUE INDEX collections_root ON collections USING btree (project_id, user_id) WHERE is_root;
CREATE INDEX collections_user ON collections USING btree (project_id, user_id, depth, id);

CREATE TABLE comment_bodies (
    project_id uuid NOT NULL,
    id uuid NOT NULL,
    content text COLLATE "C",
    gif json,
    mentions json NOT NULL,
    attachments json NOT NULL,
    metadata json NOT NULL,
    CONSTRAINT comment_bodies_pkey PRIMARY KEY (project_id, id),
    CONSTRAINT comment_bodies_project_id_id_fkey FOREIGN KEY (project_id, id) REFERENCES comments(project_id, id) ON DELETE CASCADE
);

CREATE TABLE comment_mentions (
    project_id uuid NOT NULL,
    user_id uuid NOT NULL,
    comment_id uuid NOT NULL,
    CONSTRAINT comment_mentions_pkey PRIMARY KEY (project_id, user_id, comment_id),
    CONSTRAINT comment_mentions_project_id_comment_id_fkey FOREIGN KEY (project_id, comment_id) REFERENCES comments(project_id, id) ON DELETE CASCADE
);
CREATE INDEX comment_mentions_comment ON comment_mentions USING btree (project_id, comment_id);

CREATE TABLE comments (
    project_id uuid NOT NULL,
    id uuid NOT NULL,
    foreign_id text COLLATE "C",
    entity_id uuid NOT NULL,
    space_id uuid,
    user_id uuid,
    parent_id uuid,
    thread_id uuid NOT NULL,
    referenced_id uuid,
    upvote_count bigint NOT NULL,
    downvote_count bigint NOT NULL,
    like_count bigint NOT NULL,
    love_count bigint NOT NULL,
    wow_count bigint NOT NULL,
    sad_count bigint NOT NULL,
    angry_count bigint NOT NULL,
    funny_count bigint NOT NULL,
    balance bigint NOT NULL,
    controversy double precision NOT NULL,
    replies_count bigint NOT NULL,
    answers_count bigint NOT NULL,
    moderation_status text COLLATE "C",
    moderated_at bigint,
    moderated_by_id uuid,
    moderated_by_type text COLLATE "C",
    moderation_reason text COLLATE "C",
    created_at bigint NOT NULL,
    updated_at bigint NOT NULL,
    parent_deleted_at bigint,
    user_deleted_at bigint,
    deleted_at bigint,
    CONSTRAINT comments_pkey PRIMARY KEY (project_id, id),
    CONSTRAINT comments_project_id_fkey FOREIGN KEY (project_id) REFERENCES projects(id) ON DELETE CASCADE,
    CONSTRAINT comments_project_id_user_id_fkey FOREIGN KEY (project_id, user_id) REFERENCES users(project_id, id)
);
CREATE INDEX comments_author ON comments USING btree (project_id, user_id, created_at DESC, id DESC) WHERE user_id IS NOT NULL;
CREATE INDEX comments_best ON comments USING btree (project_id, entity_id, upvote_count DESC, created_at, id) WHERE deleted_at IS NULL AND user_deleted_at IS NULL AND parent_deleted_at IS NULL AND upvote_count > 0;
CREATE INDEX comments_emptied ON comments USING btree (project_id, entity_id, thread_id) WHERE user_deleted_at IS NOT NULL;
CREATE INDEX comments_entity_controversial ON comments USING btree (project_id, entity_id, controversy DESC, created_at DESC, id DESC) WHERE deleted_at IS NULL AND controversy >= 0::double precision;
CREATE INDEX comments_entity_new ON comments USING btree (project_id, entity_id, created_at DESC, id DESC) WHERE deleted_at IS NULL;
CREATE INDEX comments_entity_top ON comments USING btree (project_id, entity_id, balance DESC, upvote_count DESC, created_at DESC, id DESC) WHERE deleted_at IS NULL AND (upvote_count + downvote_count) > 0;
CREATE INDEX comments_foreign_id ON comments USING btree (project_id, foreign_id, created_at, id) WHERE foreign_id IS NOT NULL AND deleted_at IS NULL;
CREATE INDEX comments_held ON comments USING btree (project_id, entity_id, user_id) WHERE moderated_by_type = 'hold'::text;
CREATE INDEX comments_hidden ON comments USING btree (project_id, entity_id) WHERE deleted_at IS NOT NULL;
CREATE INDEX comments_new ON comments USING btree (project_id, created_at DESC, id DESC) WHERE deleted_at IS NULL;
CREATE INDEX comments_thread_controversial ON comments USING btree (project_id, thread_id, controversy DESC, created_at DESC, id DESC) WHERE deleted_at IS NULL AND controversy >= 0::double precision;
CREATE INDEX comments_thread_new ON comments USING btree (project_id, thread_id, created_at DESC, id DESC) WHERE deleted_at IS NULL;
CREATE INDEX comments_thread_top ON comments USING btree (project_id, thread_id, balance DESC, upvote_count DESC, created_at DESC, id DESC) WHERE deleted_at IS NULL AND (upvote_count + downvote_count) > 0;

CREATE TABLE connection_counts (
    project_id uuid NOT NULL,
    user_id uuid NOT NULL,
    connected bigint NOT NULL,
    sent bigint NOT NULL,
    received bigint NOT NULL,
    CONSTRAINT connection_counts_pkey PRIMARY KEY (project_id, user_id),
    CONSTRAINT connection_counts_project_id_user_id_fkey FOREIGN KEY (project_id, user_id) REFERENCES users(project_id, id) ON DELETE CASCADE
);

CREATE TABLE connection_sides (
    project_id uuid NOT NULL,
    user_id uuid NOT NULL,
    other_id uuid NOT NULL,
    connection_id uuid NOT NULL,
    kind text COLLATE "C" NOT NULL,
    created_at bigint NOT NULL,
    CONSTRAINT connection_sides_pkey PRIMARY KEY (project_id, user_id, other_id),
    CONSTRAINT connection_sides_project_id_connection_id_fkey FOREIGN KEY (project_id, connection_id) REFERENCES connections(project_id, id) ON DELETE CASCADE
);
CREATE INDEX connection_sides_connection ON connection_sides USING btree (project_id, connection_id);
CREATE INDEX connection_sides_list ON connection_sides USING btree (project_id, user_id, kind, created_at DESC, connection_id DESC);

CREATE TABLE connections (
    project_id uuid NOT NULL,
    id uuid NOT NULL,
    low_id uuid NOT NULL,
    high_id uuid NOT NULL,
    requester_id uuid NOT NULL,
    status text COLLATE "C" NOT NULL,
    message text COLLATE "C",
    responded_at bigint,
    created_at bigint NOT NULL,
    CONSTRAINT connections_pkey PRIMARY KEY (project_id, id),
    CONSTRAINT connections_project_id_high_id_fkey FOREIGN KEY (project_id, high_id) REFERENCES users(project_id, id) ON DELETE CASCADE,
    CONSTRAINT connections_project_id_low_id_fkey FOREIGN KEY (project_id, low_id) REFERENCES users(project_id, id) ON DELETE CASCADE
);
CREATE INDEX connections_high ON connections USING btree (project_id, high_id);
CREATE UNIQUE INDEX connections_pair ON connections USING btree (project_id, low_id, high_id);

CREATE TABLE conversation_members (
    project_id uuid NOT NULL,
    conversation_id uuid NOT NULL,
    user_id uuid NOT NULL,
    id uuid NOT NULL,
    role text COLLATE "C",
    last_read_at bigint,
    muted_until bigint,
    muted_forever boolean NOT NULL,
    is_active boolean NOT NULL,
    left_at bigint,
    created_at bigint NOT NULL,
    updated_at bigint NOT NULL,
    CONSTRAINT conversation_members_pkey PRIMARY KEY (project_id, conversation_id, user_id),
    CONSTRAINT conversation_members_project_id_conversation_id_fkey FOREIGN KEY (project_id, conversation_id) REFERENCES conversations(project_id, id) ON DELETE CASCADE,
    CONSTRAINT conversation_members_project_id_user_id_fkey FOREIGN KEY (project_id, user_id) REFERENCES users(project_id, id)
);
CREATE INDEX conversation_members_listed ON conversation_members USING btree (project_id, conversation_id, created_at, id, user_id) WHERE is_active;
CREATE INDEX conversation_members_user ON conversation_members USING btree (project_id, user_id, conversation_id);

CREATE TABLE conversations (
    project_id uuid NOT NULL,
    id uuid NOT NULL,
    kind text COLLATE "C" NOT NULL,
    name text COLLATE "C",
    description text COLLATE "C",
    space_id uuid,
    created_by_id uuid,
    avatar_file_id uuid,
    posting_permission text COLLATE "C",
    metadata json NOT NULL,
    first_id uuid,
    second_id uuid,
    member_count bigint NOT NULL,
    has_visible boolean NOT NULL,
    last_message_at bigint,
    last_created_at bigint,
    created_at bigint NOT NULL,
    updated_at bigint NOT NULL,
    deleted_at bigint,
    CONSTRAINT conversations_pkey PRIMARY KEY (project_id, id),
    CONSTRAINT conversations_project_id_created_by_id_fkey FOREIGN KEY (project_id, created_by_id) REFERENCES users(project_id, id),
    CONSTRAINT conversations_project_id_fkey FOREIGN KEY (project_id) REFERENCES projects(id) ON DELETE CASCADE,
    CONSTRAINT conversations_project_id_space_id_fkey FOREIGN KEY (project_id, space_id) REFERENCES spaces(project_id, id)
);
CREATE INDEX conversations_avatar ON conversations USING btree (project_id, avatar_file_id) WHERE avatar_file_id IS NOT NULL;
CREATE INDEX conversations_creator ON conversations USING btree (project_id, created_by_id) WHERE created_by_id IS NOT NULL;
CREATE UNIQUE INDEX conversations_pair ON conversations USING btree (project_id, first_id, second_id) WHERE first_id IS NOT NULL;
CREATE UNIQUE INDEX conversations_space ON conversations USING btree (project_id, space_id) WHERE space_id IS NOT NULL;

CREATE TABLE custom_columns (
    project_id uuid NOT NULL,
    table_id uuid NOT NULL,
    "position" bigint NOT NULL,
    name text COLLATE "C" NOT NULL,
    data_type text COLLATE "C" NOT NULL,
    nullable boolean NOT NULL,
    default_value text COLLATE "C",
    indexed boolean NOT NULL,
    references_id uuid,
    on_delete text COLLATE "C",
    CONSTRAINT custom_columns_pkey PRIMARY KEY (project_id, table_id, "position"),
    CONSTRAINT custom_columns_project_id_references_id_fkey FOREIGN KEY (project_id, references_id) REFERENCES custom_tables(project_id, id),
    CONSTRAINT custom_columns_project_id_table_id_fkey FOREIGN KEY (project_id, table_id) REFERENCES custom_tables(project_id, id) ON DELETE CASCADE
);
CREATE UNIQUE INDEX custom_columns_name ON custom_columns USING btree (project_id, table_id, name);
CREATE INDEX custom_columns_references ON custom_columns USING btree (project_id, references_id) WHERE references_id IS NOT NULL;

CREATE TABLE custom_tables (
    project_id uuid NOT NULL,
    id uuid NOT NULL,
    name text COLLATE "C" NOT NULL,
    timestamps boolean NOT NULL,
    paranoid boolean NOT NULL,
    access text COLLATE "C" NOT NULL,
    created_at bigint NOT NULL,
    CONSTRAINT custom_tables_pkey PRIMARY KEY (project_id, id),
    CONSTRAINT custom_tables_project_id_fkey FOREIGN KEY (project_id) REFERENCES projects(id) ON DELETE CASCADE
);
CREATE UNIQUE INDEX custom_tables_name ON custom_tables USING btree (project_id, name);

CREATE TABLE email_verifications (
    project_id uuid NOT NULL,
    id uuid NOT NULL,
    user_id uuid NOT NULL,
    token_hash bytea NOT NULL,
    guessable boolean NOT NULL,
    wrong_tries bigint NOT NULL,
    expires_at bigint NOT NULL,
    CONSTRAINT email_verifications_pkey PRIMARY KEY (project_id, id),
    CONSTRAINT email_verifications_project_id_user_id_fkey FOREIGN KEY (project_id, user_id) REFERENCES users(project_id, id) ON DELETE CASCADE
);
CREATE INDEX email_verifications_expiry ON email_verifications USING btree (expires_at);
CREATE UNIQUE INDEX email_verifications_token ON email_verifications USING btree (project_id, token_hash);
CREATE INDEX email_verifications_user ON email_verifications USING btree (project_id, user_id);

CREATE TABLE entities (
    project_id uuid NOT NULL,
    id uuid NOT NULL,
    foreign_id text COLLATE "C",
    source_id text COLLATE "C",
    space_id uuid,
    user_id uuid,
    is_draft boolean NOT NULL,
    is_listed boolean NOT NULL,
    is_wide boolean NOT NULL,
    nsfw boolean NOT NULL,
    upvote_count bigint NOT NULL,
    downvote_count bigint NOT NULL,
    like_count bigint NOT NULL,
    love_count bigint NOT NULL,
    wow_count bigint NOT NULL,
    sad_count bigint NOT NULL,
    angry_count bigint NOT NULL,
    funny_count bigint NOT NULL,
    controversy double precision,
    replies_count bigint NOT NULL,
    shares_count bigint NOT NULL,
    views bigint NOT NULL,
    score double precision NOT NULL,
    score_updated_at bigint NOT NULL,
    latitude double precision,
    longitude double precision,
    has_attachments boolean NOT NULL,
    moderation_status text COLLATE "C",
    moderated_at bigint,
    moderated_by_id uuid,
    moderated_by_type text COLLATE "C",
    moderation_reason text COLLATE "C",
    created_at bigint NOT NULL,
    updated_at bigint NOT NULL,
    deleted_at bigint,
    comments_count bigint DEFAULT 0 NOT NULL,
    top_comments_count bigint DEFAULT 0 NOT NULL,
    is_emptied boolean DEFAULT false NOT NULL,
    CONSTRAINT entities_pkey PRIMARY KEY (project_id, id),
    CONSTRAINT entities_project_id_fkey FOREIGN KEY (project_id) REFERENCES projects(id) ON DELETE CASCADE,
    CONSTRAINT entities_project_id_user_id_fkey FOREIGN KEY (project_id, user_id) REFERENCES users(project_id, id)
);
CREATE INDEX entities_author ON entities USING btree (project_id, user_id, created_at DESC, id DESC) WHERE user_id IS NOT NULL;
CREATE INDEX entities_balance ON entities USING btree (project_id, (upvote_count - downvote_count) DESC, upvote_count DESC, created_at DESC, id DESC) WHERE is_listed AND (upvote_count + downvote_count) > 0;
CREATE INDEX entities_controversial ON entities USING btree (project_id, controversy DESC, created_at DESC, id DESC) WHERE is_listed AND controversy IS NOT NULL;
CREATE INDEX entities_drafts ON entities USING btree (project_id, user_id, updated_at DESC, id DESC) WHERE is_draft;
CREATE UNIQUE INDEX entities_foreign_id ON entities USING btree (project_id, foreign_id) WHERE foreign_id IS NOT NULL AND deleted_at IS NULL;
CREATE INDEX entities_hot ON entities USING btree (project_id, score DESC, created_at DESC, id DESC, space_id, is_listed) WHERE is_listed;
CREATE INDEX entities_loose_hot ON entities USING btree (project_id, score DESC, created_at DESC, id DESC) WHERE is_listed AND source_id IS NULL AND space_id IS NULL;
CREATE INDEX entities_loose_new ON entities USING btree (project_id, created_at DESC, id DESC) WHERE is_listed AND source_id IS NULL AND space_id IS NULL;
CREATE INDEX entities_new ON entities USING btree (project_id, created_at DESC, id DESC, space_id, is_listed) WHERE is_listed;
CREATE INDEX entities_place ON entities USING btree (project_id, latitude, longitude, id) WHERE is_listed AND latitude IS NOT NULL;
CREATE INDEX entities_source_hot ON entities USING btree (project_id, source_id, score DESC, created_at DESC, id DESC) WHERE is_listed AND source_id IS NOT NULL;
CREATE INDEX entities_source_new ON entities USING btree (project_id, source_id, created_at DESC, id DESC) WHERE is_listed AND source_id IS NOT NULL;
CREATE INDEX entities_space ON entities USING btree (project_id, space_id, id) WHERE space_id IS NOT NULL;
CREATE INDEX entities_space_controversial ON entities USING btree (project_id, space_id, controversy DESC, created_at DESC, id DESC) WHERE is_listed AND space_id IS NOT NULL AND controversy IS NOT NULL;
CREATE INDEX entities_space_hot ON entities USING btree (project_id, space_id, score DESC, created_at DESC, id DESC) WHERE is_listed AND space_id IS NOT NULL;
CREATE INDEX entities_space_new ON entities USING btree (project_id, space_id, created_at DESC, id DESC) WHERE is_listed AND space_id IS NOT NULL;
CREATE INDEX entities_space_top ON entities USING btree (project_id, space_id, upvote_count DESC, created_at DESC, id DESC) WHERE is_listed AND space_id IS NOT NULL AND upvote_count > 0;
CREATE INDEX entities_top_angry ON entities USING btree (project_id, angry_count DESC, created_at DESC, id DESC) WHERE is_listed AND angry_count > 0;
CREATE INDEX entities_top_downvote ON entities USING btree (project_id, downvote_count DESC, created_at DESC, id DESC) WHERE is_listed AND downvote_count > 0;
CREATE INDEX entities_top_funny ON entities USING btree (project_id, funny_count DESC, created_at DESC, id DESC) WHERE is_listed AND funny_count > 0;
CREATE INDEX entities_top_like ON entities USING btree (project_id, like_count DESC, created_at DESC, id DESC) WHERE is_listed AND like_count > 0;
CREATE INDEX entities_top_love ON entities USING btree (project_id, love_count DESC, created_at DESC, id DESC) WHERE is_listed AND love_count > 0;
CREATE INDEX entities_top_sad ON entities USING btree (project_id, sad_count DESC, created_at DESC, id DESC) WHERE is_listed AND sad_count > 0;
CREATE INDEX entities_top_upvote ON entities USING btree (project_id, upvote_count DESC, created_at DESC, id DESC) WHERE is_listed AND upvote_count > 0;
CREATE INDEX entities_top_wow ON entities USING btree (project_id, wow_count DESC, created_at DESC, id DESC) WHERE is_listed AND wow_count > 0;
CREATE INDEX entities_wide ON entities USING btree (project_id, id) WHERE is_wide;

CREATE TABLE entity_bodies (
    project_id uuid NOT NULL,
    id uuid NOT NULL,
    title text COLLATE "C",
    content text COLLATE "C",
    mentions json NOT NULL,
    attachments json NOT NULL,
    keywords json NOT NULL,
    metadata json NOT NULL,
    CONSTRAINT entity_bodies_pkey PRIMARY KEY (project_id, id),
    CONSTRAINT entity_bodies_project_id_id_fkey FOREIGN KEY (project_id, id) REFERENCES entities(project_id, id) ON DELETE CASCADE
);

CREATE TABLE entity_counts (
    project_id uuid NOT NULL,
    scope text COLLATE "C" NOT NULL,
    shard bigint NOT NULL,
    total bigint NOT NULL,
    within text COLLATE "C",
    space_id uuid,
    CONSTRAINT entity_counts_pkey PRIMARY KEY (project_id, scope, shard),
    CONSTRAINT entity_counts_project_id_fkey FOREIGN KEY (project_id) REFERENCES projects(id) ON DELETE CASCADE
);
CREATE INDEX entity_counts_within ON entity_counts USING btree (project_id, within, space_id) WHERE space_id IS NOT NULL;

CREATE TABLE entity_terms (
    project_id uuid NOT NULL,
    term uuid NOT NULL,
    created_at bigint NOT NULL,
    entity_id uuid NOT NULL,
    CONSTRAINT entity_terms_pkey PRIMARY KEY (project_id, term, created_at, entity_id),
    CONSTRAINT entity_terms_project_id_entity_id_fkey FOREIGN KEY (project_id, entity_id) REFERENCES entities(project_id, id) ON DELETE CASCADE
);
CREATE INDEX entity_terms_entity ON entity_terms USING btree (project_id, entity_id, term);

CREATE TABLE event_bodies (
    project_id uuid NOT NULL,
    id uuid NOT NULL,
    description text COLLATE "C",
    metadata json NOT NULL,
    CONSTRAINT event_bodies_pkey PRIMARY KEY (project_id, id),
    CONSTRAINT event_bodies_project_id_id_fkey FOREIGN KEY (project_id, id) REFERENCES events(project_id, id) ON DELETE CASCADE
);

CREATE TABLE event_hosts (
    project_id uuid NOT NULL,
    event_id uuid NOT NULL,
    user_id uuid NOT NULL,
    "position" bigint NOT NULL,
    CONSTRAINT event_hosts_pkey PRIMARY KEY (project_id, event_id, user_id),
    CONSTRAINT event_hosts_project_id_event_id_fkey FOREIGN KEY (project_id, event_id) REFERENCES events(project_id, id) ON DELETE CASCADE
);
CREATE INDEX event_hosts_user ON event_hosts USING btree (project_id, user_id, event_id);

CREATE TABLE event_invites (
    project_id uuid NOT NULL,
    event_id uuid NOT NULL,
    user_id uuid NOT NULL,
    id uuid NOT NULL,
    invited_at bigint NOT NULL,
    CONSTRAINT event_invites_pkey PRIMARY KEY (project_id, event_id, user_id),
    CONSTRAINT event_invites_project_id_event_id_fkey FOREIGN KEY (project_id, event_id) REFERENCES events(project_id, id) ON DELETE CASCADE,
    CONSTRAINT event_invites_project_id_user_id_fkey FOREIGN KEY (project_id, user_id) REFERENCES users(project_id, id)
);
CREATE INDEX event_invites_listed ON event_invites USING btree (project_id, event_id, invited_at DESC, id DESC);
CREATE INDEX event_invites_user ON event_invites USING btree (project_id, user_id, event_id);

CREATE TABLE event_rsvps (
    project_id uuid NOT NULL,
    event_id uuid NOT NULL,
    user_id uuid NOT NULL,
    id uuid NOT NULL,
    status text COLLATE "C" NOT NULL,
    created_at bigint NOT NULL,
    updated_at bigint NOT NULL,
    CONSTRAINT event_rsvps_pkey PRIMARY KEY (project_id, event_id, user_id),
    CONSTRAINT event_rsvps_project_id_event_id_fkey FOREIGN KEY (project_id, event_id) REFERENCES events(project_id, id) ON DELETE CASCADE,
    CONSTRAINT event_rsvps_project_id_user_id_fkey FOREIGN KEY (project_id, user_id) REFERENCES users(project_id, id)
);
CREATE INDEX event_rsvps_listed ON event_rsvps USING btree (project_id, event_id, status, created_at DESC, id DESC);
CREATE INDEX event_rsvps_user ON event_rsvps USING btree (project_id, user_id, status, event_id);

CREATE TABLE event_totals (
    project_id uuid NOT NULL,
    hours bigint NOT NULL,
    status text COLLATE "C" NOT NULL,
    visibility text COLLATE "C" NOT NULL,
    type text COLLATE "C" NOT NULL,
    number bigint NOT NULL,
    total bigint NOT NULL,
    CONSTRAINT event_totals_pkey PRIMARY KEY (project_id, hours, status, visibility, type, number),
    CONSTRAINT event_totals_project_id_fkey FOREIGN KEY (project_id) REFERENCES projects(id) ON DELETE CASCADE
);

CREATE TABLE events (
    project_id uuid NOT NULL,
    id uuid NOT NULL,
    user_id uuid,
    title text COLLATE "C" NOT NULL,
    start_time bigint NOT NULL,
    end_time bigint,
    length_class bigint,
    timezone text COLLATE "C",
    type text COLLATE "C" NOT NULL,
    url text COLLATE "C",
    venue_name text COLLATE "C",
    address text COLLATE "C",
    latitude double precision,
    longitude double precision,
    space_id uuid,
    visibility text COLLATE "C" NOT NULL,
    status text COLLATE "C" NOT NULL,
    allow_maybe boolean NOT NULL,
    guest_list_visible boolean NOT NULL,
    capacity bigint,
    cover_image_id uuid,
    going_count bigint NOT NULL,
    maybe_count bigint NOT NULL,
    not_going_count bigint NOT NULL,
    invite_count bigint NOT NULL,
    revision bigint NOT NULL,
    created_at bigint NOT NULL,
    updated_at bigint NOT NULL,
    deleted_at bigint,
    CONSTRAINT events_pkey PRIMARY KEY (project_id, id),
    CONSTRAINT events_project_id_fkey FOREIGN KEY (project_id) REFERENCES projects(id) ON DELETE CASCADE,
    CONSTRAINT events_project_id_user_id_fkey FOREIGN KEY (project_id, user_id) REFERENCES users(project_id, id)
);
CREATE INDEX events_cover ON events USING btree (project_id, cover_image_id) WHERE cover_image_id IS NOT NULL;
CREATE INDEX events_current ON events USING btree (project_id, status, length_class, start_time) WHERE length_class IS NOT NULL AND deleted_at IS NULL;
CREATE INDEX events_going ON events USING btree (project_id, status, visibility, type, going_count, id) WHERE deleted_at IS NULL;
CREATE INDEX events_place ON events USING btree (project_id, latitude) WHERE latitude IS NOT NULL AND deleted_at IS NULL;
CREATE INDEX events_space ON events USING btree (project_id, space_id, status, start_time, id) WHERE space_id IS NOT NULL AND deleted_at IS NULL;
CREATE INDEX events_time ON events USING btree (project_id, status, visibility, type, start_time, id) WHERE deleted_at IS NULL;
CREATE INDEX events_user ON events USING btree (project_id, user_id) WHERE user_id IS NOT NULL;

CREATE TABLE files (
    project_id uuid NOT NULL,
    id uuid NOT NULL,
    user_id uuid,
    entity_id uuid,
    comment_id uuid,
    chat_message_id uuid,
    space_id uuid,
    event_id uuid,
    path text COLLATE "C" NOT NULL,
    size bigint NOT NULL,
    mime text COLLATE "C" NOT NULL,
    "position" bigint NOT NULL,
    metadata json NOT NULL,
    image json,
    created_at bigint NOT NULL,
    updated_at bigint NOT NULL,
    sha256 text COLLATE "C",
    CONSTRAINT files_pkey PRIMARY KEY (project_id, id),
    CONSTRAINT files_project_id_fkey FOREIGN KEY (project_id) REFERENCES projects(id) ON DELETE CASCADE
);
CREATE INDEX files_chat_message ON files USING btree (project_id, chat_message_id, "position", id) WHERE chat_message_id IS NOT NULL;
CREATE INDEX files_comment ON files USING btree (project_id, comment_id, "position", id) WHERE comment_id IS NOT NULL;
CREATE INDEX files_entity ON files USING btree (project_id, entity_id, "position", id) WHERE entity_id IS NOT NULL;
CREATE INDEX files_event ON files USING btree (project_id, event_id, "position", id) WHERE event_id IS NOT NULL;
CREATE INDEX files_space ON files USING btree (project_id, space_id, "position", id) WHERE space_id IS NOT NULL;
CREATE INDEX files_user ON files USING btree (project_id, user_id) WHERE user_id IS NOT NULL;

CREATE TABLE follow_counts (
    project_id uuid NOT NULL,
    user_id uuid NOT NULL,
    followers bigint NOT NULL,
    following bigint NOT NULL,
    CONSTRAINT follow_counts_pkey PRIMARY KEY (project_id, user_id),
    CONSTRAINT follow_counts_project_id_user_id_fkey FOREIGN KEY (project_id, user_id) REFERENCES users(project_id, id) ON DELETE CASCADE
);

CREATE TABLE follows (
    project_id uuid NOT NULL,
    id uuid NOT NULL,
    follower_id uuid NOT NULL,
    followed_id uuid NOT NULL,
    created_at bigint NOT NULL,
    CONSTRAINT follows_pkey PRIMARY KEY (project_id, id),
    CONSTRAINT follows_project_id_followed_id_fkey FOREIGN KEY (project_id, followed_id) REFERENCES users(project_id, id) ON DELETE CASCADE,
    CONSTRAINT follows_project_id_follower_id_fkey FOREIGN KEY (project_id, follower_id) REFERENCES users(project_id, id) ON DELETE CASCADE
);
CREATE INDEX follows_followers ON follows USING btree (project_id, followed_id, created_at DESC, id DESC);
CREATE INDEX follows_following ON follows USING btree (project_id, follower_id, created_at DESC, id DESC);
CREATE UNIQUE INDEX follows_pair ON follows USING btree (project_id, follower_id, followed_id);

CREATE TABLE grant_totals (
    project_id uuid NOT NULL,
    target_id uuid NOT NULL,
    total bigint NOT NULL,
    grants bigint NOT NULL,
    CONSTRAINT grant_totals_pkey PRIMARY KEY (project_id, target_id),
    CONSTRAINT grant_totals_project_id_fkey FOREIGN KEY (project_id) REFERENCES projects(id) ON DELETE CASCADE
);

CREATE TABLE identities (
    project_id uuid NOT NULL,
    id uuid NOT NULL,
    user_id uuid NOT NULL,
    provider text COLLATE "C" NOT NULL,
    provider_account_id text COLLATE "C" NOT NULL,
    email text COLLATE "C",
    name text COLLATE "C",
    avatar text COLLATE "C",
    is_verified boolean NOT NULL,
    created_at bigint NOT NULL,
    updated_at bigint NOT NULL,
    CONSTRAINT identities_pkey PRIMARY KEY (project_id, id),
    CONSTRAINT identities_project_id_user_id_fkey FOREIGN KEY (project_id, user_id) REFERENCES users(project_id, id) ON DELETE CASCADE
);
CREATE UNIQUE INDEX identities_account ON identities USING btree (project_id, provider, provider_account_id);
CREATE INDEX identities_user ON identities USING btree (project_id, user_id, created_at, id);

CREATE TABLE installation (
    name text COLLATE "C" NOT NULL,
    value text COLLATE "C" NOT NULL,
    CONSTRAINT installation_pkey PRIMARY KEY (name)
);

CREATE TABLE job_queues (
    project_id uuid NOT NULL,
    id uuid NOT NULL,
    run_at bigint NOT NULL,
    failures bigint NOT NULL,
    failing_since bigint,
    paused_at bigint,
    CONSTRAINT job_queues_pkey PRIMARY KEY (project_id, id),
    CONSTRAINT job_queues_project_id_fkey FOREIGN KEY (project_id) REFERENCES projects(id) ON DELETE CASCADE
);
CREATE INDEX job_queues_due ON job_queues USING btree (run_at) WHERE paused_at IS NULL;
CREATE INDEX job_queues_retries ON job_queues USING btree (run_at) WHERE paused_at IS NULL AND failures > 0;

CREATE TABLE jobs (
    project_id uuid NOT NULL,
    id uuid NOT NULL,
    payload json NOT NULL,
    attempts bigint NOT NULL,
    run_at bigint NOT NULL,
    created_at bigint NOT NULL,
    queue_id uuid,
    "position" bigint DEFAULT 0 NOT NULL,
    ended_at bigint,
    has_failed boolean DEFAULT false NOT NULL,
    last_error text COLLATE "C",
    CONSTRAINT jobs_pkey PRIMARY KEY (project_id, id),
    CONSTRAINT jobs_project_id_fkey FOREIGN KEY (project_id) REFERENCES projects(id) ON DELETE CASCADE
);
CREATE INDEX jobs_due ON jobs USING btree (run_at, id) WHERE queue_id IS NULL AND ended_at IS NULL;
CREATE INDEX jobs_ended ON jobs USING btree (ended_at) WHERE ended_at IS NOT NULL;
CREATE INDEX jobs_failed ON jobs USING btree (project_id) WHERE has_failed;
CREATE INDEX jobs_queued ON jobs USING btree (project_id, queue_id, "position") WHERE queue_id IS NOT NULL AND ended_at IS NULL;

CREATE TABLE jwt_issuers (
    project_id uuid NOT NULL,
    issuer text COLLATE "C" NOT NULL,
    settings jsonb NOT NULL,
    created_at bigint NOT NULL,
    updated_at bigint NOT NULL,
    CONSTRAINT jwt_issuers_pkey PRIMARY KEY (project_id, issuer),
    CONSTRAINT jwt_issuers_project_id_fkey FOREIGN KEY (project_id) REFERENCES projects(id) ON DELETE CASCADE
);

CREATE TABLE mail_preferences (
    project_id uuid NOT NULL,
    user_id uuid NOT NULL,
    frequency text COLLATE "C" NOT NULL,
    timezone text COLLATE "C",
    quiet_from bigint,
    quiet_until bigint,
    language text COLLATE "C",
    updated_at bigint NOT NULL,
    CONSTRAINT mail_preferences_pkey PRIMARY KEY (project_id, user_id),
    CONSTRAINT mail_preferences_project_id_fkey FOREIGN KEY (project_id) REFERENCES projects(id) ON DELETE CASCADE,
    CONSTRAINT mail_preferences_project_id_user_id_fkey FOREIGN KEY (project_id, user_id) REFERENCES users(project_id, id) ON DELETE CASCADE
);

CREATE TABLE mail_quotas (
    project_id uuid NOT NULL,
    address_hash bytea NOT NULL,
    sent_at json NOT NULL,
    expires_at bigint NOT NULL,
    CONSTRAINT mail_quotas_pkey PRIMARY KEY (project_id, address_hash),
    CONSTRAINT mail_quotas_project_id_fkey FOREIGN KEY (project_id) REFERENCES projects(id) ON DELETE CASCADE
);
CREATE INDEX mail_quotas_expiry ON mail_quotas USING btree (expires_at);

CREATE TABLE mail_schedules (
    project_id uuid NOT NULL,
    user_id uuid NOT NULL,
    since bigint,
    due_at bigint,
    not_before bigint NOT NULL,
    CONSTRAINT mail_schedules_pkey PRIMARY KEY (project_id, user_id),
    CONSTRAINT mail_schedules_project_id_fkey FOREIGN KEY (project_id) REFERENCES projects(id) ON DELETE CASCADE,
    CONSTRAINT mail_schedules_project_id_user_id_fkey FOREIGN KEY (project_id, user_id) REFERENCES users(project_id, id) ON DELETE CASCADE
);
CREATE INDEX mail_schedules_due ON mail_schedules USING btree (due_at) WHERE due_at IS NOT NULL;

CREATE TABLE mail_templates (
    project_id uuid NOT NULL,
    language text COLLATE "C" NOT NULL,
    settings jsonb NOT NULL,
    updated_at bigint NOT NULL,
    CONSTRAINT mail_templates_pkey PRIMARY KEY (project_id, language),
    CONSTRAINT mail_templates_project_id_fkey FOREIGN KEY (project_id) REFERENCES projects(id) ON DELETE CASCADE
);

CREATE TABLE moderation_appeals (
    project_id uuid NOT NULL,
    id uuid NOT NULL,
    decision_id uuid NOT NULL,
    user_id uuid NOT NULL,
    text text COLLATE "C" NOT NULL,
    state text COLLATE "C" NOT NULL,
    outcome_id uuid,
    answer text COLLATE "C",
    created_at bigint NOT NULL,
    decided_at bigint,
    claimed_by uuid,
    claimed_by_name text COLLATE "C",
    claimed_until bigint,
    decider_id uuid,
    CONSTRAINT moderation_appeals_pkey PRIMARY KEY (project_id, id),
    CONSTRAINT moderation_appeals_project_id_user_id_fkey FOREIGN KEY (project_id, user_id) REFERENCES users(project_id, id) ON DELETE CASCADE
);
CREATE INDEX moderation_appeals_decider ON moderation_appeals USING btree (project_id, decider_id, created_at, id) WHERE state = 'open'::text AND outcome_id IS NULL;
CREATE UNIQUE INDEX moderation_appeals_decision ON moderation_appeals USING btree (project_id, decision_id);
CREATE INDEX moderation_appeals_outcome ON moderation_appeals USING btree (project_id, outcome_id) WHERE outcome_id IS NOT NULL;
CREATE INDEX moderation_appeals_queue ON moderation_appeals USING btree (project_id, created_at, id) WHERE state = 'open'::text AND outcome_id IS NULL;
CREATE INDEX moderation_appeals_user ON moderation_appeals USING btree (project_id, user_id, created_at DESC, id DESC);

CREATE TABLE moderation_decisions (
    project_id uuid NOT NULL,
    id uuid NOT NULL,
    report_id uuid,
    target_type text COLLATE "C" NOT NULL,
    target_id uuid NOT NULL,
    author_id uuid,
    space_id uuid,
    action text COLLATE "C" NOT NULL,
    ends_at bigint,
    reason text COLLATE "C",
    rule_id uuid,
    operator_id uuid,
    decided_by text COLLATE "C" NOT NULL,
    decided_at bigint NOT NULL,
    apply_at bigint NOT NULL,
    state text COLLATE "C" NOT NULL,
    error text COLLATE "C",
    appeal_id uuid,
    is_strike boolean DEFAULT true NOT NULL,
    CONSTRAINT moderation_decisions_pkey PRIMARY KEY (project_id, id),
    CONSTRAINT moderation_decisions_project_id_fkey FOREIGN KEY (project_id) REFERENCES projects(id) ON DELETE CASCADE
);
CREATE INDEX moderation_decisions_author ON moderation_decisions USING btree (project_id, author_id, decided_at DESC, id DESC) WHERE author_id IS NOT NULL;
CREATE INDEX moderation_decisions_new ON moderation_decisions USING btree (project_id, decided_at DESC, id DESC);
CREATE INDEX moderation_decisions_pending ON moderation_decisions USING btree (apply_at) WHERE state = 'pending'::text;
CREATE INDEX moderation_decisions_target ON moderation_decisions USING btree (project_id, target_id, decided_at DESC, id DESC);

CREATE TABLE moderation_notes (
    project_id uuid NOT NULL,
    id uuid NOT NULL,
    user_id uuid NOT NULL,
    text text COLLATE "C" NOT NULL,
    operator_id uuid,
    written_by text COLLATE "C" NOT NULL,
    created_at bigint NOT NULL,
    CONSTRAINT moderation_notes_pkey PRIMARY KEY (project_id, id),
    CONSTRAINT moderation_notes_project_id_user_id_fkey FOREIGN KEY (project_id, user_id) REFERENCES users(project_id, id) ON DELETE CASCADE
);
CREATE INDEX moderation_notes_user ON moderation_notes USING btree (project_id, user_id, created_at DESC, id DESC);

CREATE TABLE moderation_posts (
    project_id uuid NOT NULL,
    id uuid NOT NULL,
    user_id uuid,
    text_hash uuid NOT NULL,
    written_at bigint NOT NULL,
    CONSTRAINT moderation_posts_pkey PRIMARY KEY (project_id, id),
    CONSTRAINT moderation_posts_project_id_fkey FOREIGN KEY (project_id) REFERENCES projects(id) ON DELETE CASCADE,
    CONSTRAINT moderation_posts_project_id_user_id_fkey FOREIGN KEY (project_id, user_id) REFERENCES users(project_id, id) ON DELETE CASCADE
);
CREATE INDEX moderation_posts_old ON moderation_posts USING btree (written_at);
CREATE INDEX moderation_posts_text ON moderation_posts USING btree (project_id, text_hash, written_at DESC);
CREATE INDEX moderation_posts_user ON moderation_posts USING btree (project_id, user_id, written_at DESC);

CREATE TABLE moderation_rule_hits (
    project_id uuid NOT NULL,
    id uuid NOT NULL,
    rule_id uuid NOT NULL,
    target_type text COLLATE "C" NOT NULL,
    target_id uuid NOT NULL,
    action text COLLATE "C" NOT NULL,
    created_at bigint NOT NULL,
    CONSTRAINT moderation_rule_hits_pkey PRIMARY KEY (project_id, id),
    CONSTRAINT moderation_rule_hits_project_id_rule_id_fkey FOREIGN KEY (project_id, rule_id) REFERENCES moderation_rules(project_id, id) ON DELETE CASCADE
);
CREATE INDEX moderation_rule_hits_old ON moderation_rule_hits USING btree (created_at);
CREATE INDEX moderation_rule_hits_rule ON moderation_rule_hits USING btree (project_id, rule_id, created_at DESC, id DESC);

CREATE TABLE moderation_rules (
    project_id uuid NOT NULL,
    id uuid NOT NULL,
    "position" bigint NOT NULL,
    name text COLLATE "C" NOT NULL,
    targets jsonb NOT NULL,
    condition jsonb NOT NULL,
    action text COLLATE "C" NOT NULL,
    state text COLLATE "C" NOT NULL,
    message text COLLATE "C",
    created_at bigint NOT NULL,
    updated_at bigint NOT NULL,
    CONSTRAINT moderation_rules_pkey PRIMARY KEY (project_id, id),
    CONSTRAINT moderation_rules_project_id_fkey FOREIGN KEY (project_id) REFERENCES projects(id) ON DELETE CASCADE
);

CREATE TABLE notification_counts (
    project_id uuid NOT NULL,
    user_id uuid NOT NULL,
    space_id uuid NOT NULL,
    total bigint NOT NULL,
    unread bigint NOT NULL,
    unread_since bigint NOT NULL,
    CONSTRAINT notification_counts_by_space_pkey PRIMARY KEY (project_id, user_id, space_id),
    CONSTRAINT notification_counts_by_space_project_id_user_id_fkey FOREIGN KEY (project_id, user_id) REFERENCES users(project_id, id) ON DELETE CASCADE
);

CREATE TABLE notification_preferences (
    project_id uuid NOT NULL,
    user_id uuid NOT NULL,
    disabled_types jsonb NOT NULL,
    updated_at bigint NOT NULL,
    CONSTRAINT notification_preferences_pkey PRIMARY KEY (project_id, user_id),
    CONSTRAINT notification_preferences_project_id_fkey FOREIGN KEY (project_id) REFERENCES projects(id) ON DELETE CASCADE,
    CONSTRAINT notification_preferences_project_id_user_id_fkey FOREIGN KEY (project_id, user_id) REFERENCES users(project_id, id) ON DELETE CASCADE
);

CREATE TABLE notifications (
    project_id uuid NOT NULL,
    user_id uuid NOT NULL,
    id uuid NOT NULL,
    type text COLLATE "C" NOT NULL,
    action text COLLATE "C" NOT NULL,
    is_read boolean NOT NULL,
    metadata json NOT NULL,
    created_at bigint NOT NULL,
    updated_at bigint NOT NULL,
    subject_id uuid,
    target_id uuid,
    actor_id uuid,
    space_id uuid,
    is_hidden boolean DEFAULT false NOT NULL,
    CONSTRAINT notifications_of_users_pkey PRIMARY KEY (project_id, user_id, id),
    CONSTRAINT notifications_of_users_project_id_user_id_fkey FOREIGN KEY (project_id, user_id) REFERENCES users(project_id, id) ON DELETE CASCADE
);
CREATE UNIQUE INDEX notifications_subject ON notifications USING btree (project_id, subject_id, target_id, user_id, type, actor_id, ( CASE WHEN is_read THEN NULL::integer ELSE 1 END)) WHERE subject_id IS NOT NULL;

CREATE TABLE oauth_providers (
    project_id uuid NOT NULL,
    provider text COLLATE "C" NOT NULL,
    client_secret bytea,
    settings jsonb NOT NULL,
    created_at bigint NOT NULL,
    updated_at bigint NOT NULL,
    CONSTRAINT oauth_providers_pkey PRIMARY KEY (project_id, provider),
    CONSTRAINT oauth_providers_project_id_fkey FOREIGN KEY (project_id) REFERENCES projects(id) ON DELETE CASCADE
);

CREATE TABLE oauth_states (
    project_id uuid NOT NULL,
    state_hash bytea NOT NULL,
    provider text COLLATE "C" NOT NULL,
    redirect_after_auth text COLLATE "C" NOT NULL,
    code_verifier text COLLATE "C" NOT NULL,
    nonce text COLLATE "C" NOT NULL,
    browser_hash bytea,
    link_to_user_id uuid,
    expires_at bigint NOT NULL,
    CONSTRAINT oauth_states_pkey PRIMARY KEY (project_id, state_hash),
    CONSTRAINT oauth_states_project_id_fkey FOREIGN KEY (project_id) REFERENCES projects(id) ON DELETE CASCADE,
    CONSTRAINT oauth_states_project_id_link_to_user_id_fkey FOREIGN KEY (project_id, link_to_user_id) REFERENCES users(project_id, id) ON DELETE CASCADE
);
CREATE INDEX oauth_states_expiry ON oauth_states USING btree (expires_at);
CREATE INDEX oauth_states_user ON oauth_states USING btree (project_id, link_to_user_id) WHERE link_to_user_id IS NOT NULL;

CREATE TABLE operator_challenges (
    challenge bytea NOT NULL,
    operator_id uuid,
    expires_at bigint NOT NULL,
    CONSTRAINT operator_challenges_pkey PRIMARY KEY (challenge),
    CONSTRAINT operator_challenges_operator_id_fkey FOREIGN KEY (operator_id) REFERENCES operators(id) ON DELETE CASCADE
);
CREATE INDEX operator_challenges_expiry ON operator_challenges USING btree (expires_at);

CREATE TABLE operator_invitations (
    id uuid NOT NULL,
    token_hash bytea NOT NULL,
    scope uuid NOT NULL,
    role text COLLATE "C" NOT NULL,
    operator_id uuid,
    invited_by text COLLATE "C" NOT NULL,
    created_at bigint NOT NULL,
    expires_at bigint NOT NULL,
    CONSTRAINT operator_invitations_pkey PRIMARY KEY (id),
    CONSTRAINT operator_invitations_operator_id_fkey FOREIGN KEY (operator_id) REFERENCES operators(id) ON DELETE CASCADE
);
CREATE INDEX operator_invitations_expiry ON operator_invitations USING btree (expires_at);
CREATE UNIQUE INDEX operator_invitations_token ON operator_invitations USING btree (token_hash);

CREATE TABLE operator_passkeys (
    id uuid NOT NULL,
    operator_id uuid NOT NULL,
    credential_id bytea NOT NULL,
    public_key bytea NOT NULL,
    sign_count bigint NOT NULL,
    name text COLLATE "C" NOT NULL,
    created_at bigint NOT NULL,
    used_at bigint,
    CONSTRAINT operator_passkeys_pkey PRIMARY KEY (id),
    CONSTRAINT operator_passkeys_operator_id_fkey FOREIGN KEY (operator_id) REFERENCES operators(id) ON DELETE CASCADE
);
CREATE UNIQUE INDEX operator_passkeys_credential ON operator_passkeys USING btree (credential_id);
CREATE INDEX operator_passkeys_operator ON operator_passkeys USING btree (operator_id, created_at);

CREATE TABLE operator_roles (
    operator_id uuid NOT NULL,
    scope uuid NOT NULL,
    role text COLLATE "C" NOT NULL,
    CONSTRAINT operator_roles_pkey PRIMARY KEY (operator_id, scope),
    CONSTRAINT operator_roles_operator_id_fkey FOREIGN KEY (operator_id) REFERENCES operators(id) ON DELETE CASCADE
);

CREATE TABLE operator_sessions (
    id uuid NOT NULL,
    token_hash bytea NOT NULL,
    operator_id uuid NOT NULL,
    client text COLLATE "C" NOT NULL,
    agent text COLLATE "C" NOT NULL,
    created_at bigint NOT NULL,
    used_at bigint NOT NULL,
    expires_at bigint NOT NULL,
    CONSTRAINT operator_sessions_pkey PRIMARY KEY (id),
    CONSTRAINT operator_sessions_operator_id_fkey FOREIGN KEY (operator_id) REFERENCES operators(id) ON DELETE CASCADE
);
CREATE INDEX operator_sessions_expiry ON operator_sessions USING btree (expires_at);
CREATE INDEX operator_sessions_operator ON operator_sessions USING btree (operator_id, used_at);
CREATE UNIQUE INDEX operator_sessions_token ON operator_sessions USING btree (token_hash);

CREATE TABLE operators (
    id uuid NOT NULL,
    email text COLLATE "C" NOT NULL,
    name text COLLATE "C" NOT NULL,
    password_hash text COLLATE "C" NOT NULL,
    totp_secret bytea,
    totp_step bigint NOT NULL,
    created_at bigint NOT NULL,
    disabled_at bigint,
    CONSTRAINT operators_pkey PRIMARY KEY (id)
);
CREATE UNIQUE INDEX operators_email ON operators USING btree (email);

CREATE TABLE password_resets (
    project_id uuid NOT NULL,
    user_id uuid NOT NULL,
    token_hash bytea NOT NULL,
    expires_at bigint NOT NULL,
    CONSTRAINT password_resets_pkey PRIMARY KEY (project_id, user_id),
    CONSTRAINT password_resets_project_id_user_id_fkey FOREIGN KEY (project_id, user_id) REFERENCES users(project_id, id) ON DELETE CASCADE
);
CREATE INDEX password_resets_expiry ON password_resets USING btree (expires_at);
CREATE UNIQUE INDEX password_resets_token ON password_resets USING btree (project_id, token_hash);

CREATE TABLE project_bundles (
    project_id uuid NOT NULL,
    bundle text COLLATE "C" NOT NULL,
    CONSTRAINT project_bundles_pkey PRIMARY KEY (project_id, bundle),
    CONSTRAINT project_bundles_project_id_fkey FOREIGN KEY (project_id) REFERENCES projects(id) ON DELETE CASCADE
);

CREATE TABLE project_keys (
    project_id uuid NOT NULL,
    id uuid NOT NULL,
    kind text COLLATE "C" NOT NULL,
    label text COLLATE "C",
    hash bytea NOT NULL,
    created_at bigint NOT NULL,
    revoked_at bigint,
    scopes text COLLATE "C" DEFAULT ''::text NOT NULL,
    expires_at bigint,
    used_at bigint,
    CONSTRAINT project_keys_pkey PRIMARY KEY (project_id, id),
    CONSTRAINT project_keys_project_id_fkey FOREIGN KEY (project_id) REFERENCES projects(id) ON DELETE CASCADE
);
CREATE UNIQUE INDEX project_keys_hash ON project_keys USING btree (project_id, hash);
CREATE INDEX project_keys_id ON project_keys USING btree (id);

CREATE TABLE projects (
    id uuid NOT NULL,
    name text COLLATE "C" NOT NULL,
    state text COLLATE "C" NOT NULL,
    allowed_origins jsonb NOT NULL,
    public_key text COLLATE "C",
    previous_public_key text COLLATE "C",
    key_updated_at bigint,
    created_at bigint NOT NULL,
    updated_at bigint NOT NULL,
    entity_deletion text COLLATE "C" DEFAULT 'hard'::text NOT NULL,
    keeps_files_of_deleted boolean DEFAULT false NOT NULL,
    score_hours double precision DEFAULT 120 NOT NULL,
    deletes_spaces boolean DEFAULT true NOT NULL,
    keys_in_browsers boolean DEFAULT false NOT NULL,
    anonymous_posts boolean DEFAULT true NOT NULL,
    v7_auth_forbids boolean,
    catalogue_version bigint DEFAULT 0 NOT NULL,
    live_feeds boolean DEFAULT false NOT NULL,
    workspace_invite_accept_url text COLLATE "C",
    workspace_inherits_default boolean DEFAULT false NOT NULL,
    workspace_inherit_enforced boolean DEFAULT false NOT NULL,
    event_deletion text COLLATE "C" DEFAULT 'hard'::text NOT NULL,
    keeps_files_of_deleted_events boolean DEFAULT true NOT NULL,
    user_grants boolean DEFAULT true NOT NULL,
    has_search boolean DEFAULT true NOT NULL,
    search_language text COLLATE "C" DEFAULT 'english'::text NOT NULL,
    interest_matching boolean DEFAULT false NOT NULL,
    interest_samples boolean DEFAULT false NOT NULL,
    rules_version bigint DEFAULT 0 NOT NULL,
    notification_mails boolean DEFAULT false NOT NULL,
    statements_of_reasons boolean DEFAULT true NOT NULL,
    statement_ground text COLLATE "C",
    statement_contact text COLLATE "C",
    statements_over_api boolean DEFAULT false NOT NULL,
    CONSTRAINT projects_pkey PRIMARY KEY (id)
);

CREATE TABLE push_devices (
    project_id uuid NOT NULL,
    user_id uuid NOT NULL,
    key_hash bytea NOT NULL,
    id uuid NOT NULL,
    platform text COLLATE "C" NOT NULL,
    device_key text COLLATE "C" NOT NULL,
    p256dh text COLLATE "C",
    auth text COLLATE "C",
    created_at bigint NOT NULL,
    updated_at bigint NOT NULL,
    CONSTRAINT push_devices_pkey PRIMARY KEY (project_id, user_id, key_hash),
    CONSTRAINT push_devices_project_id_fkey FOREIGN KEY (project_id) REFERENCES projects(id) ON DELETE CASCADE,
    CONSTRAINT push_devices_project_id_user_id_fkey FOREIGN KEY (project_id, user_id) REFERENCES users(project_id, id) ON DELETE CASCADE
);
CREATE INDEX push_devices_key ON push_devices USING btree (project_id, key_hash);

CREATE TABLE push_providers (
    project_id uuid NOT NULL,
    provider text COLLATE "C" NOT NULL,
    secret bytea NOT NULL,
    settings jsonb NOT NULL,
    created_at bigint NOT NULL,
    updated_at bigint NOT NULL,
    CONSTRAINT push_providers_pkey PRIMARY KEY (project_id, provider),
    CONSTRAINT push_providers_project_id_fkey FOREIGN KEY (project_id) REFERENCES projects(id) ON DELETE CASCADE
);

CREATE TABLE push_templates (
    project_id uuid NOT NULL,
    type text COLLATE "C" NOT NULL,
    settings jsonb NOT NULL,
    updated_at bigint NOT NULL,
    CONSTRAINT push_templates_pkey PRIMARY KEY (project_id, type),
    CONSTRAINT push_templates_project_id_fkey FOREIGN KEY (project_id) REFERENCES projects(id) ON DELETE CASCADE
);

CREATE TABLE reaction_milestones (
    project_id uuid NOT NULL,
    target_id uuid NOT NULL,
    kind text COLLATE "C" NOT NULL,
    threshold bigint NOT NULL,
    CONSTRAINT reaction_milestones_pkey PRIMARY KEY (project_id, target_id, kind, threshold),
    CONSTRAINT reaction_milestones_project_id_fkey FOREIGN KEY (project_id) REFERENCES projects(id) ON DELETE CASCADE
);

CREATE TABLE reactions (
    project_id uuid NOT NULL,
    target_id uuid NOT NULL,
    user_id uuid NOT NULL,
    id uuid NOT NULL,
    target_type text COLLATE "C" NOT NULL,
    reaction_type text COLLATE "C" NOT NULL,
    previous_type text COLLATE "C",
    created_at bigint NOT NULL,
    updated_at bigint NOT NULL,
    CONSTRAINT reactions_pkey PRIMARY KEY (project_id, target_id, user_id),
    CONSTRAINT reactions_project_id_user_id_fkey FOREIGN KEY (project_id, user_id) REFERENCES users(project_id, id)
);
CREATE INDEX reactions_target ON reactions USING btree (project_id, target_id, created_at, id);
CREATE INDEX reactions_target_type ON reactions USING btree (project_id, target_id, reaction_type, created_at, id);
CREATE INDEX reactions_user ON reactions USING btree (project_id, user_id);

CREATE TABLE refresh_tokens (
    project_id uuid NOT NULL,
    id uuid NOT NULL,
    user_id uuid NOT NULL,
    family_id uuid NOT NULL,
    successor_id uuid,
    revoked_at bigint,
    expires_at bigint NOT NULL,
    created_at bigint NOT NULL,
    updated_at bigint NOT NULL,
    CONSTRAINT refresh_tokens_pkey PRIMARY KEY (project_id, id),
    CONSTRAINT refresh_tokens_project_id_user_id_fkey FOREIGN KEY (project_id, user_id) REFERENCES users(project_id, id) ON DELETE CASCADE
);
CREATE INDEX refresh_tokens_expiry ON refresh_tokens USING btree (expires_at);
CREATE INDEX refresh_tokens_family ON refresh_tokens USING btree (project_id, family_id);
CREATE UNIQUE INDEX refresh_tokens_live ON refresh_tokens USING btree (project_id, family_id) WHERE revoked_at IS NULL;
CREATE INDEX refresh_tokens_user ON refresh_tokens USING btree (project_id, user_id);

CREATE TABLE report_entries (
    project_id uuid NOT NULL,
    report_id uuid NOT NULL,
    user_id uuid NOT NULL,
    id uuid NOT NULL,
    reason text COLLATE "C" NOT NULL,
    details text COLLATE "C",
    created_at bigint NOT NULL,
    CONSTRAINT report_entries_pkey PRIMARY KEY (project_id, report_id, user_id),
    CONSTRAINT report_entries_project_id_report_id_fkey FOREIGN KEY (project_id, report_id) REFERENCES reports(project_id, id) ON DELETE CASCADE,
    CONSTRAINT report_entries_project_id_user_id_fkey FOREIGN KEY (project_id, user_id) REFERENCES users(project_id, id)
);
CREATE INDEX report_entries_user ON report_entries USING btree (project_id, user_id, created_at DESC, id DESC);

CREATE TABLE reports (
    project_id uuid NOT NULL,
    id uuid NOT NULL,
    space_id uuid,
    target_type text COLLATE "C" NOT NULL,
    target_id uuid NOT NULL,
    status text COLLATE "C" NOT NULL,
    reporter_count bigint NOT NULL,
    action_taken text COLLATE "C",
    handled_at bigint,
    handled_by_id uuid,
    handled_by_type text COLLATE "C",
    created_at bigint NOT NULL,
    updated_at bigint NOT NULL,
    author_id uuid,
    decision_id uuid,
    rule_id uuid,
    is_held boolean DEFAULT false NOT NULL,
    matches jsonb,
    claimed_by uuid,
    claimed_by_name text COLLATE "C",
    claimed_until bigint,
    CONSTRAINT reports_pkey PRIMARY KEY (project_id, id),
    CONSTRAINT reports_project_id_fkey FOREIGN KEY (project_id) REFERENCES projects(id) ON DELETE CASCADE
);
CREATE INDEX reports_author ON reports USING btree (project_id, author_id, created_at DESC, id DESC) WHERE author_id IS NOT NULL;
CREATE INDEX reports_decision ON reports USING btree (project_id, decision_id) WHERE decision_id IS NOT NULL;
CREATE INDEX reports_new ON reports USING btree (project_id, created_at DESC, id DESC);
CREATE UNIQUE INDEX reports_open ON reports USING btree (project_id, target_type, target_id) WHERE status = 'open'::text;
CREATE INDEX reports_queue_claims ON reports USING btree (project_id, claimed_by, created_at DESC, id DESC) WHERE status = 'open'::text AND decision_id IS NULL AND claimed_by IS NOT NULL;
CREATE INDEX reports_queue_held ON reports USING btree (project_id, created_at DESC, id DESC) WHERE status = 'open'::text AND decision_id IS NULL AND is_held;
CREATE INDEX reports_queue_most ON reports USING btree (project_id, reporter_count DESC, created_at DESC, id DESC) WHERE status = 'open'::text AND decision_id IS NULL;
CREATE INDEX reports_queue_new ON reports USING btree (project_id, created_at DESC, id DESC) WHERE status = 'open'::text AND decision_id IS NULL;
CREATE INDEX reports_queue_rule ON reports USING btree (project_id, rule_id, created_at DESC, id DESC) WHERE status = 'open'::text AND decision_id IS NULL AND rule_id IS NOT NULL;
CREATE INDEX reports_queue_space ON reports USING btree (project_id, space_id, created_at DESC, id DESC) WHERE status = 'open'::text AND decision_id IS NULL AND space_id IS NOT NULL;
CREATE INDEX reports_queue_type ON reports USING btree (project_id, target_type, created_at DESC, id DESC) WHERE status = 'open'::text AND decision_id IS NULL;
CREATE INDEX reports_space ON reports USING btree (project_id, space_id, created_at DESC, id DESC);
CREATE INDEX reports_status ON reports USING btree (project_id, status, created_at DESC, id DESC);
CREATE INDEX reports_target ON reports USING btree (project_id, target_id, created_at DESC, id DESC);

CREATE TABLE reputation_buckets (
    project_id uuid NOT NULL,
    user_id uuid NOT NULL,
    space_id uuid NOT NULL,
    points bigint NOT NULL,
    CONSTRAINT reputation_buckets_pkey PRIMARY KEY (project_id, user_id, space_id),
    CONSTRAINT reputation_buckets_project_id_user_id_fkey FOREIGN KEY (project_id, user_id) REFERENCES users(project_id, id) ON DELETE CASCADE
);
CREATE INDEX reputation_buckets_space ON reputation_buckets USING btree (project_id, space_id, user_id);

CREATE TABLE reputation_grants (
    project_id uuid NOT NULL,
    id uuid NOT NULL,
    source_type text COLLATE "C" NOT NULL,
    sender_id uuid,
    recipient_id uuid NOT NULL,
    amount bigint NOT NULL,
    space_id uuid,
    target_type text COLLATE "C",
    target_id uuid,
    conversation_id uuid,
    note text COLLATE "C",
    metadata json,
    created_at bigint NOT NULL,
    CONSTRAINT reputation_grants_pkey PRIMARY KEY (project_id, id),
    CONSTRAINT reputation_grants_project_id_recipient_id_fkey FOREIGN KEY (project_id, recipient_id) REFERENCES users(project_id, id) ON DELETE CASCADE,
    CONSTRAINT reputation_grants_project_id_sender_id_fkey FOREIGN KEY (project_id, sender_id) REFERENCES users(project_id, id)
);
CREATE INDEX reputation_grants_given ON reputation_grants USING btree (project_id, target_id, sender_id, amount) WHERE target_id IS NOT NULL AND sender_id IS NOT NULL;
CREATE INDEX reputation_grants_received ON reputation_grants USING btree (project_id, recipient_id, created_at DESC, id DESC);
CREATE INDEX reputation_grants_sent ON reputation_grants USING btree (project_id, sender_id, created_at DESC, id DESC) WHERE sender_id IS NOT NULL;
CREATE INDEX reputation_grants_target ON reputation_grants USING btree (project_id, target_id, created_at DESC, id DESC) WHERE target_id IS NOT NULL AND amount > 0;

CREATE TABLE schema_migrations (
    version bigint NOT NULL,
    name text NOT NULL,
    checksum text NOT NULL,
    applied_at bigint NOT NULL,
    CONSTRAINT schema_migrations_pkey PRIMARY KEY (version)
);

CREATE TABLE search_blocks (
    project_id uuid NOT NULL,
    term text COLLATE "C" NOT NULL,
    class bigint NOT NULL,
    last bigint NOT NULL,
    count bigint NOT NULL,
    bytes bytea NOT NULL,
    CONSTRAINT search_blocks_pkey PRIMARY KEY (project_id, term, class, last)
);

CREATE TABLE search_docs (
    project_id uuid NOT NULL,
    number bigint NOT NULL,
    class bigint NOT NULL,
    record_id uuid NOT NULL,
    parent_id uuid,
    space_id uuid,
    author_id uuid,
    created_at bigint NOT NULL,
    length bigint NOT NULL,
    words bytea NOT NULL,
    CONSTRAINT search_docs_pkey PRIMARY KEY (project_id, number)
);
CREATE INDEX search_docs_author ON search_docs USING btree (project_id, author_id, class, number) WHERE author_id IS NOT NULL;
CREATE INDEX search_docs_parent ON search_docs USING btree (project_id, parent_id, class, number) WHERE parent_id IS NOT NULL;
CREATE UNIQUE INDEX search_docs_record ON search_docs USING btree (project_id, record_id);
CREATE INDEX search_docs_space ON search_docs USING btree (project_id, space_id, class, number) WHERE space_id IS NOT NULL;

CREATE TABLE search_sections (
    project_id uuid NOT NULL,
    section bigint NOT NULL,
    documents bigint NOT NULL,
    length bigint NOT NULL,
    CONSTRAINT search_sections_pkey PRIMARY KEY (project_id, section),
    CONSTRAINT search_sections_project_id_fkey FOREIGN KEY (project_id) REFERENCES projects(id) ON DELETE CASCADE
);

CREATE TABLE search_state (
    project_id uuid NOT NULL,
    language text COLLATE "C" NOT NULL,
    next_number bigint NOT NULL,
    is_filled boolean NOT NULL,
    vector_model text COLLATE "C",
    vectors_to bigint DEFAULT 0 NOT NULL,
    vectors_claimed_until bigint,
    load_from bigint,
    load_term text COLLATE "C",
    load_until bigint,
    next_word bigint DEFAULT 1 NOT NULL,
    CONSTRAINT search_state_pkey PRIMARY KEY (project_id),
    CONSTRAINT search_state_project_id_fkey FOREIGN KEY (project_id) REFERENCES projects(id) ON DELETE CASCADE
);

CREATE TABLE search_todo (
    project_id uuid NOT NULL,
    record_id uuid NOT NULL,
    kind bigint NOT NULL,
    stamp bigint NOT NULL,
    CONSTRAINT search_todo_pkey PRIMARY KEY (project_id, record_id),
    CONSTRAINT search_todo_project_id_fkey FOREIGN KEY (project_id) REFERENCES projects(id) ON DELETE CASCADE
);

CREATE TABLE search_vector_blocks (
    project_id uuid NOT NULL,
    class bigint NOT NULL,
    block bigint NOT NULL,
    bytes bytea NOT NULL,
    CONSTRAINT search_vector_blocks_pkey PRIMARY KEY (project_id, class, block),
    CONSTRAINT search_vector_blocks_project_id_fkey FOREIGN KEY (project_id) REFERENCES projects(id) ON DELETE CASCADE
);

CREATE TABLE search_vectors (
    project_id uuid NOT NULL,
    number bigint NOT NULL,
    chunk bigint NOT NULL,
    bytes bytea NOT NULL,
    CONSTRAINT search_vectors_pkey PRIMARY KEY (project_id, number, chunk),
    CONSTRAINT search_vectors_project_id_fkey FOREIGN KEY (project_id) REFERENCES projects(id) ON DELETE CASCADE
);

CREATE TABLE search_words (
    project_id uuid NOT NULL,
    section bigint NOT NULL,
    word text COLLATE "C" NOT NULL,
    frequency bigint NOT NULL,
    letters bigint NOT NULL,
    reversed text COLLATE "C" NOT NULL,
    number bigint DEFAULT 0 NOT NULL,
    CONSTRAINT search_words_pkey PRIMARY KEY (project_id, section, word)
);
CREATE INDEX search_words_end ON search_words USING btree (project_id, section, letters, reversed, word) WHERE letters > 0;
CREATE UNIQUE INDEX search_words_number ON search_words USING btree (project_id, number);
CREATE INDEX search_words_start ON search_words USING btree (project_id, section, letters, word) WHERE letters > 0;

CREATE TABLE space_bans (
    project_id uuid NOT NULL,
    space_id uuid NOT NULL,
    user_id uuid NOT NULL,
    id uuid NOT NULL,
    banned_by_id uuid,
    reason text COLLATE "C",
    report_id uuid,
    created_at bigint NOT NULL,
    updated_at bigint NOT NULL,
    CONSTRAINT space_bans_pkey PRIMARY KEY (project_id, space_id, user_id),
    CONSTRAINT space_bans_project_id_space_id_user_id_fkey FOREIGN KEY (project_id, space_id, user_id) REFERENCES space_members(project_id, space_id, user_id) ON DELETE CASCADE
);

CREATE TABLE space_digests (
    project_id uuid NOT NULL,
    space_id uuid NOT NULL,
    is_enabled boolean NOT NULL,
    url text COLLATE "C",
    secret bytea,
    hour bigint,
    timezone text COLLATE "C",
    next_at bigint,
    updated_at bigint NOT NULL,
    CONSTRAINT space_digests_pkey PRIMARY KEY (project_id, space_id),
    CONSTRAINT space_digests_project_id_fkey FOREIGN KEY (project_id) REFERENCES projects(id) ON DELETE CASCADE,
    CONSTRAINT space_digests_project_id_space_id_fkey FOREIGN KEY (project_id, space_id) REFERENCES spaces(project_id, id) ON DELETE CASCADE
);
CREATE INDEX space_digests_due ON space_digests USING btree (next_at) WHERE next_at IS NOT NULL;

CREATE TABLE space_lines (
    project_id uuid NOT NULL,
    ancestor_id uuid NOT NULL,
    space_id uuid NOT NULL,
    CONSTRAINT space_lines_pkey PRIMARY KEY (project_id, ancestor_id, space_id),
    CONSTRAINT space_lines_project_id_space_id_fkey FOREIGN KEY (project_id, space_id) REFERENCES spaces(project_id, id) ON DELETE CASCADE
);
CREATE INDEX space_lines_space ON space_lines USING btree (project_id, space_id, ancestor_id);

CREATE TABLE space_log (
    project_id uuid NOT NULL,
    id uuid NOT NULL,
    space_id uuid NOT NULL,
    action text COLLATE "C" NOT NULL,
    target_type text COLLATE "C" NOT NULL,
    target_id uuid NOT NULL,
    decided_by text COLLATE "C" NOT NULL,
    reason text COLLATE "C",
    created_at bigint NOT NULL,
    CONSTRAINT space_log_pkey PRIMARY KEY (project_id, id),
    CONSTRAINT space_log_project_id_fkey FOREIGN KEY (project_id) REFERENCES projects(id) ON DELETE CASCADE
);
CREATE INDEX space_log_new ON space_log USING btree (project_id, space_id, created_at DESC, id DESC);
CREATE INDEX space_log_users ON space_log USING btree (project_id, target_id) WHERE target_type = 'user'::text;

CREATE TABLE space_members (
    project_id uuid NOT NULL,
    space_id uuid NOT NULL,
    user_id uuid NOT NULL,
    id uuid NOT NULL,
    role text COLLATE "C" NOT NULL,
    rank bigint NOT NULL,
    status text COLLATE "C" NOT NULL,
    joined_at bigint NOT NULL,
    created_at bigint NOT NULL,
    CONSTRAINT space_members_pkey PRIMARY KEY (project_id, space_id, user_id),
    CONSTRAINT space_members_project_id_space_id_fkey FOREIGN KEY (project_id, space_id) REFERENCES spaces(project_id, id) ON DELETE CASCADE,
    CONSTRAINT space_members_project_id_user_id_fkey FOREIGN KEY (project_id, user_id) REFERENCES users(project_id, id) ON DELETE CASCADE
);
CREATE UNIQUE INDEX space_members_id ON space_members USING btree (project_id, id);
CREATE INDEX space_members_list ON space_members USING btree (project_id, space_id, status, rank, joined_at, id);
CREATE INDEX space_members_user ON space_members USING btree (project_id, user_id, status, joined_at DESC, space_id);

CREATE TABLE space_rules (
    project_id uuid NOT NULL,
    id uuid NOT NULL,
    space_id uuid NOT NULL,
    title text COLLATE "C" NOT NULL,
    description text COLLATE "C",
    "position" bigint NOT NULL,
    approved_by_id uuid,
    created_at bigint NOT NULL,
    updated_at bigint NOT NULL,
    CONSTRAINT space_rules_pkey PRIMARY KEY (project_id, id),
    CONSTRAINT space_rules_project_id_space_id_fkey FOREIGN KEY (project_id, space_id) REFERENCES spaces(project_id, id) ON DELETE CASCADE
);
CREATE INDEX space_rules_order ON space_rules USING btree (project_id, space_id, "position", id);

CREATE TABLE spaces (
    project_id uuid NOT NULL,
    id uuid NOT NULL,
    slug text COLLATE "C",
    name text COLLATE "C" NOT NULL,
    name_key text COLLATE "C" NOT NULL,
    description text COLLATE "C",
    user_id uuid,
    avatar_file_id uuid,
    banner_file_id uuid,
    reading_permission text COLLATE "C" NOT NULL,
    posting_permission text COLLATE "C" NOT NULL,
    visibility text COLLATE "C" NOT NULL,
    is_open boolean NOT NULL,
    nsfw boolean NOT NULL,
    nsfw_effective boolean NOT NULL,
    requires_approval boolean NOT NULL,
    parent_id uuid,
    depth bigint NOT NULL,
    metadata json NOT NULL,
    members_count bigint NOT NULL,
    children_count bigint NOT NULL,
    created_at bigint NOT NULL,
    updated_at bigint NOT NULL,
    deleted_at bigint,
    is_log_public boolean DEFAULT false NOT NULL,
    CONSTRAINT spaces_pkey PRIMARY KEY (project_id, id),
    CONSTRAINT spaces_project_id_fkey FOREIGN KEY (project_id) REFERENCES projects(id) ON DELETE CASCADE,
    CONSTRAINT spaces_project_id_user_id_fkey FOREIGN KEY (project_id, user_id) REFERENCES users(project_id, id)
);
CREATE INDEX spaces_children ON spaces USING btree (project_id, parent_id, created_at DESC, id) WHERE deleted_at IS NULL;
CREATE INDEX spaces_deleted ON spaces USING btree (project_id, id) WHERE deleted_at IS NOT NULL;
CREATE INDEX spaces_fewest ON spaces USING btree (project_id, members_count, created_at DESC, id) WHERE deleted_at IS NULL AND visibility = 'public'::text;
CREATE INDEX spaces_members ON spaces USING btree (project_id, members_count DESC, created_at DESC, id) WHERE deleted_at IS NULL AND visibility = 'public'::text;
CREATE INDEX spaces_name ON spaces USING btree (project_id, name_key, created_at DESC, id) WHERE deleted_at IS NULL AND visibility = 'public'::text;
CREATE INDEX spaces_newest ON spaces USING btree (project_id, created_at DESC, id) WHERE deleted_at IS NULL AND visibility = 'public'::text;
CREATE INDEX spaces_shut ON spaces USING btree (project_id, id) WHERE NOT is_open;
CREATE UNIQUE INDEX spaces_slug ON spaces USING btree (project_id, slug) WHERE slug IS NOT NULL AND deleted_at IS NULL;
CREATE INDEX spaces_user ON spaces USING btree (project_id, user_id) WHERE user_id IS NOT NULL;

CREATE TABLE suspensions (
    project_id uuid NOT NULL,
    id uuid NOT NULL,
    user_id uuid NOT NULL,
    reason text COLLATE "C",
    start_date bigint NOT NULL,
    end_date bigint,
    created_by text COLLATE "C" NOT NULL,
    created_at bigint NOT NULL,
    updated_at bigint NOT NULL,
    CONSTRAINT suspensions_pkey PRIMARY KEY (project_id, id),
    CONSTRAINT suspensions_project_id_user_id_fkey FOREIGN KEY (project_id, user_id) REFERENCES users(project_id, id) ON DELETE CASCADE
);
CREATE INDEX suspensions_user ON suspensions USING btree (project_id, user_id, start_date);

CREATE TABLE user_grams (
    project_id uuid NOT NULL,
    gram text COLLATE "C" NOT NULL,
    user_id uuid NOT NULL,
    CONSTRAINT user_grams_pkey PRIMARY KEY (project_id, gram, user_id),
    CONSTRAINT user_grams_project_id_fkey FOREIGN KEY (project_id) REFERENCES projects(id) ON DELETE CASCADE
);

CREATE TABLE users (
    project_id uuid NOT NULL,
    id uuid NOT NULL,
    foreign_id text COLLATE "C",
    role text COLLATE "C" NOT NULL,
    name text COLLATE "C",
    username text COLLATE "C",
    email text COLLATE "C",
    password_hash text COLLATE "C",
    is_verified boolean NOT NULL,
    is_active boolean NOT NULL,
    avatar text COLLATE "C",
    avatar_file_id uuid,
    banner_file_id uuid,
    bio text COLLATE "C",
    birthdate bigint,
    latitude double precision,
    longitude double precision,
    metadata json NOT NULL,
    secure_metadata json NOT NULL,
    reputation bigint NOT NULL,
    last_active bigint NOT NULL,
    created_at bigint NOT NULL,
    updated_at bigint NOT NULL,
    avatar_path text COLLATE "C",
    CONSTRAINT users_pkey PRIMARY KEY (project_id, id),
    CONSTRAINT users_project_id_fkey FOREIGN KEY (project_id) REFERENCES projects(id) ON DELETE CASCADE
);
CREATE UNIQUE INDEX users_email ON users USING btree (project_id, email);
CREATE UNIQUE INDEX users_foreign_id ON users USING btree (project_id, foreign_id);
CREATE UNIQUE INDEX users_username ON users USING btree (project_id, username);

CREATE TABLE webhook_endpoints (
    project_id uuid NOT NULL,
    id uuid NOT NULL,
    is_first boolean NOT NULL,
    url text COLLATE "C",
    secret bytea,
    previous_secret bytea,
    events jsonb NOT NULL,
    created_at bigint NOT NULL,
    updated_at bigint NOT NULL,
    CONSTRAINT webhook_endpoints_pkey PRIMARY KEY (project_id, id),
    CONSTRAINT webhook_endpoints_project_id_fkey FOREIGN KEY (project_id) REFERENCES projects(id) ON DELETE CASCADE
);
CREATE UNIQUE INDEX webhook_endpoints_first ON webhook_endpoints USING btree (project_id) WHERE is_first;

CREATE TABLE workspace_invitations (
    project_id uuid NOT NULL,
    id uuid NOT NULL,
    workspace_id uuid NOT NULL,
    invited_by uuid NOT NULL,
    user_id uuid,
    email text COLLATE "C",
    capabilities json NOT NULL,
    permissions json NOT NULL,
    rank bigint NOT NULL,
    title text COLLATE "C",
    status text COLLATE "C" NOT NULL,
    expires_at bigint NOT NULL,
    created_at bigint NOT NULL,
    updated_at bigint NOT NULL,
    CONSTRAINT workspace_invitations_pkey PRIMARY KEY (project_id, id),
    CONSTRAINT workspace_invitations_project_id_user_id_fkey FOREIGN KEY (project_id, user_id) REFERENCES users(project_id, id) ON DELETE CASCADE,
    CONSTRAINT workspace_invitations_project_id_workspace_id_fkey FOREIGN KEY (project_id, workspace_id) REFERENCES workspaces(project_id, id) ON DELETE CASCADE
);
CREATE INDEX workspace_invitations_email ON workspace_invitations USING btree (project_id, email, id) WHERE email IS NOT NULL;
CREATE INDEX workspace_invitations_pending ON workspace_invitations USING btree (project_id, workspace_id, id) WHERE status = 'pending'::text;
CREATE INDEX workspace_invitations_user ON workspace_invitations USING btree (project_id, user_id, id) WHERE user_id IS NOT NULL;
CREATE INDEX workspace_invitations_workspace ON workspace_invitations USING btree (project_id, workspace_id);

CREATE TABLE workspace_lines (
    project_id uuid NOT NULL,
    ancestor_id uuid NOT NULL,
    workspace_id uuid NOT NULL,
    CONSTRAINT workspace_lines_pkey PRIMARY KEY (project_id, ancestor_id, workspace_id),
    CONSTRAINT workspace_lines_project_id_workspace_id_fkey FOREIGN KEY (project_id, workspace_id) REFERENCES workspaces(project_id, id) ON DELETE CASCADE
);
CREATE INDEX workspace_lines_workspace ON workspace_lines USING btree (project_id, workspace_id, ancestor_id);

CREATE TABLE workspace_members (
    project_id uuid NOT NULL,
    workspace_id uuid NOT NULL,
    user_id uuid NOT NULL,
    id uuid NOT NULL,
    capabilities json NOT NULL,
    permissions json NOT NULL,
    rank bigint NOT NULL,
    title text COLLATE "C",
    metadata json NOT NULL,
    joined_at bigint NOT NULL,
    created_at bigint NOT NULL,
    CONSTRAINT workspace_members_pkey PRIMARY KEY (project_id, workspace_id, user_id),
    CONSTRAINT workspace_members_project_id_user_id_fkey FOREIGN KEY (project_id, user_id) REFERENCES users(project_id, id) ON DELETE CASCADE,
    CONSTRAINT workspace_members_project_id_workspace_id_fkey FOREIGN KEY (project_id, workspace_id) REFERENCES workspaces(project_id, id) ON DELETE CASCADE
);
CREATE INDEX workspace_members_user ON workspace_members USING btree (project_id, user_id, workspace_id);

CREATE TABLE workspaces (
    project_id uuid NOT NULL,
    id uuid NOT NULL,
    name text COLLATE "C" NOT NULL,
    metadata json NOT NULL,
    owner_id uuid NOT NULL,
    parent_id uuid,
    root_id uuid NOT NULL,
    depth bigint NOT NULL,
    inherits_from_parent boolean NOT NULL,
    created_at bigint NOT NULL,
    updated_at bigint NOT NULL,
    CONSTRAINT workspaces_pkey PRIMARY KEY (project_id, id),
    CONSTRAINT workspaces_project_id_fkey FOREIGN KEY (project_id) REFERENCES projects(id) ON DELETE CASCADE,
    CONSTRAINT workspaces_project_id_parent_id_fkey FOREIGN KEY (project_id, parent_id) REFERENCES workspaces(project_id, id)
);
CREATE INDEX workspaces_owner ON workspaces USING btree (project_id, owner_id, id);
CREATE INDEX workspaces_parent ON workspaces USING btree (project_id, parent_id) WHERE parent_id IS NOT NULL;
