//! Authenticates a socket. It is registered before the session is checked in the database, so that a session
//! that ends meanwhile closes it.

use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD as BASE64;

use crate::auth::store::sessions;
use crate::error::Result;
use crate::realtime::packet;
use crate::realtime::session::{Identity, Session};
use crate::sockets::client::Flow;
use crate::state::App;
use crate::tenancy::{Bundle, ProjectState};
use crate::values::time::Timestamp;

/// How long to wait for announcements to work, after a start or an outage.
const PATIENCE: Duration = Duration::from_secs(5);

pub(crate) async fn connect(app: &App, session: &Arc<Session>, token: Option<String>) -> Flow {
    if session.state().stage.identity().is_some() {
        return Flow::On;
    }
    if !session.may_try_token() {
        return Flow::Close;
    }
    let Some(token) = token else { return refuse(session, "/", "Unauthorized") };
    let identity = match identify(app, session, &token).await {
        Ok(Some(identity)) => identity,
        Ok(None) => return refuse(session, "/", "Forbidden"),
        Err(_) => return refuse(session, "/", "Unavailable"),
    };
    if tokio::time::timeout(PATIENCE, app.realtime.hearing()).await.is_err() {
        return refuse(session, "/", "Unavailable");
    }
    let most = app.config.realtime.sockets_per_user;
    if !app.realtime.directory().arrive(session, identity.clone(), most) {
        return refuse(session, "/", "Too many connections");
    }
    let refusal = match is_alive(app, identity).await {
        Ok(true) => {
            app.realtime.directory().admit(session);
            return Flow::On;
        }
        Ok(false) => "Forbidden",
        Err(_) => "Unavailable",
    };
    app.realtime.directory().depart(session, app.clock.uptime());
    refuse(session, "/", refusal)
}

/// Tells the client the reason; the connection stays open for a while, so that it may try again.
pub(crate) fn refuse(session: &Session, namespace: &str, message: &str) -> Flow {
    match session.outbox.push(packet::refused(namespace, message)) {
        Ok(()) => Flow::On,
        Err(_) => Flow::Close,
    }
}

/// The user of the token, if it is valid in the connection's project. Keys are not accepted.
async fn identify(app: &App, session: &Session, token: &str) -> Result<Option<Identity>> {
    let Some(id) = session.project else { return Ok(None) };
    let Some(project) = app.projects.get(&app.db, id, app.clock.uptime()).await? else {
        return Ok(None);
    };
    let has_sockets = project.has(Bundle::Chat) || project.live_feeds;
    if project.state != ProjectState::Active || !has_sockets {
        return Ok(None);
    }
    let claims = app.tokens.verify_access(token, id, app.clock.now());
    Ok(claims.map(|claims| Identity {
        project: id,
        user: claims.sub,
        session: claims.sid,
        socket: secret(app),
        expires: Timestamp::from_millis(claims.exp.saturating_mul(1000)),
    }))
}

/// Tokens outlive their session; sockets do not.
async fn is_alive(app: &App, identity: Identity) -> Result<bool> {
    let Identity { project, user, session, .. } = identity;
    app.db.read(move |c| sessions::is_alive(c, project, user, session)).await
}

/// A name that cannot be guessed.
pub(crate) fn secret(app: &App) -> String {
    BASE64.encode(app.random.bytes::<18>())
}
