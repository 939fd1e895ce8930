-- Collections: a tree for each user, and the entities saved in each of its nodes.

-- `depth`: 0 for the root. `entity_count`: rows of `collection_entities`, changed with them.
CREATE TABLE collections (
    project_id {uuid} NOT NULL,
    id {uuid} NOT NULL,
    user_id {uuid} NOT NULL,
    parent_id {uuid},
    is_root {bool} NOT NULL,
    name {text} NOT NULL,
    depth {int} NOT NULL,
    entity_count {int} NOT NULL,
    created_at {time} NOT NULL,
    updated_at {time} NOT NULL,
    PRIMARY KEY (project_id, id),
    FOREIGN KEY (project_id, user_id) REFERENCES users (project_id, id) ON DELETE CASCADE,
    -- No action: whoever deletes one deletes what is below it, all at once.
    FOREIGN KEY (project_id, parent_id) REFERENCES collections (project_id, id)
) {strict};
CREATE UNIQUE INDEX collections_root ON collections (project_id, user_id) WHERE is_root;
CREATE UNIQUE INDEX collections_name ON collections (project_id, parent_id, name);
CREATE INDEX collections_children ON collections (project_id, parent_id, created_at, id);
CREATE INDEX collections_user ON collections (project_id, user_id, depth, id);

CREATE TABLE collection_entities (
    project_id {uuid} NOT NULL,
    collection_id {uuid} NOT NULL,
    entity_id {uuid} NOT NULL,
    id {uuid} NOT NULL,
    user_id {uuid} NOT NULL,
    created_at {time} NOT NULL,
    PRIMARY KEY (project_id, collection_id, entity_id),
    FOREIGN KEY (project_id, collection_id) REFERENCES collections (project_id, id) ON DELETE CASCADE,
    -- No action: whoever deletes an entity first takes it out of the collections, which count it.
    FOREIGN KEY (project_id, entity_id) REFERENCES entities (project_id, id)
) {clustered};
CREATE INDEX collection_entities_added
    ON collection_entities (project_id, collection_id, created_at DESC, id DESC);
CREATE INDEX collection_entities_entity ON collection_entities (project_id, entity_id, user_id);
