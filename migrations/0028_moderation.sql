-- Open reports are the queue of moderators. `author_id` wrote what is reported. `decision_id` is the decision about the
-- report: from then on it is out of the queue, also while the decision can be undone and the report is still open.
-- A rule that flags or holds content opens a report without reporters; `is_held` while the content waits for a moderator.
-- `matches` are the ranges of the text that matched.
ALTER TABLE reports ADD COLUMN author_id {uuid};
ALTER TABLE reports ADD COLUMN decision_id {uuid};
ALTER TABLE reports ADD COLUMN rule_id {uuid};
ALTER TABLE reports ADD COLUMN is_held {bool} NOT NULL DEFAULT FALSE;
ALTER TABLE reports ADD COLUMN matches {json};
-- An operator who looks at it, so that two do not decide at once.
ALTER TABLE reports ADD COLUMN claimed_by {uuid};
ALTER TABLE reports ADD COLUMN claimed_by_name {text};
ALTER TABLE reports ADD COLUMN claimed_until {time};

UPDATE reports SET author_id = (SELECT e.user_id FROM entities e
    WHERE e.project_id = reports.project_id AND e.id = reports.target_id)
WHERE target_type = 'entity';
UPDATE reports SET author_id = (SELECT c.user_id FROM comments c
    WHERE c.project_id = reports.project_id AND c.id = reports.target_id)
WHERE target_type = 'comment';
UPDATE reports SET author_id = (SELECT m.user_id FROM chat_messages m
    WHERE m.project_id = reports.project_id AND m.id = reports.target_id)
WHERE target_type = 'message';

CREATE INDEX reports_queue_new ON reports (project_id, created_at DESC, id DESC)
    WHERE status = 'open' AND decision_id IS NULL;
CREATE INDEX reports_queue_most ON reports (project_id, reporter_count DESC, created_at DESC, id DESC)
    WHERE status = 'open' AND decision_id IS NULL;
CREATE INDEX reports_queue_type ON reports (project_id, target_type, created_at DESC, id DESC)
    WHERE status = 'open' AND decision_id IS NULL;
CREATE INDEX reports_queue_space ON reports (project_id, space_id, created_at DESC, id DESC)
    WHERE status = 'open' AND decision_id IS NULL AND space_id IS NOT NULL;
CREATE INDEX reports_queue_rule ON reports (project_id, rule_id, created_at DESC, id DESC)
    WHERE status = 'open' AND decision_id IS NULL AND rule_id IS NOT NULL;
CREATE INDEX reports_queue_held ON reports (project_id, created_at DESC, id DESC)
    WHERE status = 'open' AND decision_id IS NULL AND is_held;
CREATE INDEX reports_queue_claims ON reports (project_id, claimed_by, created_at DESC, id DESC)
    WHERE status = 'open' AND decision_id IS NULL AND claimed_by IS NOT NULL;
CREATE INDEX reports_decision ON reports (project_id, decision_id) WHERE decision_id IS NOT NULL;
CREATE INDEX reports_author ON reports (project_id, author_id, created_at DESC, id DESC)
    WHERE author_id IS NOT NULL;

DROP INDEX report_entries_user;
CREATE INDEX report_entries_user ON report_entries (project_id, user_id, created_at DESC, id DESC);

-- What moderators decided in the admin. A decision is pending until `apply_at` and can be undone until then; a job
-- applies it. `ends_at`: of a suspension, none if it is for ever.
CREATE TABLE moderation_decisions (
    project_id {uuid} NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
    id {uuid} NOT NULL,
    report_id {uuid},
    target_type {text} NOT NULL,
    target_id {uuid} NOT NULL,
    author_id {uuid},
    space_id {uuid},
    action {text} NOT NULL,
    ends_at {time},
    reason {text},
    rule_id {uuid},
    operator_id {uuid},
    decided_by {text} NOT NULL,
    decided_at {time} NOT NULL,
    apply_at {time} NOT NULL,
    state {text} NOT NULL,
    error {text},
    PRIMARY KEY (project_id, id)
) {strict};
CREATE INDEX moderation_decisions_new ON moderation_decisions (project_id, decided_at DESC, id DESC);
CREATE INDEX moderation_decisions_author
    ON moderation_decisions (project_id, author_id, decided_at DESC, id DESC) WHERE author_id IS NOT NULL;
CREATE INDEX moderation_decisions_target ON moderation_decisions (project_id, target_id, decided_at DESC, id DESC);

-- What operators note about a user.
CREATE TABLE moderation_notes (
    project_id {uuid} NOT NULL,
    id {uuid} NOT NULL,
    user_id {uuid} NOT NULL,
    text {text} NOT NULL,
    operator_id {uuid},
    written_by {text} NOT NULL,
    created_at {time} NOT NULL,
    PRIMARY KEY (project_id, id),
    FOREIGN KEY (project_id, user_id) REFERENCES users (project_id, id) ON DELETE CASCADE
) {strict};
CREATE INDEX moderation_notes_user ON moderation_notes (project_id, user_id, created_at DESC, id DESC);

-- Rules that check what users write. `rules_version` grows with every change; 0 for a project that never had rules.
ALTER TABLE projects ADD COLUMN rules_version {int} NOT NULL DEFAULT 0;
CREATE TABLE moderation_rules (
    project_id {uuid} NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
    id {uuid} NOT NULL,
    position {int} NOT NULL,
    name {text} NOT NULL,
    targets {json} NOT NULL,
    condition {json} NOT NULL,
    action {text} NOT NULL,
    state {text} NOT NULL,
    message {text},
    created_at {time} NOT NULL,
    updated_at {time} NOT NULL,
    PRIMARY KEY (project_id, id)
) {strict};

-- Posts of the last day, for rules about how often somebody writes and about repeated texts.
CREATE TABLE moderation_posts (
    project_id {uuid} NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
    id {uuid} NOT NULL,
    user_id {uuid},
    text_hash {uuid} NOT NULL,
    written_at {time} NOT NULL,
    PRIMARY KEY (project_id, id),
    FOREIGN KEY (project_id, user_id) REFERENCES users (project_id, id) ON DELETE CASCADE
) {strict};
CREATE INDEX moderation_posts_user ON moderation_posts (project_id, user_id, written_at DESC);
CREATE INDEX moderation_posts_text ON moderation_posts (project_id, text_hash, written_at DESC);
CREATE INDEX moderation_posts_old ON moderation_posts (written_at);

-- What rules in shadow would have acted on, in the last thirty days.
CREATE TABLE moderation_rule_hits (
    project_id {uuid} NOT NULL,
    id {uuid} NOT NULL,
    rule_id {uuid} NOT NULL,
    target_type {text} NOT NULL,
    target_id {uuid} NOT NULL,
    action {text} NOT NULL,
    created_at {time} NOT NULL,
    PRIMARY KEY (project_id, id),
    FOREIGN KEY (project_id, rule_id) REFERENCES moderation_rules (project_id, id) ON DELETE CASCADE
) {strict};
CREATE INDEX moderation_rule_hits_rule ON moderation_rule_hits (project_id, rule_id, created_at DESC, id DESC);
CREATE INDEX moderation_rule_hits_old ON moderation_rule_hits (created_at);

-- New comments that a rule holds: their authors' lists count them.
CREATE INDEX comments_held ON comments (project_id, entity_id, user_id) WHERE moderated_by_type = 'hold';
