//! Import: a file of another installation or system into the project. A dry run says what would come and what would be left
//! out; then the owner starts it.

use maud::{Markup, html};
use serde_json::{Value, json};

use crate::error::{Error, Result, faults};
use crate::features::admin::charts::bytes;
use crate::features::admin::fields::choice;
use crate::features::admin::layout::{self, csrf, time};
use crate::features::admin::visit::{INVALID, NOT_FOUND, Visit};
use crate::features::exports::uploads::{
    self, ImportFormat, ImportProject, LIFETIME, Listed, Outcome, UnderWay, Uploaded,
};
use crate::http::multipart::{FileField, Form};
use crate::http::reply::Response;
use crate::values::ids::JobId;

faults! {
    TOO_LARGE = 413 "admin/import-too-large": "The file is larger than 1 GiB: import it with `townhall import` on the machine";
}

const FILE: &str = "file";
const LARGEST: u64 = 1 << 30;

pub(super) static FORM: Form = Form {
    json: &[],
    flags: &[],
    cleared: &[],
    files: &[FileField {
        name: FILE,
        most: 1,
        largest: LARGEST,
        called: None,
        too_large: TOO_LARGE,
        too_many: INVALID,
    }],
    only: true,
    without_bundle: None,
};

const FORMATS: &[(&str, &str)] = &[
    ("jsonl", "Townhall: a download of a project, or export.jsonl"),
    ("csv", "CSV: users, posts or comments, a custom table, or a download as tables"),
    ("wxr", "WordPress: Tools, Export, All content"),
    ("disqus", "Disqus: Community, Export"),
];

fn here(visit: &Visit) -> Result<String> {
    Ok(format!("/admin/p/{}/import", visit.project()?.id))
}

pub(super) async fn show(visit: Visit) -> Result<Response> {
    let (project, here) = (visit.project()?.id, here(&visit)?);
    let listed = visit.app.db.read(move |c| uploads::list(c, project)).await?;
    let content = html! {
        p { "What is in the project already stays as it is, so the same file can be imported again: documents are recognised by their ids "
            "and foreign ids. First comes a dry run, which changes nothing." }
        form.stack method="post" action=(here) enctype="multipart/form-data" {
            (csrf(&visit)) (choice("Format", "format", FORMATS, "jsonl"))
            label { "File, at most 1 GiB, may be compressed with gzip" input type="file" name=(FILE) required; }
            button { "Upload and try" }
        }
        @if !listed.is_empty() {
            section aria-labelledby="imports" {
                h2 #imports { "Imports" }
                p.hint { "A file is kept for three days, what became of it for a week." }
                ol.plain { @for one in &listed { li { (import(&visit, &here, one)) } } }
            }
        }
    };
    Ok(layout::page(&visit, "Import", &content))
}

fn import(visit: &Visit, here: &str, listed: &Listed) -> Markup {
    let Listed { import: ImportProject { job, upload, is_dry_run, by, outcome }, .. } = listed;
    let is_there = upload.expires_at > visit.now;
    html! {
        h3 { @if *is_dry_run { "Dry run" } @else { "Import" } " of " (upload.file_name) }
        p { (upload.format.name()) ", " (bytes(i64::try_from(upload.size).unwrap_or(i64::MAX))) " · " (time(listed.created_at)) " · by " (by) }
        @match outcome {
            None => p role="status" { strong { (state(visit, listed)) } " " a href=(here) { "Look again" } },
            Some(Outcome::Failed(why)) => p.notice role="alert" { "It failed: " (why) },
            Some(Outcome::Report(report)) => {
                (report_of(report))
                @if *is_dry_run && is_there {
                    (layout::button(visit, &format!("{here}/run"), &[("job", &job.to_string())], "Import it"))
                }
            }
        }
    }
}

fn state(visit: &Visit, listed: &Listed) -> String {
    match (visit.app.features.get::<UnderWay>().of(listed.import.job), &listed.failure) {
        (Some((what, count)), _) => format!("Under way: {count} {what} read."),
        (None, Some(why)) => format!("It will be tried again: {why}"),
        (None, None) => "It waits, or another node works on it.".to_owned(),
    }
}

/// What came, what was there, and what was left out or changed and why.
fn report_of(report: &Value) -> Markup {
    let is_dry_run = report["dryRun"] == true;
    let counts = |name: &str| report[name].as_object().into_iter().flatten();
    let reasons = |name: &str| report[name].as_array().into_iter().flatten();
    let is_empty = ["added", "unchanged"].iter().all(|name| counts(name).next().is_none());
    html! {
        @if is_empty { p { "There is nothing in it that can be imported." } }
        @else {
            ul {
                @for (kind, count) in counts("added") {
                    li { (count) " of " (kind) @if is_dry_run { " would be added" } @else { " added" } }
                }
                @for (kind, count) in counts("unchanged") { li { (count) " of " (kind) " were there already" } }
            }
        }
        @for (name, title) in [("leftOut", "Left out"), ("notes", "Changed to fit")] {
            @if reasons(name).next().is_some() {
                details open[name == "leftOut"] { summary { (title) }
                    table {
                        thead { tr { th { "Type" } th { "Why" } th { "How many" } th { "Such as" } } }
                        tbody { @for one in reasons(name) { tr {
                            td { (text(&one["type"])) } td { (text(&one["reason"])) } td { (one["count"]) }
                            td { (examples(&one["examples"])) }
                        } } }
                    }
                }
            }
        }
    }
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

fn examples(value: &Value) -> String {
    let texts = value.as_array().into_iter().flatten().filter_map(Value::as_str);
    texts.collect::<Vec<_>>().join(", ")
}

/// Takes a file, and enqueues its dry run.
pub(super) async fn upload(mut visit: Visit) -> Result<Response> {
    let (project, now) = (visit.project()?.id, visit.now);
    let format = match visit.required("format")? {
        "jsonl" => ImportFormat::Jsonl,
        "csv" => ImportFormat::Csv,
        "wxr" => ImportFormat::Wxr,
        "disqus" => ImportFormat::Disqus,
        _ => return Err(INVALID.into()),
    };
    let file = visit.uploads.take_one(FILE).filter(|file| file.size > 0);
    let file = file.ok_or_else(|| INVALID.because("Choose a file that is not empty."))?;
    let uploaded = Uploaded {
        id: uploads::id(&visit.app, now),
        file_name: file.file_name.clone(),
        size: file.size,
        format,
        expires_at: now.plus(LIFETIME),
    };
    uploaded.store(&visit.app, project, file.path()).await?;
    let enqueued = enqueue(&visit, uploaded.clone(), true).await;
    if enqueued.is_err() {
        uploaded.remove(&visit.app, project).await?;
    }
    enqueued?;
    layout::see_other(&here(&visit)?)
}

/// Starts the import after a dry run.
pub(super) async fn run(visit: Visit) -> Result<Response> {
    let project = visit.project()?.id;
    let job: JobId = visit.required("job")?.parse().map_err(|_| Error::from(NOT_FOUND))?;
    let listed = visit.app.db.read(move |c| uploads::list(c, project)).await?;
    let tried = listed.into_iter().map(|one| one.import).find(|one| one.job == job);
    let tried = tried.ok_or(NOT_FOUND)?;
    if !tried.is_dry_run || !matches!(tried.outcome, Some(Outcome::Report(_))) {
        return Err(INVALID.because("Only what a dry run could read is imported."));
    }
    enqueue(&visit, tried.upload, false).await?;
    layout::see_other(&here(&visit)?)
}

async fn enqueue(visit: &Visit, upload: Uploaded, is_dry_run: bool) -> Result<()> {
    let (project, now) = (visit.project()?.id, visit.now);
    let action = if is_dry_run { "Upload Import" } else { "Import Project" };
    let entry = visit.entry(action, project.to_string());
    let about = json!({ "file": upload.file_name, "format": upload.format, "size": upload.size });
    let entry = entry.change(None::<&()>, Some(&about));
    let by = &visit.who.operator.email;
    let import = ImportProject::new(upload, is_dry_run, by, uploads::id(&visit.app, now));
    let enqueued = visit.write(entry, move |tx| {
        if import.is_dry_run {
            uploads::enqueue_removal(tx, project, &import.upload, now)?;
        }
        uploads::enqueue(tx, project, &import, now)
    });
    enqueued.await
}
