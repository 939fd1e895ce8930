//! Concurrent changes of relations: each pair has one, and every count is exact.

use std::time::Duration;

use db::{Command, args};
use serde_json::json;
use townhall::features::connections::rules::Status;
use townhall::features::connections::store::{self, recount as connections};
use townhall::features::follows::store::recount as follows;
use townhall::features::users::store::{self as users, UserRow};
use townhall::values::ids::{ConnectionId, UserId, new_id};

use crate::blocks;
use crate::support::{TestApp, all_at_once, count, on_both_engines};
use crate::user_connections::{ask, path};

on_both_engines![
    crossing_requests_make_one_connection,
    one_of_many_follows_counts,
    a_request_is_accepted_or_declined_once,
    concurrent_relations_with_one_user_are_all_counted,
    one_of_many_blocks_is_made,
    nothing_is_left_between_a_blocked_pair,
    a_user_is_deleted_while_others_come_and_go,
    the_doctor_repairs_the_counts,
];

/// Compares the stored counts of the whole installation with the rows.
pub(crate) async fn counts_agree(app: &TestApp) {
    let drifted = app.app.db.read(|c| {
        Ok::<_, townhall::error::Error>((follows::drifted(c)?, connections::drifted(c)?))
    });
    let (follows, connections) = drifted.await.unwrap();
    assert_eq!((app.own(follows), app.own(connections)), (vec![], vec![]));
}

/// Connects the user with so many others, `Person 0` with the username `m0` and so on, each a second
/// younger than the one before; how many there are.
pub(crate) async fn connect_with_many(app: &TestApp, user: UserId, number: usize) -> usize {
    let (project, now, random) = (app.project.id, app.now(), app.app.random.clone());
    let rows: Vec<(UserRow, store::ConnectionRow)> = (0..number)
        .map(|n| {
            let at = now.minus(Duration::from_secs((number - n) as u64));
            let other = UserRow {
                name: Some(format!("Person {n}")),
                username: Some(format!("m{n}")),
                ..UserRow::new(UserId(new_id(at, &random)), at)
            };
            let connection = store::ConnectionRow {
                id: ConnectionId(new_id(at, &random)),
                low_id: user.min(other.id),
                high_id: user.max(other.id),
                requester_id: user,
                status: Status::Pending,
                message: None,
                responded_at: None,
                created_at: at,
            };
            (other, connection)
        })
        .collect();
    for batch in rows.chunks(500) {
        let batch = batch.to_vec();
        let written = app.app.db.write(move |tx| {
            for (other, connection) in &batch {
                users::insert(tx, project, other)?;
                store::insert(tx, project, connection)?;
                store::answer(tx, project, connection, Status::Accepted, now)?;
            }
            Ok::<_, townhall::error::Error>(())
        });
        written.await.unwrap();
    }
    let counts = app.app.db.read(move |c| store::counts(c, project, user)).await.unwrap();
    usize::try_from(counts.connected).unwrap()
}

async fn crossing_requests_make_one_connection(app: TestApp) {
    for _ in 0..5 {
        let (ada, bob) = (app.user().await, app.user().await);
        let requests = (0..6).map(|n| {
            let (from, to) = if n % 2 == 0 { (&ada, &bob) } else { (&bob, &ada) };
            let address = path(to.id);
            async move { from.post(&address, json!({})).await }
        });
        let replies = all_at_once(requests).await;
        assert_eq!(count(&replies, 201), 1);
        for refused in replies.iter().filter(|reply| reply.status != 201) {
            refused.refused(409, "connection/request-pending");
        }
    }
    counts_agree(&app).await;
}

async fn one_of_many_follows_counts(app: TestApp) {
    let (ada, bob) = (app.user().await, app.user().await);
    let address = format!("/users/{}/follow", bob.id);
    let replies = all_at_once((0..8).map(|_| ada.post(&address, json!({})))).await;
    assert_eq!((count(&replies, 201), count(&replies, 409)), (1, 7));
    let replies = all_at_once((0..8).map(|_| ada.delete(&address))).await;
    assert_eq!((count(&replies, 204), count(&replies, 404)), (1, 7));
    counts_agree(&app).await;
}

async fn a_request_is_accepted_or_declined_once(app: TestApp) {
    let (ada, bob) = (app.user().await, app.user().await);
    for _ in 0..4 {
        let id = ask(&ada, bob.id).await;
        let replies = all_at_once((0..6).map(|n| {
            let (ada, bob, id) = (&ada, &bob, &id);
            async move {
                match n % 3 {
                    0 => bob.patch(&format!("/connections/{id}/accept"), json!({})).await,
                    1 => bob.patch(&format!("/connections/{id}/decline"), json!({})).await,
                    _ => ada.delete(&format!("/connections/{id}")).await,
                }
            }
        }))
        .await;
        // Accepted first, it may still be removed.
        assert!((1..=2).contains(&count(&replies, 200)), "{replies:?}");
        counts_agree(&app).await;
        blocks::block(&ada, &bob).await;
        ada.delete(&blocks::path(bob.id)).await;
    }
    counts_agree(&app).await;
}

async fn concurrent_relations_with_one_user_are_all_counted(app: TestApp) {
    let star = app.user().await;
    let mut fans = Vec::new();
    for _ in 0..8 {
        fans.push(app.user().await);
    }
    let follow = format!("/users/{}/follow", star.id);
    let connect = path(star.id);
    let replies = all_at_once(fans.iter().flat_map(|fan| {
        [(&follow, fan), (&connect, fan)]
            .map(|(address, fan)| async move { fan.post(address, json!({})).await })
    }))
    .await;
    assert_eq!(count(&replies, 201), 16);
    let counted = star.get("/follows/followers-count").await.expect(200);
    assert_eq!(counted, json!({ "count": 8 }));
    let received = star.get("/connections/pending/received").await.expect(200);
    assert_eq!(received["pagination"]["totalItems"], 8);
    let accepted = all_at_once(received["data"].as_array().unwrap().iter().map(|one| {
        let accept = format!("/connections/{}/accept", one["id"].as_str().unwrap());
        let star = &star;
        async move { star.patch(&accept, json!({})).await }
    }))
    .await;
    assert_eq!(count(&accepted, 200), 8);
    assert_eq!(star.get("/connections/count").await.expect(200), json!({ "count": 8 }));
    counts_agree(&app).await;
}

async fn one_of_many_blocks_is_made(app: TestApp) {
    let (ada, bob) = (app.user().await, app.user().await);
    let address = blocks::path(bob.id);
    let replies = all_at_once((0..8).map(|_| ada.post(&address, json!({})))).await;
    assert_eq!((count(&replies, 201), count(&replies, 200)), (1, 7));
    assert!(replies.iter().all(|reply| reply.body == replies[0].body));
}

async fn nothing_is_left_between_a_blocked_pair(app: TestApp) {
    for _ in 0..5 {
        let (ada, bob) = (app.user().await, app.user().await);
        all_at_once((0..6).map(|n| {
            let (ada, bob) = (&ada, &bob);
            async move {
                match n {
                    0 => ada.post(&format!("/users/{}/follow", bob.id), json!({})).await,
                    1 => bob.post(&format!("/users/{}/follow", ada.id), json!({})).await,
                    2 => ada.post(&path(bob.id), json!({})).await,
                    3 => ada.post(&blocks::path(bob.id), json!({})).await,
                    4 => bob.post(&path(ada.id), json!({})).await,
                    _ => bob.post(&blocks::path(ada.id), json!({})).await,
                }
            }
        }))
        .await;
    }
    let project = app.project.id;
    let left = app.app.db.read(move |c| {
        let count = |table: &str| {
            let text = format!("SELECT count(*) FROM {table} WHERE project_id = $1");
            c.one(&db::Query::<i64>::built("test::count", text), args![project])
        };
        Ok::<_, db::Error>([count("follows")?, count("connections")?, count("connection_sides")?])
    });
    assert_eq!(left.await.unwrap(), [0, 0, 0]);
    counts_agree(&app).await;
}

async fn a_user_is_deleted_while_others_come_and_go(app: TestApp) {
    for _ in 0..3 {
        let (gone, one, other) = (app.user().await, app.user().await, app.user().await);
        ask(&gone, one.id).await;
        let follow = format!("/users/{}/follow", gone.id);
        other.post(&follow, json!({})).await.expect(201);
        let service = app.service();
        all_at_once((0..5).map(|n| {
            let (gone, one, other) = (&gone, &one, &other);
            let (follow, service) = (&follow, &service);
            async move {
                match n {
                    0 => one.post(follow, json!({})).await,
                    1 => service.delete(&format!("/users/{}", gone.id)).await,
                    2 => other.delete(follow).await,
                    3 => one.delete(&path(gone.id)).await,
                    _ => other.post(&path(gone.id), json!({})).await,
                }
            }
        }))
        .await;
        counts_agree(&app).await;
    }
}

async fn the_doctor_repairs_the_counts(app: TestApp) {
    let (ada, bob) = (app.user().await, app.user().await);
    ada.post(&format!("/users/{}/follow", bob.id), json!({})).await.expect(201);
    ask(&ada, bob.id).await;
    let (project, user) = (app.project.id, ada.id);
    let spoilt = app.app.db.write(move |tx| {
        for text in [
            "UPDATE follow_counts SET following = 7 WHERE project_id = $1 AND user_id = $2",
            "DELETE FROM connection_counts WHERE project_id = $1 AND user_id = $2",
        ] {
            tx.execute(&Command::built("test::spoil", text), args![project, user])?;
        }
        Ok::<_, db::Error>(())
    });
    spoilt.await.unwrap();
    let drifted = app.app.db.read(|c| {
        Ok::<_, townhall::error::Error>((follows::drifted(c)?, connections::drifted(c)?))
    });
    let wrong = vec![(project, user)];
    let (follows, connections) = drifted.await.unwrap();
    assert_eq!((app.own(follows), app.own(connections)), (wrong.clone(), wrong));
    let repaired = app.app.db.write(move |tx| {
        follows::repair(tx, project, user)?;
        connections::repair(tx, project, user)
    });
    repaired.await.unwrap();
    counts_agree(&app).await;
    let sent = ada.get("/connections/pending/sent").await.expect(200);
    assert_eq!(sent["pagination"]["totalItems"], 1);
}
