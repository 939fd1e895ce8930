-- What each user has been told, in clustered tables: one entry for each notification and one for its count, where
-- there were six. The counts are made first: on PostgreSQL, who deletes a user then takes both in the order in
-- which who marks notifications does.

-- Nothing older than `unread_since` is unread.
CREATE TABLE notification_counts_of_users (
    project_id {uuid} NOT NULL,
    user_id {uuid} NOT NULL,
    total {int} NOT NULL,
    unread {int} NOT NULL,
    unread_since {time} NOT NULL,
    PRIMARY KEY (project_id, user_id),
    FOREIGN KEY (project_id, user_id) REFERENCES users (project_id, id) ON DELETE CASCADE
) {clustered};
INSERT INTO notification_counts_of_users (project_id, user_id, total, unread, unread_since)
SELECT project_id, user_id, total, unread, 0 FROM notification_counts;
DROP TABLE notification_counts;
ALTER TABLE notification_counts_of_users RENAME TO notification_counts;

-- In the order in which they are read: those of a user together, their ids by age.
CREATE TABLE notifications_of_users (
    project_id {uuid} NOT NULL,
    user_id {uuid} NOT NULL,
    id {uuid} NOT NULL,
    type {text} NOT NULL,
    action {text} NOT NULL,
    is_read {bool} NOT NULL,
    metadata {document} NOT NULL,
    created_at {time} NOT NULL,
    updated_at {time} NOT NULL,
    PRIMARY KEY (project_id, user_id, id),
    FOREIGN KEY (project_id, user_id) REFERENCES users (project_id, id) ON DELETE CASCADE
) {clustered};
INSERT INTO notifications_of_users (project_id, user_id, id, type, action, is_read, metadata,
    created_at, updated_at)
SELECT project_id, user_id, id, type, action, is_read, metadata, created_at, updated_at
FROM notifications;
DROP TABLE notifications;
ALTER TABLE notifications_of_users RENAME TO notifications;

-- What users have earned outside of all spaces is what the buckets leave of their reputation.
DELETE FROM reputation_buckets WHERE NOT EXISTS
    (SELECT 1 FROM spaces s
     WHERE s.project_id = reputation_buckets.project_id AND s.id = reputation_buckets.space_id);
