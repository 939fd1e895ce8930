//! Terms: the search index of entities. Each keyword, each metadata key, each key with a plain value and each
//! mentioned user becomes a digest of fixed size, so that one index finds any of them. Terms of a mentioned
//! user are removed when the user is deleted.

use aws_lc_rs::digest;
use serde_json::{Map, Value};
use uuid::Uuid;

use crate::features::entities::rules::{Keywords, Mentions};
use crate::features::entities::store::EntityRow;
use crate::values::ids::UserId;
use crate::values::metadata::Metadata;

/// Metadata with more keys than this is not indexed: the entity is "wide", and filters parse its metadata.
const MAX_KEYS: usize = 64;

/// The terms of one entity, sorted and unique.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Terms {
    pub terms: Vec<Uuid>,
    pub is_wide: bool,
}

impl Terms {
    /// A draft has only the terms of its mentions.
    pub fn of(
        is_draft: bool,
        keywords: &Keywords,
        metadata: &Metadata,
        mentions: &Mentions,
    ) -> Self {
        let metadata = metadata.as_map();
        let is_wide = !is_draft && metadata.len() > MAX_KEYS;
        let mut terms: Vec<Uuid> = mentions.users().map(mention).collect();
        if !is_draft {
            terms.extend(keywords.as_slice().iter().map(|word| keyword(word)));
        }
        if !is_draft && !is_wide {
            terms.extend(metadata.keys().map(|name| key(name)));
            terms.extend(metadata.iter().filter_map(|(name, value)| pair(name, value)));
        }
        terms.sort_unstable();
        terms.dedup();
        Terms { terms, is_wide }
    }
}

/// The terms of a stored entity.
pub fn of_stored(row: &EntityRow) -> serde_json::Result<Terms> {
    let keywords: Keywords = serde_json::from_str(&row.keywords.0)?;
    let metadata: Metadata = serde_json::from_str(&row.metadata.0)?;
    let mentions: Mentions = serde_json::from_str(&row.mentions.0)?;
    Ok(Terms::of(row.is_draft, &keywords, &metadata, &mentions))
}

pub fn keyword(word: &str) -> Uuid {
    term(&["keyword", word])
}

pub fn mention(user: UserId) -> Uuid {
    term(&["mention", &user.to_string()])
}

/// Presence of a key, whatever its value.
pub fn key(name: &str) -> Uuid {
    term(&["key", name])
}

/// A key with a plain value; none for objects and arrays, which filters parse.
pub fn pair(name: &str, value: &Value) -> Option<Uuid> {
    let plain = match value {
        Value::Object(_) | Value::Array(_) => return None,
        Value::Number(number) => match number.as_f64() {
            // `1` and `1.0` are equal, and so are `0` and `-0.0`: adding zero removes the sign.
            Some(real) if number.is_f64() && real.fract() == 0.0 => format!("{:.0}", real + 0.0),
            _ => number.to_string(),
        },
        other => other.to_string(),
    };
    Some(term(&["pair", name, &plain]))
}

/// Whether all of an object's pairs are terms.
pub fn is_plain(object: &Map<String, Value>) -> bool {
    object.values().all(|value| !value.is_object() && !value.is_array())
}

fn term(parts: &[&str]) -> Uuid {
    let mut context = digest::Context::new(&digest::SHA256);
    for part in parts {
        context.update(&(part.len() as u64).to_be_bytes());
        context.update(part.as_bytes());
    }
    let mut short = [0; 16];
    short.copy_from_slice(&context.finish().as_ref()[..16]);
    Uuid::from_bytes(short)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const ADA: UserId = UserId(Uuid::from_u128(7));

    /// Of an entity that mentions Ada, without the term for that.
    fn terms(keywords: Value, metadata: Value) -> Terms {
        let read = |is_draft: bool| {
            let mentions = json!([{ "id": ADA, "username": "ada" }, { "id": "x", "username": "" }]);
            let keywords: Keywords = serde_json::from_value(keywords.clone()).unwrap();
            let metadata: Metadata = serde_json::from_value(metadata.clone()).unwrap();
            let mentions: Mentions = serde_json::from_value(mentions).unwrap();
            Terms::of(is_draft, &keywords, &metadata, &mentions)
        };
        let mut found = read(false);
        assert_eq!(read(true), Terms { terms: vec![mention(ADA)], is_wide: false });
        assert!(found.terms.contains(&mention(ADA)));
        found.terms.retain(|term| *term != mention(ADA));
        found
    }

    #[test]
    fn words_keys_and_pairs_do_not_meet() {
        let found = terms(json!(["a", "a", "b"]), json!({ "a": "b", "n": 1, "o": { "x": 1 } }));
        assert_eq!(found.terms.len(), 2 + 3 + 2);
        assert!(!found.is_wide);
        for wanted in [keyword("a"), keyword("b"), key("o"), pair("a", &json!("b")).unwrap()] {
            assert!(found.terms.contains(&wanted));
        }
    }

    #[test]
    fn one_number_has_one_term_and_its_text_another() {
        let of = |value: Value| pair("n", &value).unwrap();
        assert_eq!(of(json!(1)), of(json!(1.0)));
        assert_eq!(of(json!(0)), of(json!(-0.0)));
        assert_eq!(of(json!(1_000_000_000_000_000_i64)), of(json!(1e15)));
        assert_ne!(of(json!(1)), of(json!("1")));
        assert_ne!(of(json!(true)), of(json!("true")));
        assert_ne!(of(json!(1.5)), of(json!(1)));
        assert_eq!(pair("n", &json!([1])), None);
    }

    #[test]
    fn many_keys_make_it_wide() {
        let keys = |n: usize| (0..n).map(|n| (n.to_string(), json!(n))).collect::<Map<_, _>>();
        assert!(!terms(json!([]), Value::Object(keys(MAX_KEYS))).is_wide);
        let wide = terms(json!(["a"]), Value::Object(keys(MAX_KEYS + 1)));
        assert!(wide.is_wide);
        assert_eq!(wide.terms, [keyword("a")]);
    }
}
