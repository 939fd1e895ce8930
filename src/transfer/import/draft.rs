//! A document before it is written. Fields may be missing, and it may refer to others by their foreign ids.

use db::Value;
use uuid::Uuid;

use crate::features::exports::document;
use crate::features::exports::kinds::{self, Kind};
use crate::values::ids::new_id;
use crate::values::random::Random;
use crate::values::time::Timestamp;

pub(super) const FOREIGN_ID: &str = "foreign_id";
const ID: &str = "id";

#[derive(Debug, Clone)]
pub(super) struct Draft {
    pub(super) kind: &'static Kind,
    pub(super) values: Vec<Value<'static>>,
    /// Fields that refer to a document by its foreign id: the place of the field, the table, the foreign id.
    pub(super) foreign: Vec<(usize, &'static str, String)>,
    /// How the report calls it.
    pub(super) label: String,
}

impl Draft {
    /// An empty document of a type that is known to exist.
    pub(super) fn new(name: &str, label: String) -> Option<Draft> {
        let kind = kinds::find(name)?;
        let values = vec![Value::Null; kind.fields.len()];
        Some(Draft { kind, values, foreign: Vec::new(), label })
    }

    pub(super) fn of(kind: &'static Kind, values: Vec<Value<'static>>) -> Draft {
        let mut draft = Draft { kind, values, foreign: Vec::new(), label: String::new() };
        let key = kind.key.iter().map(|at| draft.key_part(*at));
        draft.label = key.collect::<Vec<_>>().join(" ");
        draft
    }

    fn key_part(&self, at: usize) -> String {
        document::cell(&self.kind.fields[at], &self.values[at])
    }

    /// Identifies the row in its table.
    pub(super) fn key(&self) -> String {
        let key = self.kind.key.iter().map(|at| self.key_part(*at));
        key.collect::<Vec<_>>().join(" ")
    }

    pub(super) fn set(&mut self, column: &str, value: impl Into<Value<'static>>) {
        if let Some(at) = self.kind.place(column) {
            self.values[at] = value.into();
        }
    }

    /// Only if nothing is there yet.
    pub(super) fn set_default(&mut self, column: &str, value: impl Into<Value<'static>>) {
        if self.get(column) == &Value::Null {
            self.set(column, value);
        }
    }

    pub(super) fn refer(&mut self, column: &str, table: &'static str, foreign_id: String) {
        if let Some(at) = self.kind.place(column) {
            self.foreign.push((at, table, foreign_id));
        }
    }

    pub(super) fn get(&self, column: &str) -> &Value<'static> {
        self.kind.place(column).map_or(&Value::Null, |at| &self.values[at])
    }

    pub(super) fn text(&self, column: &str) -> Option<&str> {
        match self.get(column) {
            Value::Text(text) | Value::Json(text) => Some(text),
            _ => None,
        }
    }

    pub(super) fn id(&self, column: &str) -> Option<Uuid> {
        document::uuid(self.get(column))
    }

    pub(super) fn time(&self, column: &str) -> Option<Timestamp> {
        match self.get(column) {
            Value::Int(millis) => Some(Timestamp::from_millis(*millis)),
            _ => None,
        }
    }

    pub(super) fn flag(&self, column: &str) -> bool {
        matches!(self.get(column), Value::Bool(true) | Value::Int(1))
    }

    pub(super) fn own_foreign_id(&self) -> Option<&str> {
        self.text(FOREIGN_ID)
    }

    /// A new id of the time of its creation, unless it has one.
    pub(super) fn identify(&mut self, random: &Random, now: Timestamp) {
        let created = self.time("created_at").unwrap_or(now);
        // Before 1970 there are no times in ids.
        let created = created.max(Timestamp::from_millis(0));
        self.set_default(ID, Value::Uuid(new_id(created, random)));
        if self.label.is_empty() {
            self.label = self.own_foreign_id().map_or_else(|| self.key(), str::to_owned);
        }
    }
}
