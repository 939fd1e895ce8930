//! Lists of entities in tests: queries as people write them, and what a page shows.

use db::JsonText;
use serde_json::{Value, json};
use townhall::features::entities::score::store as scores;
use townhall::features::entities::store::{self, EntityRow, feed_totals};
use townhall::features::entities::terms::{self, Terms};
use townhall::features::reactions::ReactionCounts;
use townhall::http::query::percent_encode;
use townhall::values::ids::{EntityId, new_id};

use super::{Actor, TestApp};

/// The address of a list; the query is written plainly and encoded here.
pub fn feed(query: &str) -> String {
    let encoded = query.split('&').map(|pair| match pair.split_once('=') {
        Some((key, value)) => format!("{}={}", percent_encode(key), percent_encode(value)),
        None => percent_encode(pair),
    });
    format!("/entities?{}", encoded.collect::<Vec<_>>().join("&"))
}

pub async fn page(actor: &Actor<'_>, query: &str) -> Value {
    actor.get(&feed(query)).await.expect(200)
}

/// The titles of a page in their order; `-` where there is none.
pub fn titles(page: &Value) -> String {
    let data = page["data"].as_array().unwrap().iter();
    data.map(|entity| entity["title"].as_str().unwrap_or("-")).collect::<Vec<_>>().join(" ")
}

/// The titles of a list that fits on one page, and is counted as what it shows.
pub async fn listed(actor: &Actor<'_>, query: &str) -> String {
    let page = page(actor, &format!("limit=100&{query}")).await;
    assert_eq!(page["pagination"]["totalItems"], page["data"].as_array().unwrap().len(), "{query}");
    titles(&page)
}

/// A table of queries and the titles that each must list.
pub async fn lists(actor: &Actor<'_>, table: &[(&str, &str)]) {
    for (query, expected) in table {
        assert_eq!(listed(actor, query).await, *expected, "{query}");
    }
}

/// As [`lists`], where the order does not matter: both sides are sorted.
pub async fn finds(actor: &Actor<'_>, table: &[(&str, &str)]) {
    let sorted = |titles: &str| {
        let mut titles: Vec<String> = titles.split(' ').map(str::to_owned).collect();
        titles.sort_unstable();
        titles.join(" ")
    };
    for (query, expected) in table {
        assert_eq!(sorted(&listed(actor, query).await), sorted(expected), "{query}");
    }
}

/// Each is one second younger than the one before.
pub async fn post(app: &TestApp, actor: &Actor<'_>, new: Value) -> EntityId {
    app.advance(std::time::Duration::from_secs(1));
    let created = actor.post("/entities", new).await.expect(201);
    created["id"].as_str().unwrap().parse().unwrap()
}

/// As if so many had reacted.
pub async fn react(app: &TestApp, entity: EntityId, counts: ReactionCounts) {
    let project = app.project.id;
    let changed = app.app.db.write(move |tx| {
        store::change_reactions(tx, project, entity, counts)?;
        store::find(tx, project, entity)
    });
    assert_eq!(changed.await.unwrap().unwrap().reactions, counts);
}

pub async fn set_score(app: &TestApp, entity: EntityId, score: f64) {
    let (project, now) = (app.project.id, app.now());
    let set = app.app.db.write(move |tx| scores::set_scores(tx, project, &[(entity, score)], now));
    set.await.unwrap();
}

/// Entities `n0`, `n1`, … of nobody, one second apart, the last a second old. All have the keyword
/// `many`, each tenth has `tenth`, number 1234 has `one`; `metadata.n` is the number, and so is the
/// latitude in thousandths of a degree. Each hundredth from number 99 on has upvotes, the more the
/// younger; scores go from 0 to 4.
pub async fn seed_many(app: &TestApp, count: u32) {
    let (project, now) = (app.project.id, app.now());
    let random = app.app.random.clone();
    let rows: Vec<(EntityRow, Terms, ReactionCounts)> = (0..count)
        .map(|n| {
            let at = now.minus(std::time::Duration::from_secs((count - n).into()));
            let mut keywords = vec!["many"];
            keywords.extend((n % 10 == 0).then_some("tenth"));
            keywords.extend((n == 1234).then_some("one"));
            let row = EntityRow {
                title: Some(format!("n{n}")),
                keywords: JsonText(json!(keywords).to_string()),
                metadata: JsonText(json!({ "n": n }).to_string()),
                latitude: Some(f64::from(n) / 1000.0),
                longitude: Some(0.0),
                score: f64::from((n + 1) % 5),
                ..EntityRow::blank(EntityId(new_id(at, &random)), at)
            };
            let terms = terms::of_stored(&row).unwrap();
            let upvote = if n % 100 == 99 { i64::from(n) } else { 0 };
            (row, terms, ReactionCounts { upvote, ..ReactionCounts::default() })
        })
        .collect();
    for batch in rows.chunks(500) {
        let batch = batch.to_vec();
        let written = app.app.db.write(move |tx| {
            for (row, terms, reactions) in &batch {
                store::insert(tx, project, row, terms)?;
                feed_totals::add(tx, project, row)?;
                if reactions.upvote > 0 {
                    store::change_reactions(tx, project, row.id, *reactions)?;
                }
            }
            Ok::<_, townhall::error::Error>(())
        });
        written.await.unwrap();
    }
}
