//! The wording of notifications by mail, for each language, by the rules of `townhall project mail-template`.

use maud::{Markup, html};
use serde_json::{Map, Value, json};

use crate::error::{Error, Result};
use crate::features::admin::fields::{does, lines, text};
use crate::features::admin::layout::{self, csrf};
use crate::features::admin::visit::{INVALID, NOT_FOUND, Visit};
use crate::features::notification_mails::store;
use crate::features::notification_mails::template::{self, Template, check_language};
use crate::features::push::admin::DEFAULT;
use crate::http::query::percent_encode;
use crate::http::reply::Response;

/// The texts of a template, each with its label.
const TEXTS: [(&str, &str); 6] = [
    ("subject", "Subject; {count}, {project} and {name} are replaced"),
    ("greeting", "Before the notifications"),
    ("more", "When there are more"),
    ("footer", "Below"),
    ("unsubscribe", "The link to unsubscribe"),
    ("link", "The page that a notification leads to"),
];

pub(super) async fn show(visit: Visit) -> Result<Response> {
    let project = visit.project()?.id;
    let shown = visit.app.db.read(move |c| template::shown(c, project)).await?;
    let here = format!("/admin/p/{project}/mails");
    let chosen = visit.query("language").unwrap_or(DEFAULT);
    let languages: Vec<&String> =
        shown["templates"].as_object().into_iter().flat_map(Map::keys).collect();
    let content = html! {
        @if shown["notificationMails"] == false {
            p.notice { "No mails are sent: switch them on in the "
                a href={ "/admin/p/" (project) "/settings" } { "settings" } "." }
        }
        p { "What a language leaves open the default says, and then this program, in English." }
        ul { @for language in languages { li { a href={ (here) "?language=" (percent_encode(language)) } { (language) } } } }
        form.search method="get" {
            label { "Language, such as de or pt-BR" input name="language" value=(chosen); }
            button { "Show" }
        }
        section aria-labelledby="texts" {
            h2 #texts { "Texts for " (chosen) }
            (form(&visit, &here, chosen, &shown["templates"][chosen]))
        }
    };
    Ok(layout::page(&visit, "Mails", &content))
}

fn form(visit: &Visit, here: &str, language: &str, known: &Value) -> Markup {
    let types = match &known["types"] {
        Value::Object(types) if !types.is_empty() => {
            serde_json::to_string_pretty(types).unwrap_or_default()
        }
        _ => String::new(),
    };
    html! {
        form.stack method="post" action=(here) {
            (csrf(visit)) (does("set"))
            input type="hidden" name="language" value=(language);
            @for (name, label) in TEXTS { (text(label, name, known[name].as_str())) }
            (lines("HTML around the {content}", "layout", 6, known["layout"].as_str().unwrap_or_default()))
            (lines("Types as JSON: { \"new-follow\": { \"title\": …, \"body\": …, \"link\": … } }", "types", 6, &types))
            button { "Save texts" }
        }
        @if !known.is_null() {
            (layout::button(visit, here, &[("do", "remove"), ("language", language)], "Say the usual texts again"))
        }
    }
}

/// The template that the form holds, as the command line would read it from a file.
fn template(visit: &Visit) -> Result<Template> {
    let mut given = Map::new();
    for (name, _) in TEXTS.iter().chain(&[("layout", "")]) {
        if let Some(text) = visit.field(name) {
            given.insert((*name).to_owned(), json!(text));
        }
    }
    let types = visit.field("types").unwrap_or("{}");
    let types: Value = serde_json::from_str(types)
        .map_err(|error| INVALID.because(format!("The types are no JSON: {error}.")))?;
    given.insert("types".to_owned(), types);
    Template::parse(&Value::from(given).to_string()).map_err(|why| INVALID.because(why))
}

pub(super) async fn change(visit: Visit) -> Result<Response> {
    let (project, now) = (visit.project()?.id, visit.now);
    let language = check_language(visit.field("language").unwrap_or(DEFAULT))
        .map_err(|why| INVALID.because(why))?;
    let new = match visit.required("do")? {
        "set" => Some(template(&visit)?),
        "remove" => None,
        _ => return Err(INVALID.into()),
    };
    let action = if new.is_some() { "Word Mails" } else { "Remove Wording of Mails" };
    let (entry, address) = (visit.entry(action, language.clone()), percent_encode(&language));
    let written = visit.app.db.write(move |tx| {
        let before = template::shown(tx, project)?["templates"][&language].take();
        match &new {
            Some(new) => template::set(tx, project, &language, new, now)?,
            None if !store::delete_template(tx, project, &language)? => {
                return Err(Error::from(NOT_FOUND));
            }
            None => {}
        }
        let before = Some(before).filter(|before| !before.is_null());
        Ok(entry.clone().change(before.as_ref(), new.as_ref()).write(tx)?)
    });
    written.await?;
    layout::see_other(&format!("/admin/p/{project}/mails?language={address}"))
}
