//! View rooms: who may join them, and who sees which typing events.

use std::time::Duration;

use serde_json::{Value, json};
use townhall::realtime;
use townhall::values::ids::{ConversationId, UserId};

use crate::support::sockets::{Socket, Sockets, conversation, freeze, raise, remove_member};
use crate::support::{TestApp, User, on_both_engines};

on_both_engines![
    typing_is_seen_in_the_room_except_by_the_socket_it_came_from,
    typing_is_relayed_once_a_second_at_most,
    only_members_enter_a_room,
    removed_members_neither_send_nor_get_typing_events,
    leaving_a_room_does_not_stop_events,
    typing_of_suspended_users_and_in_frozen_conversations_is_dropped,
    malformed_and_unknown_events_are_ignored,
];

const SECOND: Duration = Duration::from_secs(1);

struct Scene<'a> {
    app: &'a TestApp,
    room: ConversationId,
}

impl Scene<'_> {
    fn payload(&self) -> Value {
        json!({ "conversationId": self.room })
    }

    fn typing(&self, kind: &str, user: UserId) -> (String, Value) {
        let payload = json!({ "userId": user, "conversationId": self.room });
        (format!("typing:{kind}"), payload)
    }

    /// What a socket said before was taken in, once it sees its own fence; typing is not echoed.
    async fn settled(&self, sockets: &mut [(&mut Socket, &User<'_>)]) {
        for (socket, user) in sockets {
            let fence = conversation(&[user.id]);
            socket.emit("join:conversation", json!({ "conversationId": fence }));
            self.app.until(|app| app.app.realtime.sockets_in(app.project.id, fence) == 1).await;
            socket.emit("leave:conversation", json!({ "conversationId": fence }));
        }
    }

    async fn enter(&self, sockets: &mut [(&mut Socket, &User<'_>)]) {
        for (socket, _) in sockets.iter() {
            socket.emit("join:conversation", self.payload());
        }
        self.settled(sockets).await;
    }
}

async fn typing_is_seen_in_the_room_except_by_the_socket_it_came_from(app: TestApp) {
    let mut client = Sockets::default();
    let (ada, bob, eve) = (app.user().await, app.user().await, app.user().await);
    let scene = Scene { app: &app, room: conversation(&[ada.id, bob.id, eve.id]) };
    let mut typist = client.connect(&app, "websocket", &ada).await;
    let mut second = client.connect(&app, "polling", &ada).await;
    let mut reader = client.connect(&app, "polling", &bob).await;
    let mut outside = client.connect(&app, "websocket", &eve).await;
    scene.enter(&mut [(&mut typist, &ada), (&mut second, &ada), (&mut reader, &bob)]).await;
    typist.emit("typing:start", scene.payload());
    for socket in [&mut second, &mut reader] {
        assert_eq!(socket.event().await, scene.typing("start", ada.id));
    }
    typist.emit("typing:stop", scene.payload());
    for socket in [&mut second, &mut reader] {
        assert_eq!(socket.event().await, scene.typing("stop", ada.id));
    }
    // Users outside of the room cannot send typing events.
    outside.emit("typing:start", scene.payload());
    scene.settled(&mut [(&mut outside, &eve)]).await;
    raise(&app, &[ada.id, bob.id, eve.id], "fence", json!({})).await;
    for socket in [&mut typist, &mut second, &mut reader, &mut outside] {
        assert_eq!(socket.event().await.0, "fence");
    }
}

async fn typing_is_relayed_once_a_second_at_most(app: TestApp) {
    let mut client = Sockets::default();
    let (ada, bob) = (app.user().await, app.user().await);
    let scene = Scene { app: &app, room: conversation(&[ada.id, bob.id]) };
    let mut typist = client.connect(&app, "websocket", &ada).await;
    let mut reader = client.connect(&app, "websocket", &bob).await;
    scene.enter(&mut [(&mut typist, &ada), (&mut reader, &bob)]).await;
    for _ in 0..3 {
        for _ in 0..200 {
            typist.emit("typing:start", scene.payload());
        }
        scene.settled(&mut [(&mut typist, &ada)]).await;
        app.advance(SECOND);
    }
    raise(&app, &[bob.id], "fence", json!({})).await;
    for _ in 0..3 {
        assert_eq!(reader.event().await, scene.typing("start", ada.id));
    }
    assert_eq!(reader.event().await.0, "fence");
}

async fn only_members_enter_a_room(app: TestApp) {
    let mut client = Sockets::default();
    let (ada, bob, eve) = (app.user().await, app.user().await, app.user().await);
    let scene = Scene { app: &app, room: conversation(&[ada.id, bob.id]) };
    let mut typist = client.connect(&app, "websocket", &ada).await;
    let mut reader = client.connect(&app, "websocket", &bob).await;
    let mut intruder = client.connect(&app, "websocket", &eve).await;
    scene.enter(&mut [(&mut typist, &ada), (&mut reader, &bob), (&mut intruder, &eve)]).await;
    intruder.emit("typing:start", scene.payload());
    scene.settled(&mut [(&mut intruder, &eve)]).await;
    typist.emit("typing:start", scene.payload());
    assert_eq!(reader.event().await, scene.typing("start", ada.id));
    raise(&app, &[bob.id, eve.id], "fence", json!({})).await;
    for socket in [&mut reader, &mut intruder] {
        assert_eq!(socket.event().await.0, "fence");
    }
}

async fn removed_members_neither_send_nor_get_typing_events(app: TestApp) {
    let mut client = Sockets::default();
    let (ada, bob) = (app.user().await, app.user().await);
    let scene = Scene { app: &app, room: conversation(&[ada.id, bob.id]) };
    let mut typist = client.connect(&app, "websocket", &ada).await;
    let mut removed = client.connect(&app, "websocket", &bob).await;
    scene.enter(&mut [(&mut typist, &ada), (&mut removed, &bob)]).await;
    remove_member(scene.room, bob.id);
    let (project, room, user) = (app.project.id, scene.room, bob.id);
    let left = app.app.db.write(move |tx| {
        let left = Some(realtime::Change::Left(user));
        realtime::in_conversation(tx, project, room, ("member:left", &json!({})), left)
    });
    left.await.unwrap();
    assert_eq!(removed.event().await.0, "member:left");
    removed.emit("join:conversation", scene.payload());
    removed.emit("typing:start", scene.payload());
    scene.settled(&mut [(&mut removed, &bob)]).await;
    typist.emit("typing:start", scene.payload());
    scene.settled(&mut [(&mut typist, &ada)]).await;
    raise(&app, &[ada.id, bob.id], "fence", json!({})).await;
    for socket in [&mut typist, &mut removed] {
        assert_eq!(socket.event().await.0, "fence");
    }
}

async fn leaving_a_room_does_not_stop_events(app: TestApp) {
    let mut client = Sockets::default();
    let (ada, bob) = (app.user().await, app.user().await);
    let scene = Scene { app: &app, room: conversation(&[ada.id, bob.id]) };
    let mut typist = client.connect(&app, "websocket", &ada).await;
    let mut reader = client.connect(&app, "polling", &bob).await;
    scene.enter(&mut [(&mut typist, &ada), (&mut reader, &bob)]).await;
    reader.emit("leave:conversation", scene.payload());
    scene.settled(&mut [(&mut reader, &bob)]).await;
    typist.emit("typing:start", scene.payload());
    scene.settled(&mut [(&mut typist, &ada)]).await;
    raise(&app, &[bob.id], "message:created", json!({})).await;
    assert_eq!(reader.event().await.0, "message:created");
}

async fn typing_of_suspended_users_and_in_frozen_conversations_is_dropped(app: TestApp) {
    let mut client = Sockets::default();
    let (ada, bob) = (app.user().await, app.user().await);
    let scene = Scene { app: &app, room: conversation(&[ada.id, bob.id]) };
    let frozen = Scene { app: &app, room: conversation(&[ada.id, bob.id]) };
    let mut typist = client.connect(&app, "websocket", &ada).await;
    let mut reader = client.connect(&app, "websocket", &bob).await;
    for scene in [&scene, &frozen] {
        scene.enter(&mut [(&mut typist, &ada), (&mut reader, &bob)]).await;
    }
    freeze(frozen.room);
    typist.emit("typing:start", frozen.payload());
    scene.settled(&mut [(&mut typist, &ada)]).await;
    app.advance(SECOND);
    typist.emit("typing:start", scene.payload());
    assert_eq!(reader.event().await, scene.typing("start", ada.id));
    app.advance(SECOND);
    app.suspend(ada.id).await;
    typist.emit("typing:start", scene.payload());
    scene.settled(&mut [(&mut typist, &ada)]).await;
    raise(&app, &[bob.id], "fence", json!({})).await;
    assert_eq!(reader.event().await.0, "fence");
}

async fn malformed_and_unknown_events_are_ignored(app: TestApp) {
    let mut client = Sockets::default();
    let user = app.user().await;
    let mut socket = client.connect(&app, "websocket", &user).await;
    for payload in [json!(null), json!({}), json!([]), json!("x"), json!({ "conversationId": 7 })] {
        for name in ["join:conversation", "leave:conversation", "typing:start", "typing:stop"] {
            socket.emit(name, payload.clone());
        }
    }
    socket.emit("no such event", json!({ "conversationId": conversation(&[user.id]) }));
    raise(&app, &[user.id], "fence", json!({})).await;
    assert_eq!(socket.event().await.0, "fence");
}
