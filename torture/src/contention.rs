//! 64 clients on a handful of rows: nothing may fail, and afterwards every kept count must be what
//! a recount finds.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use bench::clock::now;
use bench::dice::Dice;
use bench::store::Engine;
use serde_json::{Value, json};
use tokio::task::JoinSet;

use crate::http::Caller;
use crate::trial::{Figure, Setup};
use crate::world::{Person, World};

const CLIENTS: usize = 64;
const LENGTH: Duration = Duration::from_secs(8);

/// The few rows that everybody changes.
#[derive(Debug)]
struct Rows {
    project: String,
    entities: Vec<String>,
    comments: Vec<String>,
    space: String,
    conversation: String,
    message: String,
    people: Vec<Person>,
}

pub async fn trial(setup: &Setup, engine: Engine) -> Result<Figure, String> {
    let world = World::start(setup, engine, CLIENTS, &[]).await?;
    let rows = Arc::new(prepare(&world).await?);
    let mut clients = JoinSet::new();
    for number in 0..CLIENTS {
        let dice = Dice::new(setup.seed << 16 | number as u64);
        clients.spawn(client(world.server.address, Arc::clone(&rows), number, dice));
    }
    let mut statuses = BTreeMap::new();
    for told in clients.join_all().await {
        for (status, times) in told? {
            *statuses.entry(status).or_insert(0) += times;
        }
    }
    world.examine(setup)?;
    let total: u64 = statuses.values().sum();
    let failed: u64 = statuses.range(500..).map(|(_, times)| times).sum();
    let text = format!(
        "{CLIENTS} clients on few rows: {total} requests, {failed} times 5xx, every recount agrees"
    );
    Ok(Figure::new(failed == 0 && total > 0, text))
}

async fn prepare(world: &World) -> Result<Rows, String> {
    let mut caller = Caller::new(world.server.address);
    let owner = &world.people[0];
    let space = json!({ "name": "Square", "slug": "square" });
    let space = world.create(&mut caller, &owner.token, "/spaces", space).await?;
    let (mut entities, mut comments) = (Vec::new(), Vec::new());
    for number in 0..3 {
        let mut entity = json!({ "title": format!("Number {number}"), "keywords": ["shared"] });
        if number == 0 {
            entity["spaceId"] = space.clone().into();
        }
        let entity = world.create(&mut caller, &owner.token, "/entities", entity).await?;
        let comment = json!({ "entityId": entity, "content": "First" });
        comments.push(world.create(&mut caller, &owner.token, "/comments", comment).await?);
        entities.push(entity);
    }
    let members: Vec<&str> = world.people[1..].iter().map(|person| person.id.as_str()).collect();
    let group = json!({ "type": "group", "name": "All", "memberIds": members });
    let conversation =
        world.create(&mut caller, &owner.token, "/chat/conversations", group).await?;
    let messages = format!("/chat/conversations/{conversation}/messages");
    let message = json!({ "content": "Hello" });
    let message = world.create(&mut caller, &owner.token, &messages, message).await?;
    let (project, people) = (world.project.clone(), world.people.clone());
    Ok(Rows { project, entities, comments, space, conversation, message, people })
}

/// How often each status was answered.
async fn client(
    address: SocketAddr,
    rows: Arc<Rows>,
    number: usize,
    mut dice: Dice,
) -> Result<BTreeMap<u16, u64>, String> {
    let mut caller = Caller::new(address);
    let mut statuses = BTreeMap::new();
    let mut written = Vec::new();
    let end = now() + LENGTH;
    while now() < end {
        let (method, endpoint, body) = rows.draw(&mut dice, &mut written);
        let path = format!("/v8/{}{endpoint}", rows.project);
        let token = &rows.people[number].token;
        let reply = caller.call(method, &path, token, body.as_ref()).await?;
        if reply.status >= 500 {
            eprintln!("  {method} {endpoint}: {}", reply.status);
        }
        if reply.status == 201 && endpoint == "/comments" {
            written.push(reply.text("id")?);
        }
        *statuses.entry(reply.status).or_insert(0) += 1;
    }
    Ok(statuses)
}

impl Rows {
    /// A request on one of the rows. `written` holds the client's own comments.
    fn draw(
        &self,
        dice: &mut Dice,
        written: &mut Vec<String>,
    ) -> (&'static str, String, Option<Value>) {
        let entity = &self.entities[dice.draw(self.entities.len())];
        let comment = &self.comments[dice.draw(self.comments.len())];
        let other = &self.people[dice.draw(4)].id;
        let (space, conversation) = (&self.space, &self.conversation);
        let kind = ["like", "love", "upvote", "downvote"][dice.draw(4)];
        let emoji = ["👍", "🎉"][dice.draw(2)];
        match dice.draw(16) {
            0 | 1 => (
                "POST",
                format!("/entities/{entity}/reactions"),
                Some(json!({ "reactionType": kind })),
            ),
            2 => ("DELETE", format!("/entities/{entity}/reactions"), None),
            3 => (
                "POST",
                format!("/comments/{comment}/reactions"),
                Some(json!({ "reactionType": kind })),
            ),
            4 => ("DELETE", format!("/comments/{comment}/reactions"), None),
            5 | 6 => {
                let body = json!({ "entityId": entity, "parentId": comment, "content": "Reply" });
                ("POST", "/comments".to_owned(), Some(body))
            }
            7 => match written.pop() {
                Some(own) => ("DELETE", format!("/comments/{own}"), None),
                None => ("GET", format!("/entities/{entity}"), None),
            },
            8 => ("POST", format!("/users/{other}/follow"), None),
            9 => ("DELETE", format!("/users/{other}/follow"), None),
            10 => ("POST", format!("/spaces/{space}/join"), None),
            11 => ("DELETE", format!("/spaces/{space}/leave"), None),
            12 => (
                "POST",
                format!("/chat/conversations/{conversation}/messages"),
                Some(json!({ "content": "Hi", "parentMessageId": self.message })),
            ),
            13 => (
                "POST",
                format!("/chat/conversations/{conversation}/messages/{}/reactions", self.message),
                Some(json!({ "emoji": emoji })),
            ),
            14 => {
                let body = json!({ "targetType": "entity", "targetId": entity, "reason": "spam" });
                ("POST", "/reports".to_owned(), Some(body))
            }
            _ => ("PATCH", "/app-notifications/mark-all-as-read".to_owned(), None),
        }
    }
}
