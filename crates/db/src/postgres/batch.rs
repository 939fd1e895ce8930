//! Commands that are sent as one statement: each becomes a part of its WITH clause, which the server always
//! executes. The fixed cost of a statement is then paid once.

use std::cell::{Cell, RefCell};

use crate::{Value, dialect};

use super::sending::Take;

/// Maximum parts of one statement, to limit the number of different ones.
const MAX_PARTS: usize = 8;

type Command = (&'static str, String, Vec<Value<'static>>);

/// A statement to send, and what takes its rows.
pub(super) struct Outgoing {
    pub(super) name: &'static str,
    pub(super) sql: String,
    pub(super) args: Vec<Value<'static>>,
    pub(super) take: Option<Take>,
}

#[derive(Default)]
pub(super) struct Batch {
    /// Nesting depth of open batches.
    asked: Cell<u32>,
    commands: RefCell<Vec<Command>>,
    /// The statement whose rows are needed later; the commands become its WITH clause.
    main: RefCell<Option<Outgoing>>,
}

/// Whether the text can follow a WITH clause: not if it has one of its own.
pub(super) fn can_be_last(sql: &str) -> bool {
    sql.trim_start().get(..4).is_none_or(|word| !word.eq_ignore_ascii_case("with"))
}

impl Batch {
    pub(super) fn open(&self) {
        self.asked.set(self.asked.get() + 1);
    }

    /// Whether that was the outermost batch.
    pub(super) fn close(&self) -> bool {
        self.asked.set(self.asked.get().saturating_sub(1));
        self.asked.get() == 0
    }

    pub(super) fn clear(&self) {
        self.asked.set(0);
        self.commands.borrow_mut().clear();
        self.main.take();
    }

    /// Makes it the statement whose rows the batch returns, or gives it back if no batch is open, the batch has one
    /// already, or its text cannot be the last.
    pub(super) fn lead(&self, outgoing: Outgoing) -> Option<Outgoing> {
        if self.asked.get() == 0 || self.has_main() || !can_be_last(&outgoing.sql) {
            return Some(outgoing);
        }
        self.main.replace(Some(outgoing));
        None
    }

    pub(super) fn has_main(&self) -> bool {
        self.main.borrow().is_some()
    }

    pub(super) fn is_full(&self) -> bool {
        self.commands.borrow().len() >= MAX_PARTS
    }

    /// Adds the command, or returns its arguments if no batch is open.
    pub(super) fn take_in(
        &self,
        name: &'static str,
        sql: &str,
        args: Vec<Value<'static>>,
    ) -> Option<Vec<Value<'static>>> {
        if self.asked.get() == 0 {
            return Some(args);
        }
        self.commands.borrow_mut().push((name, sql.to_owned(), args));
        None
    }

    /// The whole batch as one statement.
    pub(super) fn all(&self) -> Option<Outgoing> {
        if let Some(main) = self.main.take() {
            return Some(match self.joined(&main.sql, &main.args) {
                Some((sql, args)) => Outgoing { sql, args, ..main },
                None => main,
            });
        }
        let name = self.commands.borrow().first()?.0;
        let (sql, args) = if self.commands.borrow().len() == 1 {
            let (_, sql, args) = self.commands.borrow_mut().pop()?;
            (sql, args)
        } else {
            self.joined("SELECT 1", &[])?
        };
        Some(Outgoing { name, sql, args, take: None })
    }

    /// The whole batch as one statement with this last one, whose rows it returns.
    pub(super) fn joined(
        &self,
        last: &str,
        last_args: &[Value<'_>],
    ) -> Option<(String, Vec<Value<'static>>)> {
        let commands = self.commands.take();
        if commands.is_empty() {
            return None;
        }
        let (mut sql, mut args) = (String::new(), Vec::new());
        for (number, (_, text, its_args)) in commands.into_iter().enumerate() {
            sql += if number == 0 { "WITH " } else { ", " };
            sql += &format!("part_{number} AS ({})", dialect::renumbered(&text, args.len()));
            args.extend(its_args);
        }
        sql.push(' ');
        sql += &dialect::renumbered(last, args.len());
        args.extend(last_args.iter().cloned().map(Value::into_owned));
        Some((sql, args))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_of_each_part_are_its_own() {
        let gathered = Batch::default();
        assert!(gathered.take_in("a", "DELETE FROM a WHERE b = $1", vec![1.into()]).is_some());
        gathered.open();
        gathered.take_in("a", "DELETE FROM a WHERE b = $1 OR c = '$1'", vec![1.into()]);
        gathered.take_in("b", "DELETE FROM b WHERE c = $2 AND d = $1", vec![2.into(), 3.into()]);
        let (sql, args) = gathered.joined("SELECT $1", &[4.into()]).unwrap();
        assert_eq!(
            sql,
            "WITH part_0 AS (DELETE FROM a WHERE b = $1 OR c = '$1'), \
             part_1 AS (DELETE FROM b WHERE c = $3 AND d = $2) SELECT $4"
        );
        assert_eq!(args, [1.into(), 2.into(), 3.into(), 4.into()]);
        assert!(gathered.joined("SELECT 1", &[]).is_none());
    }

    #[test]
    fn commands_before_and_after_the_main_statement_are_parts_of_it() {
        let main = || Outgoing {
            name: "main",
            sql: "SELECT $1".to_owned(),
            args: vec![1.into()],
            take: None,
        };
        let batch = Batch::default();
        assert!(batch.lead(main()).is_some());
        batch.open();
        batch.take_in("a", "DELETE FROM a WHERE b = $1", vec![2.into()]);
        assert!(batch.lead(main()).is_none() && batch.lead(main()).is_some());
        batch.take_in("b", "DELETE FROM b", Vec::new());
        let Outgoing { name, sql, args, .. } = batch.all().unwrap();
        let expected =
            "WITH part_0 AS (DELETE FROM a WHERE b = $1), part_1 AS (DELETE FROM b) SELECT $2";
        assert_eq!((name, sql.as_str()), ("main", expected));
        assert_eq!(args, [2.into(), 1.into()]);
        assert!(batch.all().is_none());
    }

    #[test]
    fn a_text_with_a_clause_of_its_own_is_not_the_last() {
        assert!(can_be_last("UPDATE a SET b = 1"));
        assert!(can_be_last("x"));
        assert!(!can_be_last("\n  with a AS (SELECT 1) SELECT 2"));
    }
}
