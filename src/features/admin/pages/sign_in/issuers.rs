//! Issuers of JWTs that a project trusts, by the rules of `townhall project jwt-issuer`.

use std::collections::BTreeMap;

use maud::{Markup, html};

use crate::error::{Error, Result};
use crate::features::admin::fields::{self, check, does, lines, owned, required, text};
use crate::features::admin::layout::{self, csrf};
use crate::features::admin::visit::{INVALID, NOT_FOUND, Visit};
use crate::features::identities::issuers::{self, Settings};
use crate::features::identities::store::issuers::{self as store, IssuerRow};
use crate::http::reply::Response;

/// Said instead of an audience.
const ANY: &str = "any";

pub(super) fn section(visit: &Visit, rows: &[IssuerRow]) -> Result<Markup> {
    let here = format!("/admin/p/{}/issuers", visit.project()?.id);
    let known = rows.iter().map(|row| Ok((row.issuer.as_str(), read(row)?)));
    let known: Vec<(&str, Settings)> = known.collect::<Result<_>>()?;
    Ok(html! {
        section aria-labelledby="issuers" {
            h2 #issuers { "Issuers of JWTs" }
            p { "Users sign in with a token of Auth0, Firebase, Supabase, Clerk, Keycloak and the like." }
            @if known.is_empty() { p { "There is none yet." } }
            @for (issuer, settings) in &known { details {
                summary { (issuer) }
                (form(visit, &here, Some(issuer), settings))
                (layout::button(visit, &here, &[("do", "remove"), ("issuer", issuer)], &format!("Trust {issuer} no longer")))
            } }
            details { summary { "Trust an issuer" } (form(visit, &here, None, &Settings::default())) }
        }
    })
}

fn read(row: &IssuerRow) -> Result<Settings> {
    serde_json::from_str(&row.settings.0).map_err(Error::internal)
}

fn form(visit: &Visit, here: &str, issuer: Option<&str>, settings: &Settings) -> Markup {
    let audiences = match (issuer, settings.audiences.is_empty()) {
        (Some(_), true) => ANY.to_owned(),
        _ => settings.audiences.join("\n"),
    };
    let claims: Vec<String> =
        settings.claims.iter().map(|(field, claim)| format!("{field}={claim}")).collect();
    html! {
        form.stack method="post" action=(here) {
            (csrf(visit)) (does("set"))
            @if let Some(issuer) = issuer { input type="hidden" name="issuer" value=(issuer); }
            @else { (required("Issuer, letter by letter as its tokens have it", "issuer", None)) }
            (text("Where its keys are (empty: by discovery)", "jwksUrl", settings.jwks_url.as_deref()))
            (lines("Audiences, one on each line; `any` only if it signs for nobody else", "audiences", 2, &audiences))
            (lines("Which claim fills a field, such as username=preferred_username", "claims", 3, &claims.join("\n")))
            (check("Addresses count as verified though tokens do not say so", "trustsEmail", settings.trusts_email))
            button { "Save issuer" }
        }
    }
}

fn settings(visit: &Visit) -> Result<Settings> {
    let mut audiences = fields::of_lines(visit, "audiences");
    if audiences.is_empty() {
        return Err(INVALID.because("Without an audience, tokens for others would be accepted."));
    }
    audiences.retain(|audience| audience != ANY);
    let claims = fields::of_lines(visit, "claims").into_iter().map(|line| {
        let pair = line.split_once('=').map(|(field, claim)| (field.to_owned(), claim.to_owned()));
        pair.ok_or_else(|| INVALID.because("Write claims as field=claim."))
    });
    Ok(Settings {
        jwks_url: owned(visit, "jwksUrl"),
        audiences,
        claims: claims.collect::<Result<BTreeMap<_, _>>>()?,
        trusts_email: visit.field("trustsEmail").is_some(),
    })
}

pub(in crate::features::admin) async fn change(visit: Visit) -> Result<Response> {
    let (project, now) = (visit.project()?.id, visit.now);
    let issuer = visit.required("issuer")?.to_owned();
    let new = match visit.required("do")? {
        "set" => Some(settings(&visit)?),
        "remove" => None,
        _ => return Err(INVALID.into()),
    };
    if let Some(new) = &new {
        issuers::check(&issuer, new).map_err(fields::wrong)?;
    }
    let action = if new.is_some() { "Set JWT Issuer" } else { "Remove JWT Issuer" };
    let entry = visit.entry(action, issuer.clone());
    let written = visit.app.db.write(move |tx| {
        let before = store::find(tx, project, &issuer)?.map(|row| read(&row)).transpose()?;
        match &new {
            Some(new) => {
                let text = serde_json::to_string(new).map_err(Error::internal)?;
                store::replace(tx, project, &issuer, &text, now)?;
            }
            None if !store::delete(tx, project, &issuer)? => return Err(Error::from(NOT_FOUND)),
            None => {}
        }
        Ok(entry.clone().change(before.as_ref(), new.as_ref()).write(tx)?)
    });
    written.await?;
    visit.app.projects.forget(project);
    layout::see_other(&format!("/admin/p/{project}/sign-in"))
}
