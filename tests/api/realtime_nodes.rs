//! Several servers on one PostgreSQL database: events of one reach the sockets of all.

use db::Engine;
use serde_json::json;

use crate::support::TestApp;
use crate::support::sockets::{Sockets, conversation, raise};

async fn two_nodes(test: &str) -> (TestApp, TestApp) {
    let one = TestApp::start(Engine::Postgres, test).await;
    let other = one.second_node().await;
    (one, other)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn events_and_typing_cross_nodes() {
    let (one, other) = two_nodes("events_and_typing_cross_nodes").await;
    let mut client = Sockets::default();
    let (ada, bob) = (one.user().await, one.user().await);
    let mut near = client.connect(&one, "websocket", &ada).await;
    let mut far = client.connect(&other, "polling", &bob).await;
    for n in 0..20 {
        let node = if n % 2 == 0 { &one } else { &other };
        raise(node, &[ada.id, bob.id], "counted", json!(n)).await;
    }
    for socket in [&mut near, &mut far] {
        for n in 0..20 {
            assert_eq!(socket.event().await, ("counted".to_owned(), json!(n)));
        }
    }
    let room = conversation(&[ada.id, bob.id]);
    for (socket, node) in [(&near, &one), (&far, &other)] {
        socket.emit("join:conversation", json!({ "conversationId": room }));
        node.until(|app| app.app.realtime.sockets_in(one.project.id, room) == 1).await;
    }
    near.emit("typing:start", json!({ "conversationId": room }));
    let typing = json!({ "userId": ada.id, "conversationId": room });
    assert_eq!(far.event().await, ("typing:start".to_owned(), typing));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_sign_out_on_one_node_closes_sockets_on_the_other() {
    let (one, other) = two_nodes("a_sign_out_on_one_node_closes_sockets_on_the_other").await;
    let mut client = Sockets::default();
    let user = one.user().await;
    let mut far = client.connect(&other, "websocket", &user).await;
    let body = json!({ "refreshToken": user.refresh_token });
    one.anonymous().post("/auth/sign-out", body).await.expect(204);
    assert_eq!(far.closed().await, "io server disconnect");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn after_a_gap_clients_come_back_and_hear_again() {
    let app = TestApp::start(Engine::Postgres, "after_a_gap_clients_come_back_and_hear_again")
        .await
        .own_server()
        .await;
    let mut client = Sockets::default();
    let user = app.user().await;
    let mut sockets = Vec::new();
    for transport in ["websocket", "polling"] {
        let with = json!({
            "projectId": app.project.id,
            "token": user.access_token,
            "reconnection": true,
        });
        let mut socket = client.open(&app, &[transport], with);
        socket.connected().await;
        sockets.push(socket);
    }
    let kill = "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
        WHERE datname = current_database() AND query LIKE 'SELECT last_value %'";
    let killed = app.app.db.write(move |tx| tx.one(&db::Query::<i64>::built("kill", kill), &[]));
    assert_eq!(killed.await, Ok::<_, db::Error>(1));
    for socket in &mut sockets {
        assert_eq!(socket.closed().await, "transport close");
        socket.connected().await;
    }
    raise(&app, &[user.id], "heard", json!({})).await;
    for socket in &mut sockets {
        assert_eq!(socket.event().await.0, "heard");
    }
}
