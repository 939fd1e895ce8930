//! Published clients of version 6, run by `tests/legacy-clients`: one in node, one in pages of a browser.

use std::sync::OnceLock;
use std::time::Duration;

use serde_json::{Value, json};

use super::TestApp;
use super::node::Node;

/// A browser on a busy machine.
const PATIENCE: Duration = Duration::from_secs(120);

fn node() -> &'static Node {
    static SHARED: OnceLock<Node> = OnceLock::new();
    SHARED.get_or_init(|| Node::start("legacy-clients", "@replyke/react-js"))
}

/// What the driver answers to a command; the command must not fail.
pub async fn ask(mut command: Value) -> Value {
    let (id, mut happenings) = node().listen();
    command["id"] = json!(id);
    node().tell(&command);
    let outcome = tokio::time::timeout(PATIENCE, happenings.recv()).await;
    node().forget(&id);
    let outcome = outcome.unwrap().unwrap();
    assert_eq!(outcome["error"], Value::Null, "{command}");
    outcome
}

/// One call of the Node client, with the server's address and a key if it has one.
pub fn for_node(
    app: &TestApp,
    key: Option<&str>,
    path: &str,
    argument: Value,
    kind: &str,
) -> Value {
    json!({
        "do": "node",
        "server": format!("http://{}", app.address),
        "project": app.project.id,
        "key": key,
        "path": path,
        "args": [argument],
        "type": kind,
    })
}

/// A call of the client for node, and its result, which has this type of the client.
pub async fn in_node(app: &TestApp, path: &str, argument: Value, kind: &str) -> Value {
    let mut outcome = ask(for_node(app, None, path, argument, kind)).await;
    assert_eq!(outcome["wrong"], json!([]), "{path}: {outcome:#}");
    outcome["result"].take()
}

/// A page in a browser of its own, which ends with the test.
#[derive(Debug)]
pub struct Page {
    pub name: String,
}

impl Page {
    pub async fn open(app: &TestApp, signed_token: Option<String>) -> Page {
        Self::launch(app, json!({ "signedToken": signed_token })).await
    }

    /// With `clients/redirect` repairing what the client gets wrong.
    pub async fn repaired(app: &TestApp) -> Page {
        Self::launch(app, json!({ "repairs": true })).await
    }

    async fn launch(app: &TestApp, mut command: Value) -> Page {
        let (name, _) = node().listen();
        command["do"] = json!("open");
        command["page"] = json!(name);
        command["server"] = json!(format!("http://{}", app.address));
        command["project"] = json!(app.project.id);
        let page = Page { name };
        ask(command).await;
        page
    }

    /// With a user who signed up on it.
    pub async fn signed_up(app: &TestApp) -> (Page, Value) {
        let page = Page::open(app, None).await;
        let user = page.sign_up().await;
        (page, user)
    }

    pub async fn sign_up(&self) -> Value {
        let new =
            json!({ "email": "page@example.com", "password": "correct horse", "username": "page" });
        self.function("useAuth", "signUpWithEmailAndPassword", json!([new]), "Nothing").await;
        self.state("useUser", "user", "AuthUser").await
    }

    /// A request to a path of the published address, by `fetch`, `xhr` or `socket`.
    pub async fn send(&self, by: &str, path: &str, mut request: Value) -> Value {
        request["do"] = json!("send");
        request["page"] = json!(self.name);
        request["by"] = json!(by);
        let scheme = if by == "socket" { "wss" } else { "https" };
        request["url"] = json!(format!("{scheme}://api.replyke.com{path}"));
        ask(request).await["result"].take()
    }

    /// The outcome of a call whose requests all succeeded and whose result has this type of the client.
    pub async fn outcome(&self, command: Value) -> Value {
        let mut command = command;
        command["do"] = json!("call");
        command["page"] = json!(self.name);
        let outcome = ask(command.clone()).await;
        assert_eq!(outcome["failed"], Value::Null, "{command}: {outcome:#}");
        assert_eq!(outcome["wrong"], json!([]), "{command}: {outcome:#}");
        let requests = outcome["requests"].as_array().unwrap();
        let has_failed =
            |request: &&Value| !(200..300).contains(&request["status"].as_u64().unwrap());
        let failed: Vec<&Value> = requests.iter().filter(has_failed).collect();
        assert!(failed.is_empty(), "{command}: {failed:?}");
        outcome
    }

    /// Calls the function that a hook returns.
    pub async fn call(&self, hook: &str, argument: Value, kind: &str) -> Value {
        let args = if argument.is_null() { json!([]) } else { json!([argument]) };
        let mut outcome = self.outcome(json!({ "hook": hook, "args": args, "type": kind })).await;
        outcome["result"].take()
    }

    /// Calls one of the functions that a hook returns.
    pub async fn function(&self, hook: &str, method: &str, args: Value, kind: &str) -> Value {
        let command = json!({ "hook": hook, "method": method, "args": args, "type": kind });
        self.outcome(command).await["result"].take()
    }

    /// Calls one of the functions of a hook that takes an argument itself.
    pub async fn act(&self, hook: &str, props: &Value, method: &str, args: Value) -> Value {
        let command = json!({ "hook": hook, "props": [props], "method": method, "args": args });
        self.outcome(command).await["result"].take()
    }

    /// Waits for the state of a hook.
    pub async fn state(&self, hook: &str, path: &str, kind: &str) -> Value {
        self.state_of(hook, json!([]), path, kind).await
    }

    pub async fn state_of(&self, hook: &str, props: Value, path: &str, kind: &str) -> Value {
        let command = json!({
            "do": "state", "page": self.name, "hook": hook, "props": props, "path": path, "type": kind,
        });
        let mut outcome = ask(command).await;
        assert_eq!(outcome["wrong"], json!([]), "{hook}.{path}: {outcome:#}");
        outcome["result"].take()
    }

    pub async fn reload(&self) {
        ask(json!({ "do": "reload", "page": self.name })).await;
    }
}

impl Drop for Page {
    fn drop(&mut self) {
        node().tell(&json!({ "do": "close", "id": "", "page": self.name }));
    }
}
