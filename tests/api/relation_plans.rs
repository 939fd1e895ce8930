//! How the engines find what lists of related users, and lists with somebody hidden, ask for: always by
//! an index, and pages in the order of one. The statements are those that requests really ran.

use std::collections::BTreeMap;

use db::Query;
use serde_json::json;

use crate::blocks::block;
use crate::comments::comment;
use crate::feed_plans::{run, scans, sorts};
use crate::reactions::{publish, react, reactions};
use crate::relation_races::connect_with_many;
use crate::support::feed::feed;
use crate::support::{TestApp, on_both_engines};

on_both_engines![lists_of_users_and_lists_without_the_hidden_are_found_by_an_index];

/// A statement by its name and text, and the address that ran it.
pub(crate) type Seen = BTreeMap<(&'static str, String), String>;

/// Each of them with its plan.
pub(crate) async fn explained(
    app: &TestApp,
    statements: Seen,
) -> Vec<(&'static str, String, String, Vec<String>)> {
    let db = app.app.db.clone();
    let plans = tokio::task::spawn_blocking(move || {
        let explained = statements.into_iter().map(|((name, text), address)| {
            let plan = db.explain(&Query::<()>::built(name, text.clone())).unwrap();
            (name, text, address, plan)
        });
        explained.collect()
    });
    plans.await.unwrap()
}

async fn lists_of_users_and_lists_without_the_hidden_are_found_by_an_index(app: TestApp) {
    let app = app.server_with_many_rows().await;
    let (ada, bob, cleo) = (app.user().await, app.user().await, app.user().await);
    connect_with_many(&app, ada.id, 2100).await;
    let entity = publish(&cleo).await;
    for user in [&ada, &bob] {
        user.post(&format!("/users/{}/follow", cleo.id), json!({})).await.expect(201);
        react(user, &entity, "like").await;
        publish(user).await;
    }
    block(&ada, &bob).await;
    run(&app, "{analyze}".to_owned()).await;

    let mut addresses: Vec<String> = ["", "?query=m2001", "?query=person", "?query=zz"]
        .map(|query| format!("/connections{query}"))
        .to_vec();
    for end in ["followers", "following", "connections"] {
        addresses.push(format!("/users/{}/{end}", cleo.id));
        addresses.push(format!("/users/{}/{end}?query=user&searchFields=name", cleo.id));
        addresses.push(format!("/users/{}/{end}-count", cleo.id));
    }
    addresses.push(reactions(&entity));
    addresses.push(format!("{}?reactionType=like", reactions(&entity)));
    addresses.push("/users/suggestions?query=ser".to_owned());
    for query in ["", "sortBy=hot", "sourceId=s", "followedOnly=true", "timeFrame=day"] {
        addresses.push(feed(query));
    }
    addresses.push(feed("blockedFilter=include-outbound-blocked"));

    let said = comment(&cleo, &entity, "x").await;
    let id = crate::comments::id_of(&entity);
    for query in ["", "sortBy=top", "sortBy=controversial", "parentId=none", "sortDir=asc"] {
        addresses.push(format!("/comments?entityId={id}&{query}"));
    }
    addresses.push(format!("/comments?parentId={}", said["id"].as_str().unwrap()));
    addresses.push(format!("{entity}/top-comment"));
    for viewer in [&ada, &bob] {
        let root = viewer.get("/collections/root").await.expect(200);
        let inside = format!("/collections/{}/entities", root["id"].as_str().unwrap());
        viewer.post(&inside, json!({ "entityId": id })).await.expect(200);
        for sort in ["new", "top", "hot", "added"] {
            addresses.push(format!("{inside}?sortBy={sort}"));
            addresses.push(format!("{inside}?sortBy={sort}&sortDir=asc"));
        }
    }

    let built = [
        "comments::list",
        "comments::best",
        "collections::links",
        "users::related",
        "users::trigrams",
        "users::store::suggest_visible",
        "reactions::hidden",
        "entities::list",
    ];
    let mut statements = Seen::new();
    for address in &addresses {
        for viewer in [&ada, &bob] {
            let seen = app.statements.during(viewer.get(address)).await;
            let seen =
                seen.into_iter().filter(|(name, _)| built.iter().any(|one| name.starts_with(one)));
            statements.extend(seen.map(|seen| (seen, address.clone())));
        }
    }
    assert!(statements.len() > 25, "{statements:#?}");
    let engine = app.engine();
    for (name, text, address, plan) in explained(&app, statements).await {
        assert!(!scans(&plan), "{address}: {name} {text}\n{}", plan.join("\n"));
        // What begins with a few is sorted; what walks a list is not.
        if name == "users::related::page" && !text.contains("WITH s") {
            assert!(!sorts(engine, &plan), "{address}: {text}\n{}", plan.join("\n"));
        }
    }
}
