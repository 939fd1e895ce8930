//! SQL functions that PostgreSQL has, or gets by a migration, under the same names: `fold`, `json_contains`,
//! `distance`, `log10`, `text_contains`, `text_like`; `moment`; and the order of decimal numbers stored as text.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering::Relaxed};
use std::time::{SystemTime, UNIX_EPOCH};

use memchr::memmem;
use rusqlite::functions::{Context, FunctionFlags};
use rusqlite::{Connection, Error, InterruptHandle, Result};
use serde_json::{Number, Value};

use super::connection::Timer;
use super::{decimal, like};

/// The error of a function when the deadline of its statement has passed.
pub(super) const OUT_OF_TIME: &str = "out of time";
/// Radius of a sphere with the volume of the Earth, in metres.
const EARTH: f64 = 6_371_008.8;

pub(super) fn add(connection: &Connection, timer: &Timer) -> Result<()> {
    let flags = FunctionFlags::SQLITE_UTF8
        | FunctionFlags::SQLITE_DETERMINISTIC
        | FunctionFlags::SQLITE_INNOCUOUS;
    connection.create_scalar_function("fold", 1, flags, |context| {
        let text = context.get_raw(0).as_str_or_null()?;
        Ok(text.map(str::to_lowercase))
    })?;
    connection.create_scalar_function("json_contains", 2, flags, json_contains)?;
    connection.create_scalar_function("distance", 4, flags, |context| {
        Ok(distance(context.get(0)?, context.get(1)?, context.get(2)?, context.get(3)?))
    })?;
    connection
        .create_scalar_function("log10", 1, flags, |context| Ok(context.get::<f64>(0)?.log10()))?;
    let volatile = FunctionFlags::SQLITE_UTF8 | FunctionFlags::SQLITE_INNOCUOUS;
    connection.create_scalar_function("moment", 0, volatile, |_| Ok(moment()))?;
    connection.create_collation("decimal", decimal::compare)?;
    let interrupt = Arc::new(connection.get_interrupt_handle());
    let watch = Watch { timer: timer.clone(), interrupt };
    let watched = watch.clone();
    connection.create_scalar_function("text_contains", 2, flags, move |context| {
        watched.look()?;
        text_contains(context)
    })?;
    connection.create_scalar_function("text_like", 2, flags, move |context| {
        watch.look()?;
        text_like(context, &watch)
    })
}

/// Microseconds since 1970, each greater than the one before.
#[expect(clippy::disallowed_methods, reason = "it orders rows and is no time that anybody sees")]
fn moment() -> i64 {
    static LAST: AtomicI64 = AtomicI64::new(0);
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let now = i64::try_from(since.as_micros()).unwrap_or(i64::MAX);
    let next = |last: i64| now.max(last + 1);
    let last = LAST.fetch_update(Relaxed, Relaxed, |last| Some(next(last)));
    last.map_or(now, next)
}

/// Checks the deadline with every row: the engine itself checks it only every so many steps, and searching
/// one long text is a single step.
#[derive(Clone)]
struct Watch {
    timer: Timer,
    interrupt: Arc<InterruptHandle>,
}

impl Watch {
    fn look(&self) -> Result<()> {
        if self.timer.is_over() {
            self.interrupt.interrupt();
            return Err(Error::UserFunctionError(OUT_OF_TIME.into()));
        }
        Ok(())
    }
}

/// Whether a text contains another, case-insensitive. Null contains nothing.
fn text_contains(context: &Context<'_>) -> Result<Option<bool>> {
    let part = context.get_or_create_aux(1, |value| {
        value.as_str().map(|part| memmem::Finder::new(&folded(part)).into_owned())
    })?;
    let text = context.get_raw(0).as_str_or_null()?;
    Ok(text.map(|text| part.find(folded(text).as_bytes()).is_some()))
}

/// Lower case, with one form of sigma: which of the two it is depends on what follows.
fn folded(text: &str) -> String {
    let lower = text.to_lowercase();
    if lower.contains('ς') { lower.replace('ς', "σ") } else { lower }
}

/// `LIKE` as in PostgreSQL: `%` and `_` are wildcards, `\` escapes them, case-sensitive.
fn text_like(context: &Context<'_>, watch: &Watch) -> Result<Option<bool>> {
    let pattern = context.get_or_create_aux(1, |value| value.as_str().map(like::parts))?;
    let text = context.get_raw(0).as_str_or_null()?;
    text.map(|text| like::matches(text, &pattern, || watch.look())).transpose()
}

/// Whether the first document contains the second, as PostgreSQL's `@>`.
fn json_contains(context: &Context<'_>) -> Result<bool> {
    let document = parse(context.get_raw(0).as_str()?)?;
    // The same part for every row: parsed once.
    let part =
        context.get_or_create_aux(1, |value| value.as_str().map_err(broken).and_then(parse))?;
    Ok(contains(&document, &part))
}

fn parse(text: &str) -> Result<Value> {
    serde_json::from_str(text).map_err(broken)
}

fn broken(error: impl std::error::Error + Send + Sync + 'static) -> Error {
    Error::UserFunctionError(Box::new(error))
}

/// Objects partially, arrays as sets, everything else by value.
fn contains(whole: &Value, part: &Value) -> bool {
    match (whole, part) {
        (Value::Object(whole), Value::Object(part)) => part
            .iter()
            .all(|(key, value)| whole.get(key).is_some_and(|found| contains(found, value))),
        (Value::Array(whole), Value::Array(part)) => {
            part.iter().all(|value| whole.iter().any(|found| contains(found, value)))
        }
        (Value::Number(whole), Value::Number(part)) => same_number(whole, part),
        (whole, part) => whole == part,
    }
}

/// `1` and `1.0` are equal. Compared as texts, because large numbers that differ may be equal as floats.
fn same_number(one: &Number, other: &Number) -> bool {
    let text = |number: &Number| match number.as_f64() {
        // Adding zero removes the sign of `-0.0`.
        Some(real) if number.is_f64() && real.fract() == 0.0 => format!("{:.0}", real + 0.0),
        _ => number.to_string(),
    };
    text(one) == text(other)
}

/// Great-circle distance in metres between two places given as latitude and longitude.
fn distance(latitude: f64, longitude: f64, to_latitude: f64, to_longitude: f64) -> f64 {
    let half = |from: f64, to: f64| ((to - from).to_radians() / 2.0).sin().powi(2);
    let chord = half(latitude, to_latitude)
        + latitude.to_radians().cos()
            * to_latitude.to_radians().cos()
            * half(longitude, to_longitude);
    2.0 * EARTH * chord.sqrt().min(1.0).asin()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distance_between_two_places_of_a_city() {
        let metres = distance(40.7128, -74.0060, 40.7580, -73.9855);
        assert!((metres - 5315.0).abs() < 1.0, "{metres}");
        assert_eq!(distance(10.0, 20.0, 10.0, 20.0), 0.0);
        let half_way_round = distance(0.0, 0.0, 0.0, 180.0);
        assert!((half_way_round - std::f64::consts::PI * EARTH).abs() < 1.0, "{half_way_round}");
    }

    #[test]
    fn containment_is_partial_for_objects_and_by_set_for_arrays() {
        let holds =
            |whole: &str, part: &str| contains(&parse(whole).unwrap(), &parse(part).unwrap());
        assert!(holds(r#"{"a":1,"b":{"c":[1,2,{"d":3,"e":4}]}}"#, r#"{"b":{"c":[{"e":4},1,1]}}"#));
        assert!(holds(r#"{"a":1}"#, r#"{"a":1.0}"#));
        assert!(holds(r#"{"a":-0.0,"b":100}"#, r#"{"a":0,"b":1e2}"#));
        assert!(!holds(r#"{"a":9007199254740993}"#, r#"{"a":9007199254740992}"#));
        assert!(holds(r#"{"a":null}"#, r#"{"a":null}"#));
        assert!(holds(r#"{"a":{}}"#, "{}"));
        assert!(!holds(r#"{"a":"1"}"#, r#"{"a":1}"#));
        assert!(!holds(r#"{"a":[1]}"#, r#"{"a":[1,2]}"#));
        assert!(!holds(r#"{}"#, r#"{"a":null}"#));
        assert!(!holds(r#"{"a":[[1]]}"#, r#"{"a":[1]}"#));
    }
}
