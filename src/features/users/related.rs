//! Parameters and users of the lists of followers and connections. `store/related.rs` queries them.

use std::collections::HashMap;

use db::Conn;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::error::{Fault, Result};
use crate::features::users::model::{self, User};
use crate::features::users::store::related::{NAME, RelatedRow, Sought, USERNAME};
use crate::storage::signed::Links;
use crate::values::ids::UserId;

/// Longer patterns only cost time.
const LONGEST_QUERY: usize = 256;

/// The search parameters of a list.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct UserSearch {
    /// Part of a username or a name, case-insensitive.
    query: Option<String>,
    /// `username` or `name`: search only this field.
    search_fields: Option<String>,
}

impl UserSearch {
    /// An empty query searches for nothing.
    pub fn sought(self, invalid: Fault) -> Result<Option<Sought>> {
        let Some(part) = self.query.filter(|part| !part.is_empty()) else { return Ok(None) };
        if part.len() > LONGEST_QUERY {
            return Err(invalid.because("query must have at most 256 bytes"));
        }
        let columns: &[&str] = match self.search_fields.as_deref() {
            Some("username") => &[USERNAME],
            Some("name") => &[NAME],
            _ => &[USERNAME, NAME],
        };
        Ok(Some(Sought { part: part.to_lowercase(), columns }))
    }
}

/// The users of a page as everybody sees them.
pub fn shown(c: &Conn<'_>, links: &Links, rows: &[RelatedRow]) -> Result<HashMap<UserId, User>> {
    model::shown(c, links, rows.iter().map(|row| row.other_id).collect())
}
