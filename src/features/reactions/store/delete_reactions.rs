//! Reactions when their user is deleted: they are deleted and no longer counted. Points that authors earned
//! by them stay.

use db::{Tx, args};

use crate::error::Result;
use crate::features::reactions::each_reaction;
use crate::features::reactions::store::controversy::comment_controversy;
use crate::features::reactions::store::controversy::controversy;
use crate::values::ids::{ProjectId, UserId};

/// A count without the user's reaction `r`, or the assignment of it.
macro_rules! less {
    ($kind:literal) => {
        concat!($kind, "_count - CASE r.reaction_type WHEN '", $kind, "' THEN 1 ELSE 0 END")
    };
    ($kind:literal, "set") => {
        concat!($kind, "_count = ", less!($kind))
    };
}

/// Subtracts the user's reactions from the counts of a table; `rest` sets the columns computed from them.
macro_rules! uncount {
    ($table:literal, $($rest:expr),+) => {
        concat!(
            "UPDATE ", $table, " SET ",
            each_reaction!(", ", less, "set"),
            ", ",
            $($rest,)+
            " FROM reactions r
             WHERE ", $table, ".project_id = $1 AND ", $table, ".id = r.target_id
                AND r.project_id = $1 AND r.user_id = $2"
        )
    };
}

db::statements! {
    command UNCOUNT = uncount!(
        "entities",
        "controversy = ",
        controversy!(
            concat!("(", less!("upvote"), ")"),
            concat!("(", less!("downvote"), ")")
        )
    );
    command UNCOUNT_ON_COMMENTS = uncount!(
        "comments",
        "balance = balance - CASE r.reaction_type WHEN 'upvote' THEN 1 WHEN 'downvote' THEN -1
            ELSE 0 END, controversy = ",
        comment_controversy!(
            concat!("(", less!("upvote"), ")"),
            concat!("(", less!("downvote"), ")")
        )
    );
    command DELETE = "DELETE FROM reactions WHERE project_id = $1 AND user_id = $2";
}

/// Deletes every reaction of the user. The caller has locked the user, so that none is added meanwhile.
pub fn delete_of_user(tx: &Tx<'_>, project: ProjectId, user: UserId) -> Result<()> {
    tx.pipeline(&UNCOUNT, args![project, user])?;
    tx.pipeline(&UNCOUNT_ON_COMMENTS, args![project, user])?;
    tx.pipeline(&DELETE, args![project, user])?;
    Ok(())
}
