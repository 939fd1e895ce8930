//! `townhall migrate distribute`, on a cluster of a coordinator and two workers that this file starts. Its tests
//! need the extension Citus for the installed PostgreSQL, and say so where it is missing. With `scripts/test-cluster`
//! all other tests run on such a cluster too.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::sync::mpsc::{self, Receiver, Sender};
use std::time::Duration;

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
    // It refers to no other table.
    let word =
        "INSERT INTO search_words (project_id, section, word, number, letters, reversed, frequency)
        SELECT id, 1, 'kept', 1000, 0, '', 1 FROM projects";
    town.db().execute_script(word).unwrap();

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
    let left = "SELECT p.logicalrelid::text FROM pg_dist_partition p
        WHERE p.partmethod = 'h' AND pg_relation_size(p.logicalrelid) > 0";
    assert_eq!(all(&db, left), [""; 0], "rows on the coordinator");
    assert_eq!(all(&db, "SELECT word FROM search_words WHERE number = 1000"), ["kept"]);
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

/// The port of the worker that holds a project.
fn worker_of(db: &Db, project: &str) -> u16 {
    let text = format!(
        "SELECT nodeport::text FROM citus_shards
         WHERE shardid = get_shard_id_for_distribution_column('users', '{project}'::uuid)"
    );
    all(db, &text)[0].parse().unwrap()
}

/// What a client got that posted one entity after another to a project.
#[derive(Default)]
struct Posted {
    /// Ids of entities that the server has confirmed.
    confirmed: Vec<String>,
    refused: Vec<u16>,
}

/// Posts until told to stop; reports its number with each confirmed entity.
fn keep_posting(
    server: &crate::support::Running,
    forum: &Forum,
    (number, progress): (usize, Sender<usize>),
    stop: &AtomicBool,
) -> Posted {
    let mut posted = Posted::default();
    while !stop.load(SeqCst) {
        let (status, reply) = forum.post(server, "/entities", json!({ "title": "Under load" }));
        if status == 201 {
            posted.confirmed.push(reply["id"].as_str().unwrap().to_owned());
            // Nobody listens any more at the end.
            let _ = progress.send(number);
        } else {
            assert!(status >= 500, "{status} {reply}");
            posted.refused.push(status);
        }
    }
    posted
}

/// Waits until each of these projects has confirmed this many more entities.
fn until_more(progress: &Receiver<usize>, projects: &[usize], more: usize) {
    let mut missing: Vec<(usize, usize)> = projects.iter().map(|number| (*number, more)).collect();
    while missing.iter().any(|(_, more)| *more > 0) {
        let number = progress.recv_timeout(Duration::from_secs(60)).unwrap();
        if let Some((_, more)) = missing.iter_mut().find(|(other, _)| *other == number) {
            *more = more.saturating_sub(1);
        }
    }
}

#[test]
fn a_killed_worker_costs_only_its_own_projects_and_no_confirmed_write() {
    if !Cluster::can_be_distributed() {
        eprintln!("skipped: the extension citus is not installed for this PostgreSQL");
        return;
    }
    let cluster: &'static Cluster = Box::leak(Box::new(Cluster::distributed_and_durable(2)));
    let town = Installation::on(cluster);
    town.json(&["migrate", "distribute"]);
    let db = town.db();
    let forums: Vec<(u16, Forum)> = (0..8)
        .map(|_| {
            let forum = Forum::new(&town);
            (worker_of(&db, &forum.id), forum)
        })
        .collect();
    let lost = forums[0].0;
    assert!(forums.iter().any(|(port, _)| *port != lost), "all projects are on one worker");
    let server = town.launch(&["serve"], &[("TOWNHALL_DATABASE_WAIT", "2s")]);
    let stop = AtomicBool::new(false);
    let (sender, progress) = mpsc::channel();
    let everywhere: Vec<usize> = (0..forums.len()).collect();
    let elsewhere: Vec<usize> =
        everywhere.iter().copied().filter(|number| forums[*number].0 != lost).collect();
    let posted: Vec<Posted> = std::thread::scope(|scope| {
        let (server, stop) = (&server, &stop);
        let clients: Vec<_> = forums
            .iter()
            .enumerate()
            .map(|(number, (_, forum))| {
                let report = (number, sender.clone());
                scope.spawn(move || keep_posting(server, forum, report, stop))
            })
            .collect();
        until_more(&progress, &everywhere, 10);
        cluster.worker(lost).kill();
        until_more(&progress, &elsewhere, 30);
        cluster.worker(lost).revive();
        until_more(&progress, &everywhere, 10);
        stop.store(true, SeqCst);
        clients.into_iter().map(|client| client.join().unwrap()).collect()
    });

    let refused_there: usize = forums
        .iter()
        .zip(&posted)
        .filter(|((port, _), _)| *port == lost)
        .map(|(_, posted)| posted.refused.len())
        .sum();
    assert!(refused_there > 0, "the worker was away");
    for ((port, forum), posted) in forums.iter().zip(&posted) {
        if *port != lost {
            assert_eq!(posted.refused, [0; 0], "a project of the other worker");
        }
        for id in &posted.confirmed {
            let path = format!("{}/entities/{id}", forum.path);
            assert_eq!(server.request("GET", &path, &forum.key, "").0, 200, "{id} is lost");
        }
    }
}
