//! A read replica, which really replicates: what may be read there, and that nobody notices when it is gone.

use std::time::Duration;

use db::testing::Cluster;
use db::{Db, Error, Migration, Moment, Options, Query, args, exactly, tolerate_lag};

use crate::support::*;

fn open(primary: &Cluster, replica: &Cluster) -> Db {
    let url = primary.create_database();
    let read_url = Some(replica.address_of(&url));
    let db = Db::open(&url, Options { read_url, pool: 2, ..Options::default() }).unwrap();
    db.migrate(&[Migration::shared(1, "all", SCHEMA)], 0).unwrap();
    db
}

/// Whether the replica answers.
async fn is_stale(db: &Db) -> bool {
    let asked =
        db.read(|c| c.one(&Query::<bool>::built("where", "SELECT pg_is_in_recovery()"), args![]));
    asked.await.unwrap_or_else(|error: Error| panic!("{error}"))
}

async fn until_stale(db: &Db, since: Option<Moment>) {
    let waiting = async { while !tolerate_lag(since, is_stale(db)).await {} };
    tokio::time::timeout(Duration::from_secs(30), waiting).await.unwrap();
}

fn replay(replica: &Cluster, what: &str) {
    let there = Db::open(&replica.address_of("postgres://x/postgres"), one_connection()).unwrap();
    there.execute_script(&format!("SELECT pg_wal_replay_{what}()")).unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn reads_that_tolerate_lag_go_to_the_replica_and_find_what_their_task_wrote() {
    let (primary, replica) = Cluster::replicated();
    let db = open(&primary, &replica);
    until_stale(&db, None).await;
    assert!(!is_stale(&db).await, "nobody tolerates lag by default");
    assert!(!tolerate_lag(None, exactly(is_stale(&db))).await);

    replay(&replica, "pause");
    let count = || async {
        let counted = db.read(|c| c.one(&COUNT_NOTES, args![]));
        counted.await.unwrap_or_else(|error: Error| panic!("{error}"))
    };
    let task = async {
        assert!(is_stale(&db).await);
        db.write(|tx| insert_in(tx, 1, "mine")).await.unwrap();
        assert!(!is_stale(&db).await);
        assert_eq!(count().await, 1);
    };
    tolerate_lag(None, task).await;
    // Another task of the one who wrote, and one of somebody else.
    let wrote = Moment::now();
    assert_eq!(tolerate_lag(Some(wrote), count()).await, 1);
    assert_eq!(tolerate_lag(None, count()).await, 0);
    replay(&replica, "resume");
    until_stale(&db, Some(wrote)).await;
    assert_eq!(tolerate_lag(Some(wrote), count()).await, 1);
    assert!(db.stats().replica.unwrap().reads > 0);
    db.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn too_much_lag_and_a_lost_replica_are_not_noticed() {
    let (primary, replica) = Cluster::replicated();
    let url = primary.create_database();
    let options = Options {
        read_url: Some(replica.address_of(&url)),
        max_lag: Duration::from_secs(2),
        pool: 2,
        ..Options::default()
    };
    let db = Db::open(&url, options).unwrap();
    until_stale(&db, None).await;
    replay(&replica, "pause");
    // The position moves on with every write, and the replica does not.
    let lagging = async {
        while tolerate_lag(None, is_stale(&db)).await {
            db.touch().await.unwrap();
        }
    };
    tokio::time::timeout(Duration::from_secs(30), lagging).await.unwrap();
    replay(&replica, "resume");
    until_stale(&db, None).await;
    replica.stop();
    let lost = async { while tolerate_lag(None, is_stale(&db)).await {} };
    tokio::time::timeout(Duration::from_secs(30), lost).await.unwrap();
    for _ in 0..100 {
        assert!(!tolerate_lag(None, is_stale(&db)).await);
    }
    db.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_is_no_replica_is_not_read_from() {
    let test = TestDb::postgres();
    let db = test.open(Options { read_url: Some(test.url.clone()), ..one_connection() });
    for _ in 0..20 {
        tolerate_lag(None, is_stale(&db)).await;
        std::thread::sleep(Duration::from_millis(10));
    }
    let stats = db.stats().replica.unwrap();
    assert_eq!((stats.lag, stats.reads, stats.fallbacks), (None, 0, 0));
}
