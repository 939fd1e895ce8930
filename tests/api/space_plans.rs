//! Every list of spaces, and every list that leaves out what a space keeps to itself, is found by an
//! index.

use serde_json::json;

use crate::comments::comment;
use crate::feed_plans::{scans, sorts};
use crate::relation_plans::{Seen, explained};
use crate::space_members::{of, open_space};
use crate::spaces::{create, id, join, path};
use crate::support::feed::{feed, post};
use crate::support::{Actor, TestApp, on_both_engines};

on_both_engines![lists_of_spaces_and_of_what_is_in_them_are_found_by_an_index];

async fn lists_of_spaces_and_of_what_is_in_them_are_found_by_an_index(app: TestApp) {
    let app = app.server_with_many_rows().await;
    let (ada, bob) = (app.user().await, app.user().await);
    let (open, closed) =
        (open_space(&ada).await, create(&ada, json!({ "readingPermission": "members" })).await);
    let member = join(&bob, &open).await;
    for space in [&open, &closed] {
        let new = json!({ "spaceId": space["id"], "keywords": ["k"], "sourceId": "s" });
        let entity = post(&app, &ada, new).await;
        comment(&ada, &format!("/entities/{entity}"), "c").await;
    }
    ada.patch(&of(&open, &member, "/ban"), json!({})).await.expect(200);

    let mut addresses: Vec<String> = Vec::new();
    for sort in ["members", "least_members", "newest", "oldest", "alphabetical"] {
        addresses.push(format!("/spaces?sortBy={sort}"));
    }
    for query in
        ["parentSpaceId=null", "nsfwFilter=only", "searchAny=x", "readingPermission=members"]
    {
        addresses.push(format!("/spaces?{query}"));
    }
    addresses.push(format!("/spaces?parentSpaceId={}", id(&open)));
    for end in ["members", "members?role=admin", "team", "rules", "children", "breadcrumb"] {
        addresses.push(format!("{}/{end}", path(&open)));
    }
    let author = format!("userId={}", ada.id);
    let filters =
        ["", "sortBy=hot", "sourceId=s", "keywordsFilters[includes]=k", &author, "nsfwFilter=only"];
    addresses.extend(filters.map(feed));
    addresses.push(feed(&format!("spaceId={}&sortBy=hot", id(&open))));
    addresses.push(format!("/comments?userId={}", ada.id));
    let mut of_users = addresses.clone();
    of_users.extend([
        "/spaces?memberOf=true".to_owned(),
        "/spaces/user-spaces".to_owned(),
        "/spaces/user-spaces?role=admin,member&sortBy=alphabetical&all=true".to_owned(),
        "/reports/moderated".to_owned(),
    ]);

    let built = [
        "spaces::",
        "entities::list",
        "entities::feed_totals",
        "comments::list",
        "reports::list",
        "reports::count",
    ];
    let (anonymous, key) = (app.anonymous(), app.service());
    let actors: [(&Actor<'_>, &[String]); 4] =
        [(&anonymous, &addresses), (&key, &addresses), (&ada, &of_users), (&bob, &of_users)];
    let mut statements = Seen::new();
    for (actor, addresses) in actors {
        for address in addresses {
            let seen = app.statements.during(actor.get(address)).await;
            let seen = seen.into_iter().filter(|(name, _)| {
                built.iter().any(|one| name.starts_with(one)) && !name.contains("townhall")
            });
            statements.extend(seen.map(|seen| (seen, address.clone())));
        }
    }
    assert!(statements.len() > 40, "{}", statements.len());
    let engine = app.engine();
    for (name, text, address, plan) in explained(&app, statements).await {
        assert!(!scans(&plan), "{address}: {name} {text}\n{}", plan.join("\n"));
        // Members are read in their order.
        if name == "spaces::members::page" {
            assert!(!sorts(engine, &plan), "{address}: {text}\n{}", plan.join("\n"));
        }
    }
}
