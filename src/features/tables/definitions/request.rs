//! The request to create a table or a column. Checks run in the order of the contract: each kind of mistake
//! has its code, and the first kind found is reported.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value as Json;

use crate::error::{Error, Result};
use crate::features::tables::model::{
    Column, DataType, MANAGED, OnDelete, Reference, RowAccess, Table, is_name,
};
use crate::features::tables::{
    COLUMN_LIMIT_REACHED, INVALID_BODY, INVALID_DEFAULT_VALUE, INVALID_FLAGS, NAME_TOO_LONG,
    RESERVED_COLUMN, values,
};
use crate::values::ids::TableId;

/// Maximum columns of its own that a table may have.
pub const MAX_COLUMNS: usize = 100;
/// Maximum bytes of a default. It is stored in every new row, and PostgreSQL keeps it with the column.
const LONGEST_DEFAULT: usize = 4096;
/// With the prefix `custom_` a name must fit into 63 characters.
const LONGEST_NAME: usize = 56;

/// The definition of a table, not yet validated.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[schemars(with = "TableDoc")]
pub struct CreateTable(Json);

#[derive(JsonSchema)]
#[schemars(rename = "TableDefinition", rename_all = "camelCase")]
#[expect(dead_code, reason = "the form of a document, never made")]
struct TableDoc {
    #[schemars(regex(pattern = "^[a-zA-Z_][a-zA-Z0-9_]{0,55}$"))]
    table_name: String,
    columns: Option<Vec<ColumnDoc>>,
    /// Adds `createdAt` and `updatedAt`; true by default.
    timestamps: Option<bool>,
    /// Adds `deletedAt`: deleted rows can be restored.
    paranoid: Option<bool>,
    /// Who may read and write rows: everybody (`open`), users and keys, or keys alone.
    access: Option<RowAccess>,
}

/// The definition of a column, not yet validated.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[schemars(with = "ColumnDoc")]
pub struct AddColumn(Json);

/// How a column is defined.
#[derive(JsonSchema)]
#[schemars(rename = "ColumnDefinition", rename_all = "camelCase")]
#[expect(dead_code, reason = "the form of a document, never made")]
struct ColumnDoc {
    #[schemars(regex(pattern = "^[a-zA-Z_][a-zA-Z0-9_]{0,62}$"))]
    column_name: String,
    data_type: DataType,
    nullable: bool,
    /// A literal as text, checked against the type.
    default_value: Option<String>,
    /// Makes filters with `eq` and sorting by this column fast; not for `json`.
    indexed: Option<bool>,
    /// A foreign key to the `id` of a custom table; for `uuid`.
    references: Option<ReferenceDoc>,
}

#[derive(JsonSchema)]
#[schemars(rename = "ColumnReference", rename_all = "camelCase")]
#[expect(dead_code, reason = "the form of a document, never made")]
struct ReferenceDoc {
    table: String,
    on_delete: Option<OnDelete>,
}

/// A valid table, except for what only the database can check.
#[derive(Debug, Clone)]
pub struct TableDefinition {
    pub name: String,
    pub timestamps: bool,
    pub paranoid: bool,
    pub access: RowAccess,
    pub columns: Vec<ColumnDefinition>,
}

#[derive(Debug, Clone)]
pub struct ColumnDefinition {
    pub name: String,
    data_type: DataType,
    nullable: bool,
    default: Option<Json>,
    indexed: bool,
    /// The name of the referenced table.
    references: Option<(String, OnDelete)>,
}

impl CreateTable {
    pub fn of(definition: Json) -> Self {
        CreateTable(definition)
    }

    pub fn check(self) -> Result<TableDefinition> {
        let body = &self.0;
        let name = body.get("tableName").and_then(Json::as_str).unwrap_or_default();
        if !is_name(name) {
            return Err(INVALID_BODY.because("tableName: must be a name of letters, digits and _"));
        }
        if name == "tables" {
            return Err(INVALID_BODY.because("tableName: `tables` is taken"));
        }
        let columns = read_columns(body.get("columns"))?;
        let timestamps = flag(body.get("timestamps"), true);
        let paranoid = flag(body.get("paranoid"), false);
        if let (Ok(false), Ok(true)) = (&timestamps, &paranoid) {
            return Err(INVALID_BODY.because("paranoid: needs timestamps"));
        }
        let access = match body.get("access") {
            None => RowAccess::Open,
            Some(access) => RowAccess::deserialize(access)
                .map_err(|_| INVALID_BODY.because("access: must be open, authenticated or key"))?,
        };
        let (timestamps, paranoid) = (timestamps?, paranoid?);
        if name.len() > LONGEST_NAME {
            return Err(NAME_TOO_LONG.into());
        }
        columns.iter().try_for_each(ColumnDefinition::check_name)?;
        columns.iter().try_for_each(ColumnDefinition::check_default)?;
        if columns.len() > MAX_COLUMNS {
            return Err(COLUMN_LIMIT_REACHED.into());
        }
        Ok(TableDefinition { name: name.to_owned(), timestamps, paranoid, access, columns })
    }
}

fn read_columns(value: Option<&Json>) -> Result<Vec<ColumnDefinition>> {
    let columns: Vec<ColumnDefinition> = match value {
        None => Vec::new(),
        Some(Json::Array(columns)) => {
            columns.iter().map(ColumnDefinition::read).collect::<Result<_>>()?
        }
        Some(_) => return Err(INVALID_BODY.because("columns: must be an array")),
    };
    match repeated(&columns) {
        Some(name) => Err(INVALID_BODY.because(format!("columns: {name} is there twice"))),
        None => Ok(columns),
    }
}

fn flag(value: Option<&Json>, default: bool) -> Result<bool> {
    match value {
        None => Ok(default),
        Some(Json::Bool(value)) => Ok(*value),
        Some(_) => Err(INVALID_FLAGS.because("timestamps and paranoid must be booleans")),
    }
}

fn repeated(columns: &[ColumnDefinition]) -> Option<&str> {
    let mut names: Vec<&str> = columns.iter().map(|column| column.name.as_str()).collect();
    names.sort_unstable();
    names.windows(2).find(|pair| pair[0] == pair[1]).map(|pair| pair[0])
}

impl AddColumn {
    pub fn of(definition: Json) -> Self {
        AddColumn(definition)
    }

    pub fn check(self) -> Result<ColumnDefinition> {
        let column = ColumnDefinition::read(&self.0)?;
        column.check_name()?;
        column.check_default()?;
        Ok(column)
    }
}

impl ColumnDefinition {
    /// Checks its form.
    fn read(value: &Json) -> Result<Self> {
        let wrong = |text: &str| INVALID_BODY.because(text);
        let text = |key: &str| value.get(key).and_then(Json::as_str);
        let flag = |key: &str| value.get(key).and_then(Json::as_bool);
        let name = text("columnName").filter(|name| is_name(name));
        let name =
            name.ok_or_else(|| wrong("columnName: must be a name of letters, digits and _"))?;
        let data_type = value.get("dataType").and_then(|name| DataType::deserialize(name).ok());
        let data_type = data_type.ok_or_else(|| wrong("dataType: there is no such type"))?;
        let nullable = flag("nullable").ok_or_else(|| wrong("nullable: must be a boolean"))?;
        let indexed = match value.get("indexed") {
            None => false,
            Some(Json::Bool(indexed)) if !indexed || data_type != DataType::Json => *indexed,
            Some(_) => return Err(wrong("indexed: must be a boolean, and is not for json")),
        };
        let references = match value.get("references") {
            None | Some(Json::Null) => None,
            Some(reference) => Some(read_reference(reference, data_type, nullable)?),
        };
        let default = value.get("defaultValue").filter(|value| !value.is_null()).cloned();
        Ok(ColumnDefinition {
            name: name.to_owned(),
            data_type,
            nullable,
            default,
            indexed,
            references,
        })
    }

    fn check_name(&self) -> Result<()> {
        if MANAGED.contains(&self.name.as_str()) {
            return Err(RESERVED_COLUMN.with("column", self.name.as_str()));
        }
        Ok(())
    }

    fn check_default(&self) -> Result<()> {
        let is_valid = match &self.default {
            None => true,
            Some(Json::String(text)) => self.is_null_default(text) || self.literal(text),
            Some(_) => false,
        };
        if is_valid { Ok(()) } else { Err(invalid_default(&self.name)) }
    }

    fn literal(&self, text: &str) -> bool {
        let value = values::literal(self.data_type, text).filter(|_| text.len() <= LONGEST_DEFAULT);
        value.is_some_and(|value| values::text(self.data_type, &value).len() <= LONGEST_DEFAULT)
    }

    /// The text `null` of a JSON column is not a default.
    fn is_null_default(&self, text: &str) -> bool {
        self.data_type == DataType::Json && text.trim() == "null"
    }

    /// The column as the catalogue stores it; `find` returns the tables of the project, including the one
    /// being created.
    pub fn into_column(
        self,
        position: i64,
        find: impl Fn(&str) -> Result<Option<TableId>>,
    ) -> Result<Column> {
        let default_value = match &self.default {
            Some(Json::String(text)) if !self.is_null_default(text) => Some(text.clone()),
            _ => None,
        };
        let references = match self.references {
            None => None,
            Some((name, on_delete)) => {
                let unknown =
                    || INVALID_BODY.because(format!("references: there is no table {name}"));
                let table = find(&name)?.ok_or_else(unknown)?;
                Some(Reference { table, name, on_delete })
            }
        };
        Ok(Column {
            name: self.name,
            data_type: self.data_type,
            nullable: self.nullable,
            default_value,
            indexed: self.indexed,
            references,
            position: Some(position),
        })
    }
}

pub fn invalid_default(column: &str) -> Error {
    INVALID_DEFAULT_VALUE.with("column", column)
}

fn read_reference(value: &Json, data_type: DataType, nullable: bool) -> Result<(String, OnDelete)> {
    let wrong = |text: &str| Err(INVALID_BODY.because(format!("references: {text}")));
    let Some(table) = value.get("table").and_then(Json::as_str) else {
        return wrong("must name a table");
    };
    if data_type != DataType::Uuid {
        return wrong("only a uuid can refer to a row");
    }
    let on_delete = match value.get("onDelete") {
        None => OnDelete::Restrict,
        Some(on_delete) => match OnDelete::deserialize(on_delete) {
            Ok(on_delete) => on_delete,
            Err(_) => return wrong("onDelete must be restrict, cascade or setNull"),
        },
    };
    if on_delete == OnDelete::SetNull && !nullable {
        return wrong("a column that is set to null must be nullable");
    }
    Ok((table.to_owned(), on_delete))
}

/// The position after the last column.
pub fn next_position(table: &Table) -> i64 {
    table.own_columns().filter_map(|column| column.position).max().map_or(0, |last| last + 1)
}
