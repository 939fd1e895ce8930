//! The settings of a project, all that `townhall project settings` knows: switches, choices, workspaces, bundles, origins.

use maud::{Markup, html};
use serde_json::{Value, json};
use text_index::Language;

use crate::error::Result;
use crate::features::admin::fields::{self, check, choice, does, lines, text};
use crate::features::admin::layout::{self, csrf};
use crate::features::admin::pages::lifecycle;
use crate::features::admin::visit::{INVALID, Visit};
use crate::features::projects::admin;
use crate::http::cors::parse_origin;
use crate::http::reply::Response;
use crate::tenancy::store::{self, Settings, StatementTexts, WorkspaceSettings};
use crate::tenancy::{Bundle, Deletion, Project};

/// A switch of a project: its field, what it says, and where it is.
type Switch = (&'static str, &'static str, fn(&mut Settings) -> &mut bool);

const SWITCHES: [Switch; 13] = [
    ("anonymousPosts", "Entities may be created without a user", |s| &mut s.anonymous_posts),
    ("keysInBrowsers", "Pages in browsers may call with a key", |s| &mut s.keys_in_browsers),
    ("deleteSpaces", "Users may delete the spaces they created", |s| &mut s.deletes_spaces),
    ("keepFilesOfDeleted", "Files of entities that are only out of sight stay", |s| {
        &mut s.keeps_files_of_deleted
    }),
    ("liveFeeds", "Sockets receive events of entities and spaces", |s| &mut s.live_feeds),
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
    (
        "statementsOverApi",
        "Also when the moderators of a space, or a key over the API, decide against them",
        |s| &mut s.statements_over_api,
    ),
    ("userGrants", "Users may give reputation to each other", |s| &mut s.user_grants),
    ("notificationMails", "Users get notifications by mail", |s| &mut s.notification_mails),
];
const DELETIONS: &[(&str, &str)] = &[("hard", "for good"), ("soft", "out of sight")];

pub(super) async fn show(visit: Visit) -> Result<Response> {
    let project = visit.project()?.clone();
    let here = format!("/admin/p/{}/settings", project.id);
    let content = html! {
        (settings(&visit, &here, &project))
        (statements(&visit, &here, &project.statement))
        (workspaces(&visit, &here, &project.workspaces))
        section aria-labelledby="bundles" {
            h2 #bundles { "Bundles" }
            form.stack method="post" action=(here) {
                (csrf(&visit)) (does("bundles"))
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
                (csrf(&visit)) (does("origins"))
                (lines("Origins", "origins", 4, &project.allowed_origins.join("\n")))
                button { "Save origins" }
            }
        }
        (lifecycle::sections(&visit, &project).await?)
    };
    Ok(layout::page(&visit, "Settings", &content))
}

fn settings(visit: &Visit, here: &str, project: &Project) -> Markup {
    let mut settings = project.settings();
    let languages = Language::ALL.map(|language| (language.name(), language.name()));
    let v7 = match settings.v7_auth_forbids {
        None => "",
        Some(false) => "401",
        Some(true) => "403",
    };
    html! {
        form.stack method="post" action=(here) {
            (csrf(visit)) (does("settings"))
            @for (name, text, field) in SWITCHES { (check(text, name, *field(&mut settings))) }
            (choice("A deleted entity goes", "entityDeletion", DELETIONS, settings.entity_deletion))
            (choice("A deleted event goes", "eventDeletion", DELETIONS, settings.event_deletion))
            (choice("Version 7 answers a bad token with", "v7AuthStatus",
                &[("", "what TOWNHALL_V7_AUTH_STATUS says"), ("401", "401"), ("403", "403")], v7))
            (choice("Language of the search; another one rebuilds the index", "searchLanguage", &languages, settings.search_language))
            label { "Hours in which freshness falls to about a third"
                input name="scoreHours" type="number" min="0.01" max="876000" step="0.01" value=(settings.score_hours); }
            button { "Save" }
        }
    }
}

fn statements(visit: &Visit, here: &str, texts: &StatementTexts) -> Markup {
    html! {
        section aria-labelledby="statements" {
            h2 #statements { "Statements of reasons" }
            form.stack method="post" action=(here) {
                (csrf(visit)) (does("statements"))
                (lines("The law or the terms that decisions are based on (empty: your terms and rules)", "ground", 3,
                    texts.ground.as_deref().unwrap_or_default()))
                (lines("Contact for authors (empty: none)", "contact", 2, texts.contact.as_deref().unwrap_or_default()))
                button { "Save statements" }
            }
        }
    }
}

fn workspaces(visit: &Visit, here: &str, settings: &WorkspaceSettings) -> Markup {
    html! {
        section aria-labelledby="workspaces" {
            h2 #workspaces { "Workspaces" }
            form.stack method="post" action=(here) {
                (csrf(visit)) (does("workspaces"))
                (text("Page of the app that invitations lead to (empty: nobody is invited)", "inviteAcceptUrl", settings.invite_accept_url.as_deref()))
                (check("A new workspace inherits from its parent", "inheritDefault", settings.inherits_default))
                (check("Nobody may change what a workspace inherits", "inheritEnforced", settings.inherit_enforced))
                button { "Save workspaces" }
            }
        }
    }
}

pub(super) async fn change(visit: Visit) -> Result<Response> {
    let id = visit.project()?.id;
    match visit.required("do")? {
        "settings" => change_settings(&visit).await?,
        "statements" => change_statements(&visit).await?,
        "workspaces" => change_workspaces(&visit).await?,
        "bundles" => change_bundles(&visit).await?,
        "origins" => change_origins(&visit).await?,
        _ => return Err(INVALID.into()),
    }
    visit.app.projects.forget(id);
    layout::see_other(&format!("/admin/p/{id}/settings"))
}

/// The settings that the form holds.
fn chosen(visit: &Visit, mut settings: Settings) -> Result<Settings> {
    for (name, _, field) in SWITCHES {
        *field(&mut settings) = visit.field(name).is_some();
    }
    let deletion = |name| -> Result<&'static str> {
        Ok(Deletion::from_name(visit.required(name)?).ok_or(INVALID)?.name())
    };
    settings.entity_deletion = deletion("entityDeletion")?;
    settings.event_deletion = deletion("eventDeletion")?;
    settings.v7_auth_forbids = visit.field("v7AuthStatus").map(|status| status == "403");
    let language = Language::from_name(visit.required("searchLanguage")?).ok_or(INVALID)?;
    settings.search_language = language.name();
    let hours = admin::parse_hours(visit.required("scoreHours")?);
    settings.score_hours = hours.map_err(|why| INVALID.because(format!("scoreHours: {why}.")))?;
    Ok(settings)
}

async fn change_settings(visit: &Visit) -> Result<()> {
    let (project, now) = (visit.project()?, visit.now);
    let (id, before) = (project.id, project.settings());
    let settings = chosen(visit, before)?;
    let entry = visit.entry("Change Settings", id.to_string());
    let entry = entry.change(Some(&described(before)), Some(&described(settings)));
    let changed = visit.write(entry, move |tx| store::set_settings(tx, id, settings, now));
    changed.await.map(drop)
}

async fn change_statements(visit: &Visit) -> Result<()> {
    let (project, now) = (visit.project()?, visit.now);
    let text = |name: &str| -> Result<Option<String>> {
        let text = admin::parse_statement(visit.field(name).unwrap_or_default());
        let text = text.map_err(|why| INVALID.because(format!("The {name} {why}.")))?;
        Ok(Some(text).filter(|text| !text.is_empty()))
    };
    let new = StatementTexts { ground: text("ground")?, contact: text("contact")? };
    let shown =
        |texts: &StatementTexts| json!({ "ground": texts.ground, "contact": texts.contact });
    let entry = visit.entry("Change Statements of Reasons", project.id.to_string());
    let entry = entry.change(Some(&shown(&project.statement)), Some(&shown(&new)));
    let id = project.id;
    visit.write(entry, move |tx| store::set_statements(tx, id, &new, now)).await.map(drop)
}

async fn change_workspaces(visit: &Visit) -> Result<()> {
    let (project, now) = (visit.project()?, visit.now);
    let page = admin::parse_page(visit.field("inviteAcceptUrl").unwrap_or_default());
    let page = page.map_err(|why| INVALID.because(format!("The page {why}.")))?;
    let new = WorkspaceSettings {
        invite_accept_url: Some(page).filter(|page| !page.is_empty()),
        inherits_default: visit.field("inheritDefault").is_some(),
        inherit_enforced: visit.field("inheritEnforced").is_some(),
    };
    let shown = |settings: &WorkspaceSettings| {
        json!({
            "inviteAcceptUrl": settings.invite_accept_url,
            "inheritDefault": settings.inherits_default,
            "inheritEnforced": settings.inherit_enforced,
        })
    };
    let entry = visit.entry("Change Settings of Workspaces", project.id.to_string());
    let entry = entry.change(Some(&shown(&project.workspaces)), Some(&shown(&new)));
    let id = project.id;
    visit.write(entry, move |tx| store::set_workspaces(tx, id, &new, now)).await.map(drop)
}

async fn change_bundles(visit: &Visit) -> Result<()> {
    let project = visit.project()?;
    let named: Vec<&str> = visit.fields("bundle").collect();
    let (add, remove): (Vec<Bundle>, Vec<Bundle>) =
        Bundle::ALL.into_iter().partition(|bundle| named.contains(&bundle.name()));
    let names = |bundles: &[Bundle]| bundles.iter().map(|bundle| bundle.name()).collect::<Vec<_>>();
    let entry = visit.entry("Change Bundles", project.id.to_string());
    let entry = entry.change(Some(&names(&project.bundles)), Some(&names(&add)));
    let id = project.id;
    visit.write(entry, move |tx| admin::change_bundles(tx, id, &add, &remove)).await.map(drop)
}

async fn change_origins(visit: &Visit) -> Result<()> {
    let (project, now) = (visit.project()?, visit.now);
    let origins: Vec<String> = fields::of_lines(visit, "origins")
        .iter()
        .map(|line| parse_origin(line).map_err(|why| INVALID.because(why)))
        .collect::<Result<_>>()?;
    let entry = visit.entry("Change Origins", project.id.to_string());
    let entry = entry.change(Some(&project.allowed_origins), Some(&origins));
    let (id, text) = (project.id, json!(origins).to_string());
    visit.write(entry, move |tx| store::set_origins(tx, id, &text, now)).await.map(drop)
}

fn described(mut settings: Settings) -> Value {
    let mut all: serde_json::Map<String, Value> = SWITCHES
        .into_iter()
        .map(|(name, _, field)| (name.to_owned(), (*field(&mut settings)).into()))
        .collect();
    all.insert("scoreHours".to_owned(), settings.score_hours.into());
    all.insert("entityDeletion".to_owned(), settings.entity_deletion.into());
    all.insert("eventDeletion".to_owned(), settings.event_deletion.into());
    all.insert("v7AuthForbids".to_owned(), settings.v7_auth_forbids.into());
    all.insert("searchLanguage".to_owned(), settings.search_language.into());
    all.into()
}
