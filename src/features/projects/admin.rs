//! Operator actions on projects and keys, for the command line and tests. Secrets are returned here once and
//! stored only as hashes.

use db::Tx;

use crate::auth::keys;
use crate::auth::rs256;
use crate::error::{Error, Result, faults};
use crate::tenancy::bundles::missing_prerequisite;
use crate::tenancy::keys::{KeyKind, Scope};
use crate::tenancy::registry::{self, ProjectState};
use crate::tenancy::store::KeyRow;
use crate::tenancy::{Bundle, NOT_FOUND, store};
use crate::values::ids::{KeyId, ProjectId, new_id};
use crate::values::random::Random;
use crate::values::time::Timestamp;

faults! {
    pub BUNDLE_PREREQUISITE_MISSING = 409 "database/bundle-prerequisite-missing":
        "A bundle needs another one";
}

#[derive(Debug, Clone)]
pub struct NewProject {
    pub id: ProjectId,
    pub name: String,
    pub bundles: Vec<Bundle>,
}

#[derive(Debug, Clone)]
pub struct NewKey {
    pub id: KeyId,
    pub kind: KeyKind,
    pub secret: String,
}

#[derive(Debug, Clone)]
pub struct ProjectSecrets {
    pub service: NewKey,
    pub master: NewKey,
    pub jwt: rs256::KeyPair,
}

impl ProjectSecrets {
    /// Generated before the transaction: an RSA pair takes a while.
    pub fn generate(now: Timestamp, random: &Random) -> Result<Self> {
        Ok(ProjectSecrets {
            service: new_key(KeyKind::Service, now, random),
            master: new_key(KeyKind::Master, now, random),
            jwt: generate_jwt_pair()?,
        })
    }
}

pub fn generate_jwt_pair() -> Result<rs256::KeyPair> {
    rs256::generate().ok_or_else(|| Error::internal("the RSA key pair could not be made"))
}

pub fn new_key(kind: KeyKind, now: Timestamp, random: &Random) -> NewKey {
    NewKey { id: KeyId(new_id(now, random)), kind, secret: keys::generate(kind, random) }
}

pub fn create_project(
    tx: &Tx<'_>,
    project: &NewProject,
    secrets: &ProjectSecrets,
    now: Timestamp,
) -> Result<()> {
    check_prerequisites(&project.bundles)?;
    let active = ProjectState::Active.name();
    store::insert(tx, project.id, &project.name, active, &secrets.jwt.public, now)?;
    for bundle in &project.bundles {
        store::add_bundle(tx, project.id, bundle.name())?;
    }
    insert_key(tx, project.id, &secrets.service, &Limits::default(), now)?;
    insert_key(tx, project.id, &secrets.master, &Limits::default(), now)
}

/// What a key is called, and what it is limited to.
#[derive(Debug, Clone, Default)]
pub struct Limits {
    pub label: Option<String>,
    pub scopes: Vec<Scope>,
    pub expires_at: Option<Timestamp>,
}

pub fn add_key(
    tx: &Tx<'_>,
    project: ProjectId,
    key: &NewKey,
    limits: &Limits,
    now: Timestamp,
) -> Result<()> {
    store::find(tx, project)?.ok_or(NOT_FOUND)?;
    insert_key(tx, project, key, limits, now)
}

fn insert_key(
    tx: &Tx<'_>,
    project: ProjectId,
    key: &NewKey,
    limits: &Limits,
    now: Timestamp,
) -> Result<()> {
    let scopes: Vec<String> = limits.scopes.iter().map(ToString::to_string).collect();
    let row = KeyRow {
        id: key.id,
        kind: key.kind.name().to_owned(),
        label: limits.label.clone(),
        hash: keys::hash(&key.secret),
        created_at: now,
        revoked_at: None,
        scopes: scopes.join(" "),
        expires_at: limits.expires_at,
        used_at: None,
    };
    store::insert_key(tx, project, &row)
}

/// Adds and removes bundles; refuses a set in which a bundle lacks one that it requires.
pub fn change_bundles(
    tx: &Tx<'_>,
    project: ProjectId,
    add: &[Bundle],
    remove: &[Bundle],
) -> Result<Vec<Bundle>> {
    registry::load(tx, project)?.ok_or(NOT_FOUND)?;
    for bundle in add {
        store::add_bundle(tx, project, bundle.name())?;
    }
    for bundle in remove {
        store::remove_bundle(tx, project, bundle.name())?;
    }
    let changed = registry::load(tx, project)?.ok_or(NOT_FOUND)?;
    check_prerequisites(&changed.bundles)?;
    Ok(changed.bundles)
}

fn check_prerequisites(bundles: &[Bundle]) -> Result<()> {
    match missing_prerequisite(bundles) {
        None => Ok(()),
        Some((bundle, needed)) => {
            let text = format!("`{}` needs `{}`", bundle.name(), needed.name());
            Err(BUNDLE_PREREQUISITE_MISSING.because(text))
        }
    }
}

/// A page that a browser opens from a mail; empty for none.
pub fn parse_page(text: &str) -> Result<String, String> {
    if text.is_empty() {
        return Ok(String::new());
    }
    match url::Url::parse(text) {
        Ok(url) if ["http", "https"].contains(&url.scheme()) && url.has_host() => Ok(url.into()),
        _ => Err("must be an address such as https://app.example.com/invitation".to_owned()),
    }
}

/// Characters of a text in statements of reasons.
const LONGEST_STATEMENT: usize = 2_000;

/// A text of statements of reasons: it fits into a notification.
pub fn parse_statement(text: &str) -> Result<String, String> {
    let text = text.trim();
    if text.chars().count() > LONGEST_STATEMENT || text.contains('\0') {
        return Err(format!("must have at most {LONGEST_STATEMENT} characters"));
    }
    Ok(text.to_owned())
}

/// Up to a century: beyond, scores would not tell entities apart.
pub fn parse_hours(text: &str) -> Result<f64, String> {
    let hours: f64 = text.parse().map_err(|_| "must be a number of hours".to_owned())?;
    if (0.01..=876_000.0).contains(&hours) {
        Ok(hours)
    } else {
        Err("must be from 0.01 to 876000".to_owned())
    }
}
