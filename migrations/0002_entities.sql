-- Entities and reactions. What changes with every reader and reactor is in `entities`, a narrow row;
-- what is large and seldom changes is in `entity_bodies`.

ALTER TABLE projects ADD COLUMN entity_deletion {text} NOT NULL DEFAULT 'hard';
ALTER TABLE projects ADD COLUMN keeps_files_of_deleted {bool} NOT NULL DEFAULT FALSE;
ALTER TABLE projects ADD COLUMN score_hours {real} NOT NULL DEFAULT 120;

-- `is_listed`: published, not deleted, not removed by a moderator.
-- `is_wide`: its metadata has more keys than are kept as terms.
CREATE TABLE entities (
    project_id {uuid} NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
    id {uuid} NOT NULL,
    foreign_id {text},
    source_id {text},
    space_id {uuid},
    user_id {uuid},
    is_draft {bool} NOT NULL,
    is_listed {bool} NOT NULL,
    is_wide {bool} NOT NULL,
    nsfw {bool} NOT NULL,
    upvote_count {int} NOT NULL,
    downvote_count {int} NOT NULL,
    like_count {int} NOT NULL,
    love_count {int} NOT NULL,
    wow_count {int} NOT NULL,
    sad_count {int} NOT NULL,
    angry_count {int} NOT NULL,
    funny_count {int} NOT NULL,
    controversy {real},
    replies_count {int} NOT NULL,
    shares_count {int} NOT NULL,
    views {int} NOT NULL,
    score {real} NOT NULL,
    score_updated_at {time} NOT NULL,
    latitude {real},
    longitude {real},
    has_attachments {bool} NOT NULL,
    moderation_status {text},
    moderated_at {time},
    moderated_by_id {uuid},
    moderated_by_type {text},
    moderation_reason {text},
    created_at {time} NOT NULL,
    updated_at {time} NOT NULL,
    deleted_at {time},
    PRIMARY KEY (project_id, id),
    -- No action: whoever deletes a user first takes them off what they wrote.
    FOREIGN KEY (project_id, user_id) REFERENCES users (project_id, id)
) {strict};
CREATE UNIQUE INDEX entities_foreign_id ON entities (project_id, foreign_id)
    WHERE foreign_id IS NOT NULL AND deleted_at IS NULL;

-- The feeds: of the project, of a space, of a source, of what is in neither, of an author.
CREATE INDEX entities_new ON entities (project_id, created_at DESC, id DESC) WHERE is_listed;
CREATE INDEX entities_hot ON entities (project_id, score DESC, created_at DESC, id DESC) WHERE is_listed;
CREATE INDEX entities_space_new ON entities (project_id, space_id, created_at DESC, id DESC)
    WHERE is_listed AND space_id IS NOT NULL;
CREATE INDEX entities_space_hot ON entities (project_id, space_id, score DESC, created_at DESC, id DESC)
    WHERE is_listed AND space_id IS NOT NULL;
CREATE INDEX entities_source_new ON entities (project_id, source_id, created_at DESC, id DESC)
    WHERE is_listed AND source_id IS NOT NULL;
CREATE INDEX entities_source_hot ON entities (project_id, source_id, score DESC, created_at DESC, id DESC)
    WHERE is_listed AND source_id IS NOT NULL;
CREATE INDEX entities_loose_new ON entities (project_id, created_at DESC, id DESC)
    WHERE is_listed AND source_id IS NULL AND space_id IS NULL;
CREATE INDEX entities_loose_hot ON entities (project_id, score DESC, created_at DESC, id DESC)
    WHERE is_listed AND source_id IS NULL AND space_id IS NULL;
CREATE INDEX entities_author ON entities (project_id, user_id, created_at DESC, id DESC)
    WHERE user_id IS NOT NULL;
CREATE INDEX entities_drafts ON entities (project_id, user_id, updated_at DESC, id DESC) WHERE is_draft;

-- Sorted by reactions: only what has any is in these; the rest follows by age.
CREATE INDEX entities_top_upvote ON entities (project_id, upvote_count DESC, created_at DESC, id DESC)
    WHERE is_listed AND upvote_count > 0;
CREATE INDEX entities_top_downvote ON entities (project_id, downvote_count DESC, created_at DESC, id DESC)
    WHERE is_listed AND downvote_count > 0;
CREATE INDEX entities_top_like ON entities (project_id, like_count DESC, created_at DESC, id DESC)
    WHERE is_listed AND like_count > 0;
CREATE INDEX entities_top_love ON entities (project_id, love_count DESC, created_at DESC, id DESC)
    WHERE is_listed AND love_count > 0;
CREATE INDEX entities_top_wow ON entities (project_id, wow_count DESC, created_at DESC, id DESC)
    WHERE is_listed AND wow_count > 0;
CREATE INDEX entities_top_sad ON entities (project_id, sad_count DESC, created_at DESC, id DESC)
    WHERE is_listed AND sad_count > 0;
CREATE INDEX entities_top_angry ON entities (project_id, angry_count DESC, created_at DESC, id DESC)
    WHERE is_listed AND angry_count > 0;
CREATE INDEX entities_top_funny ON entities (project_id, funny_count DESC, created_at DESC, id DESC)
    WHERE is_listed AND funny_count > 0;
CREATE INDEX entities_space_top ON entities (project_id, space_id, upvote_count DESC, created_at DESC, id DESC)
    WHERE is_listed AND space_id IS NOT NULL AND upvote_count > 0;
CREATE INDEX entities_controversial ON entities (project_id, controversy DESC, created_at DESC, id DESC)
    WHERE is_listed AND controversy IS NOT NULL;
CREATE INDEX entities_space_controversial
    ON entities (project_id, space_id, controversy DESC, created_at DESC, id DESC)
    WHERE is_listed AND space_id IS NOT NULL AND controversy IS NOT NULL;

CREATE INDEX entities_place ON entities (project_id, latitude, longitude, id)
    WHERE is_listed AND latitude IS NOT NULL;
CREATE INDEX entities_wide ON entities (project_id, id) WHERE is_wide;

CREATE TABLE entity_bodies (
    project_id {uuid} NOT NULL,
    id {uuid} NOT NULL,
    title {text},
    content {text},
    mentions {document} NOT NULL,
    attachments {document} NOT NULL,
    keywords {document} NOT NULL,
    metadata {document} NOT NULL,
    PRIMARY KEY (project_id, id),
    FOREIGN KEY (project_id, id) REFERENCES entities (project_id, id) ON DELETE CASCADE
) {strict};

-- What an entity is found by: a digest for each keyword, each key of its metadata, each key with its
-- plain value, and each user it mentions. Of a draft the last alone.
CREATE TABLE entity_terms (
    project_id {uuid} NOT NULL,
    term {uuid} NOT NULL,
    created_at {time} NOT NULL,
    entity_id {uuid} NOT NULL,
    PRIMARY KEY (project_id, term, created_at, entity_id),
    FOREIGN KEY (project_id, entity_id) REFERENCES entities (project_id, id) ON DELETE CASCADE
) {clustered};
CREATE INDEX entity_terms_entity ON entity_terms (project_id, entity_id, term);

-- How many listed entities each feed has. Spread over shards, so that writers do not queue for one row.
CREATE TABLE entity_counts (
    project_id {uuid} NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
    scope {text} NOT NULL,
    shard {int} NOT NULL,
    total {int} NOT NULL,
    PRIMARY KEY (project_id, scope, shard)
) {clustered};

-- One for each user and target. `previous_type` tells the writer of a change what it replaced.
CREATE TABLE reactions (
    project_id {uuid} NOT NULL,
    target_id {uuid} NOT NULL,
    user_id {uuid} NOT NULL,
    id {uuid} NOT NULL,
    target_type {text} NOT NULL,
    reaction_type {text} NOT NULL,
    previous_type {text},
    created_at {time} NOT NULL,
    updated_at {time} NOT NULL,
    PRIMARY KEY (project_id, target_id, user_id),
    FOREIGN KEY (project_id, user_id) REFERENCES users (project_id, id)
) {strict};
CREATE INDEX reactions_target ON reactions (project_id, target_id, created_at, id);
CREATE INDEX reactions_target_type ON reactions (project_id, target_id, reaction_type, created_at, id);
CREATE INDEX reactions_user ON reactions (project_id, user_id);

-- Counts that were reached once, and so are not announced again. `kind`: a reaction type, or `total`.
CREATE TABLE reaction_milestones (
    project_id {uuid} NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
    target_id {uuid} NOT NULL,
    kind {text} NOT NULL,
    threshold {int} NOT NULL,
    PRIMARY KEY (project_id, target_id, kind, threshold)
) {clustered};
