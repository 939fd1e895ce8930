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
