//! Every list of chat is found by an index, and messages and members are read in their order.

use serde_json::json;

use crate::feed_plans::{scans, sorts};
use crate::relation_plans::{Seen, explained};
use crate::support::{TestApp, on_both_engines};

on_both_engines![lists_of_chat_are_found_by_an_index];

async fn lists_of_chat_are_found_by_an_index(app: TestApp) {
    let app = app.server_with_many_rows().await;
    let (ada, bob) = (app.user().await, app.user().await);
    let body = json!({ "type": "group", "memberIds": [bob.id] });
    let made = ada.post("/chat/conversations", body).await.expect(201);
    let path = format!("/chat/conversations/{}", made["id"].as_str().unwrap());
    let message =
        ada.post(&format!("{path}/messages"), json!({ "content": "x" })).await.expect(201);
    let (id, at) = (message["id"].as_str().unwrap(), message["createdAt"].as_str().unwrap());
    // One who is in it, and one who has left.
    bob.delete(&format!("{path}/leave")).await.expect(200);
    let mut addresses: Vec<String> = [
        String::new(),
        "?sort=asc".to_owned(),
        format!("?before={at}"),
        format!("?after={at}&sort=asc"),
        format!("?parentId={id}"),
        format!("?parentId={id}&sort=desc&before={at}"),
        "?filters[hasReplies]=true".to_owned(),
        "?filters[hasReplies]=false".to_owned(),
    ]
    .map(|query| format!("{path}/messages{query}"))
    .to_vec();
    for query in [
        String::new(),
        "?types=direct,group".to_owned(),
        format!("?cursorCreatedAt={at}&cursor={at}"),
    ] {
        addresses.push(format!("/chat/conversations{query}"));
    }
    addresses.extend(["", "?role=admin"].map(|query| format!("{path}/members{query}")));
    let mut statements = Seen::new();
    for actor in [&ada, &bob] {
        for address in &addresses {
            let seen = app.statements.during(actor.get(address)).await;
            let seen = seen.into_iter().filter(|(name, _)| name.starts_with("chat::"));
            statements.extend(seen.map(|seen| (seen, address.clone())));
        }
    }
    assert!(statements.len() > 15, "{}", statements.len());
    let engine = app.engine();
    for (name, text, address, plan) in explained(&app, statements).await {
        assert!(!scans(&plan), "{address}: {name} {text}\n{}", plan.join("\n"));
        if ["chat::messages::page", "chat::members::page"].contains(&name) {
            assert!(!sorts(engine, &plan), "{address}: {text}\n{}", plan.join("\n"));
        }
    }
}
