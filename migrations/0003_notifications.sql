-- What users are told inside the app, newest first, and how much of it there is.

CREATE TABLE notifications (
    project_id {uuid} NOT NULL,
    id {uuid} NOT NULL,
    user_id {uuid} NOT NULL,
    type {text} NOT NULL,
    action {text} NOT NULL,
    is_read {bool} NOT NULL,
    metadata {document} NOT NULL,
    created_at {time} NOT NULL,
    updated_at {time} NOT NULL,
    PRIMARY KEY (project_id, id),
    FOREIGN KEY (project_id, user_id) REFERENCES users (project_id, id) ON DELETE CASCADE
) {strict};
CREATE INDEX notifications_user ON notifications (project_id, user_id, created_at DESC, id DESC);
CREATE INDEX notifications_unread ON notifications (project_id, user_id, created_at, id)
    WHERE NOT is_read;

-- Changed together with what they count, so that neither the list nor the badge counts rows.
-- A user who was never told anything has no row.
CREATE TABLE notification_counts (
    project_id {uuid} NOT NULL,
    user_id {uuid} NOT NULL,
    total {int} NOT NULL,
    unread {int} NOT NULL,
    PRIMARY KEY (project_id, user_id),
    FOREIGN KEY (project_id, user_id) REFERENCES users (project_id, id) ON DELETE CASCADE
) {strict};
