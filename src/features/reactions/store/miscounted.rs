//! The counts of reactions compared with the reactions, as SQL.

/// The rows of a table whose counts are not those of the reactions to them.
macro_rules! miscounted_reactions {
    ($table:literal) => {
        concat!(
            "SELECT t.project_id, t.id FROM ",
            $table,
            " t LEFT JOIN
                (SELECT project_id, target_id,
                    count(*) FILTER (WHERE reaction_type = 'upvote') AS upvotes,
                    count(*) FILTER (WHERE reaction_type = 'downvote') AS downvotes,
                    count(*) FILTER (WHERE reaction_type = 'like') AS likes,
                    count(*) FILTER (WHERE reaction_type = 'love') AS loves,
                    count(*) FILTER (WHERE reaction_type = 'wow') AS wows,
                    count(*) FILTER (WHERE reaction_type = 'sad') AS sads,
                    count(*) FILTER (WHERE reaction_type = 'angry') AS angries,
                    count(*) FILTER (WHERE reaction_type = 'funny') AS funnies
                 FROM reactions GROUP BY project_id, target_id) r
                ON r.project_id = t.project_id AND r.target_id = t.id
             WHERE t.deleted_at IS NULL AND (t.upvote_count <> COALESCE(r.upvotes, 0)
                OR t.downvote_count <> COALESCE(r.downvotes, 0)
                OR t.like_count <> COALESCE(r.likes, 0) OR t.love_count <> COALESCE(r.loves, 0)
                OR t.wow_count <> COALESCE(r.wows, 0) OR t.sad_count <> COALESCE(r.sads, 0)
                OR t.angry_count <> COALESCE(r.angries, 0)
                OR t.funny_count <> COALESCE(r.funnies, 0))"
        )
    };
}
pub(crate) use miscounted_reactions;
