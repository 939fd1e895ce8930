//! `townhall doctor`: is everything as it should be? Each check is one line of the report; those of `--deep` read
//! everything that is stored. Exit code 1 when anything is wrong.

mod content;
mod reach;

use std::fmt::Write as _;

use db::Db;
use serde_json::{Value, json};

use crate::app::Dependencies;
use crate::cli::{Output, plain};
use crate::config::Config;
use crate::features::server::checks::Finding;
use crate::start;
use crate::transfer::counts;

#[derive(Debug)]
struct Check {
    name: &'static str,
    result: Finding,
}

/// What is asked for beside a look at everything that can be reached.
#[derive(Debug, Clone, Copy)]
pub(super) struct Asked {
    pub(super) deep: bool,
    pub(super) fix: bool,
}

pub(super) fn diagnose(config: &Config, asked: Asked) -> Output {
    let check = |name, result| Check { name, result };
    let mut checks = vec![check("configuration", Ok("readable".to_owned()))];
    checks.extend(reach::ALL.iter().map(|&(name, of)| check(name, of(config))));
    let db = match start::open_database(config) {
        Ok(db) => db,
        Err(error) => {
            checks.push(check("database", Err(error)));
            return report(&checks);
        }
    };
    let schema = reach::schema(&db);
    let is_known = schema.is_ok();
    checks.push(check("database", schema));
    if let Some(result) = reach::cluster(&db) {
        checks.push(check("cluster", result));
    }
    if is_known {
        checks.push(check("storage", reach::storage(config, &db)));
        checks.push(check("clock", reach::clock(&db, Dependencies::real().clock.now())));
        checks.push(check("custom tables", content::tables(&db)));
        if let Some(schedule) = &config.backup {
            let now = Dependencies::real().clock.now();
            checks.push(check("backups", reach::backups(schedule, &db, now)));
        }
    }
    // Damage may be why a schema cannot be read.
    if asked.deep {
        checks.push(check("integrity", content::integrity(&db)));
    }
    if is_known {
        if asked.deep {
            checks.push(check("files", content::files(config, &db)));
            checks.push(check("search", content::search(&db, asked.fix)));
            checks.push(check("audit log", content::audit_log(&db)));
        }
        checks.push(check("counters", counters(&db, asked.fix)));
    }
    report(&checks)
}

fn report(checks: &[Check]) -> Output {
    let mut text = String::new();
    for check in checks {
        let (mark, detail) = match &check.result {
            Ok(detail) => ("ok", detail),
            Err(detail) => ("FAIL", detail),
        };
        let _ = writeln!(text, "{mark:<5} {:<14} {detail}", check.name);
    }
    let json: Vec<Value> = checks
        .iter()
        .map(|check| {
            let status = if check.result.is_ok() { "pass" } else { "fail" };
            let detail = check.result.as_ref().unwrap_or_else(|detail| detail);
            json!({ "check": check.name, "status": status, "detail": detail })
        })
        .collect();
    let failed = checks.iter().any(|check| check.result.is_err());
    let status = if failed { "fail" } else { "pass" };
    Output { text, json: json!({ "status": status, "checks": json }), failed }
}

fn counters(db: &Db, fix: bool) -> Finding {
    counts::counters(db, runtime()?.handle(), fix)
}

fn block_on<T>(work: impl Future<Output = crate::error::Result<T>>) -> Result<T, String> {
    runtime()?.block_on(work).map_err(plain)
}

fn runtime() -> Result<tokio::runtime::Runtime, String> {
    tokio::runtime::Runtime::new().map_err(|error| error.to_string())
}
