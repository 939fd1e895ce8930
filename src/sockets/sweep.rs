//! Connection timeouts: closes connections that miss heartbeats, do not authenticate in time, or whose token
//! has expired. One periodic sweep over all, so that none needs a timer of its own.

use std::sync::Arc;
use std::time::Duration;

use crate::config::RealtimeLimits;
use crate::realtime::packet::Text;
use crate::realtime::registry::Ending;
use crate::realtime::session::{Session, Transport};
use crate::sockets::engine;
use crate::state::App;
use crate::values::time::Timestamp;

/// How long a polling client has to fetch the last packets of its connection.
const LAST_POLL: Duration = Duration::from_secs(10);

enum Due {
    Ping,
    End(Ending),
}

pub(crate) fn sweep(app: &App) {
    let (now, date) = (app.clock.uptime(), app.clock.now());
    let limits = &app.config.realtime;
    let due: Vec<(Arc<Session>, Due)> = {
        let directory = app.realtime.directory();
        let look =
            |session: &Arc<Session>| Some((session.clone(), due(session, limits, now, date)?));
        directory.sessions.values().filter_map(look).collect()
    };
    for (session, due) in due {
        match due {
            Due::End(ending) => app.realtime.end(&session, ending, now),
            Due::Ping if session.outbox.push(Text::from_static(engine::PING)).is_err() => {
                app.realtime.drop_slow(&session, now);
            }
            Due::Ping => {}
        }
    }
}

fn due(session: &Session, limits: &RealtimeLimits, now: Duration, date: Timestamp) -> Option<Due> {
    let mut state = session.state();
    if let Some(ended) = state.ended {
        let is_over = now >= ended + LAST_POLL && state.transport != Transport::WebSocket;
        return is_over.then_some(Due::End(Ending::Cut));
    }
    let is_over = match state.stage.present() {
        None => now >= state.since + limits.connect_timeout,
        Some(identity) => date >= identity.expires.plus(limits.token_grace),
    };
    if is_over {
        return Some(Due::End(Ending::Closed));
    }
    if !state.answered {
        let is_silent = now >= state.pinged + limits.ping_timeout;
        return is_silent.then_some(Due::End(Ending::Cut));
    }
    if now < state.pinged + limits.ping_interval {
        return None;
    }
    state.pinged = now;
    state.answered = false;
    Some(Due::Ping)
}
