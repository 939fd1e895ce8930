//! Pages of `docs/` that are made from the code: every setting, every error code, every rate limit.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use townhall::config::reference;
use townhall::features;
use townhall::http::dispatch::GENERAL_FAULTS;
use townhall::http::openapi;

use crate::support::assert_generated;

const NOTE: &str =
    "<!-- Generated. Regenerate it with: UPDATE_GENERATED=1 cargo test --test api generated_ -->";

const CONFIGURATION: &str = "
A flag wins over the environment, the environment over `townhall.toml` in the data directory (or `--config FILE`; keys are the
names below in lower case without `TOWNHALL_`), the file over the default. Every variable `X` may also be given as `X_FILE`, a file to
read it from. Everything is checked before anything is written: an invalid value, an unknown `TOWNHALL_…` variable or an unknown key of
the file stops the start with one line that names it. `townhall config` shows every value and where it came from.
";

const CONFIGURATION_END: &str = "
Files in a bucket use the standard `AWS_*` variables (keys, region, `AWS_ENDPOINT_URL`, roles); traces those of OpenTelemetry, which are in
[monitoring](monitoring.md). `RUST_LOG` chooses what is logged: `info`, or such as `warn,townhall::jobs=debug`. What a single project may
change is in [commands](commands.md).

Deleted data is overwritten in the SQLite file (`secure_delete`), and the deletion of a user also empties the write-ahead log: nothing of
their profile is left in the files. One `VACUUM` removes pages that an earlier release left behind. On PostgreSQL the server's own
`VACUUM` decides when deleted rows leave its files; backups and replicas keep them as long as they are kept.
";

#[test]
fn the_configuration_page_has_every_setting() {
    let mut page = format!("# Configuration\n\n{NOTE}\n{CONFIGURATION}\n");
    page.push_str("| variable | default | meaning |\n|---|---|---|\n");
    for setting in reference::settings().unwrap() {
        let (variable, meaning) = (setting.variable, setting.meaning.replace('|', "\\|"));
        let _ = writeln!(page, "| `{variable}` | {} | {meaning} |", setting.default);
    }
    page.push_str(CONFIGURATION_END);
    assert_generated("docs/configuration.md", &page);
}

const CODES: &str = "
Every `code` of a refused request, its statuses, and the operations that reply with it. [Errors](errors.md) says what to do about each
status, [troubleshooting](troubleshooting.md) what lies behind common ones.
";

#[test]
fn the_page_of_error_codes_has_every_code() {
    #[derive(Default)]
    struct Code {
        statuses: BTreeSet<u16>,
        messages: BTreeSet<&'static str>,
        operations: BTreeSet<&'static str>,
    }
    let mut codes: BTreeMap<&str, Code> = BTreeMap::new();
    for operation in features::operations() {
        for fault in openapi::faults(operation) {
            let code = codes.entry(fault.code).or_default();
            code.statuses.insert(fault.status);
            code.messages.insert(fault.message);
            code.operations.insert(operation.name);
        }
    }
    assert!(codes.len() > 100);
    let all = features::operations().len();
    let mut page = format!("# Error codes\n\n{NOTE}\n{CODES}\n");
    page.push_str("| code | status | message | operations |\n|---|---|---|---|\n");
    for (name, code) in codes {
        let statuses: Vec<String> = code.statuses.iter().map(ToString::to_string).collect();
        let messages: Vec<&str> = code.messages.into_iter().collect();
        let is_general = GENERAL_FAULTS.iter().any(|fault| fault.code == name);
        let operations: Vec<&str> = code.operations.iter().copied().collect();
        let operations = match operations.len() {
            _ if is_general => "any".to_owned(),
            many if many * 3 > all => format!("most ({many})"),
            many if many > 12 => format!("{} and {} more", operations[..10].join(", "), many - 10),
            _ => operations.join(", "),
        };
        let _ = writeln!(
            page,
            "| `{name}` | {} | {} | {operations} |",
            statuses.join(", "),
            messages.join("; ").replace('|', "\\|")
        );
    }
    assert_generated("docs/error-codes.md", &page);
}

const LIMITS: &str = "
Requests of one client network in a window, for each project and operation. Keys have no limit. [Errors, paging, rate
limits](errors.md) says how a limit is shown; `TOWNHALL_RATE_LIMITS` switches them off or multiplies them.
";

#[test]
fn the_page_of_rate_limits_has_every_operation() {
    let mut limits: BTreeMap<(u64, u32), BTreeSet<&str>> = BTreeMap::new();
    let mut unlimited = BTreeSet::new();
    for operation in features::operations() {
        match operation.rate {
            Some(rate) => {
                let key = (rate.window.as_secs(), rate.max);
                limits.entry(key).or_default().insert(operation.name);
            }
            None => {
                unlimited.insert(operation.name);
            }
        }
    }
    let mut page = format!("# Rate limits\n\n{NOTE}\n{LIMITS}\n");
    page.push_str("| requests | in | operations |\n|---|---|---|\n");
    for ((seconds, requests), operations) in limits {
        let operations: Vec<&str> = operations.into_iter().collect();
        let minutes = seconds / 60;
        let _ = writeln!(page, "| {requests} | {minutes} minutes | {} |", operations.join(", "));
    }
    let unlimited: Vec<&str> = unlimited.into_iter().collect();
    let _ = writeln!(page, "| no limit | | {} |", unlimited.join(", "));
    assert_generated("docs/rate-limits.md", &page);
}
