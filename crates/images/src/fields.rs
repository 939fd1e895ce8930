//! Parses the members of an options object. Errors are texts for the caller.

use serde_json::{Map, Value};

/// The allowed length of an edge, in pixels.
const EDGE: std::ops::RangeInclusive<u32> = 50..=10_000;
/// Maximum ratios of one image.
const MAX_RATIOS: usize = 10;
/// Maximum length of a ratio's number: it becomes part of the variant's name.
const RATIO_TEXT: usize = 12;

/// A ratio of width to height.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Ratio {
    pub width: f64,
    pub height: f64,
}

pub(super) fn ratios(value: &Value) -> Result<Vec<Ratio>, String> {
    let list = value
        .as_array()
        .filter(|list| (1..=MAX_RATIOS).contains(&list.len()))
        .ok_or_else(|| format!("aspectRatios must be a list of 1 to {MAX_RATIOS} ratios"))?;
    let ratios: Vec<_> = list.iter().map(|r| ratio("aspectRatios", r)).collect::<Result<_, _>>()?;
    // Each ratio is the name of its variants.
    if ratios.iter().enumerate().any(|(at, ratio)| ratios[..at].contains(ratio)) {
        return Err("aspectRatios must differ from each other".to_owned());
    }
    Ok(ratios)
}

pub(super) fn ratio(of: &str, value: &Value) -> Result<Ratio, String> {
    let number = |side: &str| {
        let number = value[side].as_f64();
        number
            .filter(|n| *n > 0.0 && n.is_finite() && n.to_string().len() <= RATIO_TEXT)
            .ok_or_else(|| {
                format!("{of} must have a width and a height: positive numbers of at most {RATIO_TEXT} digits")
            })
    };
    Ok(Ratio { width: number("width")?, height: number("height")? })
}

pub(super) fn edge(of: &str, value: &Value) -> Result<u32, String> {
    whole(value).and_then(|n| u32::try_from(n).ok()).filter(|n| EDGE.contains(n)).ok_or_else(|| {
        format!("{of} must be a whole number from {} to {}", EDGE.start(), EDGE.end())
    })
}

/// An integer, also in the form `300.0`.
pub(super) fn whole(value: &Value) -> Option<u64> {
    let whole = |n: &f64| n.fract() == 0.0 && (0.0..=1e9).contains(n);
    value.as_u64().or_else(|| value.as_f64().filter(whole).map(|n| n as u64))
}

/// A member that is there and not null.
pub(super) fn given<'a>(fields: &'a Map<String, Value>, key: &str) -> Option<&'a Value> {
    fields.get(key).filter(|value| !value.is_null())
}

pub(super) fn one_of<T: Copy>(
    fields: &Map<String, Value>,
    key: &str,
    choices: &[T],
    name: fn(T) -> &'static str,
) -> Result<Option<T>, String> {
    let Some(value) = given(fields, key) else {
        return Ok(None);
    };
    let chosen = choices.iter().find(|choice| value.as_str() == Some(name(**choice)));
    chosen.copied().map(Some).ok_or_else(|| must_be_one_of(key, choices, name))
}

pub(super) fn must_be_one_of<T: Copy>(
    key: &str,
    choices: &[T],
    name: fn(T) -> &'static str,
) -> String {
    let names: Vec<_> = choices.iter().map(|choice| name(*choice)).collect();
    format!("{key} must be one of {}", names.join(", "))
}
