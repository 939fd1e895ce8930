-- What older notifications are about, out of what they say.
ALTER TABLE notifications ADD COLUMN subject_id {uuid};
ALTER TABLE notifications ADD COLUMN target_id {uuid};
ALTER TABLE notifications ADD COLUMN actor_id {uuid};
ALTER TABLE notifications ADD COLUMN space_id {uuid};
ALTER TABLE notifications ADD COLUMN is_hidden {bool} NOT NULL DEFAULT FALSE;
UPDATE notifications SET
    subject_id = unhex(metadata ->> 'entityId', '-'),
    target_id = unhex(COALESCE(metadata ->> 'replyId', metadata ->> 'commentId', metadata ->> 'entityId'), '-'),
    actor_id = unhex(metadata ->> 'initiatorId', '-'),
    space_id = unhex(metadata ->> 'spaceId', '-')
WHERE action IN ('open-entity', 'open-comment') AND type <> 'system';
UPDATE notifications SET
    subject_id = user_id, target_id = user_id, actor_id = unhex(metadata ->> 'initiatorId', '-')
WHERE type IN ('new-follow', 'connection-request', 'connection-accepted');
UPDATE notifications SET
    subject_id = unhex(metadata ->> 'spaceId', '-'), target_id = unhex(metadata ->> 'spaceId', '-'),
    space_id = unhex(metadata ->> 'spaceId', '-')
WHERE type = 'space-membership-approved';
