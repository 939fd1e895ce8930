-- What older notifications are about, out of what they say.
ALTER TABLE notifications ADD COLUMN subject_id {uuid};
ALTER TABLE notifications ADD COLUMN target_id {uuid};
ALTER TABLE notifications ADD COLUMN actor_id {uuid};
ALTER TABLE notifications ADD COLUMN space_id {uuid};
ALTER TABLE notifications ADD COLUMN is_hidden {bool} NOT NULL DEFAULT FALSE;
UPDATE notifications SET
    subject_id = CAST(metadata ->> 'entityId' AS UUID),
    target_id = CAST(COALESCE(metadata ->> 'replyId', metadata ->> 'commentId', metadata ->> 'entityId') AS UUID),
    actor_id = CAST(metadata ->> 'initiatorId' AS UUID),
    space_id = CAST(metadata ->> 'spaceId' AS UUID)
WHERE action IN ('open-entity', 'open-comment') AND type <> 'system';
UPDATE notifications SET
    subject_id = user_id, target_id = user_id, actor_id = CAST(metadata ->> 'initiatorId' AS UUID)
WHERE type IN ('new-follow', 'connection-request', 'connection-accepted');
UPDATE notifications SET
    subject_id = CAST(metadata ->> 'spaceId' AS UUID), target_id = CAST(metadata ->> 'spaceId' AS UUID),
    space_id = CAST(metadata ->> 'spaceId' AS UUID)
WHERE type = 'space-membership-approved';
