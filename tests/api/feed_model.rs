//! A model of lists that is too simple to be wrong: entities in memory, and random queries with their
//! meaning.

use std::cmp::{Ordering, Reverse};

use serde_json::{Map, Value, json};
use townhall::features::reactions::{ReactionCounts, ReactionType};
use townhall::values::ids::EntityId;
use townhall::values::time::Timestamp;

use crate::support::Dice;

pub const WORDS: [&str; 5] = ["red", "Red", "blue", "grün", "%"];
pub const TEXTS: [&str; 6] =
    ["Ärger im Park", "ärger", "ПРИВЕТ мир", "100% sure", "snake_case", "plain"];
pub const PARTS: [&str; 7] = ["ÄR", "привет", "0%", "e_c", "PLAIN", "r", "nothing"];
pub const REACTIONS: &[ReactionType] = ReactionType::ALL;

/// An entity as the model knows it.
#[derive(Debug, Clone)]
pub struct Known {
    pub id: EntityId,
    pub created_at: Timestamp,
    pub source: Option<&'static str>,
    pub nsfw: bool,
    pub title: Option<&'static str>,
    pub keywords: Vec<&'static str>,
    pub metadata: Map<String, Value>,
    pub has_attachments: bool,
    pub counts: ReactionCounts,
    pub score: f64,
}

pub fn some<T: Copy>(dice: &mut Dice, from: &[T], one_in: usize) -> Option<T> {
    (dice.draw(one_in) != 0).then(|| from[dice.draw(from.len())])
}

pub fn value(dice: &mut Dice) -> Value {
    match dice.draw(9) {
        0 => json!(dice.draw(3)),
        1 => json!(dice.draw(3).to_string()),
        2 => json!(dice.draw(2) == 0),
        3 => Value::Null,
        4 => json!(["x", dice.draw(3), { "deep": dice.draw(2) }]),
        5 => json!({ "in": dice.draw(2), "more": { "list": [dice.draw(2)] } }),
        6 => json!(["Zoo", "apple", "Äpfel", "zebra"][dice.draw(4)]),
        7 => json!(0.5 + dice.draw(3) as f64),
        _ => json!({}),
    }
}

type Filter = Box<dyn Fn(&Known) -> bool>;
type Order = Box<dyn Fn(&Known, &Known) -> Ordering>;

/// A query with what it means.
pub struct Question {
    pub query: Vec<String>,
    pub filters: Vec<Filter>,
    pub order: Order,
}

impl Question {
    pub fn random(dice: &mut Dice, now: Timestamp) -> Self {
        let mut question =
            Question { query: Vec::new(), filters: Vec::new(), order: Box::new(newest) };
        question.sorted(dice);
        for _ in 0..dice.draw(4) {
            match dice.draw(8) {
                0 => question.filed(dice),
                1 => question.words(dice),
                2 => question.titled(dice),
                3 => question.young(dice, now),
                4 => question.flagged(dice),
                _ => question.described(dice),
            }
        }
        question
    }

    fn add(&mut self, query: String, filter: impl Fn(&Known) -> bool + 'static) {
        // A parameter counts once: the first of its name.
        let name = query.split(['=', '[']).next().unwrap().to_owned();
        if !self.query.iter().any(|known| known.starts_with(&name)) {
            self.query.push(query);
            self.filters.push(Box::new(filter));
        }
    }

    fn sorted(&mut self, dice: &mut Dice) {
        let (query, order): (String, Order) = match dice.draw(6) {
            0 => ("sortBy=createdAt".to_owned(), Box::new(newest)),
            1 => ("sortDir=asc".to_owned(), {
                Box::new(|one, two| {
                    one.created_at.cmp(&two.created_at).then_with(|| two.id.cmp(&one.id))
                })
            }),
            2 => ("sortBy=hot".to_owned(), {
                Box::new(|one, two| two.score.total_cmp(&one.score).then_with(|| newest(one, two)))
            }),
            3 => {
                let kind = REACTIONS[dice.draw(REACTIONS.len())];
                let by = move |one: &Known, two: &Known| {
                    let count = |known: &Known| Reverse(known.counts.of(kind));
                    count(one).cmp(&count(two)).then_with(|| newest(one, two))
                };
                (format!("sortBy=top&sortByReaction={}", kind.name()), Box::new(by))
            }
            4 => ("sortBy=controversial".to_owned(), {
                Box::new(|one, two| {
                    controversy(two).total_cmp(&controversy(one)).then_with(|| newest(one, two))
                })
            }),
            _ => {
                let ascending = dice.draw(2) == 0;
                let by = move |one: &Known, two: &Known| by_property(one, two, ascending);
                let direction = if ascending { "asc" } else { "desc" };
                (format!("sortBy=metadata.a&sortDir={direction}"), Box::new(by))
            }
        };
        self.query.push(query);
        self.order = order;
    }

    fn filed(&mut self, dice: &mut Dice) {
        match some(dice, &["s", "t", "u"], 3) {
            Some(id) => self.add(format!("sourceId={id}"), move |known| known.source == Some(id)),
            None => self.add("sourceId=null".to_owned(), |known| known.source.is_none()),
        }
    }

    fn words(&mut self, dice: &mut Dice) {
        let mut words = || WORDS[dice.draw(WORDS.len())];
        let (with, too, without) = (words(), words(), words());
        match dice.draw(3) {
            0 => self.add(format!("keywordsFilters[includes]={with}"), move |known| {
                known.keywords.contains(&with)
            }),
            1 => self.add(
                format!("keywordsFilters={}", json!({ "includes": [with, too] })),
                move |known| known.keywords.contains(&with) && known.keywords.contains(&too),
            ),
            _ => self.add(
                format!(
                    "keywordsFilters={}",
                    json!({ "includes": [with], "doesNotInclude": [without] })
                ),
                move |known| known.keywords.contains(&with) && !known.keywords.contains(&without),
            ),
        }
    }

    fn titled(&mut self, dice: &mut Dice) {
        let (one, two) = (PARTS[dice.draw(PARTS.len())], PARTS[dice.draw(PARTS.len())]);
        let has = |known: &Known, part: &str| {
            known.title.is_some_and(|title| title.to_lowercase().contains(&part.to_lowercase()))
        };
        match dice.draw(4) {
            0 => self.add("titleFilters[hasTitle]=false".to_owned(), |known| known.title.is_none()),
            1 => self.add(format!("titleFilters={}", json!({ "includes": [one, two] })), {
                move |known| has(known, one) || has(known, two)
            }),
            2 => self.add(format!("titleFilters={}", json!({ "doesNotInclude": [one, two] })), {
                move |known| !has(known, one) && !has(known, two)
            }),
            _ => self.add(format!("titleFilters[includes]={one}"), move |known| has(known, one)),
        }
    }

    fn young(&mut self, dice: &mut Dice, now: Timestamp) {
        let (name, hours) = [("hour", 1), ("day", 24), ("week", 168)][dice.draw(3)];
        let since = now.minus(std::time::Duration::from_hours(hours));
        self.add(format!("timeFrame={name}"), move |known| known.created_at >= since);
    }

    fn flagged(&mut self, dice: &mut Dice) {
        let is = dice.draw(2) == 0;
        if dice.draw(2) == 0 {
            let name = if is { "only" } else { "exclude" };
            self.add(format!("nsfwFilter={name}"), move |known| known.nsfw == is);
        } else {
            let query = format!("attachmentsFilters[hasAttachments]={is}");
            self.add(query, move |known| known.has_attachments == is);
        }
    }

    fn described(&mut self, dice: &mut Dice) {
        let key = ["a", "b", "c", "wide3"][dice.draw(4)].to_owned();
        let (one, two) = (value(dice), value(dice));
        match dice.draw(6) {
            0 => self.add(format!("metadataFilters[exists]={key}"), move |known| {
                known.metadata.contains_key(&key)
            }),
            1 => self.add(format!("metadataFilters[doesNotExist]={key}"), move |known| {
                !known.metadata.contains_key(&key)
            }),
            2 => {
                let any = json!({ "includesAny": [{ &key: one }, { "b": two }] });
                self.add(format!("metadataFilters={any}"), move |known| {
                    includes(known, &key, &one) || includes(known, "b", &two)
                });
            }
            3 => {
                let none = json!({ "doesNotInclude": { &key: one } });
                self.add(format!("metadataFilters={none}"), move |known| {
                    !includes(known, &key, &one)
                });
            }
            4 => {
                let number = dice.draw(3);
                self.add(format!("metadataFilters[includes][{key}]={number}"), move |known| {
                    includes(known, &key, &json!(number))
                        || includes(known, &key, &json!(number.to_string()))
                });
            }
            _ => {
                let all = json!({ "includes": { &key: one } });
                self.add(format!("metadataFilters={all}"), move |known| {
                    includes(known, &key, &one)
                });
            }
        }
    }
}

fn newest(one: &Known, two: &Known) -> Ordering {
    (two.created_at, two.id).cmp(&(one.created_at, one.id))
}

/// Below everything for those without votes.
fn controversy(known: &Known) -> f64 {
    let (up, down) = (known.counts.upvote as f64, known.counts.downvote as f64);
    if up + down == 0.0 { -1.0 } else { (up + down + 1.0).log10() * up.min(down) / up.max(down) }
}

fn by_property(one: &Known, two: &Known, ascending: bool) -> Ordering {
    let rank = |known: &Known| match known.metadata.get("a") {
        Some(Value::Number(number)) => Some((0, number.as_f64().unwrap(), String::new())),
        Some(Value::String(text)) => Some((1, 0.0, text.to_lowercase())),
        Some(Value::Bool(flag)) => Some((2, f64::from(u8::from(*flag)), String::new())),
        _ => None,
    };
    let by_value = match (rank(one), rank(two)) {
        (Some(one), Some(two)) if ascending => one.partial_cmp(&two).unwrap(),
        (Some(one), Some(two)) => two.partial_cmp(&one).unwrap(),
        (one, two) => one.is_none().cmp(&two.is_none()),
    };
    by_value.then_with(|| newest(one, two))
}

fn includes(known: &Known, key: &str, part: &Value) -> bool {
    known.metadata.get(key).is_some_and(|whole| contains(whole, part))
}

fn contains(whole: &Value, part: &Value) -> bool {
    match (whole, part) {
        (Value::Object(whole), Value::Object(part)) => {
            part.iter().all(|(key, part)| whole.get(key).is_some_and(|held| contains(held, part)))
        }
        (Value::Array(whole), Value::Array(part)) => {
            part.iter().all(|part| whole.iter().any(|held| contains(held, part)))
        }
        _ => whole == part,
    }
}
