//! The statements over the rows of one table.

use db::{Builder, Value};

use super::Dialect;
use crate::features::tables::model::{Column, DELETED_AT, ID, Table, UPDATED_AT};

impl Dialect {
    /// So many rows, an argument for each column of the table.
    pub fn insert(self, table: &Table, rows: usize) -> String {
        let (name, width) = (self.table(table.project, &table.name), table.columns.len());
        let names: Vec<String> =
            table.columns.iter().map(|column| self.column(&column.name)).collect();
        let row = |row: usize| {
            let columns = (row * width + 1..).zip(&table.columns);
            let values: Vec<String> =
                columns.map(|(number, column)| self.argument(column, number)).collect();
            format!("({})", values.join(", "))
        };
        let rows: Vec<String> = (0..rows).map(row).collect();
        format!("INSERT INTO {name} ({}) VALUES {}", names.join(", "), rows.join(", "))
    }

    /// A row by its id, `$1`, unless it is soft-deleted.
    pub fn find(self, table: &Table) -> String {
        let (columns, name) = (self.all_shown(table), self.table(table.project, &table.name));
        format!("SELECT {columns} FROM {name} WHERE {}", self.is_live(table))
    }

    /// Sets columns of the row `$1` to `$2` and so on; the update time comes last.
    pub fn update(self, table: &Table, columns: &[&Column]) -> String {
        let changed = columns.iter().copied().chain(table.column(UPDATED_AT));
        let changes: Vec<String> = changed
            .enumerate()
            .map(|(at, column)| {
                format!("{} = {}", self.column(&column.name), self.argument(column, at + 2))
            })
            .collect();
        let (name, shown) = (self.table(table.project, &table.name), self.all_shown(table));
        let live = self.is_live(table);
        format!("UPDATE {name} SET {} WHERE {live} RETURNING {shown}", changes.join(", "))
    }

    /// Restores the soft-deleted row `$1`, at the time `$2`.
    pub fn restore(self, table: &Table) -> String {
        let (name, shown) = (self.table(table.project, &table.name), self.all_shown(table));
        let (id, deleted_at, updated_at) =
            (self.column(ID), self.column(DELETED_AT), self.column(UPDATED_AT));
        format!(
            "UPDATE {name} SET {deleted_at} = NULL, {updated_at} = $2
             WHERE {id} = $1 AND {deleted_at} IS NOT NULL RETURNING {shown}"
        )
    }

    /// Deletes the rows that match the conditions: for good, or softly at a given time.
    pub fn delete(
        self,
        table: &Table,
        conditions: &mut Builder<'static>,
        at: Option<Value<'static>>,
    ) -> String {
        let name = self.table(table.project, &table.name);
        let Some(at) = at else {
            return format!("DELETE FROM {name} WHERE {conditions}");
        };
        let now = conditions.bind(at);
        let (deleted_at, updated_at) = (self.column(DELETED_AT), self.column(UPDATED_AT));
        format!("UPDATE {name} SET {deleted_at} = {now}, {updated_at} = {now} WHERE {conditions}")
    }

    fn is_live(self, table: &Table) -> String {
        let id = format!("{} = $1", self.column(ID));
        if table.paranoid { format!("{id} AND {} IS NULL", self.column(DELETED_AT)) } else { id }
    }

    pub fn count(self, table: &Table, conditions: &Builder<'_>) -> String {
        let name = self.table(table.project, &table.name);
        format!("SELECT count(*) FROM {name} WHERE {conditions}")
    }

    pub fn page(
        self,
        table: &Table,
        conditions: &mut Builder<'static>,
        order: &str,
        (limit, offset): (i64, i64),
        is_sorted: bool,
    ) -> String {
        let (columns, name) = (self.all_shown(table), self.table(table.project, &table.name));
        let (limit, offset) = (conditions.bind(limit), conditions.bind(offset));
        if is_sorted {
            return format!(
                "SELECT {columns} FROM {name} listed WHERE {conditions}
                 ORDER BY {order} LIMIT {limit} OFFSET {offset}"
            );
        }
        // Sorts only the sort columns and ids: whole rows may be too large.
        let id = self.column(ID);
        format!(
            "SELECT {columns} FROM {name} listed WHERE {id} IN (SELECT {id} FROM {name} listed
                WHERE {conditions} ORDER BY {order} LIMIT {limit} OFFSET {offset}) ORDER BY {order}"
        )
    }

    /// The ids of the oldest rows that match the conditions.
    pub fn oldest(self, table: &Table, conditions: &mut Builder<'static>, most: i64) -> String {
        let (id, name) = (self.column(ID), self.table(table.project, &table.name));
        let most = conditions.bind(most);
        let order = self.order(table, None, Some(super::conditions::Way::Rising));
        format!("SELECT {id} FROM {name} listed WHERE {conditions} ORDER BY {order} LIMIT {most}")
    }
}
