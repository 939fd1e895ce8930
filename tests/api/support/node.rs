//! A program of `tests/` run by node: one command per line in, one happening per line out, each under the name
//! that the test gave it. It ends when nobody is left who could write to it.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{ChildStdin, Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use serde_json::Value;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

type Wires = Arc<Mutex<HashMap<String, UnboundedSender<Value>>>>;

#[derive(Debug)]
pub struct Node {
    stdin: Mutex<ChildStdin>,
    wires: Wires,
    opened: AtomicU64,
}

impl Node {
    /// Runs `driver.js` of a folder, which needs this package.
    pub fn start(folder: &str, package: &str) -> Node {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join(folder);
        let installed = folder.join("node_modules").join(package).exists();
        assert!(installed, "{package} is missing: scripts/test installs it");
        let mut node = Command::new("node")
            .arg(folder.join("driver.js"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let stdin = Mutex::new(node.stdin.take().unwrap());
        let stdout = BufReader::new(node.stdout.take().unwrap());
        let wires = Wires::default();
        let told = wires.clone();
        std::thread::spawn(move || {
            for line in stdout.lines().map_while(Result::ok) {
                let happened: Value = serde_json::from_str(&line).unwrap();
                let id = happened["id"].as_str().unwrap();
                if let Some(wire) = told.lock().unwrap().get(id) {
                    let _ = wire.send(happened.clone());
                }
            }
            let _ = node.wait();
        });
        Node { stdin, wires, opened: AtomicU64::new(0) }
    }

    /// A new name, and what happens under it.
    pub fn listen(&self) -> (String, UnboundedReceiver<Value>) {
        let id = self.opened.fetch_add(1, Ordering::Relaxed).to_string();
        let (wire, happenings) = unbounded_channel();
        self.wires.lock().unwrap().insert(id.clone(), wire);
        (id, happenings)
    }

    pub fn forget(&self, id: &str) {
        self.wires.lock().unwrap().remove(id);
    }

    pub fn tell(&self, command: &Value) {
        writeln!(self.stdin.lock().unwrap(), "{command}").unwrap();
    }
}
