//! A server with a project and users, made the way an operator and an app would: by the command
//! line and by requests.

use std::path::Path;
use std::process::{Command, Stdio};

use bench::server::{SECRET, Server};
use bench::store::{Engine, Store};
use serde_json::{Value, json};

use crate::http::Caller;
use crate::trial::Setup;

#[derive(Debug, Clone)]
pub struct Person {
    pub id: String,
    pub token: String,
}

#[derive(Debug)]
pub struct World {
    pub store: Store,
    pub server: Server,
    pub project: String,
    pub service_key: String,
    pub people: Vec<Person>,
}

impl World {
    pub async fn start(
        setup: &Setup,
        engine: Engine,
        people: usize,
        settings: &[(&str, &str)],
    ) -> Result<World, String> {
        let store = tokio::task::spawn_blocking(move || Store::create(engine));
        let store = store.await.map_err(|error| error.to_string())??;
        // A trial reports what went wrong; the log would repeat it a thousand times. All requests of a
        // measurement come from one address, so its share is raised.
        let usual = [("RUST_LOG", "off"), ("TOWNHALL_CONNECTIONS_PER_NETWORK", "1000")];
        let settings = [&usual, settings].concat();
        let server = Server::start_with(&setup.program, &store, &settings).await?;
        let arguments = ["project", "create", "--name", "Torture", "--json"];
        let made = run(&setup.program, &store, &arguments)?;
        let text = |key: &str| made[key].as_str().unwrap_or_default().to_owned();
        let mut world = World {
            store,
            server,
            project: text("projectId"),
            service_key: text("serviceKey"),
            people: Vec::new(),
        };
        let mut caller = Caller::new(world.server.address);
        for number in 0..people {
            let person = world.sign_up(&mut caller, &format!("person{number}")).await?;
            world.people.push(person);
        }
        Ok(world)
    }

    /// The path of an operation of version 8.
    pub fn path(&self, endpoint: &str) -> String {
        format!("/v8/{}{endpoint}", self.project)
    }

    pub async fn sign_up(&self, caller: &mut Caller, name: &str) -> Result<Person, String> {
        let body = json!({
            "email": format!("{name}@example.com"),
            "password": "correct horse battery staple",
            "username": name,
        });
        let path = self.path("/auth/sign-up");
        let reply = caller.call("POST", &path, "", Some(&body)).await?.expect(201)?;
        Ok(Person { id: reply.text("user/id")?, token: reply.text("accessToken")? })
    }

    /// Creates something and returns its id.
    pub async fn create(
        &self,
        caller: &mut Caller,
        token: &str,
        endpoint: &str,
        body: Value,
    ) -> Result<String, String> {
        let reply = caller.call("POST", &self.path(endpoint), token, Some(&body)).await?;
        reply.expect(201).map_err(|why| format!("{endpoint}: {why}"))?.text("id")
    }

    /// What `townhall doctor --deep` finds wrong; nothing when all is well.
    pub fn examine(&self, setup: &Setup) -> Result<(), String> {
        self.operate(setup, &["doctor", "--deep"])
    }

    /// Runs a command of the operator.
    pub fn operate(&self, setup: &Setup, arguments: &[&str]) -> Result<(), String> {
        run(&setup.program, &self.store, &[arguments, &["--json"]].concat()).map(drop)
    }
}

/// Runs a command of the server's program; the document that it prints.
fn run(program: &Path, store: &Store, arguments: &[&str]) -> Result<Value, String> {
    let mut command = Command::new(program);
    command.env_clear().args(arguments).stdin(Stdio::null());
    command.env("TOWNHALL_DATA_DIR", &store.directory);
    command.env("TOWNHALL_DATABASE_URL", &store.url);
    command.env("TOWNHALL_SECRET_KEY", SECRET);
    // Webhook endpoints are in this process.
    command.env("TOWNHALL_OUTBOUND_ALLOW", "127.0.0.1/32");
    let output = command.output().map_err(|error| format!("{}: {error}", program.display()))?;
    let (told, said) =
        (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    if !output.status.success() {
        return Err(format!("townhall {}: {told}{said}", arguments.join(" ")));
    }
    serde_json::from_str(&told).map_err(|error| format!("{}: {error}", arguments.join(" ")))
}
