-- A notification is about a fifth of a page. In a clustered table the pages above the leaves hold such rows, too: four to a
-- page, so the tree was deep, and almost every new notification split a page. Rows in the order of their arrival, and the key
-- in an index.
CREATE TABLE notifications_by_arrival (
    project_id {uuid} NOT NULL,
    user_id {uuid} NOT NULL,
    id {uuid} NOT NULL,
    type {text} NOT NULL,
    action {text} NOT NULL,
    is_read {bool} NOT NULL,
    metadata {document} NOT NULL,
    created_at {time} NOT NULL,
    updated_at {time} NOT NULL,
    subject_id {uuid},
    target_id {uuid},
    actor_id {uuid},
    space_id {uuid},
    is_hidden {bool} NOT NULL DEFAULT FALSE,
    PRIMARY KEY (project_id, user_id, id),
    FOREIGN KEY (project_id, user_id) REFERENCES users (project_id, id) ON DELETE CASCADE
) {strict};
INSERT INTO notifications_by_arrival (project_id, user_id, id, type, action, is_read, metadata, created_at, updated_at,
    subject_id, target_id, actor_id, space_id, is_hidden)
SELECT project_id, user_id, id, type, action, is_read, metadata, created_at, updated_at, subject_id, target_id, actor_id,
    space_id, is_hidden
FROM notifications ORDER BY id;
DROP TABLE notifications;
ALTER TABLE notifications_by_arrival RENAME TO notifications;
CREATE UNIQUE INDEX notifications_subject ON notifications (project_id, subject_id, target_id, user_id, type, actor_id,
    (CASE WHEN is_read THEN NULL ELSE 1 END)) WHERE subject_id IS NOT NULL;
