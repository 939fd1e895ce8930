//! Rooms of real conversations: who joins, who sends typing events; the order of concurrent events; and
//! several servers on one database.

use std::time::Duration;

use db::Engine;
use serde_json::{Value, json};
use townhall::values::ids::ConversationId;

use crate::support::chat::{
    add, block, direct, group, leave, messages, of, react, remove, say, send,
};
use crate::support::sockets::{Ears, Event, Sockets, conversation};
use crate::support::{TestApp, User, all_at_once, on_both_engines};

on_both_engines![
    members_see_each_other_typing,
    non_members_cannot_join_a_room,
    former_members_neither_send_nor_get_typing_events,
    a_deleted_conversation_has_no_room,
    nobody_types_in_a_frozen_conversation,
    leaving_the_room_does_not_stop_message_events,
    events_of_many_at_once_come_in_the_order_of_the_messages,
    events_of_concurrent_reactions_end_with_the_final_state,
    everybody_in_a_new_group_is_shown_it_as_they_see_it,
    members_who_join_and_leave_get_only_events_of_their_membership,
];

const SECOND: Duration = Duration::from_secs(1);

/// Users, each with one socket.
struct Scene<'a> {
    app: &'a TestApp,
    users: Vec<User<'a>>,
    ears: Ears<'a>,
    _client: Sockets,
}

impl<'a> Scene<'a> {
    async fn new(app: &'a TestApp, count: usize) -> Scene<'a> {
        let (mut users, mut client, mut ears) = (Vec::new(), Sockets::default(), Ears::new(app));
        for place in 0..count {
            let user = app.user().await;
            let transport = if place % 2 == 0 { "websocket" } else { "polling" };
            ears.add(&user, client.connect(app, transport, &user).await);
            users.push(user);
        }
        Scene { app, users, ears, _client: client }
    }

    /// Says something by somebody's socket; what it leads to has happened afterwards.
    async fn emit(&self, place: usize, name: &str, id: &str) {
        let (socket, fence) = (self.ears.socket(place), conversation(&[self.users[place].id]));
        socket.emit(name, json!({ "conversationId": id }));
        socket.emit("join:conversation", json!({ "conversationId": fence }));
        self.app.until(|app| app.app.realtime.sockets_in(app.project.id, fence) == 1).await;
        // Typing is relayed once a second.
        self.app.advance(SECOND);
    }

    fn in_room(&self, id: &str) -> usize {
        let id: ConversationId = id.parse().unwrap();
        self.app.app.realtime.sockets_in(self.app.project.id, id)
    }

    fn typing(&self, place: usize, id: &str) -> Event {
        let payload = json!({ "userId": self.users[place].id, "conversationId": id });
        ("typing:start".to_owned(), payload)
    }

    /// Forgets what was heard so far.
    async fn quiet(&mut self) {
        self.ears.heard().await;
    }
}

async fn members_see_each_other_typing(app: TestApp) {
    let mut scene = Scene::new(&app, 3).await;
    let id = group(&scene.users[0], &[&scene.users[1], &scene.users[2]]).await;
    for place in 0..2 {
        scene.emit(place, "join:conversation", &id).await;
    }
    scene.quiet().await;
    scene.emit(0, "typing:start", &id).await;
    let expected = [vec![], vec![scene.typing(0, &id)], vec![]];
    assert_eq!(scene.ears.heard().await, expected, "only in the room, and not the typist");
    // One who is in it, but not in its room.
    scene.emit(2, "typing:start", &id).await;
    assert_eq!(scene.ears.heard().await, [vec![], vec![], vec![]]);
}

async fn non_members_cannot_join_a_room(app: TestApp) {
    let mut scene = Scene::new(&app, 3).await;
    let id = direct(&scene.users[0], &scene.users[1]).await;
    for place in 0..3 {
        scene.emit(place, "join:conversation", &id).await;
    }
    assert_eq!(scene.in_room(&id), 2);
    scene.quiet().await;
    scene.emit(2, "typing:start", &id).await;
    scene.emit(0, "typing:start", &id).await;
    send(&scene.users[0], &id, "x").await;
    let heard = scene.ears.heard().await;
    assert_eq!(heard[1].len(), 3, "typing, the conversation and its message");
    assert_eq!((heard[0].len(), heard[2].len()), (1, 0));
}

async fn former_members_neither_send_nor_get_typing_events(app: TestApp) {
    for leaves in [true, false] {
        let mut scene = Scene::new(&app, 2).await;
        let (ada, bob) = (scene.users[0].clone(), scene.users[1].clone());
        let id = group(&ada, &[&bob]).await;
        for place in 0..2 {
            scene.emit(place, "join:conversation", &id).await;
        }
        let room = scene.in_room(&id);
        if leaves {
            leave(&bob, &id).await;
        } else {
            remove(&ada, &id, &bob).await.expect(200);
        }
        scene.quiet().await;
        assert_eq!((room, scene.in_room(&id)), (2, 1));
        scene.emit(1, "join:conversation", &id).await;
        scene.emit(1, "typing:start", &id).await;
        scene.emit(0, "typing:start", &id).await;
        assert_eq!(scene.ears.heard().await, [vec![], vec![]]);
        // Back in it, they may enter again.
        add(&ada, &id, &bob).await.expect(201);
        scene.emit(1, "join:conversation", &id).await;
        scene.quiet().await;
        scene.emit(0, "typing:start", &id).await;
        assert_eq!(scene.ears.heard().await, [vec![], vec![scene.typing(0, &id)]]);
    }
}

async fn a_deleted_conversation_has_no_room(app: TestApp) {
    let mut scene = Scene::new(&app, 2).await;
    let id = group(&scene.users[0], &[&scene.users[1]]).await;
    for place in 0..2 {
        scene.emit(place, "join:conversation", &id).await;
    }
    scene.users[0].delete(&of(&id, "")).await.expect(200);
    scene.quiet().await;
    assert_eq!(scene.in_room(&id), 0);
    for name in ["join:conversation", "typing:start"] {
        scene.emit(1, name, &id).await;
    }
    assert_eq!(scene.in_room(&id), 0);
    assert_eq!(scene.ears.heard().await, [vec![], vec![]]);
}

async fn nobody_types_in_a_frozen_conversation(app: TestApp) {
    let mut scene = Scene::new(&app, 2).await;
    let (ada, bob) = (scene.users[0].clone(), scene.users[1].clone());
    let (two, many) = (direct(&ada, &bob).await, group(&ada, &[&bob]).await);
    for place in 0..2 {
        scene.emit(place, "join:conversation", &two).await;
        scene.emit(place, "join:conversation", &many).await;
    }
    scene.quiet().await;
    block(&bob, &ada).await;
    for place in 0..2 {
        scene.emit(place, "typing:start", &two).await;
    }
    assert_eq!(scene.ears.heard().await, [vec![], vec![]]);
    // In a group a block means nothing, and without it all is as before.
    scene.emit(0, "typing:start", &many).await;
    assert_eq!(scene.ears.heard().await[1], [scene.typing(0, &many)]);
    bob.delete(&format!("/users/{}/block", ada.id)).await.expect(204);
    scene.emit(0, "typing:start", &two).await;
    assert_eq!(scene.ears.heard().await[1], [scene.typing(0, &two)]);
}

async fn leaving_the_room_does_not_stop_message_events(app: TestApp) {
    let mut scene = Scene::new(&app, 2).await;
    let id = group(&scene.users[0], &[&scene.users[1]]).await;
    scene.emit(1, "join:conversation", &id).await;
    scene.emit(1, "leave:conversation", &id).await;
    scene.quiet().await;
    let message = send(&scene.users[0], &id, "x").await;
    let expected = vec![("message:created".to_owned(), message)];
    assert_eq!(scene.ears.heard().await, [expected.clone(), expected]);
}

async fn events_of_many_at_once_come_in_the_order_of_the_messages(app: TestApp) {
    let mut scene = Scene::new(&app, 4).await;
    let others: Vec<&User<'_>> = scene.users[1..].iter().collect();
    let id = group(&scene.users[0], &others).await;
    scene.quiet().await;
    let (users, id_ref) = (&scene.users, &id);
    all_at_once(
        (0..64).map(
            |number| async move { send(&users[number % 4], id_ref, &number.to_string()).await },
        ),
    )
    .await;
    let page = messages(&scene.users[0], &id, "?sort=asc&limit=100").await;
    let ids = |one: &Value| one["id"].as_str().unwrap().to_owned();
    let expected: Vec<String> = page["messages"].as_array().unwrap().iter().map(ids).collect();
    assert_eq!(expected.len(), 64);
    for heard in scene.ears.heard().await {
        assert!(heard.iter().all(|(name, _)| name == "message:created"));
        let found: Vec<String> = heard.iter().map(|(_, message)| ids(message)).collect();
        assert_eq!(found, expected);
    }
}

async fn events_of_concurrent_reactions_end_with_the_final_state(app: TestApp) {
    let mut scene = Scene::new(&app, 2).await;
    let id = group(&scene.users[0], &[&scene.users[1]]).await;
    let message = send(&scene.users[0], &id, "x").await;
    scene.quiet().await;
    let (users, id_ref, message_ref) = (&scene.users, &id, &message);
    all_at_once((0..33_usize).map(|number| async move {
        let emoji = ["a", "b", "c"][number % 3];
        react(&users[number % 2], id_ref, message_ref, emoji).await.expect(200)
    }))
    .await;
    let path = format!("/messages/{}", message["id"].as_str().unwrap());
    let shown = scene.users[0].get(&of(&id, &path)).await.expect(200);
    for heard in scene.ears.heard().await {
        assert_eq!(heard.len(), 33);
        assert_eq!(heard.last().unwrap().1["reactionCounts"], shown["reactionCounts"]);
        // Each event holds the state after the one before.
        let mut counts = std::collections::BTreeMap::<String, i64>::new();
        for (_, told) in &heard {
            let emoji = told["emoji"].as_str().unwrap().to_owned();
            *counts.entry(emoji).or_default() += told["delta"].as_i64().unwrap();
            counts.retain(|_, count| *count > 0);
            assert_eq!(told["reactionCounts"], json!(counts));
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn messages_and_typing_cross_servers() {
    let one = TestApp::start(Engine::Postgres, "messages_and_typing_cross_servers").await;
    let other = one.second_node().await;
    let mut client = Sockets::default();
    let (ada, bob) = (one.user().await, one.user().await);
    let mut near = client.connect(&one, "websocket", &ada).await;
    let mut far = client.connect(&other, "polling", &bob).await;
    let id = group(&ada, &[&bob]).await;
    assert_eq!(far.event().await.0, "conversation:created");
    // However large it is.
    let metadata = json!({ "m": "m".repeat(10_000) });
    let large = json!({ "content": "👍".repeat(4000), "metadata": metadata, "localId": "mine" });
    let sent = say(&ada, &id, large).await;
    let expected = ("message:created".to_owned(), sent);
    assert_eq!((near.event().await, far.event().await), (expected.clone(), expected));
    let room: ConversationId = id.parse().unwrap();
    for (socket, node) in [(&near, &one), (&far, &other)] {
        socket.emit("join:conversation", json!({ "conversationId": id }));
        node.until(|app| app.app.realtime.sockets_in(one.project.id, room) == 1).await;
    }
    far.emit("typing:start", json!({ "conversationId": id }));
    let typing = json!({ "userId": bob.id, "conversationId": id });
    assert_eq!(near.event().await, ("typing:start".to_owned(), typing));
    // Put out by one server, out of the room of the other.
    remove(&ada, &id, &bob).await.expect(200);
    assert_eq!(far.event().await.0, "member:left");
    other.until(|app| app.app.realtime.sockets_in(one.project.id, room) == 0).await;
    assert_eq!(near.event().await.0, "member:left");
}

/// More than a preview can show.
async fn everybody_in_a_new_group_is_shown_it_as_they_see_it(app: TestApp) {
    let mut scene = Scene::new(&app, 9).await;
    let users = scene.users.clone();
    let id = group(&users[0], &users[1..].iter().collect::<Vec<_>>()).await;
    let heard = scene.ears.heard().await;
    assert_eq!(heard[0], []);
    for (user, heard) in users.iter().zip(heard).skip(1) {
        let preview = user.get(&of(&id, "/preview")).await.expect(200);
        assert_eq!(preview["otherMembers"].as_array().unwrap().len(), 5);
        assert_eq!(heard, [("conversation:created".to_owned(), preview)]);
    }
}

async fn members_who_join_and_leave_get_only_events_of_their_membership(app: TestApp) {
    let mut scene = Scene::new(&app, 3).await;
    let users = scene.users.clone();
    let id = group(&users[0], &[&users[1]]).await;
    send(&users[0], &id, "first").await;
    scene.quiet().await;
    let (writer, admin, guest) = (&users[1], &users[0], &users[2]);
    let all = (0..24).map(|number| {
        let id = &id;
        async move {
            match number % 3 {
                0 => send(writer, id, &number.to_string()).await["id"].clone(),
                1 => add(admin, id, guest).await.json()["id"].clone(),
                _ => remove(admin, id, guest).await.json()["message"].clone(),
            }
        }
    });
    all_at_once(all).await;
    let heard = scene.ears.heard().await;
    let said = |events: &[Event]| -> Vec<Value> {
        let said = events.iter().filter(|(name, _)| name == "message:created");
        said.map(|(_, message)| message["id"].clone()).collect()
    };
    assert_eq!(said(&heard[0]).len(), 8);
    assert_eq!(heard[0], heard[1], "one order for all");
    // The guest gets the same events as the others between each join and the next leave, and no others.
    let mut is_in = false;
    let mut expected = Vec::new();
    for (name, payload) in &heard[0] {
        is_in = is_in || name == "member:joined";
        if is_in {
            expected.push((name.clone(), payload.clone()));
        }
        is_in = is_in && name != "member:left";
    }
    let of_guest: Vec<Event> =
        heard[2].iter().filter(|(name, _)| name != "conversation:created").cloned().collect();
    assert_eq!(of_guest, expected);
}
