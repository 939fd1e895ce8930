//! `townhall project oauth …`

use std::fmt::Write as _;
use std::path::PathBuf;

use clap::{Args, Subcommand};
use serde_json::{Value, json};

use crate::cli::{Admin, CommandResult, Output, confirm, project_id};
use crate::features::oauth::provider::{Settings, TokenAuth};
use crate::features::oauth::{admin as providers, store};
use crate::http::address::OAUTH_CALLBACK;
use crate::tenancy::{self, NOT_FOUND};
use crate::values::ids::ProjectId;

#[derive(Debug, Subcommand)]
pub(super) enum OauthCommand {
    /// Set up a provider, or change it: what is not named stays as it is, and an empty value removes it
    Set {
        #[arg(value_parser = project_id)]
        id: ProjectId,
        #[command(flatten)]
        change: Box<ProviderChange>,
    },
    /// The providers of a project, without their secrets
    List {
        #[arg(value_parser = project_id)]
        id: ProjectId,
    },
    /// Remove a provider; identities that users have linked stay
    Remove {
        #[arg(value_parser = project_id)]
        id: ProjectId,
        #[arg(long, value_name = "NAME")]
        provider: String,
        /// Do not ask
        #[arg(long)]
        yes: bool,
    },
}

#[derive(Debug, Args)]
pub(super) struct ProviderChange {
    /// google, github, facebook, apple, or any other name for an OpenID Connect issuer
    #[arg(long, value_name = "NAME")]
    provider: String,
    #[arg(long, value_name = "ID")]
    client_id: Option<String>,
    /// Other users of this machine can see it while the command runs; a file keeps it from them
    #[arg(long, value_name = "SECRET", conflicts_with = "client_secret_file")]
    client_secret: Option<String>,
    /// A file with the client secret; for Apple the private key (.p8)
    #[arg(long, value_name = "FILE")]
    client_secret_file: Option<PathBuf>,
    /// Where the app takes users back; an app must name one of these, character by character
    #[arg(long, value_name = "URI", num_args = 1..)]
    redirect: Vec<String>,
    /// Of an OpenID Connect provider, as its ID tokens spell it
    #[arg(long, value_name = "URL")]
    issuer: Option<String>,
    /// Instead of the address that is known or discovered
    #[arg(long, value_name = "URL")]
    authorize_url: Option<String>,
    /// Instead of the address that is known or discovered
    #[arg(long, value_name = "URL")]
    token_url: Option<String>,
    /// Where a provider without ID tokens shows the profile
    #[arg(long, value_name = "URL")]
    user_url: Option<String>,
    /// Where GitHub lists the e-mail addresses
    #[arg(long, value_name = "URL")]
    emails_url: Option<String>,
    /// Instead of the usual ones, separated by blanks
    #[arg(long)]
    scopes: Option<String>,
    /// How the client authenticates at the token endpoint
    #[arg(long, value_name = "BASIC|POST")]
    token_auth: Option<TokenAuth>,
    /// Apple: the team's id
    #[arg(long, value_name = "ID")]
    team_id: Option<String>,
    /// Apple: the id of the private key
    #[arg(long, value_name = "ID")]
    key_id: Option<String>,
    /// Whether browsers of apps elsewhere come to this server first, which binds the sign-in to them
    #[arg(long, value_name = "BOOL")]
    bind_browser: Option<bool>,
    /// Whether users may sign in with it
    #[arg(long, value_name = "BOOL")]
    enabled: Option<bool>,
}

pub(super) fn run(command: OauthCommand, admin: &Admin) -> CommandResult {
    match command {
        OauthCommand::Set { id, change } => set(admin, id, *change),
        OauthCommand::List { id } => {
            let rows = admin.read(move |c| {
                tenancy::store::find(c, id)?.ok_or(NOT_FOUND)?;
                store::list_providers(c, id)?.into_iter().map(providers::shown).collect()
            })?;
            let rows: Vec<Value> = rows;
            let text = rows.iter().map(|row| described(row, admin)).collect::<Vec<_>>().join("\n");
            Ok(Output::new(text, rows.into()))
        }
        OauthCommand::Remove { id, provider, yes } => {
            confirm("Users can no longer sign in with this provider.", yes)?;
            let name = provider.clone();
            if !admin.write(move |tx| store::delete_provider(tx, id, &name))? {
                return Err(format!("the project has no provider `{provider}`"));
            }
            let json = json!({ "projectId": id, "provider": provider, "removed": true });
            Ok(Output::new(format!("{provider} is removed\n"), json))
        }
    }
}

fn set(admin: &Admin, id: ProjectId, change: ProviderChange) -> CommandResult {
    let name = change.provider.clone();
    providers::check_name(&name)?;
    let secret = match &change.client_secret_file {
        Some(path) => {
            let read = std::fs::read_to_string(path);
            Some(read.map_err(|error| format!("{}: {error}", path.display()))?.trim().to_owned())
        }
        None => change.client_secret.clone(),
    };
    let secret = secret.filter(|secret| !secret.is_empty());
    let found = name.clone();
    let mut settings = admin.read(move |c| providers::settings(c, id, &found))?;
    change.apply(&mut settings);
    providers::check(&name, &settings, secret.as_deref())?;

    let (sealer, random) = (admin.sealer()?, &admin.world.random);
    let seal = |secret: &String| providers::seal(&sealer, id, &name, secret, random);
    let sealed = secret.as_ref().map(seal).transpose().map_err(super::plain)?;
    let (now, stored) = (admin.world.clock.now(), name.clone());
    let row = admin.write(move |tx| {
        providers::set(tx, id, &stored, (&settings, sealed.as_deref()), now)
            .and_then(providers::shown)
    })?;
    Ok(Output::new(described(&row, admin), row))
}

impl ProviderChange {
    fn apply(self, settings: &mut Settings) {
        if let Some(client_id) = self.client_id {
            settings.client_id = client_id;
        }
        if !self.redirect.is_empty() {
            settings.redirect_uris = self.redirect;
        }
        settings.enabled = self.enabled.unwrap_or(settings.enabled);
        settings.bind_browser = self.bind_browser.unwrap_or(settings.bind_browser);
        settings.token_auth = self.token_auth.or(settings.token_auth);
        put(&mut settings.issuer, self.issuer);
        put(&mut settings.authorize_url, self.authorize_url);
        put(&mut settings.token_url, self.token_url);
        put(&mut settings.user_url, self.user_url);
        put(&mut settings.emails_url, self.emails_url);
        put(&mut settings.team_id, self.team_id);
        put(&mut settings.key_id, self.key_id);
        if let Some(scopes) = self.scopes {
            let scopes: Vec<String> = scopes.split_whitespace().map(ToOwned::to_owned).collect();
            settings.scopes = Some(scopes).filter(|scopes| !scopes.is_empty());
        }
    }
}

/// An empty value removes a setting.
fn put(setting: &mut Option<String>, change: Option<String>) {
    if let Some(value) = change {
        *setting = Some(value).filter(|value| !value.is_empty());
    }
}

fn described(provider: &Value, admin: &Admin) -> String {
    let text = |key: &str| match &provider[key] {
        Value::String(text) => text.clone(),
        Value::Array(several) => {
            several.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(" ")
        }
        Value::Null => String::new(),
        other => other.to_string(),
    };
    let mut described = String::new();
    let callback = format!("{}{OAUTH_CALLBACK}", admin.config.public_url);
    for (name, value) in [
        ("provider", text("provider")),
        ("enabled", text("enabled")),
        ("client id", text("clientId")),
        ("client secret", if provider["hasClientSecret"] == true { "set" } else { "none" }.into()),
        ("issuer", text("issuer")),
        ("scopes", text("scopes")),
        ("app returns to", text("redirectUris")),
        ("to be registered at the provider", callback),
    ] {
        if !value.is_empty() {
            let _ = writeln!(described, "{name:<33} {value}");
        }
    }
    described
}
