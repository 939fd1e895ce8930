-- Most comments have no votes. They are in no index by votes: lists show them by age instead.
DROP INDEX comments_best;
CREATE INDEX comments_best ON comments (project_id, entity_id, upvote_count DESC, created_at, id)
    WHERE deleted_at IS NULL AND user_deleted_at IS NULL AND parent_deleted_at IS NULL AND upvote_count > 0;
DROP INDEX comments_entity_top;
CREATE INDEX comments_entity_top ON comments
    (project_id, entity_id, balance DESC, upvote_count DESC, created_at DESC, id DESC)
    WHERE deleted_at IS NULL AND upvote_count + downvote_count > 0;
DROP INDEX comments_thread_top;
CREATE INDEX comments_thread_top ON comments
    (project_id, thread_id, balance DESC, upvote_count DESC, created_at DESC, id DESC)
    WHERE deleted_at IS NULL AND upvote_count + downvote_count > 0;
DROP INDEX comments_entity_controversial;
CREATE INDEX comments_entity_controversial ON comments
    (project_id, entity_id, controversy DESC, created_at DESC, id DESC)
    WHERE deleted_at IS NULL AND controversy >= 0;
DROP INDEX comments_thread_controversial;
CREATE INDEX comments_thread_controversial ON comments
    (project_id, thread_id, controversy DESC, created_at DESC, id DESC)
    WHERE deleted_at IS NULL AND controversy >= 0;

-- Deep pages skip rows without reading the entities: the space says whether a reader may see one.
DROP INDEX entities_new;
CREATE INDEX entities_new ON entities (project_id, created_at DESC, id DESC, space_id, is_listed) WHERE is_listed;
DROP INDEX entities_hot;
CREATE INDEX entities_hot ON entities (project_id, score DESC, created_at DESC, id DESC, space_id, is_listed) WHERE is_listed;
