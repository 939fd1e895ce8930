//! An operator's own account: password, one-time passwords, passkeys, sessions.

use maud::html;

use crate::error::{Error, Result};
use crate::features::admin::accounts::{check_password, passkeys, place, totp as codes};
use crate::features::admin::layout::{self, csrf, time};
use crate::features::admin::store;
use crate::features::admin::visit::{INVALID, Visit};
use crate::http::reply::Response;
use crate::values::ids::OperatorSessionId;

const PAGE: &str = "/admin/account";

pub(super) async fn show(visit: Visit) -> Result<Response> {
    let (operator, now) = (visit.who.operator.id, visit.now);
    let found = visit.app.db.read(move |c| {
        Ok::<_, Error>((store::sessions(c, operator, now)?, store::passkeys::list(c, operator)?))
    });
    let (sessions, known_passkeys) = found.await?;
    let current = visit.who.session.id;
    let content = html! {
        p { (visit.who.operator.email) }
        section aria-labelledby="password" {
            h2 #password { "Password" }
            form.stack method="post" action="/admin/account/password" {
                (csrf(&visit))
                input type="hidden" autocomplete="username" value=(visit.who.operator.email);
                label { "Current password" input name="current" type="password" autocomplete="current-password" required; }
                label { "New password" input name="password" type="password" autocomplete="new-password" minlength="10" required; }
                button { "Change password" }
            }
        }
        (totp_section(&visit))
        (passkeys::section(&visit, &known_passkeys))
        section aria-labelledby="sessions" {
            h2 #sessions { "Sessions" }
            table {
                thead { tr { th { "Browser" } th { "Address" } th { "Signed in" } th { "Last used" } th { span.hidden { "Actions" } } } }
                tbody { @for session in &sessions { tr {
                    td { (session.agent) @if session.id == current { " (this one)" } }
                    td { (session.client) } td { (time(session.created_at)) } td { (time(session.used_at)) }
                    td { (layout::button(&visit, "/admin/account/sessions", &[("session", &session.id.to_string())], "End")) }
                } } }
            }
            (layout::button(&visit, "/admin/account/sessions", &[("all", "1")], "End all others"))
        }
    };
    Ok(layout::scripted(&visit, "Your account", Some("passkeys.js"), &content))
}

fn totp_section(visit: &Visit) -> maud::Markup {
    html! {
        section aria-labelledby="totp" {
            h2 #totp { "One-time passwords" }
            @if visit.who.operator.totp_secret.is_some() {
                p { "On: signing in needs a code of your authenticator app." }
                form.stack method="post" action="/admin/account/totp" {
                    (csrf(visit)) input type="hidden" name="step" value="off";
                    label { "Current password" input name="current" type="password" autocomplete="current-password" required; }
                    button { "Switch off" }
                }
            } @else {
                p { "Off. Switch them on, so that a stolen password is not enough." }
                form.stack method="post" action="/admin/account/totp" {
                    (csrf(visit)) input type="hidden" name="step" value="begin"; button { "Set up" }
                }
            }
        }
    }
}

/// Refuses somebody who does not know the password, at an operator's open page for instance.
pub(super) async fn check_current(visit: &Visit) -> Result<()> {
    let (given, hash) = (visit.required("current")?, &visit.who.operator.password_hash);
    let fits = visit.app.passwords.verify(given.to_owned(), hash.clone()).await?;
    if fits { Ok(()) } else { Err(INVALID.because("The current password is wrong.")) }
}

pub(super) async fn password(visit: Visit) -> Result<Response> {
    check_current(&visit).await?;
    let password = visit.required("password")?.to_owned();
    check_password(&password)?;
    let hash = visit.app.passwords.hash(password).await?;
    let (operator, session) = (visit.who.operator.id, visit.who.session.id);
    let entry = visit.entry("Change Own Password", visit.who.operator.email.clone());
    let changed = visit.write(entry, move |tx| {
        store::set_password(tx, operator, &hash)?;
        store::end_sessions(tx, operator, Some(session))?;
        Ok(())
    });
    changed.await?;
    layout::see_other(PAGE)
}

/// `begin` shows a secret, `confirm` keeps it once a code of it was entered, `off` removes it.
pub(super) async fn totp(visit: Visit) -> Result<Response> {
    let operator = visit.who.operator.id;
    match visit.required("step")? {
        "begin" => Ok(show_secret(&visit, &codes::new_secret(&visit.app.random), None)),
        "confirm" => {
            let secret = visit.required("secret")?.to_owned();
            let code = visit.field("code").unwrap_or_default();
            let Some(step) = codes::verify(&secret, code, visit.now) else {
                return Ok(show_secret(
                    &visit,
                    &secret,
                    Some("This code does not fit. Try the next one."),
                ));
            };
            let sealed = visit.app.sealer.seal(&secret, &place(operator), &visit.app.random)?;
            let entry =
                visit.entry("Switch On One-Time Passwords", visit.who.operator.email.clone());
            let kept = visit.write(entry, move |tx| {
                store::set_totp(tx, operator, Some(&sealed), step)?;
                Ok(())
            });
            kept.await?;
            layout::see_other(PAGE)
        }
        _ => {
            check_current(&visit).await?;
            let entry =
                visit.entry("Switch Off One-Time Passwords", visit.who.operator.email.clone());
            let removed = visit.write(entry, move |tx| {
                store::set_totp(tx, operator, None, 0)?;
                Ok(())
            });
            removed.await?;
            layout::see_other(PAGE)
        }
    }
}

fn show_secret(visit: &Visit, secret: &str, problem: Option<&str>) -> Response {
    let address = codes::address(secret, &visit.who.operator.email);
    let content = html! {
        @if let Some(problem) = problem { p.notice role="alert" { (problem) } }
        p { "Scan this with an authenticator app, or type the secret into it." }
        @if let Some(code) = codes::qr_code(&address) { (layout::raw(code)) }
        p { code { (secret) } }
        form.stack method="post" action="/admin/account/totp" {
            (csrf(visit))
            input type="hidden" name="step" value="confirm";
            input type="hidden" name="secret" value=(secret);
            label { "The code that the app shows"
                input name="code" inputmode="numeric" autocomplete="one-time-code" required; }
            button { "Switch on" }
        }
    };
    layout::page(visit, "One-time passwords", &content)
}

pub(super) async fn end_session(visit: Visit) -> Result<Response> {
    let (operator, current) = (visit.who.operator.id, visit.who.session.id);
    let one: Option<OperatorSessionId> = visit.field("session").and_then(|id| id.parse().ok());
    let ended = visit.app.db.write(move |tx| match one {
        Some(session) => store::end_session(tx, operator, session).map(drop),
        None => store::end_sessions(tx, operator, Some(current)),
    });
    ended.await?;
    layout::see_other(PAGE)
}
