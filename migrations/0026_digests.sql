-- The daily digest of a space: where it is sent and when. `secret` signs it and is sealed with the server's secret key.
-- `next_at` is null while the digest is off.
CREATE TABLE space_digests (
    project_id {uuid} NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
    space_id {uuid} NOT NULL,
    is_enabled {bool} NOT NULL,
    url {text},
    secret {bytes},
    hour {int},
    timezone {text},
    next_at {time},
    updated_at {time} NOT NULL,
    PRIMARY KEY (project_id, space_id),
    FOREIGN KEY (project_id, space_id) REFERENCES spaces (project_id, id) ON DELETE CASCADE
) {strict};
CREATE INDEX space_digests_due ON space_digests (next_at) WHERE next_at IS NOT NULL;
