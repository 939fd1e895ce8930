//! The controversy score of votes as SQL, for sorting entities and comments.

/// How divided the voters are, from expressions for the votes up and down. None without votes.
macro_rules! controversy {
    ($up:literal, $down:literal) => {
        concat!(
            "CASE WHEN ",
            $up,
            " + ",
            $down,
            " > 0 THEN
                log10(CAST(",
            $up,
            " + ",
            $down,
            " + 1 AS {real}))
                * {least}(",
            $up,
            ", ",
            $down,
            ") / {greatest}(",
            $up,
            ", ",
            $down,
            ") END"
        )
    };
}
pub(crate) use controversy;

/// As for entities, but below zero without votes: these sort last on both engines.
macro_rules! comment_controversy {
    ($up:literal, $down:literal) => {
        concat!(
            "COALESCE(",
            crate::features::reactions::store::controversy::controversy!($up, $down),
            ", -1)"
        )
    };
}
pub(crate) use comment_controversy;
