//! Values of columns: what each data type accepts as JSON, which defaults are valid, and how a stored value
//! is shown. Only columns of type float ever become floating-point numbers.

pub mod decimal;
mod json_text;

use db::Value;
use serde_json::value::RawValue;

use crate::features::tables::model::DataType;
use crate::values::ids::parse_uuid;
use crate::values::time::Timestamp;

const DAY: i64 = 86_400_000;

/// A raw JSON value, classified by its first character.
#[derive(Debug)]
enum Given<'a> {
    Text(String),
    /// As it was written.
    Number(&'a str),
    Bool(bool),
    Nested,
}

fn given(value: &RawValue) -> Option<Given<'_>> {
    let text = value.get();
    Some(match text.as_bytes().first()? {
        b'"' => Given::Text(serde_json::from_str(text).ok()?),
        b't' => Given::Bool(true),
        b'f' => Given::Bool(false),
        b'{' | b'[' => Given::Nested,
        b'n' => return None,
        _ => Given::Number(text),
    })
}

/// Whether it is `null`.
pub fn is_null(value: &RawValue) -> bool {
    value.get() == "null"
}

/// A text, number or boolean, for comparisons in filters.
pub fn is_plain(value: &RawValue) -> bool {
    !matches!(value.get().as_bytes().first(), None | Some(b'n' | b'{' | b'['))
}

/// The value as the column's type stores it. None for any other form, including `null`.
pub fn read(data_type: DataType, value: &RawValue) -> Option<Value<'static>> {
    if data_type == DataType::Json {
        let text = Some(value).filter(|value| !is_null(value)).and_then(json_text::canonical);
        return text.map(|text| Value::Json(text.into()));
    }
    match (data_type, given(value)?) {
        (_, Given::Nested) => None,
        (DataType::Text, Given::Text(text)) => Some(text.into()),
        (DataType::Text, Given::Number(number)) => Some(number.to_owned().into()),
        (DataType::Text, Given::Bool(value)) => Some(value.to_string().into()),
        (DataType::Integer, Given::Number(number)) => whole(number).map(Value::Int),
        (DataType::Boolean, Given::Bool(value)) => Some(value.into()),
        (DataType::Float | DataType::Decimal, Given::Number(number)) => literal(data_type, number),
        (DataType::Date, Given::Text(text)) => {
            Timestamp::parse(&text).map(|time| Value::Int(time.millis().div_euclid(DAY)))
        }
        (_, Given::Text(text)) => literal(data_type, &text),
        (_, Given::Number(_) | Given::Bool(_)) => None,
    }
}

/// Parses a text as a value of a type: a default, or a text where another form is usual. None if it is not
/// valid, or null.
pub fn literal(data_type: DataType, text: &str) -> Option<Value<'static>> {
    match data_type {
        DataType::Text => Some(text.to_owned().into()),
        DataType::Integer => integer(text).map(Value::Int),
        DataType::Float => {
            let number = text.parse::<f64>().ok().filter(|number| number.is_finite())?;
            // Only one zero: the engines disagree about its sign.
            Some(Value::Real(if number == 0.0 { 0.0 } else { number }))
        }
        DataType::Decimal => decimal::plain(text).map(Into::into),
        DataType::Boolean => match text {
            _ if text.eq_ignore_ascii_case("true") => Some(true.into()),
            _ if text.eq_ignore_ascii_case("false") => Some(false.into()),
            _ => None,
        },
        DataType::Date => {
            let is_date =
                text.len() == 10 && text.bytes().filter(|byte| *byte == b'-').count() == 2;
            let time = Timestamp::parse(text).filter(|_| is_date)?;
            Some(Value::Int(time.millis().div_euclid(DAY)))
        }
        DataType::Timestamp => Timestamp::parse(text).map(Into::into),
        DataType::Uuid => parse_uuid(text).map(Value::Uuid),
        DataType::Json => {
            let value = RawValue::from_string(text.to_owned()).ok()?;
            crate::values::json::check(text.as_bytes()).ok()?;
            read(data_type, &value)
        }
    }
}

fn integer(text: &str) -> Option<i64> {
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    let is_whole = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    is_whole.then(|| text.parse().ok()).flatten()
}

/// A number without a fraction, however it is written.
fn whole(number: &str) -> Option<i64> {
    let plain = decimal::plain(number)?;
    let (whole, fraction) = plain.split_once('.').unwrap_or((&plain, ""));
    fraction.bytes().all(|byte| byte == b'0').then(|| whole.parse().ok()).flatten()
}

/// A stored value as text, for the setting that passes a default.
pub fn text(data_type: DataType, value: &Value<'_>) -> String {
    // The year 0 of ISO 8601 is the one before year 1.
    let dated = |text: String| match text.strip_prefix("0000") {
        Some(rest) => format!("0001{rest} BC"),
        None => text,
    };
    match (data_type, value) {
        (DataType::Date, Value::Int(days)) => dated(date(*days)),
        (DataType::Timestamp, Value::Int(millis)) => {
            dated(Timestamp::from_millis(*millis).to_string())
        }
        (_, Value::Text(text) | Value::Json(text)) => text.to_string(),
        (_, Value::Int(number)) => number.to_string(),
        (_, Value::Real(number)) => number.to_string(),
        (_, Value::Bool(value)) => value.to_string(),
        (_, Value::Uuid(id)) => id.to_string(),
        (_, Value::Null | Value::Blob(_) | Value::Uuids(_) | Value::Texts(_) | Value::Ints(_)) => {
            String::new()
        }
    }
}

/// `YYYY-MM-DD` of a day counted from 1970.
pub fn date(days: i64) -> String {
    let mut text = Timestamp::from_millis(days * DAY).to_string();
    text.truncate(10);
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_text(data_type: DataType, text: &str) -> Option<Value<'static>> {
        read(data_type, &RawValue::from_string(text.to_owned()).unwrap())
    }

    #[test]
    fn each_type_takes_its_forms() {
        use DataType::{Boolean, Date, Decimal, Float, Integer, Json, Text, Uuid};
        let day = Value::Int(19_905);
        for (data_type, text, expected) in [
            (Text, "\"é\"", Value::from("é")),
            (Text, "1.50", Value::from("1.50")),
            (Text, "true", Value::from("true")),
            (Integer, "3.0", Value::Int(3)),
            (Integer, "3e2", Value::Int(300)),
            (Integer, "\"+7\"", Value::Int(7)),
            (Integer, "-9223372036854775808", Value::Int(i64::MIN)),
            (Integer, "9223372036854775807", Value::Int(i64::MAX)),
            (Float, "1e3", Value::Real(1000.0)),
            (Float, "\"0.5\"", Value::Real(0.5)),
            (Decimal, "1.50", Value::from("1.50")),
            (Decimal, "\"12345678901234567890.10\"", Value::from("12345678901234567890.10")),
            (Boolean, "\"TRUE\"", Value::Bool(true)),
            (Date, "\"2024-07-01\"", day.clone()),
            (Date, "\"2024-07-01T23:30:00-02:00\"", Value::Int(19_906)),
            (DataType::Timestamp, "\"2024-07-01\"", Value::Int(19_905 * DAY)),
            (DataType::Timestamp, "\"2024-07-01T00:00:00.0019\"", Value::Int(19_905 * DAY + 1)),
            (Json, "{\"a\":[1]}", Value::Json("{\"a\": [1]}".into())),
            (Json, "\"x\"", Value::Json("\"x\"".into())),
        ] {
            assert_eq!(read_text(data_type, text), Some(expected), "{data_type:?} {text}");
        }
        let id = "\"0F8FAD5B-D9CB-469F-A165-70867728950E\"";
        assert!(matches!(read_text(Uuid, id), Some(Value::Uuid(_))));
    }

    #[test]
    fn every_other_form_is_refused() {
        use DataType::{Boolean, Date, Decimal, Float, Integer, Json, Text, Uuid};
        for (data_type, text) in [
            (Text, "{}"),
            (Text, "null"),
            (Text, r#""\ud800""#),
            (Integer, "1.5"),
            (Integer, "\"1.0\""),
            (Integer, "\"abc\""),
            (Integer, "9223372036854775808"),
            (Integer, "true"),
            (Float, "1e400"),
            (Float, "\"NaN\""),
            (Float, "\"inf\""),
            (Decimal, "\"NaN\""),
            (Decimal, "true"),
            (Boolean, "1"),
            (Boolean, "\"yes\""),
            (Date, "\"2024-02-30\""),
            (Date, "20240701"),
            (DataType::Timestamp, "1719792000"),
            (DataType::Timestamp, "\"soon\""),
            (Uuid, "\"0f8fad5bd9cb469fa16570867728950e\""),
            (Json, "null"),
        ] {
            assert_eq!(read_text(data_type, text), None, "{data_type:?} {text}");
        }
    }

    #[test]
    fn defaults_are_literals() {
        use DataType::{Boolean, Date, Decimal, Float, Integer, Json, Text};
        for (data_type, text) in [
            (Integer, "1); DROP TABLE x;--"),
            (Integer, "3.0"),
            (Float, "Infinity"),
            (Boolean, "1"),
            (Date, "2024-07-01T00:00:00Z"),
            (Date, "24-07-0001"),
            (DataType::Timestamp, "now()"),
            (DataType::Uuid, "gen_random_uuid()"),
            (Json, "{"),
            (Json, "null"),
            (Decimal, ""),
        ] {
            assert_eq!(literal(data_type, text), None, "{data_type:?} {text}");
        }
        assert_eq!(literal(Text, "'); DROP--"), Some(Value::from("'); DROP--")));
        assert_eq!(literal(Date, "1970-01-02"), Some(Value::Int(1)));
    }
}
