//! OAuth providers of a project, by the rules of `townhall project oauth`.

use maud::{Markup, html};
use serde_json::Value;

use crate::error::{Error, Result};
use crate::features::admin::fields::{self, check, choice, does, lines, owned, required, text};
use crate::features::admin::layout::{self, csrf};
use crate::features::admin::visit::{INVALID, NOT_FOUND, Visit};
use crate::features::oauth::admin;
use crate::features::oauth::provider::{Famous, Provider, Settings, TokenAuth};
use crate::features::oauth::store::{self, ProviderRow};
use crate::http::address::OAUTH_CALLBACK;
use crate::http::reply::Response;

/// Addresses that replace known or discovered ones, and what Apple needs.
const FURTHER: [(&str, &str); 8] = [
    ("issuer", "Issuer (needed unless it is one of the four)"),
    ("authorizeUrl", "Authorize address, instead of the known one"),
    ("tokenUrl", "Token address"),
    ("userUrl", "Profile address"),
    ("emailsUrl", "Address of the e-mail list (GitHub)"),
    ("teamId", "Apple: team id"),
    ("keyId", "Apple: key id"),
    ("scopes", "Scopes, separated by spaces"),
];

pub(super) fn section(visit: &Visit, providers: &[Value]) -> Result<Markup> {
    let here = format!("/admin/p/{}/oauth", visit.project()?.id);
    let callback = format!("{}{OAUTH_CALLBACK}", visit.app.config.public_url);
    Ok(html! {
        section aria-labelledby="oauth" {
            h2 #oauth { "OAuth providers" }
            p { "Register this address at the provider: " code { (callback) } }
            @if providers.is_empty() { p { "There is none yet." } }
            @for provider in providers { @let name = word(provider, "provider"); details {
                summary { (name) @if provider["enabled"] != true { " (off)" }
                    @if provider["hasClientSecret"] == true { ", secret set" } @else { ", no secret" } }
                (form(visit, &here, provider))
                (layout::button(visit, &here, &[("do", "remove"), ("provider", name)], &format!("Remove {name}")))
            } }
            details { summary { "Set up a provider" } (form(visit, &here, &Value::Null)) }
        }
    })
}

/// A provider as its form shows it: what was set, not what is known by itself.
pub(super) fn stored(row: ProviderRow) -> Result<Value> {
    let has_secret = row.client_secret.is_some();
    let provider = Provider::read(row)?;
    let mut stored = serde_json::to_value(&provider.settings).map_err(Error::internal)?;
    stored["provider"] = provider.name.into();
    stored["hasClientSecret"] = has_secret.into();
    Ok(stored)
}

fn word<'a>(provider: &'a Value, key: &str) -> &'a str {
    provider[key].as_str().unwrap_or_default()
}

fn words(provider: &Value, key: &str, between: &str) -> String {
    let several = provider[key].as_array().into_iter().flatten().filter_map(Value::as_str);
    several.collect::<Vec<_>>().join(between)
}

fn form(visit: &Visit, here: &str, provider: &Value) -> Markup {
    let is_new = provider.is_null();
    let stored = |key: &str| match key {
        "scopes" => Some(words(provider, key, " ")),
        key => provider[key].as_str().map(ToOwned::to_owned),
    };
    html! {
        form.stack method="post" action=(here) {
            (csrf(visit)) (does("set"))
            @if is_new {
                (required("Name: google, github, facebook, apple or another", "provider", None))
            } @else { input type="hidden" name="provider" value=(word(provider, "provider")); }
            (required("Client id", "clientId", provider["clientId"].as_str()))
            (lines("Client secret; for Apple the private key (empty: as it is)", "clientSecret", 2, ""))
            (lines("Where the app takes users back, one on each line", "redirectUris", 2, &words(provider, "redirectUris", "\n")))
            @for (name, label) in FURTHER { (text(label, name, stored(name).as_deref())) }
            (choice("The client authenticates", "tokenAuth",
                &[("", "as is usual"), ("basic", "in the header"), ("post", "in the form")], word(provider, "tokenAuth")))
            (check("Browsers come to this server first, which binds the sign-in to them", "bindBrowser", provider["bindBrowser"] == true))
            (check("Users may sign in with it", "enabled", is_new || provider["enabled"] == true))
            button { "Save provider" }
        }
    }
}

/// The form holds every setting: what is empty is removed.
fn settings(visit: &Visit) -> Settings {
    let scopes = visit.field("scopes").map(|text| text.split_whitespace().map(ToOwned::to_owned));
    Settings {
        client_id: owned(visit, "clientId").unwrap_or_default(),
        redirect_uris: fields::of_lines(visit, "redirectUris"),
        enabled: visit.field("enabled").is_some(),
        scopes: scopes.map(Iterator::collect),
        issuer: owned(visit, "issuer"),
        authorize_url: owned(visit, "authorizeUrl"),
        token_url: owned(visit, "tokenUrl"),
        user_url: owned(visit, "userUrl"),
        emails_url: owned(visit, "emailsUrl"),
        token_auth: match visit.field("tokenAuth") {
            Some("basic") => Some(TokenAuth::Basic),
            Some("post") => Some(TokenAuth::Post),
            _ => None,
        },
        team_id: owned(visit, "teamId"),
        key_id: owned(visit, "keyId"),
        bind_browser: visit.field("bindBrowser").is_some(),
    }
}

pub(in crate::features::admin) async fn change(visit: Visit) -> Result<Response> {
    let project = visit.project()?.id;
    let name = visit.required("provider")?.to_owned();
    match visit.required("do")? {
        "set" => set(&visit, name).await?,
        "remove" => {
            let entry = visit.entry("Remove OAuth Provider", name.clone());
            let removed = visit.app.db.write(move |tx| {
                let row = store::find_provider(tx, project, &name)?.ok_or(NOT_FOUND)?;
                store::delete_provider(tx, project, &name)?;
                let before = admin::shown(row)?;
                Ok::<_, Error>(entry.clone().change(Some(&before), None::<&()>).write(tx)?)
            });
            removed.await?;
        }
        _ => return Err(INVALID.into()),
    }
    visit.app.projects.forget(project);
    layout::see_other(&format!("/admin/p/{project}/sign-in"))
}

async fn set(visit: &Visit, name: String) -> Result<()> {
    let (project, now) = (visit.project()?.id, visit.now);
    admin::check_name(&name).map_err(fields::wrong)?;
    let (settings, secret) = (settings(visit), visit.field("clientSecret"));
    admin::check(&name, &settings, secret).map_err(fields::wrong)?;
    let (sealer, random) = (&visit.app.sealer, &visit.app.random);
    let sealed = secret.map(|secret| admin::seal(sealer, project, &name, secret, random));
    let sealed = sealed.transpose()?;
    let entry = visit.entry("Set OAuth Provider", name.clone());
    let written = visit.app.db.write(move |tx| {
        let known = store::find_provider(tx, project, &name)?;
        let has_secret =
            sealed.is_some() || known.as_ref().is_some_and(|row| row.client_secret.is_some());
        if !has_secret && Famous::from_name(&name).is_some() {
            return Err(INVALID.because(format!("{name} needs a client secret.")));
        }
        let before = known.map(admin::shown).transpose()?;
        let row = admin::set(tx, project, &name, (&settings, sealed.as_deref()), now)?;
        let entry = entry.clone().change(before.as_ref(), Some(&admin::shown(row)?));
        Ok::<_, Error>(entry.write(tx)?)
    });
    written.await
}
