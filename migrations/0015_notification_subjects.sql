-- `subject_id`: the entity a notification is about, or the user or space; none if it is about nothing
-- of the kind. `target_id`: the comment, or the subject itself. `actor_id`: who caused it.
-- `is_hidden`: what it is about was removed by a moderator.

-- Of several unread ones that say the same, the oldest stands for all.
DELETE FROM notifications WHERE (project_id, user_id, id) IN
    (SELECT d.project_id, d.user_id, d.id FROM
        (SELECT project_id, user_id, id, row_number() OVER
            (PARTITION BY project_id, user_id, type, subject_id, target_id, actor_id ORDER BY id) AS place
         FROM notifications WHERE actor_id IS NOT NULL AND NOT is_read) d
     WHERE d.place > 1);

-- What is about something that is gone goes too.
DELETE FROM notifications WHERE action IN ('open-entity', 'open-comment') AND subject_id IS NOT NULL
    AND NOT EXISTS
        (SELECT 1 FROM entities e WHERE e.project_id = notifications.project_id
            AND e.id = notifications.subject_id AND e.deleted_at IS NULL);
DELETE FROM notifications WHERE action = 'open-comment' AND subject_id IS NOT NULL
    AND NOT EXISTS
        (SELECT 1 FROM comments c
            LEFT JOIN comments p ON p.project_id = c.project_id AND p.id = c.parent_id
         WHERE c.project_id = notifications.project_id AND c.id = notifications.target_id
            AND c.user_id IS NOT NULL AND c.deleted_at IS NULL AND c.user_deleted_at IS NULL
            AND (notifications.type <> 'comment-reply'
                OR (p.deleted_at IS NULL AND p.user_deleted_at IS NULL)));
UPDATE notifications SET is_hidden = TRUE WHERE subject_id IS NOT NULL AND
    (EXISTS (SELECT 1 FROM entities e WHERE e.project_id = notifications.project_id
            AND e.id = notifications.subject_id AND e.moderation_status = 'removed')
    OR EXISTS (SELECT 1 FROM comments c
            LEFT JOIN comments p ON p.project_id = c.project_id AND p.id = c.parent_id
         WHERE c.project_id = notifications.project_id AND c.id = notifications.target_id
            AND (c.moderation_status = 'removed'
                OR (notifications.type = 'comment-reply' AND p.moderation_status = 'removed'))));

-- One unread notification for each actor, kind and target; and all of a subject, for when it goes.
CREATE UNIQUE INDEX notifications_subject ON notifications
    (project_id, subject_id, target_id, user_id, type, actor_id, (CASE WHEN is_read THEN NULL ELSE 1 END))
    WHERE subject_id IS NOT NULL;

-- A user's notifications that are not hidden, by the space of what they are about: what may not be read is
-- left out of the sum. What is in no space counts under the id that is all zeros.
CREATE TABLE notification_counts_by_space (
    project_id {uuid} NOT NULL,
    user_id {uuid} NOT NULL,
    space_id {uuid} NOT NULL,
    total {int} NOT NULL,
    unread {int} NOT NULL,
    unread_since {time} NOT NULL,
    PRIMARY KEY (project_id, user_id, space_id),
    FOREIGN KEY (project_id, user_id) REFERENCES users (project_id, id) ON DELETE CASCADE
) {clustered};
INSERT INTO notification_counts_by_space (project_id, user_id, space_id, total, unread, unread_since)
SELECT project_id, user_id, COALESCE(space_id, {nil}), count(*), sum(CASE WHEN is_read THEN 0 ELSE 1 END), 0
FROM notifications WHERE NOT is_hidden
GROUP BY project_id, user_id, COALESCE(space_id, {nil});
DROP TABLE notification_counts;
ALTER TABLE notification_counts_by_space RENAME TO notification_counts;

-- `is_emptied`: its author was deleted. It is not listed any more, and stays where it is for its thread.
ALTER TABLE entities ADD COLUMN is_emptied {bool} NOT NULL DEFAULT FALSE;

-- Who waits to be let into a space that is for its members alone is not in its conversation.
UPDATE conversation_members SET is_active = FALSE, left_at = updated_at
WHERE is_active AND EXISTS
    (SELECT 1 FROM conversations c
        JOIN spaces s ON s.project_id = c.project_id AND s.id = c.space_id
        JOIN space_members m ON m.project_id = s.project_id AND m.space_id = s.id
     WHERE c.project_id = conversation_members.project_id AND c.id = conversation_members.conversation_id
        AND m.user_id = conversation_members.user_id AND m.status = 'pending'
        AND s.reading_permission = 'members');
UPDATE conversations SET member_count =
    (SELECT count(*) FROM conversation_members m
     WHERE m.project_id = conversations.project_id AND m.conversation_id = conversations.id AND m.is_active)
WHERE space_id IS NOT NULL;
