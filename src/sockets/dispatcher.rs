//! The one task of each node that receives announcements and applies them in order.

use tokio::time::MissedTickBehavior;

use crate::error::{Error, Result};
use crate::realtime::packet;
use crate::realtime::registry::Ending;
use crate::realtime::session::Identity;
use crate::realtime::{Announcement, Change, TOPIC};
use crate::sockets::audience::Audiences;
use crate::sockets::sweep;
use crate::state::App;

/// Runs until the server stops, then closes every connection.
pub(crate) async fn dispatch(app: App) {
    let mut announcements = match app.db.announcements() {
        Ok(announcements) => announcements,
        Err(error) => {
            tracing::error!(%error, "announcements cannot be received: sockets are refused");
            return app.realtime.shut(app.clock.uptime());
        }
    };
    let mut ticks = tokio::time::interval(app.config.realtime.sweep);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut draining = std::pin::pin!(app.draining());
    let mut audiences = Audiences::default();
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
            Some(db::Announced::Gap) => start_over(&app, &mut audiences),
            Some(db::Announced::Heard(heard)) if heard.topic == TOPIC => {
                let applied = match serde_json::from_str(&heard.text) {
                    Ok(announcement) => apply(&app, &mut audiences, announcement).await,
                    // Perhaps from a newer version.
                    Err(error) => Err(Error::internal(error)),
                };
                // Clients that reconnect fetch whatever they missed.
                if let Err(error) = applied {
                    tracing::error!(%error, "an announcement could not be passed on");
                    start_over(&app, &mut audiences);
                }
            }
            Some(db::Announced::Heard(_)) => {}
            None => break,
        }
    }
    app.realtime.shut(app.clock.uptime());
}

fn start_over(app: &App, audiences: &mut Audiences) {
    audiences.clear();
    app.realtime.start_over(app.clock.uptime());
}

async fn apply(app: &App, audiences: &mut Audiences, announcement: Announcement) -> Result<()> {
    let (realtime, now) = (&app.realtime, app.clock.uptime());
    match announcement {
        Announcement::InConversation { project, conversation, name, payload, change } => {
            let key = (project, conversation);
            let (came, left) = match change {
                Some(Change::Came(user)) => (Some(user), None),
                Some(Change::Left(user)) => (None, Some(user)),
                None => (None, None),
            };
            let users = audiences.of(app, key, came).await?;
            if let Some(packet) = packet::event_packet(&name, &payload) {
                let besides = left.filter(|user| !users.contains(user));
                realtime.deliver_among(project, users, &packet, now);
                realtime.deliver(project, besides.as_slice(), &packet, now);
            }
            if let Some(user) = left {
                audiences.left(key, user);
                realtime.put_out(project, conversation, Some(user));
            }
        }
        Announcement::Event { project, mut users, name, payload } => {
            users.sort_unstable();
            users.dedup();
            if let Some(packet) = packet::event_packet(&name, &payload) {
                realtime.deliver(project, &users, &packet, now);
            }
        }
        Announcement::Events { project, name, payloads } => {
            for (user, payload) in payloads {
                if let Some(packet) = packet::event_packet(&name, &payload) {
                    realtime.deliver(project, &[user], &packet, now);
                }
            }
        }
        Announcement::Typing { project, conversation, user, socket, name } => {
            let payload = serde_json::json!({ "userId": user, "conversationId": conversation });
            if let Some(packet) = packet::event_packet(&name, &payload) {
                realtime.relay((project, conversation), &socket, &packet, now);
            }
        }
        Announcement::RoomClosed { project, conversation } => {
            audiences.gone((project, conversation));
            realtime.put_out(project, conversation, None);
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
    Ok(())
}
