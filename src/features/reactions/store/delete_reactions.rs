//! Reactions when their user is deleted: they are deleted and no longer counted. Points that authors earned
//! by them stay.

use db::{Tx, args};

use crate::error::Result;
use crate::features::reactions::store::controversy::comment_controversy;
use crate::features::reactions::store::controversy::controversy;
use crate::values::ids::{ProjectId, UserId};

/// Subtracts the user's reactions from the counts of a table; `rest` sets the columns computed from them.
macro_rules! uncount {
    ($table:literal, $($rest:expr),+) => {
        concat!(
            "UPDATE ", $table, " SET
                upvote_count = upvote_count - CASE r.reaction_type WHEN 'upvote' THEN 1 ELSE 0 END,
                downvote_count =
                    downvote_count - CASE r.reaction_type WHEN 'downvote' THEN 1 ELSE 0 END,
                like_count = like_count - CASE r.reaction_type WHEN 'like' THEN 1 ELSE 0 END,
                love_count = love_count - CASE r.reaction_type WHEN 'love' THEN 1 ELSE 0 END,
                wow_count = wow_count - CASE r.reaction_type WHEN 'wow' THEN 1 ELSE 0 END,
                sad_count = sad_count - CASE r.reaction_type WHEN 'sad' THEN 1 ELSE 0 END,
                angry_count = angry_count - CASE r.reaction_type WHEN 'angry' THEN 1 ELSE 0 END,
                funny_count = funny_count - CASE r.reaction_type WHEN 'funny' THEN 1 ELSE 0 END,
                ",
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
            "(upvote_count - CASE r.reaction_type WHEN 'upvote' THEN 1 ELSE 0 END)",
            "(downvote_count - CASE r.reaction_type WHEN 'downvote' THEN 1 ELSE 0 END)"
        )
    );
    command UNCOUNT_ON_COMMENTS = uncount!(
        "comments",
        "balance = balance - CASE r.reaction_type WHEN 'upvote' THEN 1 WHEN 'downvote' THEN -1
            ELSE 0 END, controversy = ",
        comment_controversy!(
            "(upvote_count - CASE r.reaction_type WHEN 'upvote' THEN 1 ELSE 0 END)",
            "(downvote_count - CASE r.reaction_type WHEN 'downvote' THEN 1 ELSE 0 END)"
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
