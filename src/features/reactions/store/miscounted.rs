//! The counts of reactions compared with the reactions, as SQL.

/// The rows of a table whose counts are not those of the reactions to them.
macro_rules! miscounted_reactions {
    ($table:literal) => {
        concat!(
            "SELECT t.project_id, t.id FROM ",
            $table,
            " t LEFT JOIN (SELECT project_id, target_id, ",
            $crate::features::reactions::each_reaction!(", ", miscounted_reactions, "found"),
            " FROM reactions GROUP BY project_id, target_id) r
                ON r.project_id = t.project_id AND r.target_id = t.id
             WHERE t.deleted_at IS NULL AND (",
            $crate::features::reactions::each_reaction!(" OR ", miscounted_reactions, "differs"),
            ")"
        )
    };
    ($kind:literal, "found") => {
        concat!("count(*) FILTER (WHERE reaction_type = '", $kind, "') AS ", $kind, "_found")
    };
    ($kind:literal, "differs") => {
        concat!("t.", $kind, "_count <> COALESCE(r.", $kind, "_found, 0)")
    };
}
pub(crate) use miscounted_reactions;
