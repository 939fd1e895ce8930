-- Comments. As with entities, what changes with every reactor is in a narrow row, what is large and
-- seldom changes in `comment_bodies`.

-- How many comments a list of the entity's has: of every depth, and those on top. What was deleted
-- but left a placeholder is among them, unlike in `replies_count`.
ALTER TABLE entities ADD COLUMN comments_count {int} NOT NULL DEFAULT 0;
ALTER TABLE entities ADD COLUMN top_comments_count {int} NOT NULL DEFAULT 0;

-- `thread_id`: the comment it answers, or the entity if it answers none.
-- `balance`: votes up less votes down. `controversy`: below zero without votes.
-- `replies_count`: live answers; `answers_count`: with those that left a placeholder.
-- There is no foreign key to the entity: comments of a deleted one are out of sight at once and
-- are removed in small steps.
CREATE TABLE comments (
    project_id {uuid} NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
    id {uuid} NOT NULL,
    foreign_id {text},
    entity_id {uuid} NOT NULL,
    space_id {uuid},
    user_id {uuid},
    parent_id {uuid},
    thread_id {uuid} NOT NULL,
    referenced_id {uuid},
    upvote_count {int} NOT NULL,
    downvote_count {int} NOT NULL,
    like_count {int} NOT NULL,
    love_count {int} NOT NULL,
    wow_count {int} NOT NULL,
    sad_count {int} NOT NULL,
    angry_count {int} NOT NULL,
    funny_count {int} NOT NULL,
    balance {int} NOT NULL,
    controversy {real} NOT NULL,
    replies_count {int} NOT NULL,
    answers_count {int} NOT NULL,
    moderation_status {text},
    moderated_at {time},
    moderated_by_id {uuid},
    moderated_by_type {text},
    moderation_reason {text},
    created_at {time} NOT NULL,
    updated_at {time} NOT NULL,
    parent_deleted_at {time},
    user_deleted_at {time},
    deleted_at {time},
    PRIMARY KEY (project_id, id),
    -- No action: whoever deletes a user first takes them off what they wrote.
    FOREIGN KEY (project_id, user_id) REFERENCES users (project_id, id)
) {strict};

-- The lists: of an entity, of the answers to one comment or to the entity itself, of an author.
CREATE INDEX comments_entity_new ON comments (project_id, entity_id, created_at DESC, id DESC)
    WHERE deleted_at IS NULL;
CREATE INDEX comments_entity_top
    ON comments (project_id, entity_id, balance DESC, upvote_count DESC, created_at DESC, id DESC)
    WHERE deleted_at IS NULL;
CREATE INDEX comments_entity_controversial
    ON comments (project_id, entity_id, controversy DESC, created_at DESC, id DESC)
    WHERE deleted_at IS NULL;
CREATE INDEX comments_thread_new ON comments (project_id, thread_id, created_at DESC, id DESC)
    WHERE deleted_at IS NULL;
CREATE INDEX comments_thread_top
    ON comments (project_id, thread_id, balance DESC, upvote_count DESC, created_at DESC, id DESC)
    WHERE deleted_at IS NULL;
CREATE INDEX comments_thread_controversial
    ON comments (project_id, thread_id, controversy DESC, created_at DESC, id DESC)
    WHERE deleted_at IS NULL;
CREATE INDEX comments_author ON comments (project_id, user_id, created_at DESC, id DESC)
    WHERE user_id IS NOT NULL;
CREATE INDEX comments_new ON comments (project_id, created_at DESC, id DESC) WHERE deleted_at IS NULL;
CREATE INDEX comments_foreign_id ON comments (project_id, foreign_id, created_at, id)
    WHERE foreign_id IS NOT NULL AND deleted_at IS NULL;
CREATE INDEX comments_hidden ON comments (project_id, entity_id) WHERE deleted_at IS NOT NULL;
-- The one on top of an entity.
CREATE INDEX comments_best ON comments (project_id, entity_id, upvote_count DESC, created_at, id)
    WHERE deleted_at IS NULL AND user_deleted_at IS NULL AND parent_deleted_at IS NULL;
-- What left a placeholder, which the oldest version does not list.
CREATE INDEX comments_emptied ON comments (project_id, entity_id, thread_id)
    WHERE user_deleted_at IS NOT NULL;

CREATE TABLE comment_bodies (
    project_id {uuid} NOT NULL,
    id {uuid} NOT NULL,
    content {text},
    gif {document},
    mentions {document} NOT NULL,
    attachments {document} NOT NULL,
    metadata {document} NOT NULL,
    PRIMARY KEY (project_id, id),
    FOREIGN KEY (project_id, id) REFERENCES comments (project_id, id) ON DELETE CASCADE
) {strict};

-- Whom comments mention, so that a deleted user can be taken out of them.
CREATE TABLE comment_mentions (
    project_id {uuid} NOT NULL,
    user_id {uuid} NOT NULL,
    comment_id {uuid} NOT NULL,
    PRIMARY KEY (project_id, user_id, comment_id),
    FOREIGN KEY (project_id, comment_id) REFERENCES comments (project_id, id) ON DELETE CASCADE
) {clustered};
CREATE INDEX comment_mentions_comment ON comment_mentions (project_id, comment_id);
