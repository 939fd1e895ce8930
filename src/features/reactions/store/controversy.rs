//! The controversy score of votes as SQL, for sorting entities and comments.

/// The controversy of votes, from expressions for upvotes and downvotes. None without votes.
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

/// As for entities, but negative without votes: these sort last on both engines.
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
