-- The order of `top` in version 6: most votes in balance first. Entities without votes follow by age.
CREATE INDEX entities_balance ON entities
    (project_id, (upvote_count - downvote_count) DESC, upvote_count DESC, created_at DESC, id DESC)
    WHERE is_listed AND upvote_count + downvote_count > 0;
