//! The documents that a project is exported as: for each type its table and its fields. The format is public, so fields are
//! added and never renamed; a test compares the list with the schema, so that no column is forgotten.

mod declared;
mod left_out;

use std::sync::LazyLock;

use self::declared::{DECLARED, Declared, SECRET, SESSION};
pub use self::left_out::LEFT_OUT;

/// Says what a field holds, in the spelling of [`Kind::new`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Type {
    Text,
    /// `#`, and the table if it must refer to a row of one.
    Id(Option<&'static str>),
    /// `@`
    Time,
    /// `?`
    Flag,
    /// `{`
    Json,
    /// `%`
    Integer,
    /// `~`
    Real,
    /// `*`
    Bytes,
}

#[derive(Debug, Clone)]
pub struct Field {
    pub column: &'static str,
    /// The column in the spelling of the API.
    pub name: String,
    pub kind: Type,
}

/// One type of documents.
#[derive(Debug, Clone)]
pub struct Kind {
    /// The `type` of its documents.
    pub name: &'static str,
    pub table: &'static str,
    /// A second table with the same key, and the place of its first field.
    pub body: Option<(&'static str, usize)>,
    pub fields: Vec<Field>,
    /// The primary key without the project: places of fields.
    pub key: Vec<usize>,
    /// Columns that name the user whose document it is.
    pub owners: Vec<&'static str>,
    /// Fields that are not for the user whose document it is.
    pub secret: &'static [&'static str],
    /// Parents first.
    pub by_depth: bool,
}

/// Everything of a project.
pub fn all() -> &'static [Kind] {
    static KINDS: LazyLock<Vec<Kind>> = LazyLock::new(|| DECLARED.iter().map(Kind::new).collect());
    &KINDS
}

/// Everything of a user.
pub fn of_user() -> impl Iterator<Item = &'static Kind> {
    static KIND: LazyLock<Kind> = LazyLock::new(|| Kind::new(&SESSION));
    all().iter().chain([&*KIND]).filter(|kind| !kind.owners.is_empty())
}

pub fn find(name: &str) -> Option<&'static Kind> {
    all().iter().find(|kind| kind.name == name)
}

impl Kind {
    fn new(declared: &Declared) -> Kind {
        let (table, body) = declared.tables.split_once(' ').unzip();
        let (own, rest) = declared.fields.split_once('|').unwrap_or((declared.fields, ""));
        let mut fields: Vec<Field> = own.split_whitespace().map(Field::new).collect();
        let body = body.map(|body| (body, fields.len()));
        fields.extend(rest.split_whitespace().map(Field::new));
        // A document says its own type under that name.
        for field in fields.iter_mut().filter(|field| field.name == "type") {
            field.name = format!("{}Type", declared.name);
        }
        let place = |column: &str| fields.iter().position(|field| field.column == column);
        let key = declared.key.split(' ').filter_map(place).collect();
        let by_depth = place("depth").is_some();
        let secret = SECRET.iter().find(|(name, _)| *name == declared.name);
        Kind {
            name: declared.name,
            table: table.unwrap_or(declared.tables),
            body,
            key,
            owners: declared.owners.split_whitespace().collect(),
            secret: secret.map_or(&[], |(_, columns)| columns),
            by_depth,
            fields,
        }
    }

    /// The place of a column among the fields.
    pub fn place(&self, column: &str) -> Option<usize> {
        self.fields.iter().position(|field| field.column == column)
    }
}

impl Field {
    fn new(text: &'static str) -> Field {
        let end = text.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(text.len());
        let (column, mark) = text.split_at(end);
        let kind = match mark.split_at_checked(1) {
            Some(("#", table)) => Type::Id(Some(table).filter(|table| !table.is_empty())),
            Some(("@", _)) => Type::Time,
            Some(("?", _)) => Type::Flag,
            Some(("{", _)) => Type::Json,
            Some(("%", _)) => Type::Integer,
            Some(("~", _)) => Type::Real,
            Some(("*", _)) => Type::Bytes,
            _ => Type::Text,
        };
        Field { column, name: camel_case(column), kind }
    }
}

fn camel_case(column: &str) -> String {
    let mut name = String::new();
    for part in column.split('_') {
        match part.split_at_checked(1) {
            Some((first, rest)) if !name.is_empty() => {
                name.push_str(&first.to_uppercase());
                name.push_str(rest);
            }
            _ => name.push_str(part),
        }
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_declaration_is_read() {
        let kind = find("comment").unwrap();
        let field = |name: &str| kind.fields.iter().find(|field| field.name == name).unwrap().kind;
        assert_eq!((kind.table, kind.body.unwrap().0), ("comments", "comment_bodies"));
        assert_eq!(field("entityId"), Type::Id(Some("entities")));
        assert_eq!((field("threadId"), field("content")), (Type::Id(None), Type::Text));
        assert_eq!((field("userDeletedAt"), field("gif")), (Type::Time, Type::Json));
        assert_eq!(kind.fields[kind.body.unwrap().1].name, "content");
        assert_eq!(find("reactionMilestone").unwrap().key, [0, 1, 2]);
    }

    #[test]
    fn documents_refer_to_earlier_ones() {
        for (at, kind) in all().iter().enumerate() {
            for field in &kind.fields {
                let Type::Id(Some(table)) = field.kind else { continue };
                let earlier = all()[..=at].iter().any(|kind| kind.table == table);
                assert!(earlier, "{}.{} refers to {table}", kind.name, field.name);
            }
        }
    }
}
