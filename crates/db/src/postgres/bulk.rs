//! Whole tables: a snapshot that lasts, and rows written by COPY.

use std::pin::pin;

use bytes::{BufMut, BytesMut};
use futures_util::SinkExt as _;
use tokio_postgres::Statement;
use tokio_postgres::types::{IsNull, ToSql as _, Type};

use crate::conn::Failed;
use crate::transfer::{TableName, quoted};
use crate::{Error, Value};

use super::sending::settle;
use super::session::Session;

type Boxed = Box<dyn std::error::Error + Sync + Send>;

const NAME: &str = "transfer";
/// The signature of the binary format, no flags, no extension.
const HEADER: &[u8] = b"PGCOPY\n\xff\r\n\0\0\0\0\0\0\0\0\0";

impl Session {
    pub(crate) fn begin_snapshot(&self) -> Result<(), Error> {
        self.execute_plain("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
    }

    /// Commits do not wait for the disk: the last one does, and all earlier ones with it.
    pub(crate) fn begin_bulk(&self) -> Result<(), Error> {
        self.execute_plain("SET synchronous_commit = off; SET maintenance_work_mem = '256MB'")
    }

    pub(crate) fn end_bulk(&self) -> Result<(), Error> {
        self.execute_plain("SET synchronous_commit = on; SELECT txid_current()")
    }

    pub(crate) fn execute_plain(&self, sql: &str) -> Result<(), Error> {
        self.patiently(NAME, self.client().batch_execute(sql))
    }

    pub(crate) fn insert_all(
        &self,
        table: &TableName,
        columns: &[String],
        rows: &[Vec<Value<'static>>],
    ) -> Result<(), Error> {
        let names: Vec<String> = columns.iter().map(|name| quoted(name)).collect();
        let [select, copy] = statements(&table.quoted(), &names.join(", "));
        let statement = self.patiently(NAME, self.client().prepare(&select))?;
        let encoded = encode(&statement, rows)?;
        let copy = self.patiently(NAME, self.client().prepare(&copy))?;
        self.patiently(NAME, self.copy(&copy, encoded))
    }

    /// Inserts rows in a transaction.
    pub(crate) fn append(
        &self,
        table: &'static str,
        columns: &[&str],
        rows: &[Vec<Value<'_>>],
    ) -> Result<(), Failed> {
        let [select, copy] = statements(table, &columns.join(", "));
        self.watch(table, &copy, &[]);
        self.send_gathered()?;
        self.tell_limit()?;
        let types = self.prepared_as(table, &select, None)?;
        let copy = self.prepared_as(table, &copy, None)?;
        let encoded = encode(&types.statement, rows)?;
        self.send_begin()?;
        let pending = self.pending.take();
        let copied = self.awaited(table, async {
            let settled = settle(pending).await;
            if settled.is_ok() {
                self.copy(&copy.statement, encoded).await?;
            }
            Ok(settled)
        });
        copied.map_err(|failed| failed.unless(types.is_new))?
    }

    async fn copy(&self, copy: &Statement, encoded: BytesMut) -> Result<(), tokio_postgres::Error> {
        let mut sink = pin!(self.client().copy_in(copy).await?);
        sink.send(encoded.freeze()).await?;
        sink.finish().await.map(drop)
    }
}

/// The first tells the types of the columns.
fn statements(table: &str, columns: &str) -> [String; 2] {
    [
        format!("SELECT {columns} FROM {table}"),
        format!("COPY {table} ({columns}) FROM STDIN BINARY"),
    ]
}

fn encode(select: &Statement, rows: &[Vec<Value<'_>>]) -> Result<BytesMut, Error> {
    let types: Vec<&Type> = select.columns().iter().map(|column| column.type_()).collect();
    let mut out = BytesMut::from(HEADER);
    let width = i16::try_from(types.len()).map_err(|error| Error::statement(NAME, error))?;
    for row in rows {
        out.put_i16(width);
        for (value, kind) in row.iter().zip(&types) {
            let at = out.len();
            out.put_i32(-1);
            let written = put(value, kind, &mut out);
            match written.map_err(|error| Error::statement(NAME, error))? {
                IsNull::Yes => {}
                IsNull::No => {
                    let length = i32::try_from(out.len() - at - 4)
                        .map_err(|error| Error::statement(NAME, error))?;
                    out[at..at + 4].copy_from_slice(&length.to_be_bytes());
                }
            }
        }
    }
    out.put_i16(-1);
    Ok(out)
}

/// SQLite knows neither booleans nor UUIDs, and keeps decimals as texts.
fn put(value: &Value<'_>, kind: &Type, out: &mut BytesMut) -> Result<IsNull, Boxed> {
    match (value, kind) {
        (Value::Int(number @ (0 | 1)), &Type::BOOL) => out.put_u8(u8::from(*number == 1)),
        (Value::Blob(bytes), &Type::UUID) if bytes.len() == 16 => out.put_slice(bytes),
        (Value::Text(text), &Type::NUMERIC) => return put_decimal(text, out),
        _ => return value.to_sql(kind, out),
    }
    Ok(IsNull::No)
}

/// A decimal as the server takes it: groups of four digits, the first one's place, the sign, and how many
/// digits are behind the point.
fn put_decimal(text: &str, out: &mut BytesMut) -> Result<IsNull, Boxed> {
    let (negative, digits) = match text.strip_prefix('-') {
        Some(digits) => (true, digits),
        None => (false, text),
    };
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    if !whole.bytes().chain(fraction.bytes()).all(|byte| byte.is_ascii_digit()) {
        return Err(format!("{text} is no decimal").into());
    }
    let padded = format!(
        "{}{whole}{fraction}{}",
        "0".repeat((4 - whole.len() % 4) % 4),
        "0".repeat((4 - fraction.len() % 4) % 4)
    );
    let groups: Vec<i16> = padded
        .as_bytes()
        .chunks(4)
        .map(|group| group.iter().fold(0, |sum, digit| sum * 10 + i16::from(digit - b'0')))
        .collect();
    let weight = i16::try_from(whole.len().div_ceil(4))? - 1;
    out.put_i16(i16::try_from(groups.len())?);
    out.put_i16(weight);
    out.put_u16(if negative { 0x4000 } else { 0 });
    out.put_u16(u16::try_from(fraction.len())?);
    groups.into_iter().for_each(|group| out.put_i16(group));
    Ok(IsNull::No)
}
