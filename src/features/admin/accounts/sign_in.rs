//! Signing in with a password, and a one-time password where one is set up.

use http::StatusCode;
use http::header::USER_AGENT;
use maud::html;

use crate::audit::{Actor, Entry, INSTALLATION};
use crate::error::{Error, Result, faults};
use crate::features::admin::accounts::{passkeys, place, totp};
use crate::features::admin::layout;
use crate::features::admin::store::{self, OperatorRow, SessionRow};
use crate::features::admin::visit::{Visit, cookie_name, expiry, hash, is_secure};
use crate::http::reply::Response;
use crate::rate_limits::RateLimit;
use crate::values::ids::{OperatorId, OperatorSessionId, new_id};
use crate::values::random::hex;

faults! {
    WRONG = 403 "admin/wrong-credentials": "The address, the password or the code is wrong.";
}

/// Wrong attempts for one account, from anywhere.
const WRONG_ATTEMPTS: RateLimit = RateLimit::per_5_minutes(10);
const LONGEST_AGENT: usize = 200;
/// What a password of somebody unknown is compared with, so that it takes as long.
const NOBODY: &str = "$argon2id$v=19$m=19456,t=2,p=1$c29tZXNhbHRzb21lc2FsdA$vx9rxHU0yAAzxpKwkXXIRyKNFpMhbjnGq7xtTr6FBFg";

pub(super) async fn form(visit: Visit<()>) -> Result<Response> {
    Ok(show(&visit, None))
}

fn show(visit: &Visit<()>, problem: Option<&str>) -> Response {
    let content = html! {
        @if let Some(problem) = problem { p.notice role="alert" { (problem) } }
        form.stack method="post" action="/admin/sign-in" {
            @if let Some(next) = visit.next() { input type="hidden" name="next" value=(next); }
            label { "E-mail address"
                input name="email" type="email" autocomplete="username" required autofocus value=[visit.field("email")]; }
            label { "Password" input name="password" type="password" autocomplete="current-password" required; }
            label { "One-time code, if you have set it up"
                input name="code" inputmode="numeric" autocomplete="one-time-code" pattern="[0-9 ]*"; }
            button { "Sign in" }
        }
        @if passkeys::is_possible(&visit.app) { (passkeys::sign_in_form(visit.next())) }
        p.hint { "No account? An owner can invite you, or run " code { "townhall admin invite" } " on the server." }
    };
    let status = if problem.is_some() { StatusCode::FORBIDDEN } else { StatusCode::OK };
    layout::plain_scripted(status, "Sign in", Some("passkeys.js"), &content)
}

pub(super) async fn submit(visit: Visit<()>) -> Result<Response> {
    match check(&visit).await {
        Ok(operator) => {
            let next = visit.next().unwrap_or("/admin").to_owned();
            start(&visit, operator, &next, "Sign In").await
        }
        Err(Error::Refused(refusal)) if refusal.fault == WRONG => {
            Ok(show(&visit, Some(WRONG.message)))
        }
        Err(error) => Err(error),
    }
}

async fn check(visit: &Visit<()>) -> Result<OperatorId> {
    let email = visit.field("email").unwrap_or_default().to_lowercase();
    let password = visit.field("password").unwrap_or_default().to_owned();
    let (app, key) = (&visit.app, hash(&email));
    let uptime = app.clock.uptime();
    app.limiter.settled(WRONG_ATTEMPTS, "admin sign-in", None, &key).await;
    let counted = app.limiter.count(WRONG_ATTEMPTS, "admin sign-in", None, &key, uptime);
    counted.map_err(Error::RateLimited)?;
    let address = email.clone();
    let found = app.db.read(move |c| store::find_by_email(c, &address));
    let found = db::exactly(found).await?.filter(|operator| operator.disabled_at.is_none());
    let known = found.as_ref().map_or(NOBODY, |operator| &operator.password_hash).to_owned();
    let fits = app.passwords.verify(password, known).await.unwrap_or(false);
    let operator = found.filter(|_| fits).ok_or(WRONG)?;
    check_code(visit, &operator).await?;
    app.limiter.uncount("admin sign-in", None, &key);
    Ok(operator.id)
}

/// A code works once.
async fn check_code(visit: &Visit<()>, operator: &OperatorRow) -> Result<()> {
    let Some(sealed) = &operator.totp_secret else { return Ok(()) };
    let secret = visit.app.sealer.open(sealed, &place(operator.id))?;
    let code = visit.field("code").unwrap_or_default();
    let step = totp::verify(&secret, code, visit.now).ok_or(WRONG)?;
    let id = operator.id;
    let is_new = visit.app.db.write(move |tx| store::use_totp(tx, id, step)).await?;
    if is_new { Ok(()) } else { Err(WRONG.into()) }
}

/// Begins a session and goes to a page; `how` is for the log.
pub(super) async fn start(
    visit: &Visit<()>,
    id: OperatorId,
    next: &str,
    how: &'static str,
) -> Result<Response> {
    let (app, now) = (&visit.app, visit.now);
    let token = hex(&app.random.bytes::<32>());
    let agent = visit.headers.get(USER_AGENT).and_then(|agent| agent.to_str().ok());
    let row = SessionRow {
        id: OperatorSessionId(new_id(now, &app.random)),
        operator_id: id,
        client: visit.client.to_string(),
        agent: agent.unwrap_or_default().chars().take(LONGEST_AGENT).collect(),
        created_at: now,
        used_at: now,
        expires_at: expiry(now, now),
    };
    let (token_hash, client, random) = (hash(&token), visit.client, app.random.clone());
    let started = app.db.write(move |tx| {
        store::insert_session(tx, &token_hash, &row)?;
        let email = store::find(tx, id)?.map(|operator| operator.email).unwrap_or_default();
        let actor = Actor::Operator { id, email: email.clone(), client };
        Ok::<_, Error>(Entry::new(INSTALLATION, &actor, how, email, (now, &random)).write(tx)?)
    });
    started.await?;
    layout::see_other_with_cookie(next, &cookie(visit, &token, "604800"))
}

fn cookie<W>(visit: &Visit<W>, value: &str, age: &str) -> String {
    let secure = if is_secure(&visit.app) { "; Secure" } else { "" };
    let name = cookie_name(&visit.app);
    format!("{name}={value}; Path=/; Max-Age={age}; HttpOnly; SameSite=Strict{secure}")
}

pub(super) async fn sign_out(visit: Visit) -> Result<Response> {
    let (operator, session) = (visit.who.operator.id, visit.who.session.id);
    visit.app.db.write(move |tx| store::end_session(tx, operator, session)).await?;
    layout::see_other_with_cookie("/admin/sign-in", &cookie(&visit, "", "0"))
}
