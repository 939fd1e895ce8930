//! Mutated requests made from the server's own OpenAPI document, with real ids and tokens: none may
//! be answered with a 5xx, and every reply must be one that the document describes.

mod document;
mod scene;
mod values;

use std::net::SocketAddr;
use std::sync::Arc;

use bench::dice::Dice;
use bench::store::Engine;
use tokio::task::JoinSet;

use crate::http::{Caller, form, request};
use crate::trial::{Figure, Setup};
use crate::world::World;
use document::{Document, Operation};
use scene::Scene;
use values::Values;

const WORKERS: u32 = 8;
/// Requests between two new scenes: what was there is deleted or changed beyond use by then.
const REQUESTS_PER_SCENE: u32 = 1500;
const VERSIONS: [&str; 3] = ["v6", "v7", "v8"];

pub async fn trial(setup: &Setup, engine: Engine) -> Result<Figure, String> {
    // A list that is stopped for being slow is answered with 503 by design.
    let patient = [("TOWNHALL_TABLE_QUERY_DEADLINE", "60s")];
    let world = Arc::new(World::start(setup, engine, 0, &patient).await?);
    let address = world.server.address;
    let mut documents = Vec::new();
    for version in VERSIONS {
        documents.push(Document::load(address, version).await?);
    }
    let documents = Arc::new(documents);
    let each = setup.requests / 2 / WORKERS;
    let mut workers = JoinSet::new();
    for number in 0..WORKERS {
        let dice = Dice::new(setup.seed << 8 | u64::from(number));
        let worker =
            Worker { world: Arc::clone(&world), documents: Arc::clone(&documents), number };
        workers.spawn(worker.run(address, dice, each));
    }
    let Findings { sent, accepted, mut wrong } = {
        let mut all = Findings::default();
        for found in workers.join_all().await {
            all.add(found?);
        }
        all
    };
    wrong.sort();
    let count = wrong.len();
    wrong.dedup_by_key(|what| what.split(" | ").next().map(str::to_owned));
    wrong.iter().take(40).for_each(|what| eprintln!("  {what}"));
    world.examine(setup)?;
    let operations: usize = documents.iter().map(|document| document.operations.len()).sum();
    let text = format!(
        "{sent} mutated requests to {operations} operations, {accepted} accepted: \
         {count} with a 5xx or a reply outside the document"
    );
    Ok(Figure::new(count == 0 && accepted > 0, text))
}

#[derive(Debug, Default)]
struct Findings {
    sent: u32,
    /// Answered with 2xx.
    accepted: u32,
    /// What was wrong with replies.
    wrong: Vec<String>,
}

impl Findings {
    fn add(&mut self, other: Findings) {
        self.sent += other.sent;
        self.accepted += other.accepted;
        self.wrong.extend(other.wrong);
    }
}

#[derive(Debug)]
struct Worker {
    world: Arc<World>,
    documents: Arc<Vec<Document>>,
    number: u32,
}

impl Worker {
    async fn run(
        self,
        address: SocketAddr,
        mut dice: Dice,
        requests: u32,
    ) -> Result<Findings, String> {
        let mut caller = Caller::new(address);
        let mut found = Findings { sent: requests, ..Findings::default() };
        let mut left = requests;
        while left > 0 {
            let scene = Scene::make(&self.world, &mut caller, self.number, left).await?;
            let now = left.min(REQUESTS_PER_SCENE);
            for _ in 0..now {
                let document = &self.documents[dice.draw(self.documents.len())];
                let operation = &document.operations[dice.draw(document.operations.len())];
                let mut values = Values { document, scene: &scene, dice: &mut dice };
                let (line, bytes) = draw(operation, &mut values);
                let objection = match caller.send(&bytes).await {
                    Ok(reply) => {
                        found.accepted += u32::from(reply.status < 300);
                        document.objection(operation, &reply)
                    }
                    Err(why) => Some(format!("no answer: {why}")),
                };
                if let Some(objection) = objection {
                    let Operation { method, template, .. } = operation;
                    found.wrong.push(format!("{method} {template}: {objection} | {line}"));
                }
            }
            left -= now;
        }
        Ok(found)
    }
}

/// A request for the operation: its first line for people, and its bytes.
fn draw(operation: &Operation, values: &mut Values<'_>) -> (String, Vec<u8>) {
    let mut path = operation.template.clone();
    for parameter in &operation.path {
        let value = values.segment(parameter);
        path = path.replace(&format!("{{{}}}", parameter.name), &encoded(&value));
    }
    let mut pairs = Vec::new();
    for parameter in &operation.query {
        if parameter.required && !values.one_in(20) || values.one_in(3) {
            let value = values.text(&parameter.name, &parameter.schema);
            pairs.push(format!("{}={}", encoded(&parameter.name), encoded(&value)));
        }
    }
    if !pairs.is_empty() {
        path = format!("{path}?{}", pairs.join("&"));
    }
    let token = values.token();
    let content = values.content(operation);
    let shown = content.as_ref().map_or(String::new(), |(_, body)| {
        String::from_utf8_lossy(body).chars().take(300).collect()
    });
    let line = format!("{} {path} {shown}", operation.method);
    let content = content.as_ref().map(|(media, body)| (media.as_str(), body.as_slice()));
    (line.chars().take(700).collect(), request(&operation.method, &path, &token, content))
}

/// A picture, for forms that take files.
fn with_picture(texts: &[(String, Vec<u8>)], field: &str) -> (String, Vec<u8>) {
    const PICTURE: &[u8] = include_bytes!("picture.png");
    let mut parts: Vec<(&str, Option<&str>, &[u8])> =
        texts.iter().map(|(name, text)| (name.as_str(), None, text.as_slice())).collect();
    parts.push((field, Some("picture.png"), PICTURE));
    form(&parts)
}

/// Percent-encoded, whatever it holds.
fn encoded(text: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_~".contains(&byte);
    let encode = |byte: u8| {
        if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") }
    };
    text.bytes().map(encode).collect()
}
