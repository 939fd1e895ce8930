-- What users report, and what became of it. A target has one open report at most, and any number
-- of resolved ones.

CREATE TABLE reports (
    project_id {uuid} NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
    id {uuid} NOT NULL,
    space_id {uuid},
    target_type {text} NOT NULL,
    target_id {uuid} NOT NULL,
    status {text} NOT NULL,
    reporter_count {int} NOT NULL,
    action_taken {text},
    handled_at {time},
    handled_by_id {uuid},
    handled_by_type {text},
    created_at {time} NOT NULL,
    updated_at {time} NOT NULL,
    PRIMARY KEY (project_id, id)
) {strict};
CREATE UNIQUE INDEX reports_open ON reports (project_id, target_type, target_id)
    WHERE status = 'open';
CREATE INDEX reports_new ON reports (project_id, created_at DESC, id DESC);
CREATE INDEX reports_status ON reports (project_id, status, created_at DESC, id DESC);
CREATE INDEX reports_space ON reports (project_id, space_id, created_at DESC, id DESC);
CREATE INDEX reports_target ON reports (project_id, target_id, created_at DESC, id DESC);

-- Who reported, and why.
CREATE TABLE report_entries (
    project_id {uuid} NOT NULL,
    report_id {uuid} NOT NULL,
    user_id {uuid} NOT NULL,
    id {uuid} NOT NULL,
    reason {text} NOT NULL,
    details {text},
    created_at {time} NOT NULL,
    PRIMARY KEY (project_id, report_id, user_id),
    FOREIGN KEY (project_id, report_id) REFERENCES reports (project_id, id) ON DELETE CASCADE,
    FOREIGN KEY (project_id, user_id) REFERENCES users (project_id, id)
) {strict};
CREATE INDEX report_entries_user ON report_entries (project_id, user_id);
