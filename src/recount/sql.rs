//! The statements over declared counts. A declaration is a macro that hands its counts to one of these:
//!
//! ```text
//! macro_rules! counts {
//!     ($statement:ident) => {
//!         $statement!(in "spaces" where "t.deleted_at IS NULL":
//!             ("members_count" counts "space_members" by "space_id" where "n.status = 'active'")
//!             ("children_count" counts "spaces" by "parent_id" where "n.deleted_at IS NULL"))
//!     };
//! }
//! ```
//!
//! A space's `members_count` is the number of rows `n` of `space_members` with its id in `space_id` that meet the
//! condition. `in "follow_counts" of "users"` declares counts in a table of their own, with a row for each user that
//! has any. Rows of the table that holds the counts are `t`.

/// Pieces of the statements below.
macro_rules! count {
    // All counts that are not zero, as a table with the name of the column.
    (@found ($column:literal counts $counted:literal by $key:literal
        $(where $condition:literal)? $(near $near:literal)?)) => {
        concat!(
            " LEFT JOIN (SELECT n.project_id, n.", $key, " AS id, count(*) AS found FROM ", $counted,
            " n WHERE n.", $key, " IS NOT NULL", $(" AND ", $condition,)?
            " GROUP BY n.project_id, n.", $key, ") ", $column,
            " ON ", $column, ".project_id = t.project_id AND ", $column, ".id = t.id"
        )
    };
    (@differs $stored:literal, ($column:literal $($rest:tt)*)) => {
        concat!(" OR COALESCE(", $stored, ".", $column, ", 0) <> COALESCE(", $column, ".found, 0)")
    };
    // `near` is for the index alone: whatever is counted meets it anyway.
    (@set ($column:literal counts $counted:literal by $key:literal
        $(where $condition:literal)? $(near $near:literal)?)) => {
        concat!(
            $column, " = (SELECT count(*) FROM ", $counted, " n WHERE n.project_id = $1 AND n.",
            $key, " = $2", $(" AND ", $condition,)? $(" AND ", $near,)? ")"
        )
    };
    (@name ($column:literal $($rest:tt)*)) => {
        concat!(", ", $column)
    };
    (@zero $count:tt) => {
        ", 0"
    };
    (@kept $table:literal, ($column:literal $($rest:tt)*)) => {
        concat!($column, " = ", $table, ".", $column)
    };
}
pub(crate) use count;

/// The project and id of every row with a wrong count.
macro_rules! drifted {
    (in $table:literal $(where $condition:literal)?: $($count:tt)+) => {
        concat!(
            "SELECT t.project_id, t.id FROM ", $table, " t",
            $($crate::recount::sql::count!(@found $count),)+
            " WHERE ", $($condition, " AND ",)? "(FALSE",
            $($crate::recount::sql::count!(@differs "t", $count),)+
            ")"
        )
    };
    (in $table:literal of $owners:literal: $($count:tt)+) => {
        concat!(
            "SELECT t.project_id, t.id FROM ", $owners, " t LEFT JOIN ", $table,
            " s ON s.project_id = t.project_id AND s.user_id = t.id",
            $($crate::recount::sql::count!(@found $count),)+
            " WHERE FALSE",
            $($crate::recount::sql::count!(@differs "s", $count),)+
        )
    };
}
pub(crate) use drifted;

/// Locks the row `$2` of the project `$1`, whose counts may be missing.
macro_rules! lock {
    (in $table:literal $(where $condition:literal)?: $($count:tt)+) => {
        concat!("SELECT id FROM ", $table, " WHERE project_id = $1 AND id = $2 {for_update}")
    };
    (in $table:literal of $owners:literal: $first:tt $($count:tt)*) => {
        concat!(
            "INSERT INTO ", $table, " (project_id, user_id",
            $crate::recount::sql::count!(@name $first),
            $($crate::recount::sql::count!(@name $count),)*
            ") VALUES ($1, $2",
            $crate::recount::sql::count!(@zero $first),
            $($crate::recount::sql::count!(@zero $count),)*
            ") ON CONFLICT (project_id, user_id) DO UPDATE SET ",
            $crate::recount::sql::count!(@kept $table, $first)
        )
    };
}
pub(crate) use lock;

/// Counts again for the row `$2` of the project `$1`. What is counted must not change meanwhile: lock first.
macro_rules! recount {
    (in $table:literal $(where $condition:literal)?: $first:tt $($count:tt)*) => {
        concat!(
            "UPDATE ", $table, " AS t SET ",
            $crate::recount::sql::count!(@set $first),
            $(", ", $crate::recount::sql::count!(@set $count),)*
            " WHERE t.project_id = $1 AND t.id = $2"
        )
    };
    (in $table:literal of $owners:literal: $first:tt $($count:tt)*) => {
        concat!(
            "UPDATE ", $table, " AS t SET ",
            $crate::recount::sql::count!(@set $first),
            $(", ", $crate::recount::sql::count!(@set $count),)*
            " WHERE t.project_id = $1 AND t.user_id = $2"
        )
    };
}
pub(crate) use recount;

#[cfg(test)]
mod tests {
    macro_rules! counts {
        ($statement:ident) => {
            $statement!(in "spaces" where "t.deleted_at IS NULL":
                ("members" counts "space_members" by "space_id" where "n.is_active")
                ("children" counts "spaces" by "parent_id"))
        };
    }

    #[test]
    fn check_and_repair_count_the_same() {
        assert_eq!(
            counts!(drifted),
            "SELECT t.project_id, t.id FROM spaces t \
             LEFT JOIN (SELECT n.project_id, n.space_id AS id, count(*) AS found \
             FROM space_members n WHERE n.space_id IS NOT NULL AND n.is_active \
             GROUP BY n.project_id, n.space_id) members \
             ON members.project_id = t.project_id AND members.id = t.id \
             LEFT JOIN (SELECT n.project_id, n.parent_id AS id, count(*) AS found \
             FROM spaces n WHERE n.parent_id IS NOT NULL \
             GROUP BY n.project_id, n.parent_id) children \
             ON children.project_id = t.project_id AND children.id = t.id \
             WHERE t.deleted_at IS NULL AND (FALSE \
             OR COALESCE(t.members, 0) <> COALESCE(members.found, 0) \
             OR COALESCE(t.children, 0) <> COALESCE(children.found, 0))"
        );
        assert_eq!(
            counts!(recount),
            "UPDATE spaces AS t SET \
             members = (SELECT count(*) FROM space_members n \
             WHERE n.project_id = $1 AND n.space_id = $2 AND n.is_active), \
             children = (SELECT count(*) FROM spaces n \
             WHERE n.project_id = $1 AND n.parent_id = $2) \
             WHERE t.project_id = $1 AND t.id = $2"
        );
    }
}
