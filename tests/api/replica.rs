//! `TOWNHALL_DATABASE_READ_URL`: a server that reads from a replica of its database, which really replicates.

use db::testing::Cluster;
use db::{Db, Options};
use serde_json::{Value, json};

use crate::support::{Installation, Running};

struct Town {
    server: Running,
    path: String,
    key: String,
}

impl Town {
    fn ask(&self, method: &str, path: &str, bearer: &str, body: &Value) -> (u16, Value) {
        let body = if body.is_null() { String::new() } else { body.to_string() };
        let path = format!("{}{path}", self.path);
        let (status, body) = self.server.request(method, &path, bearer, &body);
        (status, serde_json::from_str(&body).unwrap_or(Value::Null))
    }

    /// The address of a new entity.
    fn post(&self, bearer: &str) -> String {
        let (status, made) = self.ask("POST", "/entities", bearer, &json!({ "title": "new" }));
        assert_eq!(status, 201, "{made}");
        format!("/entities/{}", made["id"].as_str().unwrap())
    }

    fn get(&self, address: &str, bearer: &str) -> u16 {
        self.ask("GET", address, bearer, &Value::Null).0
    }
}

fn replay(replica: &Cluster, what: &str) {
    let url = replica.address_of("postgres://server/postgres");
    let db = Db::open(&url, Options { pool: 1, ..Options::default() }).unwrap();
    db.execute_script(&format!("SELECT pg_wal_replay_{what}()")).unwrap();
}

#[test]
fn anonymous_readers_get_the_replica_and_writers_what_they_wrote() {
    let (primary, replica) = Cluster::replicated();
    let town = Installation::on(Box::leak(Box::new(primary)));
    let made = town.json(&["project", "create", "--name", "Forum", "--bundles", "all"]);
    let text = |key: &str| made[key].as_str().unwrap().to_owned();
    let read_url = replica.address_of(&town.database_url);
    let server = town.launch(&["serve"], &[("TOWNHALL_DATABASE_READ_URL", &read_url)]);
    let town = Town { server, path: format!("/v8/{}", text("projectId")), key: text("serviceKey") };
    // The replica is read from as soon as it is known to have caught up.
    let mut stale = String::new();
    for attempt in 0.. {
        replay(&replica, "pause");
        stale = town.post(&town.key);
        if town.get(&stale, "") == 404 {
            break;
        }
        replay(&replica, "resume");
        assert!(attempt < 1000, "the replica is never read from");
    }
    assert_eq!(town.get(&stale, &town.key), 200, "keys read the primary");

    let credentials = json!({ "email": "ada@example.com", "password": "correct horse battery" });
    let (status, signed_up) = town.ask("POST", "/auth/sign-up", "", &credentials);
    assert_eq!(status, 201, "{signed_up}");
    let ada = signed_up["accessToken"].as_str().unwrap();
    let own = town.post(ada);
    assert_eq!(town.get(&own, ada), 200, "she reads what she wrote");

    replay(&replica, "resume");
    replica.stop();
    for _ in 0..20 {
        assert_eq!(town.get(&stale, ""), 200, "without a replica the primary is read");
        assert_eq!(town.get(&own, ada), 200);
    }
}

#[test]
fn only_postgres_has_replicas() {
    let town = Installation::new(db::Engine::Sqlite);
    let mut command = town.command();
    command.args(["serve"]).env("TOWNHALL_DATABASE_READ_URL", "postgres://db/townhall");
    let line = "TOWNHALL_DATABASE_READ_URL: only PostgreSQL has replicas";
    assert_eq!(crate::support::failure(&mut command), line);
}
