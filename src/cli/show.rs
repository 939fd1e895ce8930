//! Commands that only look: `migrate`, `openapi`, `config`, `health`.

use std::fmt::Write as _;
use std::io::{Read as _, Write as _};
use std::net::{TcpStream, ToSocketAddrs as _};
use std::time::Duration;

use serde_json::{Map, Value, json};

use crate::app::Dependencies;
use crate::cli::{CommandResult, Output, distribute};
use crate::config::{Config, Flags};
use crate::features;
use crate::http::openapi;
use crate::http::version::Version;
use crate::schema::MIGRATIONS;
use crate::start;

const HEALTH_TIMEOUT: Duration = Duration::from_secs(5);

pub(super) fn migrations(config: &Config) -> CommandResult {
    let db = start::open_database(config)?;
    let states = db.migration_status(MIGRATIONS).map_err(|error| error.to_string())?;
    let mut text = String::new();
    let mut json = Vec::new();
    for state in states {
        let applied = state.applied_at.map(crate::values::time::Timestamp::from_millis);
        let when = applied.map_or("pending".to_owned(), |time| time.to_string());
        let _ = writeln!(text, "{:04}  {when:<24}  {}", state.version, state.name);
        json.push(json!({ "version": state.version, "name": state.name, "appliedAt": applied }));
    }
    if let Some(layout) = distribute::layout(&db)? {
        let _ = writeln!(text, "tables: {}", distribute::described(&layout));
    }
    Ok(Output::new(text, json.into()))
}

pub(super) fn migrate(config: &Config) -> CommandResult {
    start::prepare_data_dir(config)?;
    let db = start::open_database(config)?;
    let applied = start::migrate(&db, Dependencies::real().clock.now())?;
    let text = format!("{} applied\n", applied.len());
    Ok(Output::new(text, json!({ "applied": applied })))
}

pub(super) fn openapi(version: Option<Version>) -> Output {
    let json = openapi::document(features::operations(), version);
    Output::new(format!("{json:#}\n"), json)
}

pub(super) fn config(config: &Config) -> Output {
    let mut text = String::new();
    let mut json = Map::new();
    for setting in &config.settings {
        let (name, value) = (&setting.variable, &setting.value);
        let _ = writeln!(text, "{name:<32} {value:<48} {}", setting.source);
        json.insert(name.clone(), json!({ "value": value, "source": setting.source.to_string() }));
    }
    Output::new(text, Value::Object(json))
}

/// Plain HTTP, as health checks inside a container are.
pub(super) fn health(url: Option<String>, flags: &Flags) -> CommandResult {
    let url = match url {
        Some(url) => url,
        None => format!("http://{}", Config::load(flags)?.listen),
    };
    let status = ask(&url).map_err(|error| format!("{url} is not ready: {error}"))?;
    if status != 200 {
        return Err(format!("{url} is not ready: /readyz answered {status}"));
    }
    Ok(Output::new("ready\n".to_owned(), json!({ "status": "pass" })))
}

fn ask(url: &str) -> CommandResult<u16> {
    let host = url.strip_prefix("http://").ok_or("the address must begin with http://")?;
    let host = host.split('/').next().unwrap_or_default();
    let with_port = if host.contains(':') { host.to_owned() } else { format!("{host}:80") };
    let plain = |error: std::io::Error| error.to_string();
    let address = with_port.to_socket_addrs().map_err(plain)?.next().ok_or("unknown host")?;
    let mut stream = TcpStream::connect_timeout(&address, HEALTH_TIMEOUT).map_err(plain)?;
    stream.set_read_timeout(Some(HEALTH_TIMEOUT)).map_err(plain)?;
    let request = format!("GET /readyz HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).map_err(plain)?;
    let mut answer = Vec::new();
    stream.take(64 * 1024).read_to_end(&mut answer).map_err(plain)?;
    let answer = String::from_utf8_lossy(&answer);
    let status = answer.split(' ').nth(1).and_then(|status| status.parse().ok());
    status.ok_or_else(|| "no HTTP answer".to_owned())
}
