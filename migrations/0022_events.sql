-- Events, who hosts them, who comes and who is invited. Whoever changes any of these locks the row of the event first.

-- Whether a deleted event goes for good or only from sight, and whether its files stay then.
ALTER TABLE projects ADD COLUMN event_deletion {text} NOT NULL DEFAULT 'hard';
ALTER TABLE projects ADD COLUMN keeps_files_of_deleted_events {bool} NOT NULL DEFAULT TRUE;

-- `length_class`: how long it lasts, as a power of two; null without an end. By it an index finds what is going on at a
-- moment. `revision`: how often its time or place has changed, for calendars.
CREATE TABLE events (
    project_id {uuid} NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
    id {uuid} NOT NULL,
    user_id {uuid},
    title {text} NOT NULL,
    start_time {time} NOT NULL,
    end_time {time},
    length_class {int},
    timezone {text},
    type {text} NOT NULL,
    url {text},
    venue_name {text},
    address {text},
    latitude {real},
    longitude {real},
    -- Stays when the space is deleted.
    space_id {uuid},
    visibility {text} NOT NULL,
    status {text} NOT NULL,
    allow_maybe {bool} NOT NULL,
    guest_list_visible {bool} NOT NULL,
    capacity {int},
    cover_image_id {uuid},
    going_count {int} NOT NULL,
    maybe_count {int} NOT NULL,
    not_going_count {int} NOT NULL,
    invite_count {int} NOT NULL,
    revision {int} NOT NULL,
    created_at {time} NOT NULL,
    updated_at {time} NOT NULL,
    deleted_at {time},
    PRIMARY KEY (project_id, id),
    -- No action: whoever deletes a user first takes them off what they created.
    FOREIGN KEY (project_id, user_id) REFERENCES users (project_id, id)
) {strict};
CREATE INDEX events_time ON events (project_id, status, visibility, type, start_time, id)
    WHERE deleted_at IS NULL;
CREATE INDEX events_going ON events (project_id, status, visibility, type, going_count, id)
    WHERE deleted_at IS NULL;
CREATE INDEX events_current ON events (project_id, status, length_class, start_time)
    WHERE length_class IS NOT NULL AND deleted_at IS NULL;
CREATE INDEX events_space ON events (project_id, space_id, status, start_time, id)
    WHERE space_id IS NOT NULL AND deleted_at IS NULL;
CREATE INDEX events_place ON events (project_id, latitude)
    WHERE latitude IS NOT NULL AND deleted_at IS NULL;
CREATE INDEX events_user ON events (project_id, user_id) WHERE user_id IS NOT NULL;
CREATE INDEX events_cover ON events (project_id, cover_image_id) WHERE cover_image_id IS NOT NULL;

-- Apart from the event, whose counts change often.
CREATE TABLE event_bodies (
    project_id {uuid} NOT NULL,
    id {uuid} NOT NULL,
    description {text},
    metadata {document} NOT NULL,
    PRIMARY KEY (project_id, id),
    FOREIGN KEY (project_id, id) REFERENCES events (project_id, id) ON DELETE CASCADE
) {strict};

-- How many events that are not deleted start on each day of UTC, counted from 1970: lists need not count them one by one.
CREATE TABLE event_days (
    project_id {uuid} NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
    status {text} NOT NULL,
    visibility {text} NOT NULL,
    type {text} NOT NULL,
    day {int} NOT NULL,
    total {int} NOT NULL,
    PRIMARY KEY (project_id, status, visibility, type, day)
) {clustered};

-- Never empty for an event: the last host stays when their account is deleted, so there is no foreign key to users.
CREATE TABLE event_hosts (
    project_id {uuid} NOT NULL,
    event_id {uuid} NOT NULL,
    user_id {uuid} NOT NULL,
    position {int} NOT NULL,
    PRIMARY KEY (project_id, event_id, user_id),
    FOREIGN KEY (project_id, event_id) REFERENCES events (project_id, id) ON DELETE CASCADE
) {clustered};
CREATE INDEX event_hosts_user ON event_hosts (project_id, user_id, event_id);

CREATE TABLE event_rsvps (
    project_id {uuid} NOT NULL,
    event_id {uuid} NOT NULL,
    user_id {uuid} NOT NULL,
    id {uuid} NOT NULL,
    status {text} NOT NULL,
    created_at {time} NOT NULL,
    updated_at {time} NOT NULL,
    PRIMARY KEY (project_id, event_id, user_id),
    FOREIGN KEY (project_id, event_id) REFERENCES events (project_id, id) ON DELETE CASCADE,
    FOREIGN KEY (project_id, user_id) REFERENCES users (project_id, id)
) {strict};
CREATE INDEX event_rsvps_listed ON event_rsvps (project_id, event_id, status, created_at DESC, id DESC);
CREATE INDEX event_rsvps_user ON event_rsvps (project_id, user_id, status, event_id);

CREATE TABLE event_invites (
    project_id {uuid} NOT NULL,
    event_id {uuid} NOT NULL,
    user_id {uuid} NOT NULL,
    id {uuid} NOT NULL,
    invited_at {time} NOT NULL,
    PRIMARY KEY (project_id, event_id, user_id),
    FOREIGN KEY (project_id, event_id) REFERENCES events (project_id, id) ON DELETE CASCADE,
    FOREIGN KEY (project_id, user_id) REFERENCES users (project_id, id)
) {strict};
CREATE INDEX event_invites_listed ON event_invites (project_id, event_id, invited_at DESC, id DESC);
CREATE INDEX event_invites_user ON event_invites (project_id, user_id, event_id);
