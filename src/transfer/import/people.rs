//! Authors in the formats of others: each becomes a user once. Guests have a name and perhaps an address, which nobody has
//! verified: it tells them apart and is not stored.

use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use aws_lc_rs::digest::{SHA256, digest};

use super::draft::{Draft, FOREIGN_ID};
use super::source::{Item, Take};
use crate::transfer::Result;
use crate::values::random::hex;

/// Bytes of the digest of an address that tell guests apart.
const DIGEST: usize = 12;

#[derive(Debug, Default)]
pub(super) struct People {
    /// Digests of foreign ids: there may be very many.
    seen: HashSet<u64>,
}

impl People {
    /// Passes on the user when it comes for the first time.
    pub(super) fn add(
        &mut self,
        foreign_id: &str,
        fields: &[(&str, &str)],
        take: Take<'_>,
    ) -> Result<()> {
        let mut hasher = DefaultHasher::new();
        foreign_id.hash(&mut hasher);
        if !self.seen.insert(hasher.finish()) {
            return Ok(());
        }
        let Some(mut user) = Draft::new("user", foreign_id.to_owned()) else { return Ok(()) };
        user.set(FOREIGN_ID, foreign_id.to_owned());
        for (column, text) in fields.iter().filter(|(_, text)| !text.trim().is_empty()) {
            user.set(column, text.trim().to_owned());
        }
        take(Item::Document(Box::new(user)))
    }

    /// Somebody without an account; their foreign id, or none if nothing is known.
    pub(super) fn guest(
        &mut self,
        prefix: &str,
        name: &str,
        email: &str,
        take: Take<'_>,
    ) -> Result<Option<String>> {
        let (name, email) = (name.trim(), email.trim().to_lowercase());
        let known = if email.is_empty() { name } else { &email };
        if known.is_empty() {
            return Ok(None);
        }
        let digest = digest(&SHA256, known.as_bytes());
        let foreign_id = format!("{prefix}guest:{}", hex(&digest.as_ref()[..DIGEST]));
        self.add(&foreign_id, &[("name", name)], take)?;
        Ok(Some(foreign_id))
    }
}
