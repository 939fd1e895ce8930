//! Values over the wire, by the type the server expects or delivers. Nothing is guessed: a value that does
//! not fit its parameter is an error.

use std::error::Error as StdError;
use std::fmt;

use bytes::{BufMut, BytesMut};
use tokio_postgres::types::{FromSql, IsNull, ToSql, Type, to_sql_checked};
use uuid::Uuid;

use crate::row::Source;
use crate::{ColumnRef, Value};

type Boxed = Box<dyn StdError + Sync + Send>;
/// JSONB travels as one version byte and the text.
const JSONB_VERSION: u8 = 1;
/// The server counts from 2000, in days and in microseconds; here days and milliseconds are from 1970.
const EPOCH_DAYS: i64 = 10_957;
const EPOCH_MILLIS: i64 = EPOCH_DAYS * 86_400_000;

/// A bound value does not fit the type of its parameter.
#[derive(Debug)]
pub(super) struct WrongValue {
    value: &'static str,
    parameter: Type,
}

impl fmt::Display for WrongValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "a value of kind {} does not fit a parameter of type {}",
            self.value, self.parameter
        )
    }
}

impl StdError for WrongValue {}

impl ToSql for Value<'_> {
    fn to_sql(&self, target: &Type, out: &mut BytesMut) -> Result<IsNull, Boxed> {
        let wrong = || WrongValue { value: self.kind(), parameter: target.clone() };
        match (self, target) {
            (Value::Null, _) => return Ok(IsNull::Yes),
            (Value::Bool(value), &Type::BOOL) => out.put_u8((*value).into()),
            (Value::Int(value), &Type::INT8) => out.put_i64(*value),
            (Value::Int(value), &Type::INT4) => {
                out.put_i32(i32::try_from(*value).map_err(|_| wrong())?);
            }
            (Value::Int(value), &Type::INT2) => {
                out.put_i16(i16::try_from(*value).map_err(|_| wrong())?);
            }
            (Value::Int(millis), &Type::TIMESTAMPTZ) => {
                let micros = millis.checked_sub(EPOCH_MILLIS).and_then(|ms| ms.checked_mul(1000));
                out.put_i64(micros.ok_or_else(wrong)?);
            }
            (Value::Int(days), &Type::DATE) => {
                let days = days.checked_sub(EPOCH_DAYS).and_then(|days| i32::try_from(days).ok());
                out.put_i32(days.ok_or_else(wrong)?);
            }
            (Value::Real(value), &Type::FLOAT8) => out.put_f64(*value),
            (Value::Uuid(value), &Type::UUID) => out.put_slice(value.as_bytes()),
            (Value::Blob(bytes), &Type::BYTEA) => out.put_slice(bytes),
            (Value::Uuids(list), &Type::UUID_ARRAY) => {
                put_list(&Type::UUID, list.iter().map(|uuid| uuid.as_bytes().as_slice()), out)?;
            }
            (Value::Texts(list), &Type::TEXT_ARRAY) => {
                put_list(&Type::TEXT, list.iter().map(|text| text.as_bytes()), out)?;
            }
            (Value::Ints(list), &Type::INT8_ARRAY) => {
                put_list(&Type::INT8, list.iter().map(|value| value.to_be_bytes()), out)?;
            }
            (Value::Text(text) | Value::Json(text), &Type::JSONB) => {
                out.put_u8(JSONB_VERSION);
                out.put_slice(text.as_bytes());
            }
            (
                Value::Text(text) | Value::Json(text),
                &Type::TEXT | &Type::VARCHAR | &Type::BPCHAR | &Type::NAME | &Type::JSON,
            ) => out.put_slice(text.as_bytes()),
            _ => return Err(wrong().into()),
        }
        Ok(IsNull::No)
    }

    fn accepts(_: &Type) -> bool {
        true
    }

    to_sql_checked!();
}

/// An array: its dimensions (none when empty), no nulls, the type, then each element with its length.
fn put_list(
    element: &Type,
    list: impl ExactSizeIterator<Item: AsRef<[u8]>>,
    out: &mut BytesMut,
) -> Result<(), Boxed> {
    let size = i32::try_from(list.len())?;
    out.put_i32((size > 0).into());
    out.put_i32(0);
    out.put_u32(element.oid());
    if size > 0 {
        out.put_i32(size);
        out.put_i32(1);
    }
    for value in list {
        let value = value.as_ref();
        out.put_i32(i32::try_from(value.len())?);
        out.put_slice(value);
    }
    Ok(())
}

/// A column as it came, `Err` with the name of a type this crate does not read.
struct Raw<'a>(Result<ColumnRef<'a>, String>);

impl<'a> FromSql<'a> for Raw<'a> {
    fn from_sql(found: &Type, bytes: &'a [u8]) -> Result<Self, Boxed> {
        let value = match *found {
            Type::BOOL => ColumnRef::Bool(bytes != [0]),
            Type::INT8 => ColumnRef::Int(i64::from_be_bytes(bytes.try_into()?)),
            Type::INT4 => ColumnRef::Int(i32::from_be_bytes(bytes.try_into()?).into()),
            Type::INT2 => ColumnRef::Int(i16::from_be_bytes(bytes.try_into()?).into()),
            Type::FLOAT8 => ColumnRef::Real(f64::from_be_bytes(bytes.try_into()?)),
            Type::TIMESTAMPTZ => {
                let micros = i64::from_be_bytes(bytes.try_into()?);
                ColumnRef::Int(micros.div_euclid(1000) + EPOCH_MILLIS)
            }
            Type::DATE => {
                let days = i32::from_be_bytes(bytes.try_into()?);
                ColumnRef::Int(i64::from(days) + EPOCH_DAYS)
            }
            Type::UUID => ColumnRef::Uuid(Uuid::from_slice(bytes)?),
            Type::BYTEA => ColumnRef::Blob(bytes),
            Type::TEXT | Type::VARCHAR | Type::BPCHAR | Type::NAME => {
                ColumnRef::Text(std::str::from_utf8(bytes)?)
            }
            Type::JSON => ColumnRef::Json(std::str::from_utf8(bytes)?),
            Type::JSONB => match bytes {
                [JSONB_VERSION, text @ ..] => ColumnRef::Json(std::str::from_utf8(text)?),
                _ => return Ok(Raw(Err("jsonb of an unknown version".to_owned()))),
            },
            _ => return Ok(Raw(Err(found.to_string()))),
        };
        Ok(Raw(Ok(value)))
    }

    fn from_sql_null(_: &Type) -> Result<Self, Boxed> {
        Ok(Raw(Ok(ColumnRef::Null)))
    }

    fn accepts(_: &Type) -> bool {
        true
    }
}

impl Source for tokio_postgres::Row {
    fn value(&self, index: usize) -> Result<ColumnRef<'_>, String> {
        match self.try_get::<_, Raw<'_>>(index) {
            Ok(Raw(value)) => value,
            Err(error) => Err(error.to_string()),
        }
    }

    fn name(&self, index: usize) -> String {
        self.columns()
            .get(index)
            .map_or_else(|| format!("#{}", index + 1), |column| column.name().to_owned())
    }

    fn width(&self) -> usize {
        self.len()
    }
}
