//! `townhall migrate distribute`, on a cluster of a coordinator and two workers that this file starts. Its tests
//! need the extension Citus for the installed PostgreSQL, and say so where it is missing. With `scripts/test-cluster`
//! all other tests run on such a cluster too.

use std::sync::OnceLock;

use db::testing::Cluster;
use db::{Db, Layout, Migration, Query, args};
use serde_json::{Value, json};
use townhall::schema::{DISTRIBUTION, MIGRATIONS};

use crate::support::{Installation, installed_on_both_engines};

installed_on_both_engines![a_database_without_the_extension_is_refused];

fn a_database_without_the_extension_is_refused(town: Installation) {
    if town.is_on_a_cluster() {
        return;
    }
    let line = "this database cannot be distributed: it is not PostgreSQL with the extension citus";
    assert_eq!(town.fails(&["migrate", "distribute"]), line);
    assert!(!town.run(&["migrate", "status"]).stdout.contains("tables:"));
}

/// A database of its own on a cluster, or none without the extension.
fn on_a_cluster() -> Option<Installation> {
    static CLUSTER: OnceLock<Cluster> = OnceLock::new();
    if !Cluster::can_be_distributed() {
        eprintln!("skipped: the extension citus is not installed for this PostgreSQL");
        return None;
    }
    let start = || CLUSTER.get_or_init(|| Cluster::distributed(2));
    let shared = Cluster::shared();
    Some(Installation::on(if shared.is_distributed() { shared } else { start() }))
}

fn layout(db: &Db) -> Layout {
    db.layout(&DISTRIBUTION).unwrap().unwrap()
}

fn all(db: &Db, text: &str) -> Vec<String> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let query = Query::<String>::built("all", text);
    runtime
        .block_on(db.read(move |c| c.all(&query, args![])))
        .map_err(|error: db::Error| error.to_string())
        .unwrap()
}

struct Forum {
    path: String,
    id: String,
    key: String,
}

impl Forum {
    fn new(town: &Installation) -> Forum {
        let made = town.json(&["project", "create", "--name", "Forum", "--bundles", "all"]);
        let text = |key: &str| made[key].as_str().unwrap().to_owned();
        Forum {
            path: format!("/v8/{}", text("projectId")),
            id: text("projectId"),
            key: text("serviceKey"),
        }
    }

    fn post(&self, town: &crate::support::Running, path: &str, body: Value) -> (u16, Value) {
        let path = format!("{}{path}", self.path);
        let (status, body) = town.request("POST", &path, &self.key, &body.to_string());
        (status, serde_json::from_str(&body).unwrap_or(Value::Null))
    }
}

fn somebody(name: &str) -> Value {
    json!({ "email": format!("{name}@example.com"), "password": "correct horse battery" })
}

fn table(name: &str) -> Value {
    let column = |name: &str| json!({ "columnName": name, "dataType": "text", "nullable": true });
    json!({ "tableName": name, "columns": [column("title")] })
}

#[test]
fn tables_are_distributed_once_and_keep_their_rows() {
    let Some(town) = on_a_cluster() else { return };
    let forum = Forum::new(&town);
    let server = town.serve();
    assert_eq!(forum.post(&server, "/auth/sign-up", somebody("ada")).0, 201);
    assert_eq!(forum.post(&server, "/db/tables", table("early")).0, 201);
    assert_eq!(forum.post(&server, "/db/early", json!({ "title": "kept" })).0, 201);
    drop(server);
    assert!(town.run(&["migrate", "status"]).stdout.contains("tables: all on the coordinator"));

    let done = town.json(&["migrate", "distribute"]);
    let names: Vec<&str> =
        done["distributed"].as_array().unwrap().iter().map(|n| n.as_str().unwrap()).collect();
    assert!(names.contains(&"projects") && names.contains(&"users") && names.contains(&"jobs"));
    assert!(names.iter().any(|name| name.starts_with("project_")), "{names:?}");
    let db = town.db();
    let (found, kept) = (layout(&db), names.len() as i64 - 2);
    assert_eq!((found.workers, found.tables, found.shards, found.schemas), (2, kept, 4, 1));
    assert_eq!(found.astray, Vec::<String>::new());
    let groups = "SELECT DISTINCT partmethod::text || ' ' || repmodel::text FROM pg_dist_partition ORDER BY 1";
    assert_eq!(all(&db, groups), ["h s", "n s", "n t"], "by hash, of a schema, everywhere");
    let again = town.json(&["migrate", "distribute"]);
    assert_eq!(again["distributed"], json!([]));

    let server = town.serve();
    assert_eq!(forum.post(&server, "/auth/sign-in", somebody("ada")).0, 200);
    let (status, taken) = forum.post(&server, "/auth/sign-up", somebody("ada"));
    assert_eq!(status, 409, "the constraint is named after its shard: {taken}");
    let rows = server.request("GET", &format!("{}/db/early", forum.path), &forum.key, "").1;
    assert!(rows.contains("kept"), "{rows}");
    drop(server);

    let text = town.run(&["migrate", "status"]).stdout;
    assert!(
        text.contains(&format!("tables: {kept} by project in 4 shards on 2 workers")),
        "{text}"
    );
    let doctor = town.json(&["doctor", "--deep"]);
    let cluster =
        doctor["checks"].as_array().unwrap().iter().find(|check| check["check"] == "cluster");
    assert_eq!(cluster.unwrap()["status"], "pass", "{doctor}");
}

#[test]
fn later_tables_follow() {
    let Some(town) = on_a_cluster() else { return };
    let forum = Forum::new(&town);
    town.json(&["migrate", "distribute"]);
    let db = town.db();
    let before = layout(&db);
    let server = town.serve();
    assert_eq!(forum.post(&server, "/auth/sign-up", somebody("ada")).0, 201);
    assert_eq!(forum.post(&server, "/db/tables", table("late")).0, 201);
    assert_eq!(forum.post(&server, "/db/late", json!({ "title": "x" })).0, 201);
    let column = json!({ "columnName": "size", "dataType": "decimal", "nullable": false, "defaultValue": "1.50" });
    assert_eq!(forum.post(&server, "/db/tables/late/columns", column).0, 201);
    let rows = server.request("GET", &format!("{}/db/late", forum.path), &forum.key, "").1;
    assert!(rows.contains("1.50"), "{rows}");
    drop(server);

    // What a later release may do: a table with foreign keys, filled, and one that replaces another.
    let mut migrations = MIGRATIONS.to_vec();
    let version = u32::try_from(migrations.len()).unwrap() + 1;
    migrations.push(Migration::shared(
        version,
        "badges",
        "CREATE TABLE badges (project_id {uuid} NOT NULL, user_id {uuid} NOT NULL, PRIMARY KEY (project_id, user_id),
            FOREIGN KEY (project_id, user_id) REFERENCES users (project_id, id) ON DELETE CASCADE) {strict};
         INSERT INTO badges (project_id, user_id) SELECT project_id, id FROM users;
         CREATE TABLE badges_of_users (project_id {uuid} NOT NULL, user_id {uuid} NOT NULL, n {int} NOT NULL,
            PRIMARY KEY (project_id, user_id),
            FOREIGN KEY (project_id, user_id) REFERENCES users (project_id, id) ON DELETE CASCADE) {strict};
         INSERT INTO badges_of_users (project_id, user_id, n) SELECT project_id, user_id, 1 FROM badges;
         DROP TABLE badges;
         ALTER TABLE badges_of_users RENAME TO badges;
         CREATE UNIQUE INDEX badges_number ON badges (project_id, n);",
    ));
    assert_eq!(db.migrate(&migrations, 1).unwrap(), [version]);
    let after = layout(&db);
    assert_eq!((after.tables, after.schemas), (before.tables + 1, before.schemas + 1));
    assert_eq!(after.astray, Vec::<String>::new());
    assert_eq!(all(&db, "SELECT n::text FROM badges"), ["1"]);
}

#[test]
fn a_project_gets_shards_of_its_own() {
    let Some(town) = on_a_cluster() else { return };
    let forum = Forum::new(&town);
    let done = town.json(&["migrate", "distribute", "--isolate", &forum.id]);
    assert_eq!((&done["isolated"], &done["tables"]["isolatedShards"]), (&json!(true), &json!(1)));
    let again = town.json(&["migrate", "distribute", "--isolate", &forum.id]);
    assert_eq!(
        (&again["isolated"], &again["tables"]["isolatedShards"]),
        (&json!(false), &json!(1))
    );
    let unknown = "01890000-0000-4000-8000-000000000000";
    let line = town.fails(&["migrate", "distribute", "--isolate", unknown]);
    assert_eq!(line, format!("there is no project {unknown}"));
    let server = town.serve();
    assert_eq!(forum.post(&server, "/auth/sign-up", somebody("ada")).0, 201);
}
