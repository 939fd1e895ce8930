//! Operator actions on the OAuth providers of a project. A secret goes in and is never shown again.

use db::{Conn, Tx};
use serde_json::Value;
use url::Url;

use crate::auth::es256;
use crate::auth::sealed::Sealer;
use crate::error::{Error, Result};
use crate::features::identities::issuers;
use crate::features::oauth::provider::{Famous, Provider, Settings, place};
use crate::features::oauth::store::{self, ProviderRow};
use crate::outbound::Target;
use crate::state::{SealedSecret, SealedSecrets};
use crate::tenancy::{self, NOT_FOUND};
use crate::values::ids::ProjectId;
use crate::values::random::Random;
use crate::values::time::Timestamp;

/// Names of other ways to sign in.
const RESERVED: [&str; 2] = ["external", "password"];
/// Schemes that a browser would run or read, instead of opening an app.
const REFUSED_SCHEMES: [&str; 7] =
    ["javascript", "data", "vbscript", "file", "blob", "about", "view-source"];

/// The settings of a provider, for changing some of them; a new one has the defaults.
pub fn settings(c: &Conn<'_>, project: ProjectId, name: &str) -> Result<Settings> {
    tenancy::store::find(c, project)?.ok_or(NOT_FOUND)?;
    let row = store::find_provider(c, project, name)?.map(Provider::read).transpose()?;
    let new = Settings { enabled: true, ..Settings::default() };
    Ok(row.map_or(new, |provider| provider.settings))
}

/// Stores a provider. Without a new secret it keeps the one it has.
pub fn set(
    tx: &Tx<'_>,
    project: ProjectId,
    name: &str,
    (settings, sealed): (&Settings, Option<&[u8]>),
    now: Timestamp,
) -> Result<ProviderRow> {
    let kept = store::find_provider(tx, project, name)?.and_then(|row| row.client_secret);
    let secret = sealed.map(ToOwned::to_owned).or(kept);
    if secret.is_none() && Famous::from_name(name).is_some() {
        return Err(Error::internal(format!("{name} needs a client secret")));
    }
    let text = serde_json::to_string(settings).map_err(Error::internal)?;
    store::replace_provider(tx, project, name, secret.as_deref(), &text, now)?;
    store::find_provider(tx, project, name)?.ok_or(NOT_FOUND.into())
}

pub fn seal(
    sealer: &Sealer,
    project: ProjectId,
    name: &str,
    secret: &str,
    random: &Random,
) -> Result<Vec<u8>> {
    sealer.seal(secret, &place(project, name), random)
}

/// The client secrets of a project.
pub const SECRETS: SealedSecrets = SealedSecrets {
    list: |c, project| {
        let rows = store::list_providers(c, project)?.into_iter();
        let secrets = rows.filter_map(|row| {
            let place = place(project, &row.provider);
            Some(SealedSecret { name: row.provider, place, sealed: row.client_secret? })
        });
        Ok(secrets.collect())
    },
    replace: store::renew_secret,
};

/// A provider as operators see it.
pub fn shown(row: ProviderRow) -> Result<Value> {
    let (created_at, updated_at) = (row.created_at, row.updated_at);
    let has_secret = row.client_secret.is_some();
    let provider = Provider::read(row)?;
    let mut shown = serde_json::to_value(&provider.settings).map_err(Error::internal)?;
    shown["provider"] = provider.name.as_str().into();
    shown["hasClientSecret"] = has_secret.into();
    shown["issuer"] = provider.issuer().into();
    shown["scopes"] = provider.scopes().split(' ').collect::<Vec<_>>().into();
    shown["createdAt"] = created_at.to_string().into();
    shown["updatedAt"] = updated_at.to_string().into();
    Ok(shown)
}

/// What is wrong with a provider of this name, if anything is.
pub fn check(name: &str, settings: &Settings, secret: Option<&str>) -> Result<(), String> {
    let famous = Famous::from_name(name);
    if settings.client_id.is_empty() {
        return Err("--client-id is missing".to_owned());
    }
    if settings.redirect_uris.is_empty() {
        return Err("--redirect is missing: where users return to in the app".to_owned());
    }
    settings.redirect_uris.iter().try_for_each(|uri| check_redirect(uri))?;
    if famous.is_none() && settings.issuer.is_none() {
        return Err(format!("`{name}` needs --issuer"));
    }
    if let Some(issuer) = &settings.issuer {
        issuers::check_address(issuer)?;
    }
    let addresses =
        [&settings.authorize_url, &settings.token_url, &settings.user_url, &settings.emails_url];
    for url in addresses.into_iter().flatten() {
        Target::parse(url).map_err(|error| format!("`{url}`: {error}"))?;
    }
    let has_discovery = matches!(famous, Some(Famous::Google | Famous::Apple));
    let is_plain = settings.user_url.is_some() && settings.issuer.is_none();
    if has_discovery
        && is_plain
        && (settings.authorize_url.is_none() || settings.token_url.is_none())
    {
        return Err("--user-url needs --authorize-url and --token-url, or --issuer".to_owned());
    }
    match (&settings.team_id, &settings.key_id, secret) {
        (None, None, _) | (Some(_), Some(_), None) => Ok(()),
        (Some(_), Some(key), Some(secret)) => {
            let signed = es256::sign(secret, Some(key), &Value::Null);
            signed.map(drop).ok_or_else(|| "the client secret is no P-256 private key".to_owned())
        }
        _ => Err("--team-id and --key-id go together".to_owned()),
    }
}

pub fn check_name(name: &str) -> Result<(), String> {
    let fits = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-';
    let is_name = (1..=32).contains(&name.len()) && name.bytes().all(fits);
    if is_name && !RESERVED.contains(&name) {
        return Ok(());
    }
    Err(format!(
        "`{name}`: a provider's name has 1 to 32 of a-z, 0-9 and -; {RESERVED:?} are taken"
    ))
}

/// Tokens are put behind it, so it has no fragment of its own.
fn check_redirect(uri: &str) -> Result<(), String> {
    let refused = |why: &str| Err(format!("`{uri}` is no address to return to: {why}"));
    if !uri.bytes().all(|b| b.is_ascii_graphic() && b != b'\\') || uri.len() > 2048 {
        return refused("it has characters that no address may have");
    }
    let Ok(url) = Url::parse(uri) else { return refused("it is not absolute") };
    if REFUSED_SCHEMES.contains(&url.scheme()) {
        return refused("its scheme is not allowed");
    }
    let is_web = matches!(url.scheme(), "http" | "https");
    // A web address without its slashes is read differently by other parsers.
    if is_web && !uri.contains("://") {
        return refused("it has no host");
    }
    if !url.username().is_empty() || url.password().is_some() {
        return refused("it has a user name or password");
    }
    if url.fragment().is_some() {
        return refused("it has a fragment");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_to_return_to_is_absolute_and_harmless() {
        for good in [
            "https://app.example/done",
            "http://localhost:3000/?next=1",
            "myapp://signed-in",
            "com.example.app:/oauth",
        ] {
            assert_eq!(check_redirect(good), Ok(()), "{good}");
        }
        for bad in [
            "",
            "/done",
            "//app.example",
            "https:app.example",
            "https://",
            "https://a b",
            "https://app.example/#x",
            "https://ada@app.example/",
            "javascript:alert(1)",
            "data:text/html,x",
            "https://app.example\\@evil.example",
            "https://ä.example",
        ] {
            assert!(check_redirect(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_name_is_short_plain_and_not_taken() {
        assert!(check_name("keycloak-2").is_ok() && check_name("google").is_ok());
        for bad in ["", "External", "external", "password", "a b", "ä", &"x".repeat(33)] {
            assert!(check_name(bad).is_err(), "{bad}");
        }
    }
}
