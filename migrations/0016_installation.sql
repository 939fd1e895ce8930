-- `catalogue_version`: counts the changes of a project's tables; documents about them are kept until it moves.
ALTER TABLE projects ADD COLUMN catalogue_version {int} NOT NULL DEFAULT 0;
UPDATE projects SET catalogue_version = 1 WHERE EXISTS
    (SELECT 1 FROM custom_tables t WHERE t.project_id = projects.id);

-- Facts about the whole installation, whatever its projects. `secret`: a fingerprint of the key that signs tokens.
CREATE TABLE installation (
    name {text} NOT NULL PRIMARY KEY,
    value {text} NOT NULL
) {strict};
