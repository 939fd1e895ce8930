-- Push messages: the devices of users, what users do not want to hear of, and how a project reaches push services.

-- A device may serve several users. `device_key` is its token, or the endpoint of a web subscription, which has the
-- keys `p256dh` and `auth` besides; it may be longer than an index takes, so its digest is what is looked up.
CREATE TABLE push_devices (
    project_id {uuid} NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
    user_id {uuid} NOT NULL,
    key_hash {bytes} NOT NULL,
    id {uuid} NOT NULL,
    platform {text} NOT NULL,
    device_key {text} NOT NULL,
    p256dh {text},
    auth {text},
    created_at {time} NOT NULL,
    updated_at {time} NOT NULL,
    PRIMARY KEY (project_id, user_id, key_hash),
    FOREIGN KEY (project_id, user_id) REFERENCES users (project_id, id) ON DELETE CASCADE
) {strict};
CREATE INDEX push_devices_key ON push_devices (project_id, key_hash);

-- The kinds of notifications that a user does not want to get as push messages and mails: a JSON list.
CREATE TABLE notification_preferences (
    project_id {uuid} NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
    user_id {uuid} NOT NULL,
    disabled_types {json} NOT NULL,
    updated_at {time} NOT NULL,
    PRIMARY KEY (project_id, user_id),
    FOREIGN KEY (project_id, user_id) REFERENCES users (project_id, id) ON DELETE CASCADE
) {strict};

-- `web`, `fcm` and `apns`. `secret` is sealed with the server's secret key; `settings` holds what is no secret.
CREATE TABLE push_providers (
    project_id {uuid} NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
    provider {text} NOT NULL,
    secret {bytes} NOT NULL,
    settings {json} NOT NULL,
    created_at {time} NOT NULL,
    updated_at {time} NOT NULL,
    PRIMARY KEY (project_id, provider)
) {strict};

-- How automatic pushes of one type are worded and delivered; the type `default` is for all that say nothing else.
CREATE TABLE push_templates (
    project_id {uuid} NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
    type {text} NOT NULL,
    settings {json} NOT NULL,
    updated_at {time} NOT NULL,
    PRIMARY KEY (project_id, type)
) {strict};
