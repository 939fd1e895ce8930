//! The official client of the protocol, run by node; and the members of conversations, as tests say.

use std::collections::HashSet;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, OnceLock};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::sync::mpsc::UnboundedReceiver;
use townhall::features::live;
use townhall::realtime::{Act, Room, RoomAccess};
use townhall::state::App;
use townhall::state::Checking;
use townhall::values::ids::{ConversationId, ProjectId, UserId};
use uuid::Uuid;

use super::node::Node;
use super::{TestApp, User};

/// Whatever is waited for comes long before this.
const PATIENCE: Duration = Duration::from_secs(30);

/// The process that all tests share.
fn node() -> &'static Node {
    static SHARED: OnceLock<Node> = OnceLock::new();
    SHARED.get_or_init(|| Node::start("realtime-client", "socket.io-client"))
}

/// The sockets of one test, which end with it.
#[derive(Default)]
pub struct Sockets {
    opened: Vec<String>,
}

impl Sockets {
    /// A socket that is about to connect.
    pub fn open(&mut self, app: &TestApp, transports: &[&str], with: Value) -> Socket {
        let node = node();
        let (id, happenings) = node.listen();
        self.opened.push(id.clone());
        let mut command = json!({
            "do": "open",
            "id": id,
            "url": format!("http://{}", app.address),
            "transports": transports,
        });
        command.as_object_mut().unwrap().extend(with.as_object().unwrap().clone());
        node.tell(&command);
        Socket { id, happenings }
    }

    /// A connected socket of a user of the first project.
    pub async fn connect(&mut self, app: &TestApp, transport: &str, user: &User<'_>) -> Socket {
        let with = json!({ "projectId": app.project.id, "token": user.access_token });
        let mut socket = self.open(app, &[transport], with);
        socket.connected().await;
        socket
    }

    /// The same, for a user with earlier events: those that arrive late are skipped.
    pub async fn listen(&mut self, app: &TestApp, transport: &str, user: &User<'_>) -> Socket {
        let mut socket = self.connect(app, transport, user).await;
        raise(app, &[user.id], FENCE, json!({})).await;
        socket.up_to_fence().await;
        socket
    }
}

impl Drop for Sockets {
    fn drop(&mut self) {
        let node = node();
        for id in &self.opened {
            node.forget(id);
            node.tell(&json!({ "do": "forget", "id": id }));
        }
    }
}

/// An event that no feature raises: a client that receives it has received every earlier event.
const FENCE: &str = "fence";

pub struct Socket {
    id: String,
    happenings: UnboundedReceiver<Value>,
}

impl Socket {
    /// What happens next to this socket.
    pub async fn next(&mut self) -> Value {
        let next = tokio::time::timeout(PATIENCE, self.happenings.recv()).await;
        next.unwrap().unwrap()
    }

    #[track_caller]
    fn must_be(happened: Value, kind: &str) -> Value {
        assert_eq!(happened["kind"], kind, "{happened}");
        happened
    }

    /// The next thing is that it connects; by which transport.
    pub async fn connected(&mut self) -> String {
        let happened = Self::must_be(self.next().await, "connect");
        happened["transport"].as_str().unwrap().to_owned()
    }

    /// The next thing is that it is refused; with which words.
    pub async fn refused(&mut self) -> String {
        let happened = Self::must_be(self.next().await, "connect_error");
        happened["message"].as_str().unwrap().to_owned()
    }

    /// The next thing is that it is closed; why.
    pub async fn closed(&mut self) -> String {
        let happened = Self::must_be(self.next().await, "disconnect");
        happened["reason"].as_str().unwrap().to_owned()
    }

    /// The next thing is an event; its name and payload.
    pub async fn event(&mut self) -> (String, Value) {
        let happened = Self::must_be(self.next().await, "event");
        (happened["name"].as_str().unwrap().to_owned(), happened["args"][0].clone())
    }

    /// Everything up to the next fence.
    async fn up_to_fence(&mut self) -> Vec<Event> {
        let mut heard = Vec::new();
        loop {
            let event = self.event().await;
            if event.0 == FENCE {
                return heard;
            }
            heard.push(event);
        }
    }

    pub fn emit(&self, name: &str, payload: Value) {
        node().tell(&json!({ "do": "emit", "id": self.id, "name": name, "args": [payload] }));
    }

    pub fn disconnect(&self) {
        node().tell(&json!({ "do": "disconnect", "id": self.id }));
    }

    /// Connects again, with another token perhaps.
    pub fn connect(&self, token: Option<&str>) {
        node().tell(&json!({ "do": "connect", "id": self.id, "token": token }));
    }
}

static MEMBERS: Mutex<Option<HashSet<(ConversationId, UserId)>>> = Mutex::new(None);
static FROZEN: Mutex<Option<HashSet<ConversationId>>> = Mutex::new(None);

/// A conversation with these members. Its id is like no other of this process: tests share the list.
pub fn conversation(members: &[UserId]) -> ConversationId {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    let number = NEXT.fetch_add(1, Ordering::SeqCst);
    let id = ConversationId(Uuid::from_u128(0x4000_8000_0000_0000_0000 + u128::from(number)));
    let mut all = MEMBERS.lock().unwrap();
    all.get_or_insert_default().extend(members.iter().map(|user| (id, *user)));
    id
}

/// The user is no member any more.
pub fn remove_member(conversation: ConversationId, user: UserId) {
    MEMBERS.lock().unwrap().get_or_insert_default().remove(&(conversation, user));
}

/// Nobody is to be seen typing there.
pub fn freeze(conversation: ConversationId) {
    FROZEN.lock().unwrap().get_or_insert_default().insert(conversation);
}

/// Of made-up conversations as tests say; of all others as the server itself does.
pub fn is_member(app: &App, question: RoomAccess) -> Checking<'_> {
    let RoomAccess { user, room, act, .. } = question;
    let conversation = match room {
        // The id of a real one begins with its time.
        Room::Conversation(id) if id.0.as_u128() >> 80 == 0 => id,
        _ => return live::check(app, question),
    };
    let is_member = MEMBERS.lock().unwrap().get_or_insert_default().contains(&(conversation, user));
    let is_frozen = FROZEN.lock().unwrap().get_or_insert_default().contains(&conversation);
    Box::pin(async move { Ok(is_member && !(act == Act::Type && is_frozen)) })
}

/// Sockets that listen together.
pub struct Ears<'a> {
    app: &'a TestApp,
    users: Vec<UserId>,
    sockets: Vec<Socket>,
}

pub type Event = (String, Value);

impl<'a> Ears<'a> {
    pub fn new(app: &'a TestApp) -> Self {
        Ears { app, users: Vec::new(), sockets: Vec::new() }
    }

    pub fn add(&mut self, user: &User<'_>, socket: Socket) {
        self.users.push(user.id);
        self.sockets.push(socket);
    }

    pub fn socket(&self, place: usize) -> &Socket {
        &self.sockets[place]
    }

    pub fn socket_mut(&mut self, place: usize) -> &mut Socket {
        &mut self.sockets[place]
    }

    /// What each of them has heard since it was asked last, in the order in which they were added.
    pub async fn heard(&mut self) -> Vec<Vec<Event>> {
        raise(self.app, &self.users, FENCE, json!({})).await;
        let mut all = Vec::new();
        for socket in &mut self.sockets {
            all.push(socket.up_to_fence().await);
        }
        all
    }
}

/// Raises an event, as a feature would.
pub async fn raise(app: &TestApp, users: &[UserId], name: &str, payload: Value) {
    raise_in(app, app.project.id, users, name, payload).await;
}

pub async fn raise_in(
    app: &TestApp,
    project: ProjectId,
    users: &[UserId],
    name: &str,
    payload: Value,
) {
    let (users, name) = (users.to_vec(), name.to_owned());
    let raised =
        app.app.db.write(move |tx| townhall::realtime::event(tx, project, &users, &name, &payload));
    raised.await.unwrap();
}
