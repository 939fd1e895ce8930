-- How a project's users sign in with accounts elsewhere.

-- One OAuth client for each provider. `client_secret` is sealed with the server's secret key; `settings` holds what is
-- no secret: addresses to return to, scopes, endpoints.
CREATE TABLE oauth_providers (
    project_id {uuid} NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
    provider {text} NOT NULL,
    client_secret {bytes},
    settings {json} NOT NULL,
    created_at {time} NOT NULL,
    updated_at {time} NOT NULL,
    PRIMARY KEY (project_id, provider)
) {strict};

-- A sign-in that has begun; the row is deleted when the browser returns from the provider. `browser_hash`: of a cookie
-- that the browser must bring back.
CREATE TABLE oauth_states (
    project_id {uuid} NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
    state_hash {bytes} NOT NULL,
    provider {text} NOT NULL,
    redirect_after_auth {text} NOT NULL,
    code_verifier {text} NOT NULL,
    nonce {text} NOT NULL,
    browser_hash {bytes},
    link_to_user_id {uuid},
    expires_at {time} NOT NULL,
    PRIMARY KEY (project_id, state_hash),
    FOREIGN KEY (project_id, link_to_user_id) REFERENCES users (project_id, id) ON DELETE CASCADE
) {strict};
CREATE INDEX oauth_states_user ON oauth_states (project_id, link_to_user_id) WHERE link_to_user_id IS NOT NULL;
CREATE INDEX oauth_states_expiry ON oauth_states (expires_at);

-- Outside issuers whose JWTs sign users in, by the keys they publish.
CREATE TABLE jwt_issuers (
    project_id {uuid} NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
    issuer {text} NOT NULL,
    settings {json} NOT NULL,
    created_at {time} NOT NULL,
    updated_at {time} NOT NULL,
    PRIMARY KEY (project_id, issuer)
) {strict};
