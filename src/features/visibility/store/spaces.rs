//! Who may read a space, as SQL.

/// SQL: the user given as an argument may read the space `s`.
macro_rules! member_opens {
    ($member:literal) => {
        concat!(
            "CASE (SELECT m.status FROM space_members m
                WHERE m.project_id = $1 AND m.space_id = s.id AND m.user_id = ",
            $member,
            ")
             WHEN 'active' THEN s.deleted_at IS NULL WHEN 'banned' THEN FALSE ELSE s.is_open END"
        )
    };
}
pub(crate) use member_opens;
