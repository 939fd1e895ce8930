-- Relationships between users: blocks, follows, connections. Whoever changes one holds the rows of
-- both users first, the lesser id before the greater.

CREATE TABLE blocks (
    project_id {uuid} NOT NULL,
    blocker_id {uuid} NOT NULL,
    blocked_id {uuid} NOT NULL,
    id {uuid} NOT NULL,
    created_at {time} NOT NULL,
    PRIMARY KEY (project_id, blocker_id, blocked_id),
    FOREIGN KEY (project_id, blocker_id) REFERENCES users (project_id, id) ON DELETE CASCADE,
    FOREIGN KEY (project_id, blocked_id) REFERENCES users (project_id, id) ON DELETE CASCADE
) {clustered};
CREATE INDEX blocks_blocked ON blocks (project_id, blocked_id, blocker_id);
CREATE INDEX blocks_newest ON blocks (project_id, blocker_id, created_at DESC, id DESC);

CREATE TABLE follows (
    project_id {uuid} NOT NULL,
    id {uuid} NOT NULL,
    follower_id {uuid} NOT NULL,
    followed_id {uuid} NOT NULL,
    created_at {time} NOT NULL,
    PRIMARY KEY (project_id, id),
    FOREIGN KEY (project_id, follower_id) REFERENCES users (project_id, id) ON DELETE CASCADE,
    FOREIGN KEY (project_id, followed_id) REFERENCES users (project_id, id) ON DELETE CASCADE
) {strict};
CREATE UNIQUE INDEX follows_pair ON follows (project_id, follower_id, followed_id);
CREATE INDEX follows_following ON follows (project_id, follower_id, created_at DESC, id DESC);
CREATE INDEX follows_followers ON follows (project_id, followed_id, created_at DESC, id DESC);

-- Changed together with what they count. A user of no follow has no row.
CREATE TABLE follow_counts (
    project_id {uuid} NOT NULL,
    user_id {uuid} NOT NULL,
    followers {int} NOT NULL,
    following {int} NOT NULL,
    PRIMARY KEY (project_id, user_id),
    FOREIGN KEY (project_id, user_id) REFERENCES users (project_id, id) ON DELETE CASCADE
) {clustered};

-- One for each pair of users, whichever of them asked.
CREATE TABLE connections (
    project_id {uuid} NOT NULL,
    id {uuid} NOT NULL,
    low_id {uuid} NOT NULL,
    high_id {uuid} NOT NULL,
    requester_id {uuid} NOT NULL,
    status {text} NOT NULL,
    message {text},
    responded_at {time},
    created_at {time} NOT NULL,
    PRIMARY KEY (project_id, id),
    FOREIGN KEY (project_id, low_id) REFERENCES users (project_id, id) ON DELETE CASCADE,
    FOREIGN KEY (project_id, high_id) REFERENCES users (project_id, id) ON DELETE CASCADE
) {strict};
CREATE UNIQUE INDEX connections_pair ON connections (project_id, low_id, high_id);
CREATE INDEX connections_high ON connections (project_id, high_id);

-- A connection as each of the two has it, in the order of their lists. `kind`: connected, sent,
-- received; one that was declined is in no list.
CREATE TABLE connection_sides (
    project_id {uuid} NOT NULL,
    user_id {uuid} NOT NULL,
    other_id {uuid} NOT NULL,
    connection_id {uuid} NOT NULL,
    kind {text} NOT NULL,
    created_at {time} NOT NULL,
    PRIMARY KEY (project_id, user_id, other_id),
    FOREIGN KEY (project_id, connection_id) REFERENCES connections (project_id, id) ON DELETE CASCADE
) {clustered};
CREATE INDEX connection_sides_list
    ON connection_sides (project_id, user_id, kind, created_at DESC, connection_id DESC);
CREATE INDEX connection_sides_connection ON connection_sides (project_id, connection_id);

-- How long each of those lists is. Changed together with them.
CREATE TABLE connection_counts (
    project_id {uuid} NOT NULL,
    user_id {uuid} NOT NULL,
    connected {int} NOT NULL,
    sent {int} NOT NULL,
    received {int} NOT NULL,
    PRIMARY KEY (project_id, user_id),
    FOREIGN KEY (project_id, user_id) REFERENCES users (project_id, id) ON DELETE CASCADE
) {clustered};

-- Every three letters that follow each other in a username or a name, in lower case: how users are
-- found by a part of it. Whoever deletes a user deletes theirs by hand.
CREATE TABLE user_grams (
    project_id {uuid} NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
    gram {text} NOT NULL,
    user_id {uuid} NOT NULL,
    PRIMARY KEY (project_id, gram, user_id)
) {clustered};
INSERT INTO user_grams (project_id, gram, user_id)
WITH RECURSIVE grams (project_id, user_id, rest) AS
    (SELECT project_id, id, fold(username) FROM users WHERE length(username) >= 3
     UNION ALL SELECT project_id, id, fold(name) FROM users WHERE length(name) >= 3
     UNION ALL SELECT project_id, user_id, substr(rest, 2) FROM grams WHERE length(rest) > 3)
SELECT DISTINCT project_id, substr(rest, 1, 3), user_id FROM grams WHERE length(rest) >= 3;
