//! `townhall routes`: every operation, read from its declaration. The table is Markdown, so that
//! `docs/routes.md` can hold the same text.

use serde_json::{Value, json};

use crate::auth::caller::Credential;
use crate::cli::Output;
use crate::features;
use crate::http::operation::Operation;
use crate::http::version::Version;
use crate::rate_limits::RateLimit;

const HEADER: [&str; 7] =
    ["Method", "Path", "Versions", "Credential", "Rate limit", "Handler", "File"];
const NONE: &str = "-";

pub(super) fn list() -> Output {
    let all = || features::operations().iter().chain(features::pages());
    let rows: Vec<_> = all().map(cells).collect();
    Output::new(table(&rows), all().map(described).collect())
}

fn cells(operation: &Operation) -> [String; 7] {
    let (function, file) = source(operation.handler);
    let versions = versions(operation);
    [
        operation.method.to_string(),
        operation.path.to_owned(),
        if versions.is_empty() { NONE.to_owned() } else { versions.join(" ") },
        credential(operation).unwrap_or_else(|| NONE.to_owned()),
        operation.rate.map_or(NONE.to_owned(), rate),
        function.to_owned(),
        file,
    ]
}

fn described(operation: &Operation) -> Value {
    let (function, file) = source(operation.handler);
    let limit = operation
        .rate
        .map(|rate| json!({ "requests": rate.max, "windowSeconds": rate.window.as_secs() }));
    json!({
        "name": operation.name,
        "method": operation.method.as_str(),
        "path": operation.path,
        "versions": versions(operation),
        "credential": credential(operation),
        "rateLimit": limit,
        "handler": function,
        "file": file,
    })
}

/// None for operations of the server itself, whose path has no version.
fn versions(operation: &Operation) -> Vec<&'static str> {
    let served = |version: &Version| operation.is_project_scoped() && operation.is_in(*version);
    Version::ALL.into_iter().filter(served).map(Version::segment).collect()
}

fn credential(operation: &Operation) -> Option<String> {
    if let Some(audience) = operation.audience {
        return Some(audience.name());
    }
    let name = match operation.credential {
        Credential::Ignored => return None,
        Credential::Optional => "optional",
        Credential::User => "user",
        Credential::UserOrKey => "user or key",
        Credential::Key => "key",
    };
    Some(name.to_owned())
}

fn rate(limit: RateLimit) -> String {
    let seconds = limit.window.as_secs();
    match seconds % 60 {
        0 => format!("{} / {} min", limit.max, seconds / 60),
        _ => format!("{} / {seconds} s", limit.max),
    }
}

/// The name of a handler and its source file, by its path: `townhall::features::auth::refresh::refresh`
/// is in `src/features/auth/refresh.rs`.
fn source(handler: &'static str) -> (&'static str, String) {
    // A generic handler is followed by the types that it is used with.
    let path = handler.split('<').next().unwrap_or(handler);
    let (module, function) = path.rsplit_once("::").unwrap_or(("", path));
    let module = module.split_once("::").map_or("", |(_crate, module)| module);
    let is_folder = env!("FOLDER_MODULES").split(' ').any(|folder| folder == module);
    let end = if is_folder { "/mod.rs" } else { ".rs" };
    (function, format!("src/{}{end}", module.replace("::", "/")))
}

fn table(rows: &[[String; 7]]) -> String {
    let header = HEADER.map(str::to_owned);
    let mut widths = [0; 7];
    for row in std::iter::once(&header).chain(rows) {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = cell.len().max(*width);
        }
    }
    let line = |row: &[String; 7]| {
        let padded = row.iter().zip(widths).map(|(cell, width)| format!("{cell:<width$}"));
        format!("| {} |\n", padded.collect::<Vec<_>>().join(" | "))
    };
    let rule = widths.map(|width| "-".repeat(width));
    [&header, &rule].into_iter().chain(rows).map(line).collect()
}
