//! The trigram index for user search: every three consecutive letters of username and name, in lower case.
//! Updated in the transaction that writes the names.

use db::{Builder, Command, Conn, Query, Tx, args};

use crate::error::Result;
use crate::features::users::store::UserRow;
use crate::values::ids::{ProjectId, UserId};

/// Up to this many users are always cheap to check.
pub const FEW: i64 = 2000;
const LENGTH: usize = 3;
/// Only some trigrams of a long text are tried: the first rare one is good enough.
const MAX_TRIED: usize = 8;

/// The trigrams of a text, sorted and unique.
pub fn of(text: &str) -> Vec<String> {
    let letters: Vec<char> = text.to_lowercase().chars().collect();
    let mut grams: Vec<String> =
        letters.windows(LENGTH).map(|letters| letters.iter().collect()).collect();
    grams.sort_unstable();
    grams.dedup();
    grams
}

fn of_names(username: Option<&str>, name: Option<&str>) -> Vec<String> {
    let mut grams: Vec<String> = [username, name].into_iter().flatten().flat_map(of).collect();
    grams.sort_unstable();
    grams.dedup();
    grams
}

/// The trigram of the search text that the fewest users have: all matches are among them.
pub fn rarest(c: &Conn<'_>, project: ProjectId, part: &str) -> Result<Option<String>> {
    let text = format!(
        "SELECT count(*) FROM (SELECT 1 FROM user_grams g
            WHERE g.project_id = $1 AND g.gram = $2 LIMIT {FEW}) AS few"
    );
    let count_few = Query::<i64>::built("users::trigrams::count_few", text);
    let mut rarest = (FEW, None);
    for gram in of(part).into_iter().take(MAX_TRIED) {
        let count = c.one(&count_few, args![project, &gram])?;
        if count < rarest.0 {
            rarest = (count, Some(gram));
        }
    }
    Ok(rarest.1)
}

/// For a new user.
pub fn insert(tx: &Tx<'_>, project: ProjectId, user: &UserRow) -> Result<()> {
    add(tx, project, user.id, &of_names(user.username.as_deref(), user.name.as_deref()))
}

/// For a user who had these names before.
pub fn replace(
    tx: &Tx<'_>,
    project: ProjectId,
    user: &UserRow,
    (username, name): (Option<String>, Option<String>),
) -> Result<()> {
    if (&username, &name) == (&user.username, &user.name) {
        return Ok(());
    }
    let old = of_names(username.as_deref(), name.as_deref());
    let new = of_names(user.username.as_deref(), user.name.as_deref());
    let (gone, come): (Vec<String>, Vec<String>) = (
        old.iter().filter(|gram| !new.contains(gram)).cloned().collect(),
        new.iter().filter(|gram| !old.contains(gram)).cloned().collect(),
    );
    take(tx, project, user.id, &gone)?;
    add(tx, project, user.id, &come)
}

/// For a deleted user.
pub fn forget(tx: &Tx<'_>, project: ProjectId, user: &UserRow) -> Result<()> {
    take(tx, project, user.id, &of_names(user.username.as_deref(), user.name.as_deref()))
}

fn add(tx: &Tx<'_>, project: ProjectId, user: UserId, grams: &[String]) -> Result<()> {
    if grams.is_empty() {
        return Ok(());
    }
    let mut rows = Builder::list([project.into(), user.into()]);
    for gram in grams {
        let gram = rows.bind(gram);
        rows.add(format_args!("($1, {gram}, $2)"));
    }
    let text = format!(
        "INSERT INTO user_grams (project_id, gram, user_id) VALUES {rows} ON CONFLICT DO NOTHING"
    );
    let insert = Command::<()>::built("users::trigrams::add", text);
    Ok(tx.pipeline(&insert, rows.args())?)
}

fn take(tx: &Tx<'_>, project: ProjectId, user: UserId, grams: &[String]) -> Result<()> {
    if grams.is_empty() {
        return Ok(());
    }
    let mut conditions = Builder::all([project.into(), user.into()]);
    let grams = conditions.bind_all(grams.iter().map(Into::into));
    conditions.add(format_args!("project_id = $1 AND user_id = $2 AND gram IN ({grams})"));
    let delete = format!("DELETE FROM user_grams WHERE {conditions}");
    Ok(tx.pipeline(&Command::built("users::trigrams::take", delete), conditions.args())?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn grams_are_three_letters_in_lower_case() {
        assert_eq!(of("Ámélie"), ["lie", "mél", "ámé", "éli"]);
        assert_eq!(of("aaaa"), ["aaa"]);
        assert!(of("ab").is_empty());
        assert_eq!(of_names(Some("anna"), Some("Anna B")), ["a b", "ann", "na ", "nna"]);
    }
}
