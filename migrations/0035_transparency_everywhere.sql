-- Where a log was cut: everything up to this seal was dropped, because it was older than `cut_before`. The seal stays, as
-- the beginning of the chain.
ALTER TABLE audit_seals ADD COLUMN cut_before {time};
CREATE INDEX audit_seals_old ON audit_seals (last_id, project_id) WHERE cut_before IS NULL;

-- An operator looks at an appeal, so that two do not decide about it at once.
ALTER TABLE moderation_appeals ADD COLUMN claimed_by {uuid};
ALTER TABLE moderation_appeals ADD COLUMN claimed_by_name {text};
ALTER TABLE moderation_appeals ADD COLUMN claimed_until {time};

-- Whether authors also get a statement of reasons about what the moderators of spaces and keys decide over the API.
ALTER TABLE projects ADD COLUMN statements_over_api {bool} NOT NULL DEFAULT FALSE;
