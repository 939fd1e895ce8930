//! Several servers on one PostgreSQL database: events of one reach the sockets of all.

use db::Engine;
use http::Method;
use serde_json::json;
use townhall::tenancy::store as projects;

use crate::support::raw_socket::{Poller, request};
use crate::support::sockets::{Sockets, conversation, raise};
use crate::support::{TestApp, all_at_once, chat};

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

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn messages_sent_on_both_nodes_reach_both_in_one_order() {
    let (one, other) = two_nodes("messages_sent_on_both_nodes_reach_both_in_one_order").await;
    let mut client = Sockets::default();
    let (ada, bob) = (one.user().await, one.user().await);
    let group = chat::group(&ada, &[&bob]).await;
    let mut near = client.listen(&one, "websocket", &ada).await;
    let mut far = client.listen(&other, "websocket", &bob).await;
    let senders = [
        one.bearer(&ada.access_token),
        other.bearer(&ada.access_token),
        one.bearer(&bob.access_token),
        other.bearer(&bob.access_token),
    ];
    let send = |n: usize| chat::send(&senders[n % 4], &group, Box::leak(n.to_string().into()));
    all_at_once((0..60).map(send)).await;
    let mut heard = [Vec::new(), Vec::new()];
    for (socket, heard) in [&mut near, &mut far].into_iter().zip(&mut heard) {
        while heard.len() < 60 {
            let (name, payload) = socket.event().await;
            if name == "message:created" {
                heard.push(payload["content"].as_str().unwrap().to_owned());
            }
        }
    }
    assert_eq!(heard[0], heard[1], "one order for both");
    let mut all: Vec<usize> = heard[0].iter().map(|n| n.parse().unwrap()).collect();
    all.sort_unstable();
    assert_eq!(all, (0..60).collect::<Vec<_>>(), "each once");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_polling_client_on_the_wrong_node_is_told_what_is_wrong() {
    let (one, other) = two_nodes("a_polling_client_on_the_wrong_node").await;
    let poller = Poller::open(&one).await;
    let elsewhere = format!("&sid={}", poller.sid);
    other.until(|node| node.app.nodes.is_elsewhere(&poller.sid, node.app.clock.uptime())).await;
    let refusal = request(&other, Method::GET, &elsewhere, "").await;
    assert_eq!(refusal.status, 400);
    assert!(refusal.text().contains("sticky sessions"), "{}", refusal.text());
    let unknown = request(&other, Method::GET, "&sid=nobody's-secret", "").await;
    assert_eq!(unknown.text(), r#"{"code":1,"message":"Session ID unknown"}"#);
}

async fn status_for_a_page(node: &TestApp) -> u16 {
    let page = node.anonymous().with_header("Origin", "https://a.example");
    page.get("/projects/lean").await.status
}

/// The clock stands still: no copy gets older.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_changed_project_is_read_again_on_every_node() {
    let (one, other) = two_nodes("a_changed_project_is_read_again_on_every_node").await;
    let project = one.project.id;
    let nodes = [&one, &other];
    for node in nodes {
        assert_eq!(status_for_a_page(node).await, 200);
    }
    let now = one.now();
    let origins = r#"["https://b.example"]"#;
    let set = one.app.db.write(move |tx| projects::set_origins(tx, project, origins, now));
    assert!(set.await.unwrap());
    for node in nodes {
        while status_for_a_page(node).await != 403 {}
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nodes_share_their_rate_limits() {
    let one = TestApp::start(Engine::Postgres, "nodes_share_their_rate_limits").await;
    let one = one.restart_with(|config| config.set("TOWNHALL_RATE_LIMITS", "on")).await;
    let nodes = [&one, &one.second_node().await];
    // Until both hear: the first announcements may come before.
    for node in nodes {
        node.until(|node| node.app.limiter.nodes() == 2).await;
    }
    let mut admitted = 0;
    for request in 0..200 {
        let reply = nodes[request % 2].anonymous().get("/users/x").await;
        admitted += usize::from(reply.status != 429);
    }
    assert!((100..=110).contains(&admitted), "{admitted}");
}
