-- Chat: conversations of two, of a group and of a space, who is in them, and what they write. Whoever writes
-- into a conversation, or changes who is in it, holds its row first; so times of messages rise and counts
-- are exact.

-- `first_id` and `second_id`: the two of a direct one, the lesser first. `member_count`: those who are
-- active. `has_visible`: a message of the main stream can be seen. `last_message_at`: the newest of the main stream, ever. `last_created_at`: of any message.
-- `deleted_at`: out of sight for everybody, while what was written in it is being removed.
CREATE TABLE conversations (
    project_id {uuid} NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
    id {uuid} NOT NULL,
    kind {text} NOT NULL,
    name {text},
    description {text},
    space_id {uuid},
    created_by_id {uuid},
    avatar_file_id {uuid},
    posting_permission {text},
    metadata {document} NOT NULL,
    first_id {uuid},
    second_id {uuid},
    member_count {int} NOT NULL,
    has_visible {bool} NOT NULL,
    last_message_at {time},
    last_created_at {time},
    created_at {time} NOT NULL,
    updated_at {time} NOT NULL,
    deleted_at {time},
    PRIMARY KEY (project_id, id),
    FOREIGN KEY (project_id, space_id) REFERENCES spaces (project_id, id),
    -- No action: whoever deletes a user first takes them off what they created.
    FOREIGN KEY (project_id, created_by_id) REFERENCES users (project_id, id)
) {strict};
CREATE UNIQUE INDEX conversations_pair ON conversations (project_id, first_id, second_id)
    WHERE first_id IS NOT NULL;
CREATE UNIQUE INDEX conversations_space ON conversations (project_id, space_id)
    WHERE space_id IS NOT NULL;
CREATE INDEX conversations_creator ON conversations (project_id, created_by_id)
    WHERE created_by_id IS NOT NULL;
CREATE INDEX conversations_avatar ON conversations (project_id, avatar_file_id)
    WHERE avatar_file_id IS NOT NULL;

-- One for each user and conversation, kept after they leave.
CREATE TABLE conversation_members (
    project_id {uuid} NOT NULL,
    conversation_id {uuid} NOT NULL,
    user_id {uuid} NOT NULL,
    id {uuid} NOT NULL,
    role {text},
    last_read_at {time},
    muted_until {time},
    muted_forever {bool} NOT NULL,
    is_active {bool} NOT NULL,
    left_at {time},
    created_at {time} NOT NULL,
    updated_at {time} NOT NULL,
    PRIMARY KEY (project_id, conversation_id, user_id),
    FOREIGN KEY (project_id, conversation_id) REFERENCES conversations (project_id, id) ON DELETE CASCADE,
    FOREIGN KEY (project_id, user_id) REFERENCES users (project_id, id)
) {strict};
CREATE INDEX conversation_members_listed
    ON conversation_members (project_id, conversation_id, created_at, id, user_id) WHERE is_active;
CREATE INDEX conversation_members_user ON conversation_members (project_id, user_id, conversation_id);

-- `is_removed`: by a moderator; out of sight for everybody.
CREATE TABLE chat_messages (
    project_id {uuid} NOT NULL,
    id {uuid} NOT NULL,
    conversation_id {uuid} NOT NULL,
    user_id {uuid},
    content {text},
    gif {document},
    mentions {document} NOT NULL,
    metadata {document} NOT NULL,
    parent_message_id {uuid},
    quoted_message_id {uuid},
    has_files {bool} NOT NULL,
    thread_reply_count {int} NOT NULL,
    reaction_counts {document} NOT NULL,
    is_removed {bool} NOT NULL,
    edited_at {time},
    user_deleted_at {time},
    moderation_status {text},
    moderated_at {time},
    moderated_by_id {uuid},
    moderated_by_type {text},
    moderation_reason {text},
    created_at {time} NOT NULL,
    updated_at {time} NOT NULL,
    PRIMARY KEY (project_id, id),
    FOREIGN KEY (project_id, conversation_id) REFERENCES conversations (project_id, id) ON DELETE CASCADE,
    FOREIGN KEY (project_id, user_id) REFERENCES users (project_id, id)
) {strict};
CREATE INDEX chat_messages_main ON chat_messages (project_id, conversation_id, created_at DESC)
    WHERE parent_message_id IS NULL AND NOT is_removed;
CREATE INDEX chat_messages_answered ON chat_messages (project_id, conversation_id, created_at DESC)
    WHERE parent_message_id IS NULL AND NOT is_removed AND thread_reply_count > 0;
CREATE INDEX chat_messages_thread ON chat_messages (project_id, parent_message_id, created_at)
    WHERE parent_message_id IS NOT NULL AND NOT is_removed;
CREATE INDEX chat_messages_unread ON chat_messages (project_id, conversation_id, created_at, user_id)
    WHERE parent_message_id IS NULL AND NOT is_removed AND user_deleted_at IS NULL;
CREATE INDEX chat_messages_conversation ON chat_messages (project_id, conversation_id, id);
CREATE INDEX chat_messages_user ON chat_messages (project_id, user_id) WHERE user_id IS NOT NULL;

-- Whom a message mentions; whoever is deleted is mentioned no longer.
CREATE TABLE chat_mentions (
    project_id {uuid} NOT NULL,
    user_id {uuid} NOT NULL,
    message_id {uuid} NOT NULL,
    PRIMARY KEY (project_id, user_id, message_id),
    FOREIGN KEY (project_id, message_id) REFERENCES chat_messages (project_id, id) ON DELETE CASCADE
) {clustered};
CREATE INDEX chat_mentions_message ON chat_mentions (project_id, message_id);

-- One for each user, message and emoji.
CREATE TABLE chat_reactions (
    project_id {uuid} NOT NULL,
    message_id {uuid} NOT NULL,
    user_id {uuid} NOT NULL,
    emoji {text} NOT NULL,
    created_at {time} NOT NULL,
    PRIMARY KEY (project_id, message_id, user_id, emoji),
    FOREIGN KEY (project_id, message_id) REFERENCES chat_messages (project_id, id) ON DELETE CASCADE,
    FOREIGN KEY (project_id, user_id) REFERENCES users (project_id, id)
) {clustered};
CREATE INDEX chat_reactions_listed ON chat_reactions (project_id, message_id, emoji, created_at, user_id);
CREATE INDEX chat_reactions_user ON chat_reactions (project_id, user_id);
