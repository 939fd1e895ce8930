-- A list by a rare keyword looks up each entity that has it, to sort them. All that this needs stands in this index: one lookup in
-- place of two.
CREATE INDEX entities_ranks ON entities (project_id, id, is_listed, space_id, user_id, created_at, score, upvote_count, downvote_count, like_count, love_count, wow_count, sad_count, angry_count, funny_count);
