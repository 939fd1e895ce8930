//! The one task of each node that receives announcements and applies them in order.

use tokio::time::MissedTickBehavior;

use crate::error::{Error, Result};
use crate::rate_limits;
use crate::realtime::nodes;
use crate::realtime::packet;
use crate::realtime::registry::Ending;
use crate::realtime::session::Identity;
use crate::realtime::{Announcement, Change, Room, TOPIC};
use crate::sockets::audience::Audiences;
use crate::sockets::sweep;
use crate::state::App;
use crate::tenancy::store as projects;

/// Runs until the server stops, then closes every connection.
pub(crate) async fn dispatch(app: App) {
    tokio::select! {
        () = pass_on(&app) => {}
        () = app.nodes.beat(&app.db, &app.clock) => {}
        () = rate_limits::share(&app.limiter, &app.db, &app.clock, app.nodes.own()) => {}
    }
}

/// Every announcement goes to the sockets that may see it.
async fn pass_on(app: &App) {
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
                sweep::sweep(app);
                continue;
            }
            () = draining.as_mut() => break,
        };
        match announced {
            Some(db::Announced::Gap) => start_over(app, &mut audiences),
            Some(db::Announced::Heard(heard)) => {
                // Clients that reconnect fetch whatever they missed.
                if let Err(error) = receive(app, &mut audiences, &heard).await {
                    tracing::error!(%error, "an announcement could not be passed on");
                    start_over(app, &mut audiences);
                }
            }
            None => break,
        }
    }
    app.realtime.shut(app.clock.uptime());
}

async fn receive(app: &App, audiences: &mut Audiences, heard: &db::Announcement) -> Result<()> {
    let (text, now) = (heard.text.as_str(), app.clock.uptime());
    match heard.topic.as_str() {
        TOPIC => {
            // What cannot be read is perhaps from a newer version.
            let announcement = serde_json::from_str(text).map_err(Error::internal)?;
            apply(app, audiences, announcement).await?;
        }
        projects::TOPIC => match text.parse() {
            Ok(id) => app.projects.forget(id),
            Err(_) => app.projects.forget_all(),
        },
        rate_limits::TOPIC => app.limiter.heard(text, app.nodes.own(), now),
        nodes::TOPIC => {
            if let Some(sent) = app.nodes.heard(text, now) {
                app.projects.confirm(sent, now);
                app.limiter.set_nodes(1 + app.nodes.others(now));
            }
        }
        _ => {}
    }
    Ok(())
}

fn start_over(app: &App, audiences: &mut Audiences) {
    app.projects.forget_all();
    app.limiter.start_over();
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
                realtime.put_out(project, Room::Conversation(conversation), Some(user));
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
                realtime.relay((project, Room::Conversation(conversation)), &socket, &packet, now);
            }
        }
        Announcement::InRoom { project, room, by, name, payload } => {
            let here = realtime.users_in(project, room);
            if let (false, Some(packet)) = (here.is_empty(), packet::event_packet(&name, &payload))
            {
                let users = (app.rooms.visible)(app, project, room, by, here).await?;
                realtime.deliver_in((project, room), &users, &packet, now);
            }
        }
        Announcement::RoomGone { project, room, name, payload } => {
            if let Some(packet) = packet::event_packet(&name, &payload) {
                realtime.relay((project, room), "", &packet, now);
            }
            realtime.put_out(project, room, None);
        }
        Announcement::RoomClosed { project, conversation } => {
            audiences.gone((project, conversation));
            realtime.put_out(project, Room::Conversation(conversation), None);
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
