-- Settings of a project about credentials and anonymous posts, and a quota of mails for each address.

ALTER TABLE projects ADD COLUMN keys_in_browsers {bool} NOT NULL DEFAULT FALSE;
ALTER TABLE projects ADD COLUMN anonymous_posts {bool} NOT NULL DEFAULT TRUE;
-- Whether version 7 answers a bad token with 403; null: as the server's own setting says.
ALTER TABLE projects ADD COLUMN v7_auth_forbids {bool};

-- When an address was sent the mails that anybody can cause, within the last day: a JSON list of
-- milliseconds. Of the address only a digest is kept, because it may be nobody's here.
CREATE TABLE mail_quotas (
    project_id {uuid} NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
    address_hash {bytes} NOT NULL,
    sent_at {document} NOT NULL,
    expires_at {time} NOT NULL,
    PRIMARY KEY (project_id, address_hash)
) {strict};
CREATE INDEX mail_quotas_expiry ON mail_quotas (expires_at);
