//! How controversial votes are, as SQL: what entities and comments are sorted by.

/// How divided the voters are, from expressions for the votes up and down. None without votes.
macro_rules! controversy {
    ($up:expr, $down:expr) => {
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
    ($up:expr, $down:expr) => {
        concat!(
            "COALESCE(",
            crate::features::reactions::store::controversy::controversy!($up, $down),
            ", -1)"
        )
    };
}
pub(crate) use comment_controversy;
