//! SQL that is put together at run time: a list of conditions or of rows, and the values it binds.
//! Values are never part of the text, so the text depends only on which pieces were added: each shape of a
//! request gives one text, whose prepared statement is reused.

use std::fmt::{self, Display, Write};

use crate::Value;

/// Most lists fit without growing.
const TEXT_CAPACITY: usize = 256;
const ARGS_CAPACITY: usize = 16;

/// Pieces of SQL between equal separators, and the arguments of the statement they become part of.
/// Write it into the statement with `{}`:
///
/// ```
/// # use db::{Builder, Query};
/// # let (project, role) = (1_i64, Some("admin"));
/// let mut conditions = Builder::all([project.into()]);
/// conditions.add("m.project_id = $1");
/// if let Some(role) = role {
///     conditions.equal("m.role", role);
/// }
/// let count = format!("SELECT count(*) FROM members m WHERE {conditions}");
/// let limit = conditions.bind(20_i64);
/// let page = format!("SELECT m.id FROM members m WHERE {conditions} ORDER BY m.id LIMIT {limit}");
/// # assert_eq!(count, "SELECT count(*) FROM members m WHERE m.project_id = $1 AND m.role = $2");
/// # assert!(page.ends_with(" AND m.role = $2 ORDER BY m.id LIMIT $3"));
/// let query = Query::<i64>::built("members::page", page);
/// // c.all(&query, conditions.args())
/// ```
#[derive(Debug, Clone)]
pub struct Builder<'a> {
    list: List,
    text: String,
    args: Vec<Value<'a>>,
}

/// How the pieces are joined.
#[derive(Debug, Clone, Copy)]
enum List {
    All,
    Any,
    Comma,
}

impl List {
    const fn separator(self) -> &'static str {
        match self {
            List::All => " AND ",
            List::Any => " OR ",
            List::Comma => ", ",
        }
    }

    /// What a list without pieces means.
    const fn empty(self) -> &'static str {
        match self {
            List::All => "TRUE",
            List::Any => "FALSE",
            List::Comma => "",
        }
    }
}

impl<'a> Builder<'a> {
    /// Conditions that must all hold. `args` are the first arguments, which pieces call `$1`, `$2` and so on.
    pub fn all(args: impl IntoIterator<Item = Value<'a>>) -> Self {
        Builder::new(List::All, args)
    }

    /// Conditions of which one must hold.
    pub fn any(args: impl IntoIterator<Item = Value<'a>>) -> Self {
        Builder::new(List::Any, args)
    }

    /// Rows or columns between commas.
    pub fn list(args: impl IntoIterator<Item = Value<'a>>) -> Self {
        Builder::new(List::Comma, args)
    }

    fn new(list: List, first: impl IntoIterator<Item = Value<'a>>) -> Self {
        let mut args = Vec::with_capacity(ARGS_CAPACITY);
        args.extend(first);
        Builder { list, text: String::with_capacity(TEXT_CAPACITY), args }
    }

    /// Binds one value; the placeholder is for a piece, or for the rest of the statement.
    pub fn bind(&mut self, value: impl Into<Value<'a>>) -> Placeholder {
        self.args.push(value.into());
        Placeholder(self.args.len())
    }

    /// Binds values in order, as `$3, $4, $5`.
    pub fn bind_all(&mut self, values: impl IntoIterator<Item = Value<'a>>) -> Placeholders {
        let first = self.args.len() + 1;
        self.args.extend(values);
        Placeholders { first, last: self.args.len() }
    }

    /// Adds a piece, after the separator unless it is the first. Values must be bound, and names must be the
    /// program's own or checked.
    pub fn add(&mut self, piece: impl Display) {
        if !self.text.is_empty() {
            self.text.push_str(self.list.separator());
        }
        // Writing to a `String` does not fail.
        write!(self.text, "{piece}").unwrap_or_default();
    }

    /// Adds `column = $n`.
    pub fn equal(&mut self, column: &str, value: impl Into<Value<'a>>) {
        let value = self.bind(value);
        self.add(format_args!("{column} = {value}"));
    }

    /// Every argument bound so far.
    pub fn args(&self) -> &[Value<'a>] {
        &self.args
    }

    pub fn is_empty(&self) -> bool {
        self.text.is_empty()
    }
}

impl Display for Builder<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.is_empty() { self.list.empty() } else { &self.text })
    }
}

/// `$n`, the place of one argument.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Placeholder(usize);

impl Placeholder {
    /// Counted from 1.
    pub fn number(self) -> usize {
        self.0
    }
}

impl Display for Placeholder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "${}", self.0)
    }
}

/// `$n, $m`, the places of arguments in a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Placeholders {
    first: usize,
    last: usize,
}

impl Display for Placeholders {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for number in self.first..=self.last {
            let separator = if number == self.first { "" } else { ", " };
            write!(f, "{separator}${number}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_numbered_in_the_order_of_binding() {
        let mut conditions = Builder::all([Value::Int(7), Value::Int(8)]);
        conditions.add("a = $1 AND b = $2");
        let later = conditions.bind("late");
        conditions.equal("c", 9_i64);
        conditions.add(format_args!("d < {later}"));
        assert_eq!(conditions.to_string(), "a = $1 AND b = $2 AND c = $4 AND d < $3");
        let expected = [Value::Int(7), Value::Int(8), "late".into(), Value::Int(9)];
        assert_eq!(conditions.args(), expected);
        assert_eq!(later.number(), 3);
    }

    #[test]
    fn rows_are_bound_as_ranges() {
        let mut rows = Builder::list([Value::Bool(true)]);
        for n in [1_i64, 2] {
            let values = rows.bind_all([n.into(), Value::Null, (10 * n).into()]);
            rows.add(format_args!("($1, {values})"));
        }
        assert_eq!(rows.to_string(), "($1, $2, $3, $4), ($1, $5, $6, $7)");
        assert_eq!(rows.args().len(), 7);
        assert_eq!(rows.bind_all([]).to_string(), "");
    }

    #[test]
    fn alternatives_are_joined_by_or() {
        let mut any = Builder::any([]);
        any.equal("a", 1_i64);
        any.equal("a", 2_i64);
        assert_eq!(any.to_string(), "a = $1 OR a = $2");
    }

    #[test]
    fn empty_lists_mean_what_they_say() {
        let empty = [Builder::all([]), Builder::any([]), Builder::list([])];
        assert!(empty.iter().all(Builder::is_empty));
        assert_eq!(empty.map(|list| list.to_string()), ["TRUE", "FALSE", ""]);
    }

    #[test]
    fn values_never_change_the_text() {
        let text = |part: &'static str| {
            let mut conditions = Builder::all([]);
            conditions.equal("name", part);
            conditions.to_string()
        };
        assert_eq!(text("x"), text("'; DROP TABLE notes; --"));
    }
}
