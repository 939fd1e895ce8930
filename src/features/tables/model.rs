//! A custom table: its columns, both the project's and those the server manages, and who may access its rows.

use db::Value;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::features::tables::values;
use crate::values::ids::{ProjectId, RowId, TableId};

crate::values::names::names! {
    DataType {
        Text "text",
        Integer "integer",
        Float "float",
        Decimal "decimal",
        Boolean "boolean",
        Date "date",
        Timestamp "timestamp",
        Uuid "uuid",
        Json "json",
    }
    /// What happens to rows that refer to a deleted row.
    OnDelete {
        Restrict "restrict",
        Cascade "cascade",
        SetNull "setNull",
    }
    /// Who may read and write the rows of a table.
    RowAccess {
        Open "open",
        Authenticated "authenticated",
        Key "key",
    }
}

pub const ID: &str = "id";
pub const CREATED_AT: &str = "createdAt";
pub const UPDATED_AT: &str = "updatedAt";
pub const DELETED_AT: &str = "deletedAt";
/// Names reserved for the server in every table, whether it has such a column or not.
pub const MANAGED: [&str; 4] = [ID, CREATED_AT, UPDATED_AT, DELETED_AT];

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Table {
    pub project: ProjectId,
    pub id: TableId,
    pub name: String,
    pub timestamps: bool,
    pub paranoid: bool,
    pub access: RowAccess,
    /// In the order in which rows show them: `id`, the project's own, the managed times.
    pub columns: Vec<Column>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Column {
    pub name: String,
    pub data_type: DataType,
    pub nullable: bool,
    pub default_value: Option<String>,
    pub indexed: bool,
    pub references: Option<Reference>,
    /// The position among the project's columns; none for those of the server.
    pub position: Option<i64>,
}

/// A foreign key to the `id` of a table of the same project.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reference {
    pub table: TableId,
    pub name: String,
    pub on_delete: OnDelete,
}

impl Table {
    /// A table with these columns of the project, and the managed columns of its flags.
    pub fn new(
        project: ProjectId,
        id: TableId,
        name: String,
        (timestamps, paranoid, access): (bool, bool, RowAccess),
        own: Vec<Column>,
    ) -> Self {
        let time =
            |name, nullable| Column { nullable, ..Column::managed(name, DataType::Timestamp) };
        let mut columns = vec![Column::managed(ID, DataType::Uuid)];
        columns.extend(own);
        if timestamps {
            columns.extend([time(CREATED_AT, false), time(UPDATED_AT, false)]);
        }
        if paranoid {
            columns.push(time(DELETED_AT, true));
        }
        Table { project, id, name, timestamps, paranoid, access, columns }
    }

    pub fn own_columns(&self) -> impl Iterator<Item = &Column> {
        self.columns.iter().filter(|column| column.position.is_some())
    }

    pub fn column(&self, name: &str) -> Option<&Column> {
        self.columns.iter().find(|column| column.name == name)
    }

    /// The project's own column of that name.
    pub fn own_column(&self, name: &str) -> Option<&Column> {
        self.column(name).filter(|column| column.position.is_some())
    }
}

impl Column {
    fn managed(name: &str, data_type: DataType) -> Self {
        Column {
            name: name.to_owned(),
            data_type,
            nullable: false,
            default_value: None,
            indexed: data_type == DataType::Timestamp,
            references: None,
            position: None,
        }
    }

    /// The value for a new row that does not name the column.
    pub fn default(&self) -> Option<Value<'static>> {
        values::literal(self.data_type, self.default_value.as_deref()?)
    }

    pub fn has_index(&self) -> bool {
        self.indexed || self.references.is_some()
    }
}

/// A name of a table or column: a letter or underscore, then those and digits, 63 at most.
pub fn is_name(text: &str) -> bool {
    let mut bytes = text.bytes();
    let first = bytes.next().is_some_and(|byte| byte.is_ascii_alphabetic() || byte == b'_');
    first && text.len() <= 63 && bytes.all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

/// A table in a path, by the name the project gave it.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(try_from = "String")]
#[schemars(inline, with = "String")]
pub struct Name(pub String);

impl TryFrom<String> for Name {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        if is_name(&text) { Ok(Name(text)) } else { Err("must be a name of letters, digits and _") }
    }
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct InTable {
    pub table_name: Name,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct InColumn {
    pub table_name: Name,
    pub column_name: Name,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct InRow {
    pub table_name: Name,
    pub row_id: RowId,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_plain_and_short() {
        for name in ["a", "_", "Events", "custom_x", "_1", &"x".repeat(63)] {
            assert!(is_name(name), "{name}");
        }
        let wrong =
            ["", "1a", "a b", "é", "a-b", "x\"; DROP TABLE users;--", "a\0", &"x".repeat(64)];
        for name in wrong {
            assert!(!is_name(name), "{name}");
        }
    }
}
