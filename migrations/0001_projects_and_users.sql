-- Projects, their keys and bundles; users with their sessions, identities and codes; the job queue.
-- Every table is keyed by project first, so that projects cannot meet and the schema can be
-- distributed by project. Uniqueness is always a named index: errors speak of it by name.

CREATE TABLE projects (
    id {uuid} NOT NULL PRIMARY KEY,
    name {text} NOT NULL,
    state {text} NOT NULL,
    allowed_origins {json} NOT NULL,
    public_key {text},
    previous_public_key {text},
    key_updated_at {time},
    created_at {time} NOT NULL,
    updated_at {time} NOT NULL
) {strict};

CREATE TABLE project_bundles (
    project_id {uuid} NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
    bundle {text} NOT NULL,
    PRIMARY KEY (project_id, bundle)
) {strict};

CREATE TABLE project_keys (
    project_id {uuid} NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
    id {uuid} NOT NULL,
    kind {text} NOT NULL,
    label {text},
    hash {bytes} NOT NULL,
    created_at {time} NOT NULL,
    revoked_at {time},
    PRIMARY KEY (project_id, id)
) {strict};
CREATE UNIQUE INDEX project_keys_hash ON project_keys (project_id, hash);
CREATE INDEX project_keys_id ON project_keys (id);

CREATE TABLE users (
    project_id {uuid} NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
    id {uuid} NOT NULL,
    foreign_id {text},
    role {text} NOT NULL,
    name {text},
    username {text},
    email {text},
    password_hash {text},
    is_verified {bool} NOT NULL,
    is_active {bool} NOT NULL,
    avatar {text},
    avatar_file_id {uuid},
    banner_file_id {uuid},
    bio {text},
    birthdate {time},
    latitude {real},
    longitude {real},
    metadata {document} NOT NULL,
    secure_metadata {document} NOT NULL,
    reputation {int} NOT NULL,
    last_active {time} NOT NULL,
    created_at {time} NOT NULL,
    updated_at {time} NOT NULL,
    PRIMARY KEY (project_id, id)
) {strict};
CREATE UNIQUE INDEX users_email ON users (project_id, email);
CREATE UNIQUE INDEX users_username ON users (project_id, username);
CREATE UNIQUE INDEX users_foreign_id ON users (project_id, foreign_id);

CREATE TABLE identities (
    project_id {uuid} NOT NULL,
    id {uuid} NOT NULL,
    user_id {uuid} NOT NULL,
    provider {text} NOT NULL,
    provider_account_id {text} NOT NULL,
    email {text},
    name {text},
    avatar {text},
    is_verified {bool} NOT NULL,
    created_at {time} NOT NULL,
    updated_at {time} NOT NULL,
    PRIMARY KEY (project_id, id),
    FOREIGN KEY (project_id, user_id) REFERENCES users (project_id, id) ON DELETE CASCADE
) {strict};
CREATE UNIQUE INDEX identities_account ON identities (project_id, provider, provider_account_id);
CREATE INDEX identities_user ON identities (project_id, user_id, created_at, id);

-- One row for each refresh token; a family of them is one session.
CREATE TABLE refresh_tokens (
    project_id {uuid} NOT NULL,
    id {uuid} NOT NULL,
    user_id {uuid} NOT NULL,
    family_id {uuid} NOT NULL,
    successor_id {uuid},
    revoked_at {time},
    expires_at {time} NOT NULL,
    created_at {time} NOT NULL,
    updated_at {time} NOT NULL,
    PRIMARY KEY (project_id, id),
    FOREIGN KEY (project_id, user_id) REFERENCES users (project_id, id) ON DELETE CASCADE
) {strict};
CREATE UNIQUE INDEX refresh_tokens_live ON refresh_tokens (project_id, family_id) WHERE revoked_at IS NULL;
CREATE INDEX refresh_tokens_family ON refresh_tokens (project_id, family_id);
CREATE INDEX refresh_tokens_user ON refresh_tokens (project_id, user_id);
CREATE INDEX refresh_tokens_expiry ON refresh_tokens (expires_at);

-- At most one pending reset for a user; a new request replaces it.
CREATE TABLE password_resets (
    project_id {uuid} NOT NULL,
    user_id {uuid} NOT NULL,
    token_hash {bytes} NOT NULL,
    expires_at {time} NOT NULL,
    PRIMARY KEY (project_id, user_id),
    FOREIGN KEY (project_id, user_id) REFERENCES users (project_id, id) ON DELETE CASCADE
) {strict};
CREATE UNIQUE INDEX password_resets_token ON password_resets (project_id, token_hash);
CREATE INDEX password_resets_expiry ON password_resets (expires_at);

-- `guessable`: a short code that a person types, as against 256 random bits in a link.
CREATE TABLE email_verifications (
    project_id {uuid} NOT NULL,
    id {uuid} NOT NULL,
    user_id {uuid} NOT NULL,
    token_hash {bytes} NOT NULL,
    guessable {bool} NOT NULL,
    wrong_tries {int} NOT NULL,
    expires_at {time} NOT NULL,
    PRIMARY KEY (project_id, id),
    FOREIGN KEY (project_id, user_id) REFERENCES users (project_id, id) ON DELETE CASCADE
) {strict};
CREATE UNIQUE INDEX email_verifications_token ON email_verifications (project_id, token_hash);
CREATE INDEX email_verifications_user ON email_verifications (project_id, user_id);
CREATE INDEX email_verifications_expiry ON email_verifications (expires_at);

CREATE TABLE account_deletions (
    project_id {uuid} NOT NULL,
    user_id {uuid} NOT NULL,
    code_hash {bytes} NOT NULL,
    wrong_tries {int} NOT NULL,
    expires_at {time} NOT NULL,
    PRIMARY KEY (project_id, user_id),
    FOREIGN KEY (project_id, user_id) REFERENCES users (project_id, id) ON DELETE CASCADE
) {strict};
CREATE INDEX account_deletions_expiry ON account_deletions (expires_at);

CREATE TABLE suspensions (
    project_id {uuid} NOT NULL,
    id {uuid} NOT NULL,
    user_id {uuid} NOT NULL,
    reason {text},
    start_date {time} NOT NULL,
    end_date {time},
    created_by {text} NOT NULL,
    created_at {time} NOT NULL,
    updated_at {time} NOT NULL,
    PRIMARY KEY (project_id, id),
    FOREIGN KEY (project_id, user_id) REFERENCES users (project_id, id) ON DELETE CASCADE
) {strict};
CREATE INDEX suspensions_user ON suspensions (project_id, user_id, start_date);

-- A user's points in a space; the nil UUID stands for the general bucket.
CREATE TABLE reputation_buckets (
    project_id {uuid} NOT NULL,
    user_id {uuid} NOT NULL,
    space_id {uuid} NOT NULL,
    points {int} NOT NULL,
    PRIMARY KEY (project_id, user_id, space_id),
    FOREIGN KEY (project_id, user_id) REFERENCES users (project_id, id) ON DELETE CASCADE
) {strict};

-- Work that outlives its request: a row, done by a worker at least once.
CREATE TABLE jobs (
    project_id {uuid} NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
    id {uuid} NOT NULL,
    payload {json} NOT NULL,
    attempts {int} NOT NULL,
    run_at {time} NOT NULL,
    created_at {time} NOT NULL,
    PRIMARY KEY (project_id, id)
) {strict};
CREATE INDEX jobs_due ON jobs (run_at, id);
