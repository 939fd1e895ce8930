-- Passkeys of operators. `public_key` is the COSE key that the authenticator sent; `sign_count` is its counter at the last
-- sign-in, by which a copied authenticator is noticed.
CREATE TABLE operator_passkeys (
    id {uuid} NOT NULL PRIMARY KEY,
    operator_id {uuid} NOT NULL REFERENCES operators (id) ON DELETE CASCADE,
    credential_id {bytes} NOT NULL,
    public_key {bytes} NOT NULL,
    sign_count {int} NOT NULL,
    name {text} NOT NULL,
    created_at {time} NOT NULL,
    used_at {time}
) {strict};
CREATE UNIQUE INDEX operator_passkeys_credential ON operator_passkeys (credential_id);
CREATE INDEX operator_passkeys_operator ON operator_passkeys (operator_id, created_at);

-- Challenges that a passkey has not signed yet; each is answered once. `operator_id` is set for the one who adds a
-- passkey, and not for somebody who signs in.
CREATE TABLE operator_challenges (
    challenge {bytes} NOT NULL PRIMARY KEY,
    operator_id {uuid} REFERENCES operators (id) ON DELETE CASCADE,
    expires_at {time} NOT NULL
) {strict};
CREATE INDEX operator_challenges_expiry ON operator_challenges (expires_at);
