-- The tables that projects make for themselves. These two describe them; the tables proper are made,
-- changed and dropped while the server runs. Whoever changes one holds the row of the project first.

CREATE TABLE custom_tables (
    project_id {uuid} NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
    id {uuid} NOT NULL,
    name {text} NOT NULL,
    timestamps {bool} NOT NULL,
    paranoid {bool} NOT NULL,
    access {text} NOT NULL,
    created_at {time} NOT NULL,
    PRIMARY KEY (project_id, id)
) {strict};
CREATE UNIQUE INDEX custom_tables_name ON custom_tables (project_id, name);

-- `position`: the order of creation. `default_value`: as the project wrote it.
CREATE TABLE custom_columns (
    project_id {uuid} NOT NULL,
    table_id {uuid} NOT NULL,
    position {int} NOT NULL,
    name {text} NOT NULL,
    data_type {text} NOT NULL,
    nullable {bool} NOT NULL,
    default_value {text},
    indexed {bool} NOT NULL,
    references_id {uuid},
    on_delete {text},
    PRIMARY KEY (project_id, table_id, position),
    FOREIGN KEY (project_id, table_id) REFERENCES custom_tables (project_id, id) ON DELETE CASCADE,
    FOREIGN KEY (project_id, references_id) REFERENCES custom_tables (project_id, id)
) {clustered};
CREATE UNIQUE INDEX custom_columns_name ON custom_columns (project_id, table_id, name);
CREATE INDEX custom_columns_references ON custom_columns (project_id, references_id)
    WHERE references_id IS NOT NULL;
