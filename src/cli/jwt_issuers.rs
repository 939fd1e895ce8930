//! `townhall project jwt-issuer …`

use std::fmt::Write as _;

use clap::{Args, Subcommand};
use serde_json::{Value, json};

use crate::cli::{Admin, CommandResult, Output, confirm, project_id};
use crate::error::Error;
use crate::features::identities::issuers::{self, Settings};
use crate::features::identities::store::issuers::{self as store, IssuerRow};
use crate::tenancy::{self, NOT_FOUND};
use crate::values::ids::ProjectId;

/// Said instead of an audience.
const ANY: &str = "any";

#[derive(Debug, Subcommand)]
pub(super) enum JwtIssuerCommand {
    /// Trust an issuer, or change what is trusted: what is not named stays as it is
    Set {
        #[arg(value_parser = project_id)]
        id: ProjectId,
        #[command(flatten)]
        change: IssuerChange,
    },
    /// The issuers that a project trusts
    List {
        #[arg(value_parser = project_id)]
        id: ProjectId,
    },
    /// Trust an issuer no longer; its users stay
    Remove {
        #[arg(value_parser = project_id)]
        id: ProjectId,
        #[arg(long, value_name = "ISSUER")]
        issuer: String,
        /// Do not ask
        #[arg(long)]
        yes: bool,
    },
}

#[derive(Debug, Args)]
pub(super) struct IssuerChange {
    /// The `iss` of its tokens, letter by letter
    #[arg(long, value_name = "ISSUER")]
    issuer: String,
    /// Where its public keys are; empty: as its OpenID configuration says
    #[arg(long, value_name = "URL")]
    jwks_url: Option<String>,
    /// The `aud` of tokens for this project, one or several; `any` only if the issuer signs for nobody else
    #[arg(long, value_name = "AUDIENCE", num_args = 1..)]
    audience: Vec<String>,
    /// Which claim fills a field of the user, such as username=preferred_username; an empty claim: none
    #[arg(long, value_name = "FIELD=CLAIM", num_args = 1.., value_parser = claim)]
    claim: Vec<(String, String)>,
    /// Whether addresses count as verified though tokens have no `email_verified`
    #[arg(long, value_name = "BOOL")]
    trust_email: Option<bool>,
}

fn claim(text: &str) -> Result<(String, String), String> {
    let (field, claim) = text.split_once('=').ok_or("write FIELD=CLAIM")?;
    Ok((field.to_owned(), claim.to_owned()))
}

pub(super) fn run(command: JwtIssuerCommand, admin: &Admin) -> CommandResult {
    match command {
        JwtIssuerCommand::Set { id, change } => set(admin, id, change),
        JwtIssuerCommand::List { id } => {
            let rows: Vec<Value> = admin.read(move |c| {
                tenancy::store::find(c, id)?.ok_or(NOT_FOUND)?;
                store::list(c, id)?.into_iter().map(shown).collect()
            })?;
            let text = rows.iter().map(described).collect::<Vec<_>>().join("\n");
            Ok(Output::new(text, rows.into()))
        }
        JwtIssuerCommand::Remove { id, issuer, yes } => {
            confirm("Users of this issuer can no longer sign in.", yes)?;
            let named = issuer.clone();
            if !admin.write(move |tx| store::delete(tx, id, &named))? {
                return Err(format!("the project does not trust `{issuer}`"));
            }
            let json = json!({ "projectId": id, "issuer": issuer, "removed": true });
            Ok(Output::new(format!("{issuer} is removed\n"), json))
        }
    }
}

fn set(admin: &Admin, id: ProjectId, change: IssuerChange) -> CommandResult {
    let issuer = change.issuer.clone();
    let named = issuer.clone();
    let found = admin.read(move |c| {
        tenancy::store::find(c, id)?.ok_or(NOT_FOUND)?;
        issuers::find(c, id, &named)
    })?;
    if found.is_none() && change.audience.is_empty() {
        return Err("--audience is missing: without it, tokens for others would be accepted".into());
    }
    let mut settings = found.map(|found| found.settings).unwrap_or_default();
    change.apply(&mut settings);
    issuers::check(&issuer, &settings)?;
    let now = admin.world.clock.now();
    let row = admin.write(move |tx| {
        let text = serde_json::to_string(&settings).map_err(Error::internal)?;
        store::replace(tx, id, &issuer, &text, now)?;
        store::find(tx, id, &issuer)?.ok_or(NOT_FOUND.into()).and_then(shown)
    })?;
    Ok(Output::new(described(&row), row))
}

impl IssuerChange {
    fn apply(self, settings: &mut Settings) {
        if let Some(url) = self.jwks_url {
            settings.jwks_url = Some(url).filter(|url| !url.is_empty());
        }
        if !self.audience.is_empty() {
            settings.audiences = self.audience;
            settings.audiences.retain(|audience| audience != ANY);
        }
        settings.claims.extend(self.claim);
        settings.trusts_email = self.trust_email.unwrap_or(settings.trusts_email);
    }
}

fn shown(row: IssuerRow) -> crate::error::Result<Value> {
    let mut shown: Value = serde_json::from_str(&row.settings.0).map_err(Error::internal)?;
    shown["issuer"] = row.issuer.into();
    shown["createdAt"] = row.created_at.to_string().into();
    shown["updatedAt"] = row.updated_at.to_string().into();
    Ok(shown)
}

fn described(issuer: &Value) -> String {
    let audiences = issuer["audiences"].as_array().into_iter().flatten().filter_map(Value::as_str);
    let audiences: Vec<&str> = audiences.collect();
    let claims = issuer["claims"].as_object().into_iter().flatten();
    let claims: Vec<String> =
        claims.map(|(f, claim)| format!("{f}={}", claim.as_str().unwrap_or_default())).collect();
    let mut described = String::new();
    for (name, value) in [
        ("issuer", issuer["issuer"].as_str().unwrap_or_default().to_owned()),
        ("keys", issuer["jwksUrl"].as_str().unwrap_or("by discovery").to_owned()),
        ("audience", if audiences.is_empty() { ANY.to_owned() } else { audiences.join(" ") }),
        ("claims", if claims.is_empty() { "the usual ones".to_owned() } else { claims.join(" ") }),
        ("trust email", issuer["trustsEmail"].to_string()),
    ] {
        let _ = writeln!(described, "{name:<12} {value}");
    }
    described
}
