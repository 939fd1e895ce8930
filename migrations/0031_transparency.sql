-- Appeals: whoever a decision was made against objects to it, once. `outcome_id` is the decision about the appeal: from
-- then on it is out of the queue, also while that decision can be undone and the appeal is still open.
CREATE TABLE moderation_appeals (
    project_id {uuid} NOT NULL,
    id {uuid} NOT NULL,
    decision_id {uuid} NOT NULL,
    user_id {uuid} NOT NULL,
    text {text} NOT NULL,
    state {text} NOT NULL,
    outcome_id {uuid},
    answer {text},
    created_at {time} NOT NULL,
    decided_at {time},
    PRIMARY KEY (project_id, id),
    FOREIGN KEY (project_id, user_id) REFERENCES users (project_id, id) ON DELETE CASCADE
) {strict};
CREATE UNIQUE INDEX moderation_appeals_decision ON moderation_appeals (project_id, decision_id);
CREATE INDEX moderation_appeals_user ON moderation_appeals (project_id, user_id, created_at DESC, id DESC);
CREATE INDEX moderation_appeals_queue ON moderation_appeals (project_id, created_at, id)
    WHERE state = 'open' AND outcome_id IS NULL;
CREATE INDEX moderation_appeals_outcome ON moderation_appeals (project_id, outcome_id) WHERE outcome_id IS NOT NULL;

-- The appeal that a decision is about.
ALTER TABLE moderation_decisions ADD COLUMN appeal_id {uuid};
-- Decisions whose job was lost.
CREATE INDEX moderation_decisions_pending ON moderation_decisions (apply_at) WHERE state = 'pending';

-- What moderators, keys and rules did in a space. `is_log_public`: everybody who reads the space may read it.
ALTER TABLE spaces ADD COLUMN is_log_public {bool} NOT NULL DEFAULT FALSE;
CREATE TABLE space_log (
    project_id {uuid} NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
    id {uuid} NOT NULL,
    space_id {uuid} NOT NULL,
    action {text} NOT NULL,
    target_type {text} NOT NULL,
    target_id {uuid} NOT NULL,
    decided_by {text} NOT NULL,
    reason {text},
    created_at {time} NOT NULL,
    PRIMARY KEY (project_id, id)
) {strict};
CREATE INDEX space_log_new ON space_log (project_id, space_id, created_at DESC, id DESC);
CREATE INDEX space_log_users ON space_log (project_id, target_id) WHERE target_type = 'user';

-- Whether authors get a statement of reasons, and what it says of its ground and of whom to write to.
ALTER TABLE projects ADD COLUMN statements_of_reasons {bool} NOT NULL DEFAULT TRUE;
ALTER TABLE projects ADD COLUMN statement_ground {text};
ALTER TABLE projects ADD COLUMN statement_contact {text};
