//! The settings of a project: bundles, origins, switches.

use maud::{Markup, html};
use serde_json::{Value, json};

use crate::error::Result;
use crate::features::admin::layout::{self, csrf};
use crate::features::admin::visit::{INVALID, Visit};
use crate::features::projects::admin;
use crate::http::cors::parse_origin;
use crate::http::reply::Response;
use crate::tenancy::store::{self, Settings};
use crate::tenancy::{Bundle, Project};

/// A switch of a project: its field, what it says, and where it is.
type Switch = (&'static str, &'static str, fn(&mut Settings) -> &mut bool);

const SWITCHES: [Switch; 11] = [
    ("anonymousPosts", "Entities may be created without a user", |s| &mut s.anonymous_posts),
    ("keysInBrowsers", "Pages in browsers may call with a key", |s| &mut s.keys_in_browsers),
    ("deleteSpaces", "Users may delete the spaces they created", |s| &mut s.deletes_spaces),
    ("keepFilesOfDeleted", "Files of entities that are only out of sight stay", |s| {
        &mut s.keeps_files_of_deleted
    }),
    ("liveFeeds", "Sockets hear of changes in entities and spaces", |s| &mut s.live_feeds),
    ("search", "Content is indexed and searched", |s| &mut s.has_search),
    ("interestMatching", "Users are matched by their interests", |s| &mut s.interest_matching),
    ("interestSamples", "Matches may show samples of what was written", |s| {
        &mut s.interest_samples
    }),
    ("keepFilesOfDeletedEvents", "Files of events that are only out of sight stay", |s| {
        &mut s.keeps_files_of_deleted_events
    }),
    (
        "statementsOfReasons",
        "Authors get a statement of reasons about decisions against them",
        |s| &mut s.statements_of_reasons,
    ),
    ("userGrants", "Users may give reputation to each other", |s| &mut s.user_grants),
];

pub(super) async fn show(visit: Visit) -> Result<Response> {
    let project = visit.project()?.clone();
    let here = format!("/admin/p/{}/settings", project.id);
    let content = html! {
        (switches(&visit, &here, &project))
        section aria-labelledby="bundles" {
            h2 #bundles { "Bundles" }
            form.stack method="post" action=(here) {
                (csrf(&visit)) input type="hidden" name="do" value="bundles";
                @for bundle in Bundle::ALL { label.check {
                    input type="checkbox" name="bundle" value=(bundle.name()) checked[project.has(bundle)];
                    (bundle.name())
                } }
                button { "Save bundles" }
            }
        }
        section aria-labelledby="origins" {
            h2 #origins { "Origins" }
            p { "Pages that may call the API from a browser, one on each line. Without any, all may." }
            form.stack method="post" action=(here) {
                (csrf(&visit)) input type="hidden" name="do" value="origins";
                label { "Origins" textarea name="origins" rows="4" { (project.allowed_origins.join("\n")) } }
                button { "Save origins" }
            }
        }
    };
    Ok(layout::page(&visit, "Settings", &content))
}

fn switches(visit: &Visit, here: &str, project: &Project) -> Markup {
    let mut settings = project.settings();
    html! {
        form.stack method="post" action=(here) {
            (csrf(visit)) input type="hidden" name="do" value="switches";
            @for (name, text, field) in SWITCHES { label.check {
                input type="checkbox" name=(name) value="on" checked[*field(&mut settings)]; (text)
            } }
            label { "Hours in which freshness falls to about a third"
                input name="scoreHours" type="number" min="0.1" max="10000" step="0.1" value=(settings.score_hours); }
            button { "Save" }
        }
    }
}

pub(super) async fn change(visit: Visit) -> Result<Response> {
    let project = visit.project()?.clone();
    let (id, now) = (project.id, visit.now);
    match visit.required("do")? {
        "switches" => {
            let mut settings = project.settings();
            let before = described(settings);
            for (name, _, field) in SWITCHES {
                *field(&mut settings) = visit.field(name).is_some();
            }
            let hours: f64 = visit
                .required("scoreHours")?
                .parse()
                .map_err(|_| INVALID.because("scoreHours is a number."))?;
            if !(0.1..=10_000.0).contains(&hours) {
                return Err(INVALID.because("scoreHours: from 0.1 to 10000."));
            }
            settings.score_hours = hours;
            let entry = visit.entry("Change Settings", id.to_string());
            let entry = entry.change(Some(&before), Some(&described(settings)));
            let changed = visit.write(entry, move |tx| {
                store::set_settings(tx, id, settings, now)?;
                Ok(())
            });
            changed.await?;
        }
        "bundles" => {
            let named: Vec<&str> = visit.fields("bundle").collect();
            let (add, remove): (Vec<Bundle>, Vec<Bundle>) =
                Bundle::ALL.into_iter().partition(|bundle| named.contains(&bundle.name()));
            let names =
                |bundles: &[Bundle]| bundles.iter().map(|bundle| bundle.name()).collect::<Vec<_>>();
            let entry = visit.entry("Change Bundles", id.to_string());
            let entry = entry.change(Some(&names(&project.bundles)), Some(&names(&add)));
            let changed = visit.write(entry, move |tx| {
                admin::change_bundles(tx, id, &add, &remove)?;
                Ok(())
            });
            changed.await?;
        }
        "origins" => {
            let lines = visit.field("origins").unwrap_or_default().lines();
            let lines = lines.map(str::trim).filter(|line| !line.is_empty());
            let origins: Vec<String> = lines
                .map(|line| parse_origin(line).map_err(|why| INVALID.because(why)))
                .collect::<Result<_>>()?;
            let entry = visit.entry("Change Origins", id.to_string());
            let entry = entry.change(Some(&project.allowed_origins), Some(&origins));
            let text = json!(origins).to_string();
            let changed = visit.write(entry, move |tx| {
                store::set_origins(tx, id, &text, now)?;
                Ok(())
            });
            changed.await?;
        }
        _ => return Err(INVALID.into()),
    }
    visit.app.projects.forget(id);
    layout::see_other(&format!("/admin/p/{id}/settings"))
}

fn described(mut settings: Settings) -> Value {
    let mut all: serde_json::Map<String, Value> = SWITCHES
        .into_iter()
        .map(|(name, _, field)| (name.to_owned(), (*field(&mut settings)).into()))
        .collect();
    all.insert("scoreHours".to_owned(), settings.score_hours.into());
    all.into()
}
