//! Sockets are closed with their session, and a little after their token expires.

use std::time::Duration;

use serde_json::json;

use crate::password_reset::request_token;
use crate::reactions::publish;
use crate::reports::{report, reports};
use crate::support::sockets::{Socket, Sockets, conversation, raise};
use crate::support::{TestApp, User, on_both_engines};

on_both_engines![
    sign_out_closes_the_sockets_of_its_session_and_no_other,
    a_reused_refresh_token_closes_the_sockets_of_its_session,
    a_new_password_closes_the_sockets_of_the_other_sessions,
    a_reset_password_closes_every_socket,
    a_deleted_user_has_no_sockets,
    a_suspended_user_is_cut_off_but_may_come_back_and_listen,
    a_socket_outlives_its_token_by_a_minute,
    a_client_that_answers_stays_however_often_it_is_asked,
    sockets_are_closed_when_the_server_stops,
];

const TRANSPORTS: [&str; 2] = ["websocket", "polling"];
const DISMISSED: &str = "io server disconnect";

async fn both(client: &mut Sockets, app: &TestApp, user: &User<'_>) -> Vec<Socket> {
    let mut sockets = Vec::new();
    for transport in TRANSPORTS {
        sockets.push(client.connect(app, transport, user).await);
    }
    sockets
}

async fn all_dismissed(sockets: &mut [Socket]) {
    for socket in sockets {
        assert_eq!(socket.closed().await, DISMISSED);
    }
}

async fn all_hear(app: &TestApp, user: &User<'_>, sockets: &mut [Socket]) {
    raise(app, &[user.id], "still there", json!({})).await;
    for socket in sockets {
        assert_eq!(socket.event().await.0, "still there");
    }
}

async fn refused(client: &mut Sockets, app: &TestApp, user: &User<'_>) {
    let with = json!({ "projectId": app.project.id, "token": user.access_token });
    assert_eq!(client.open(app, &["websocket"], with).refused().await, "Forbidden");
}

async fn sign_out_closes_the_sockets_of_its_session_and_no_other(app: TestApp) {
    let mut client = Sockets::default();
    let user = app.user().await;
    let other = user.sign_in_again().await;
    let mut ending = both(&mut client, &app, &user).await;
    let mut staying = both(&mut client, &app, &other).await;
    let body = json!({ "refreshToken": user.refresh_token });
    app.anonymous().post("/auth/sign-out", body).await.expect(204);
    all_dismissed(&mut ending).await;
    all_hear(&app, &user, &mut staying).await;
    // Its access token has not run out, but opens no socket.
    user.get("/oauth/identities").await.expect(200);
    refused(&mut client, &app, &user).await;
}

async fn a_reused_refresh_token_closes_the_sockets_of_its_session(app: TestApp) {
    let mut client = Sockets::default();
    let user = app.user().await;
    let other = user.sign_in_again().await;
    let mut ending = both(&mut client, &app, &user).await;
    let mut staying = both(&mut client, &app, &other).await;
    let body = json!({ "refreshToken": user.refresh_token });
    let anonymous = app.anonymous();
    let refresh = || anonymous.post("/auth/request-new-access-token", body.clone());
    refresh().await.expect(200);
    all_hear(&app, &user, &mut ending).await;
    for socket in &mut staying {
        socket.event().await;
    }
    app.advance(Duration::from_secs(31));
    refresh().await.refused(401, "auth/token-reuse-detected");
    all_dismissed(&mut ending).await;
    all_hear(&app, &user, &mut staying).await;
}

async fn a_new_password_closes_the_sockets_of_the_other_sessions(app: TestApp) {
    let mut client = Sockets::default();
    let user = app.user().await;
    let other = user.sign_in_again().await;
    let mut staying = both(&mut client, &app, &user).await;
    let mut ending = both(&mut client, &app, &other).await;
    let body = json!({ "password": User::PASSWORD, "newPassword": "another horse" });
    user.post("/auth/change-password", body).await.expect(200);
    all_dismissed(&mut ending).await;
    all_hear(&app, &user, &mut staying).await;
}

async fn a_reset_password_closes_every_socket(app: TestApp) {
    let mut client = Sockets::default();
    let user = app.user().await;
    let mut sockets = both(&mut client, &app, &user).await;
    sockets.extend(both(&mut client, &app, &user.sign_in_again().await).await);
    let token = request_token(&app, &user.email).await;
    let body = json!({ "token": token, "newPassword": "another horse" });
    app.anonymous().post("/auth/reset-password", body).await.expect(200);
    all_dismissed(&mut sockets).await;
    refused(&mut client, &app, &user).await;
}

async fn a_deleted_user_has_no_sockets(app: TestApp) {
    let mut client = Sockets::default();
    let user = app.user().await;
    let mut sockets = both(&mut client, &app, &user).await;
    app.service().delete(&format!("/users/{}", user.id)).await.expect(204);
    all_dismissed(&mut sockets).await;
    refused(&mut client, &app, &user).await;
}

async fn a_suspended_user_is_cut_off_but_may_come_back_and_listen(app: TestApp) {
    let mut client = Sockets::default();
    let user = app.user().await;
    let mut sockets = both(&mut client, &app, &user).await;
    let reporter = app.user().await;
    report(&reporter, &publish(&user).await).await;
    let open = &reports(&app, "status=open").await[0]["id"];
    let suspend = json!({
        "actions": ["suspend-user"], "summary": "Out", "userId": user.id, "reason": "Spam",
    });
    let path = format!("/reports/{}", open.as_str().unwrap());
    app.service().patch(&path, suspend).await.expect(200);
    for socket in &mut sockets {
        // Unlike a dismissal this lets a client come back by itself.
        assert_eq!(socket.closed().await, "transport close");
    }
    let mut again = both(&mut client, &app, &user).await;
    all_hear(&app, &user, &mut again).await;
}

async fn a_socket_outlives_its_token_by_a_minute(app: TestApp) {
    let mut client = Sockets::default();
    let user = app.user().await;
    let mut sockets = both(&mut client, &app, &user).await;
    app.advance(Duration::from_secs(1800 + 59));
    let fresh = user.sign_in_again().await;
    let mut renewed = both(&mut client, &app, &fresh).await;
    all_hear(&app, &user, &mut sockets).await;
    all_hear_only(&mut renewed).await;
    app.advance(Duration::from_secs(1));
    for socket in &mut sockets {
        assert_eq!(socket.closed().await, "transport close");
    }
    all_hear(&app, &user, &mut renewed).await;
}

async fn all_hear_only(sockets: &mut [Socket]) {
    for socket in sockets {
        assert_eq!(socket.event().await.0, "still there");
    }
}

async fn a_client_that_answers_stays_however_often_it_is_asked(app: TestApp) {
    let mut client = Sockets::default();
    let user = app.user().await;
    for transport in TRANSPORTS {
        let with =
            json!({ "projectId": app.project.id, "token": user.access_token, "pings": true });
        let mut socket = client.open(&app, &[transport], with);
        socket.connected().await;
        for _ in 0..4 {
            app.advance(Duration::from_secs(25));
            assert_eq!(socket.next().await["kind"], "ping");
            // Packets sent after the reply are handled after it.
            let room = conversation(&[user.id]);
            socket.emit("join:conversation", json!({ "conversationId": room }));
            app.until(|app| app.app.realtime.sockets_in(app.project.id, room) == 1).await;
        }
        socket.disconnect();
    }
}

async fn sockets_are_closed_when_the_server_stops(app: TestApp) {
    let app = app.own_server().await;
    let mut client = Sockets::default();
    let user = app.user().await;
    let mut sockets = both(&mut client, &app, &user).await;
    app.app.drain();
    for socket in &mut sockets {
        // A late poll finds no connection.
        let reason = socket.closed().await;
        assert!(["transport close", "transport error"].contains(&reason.as_str()), "{reason}");
    }
    assert_eq!(app.app.realtime.figures().sockets, 0);
    app.app.realtime.unwired().await;
}
