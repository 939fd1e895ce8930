-- Notifications by mail, for projects that switch it on.
ALTER TABLE projects ADD COLUMN notification_mails {bool} NOT NULL DEFAULT FALSE;

-- How a user wants mails. `frequency`: `immediate`, `daily`, `weekly` or `off`. The quiet hours are in the time zone, UTC unless
-- given.
CREATE TABLE mail_preferences (
    project_id {uuid} NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
    user_id {uuid} NOT NULL,
    frequency {text} NOT NULL,
    timezone {text},
    quiet_from {int},
    quiet_until {int},
    language {text},
    updated_at {time} NOT NULL,
    PRIMARY KEY (project_id, user_id),
    FOREIGN KEY (project_id, user_id) REFERENCES users (project_id, id) ON DELETE CASCADE
) {strict};

-- The next mail to a user: about everything since then, due at a time; both null while there is none. No mail comes before
-- `not_before`.
CREATE TABLE mail_schedules (
    project_id {uuid} NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
    user_id {uuid} NOT NULL,
    since {time},
    due_at {time},
    not_before {time} NOT NULL,
    PRIMARY KEY (project_id, user_id),
    FOREIGN KEY (project_id, user_id) REFERENCES users (project_id, id) ON DELETE CASCADE
) {strict};
CREATE INDEX mail_schedules_due ON mail_schedules (due_at) WHERE due_at IS NOT NULL;

-- How a project words its mails in a language; the language `default` is for all that say nothing else.
CREATE TABLE mail_templates (
    project_id {uuid} NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
    language {text} NOT NULL,
    settings {json} NOT NULL,
    updated_at {time} NOT NULL,
    PRIMARY KEY (project_id, language)
) {strict};
