//! The one task of a node that hears announcements and applies them, in their order.

use tokio::time::MissedTickBehavior;

use crate::app::App;
use crate::realtime::announcement::{Announcement, TOPIC};
use crate::realtime::registry::Ending;
use crate::realtime::session::Identity;
use crate::realtime::{socket, sweep};

/// Hears until the server stops, then ends every connection.
pub(crate) async fn hear(app: App) {
    let mut announcements = match app.db.announcements() {
        Ok(announcements) => announcements,
        Err(error) => {
            tracing::error!(%error, "announcements cannot be heard: there will be no sockets");
            return app.realtime.shut(app.clock.uptime());
        }
    };
    let mut ticks = tokio::time::interval(app.config.realtime.sweep);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut draining = std::pin::pin!(app.draining());
    loop {
        let announced = tokio::select! {
            announced = announcements.next() => announced,
            _ = ticks.tick() => {
                sweep::sweep(&app);
                continue;
            }
            () = draining.as_mut() => break,
        };
        match announced {
            Some(db::Announced::Gap) => app.realtime.start_over(app.clock.uptime()),
            Some(db::Announced::Heard(heard)) if heard.topic == TOPIC => {
                match serde_json::from_str(&heard.text) {
                    Ok(announcement) => apply(&app, announcement),
                    // Of a newer version, perhaps: whatever it was, clients that come back have not missed it.
                    Err(error) => {
                        tracing::error!(%error, "an announcement could not be read");
                        app.realtime.start_over(app.clock.uptime());
                    }
                }
            }
            Some(db::Announced::Heard(_)) => {}
            None => break,
        }
    }
    app.realtime.shut(app.clock.uptime());
}

fn apply(app: &App, announcement: Announcement) {
    let (realtime, now) = (&app.realtime, app.clock.uptime());
    match announcement {
        Announcement::Event { project, mut users, name, payload } => {
            users.sort_unstable();
            users.dedup();
            if let Some(packet) = socket::event_packet(&name, &payload) {
                realtime.deliver(project, &users, &packet, now);
            }
        }
        Announcement::Events { project, name, payloads } => {
            for (user, payload) in payloads {
                if let Some(packet) = socket::event_packet(&name, &payload) {
                    realtime.deliver(project, &[user], &packet, now);
                }
            }
        }
        Announcement::Typing { project, conversation, user, socket, name } => {
            let payload = serde_json::json!({ "userId": user, "conversationId": conversation });
            if let Some(packet) = socket::event_packet(&name, &payload) {
                realtime.relay((project, conversation), &socket, &packet, now);
            }
        }
        Announcement::LeaveRoom { project, conversation, user } => {
            realtime.put_out(project, conversation, user);
        }
        Announcement::SessionEnded { project, user, session } => {
            let is_that = |identity: &Identity| identity.session == session;
            realtime.end_user((project, user), Ending::Dismissed, now, is_that);
        }
        Announcement::SessionsEnded { project, user, spare } => {
            realtime.end_user((project, user), Ending::Dismissed, now, |identity| {
                Some(identity.session) != spare
            });
        }
        Announcement::Suspended { project, user } => {
            realtime.end_user((project, user), Ending::Closed, now, |_| true);
        }
    }
}
