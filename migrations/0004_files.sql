-- Stored files. The bytes are objects in the directory of `path`, which holds nothing else. There is
-- no foreign key to what a file is attached to: whoever deletes that deletes the rows by hand, and
-- leaves a job that removes the bytes.

CREATE TABLE files (
    project_id {uuid} NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
    id {uuid} NOT NULL,
    user_id {uuid},
    entity_id {uuid},
    comment_id {uuid},
    chat_message_id {uuid},
    space_id {uuid},
    event_id {uuid},
    path {text} NOT NULL,
    size {int} NOT NULL,
    mime {text} NOT NULL,
    position {int} NOT NULL,
    metadata {document} NOT NULL,
    image {document},
    created_at {time} NOT NULL,
    updated_at {time} NOT NULL,
    PRIMARY KEY (project_id, id)
) {strict};
CREATE INDEX files_user ON files (project_id, user_id) WHERE user_id IS NOT NULL;
CREATE INDEX files_entity ON files (project_id, entity_id, position, id) WHERE entity_id IS NOT NULL;
CREATE INDEX files_comment ON files (project_id, comment_id, position, id) WHERE comment_id IS NOT NULL;
CREATE INDEX files_chat_message ON files (project_id, chat_message_id, position, id)
    WHERE chat_message_id IS NOT NULL;
CREATE INDEX files_space ON files (project_id, space_id, position, id) WHERE space_id IS NOT NULL;
CREATE INDEX files_event ON files (project_id, event_id, position, id) WHERE event_id IS NOT NULL;

-- The avatar's own path while it is an uploaded file; its address is signed anew for every reply.
ALTER TABLE users ADD COLUMN avatar_path {text};
