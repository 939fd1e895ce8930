//! Operator actions on the push services of a project. Secrets go in and are never shown again.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD as BASE64;
use db::{Conn, Tx};
use serde::Serialize;
use serde_json::{Map, Value};
use url::Url;

use crate::auth::es256;
use crate::auth::sealed::Sealer;
use crate::error::{Error, Result};
pub use crate::features::push::message::Priority;
use crate::features::push::providers::fcm::ServiceAccount;
use crate::features::push::providers::{
    ApnsSettings, FcmSettings, Kind, WebSettings, place, settings_of,
};
use crate::features::push::store;
pub use crate::features::push::template::{DEFAULT, Template, Templates};
use crate::outbound::Target;
use crate::state::{SealedSecret, SealedSecrets};
use crate::tenancy::{self, NOT_FOUND};
use crate::values::ids::ProjectId;
use crate::values::random::Random;
use crate::values::time::Timestamp;

/// The secrets of a project's push services.
pub const SECRETS: SealedSecrets = SealedSecrets {
    list: |c, project| {
        let rows = store::providers(c, project)?.into_iter();
        let secrets = rows.map(|row| {
            let place = place(project, &row.provider);
            SealedSecret { name: row.provider, place, sealed: row.secret }
        });
        Ok(secrets.collect())
    },
    replace: store::renew_secret,
};

/// A service as it is to be stored: what is no secret, and the secret if there is a new one.
#[derive(Debug, Clone)]
pub struct Provider {
    pub kind: Kind,
    pub settings: Value,
    pub secret: Option<String>,
}

/// Web Push with a new key pair. Subscriptions that browsers made for the previous one are void.
pub fn new_vapid_key(subject: &str) -> Result<Provider, String> {
    check_subject(subject)?;
    let (private, public) = es256::generate().ok_or("the key pair could not be made")?;
    let settings = WebSettings { public_key: BASE64.encode(public), subject: subject.to_owned() };
    provider(Kind::Web, &settings, Some(private))
}

/// Web Push with the key pair that it has.
pub fn vapid_subject(known: &WebSettings, subject: &str) -> Result<Provider, String> {
    check_subject(subject)?;
    let settings = WebSettings { subject: subject.to_owned(), ..known.clone() };
    provider(Kind::Web, &settings, None)
}

fn check_subject(subject: &str) -> Result<(), String> {
    let url = Url::parse(subject).ok();
    let fits = url.is_some_and(|url| match url.scheme() {
        "mailto" => url.path().contains('@'),
        "https" => url.has_host(),
        _ => false,
    });
    if fits { Ok(()) } else { Err(format!("`{subject}`: must be mailto:… or https://…")) }
}

/// FCM with the file of a service account.
pub fn fcm(file: &str, url: Option<String>) -> Result<Provider, String> {
    let account = ServiceAccount::read(file)?;
    check_url(url.as_deref())?;
    let settings =
        FcmSettings { project_id: account.project_id, client_email: account.client_email, url };
    provider(Kind::Fcm, &settings, Some(file.to_owned()))
}

/// APNs; a key is needed unless there is one already.
pub fn apns(settings: &ApnsSettings, key: Option<String>) -> Result<Provider, String> {
    for (flag, value) in [
        ("--apns-key-id", &settings.key_id),
        ("--apns-team-id", &settings.team_id),
        ("--apns-topic", &settings.topic),
    ] {
        if value.is_empty() || !value.bytes().all(|b| b.is_ascii_graphic()) {
            return Err(format!("{flag} is missing or holds other characters than ASCII"));
        }
    }
    check_url(settings.url.as_deref())?;
    if let Some(key) = &key {
        es256::sign(key, Some(&settings.key_id), &Value::Null)
            .ok_or("--apns-key: this is no P-256 private key (.p8)")?;
    }
    provider(Kind::Apns, settings, key)
}

fn check_url(url: Option<&str>) -> Result<(), String> {
    let checked = url.map(Target::parse).transpose();
    checked.map(drop).map_err(|error| format!("`{}`: {error}", url.unwrap_or_default()))
}

fn provider(
    kind: Kind,
    settings: &impl Serialize,
    secret: Option<String>,
) -> Result<Provider, String> {
    let settings = serde_json::to_value(settings).map_err(|error| error.to_string())?;
    Ok(Provider { kind, settings, secret })
}

/// Stores a service. Without a new secret it keeps the one it has.
pub fn set(
    tx: &Tx<'_>,
    project: ProjectId,
    provider: &Provider,
    sealed: Option<&[u8]>,
    now: Timestamp,
) -> Result<()> {
    tenancy::store::find(tx, project)?.ok_or(NOT_FOUND)?;
    let name = provider.kind.name();
    let kept = store::find_provider(tx, project, name)?.map(|row| row.secret);
    let secret = sealed.map(ToOwned::to_owned).or(kept);
    let secret = secret.ok_or_else(|| Error::internal(format!("{name} has no key yet")))?;
    store::set_provider(tx, project, name, (&secret, &provider.settings.to_string()), now)
}

pub fn seal(
    sealer: &Sealer,
    project: ProjectId,
    kind: Kind,
    secret: &str,
    random: &Random,
) -> Result<Vec<u8>> {
    sealer.seal(secret, &place(project, kind.name()), random)
}

/// The settings of a service, if it is configured.
pub fn settings<T: serde::de::DeserializeOwned>(
    c: &Conn<'_>,
    project: ProjectId,
    kind: Kind,
) -> Result<Option<T>> {
    let row = store::find_provider(c, project, kind.name())?;
    row.map(|row| settings_of(&row)).transpose()
}

/// The services and templates of a project as operators see them.
pub fn shown(c: &Conn<'_>, project: ProjectId) -> Result<Value> {
    tenancy::store::find(c, project)?.ok_or(NOT_FOUND)?;
    let mut providers = Map::new();
    for row in store::providers(c, project)? {
        let settings: Value = settings_of(&row)?;
        providers.insert(row.provider, settings);
    }
    let mut templates = Map::new();
    for (kind, settings) in store::templates(c, project)? {
        let settings = serde_json::from_str(&settings.0).map_err(Error::internal)?;
        templates.insert(kind, settings);
    }
    Ok(serde_json::json!({
        "projectId": project,
        "providers": providers,
        "templates": templates,
    }))
}

/// Changes the template of a type, or the default of all types.
pub fn change_template(
    tx: &Tx<'_>,
    project: ProjectId,
    kind: &str,
    change: impl FnOnce(&mut Template),
    now: Timestamp,
) -> Result<()> {
    tenancy::store::find(tx, project)?.ok_or(NOT_FOUND)?;
    let mut template = Templates::load(tx, project)?.of(kind);
    change(&mut template);
    let text = serde_json::to_string(&template).map_err(Error::internal)?;
    store::set_template(tx, project, kind, &text, now)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_subject_is_somebody_to_write_to() {
        for good in ["mailto:ops@example.com", "https://example.com/contact"] {
            assert!(check_subject(good).is_ok(), "{good}");
        }
        for bad in ["", "ops@example.com", "mailto:", "http://example.com", "https://"] {
            assert!(check_subject(bad).is_err(), "{bad}");
        }
    }
}
