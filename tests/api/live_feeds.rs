//! Live feeds: sockets in the room of an entity, a space or their own user receive what changes, as far as they may see it.

use serde_json::{Value, json};

use crate::support::sockets::{Ears, Sockets};
use crate::support::{TestApp, User, on_both_engines};

on_both_engines![
    what_happens_to_an_entity_reaches_its_room,
    what_happens_in_a_space_reaches_its_room,
    notifications_reach_their_user,
    rooms_of_what_one_may_not_see_are_refused,
    who_may_no_longer_see_it_hears_nothing_more,
    users_with_a_block_between_them_hear_nothing_of_each_other,
    nothing_is_announced_unless_the_project_wants_it,
    a_project_without_chat_has_sockets_for_its_feeds,
];

type Event = (String, Value);

/// Users, each with one socket, in a project with live feeds.
struct Scene<'a> {
    users: Vec<User<'a>>,
    ears: Ears<'a>,
    _client: Sockets,
}

impl<'a> Scene<'a> {
    async fn new(app: &'a TestApp, count: usize) -> Scene<'a> {
        app.change_settings(app.project.id, |settings| settings.live_feeds = true).await;
        app.app.projects.forget_all();
        let (mut users, mut client, mut ears) = (Vec::new(), Sockets::default(), Ears::new(app));
        for place in 0..count {
            let user = app.user().await;
            let transport = if place % 2 == 0 { "websocket" } else { "polling" };
            ears.add(&user, client.connect(app, transport, &user).await);
            users.push(user);
        }
        Scene { users, ears, _client: client }
    }

    /// Joins a room; whether it was allowed. Events of what happened before are over by then.
    async fn join(&mut self, place: usize, kind: &str, id: &Value) -> bool {
        self.ears.heard().await;
        let key = format!("{kind}Id");
        let payload = if kind == "user" { Value::Null } else { json!({ key: id }) };
        self.ears.socket(place).emit(&format!("join:{kind}"), payload);
        let (name, payload) = self.ears.socket_mut(place).event().await;
        let room = match id {
            Value::String(id) if kind != "user" => format!("{kind}:{id}"),
            _ => kind.to_owned(),
        };
        assert_eq!(payload, json!({ "room": room }), "{name}");
        match name.as_str() {
            "room:joined" => true,
            "room:refused" => false,
            other => panic!("{other}"),
        }
    }
}

fn event(name: &str, payload: Value) -> Event {
    (name.to_owned(), payload)
}

async fn entity(user: &User<'_>, more: Value) -> Value {
    let mut new = json!({ "title": "T" });
    new.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    user.post("/entities", new).await.expect(201)["id"].clone()
}

fn path(of: &str, id: &Value) -> String {
    format!("/{of}/{}", id.as_str().unwrap())
}

async fn what_happens_to_an_entity_reaches_its_room(app: TestApp) {
    let mut scene = Scene::new(&app, 3).await;
    let id = entity(&scene.users[0], json!({})).await;
    let elsewhere = entity(&scene.users[0], json!({})).await;
    assert!(scene.join(1, "entity", &id).await);
    assert!(scene.join(2, "entity", &elsewhere).await);
    let (author, fan) = (&scene.users[0], &scene.users[1]);

    let new = json!({ "entityId": id, "content": "C" });
    let comment = author.post("/comments", new).await.expect(201)["id"].clone();
    let reply = json!({ "entityId": id, "parentId": comment, "content": "D" });
    let reply = fan.post("/comments", reply).await.expect(201)["id"].clone();
    author.patch(&path("comments", &comment), json!({ "content": "E" })).await.expect(200);
    let like = json!({ "reactionType": "like" });
    fan.post(&format!("{}/reactions", path("entities", &id)), like.clone()).await.expect(200);
    author.post(&format!("{}/reactions", path("comments", &reply)), like).await.expect(200);
    fan.delete(&path("comments", &reply)).await.expect(204);
    author.patch(&path("entities", &id), json!({ "title": "U" })).await.expect(200);
    // Whom an event reaches is decided when it is delivered: of what is gone by then only its deletion is sent.
    let mut heard = scene.ears.heard().await;
    scene.users[0].delete(&path("entities", &id)).await.expect(204);
    for (all, more) in heard.iter_mut().zip(scene.ears.heard().await) {
        all.extend(more);
    }

    let of = |comment: &Value, parent: &Value| json!({ "entityId": id, "commentId": comment, "parentId": parent });
    let null = Value::Null;
    let names: Vec<&str> = heard[1].iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(
        names,
        [
            "comment:created",
            "comment:created",
            "comment:updated",
            "entity:reacted",
            "comment:reacted",
            "comment:deleted",
            "entity:updated",
            "entity:deleted",
        ]
    );
    assert_eq!(heard[1][0], event("comment:created", of(&comment, &null)));
    assert_eq!(heard[1][1], event("comment:created", of(&reply, &comment)));
    assert_eq!(heard[1][2], event("comment:updated", of(&comment, &null)));
    assert_eq!(heard[1][3].1["reactionCounts"]["like"], 1);
    assert_eq!(heard[1][4].1["commentId"], reply);
    assert_eq!(heard[1][7], event("entity:deleted", json!({ "entityId": id, "spaceId": null })));
    assert_eq!((&heard[0], &heard[2]), (&vec![], &vec![]), "in no room, and in another");
}

async fn what_happens_in_a_space_reaches_its_room(app: TestApp) {
    let mut scene = Scene::new(&app, 2).await;
    let space = scene.users[0].post("/spaces", json!({ "name": "Space" })).await.expect(201);
    let space = space["id"].clone();
    assert!(scene.join(1, "space", &space).await);
    let author = &scene.users[0];
    let draft = entity(author, json!({ "spaceId": space, "isDraft": true })).await;
    let id = entity(author, json!({ "spaceId": space })).await;
    author.patch(&format!("{}/publish", path("entities", &draft)), json!({})).await.expect(200);
    let hide = json!({ "action": "remove" });
    let moderation = format!("{}{}/moderation", path("spaces", &space), path("entities", &id));
    author.patch(&moderation, hide).await.expect(200);
    entity(author, json!({})).await;
    let of = |id: &Value| json!({ "entityId": id, "spaceId": space });
    let heard = scene.ears.heard().await;
    let expected = [
        event("entity:created", of(&id)),
        event("entity:updated", of(&draft)),
        event("entity:moderated", of(&id)),
    ];
    assert_eq!(heard[1], expected);
    scene.ears.socket(1).emit("leave:space", json!({ "spaceId": space }));
    scene.join(1, "user", &Value::Null).await;
    entity(&scene.users[0], json!({ "spaceId": space })).await;
    assert_eq!(scene.ears.heard().await[1], []);
}

async fn notifications_reach_their_user(app: TestApp) {
    let mut scene = Scene::new(&app, 2).await;
    assert!(scene.join(0, "user", &Value::Null).await);
    assert!(scene.join(1, "user", &Value::Null).await);
    let (author, fan) = (&scene.users[0], &scene.users[1]);
    let id = entity(author, json!({})).await;
    let new = json!({ "entityId": id, "content": "C" });
    fan.post("/comments", new).await.expect(201);
    let listed = author.get("/app-notifications").await.expect(200)["data"][0].clone();
    let heard = scene.ears.heard().await;
    let [(name, payload)] = &heard[0][..] else { panic!("{heard:?}") };
    assert_eq!((name.as_str(), &payload["id"]), ("notification:created", &listed["id"]));
    assert_eq!(payload["type"], "entity-comment");
    assert_eq!(heard[1], []);
}

async fn rooms_of_what_one_may_not_see_are_refused(app: TestApp) {
    let mut scene = Scene::new(&app, 2).await;
    let members = json!({ "name": "Members", "readingPermission": "members" });
    let space = scene.users[0].post("/spaces", members).await.expect(201)["id"].clone();
    let inside = entity(&scene.users[0], json!({ "spaceId": space })).await;
    let draft = entity(&scene.users[0], json!({ "isDraft": true })).await;
    let unknown = json!(scene.users[0].id);
    for (kind, id) in [("space", &space), ("entity", &inside), ("entity", &draft)] {
        assert!(!scene.join(1, kind, id).await, "{kind}");
        assert!(scene.join(0, kind, id).await, "{kind}");
    }
    for kind in ["space", "entity"] {
        assert!(!scene.join(0, kind, &unknown).await, "{kind}");
    }
    let theirs = app.stranger().await;
    let other = theirs.post("/entities", json!({ "title": "T" })).await.expect(201)["id"].clone();
    assert!(!scene.join(0, "entity", &other).await, "of another project");
}

async fn who_may_no_longer_see_it_hears_nothing_more(app: TestApp) {
    let mut scene = Scene::new(&app, 2).await;
    let new = json!({ "name": "Space", "requireJoinApproval": false });
    let space = scene.users[0].post("/spaces", new).await.expect(201)["id"].clone();
    let id = entity(&scene.users[0], json!({ "spaceId": space })).await;
    assert!(scene.join(1, "space", &space).await && scene.join(1, "entity", &id).await);
    let close = json!({ "readingPermission": "members" });
    scene.users[0].patch(&path("spaces", &space), close).await.expect(200);
    let author = &scene.users[0];
    entity(author, json!({ "spaceId": space })).await;
    author.post("/comments", json!({ "entityId": id, "content": "C" })).await.expect(201);
    assert_eq!(scene.ears.heard().await[1], []);
    scene.users[1].post(&format!("{}/join", path("spaces", &space)), json!({})).await.expect(201);
    let author = &scene.users[0];
    author.post("/comments", json!({ "entityId": id, "content": "D" })).await.expect(201);
    assert_eq!(scene.ears.heard().await[1].len(), 1, "a member again");
}

async fn users_with_a_block_between_them_hear_nothing_of_each_other(app: TestApp) {
    let mut scene = Scene::new(&app, 3).await;
    let id = entity(&scene.users[0], json!({})).await;
    for place in [1, 2] {
        assert!(scene.join(place, "entity", &id).await);
    }
    let block = json!({ "userId": scene.users[2].id });
    let blocked = scene.users[1].post(&format!("/users/{}/block", scene.users[2].id), block).await;
    assert!(blocked.status < 300, "{}", blocked.text());
    let new = json!({ "entityId": id, "content": "C" });
    scene.users[2].post("/comments", new).await.expect(201);
    let heard = scene.ears.heard().await;
    assert_eq!((heard[1].len(), heard[2].len()), (0, 1));
}

async fn nothing_is_announced_unless_the_project_wants_it(app: TestApp) {
    let mut scene = Scene::new(&app, 1).await;
    app.change_settings(app.project.id, |settings| settings.live_feeds = false).await;
    app.app.projects.forget_all();
    let id = entity(&scene.users[0], json!({})).await;
    assert!(!scene.join(0, "entity", &id).await);
    assert!(!scene.join(0, "user", &Value::Null).await);
}

async fn a_project_without_chat_has_sockets_for_its_feeds(app: TestApp) {
    use townhall::tenancy::{Bundle, store};
    let id = app.project.id;
    let removed = app.app.db.write(move |tx| store::remove_bundle(tx, id, Bundle::Chat.name()));
    removed.await.unwrap();
    app.app.projects.forget_all();
    let user = app.user().await;
    let mut client = Sockets::default();
    let with = json!({ "projectId": app.project.id, "token": user.access_token });
    let mut socket = client.open(&app, &["websocket"], with);
    assert_eq!(socket.refused().await, "Forbidden");
    let mut scene = Scene::new(&app, 1).await;
    let id = entity(&scene.users[0], json!({})).await;
    assert!(scene.join(0, "entity", &id).await);
}
