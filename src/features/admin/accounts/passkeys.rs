//! Passkeys of operators: added on one's own account, and another way to sign in. One is a password and a second factor
//! at once, because its owner is verified by the authenticator.

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD as BASE64;
use http::StatusCode;
use maud::{Markup, html};
use serde_json::{Value, json};

use crate::error::{Error, Result, faults};
use crate::features::admin::accounts::webauthn::{self, ALGORITHMS, Assertion, Refused, Site};
use crate::features::admin::accounts::{own_account, sign_in};
use crate::features::admin::layout::{self, csrf, time};
use crate::features::admin::store::passkeys::{self as store, PasskeyRow};
use crate::features::admin::store::{self as operators};
use crate::features::admin::visit::{INVALID, NOT_FOUND, Visit};
use crate::http::reply::{self, Response};
use crate::state::App;
use crate::values::ids::{OperatorId, OperatorPasskeyId, new_id};

faults! {
    NOT_HERE = 400 "admin/no-passkeys": "Passkeys need a public address with a domain and TLS: TOWNHALL_PUBLIC_URL.";
    REFUSED = 403 "admin/passkey-refused": "This passkey was not accepted.";
    KNOWN = 409 "admin/passkey-known": "This passkey is known already.";
}

/// How long a browser may take to ask for a finger.
const VALID: Duration = Duration::from_secs(300);
const MOST: usize = 20;
const LONGEST_NAME: usize = 100;
/// Fields of a form are base64 of short structures.
const LONGEST_FIELD: usize = 16 * 1024;

pub(super) fn is_possible(app: &App) -> bool {
    Site::of(&app.config.public_url).is_some()
}

fn site(app: &App) -> Result<Site> {
    Site::of(&app.config.public_url).ok_or(NOT_HERE.into())
}

fn refused(why: Refused) -> Error {
    tracing::info!(why, "a passkey was refused");
    REFUSED.into()
}

/// A challenge that is stored until it is signed.
async fn new_challenge(app: &App, operator: Option<OperatorId>) -> Result<String> {
    let (challenge, expires) = (app.random.bytes::<32>(), app.clock.now().plus(VALID));
    let stored = app.db.write(move |tx| store::insert_challenge(tx, &challenge, operator, expires));
    stored.await?;
    Ok(BASE64.encode(challenge))
}

/// Takes back a challenge that was given to this operator, or to somebody who signs in.
async fn take_challenge(
    app: &App,
    client_data: &[u8],
    operator: Option<OperatorId>,
) -> Result<Vec<u8>> {
    let challenge = webauthn::challenge(client_data).map_err(refused)?;
    let (taken, now) = (challenge.clone(), app.clock.now());
    let given_to = app.db.write(move |tx| store::take_challenge(tx, &taken, now)).await?;
    if given_to == Some(operator) {
        Ok(challenge)
    } else {
        Err(refused("the challenge is unknown"))
    }
}

fn field<W>(visit: &Visit<W>, name: &str) -> Result<Vec<u8>> {
    let text = visit.field(name).unwrap_or_default();
    let bytes = if text.len() > LONGEST_FIELD { None } else { BASE64.decode(text).ok() };
    bytes.ok_or_else(|| refused("a field is no base64"))
}

fn timeout() -> u128 {
    VALID.as_millis()
}

/// For the page of the account.
pub(super) fn section(visit: &Visit, rows: &[PasskeyRow]) -> Markup {
    let page = "/admin/account/passkeys";
    html! {
        section aria-labelledby="passkeys" {
            h2 #passkeys { "Passkeys" }
            @if !is_possible(&visit.app) { p { (NOT_HERE.message) } }
            @else {
                p { "Sign in with a finger, a face, a PIN or a security key, in place of password and code." }
                @if !rows.is_empty() { table {
                    thead { tr { th { "Name" } th { "Since" } th { "Last used" } th { span.hidden { "Actions" } } } }
                    tbody { @for row in rows { tr {
                        td { (row.name) } td { (time(row.created_at)) }
                        td { @if let Some(at) = row.used_at { (time(at)) } @else { "never" } }
                        td { (layout::button(visit, page, &[("do", "remove"), ("passkey", &row.id.to_string())], "Remove")) }
                    } } }
                } }
                form.stack #new-passkey method="post" action=(page) data-begin="/admin/account/passkeys/begin" {
                    (csrf(visit)) input type="hidden" name="do" value="add";
                    input type="hidden" name="clientData"; input type="hidden" name="attestation";
                    label { "What it is, such as the name of the device" input name="name" required maxlength=(LONGEST_NAME); }
                    label { "Current password" input name="current" type="password" autocomplete="current-password" required; }
                    button { "Add a passkey" }
                    p role="alert" {}
                }
                noscript { p { "Adding a passkey needs JavaScript." } }
            }
        }
    }
}

/// For the page that signs in; shown by the script alone, because nothing of it works without.
pub(super) fn sign_in_form(next: Option<&str>) -> Markup {
    html! {
        form.stack #passkey method="post" action="/admin/sign-in/passkey" data-begin="/admin/sign-in/passkey/begin" hidden {
            @if let Some(next) = next { input type="hidden" name="next" value=(next); }
            @for name in ["credential", "clientData", "authenticatorData", "signature", "userHandle"] {
                input type="hidden" name=(name);
            }
            button.quiet { "Sign in with a passkey" }
            p role="alert" {}
        }
    }
}

/// What the browser needs to make a passkey. Somebody who found an open page does not know the password.
pub(super) async fn begin_adding(visit: Visit) -> Result<Response> {
    let site = site(&visit.app)?;
    own_account::check_current(&visit).await?;
    let operator = &visit.who.operator;
    let id = operator.id;
    let known = visit.app.db.read(move |c| store::list(c, id)).await?;
    if known.len() >= MOST {
        return Err(INVALID.because(format!("There are {MOST} already: remove one first.")));
    }
    let credential = |id: &[u8]| json!({ "type": "public-key", "id": BASE64.encode(id) });
    let known: Vec<Value> = known.iter().map(|row| credential(&row.credential_id)).collect();
    let kinds = ALGORITHMS.map(|algorithm| json!({ "type": "public-key", "alg": algorithm }));
    let options = json!({
        "challenge": new_challenge(&visit.app, Some(id)).await?,
        "rp": { "id": site.id, "name": "Townhall" },
        "user": {
            "id": BASE64.encode(id.0.as_bytes()),
            "name": operator.email,
            "displayName": operator.name,
        },
        "pubKeyCredParams": kinds,
        "excludeCredentials": known,
        "authenticatorSelection": {
            "residentKey": "required", "requireResidentKey": true, "userVerification": "required",
        },
        "attestation": "none",
        "timeout": timeout(),
    });
    reply::json(StatusCode::OK, &options)
}

pub(super) async fn change(visit: Visit) -> Result<Response> {
    match visit.required("do")? {
        "add" => add(&visit).await?,
        "remove" => {
            let id: OperatorPasskeyId =
                visit.required("passkey")?.parse().map_err(|_| Error::from(NOT_FOUND))?;
            let operator = visit.who.operator.id;
            let entry = visit.entry("Remove Passkey", visit.who.operator.email.clone());
            let removed = visit.write(entry, move |tx| {
                if store::delete(tx, operator, id)? { Ok(()) } else { Err(NOT_FOUND.into()) }
            });
            removed.await?;
        }
        _ => return Err(INVALID.into()),
    }
    layout::see_other("/admin/account#passkeys")
}

async fn add(visit: &Visit) -> Result<()> {
    let (site, operator) = (site(&visit.app)?, visit.who.operator.id);
    let name: String = visit.required("name")?.chars().take(LONGEST_NAME).collect();
    let (client_data, attestation) = (field(visit, "clientData")?, field(visit, "attestation")?);
    let challenge = take_challenge(&visit.app, &client_data, Some(operator)).await?;
    let made = webauthn::register(&site, &challenge, &client_data, &attestation);
    let made = made.map_err(refused)?;
    let row = PasskeyRow {
        id: OperatorPasskeyId(new_id(visit.now, &visit.app.random)),
        operator_id: operator,
        credential_id: made.credential_id,
        public_key: made.public_key,
        sign_count: i64::from(made.sign_count),
        name,
        created_at: visit.now,
        used_at: None,
    };
    let entry = visit.entry("Add Passkey", visit.who.operator.email.clone());
    let entry = entry.change(None::<&()>, Some(&row.name));
    let added = visit.write(entry, move |tx| {
        store::insert(tx, &row).map_err(|error| error.on_unique(store::CREDENTIAL, KNOWN))
    });
    added.await
}

/// What the browser needs to sign in. It says nothing of who has a passkey.
pub(super) async fn begin_sign_in(visit: Visit<()>) -> Result<Response> {
    let site = site(&visit.app)?;
    let options = json!({
        "challenge": new_challenge(&visit.app, None).await?,
        "rpId": site.id,
        "userVerification": "required",
        "timeout": timeout(),
    });
    reply::json(StatusCode::OK, &options)
}

pub(super) async fn sign_in(visit: Visit<()>) -> Result<Response> {
    let operator = check(&visit).await?;
    let next = visit.next().unwrap_or("/admin").to_owned();
    sign_in::start(&visit, operator, &next, "Sign In with a Passkey").await
}

async fn check(visit: &Visit<()>) -> Result<OperatorId> {
    let site = site(&visit.app)?;
    let [credential, client_data, authenticator_data, signature] =
        ["credential", "clientData", "authenticatorData", "signature"]
            .map(|name| field(visit, name));
    let (credential, client_data) = (credential?, client_data?);
    let challenge = take_challenge(&visit.app, &client_data, None).await?;
    let found = visit.app.db.read(move |c| {
        let Some(passkey) = store::find(c, &credential)? else { return Ok(None) };
        let operator = operators::find(c, passkey.operator_id)?;
        let operator = operator.filter(|operator| operator.disabled_at.is_none());
        Ok::<_, Error>(operator.map(|_| passkey))
    });
    let passkey = db::exactly(found).await?.ok_or_else(|| refused("nobody has it"))?;
    let handle = field(visit, "userHandle")?;
    if !handle.is_empty() && handle != passkey.operator_id.0.as_bytes() {
        return Err(refused("it names somebody else"));
    }
    let (authenticator_data, signature) = (&*authenticator_data?, &*signature?);
    let assertion = Assertion { client_data: &client_data, authenticator_data, signature };
    let count = assertion.verify(&site, &challenge, &passkey.public_key).map_err(refused)?;
    let (id, now) = (passkey.id, visit.now);
    let used = visit.app.db.write(move |tx| store::use_passkey(tx, id, i64::from(count), now));
    if !used.await? {
        return Err(refused("its counter has not grown: it was copied"));
    }
    Ok(passkey.operator_id)
}
