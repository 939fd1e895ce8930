-- Operators run the installation; they are no users of a project. `totp_secret` is sealed with the server's secret key;
-- `totp_step` is the time step of the last code, so that none is accepted twice.
CREATE TABLE operators (
    id {uuid} NOT NULL PRIMARY KEY,
    email {text} NOT NULL,
    name {text} NOT NULL,
    password_hash {text} NOT NULL,
    totp_secret {bytes},
    totp_step {int} NOT NULL,
    created_at {time} NOT NULL,
    disabled_at {time}
) {strict};
CREATE UNIQUE INDEX operators_email ON operators (email);

-- `scope`: a project, or the nil UUID for all of them.
CREATE TABLE operator_roles (
    operator_id {uuid} NOT NULL REFERENCES operators (id) ON DELETE CASCADE,
    scope {uuid} NOT NULL,
    role {text} NOT NULL,
    PRIMARY KEY (operator_id, scope)
) {strict};

CREATE TABLE operator_sessions (
    id {uuid} NOT NULL PRIMARY KEY,
    token_hash {bytes} NOT NULL,
    operator_id {uuid} NOT NULL REFERENCES operators (id) ON DELETE CASCADE,
    client {text} NOT NULL,
    agent {text} NOT NULL,
    created_at {time} NOT NULL,
    used_at {time} NOT NULL,
    expires_at {time} NOT NULL
) {strict};
CREATE UNIQUE INDEX operator_sessions_token ON operator_sessions (token_hash);
CREATE INDEX operator_sessions_operator ON operator_sessions (operator_id, used_at);
CREATE INDEX operator_sessions_expiry ON operator_sessions (expires_at);

-- A link that makes an operator, once. With `operator_id` it lets that operator set a new password.
CREATE TABLE operator_invitations (
    id {uuid} NOT NULL PRIMARY KEY,
    token_hash {bytes} NOT NULL,
    scope {uuid} NOT NULL,
    role {text} NOT NULL,
    operator_id {uuid} REFERENCES operators (id) ON DELETE CASCADE,
    invited_by {text} NOT NULL,
    created_at {time} NOT NULL,
    expires_at {time} NOT NULL
) {strict};
CREATE UNIQUE INDEX operator_invitations_token ON operator_invitations (token_hash);
CREATE INDEX operator_invitations_expiry ON operator_invitations (expires_at);

-- Who changed what, by an operator, a key or a command. Rows are only ever added. `project_id` is nil for what concerns
-- the whole installation. Texts, not JSON values: their bytes are hashed.
CREATE TABLE audit_log (
    project_id {uuid} NOT NULL,
    id {uuid} NOT NULL,
    at {time} NOT NULL,
    actor_kind {text} NOT NULL,
    actor_id {uuid},
    actor_name {text} NOT NULL,
    client {text},
    action {text} NOT NULL,
    target {text} NOT NULL,
    old_state {text},
    new_state {text},
    PRIMARY KEY (project_id, id)
) {strict};
CREATE INDEX audit_log_at ON audit_log (at, project_id);
CREATE INDEX audit_log_actor ON audit_log (project_id, actor_name, id);
CREATE INDEX audit_log_action ON audit_log (project_id, action, id);

-- Each seal covers the entries after the one before it, up to `last_id`, and its hash that of the seal before it.
CREATE TABLE audit_seals (
    project_id {uuid} NOT NULL,
    position {int} NOT NULL,
    last_id {uuid} NOT NULL,
    entries {int} NOT NULL,
    hash {bytes} NOT NULL,
    sealed_at {time} NOT NULL,
    PRIMARY KEY (project_id, position)
) {strict};

CREATE INDEX jobs_failed ON jobs (project_id) WHERE has_failed;

-- What a key is for (`entities:read chat:write`; everything if empty), until when, and when it was used last.
ALTER TABLE project_keys ADD COLUMN scopes {text} NOT NULL DEFAULT '';
ALTER TABLE project_keys ADD COLUMN expires_at {time};
ALTER TABLE project_keys ADD COLUMN used_at {time};
