//! Filters and orders as SQL: which rows a statement is about, and in which order they come.

use db::{Builder, Engine, Value};

use super::Dialect;
use super::ddl::INDEXED_CHARACTERS;
use crate::features::tables::model::{CREATED_AT, Column, DELETED_AT, DataType, ID, Table};
use crate::features::tables::rows::filters::{Filter, Test};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    Rising,
    Falling,
}

/// Whether all of a text is in an index.
fn is_short(value: &Value<'_>) -> bool {
    matches!(value, Value::Text(text) if text.chars().count() < INDEXED_CHARACTERS)
}

impl Dialect {
    /// What the filters ask for, of all rows or of those that are not soft-deleted.
    pub fn conditions(
        self,
        table: &Table,
        filters: &[Filter],
        with_deleted: bool,
    ) -> Builder<'static> {
        let mut conditions = Builder::all([]);
        if table.paranoid && !with_deleted {
            // With the plus SQLite does not use the index of deletion times, for which nearly all rows are alike.
            let plus = if self.0 == Engine::Sqlite { "+" } else { "" };
            conditions.add(format_args!("{plus}{} IS NULL", self.column(DELETED_AT)));
        }
        for filter in filters {
            let text = self.condition(&mut conditions, filter);
            conditions.add(text);
        }
        conditions
    }

    fn condition(self, conditions: &mut Builder<'static>, filter: &Filter) -> String {
        let Filter { column, test } = filter;
        let name = self.column(&column.name);
        match test {
            Test::IsNull(true) => format!("{name} IS NULL"),
            Test::IsNull(false) => format!("{name} IS NOT NULL"),
            Test::Compare(operator, value) => {
                let place = self.argument(column, conditions.bind(value.clone()).number());
                let compared = format!("{name} {operator} {place}");
                match self.index_prefix(column).filter(|_| *operator == "=") {
                    None => compared,
                    // The index knows the beginning of a text: all of one that is shorter.
                    Some(prefix) if is_short(value) => format!("{prefix} = {place}"),
                    Some(prefix) => {
                        format!("{prefix} = left({place}, {INDEXED_CHARACTERS}) AND {compared}")
                    }
                }
            }
            Test::AnyOf(values) => {
                let prefix = self.index_prefix(column).filter(|_| values.iter().all(is_short));
                let values = values.iter().map(|value| conditions.bind(value.clone()).number());
                let places: Vec<String> =
                    values.map(|number| self.argument(column, number)).collect();
                format!("{} IN ({})", prefix.unwrap_or(name), places.join(", "))
            }
            Test::Contains(text) => {
                let place = conditions.bind(text.clone());
                format!("text_contains({name}, {place})")
            }
            Test::Like(pattern) => {
                let place = conditions.bind(pattern.clone());
                format!("text_like({name}, {place})")
            }
        }
    }

    fn index_prefix(self, column: &Column) -> Option<String> {
        let is_prefix = self.0 == Engine::Postgres && column.data_type == DataType::Text;
        (is_prefix && column.has_index()).then(|| self.index_key(column))
    }

    /// The order of a list; ties are broken by id. Nulls come last, or first where it falls.
    pub fn order(self, table: &Table, by: Option<&Column>, way: Option<Way>) -> String {
        let (column, way) = match by {
            Some(column) => (Some(column), way.unwrap_or(Way::Rising)),
            None => match table.column(CREATED_AT) {
                Some(created_at) => (Some(created_at), way.unwrap_or(Way::Falling)),
                None => (table.column(ID), way.unwrap_or(Way::Rising)),
            },
        };
        // Of the table, not of what is shown of it: a decimal is shown as text.
        let of_table = |name: &str| format!("listed.{}", self.column(name));
        let id = of_table(ID);
        let Some(column) = column else { return id };
        let (direction, nulls) = match way {
            Way::Rising => ("ASC", "LAST"),
            Way::Falling => ("DESC", "FIRST"),
        };
        if column.name == ID {
            return format!("{id} {direction}");
        }
        let nulls = if column.nullable { format!(" NULLS {nulls}") } else { String::new() };
        let name = of_table(&column.name);
        let key = match (self.0, column.data_type) {
            (Engine::Postgres, DataType::Json) => format!("{name}::text COLLATE \"C\""),
            _ => name.clone(),
        };
        let prefix =
            self.index_prefix(column).map(|_| format!("left({name}, {INDEXED_CHARACTERS})"));
        let mut keys: Vec<String> = prefix.into_iter().collect();
        keys.push(key);
        let keys: Vec<String> =
            keys.iter().map(|key| format!("{key} {direction}{nulls}")).collect();
        format!("{}, {id}", keys.join(", "))
    }
}
