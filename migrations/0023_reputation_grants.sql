-- Reputation that users give each other, and that a project gives or takes.

-- Whether users may give reputation by themselves; keys always may.
ALTER TABLE projects ADD COLUMN user_grants {bool} NOT NULL DEFAULT TRUE;

-- Never changed. Stays when its sender or its target is deleted, and goes with its recipient. `sender_id` is null for a
-- grant of the project, and once the sender is deleted. `conversation_id`: of a message that it is for.
CREATE TABLE reputation_grants (
    project_id {uuid} NOT NULL,
    id {uuid} NOT NULL,
    source_type {text} NOT NULL,
    sender_id {uuid},
    recipient_id {uuid} NOT NULL,
    amount {int} NOT NULL,
    space_id {uuid},
    target_type {text},
    target_id {uuid},
    conversation_id {uuid},
    note {text},
    metadata {document},
    created_at {time} NOT NULL,
    PRIMARY KEY (project_id, id),
    FOREIGN KEY (project_id, sender_id) REFERENCES users (project_id, id),
    FOREIGN KEY (project_id, recipient_id) REFERENCES users (project_id, id) ON DELETE CASCADE
) {strict};
CREATE INDEX reputation_grants_received ON reputation_grants (project_id, recipient_id, created_at DESC, id DESC);
CREATE INDEX reputation_grants_sent ON reputation_grants (project_id, sender_id, created_at DESC, id DESC)
    WHERE sender_id IS NOT NULL;
-- Everybody sees only what was given, not what was taken.
CREATE INDEX reputation_grants_target ON reputation_grants (project_id, target_id, created_at DESC, id DESC)
    WHERE target_id IS NOT NULL AND amount > 0;

-- What a viewer has given for a target.
CREATE INDEX reputation_grants_given ON reputation_grants (project_id, target_id, sender_id, amount)
    WHERE target_id IS NOT NULL AND sender_id IS NOT NULL;

-- What was given for each target; changed with the grants.
CREATE TABLE grant_totals (
    project_id {uuid} NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
    target_id {uuid} NOT NULL,
    total {int} NOT NULL,
    grants {int} NOT NULL,
    PRIMARY KEY (project_id, target_id)
) {clustered};
