//! Random entities, random queries, and a model that is too simple to be wrong: the server must list what the
//! model lists, on both engines.

use serde_json::{Map, Value, json};
use townhall::features::reactions::ReactionCounts;

use crate::feed_model::{Known, Question, REACTIONS, TEXTS, WORDS, some, value};
use crate::support::feed::{page, react, set_score};
use crate::support::{Dice, TestApp, on_both_engines};

on_both_engines![lists_match_a_simple_model];

const ENTITIES: usize = 300;
const QUERIES: usize = 300;

fn metadata(dice: &mut Dice) -> Map<String, Value> {
    let mut map = Map::new();
    for key in ["a", "b", "c"] {
        if dice.draw(3) != 0 {
            map.insert(key.to_owned(), value(dice));
        }
    }
    if dice.draw(20) == 0 {
        map.extend((0..70).map(|n| (format!("wide{n}"), json!(n))));
    }
    map
}

async fn seed(app: &TestApp, dice: &mut Dice) -> Vec<Known> {
    let mut known = Vec::new();
    for _ in 0..ENTITIES {
        // Few moments, so that many share one.
        let age = std::time::Duration::from_secs(600 * dice.draw(200) as u64);
        let created_at = app.now().minus(age);
        let mut counts = ReactionCounts::default();
        for kind in REACTIONS {
            *counts.of_mut(*kind) = (dice.draw(8) as i64 - 4).max(0);
        }
        let mut one = Known {
            id: "018f0000-0000-4000-8000-000000000000".parse().unwrap(),
            created_at,
            source: some(dice, &["s", "t"], 2),
            nsfw: dice.draw(4) == 0,
            title: some(dice, &TEXTS, 6),
            keywords: (0..dice.draw(4)).map(|_| WORDS[dice.draw(WORDS.len())]).collect(),
            metadata: metadata(dice),
            has_attachments: dice.draw(3) == 0,
            counts,
            score: dice.draw(6) as f64 / 4.0,
        };
        let new = json!({
            "title": one.title, "sourceId": one.source, "nsfw": one.nsfw, "keywords": one.keywords,
            "metadata": one.metadata, "createdAt": created_at.to_string(),
            "attachments": if one.has_attachments { json!([{}]) } else { json!([]) },
        });
        let created = app.service().post("/entities", new).await.expect(201);
        one.id = created["id"].as_str().unwrap().parse().unwrap();
        react(app, one.id, counts).await;
        set_score(app, one.id, one.score).await;
        known.push(one);
    }
    known
}

async fn lists_match_a_simple_model(app: TestApp) {
    let mut dice = Dice::new(20_260_801);
    let known = seed(&app, &mut dice).await;
    let mut found = 0;
    for _ in 0..QUERIES {
        let question = Question::random(&mut dice, app.now());
        let (limit, number) = (1 + dice.draw(40), 1 + dice.draw(3));
        let query = format!("{}&limit={limit}&page={number}", question.query.join("&"));
        let mut expected: Vec<&Known> = known
            .iter()
            .filter(|known| question.filters.iter().all(|keeps| keeps(known)))
            .collect();
        expected.sort_by(|one, two| (question.order)(one, two));
        let shown = page(&app.anonymous(), &query).await;
        assert_eq!(shown["pagination"]["totalItems"], expected.len(), "{query}");
        let ids = shown["data"].as_array().unwrap().iter().map(|entity| entity["id"].clone());
        let expected = expected.iter().skip((number - 1) * limit).take(limit);
        let expected: Vec<Value> = expected.map(|known| json!(known.id)).collect();
        assert_eq!(ids.collect::<Vec<_>>(), expected, "{query}");
        found += expected.len();
    }
    assert!(found > QUERIES, "most queries find nothing: {found}");
}
