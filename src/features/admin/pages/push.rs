//! Push services of a project and the wording of automatic pushes, by the rules of `townhall project push`. Keys go in
//! and never come out.

use maud::{Markup, html};
use serde_json::Value;

use crate::error::{Error, Result};
use crate::features::admin::fields::{self, choice, does, lines, owned, required, text};
use crate::features::admin::layout::{self, csrf, or_dash};
use crate::features::admin::visit::{INVALID, NOT_FOUND, Visit};
use crate::features::push::admin::{self, DEFAULT, Priority, Provider, Template, Templates};
use crate::features::push::providers::{ApnsSettings, Kind, WebSettings};
use crate::features::push::{EventType, store};
use crate::http::reply::Response;

const KINDS: [(Kind, &str); 3] =
    [(Kind::Web, "Web Push (browsers)"), (Kind::Fcm, "FCM (Android)"), (Kind::Apns, "APNs (iOS)")];
/// What a service may show of itself.
const SHOWN: [(&str, &str); 8] = [
    ("publicKey", "Public key"),
    ("subject", "Contact"),
    ("projectId", "Project"),
    ("clientEmail", "Account"),
    ("keyId", "Key id"),
    ("teamId", "Team id"),
    ("topic", "Topic"),
    ("url", "Server"),
];

pub(super) async fn show(visit: Visit) -> Result<Response> {
    let project = visit.project()?.id;
    let found = visit.app.db.read(move |c| {
        Ok::<_, Error>((
            admin::shown(c, project)?["providers"].clone(),
            Templates::load(c, project)?,
        ))
    });
    let (services, templates) = found.await?;
    let here = format!("/admin/p/{project}/push");
    let chosen = visit.query("type").filter(|kind| EventType::from_name(kind).is_some());
    let chosen = chosen.unwrap_or(DEFAULT);
    let content = html! {
        @for (kind, name) in KINDS { (service(&visit, &here, (kind, name), &services[kind.name()])) }
        section aria-labelledby="wording" {
            h2 #wording { "Wording" }
            (wording(&visit, &here, chosen, &templates.of(chosen)))
            table {
                thead { tr { th { "Type" } th { "Pushed" } th { "Title" } th { "Text" } } }
                tbody { @for kind in [DEFAULT].iter().chain(EventType::NAMES) { (row(&here, kind, &templates.of(kind))) } }
            }
        }
    };
    Ok(layout::page(&visit, "Push", &content))
}

fn service(visit: &Visit, here: &str, (kind, name): (Kind, &str), known: &Value) -> Markup {
    let is_set = !known.is_null();
    html! {
        section aria-label=(name) {
            h2 { (name) }
            @if is_set {
                dl { @for (key, label) in SHOWN { @if let Some(value) = known[key].as_str() { dt { (label) } dd { (value) } } } }
                (layout::button(visit, here, &[("do", "remove"), ("service", kind.name())], &format!("Remove {}", kind.name())))
            } @else { p { "Not set up." } }
            details { summary { @if is_set { "Change" } @else { "Set up" } }
                form.stack method="post" action=(here) {
                    (csrf(visit)) (does(kind.name()))
                    (settings(kind, known))
                    button { "Save " (kind.name()) }
                }
            }
        }
    }
}

fn settings(kind: Kind, known: &Value) -> Markup {
    let value = |key: &str| known[key].as_str();
    match kind {
        Kind::Web => html! {
            (required("Contact for push services: mailto:… or https://…", "subject", value("subject")))
            @if known.is_null() { p.hint { "A key pair is made." } }
            @else { (fields::check("Make a new key pair: browsers must subscribe again", "newKey", false)) }
        },
        Kind::Fcm => html! {
            (lines("The file of a service account (JSON)", "account", 4, ""))
            (text("Another server than Google's", "url", value("url")))
        },
        Kind::Apns => html! {
            (lines("The key of the team (.p8; empty: as it is)", "key", 4, ""))
            (required("Key id", "keyId", value("keyId")))
            (required("Team id", "teamId", value("teamId")))
            (required("Topic: the id of the app's bundle", "topic", value("topic")))
            (text("Another server, such as https://api.sandbox.push.apple.com", "url", value("url")))
        },
    }
}

fn answer(enabled: Option<bool>) -> &'static str {
    match enabled {
        Some(true) => "yes",
        Some(false) => "no",
        None => "",
    }
}

fn row(here: &str, kind: &str, template: &Template) -> Markup {
    let usual = EventType::from_name(kind).map(EventType::wording).unwrap_or_default();
    html! { tr {
        td { a href={ (here) "?type=" (kind) "#wording" } { (kind) } }
        td { (or_dash(Some(answer(template.enabled)))) }
        td { (or_dash(Some(template.title.as_deref().unwrap_or(usual.0)))) }
        td { (or_dash(Some(template.body.as_deref().unwrap_or(usual.1)))) }
    } }
}

fn wording(visit: &Visit, here: &str, kind: &str, template: &Template) -> Markup {
    let is_default = kind == DEFAULT;
    let priority = match template.priority {
        Some(Priority::High) => "high",
        Some(Priority::Normal) => "normal",
        None => "",
    };
    html! {
        form.stack method="post" action=(here) {
            (csrf(visit)) (does("wording"))
            input type="hidden" name="type" value=(kind);
            p { @if is_default { "For all types, unless a type says otherwise. Choose a type below." } @else { "For " strong { (kind) } "." } }
            (choice("Pushed by itself", "enabled", &[("", "as usual"), ("yes", "yes"), ("no", "no")], answer(template.enabled)))
            @if !is_default {
                (text("Title; {initiatorName} and other keys are replaced", "title", template.title.as_deref()))
                (text("Text", "body", template.body.as_deref()))
            }
            (text("Sound", "sound", template.sound.as_deref()))
            (text("Notification channel of Android", "channel", template.channel_id.as_deref()))
            (choice("Priority", "priority", &[("", "as usual"), ("high", "high"), ("normal", "normal")], priority))
            button { "Save wording" }
        }
    }
}

pub(super) async fn change(visit: Visit) -> Result<Response> {
    let project = visit.project()?.id;
    match visit.required("do")? {
        "web" => set(&visit, web(&visit).await?).await?,
        "fcm" => {
            let file = visit.required("account")?;
            set(&visit, admin::fcm(file, owned(&visit, "url")).map_err(fields::wrong)?).await?;
        }
        "apns" => set(&visit, apns(&visit)?).await?,
        "remove" => {
            let kind = KINDS.iter().find(|(kind, _)| visit.field("service") == Some(kind.name()));
            let name = kind.ok_or(INVALID)?.0.name();
            let removed = visit.write(visit.entry("Remove Push Service", name), move |tx| {
                if store::delete_provider(tx, project, name)? {
                    Ok(())
                } else {
                    Err(NOT_FOUND.into())
                }
            });
            removed.await?;
        }
        "wording" => return word(&visit).await,
        _ => return Err(INVALID.into()),
    }
    visit.app.projects.forget(project);
    layout::see_other(&format!("/admin/p/{project}/push"))
}

/// With the key pair that there is, unless a new one is asked for.
async fn web(visit: &Visit) -> Result<Provider> {
    let (project, subject) = (visit.project()?.id, visit.required("subject")?);
    let known = visit.app.db.read(move |c| admin::settings::<WebSettings>(c, project, Kind::Web));
    let made = match known.await? {
        Some(known) if visit.field("newKey").is_none() => admin::vapid_subject(&known, subject),
        _ => admin::new_vapid_key(subject),
    };
    made.map_err(fields::wrong)
}

fn apns(visit: &Visit) -> Result<Provider> {
    let settings = ApnsSettings {
        key_id: visit.required("keyId")?.to_owned(),
        team_id: visit.required("teamId")?.to_owned(),
        topic: visit.required("topic")?.to_owned(),
        url: owned(visit, "url"),
    };
    admin::apns(&settings, owned(visit, "key")).map_err(fields::wrong)
}

async fn set(visit: &Visit, provider: Provider) -> Result<()> {
    let (project, now, kind) = (visit.project()?.id, visit.now, provider.kind);
    let seal =
        |secret: &String| admin::seal(&visit.app.sealer, project, kind, secret, &visit.app.random);
    let sealed = provider.secret.as_ref().map(seal).transpose()?;
    let entry = visit.entry("Set Push Service", kind.name());
    let written = visit.app.db.write(move |tx| {
        let before: Option<Value> = admin::settings(tx, project, kind)?;
        if before.is_none() && sealed.is_none() {
            return Err(INVALID.because(format!("{} has no key yet.", kind.name())));
        }
        admin::set(tx, project, &provider, sealed.as_deref(), now)?;
        let entry = entry.clone().change(before.as_ref(), Some(&provider.settings));
        Ok::<_, Error>(entry.write(tx)?)
    });
    written.await
}

async fn word(visit: &Visit) -> Result<Response> {
    let (project, now) = (visit.project()?.id, visit.now);
    let named = visit.field("type").unwrap_or(DEFAULT);
    let kind = EventType::from_name(named).map_or(DEFAULT, EventType::name);
    let new = Template {
        enabled: visit.field("enabled").map(|answer| answer == "yes"),
        title: owned(visit, "title").filter(|_| kind != DEFAULT),
        body: owned(visit, "body").filter(|_| kind != DEFAULT),
        sound: owned(visit, "sound"),
        channel_id: owned(visit, "channel"),
        priority: match visit.field("priority") {
            Some("high") => Some(Priority::High),
            Some("normal") => Some(Priority::Normal),
            _ => None,
        },
    };
    let entry = visit.entry("Word Pushes", kind);
    let written = visit.app.db.write(move |tx| {
        let before = Templates::load(tx, project)?.of(kind);
        admin::change_template(tx, project, kind, |template| *template = new.clone(), now)?;
        Ok::<_, Error>(entry.clone().change(Some(&before), Some(&new)).write(tx)?)
    });
    written.await?;
    layout::see_other(&format!("/admin/p/{project}/push?type={kind}#wording"))
}
