//! What a rule would have matched in the last thirty days, read in small batches.

use std::collections::HashMap;
use std::time::Duration;

use db::Db;
use serde::Serialize;
use uuid::Uuid;

use crate::error::Result;
use crate::features::moderation::queue::model::Match;
use crate::features::moderation::reports::model::TargetType;
use crate::features::moderation::rules::compile::{CompiledRule, Texts};
use crate::features::moderation::rules::model::{Condition, InvalidField, NewRule, Rule};
use crate::features::moderation::rules::store::{self, TextRow};
use crate::values::ids::{ProjectId, RuleId, UserId, first_id};
use crate::values::time::Timestamp;

const BACK: Duration = Duration::from_secs(30 * 24 * 3600);
const BATCH_SIZE: i64 = 500;
/// Texts of each kind that are examined at most.
const MAX_EXAMINED: u64 = 50_000;
const MAX_SAMPLES: usize = 20;
/// Characters of a sample.
const LONGEST_SAMPLE: usize = 300;

#[derive(Debug, Clone, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Backtest {
    pub examined: u64,
    pub matched: u64,
    /// The newest matches.
    pub samples: Vec<Sample>,
    /// There was more than is examined at most.
    pub is_cut_off: bool,
}

#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Sample {
    pub target_type: TargetType,
    pub target_id: Uuid,
    pub author: Option<UserId>,
    pub title: Option<String>,
    /// The beginning.
    pub text: Option<String>,
    pub matches: Vec<Match>,
    pub created_at: Timestamp,
}

/// Tries a rule on what was written in the last thirty days, at most 50,000 texts of each kind. Rate and repeated
/// texts are counted among the texts of one kind; `first-post` matches the first one of an account that is not older
/// than the test.
pub async fn backtest(
    db: &Db,
    project: ProjectId,
    rule: &NewRule,
    now: Timestamp,
) -> Result<Result<Backtest, Vec<InvalidField>>> {
    let wrong = rule.check();
    if !wrong.is_empty() {
        return Ok(Err(wrong));
    }
    let tried = Rule {
        id: RuleId(Uuid::nil()),
        position: 0,
        rule: rule.clone(),
        created_at: now,
        updated_at: now,
    };
    let Some(compiled) = CompiledRule::new(tried) else { return Ok(Ok(Backtest::default())) };
    let (mut result, since) = (Backtest::default(), now.minus(BACK));
    for kind in &rule.targets {
        let (mut memory, mut after, mut examined) = (Memory::default(), first_id(since), 0);
        loop {
            let kind = *kind;
            let batch =
                db.read_slow(move |c| store::past(c, project, kind, after, BATCH_SIZE)).await?;
            let Some(last) = batch.last() else { break };
            after = last.id;
            for row in batch {
                examined += 1;
                let Some(matches) = memory.matches(&compiled, &row, since) else { continue };
                result.matched += 1;
                result.samples.push(Sample::new(kind, row, matches));
                if result.samples.len() > 2 * MAX_SAMPLES {
                    result.samples.drain(..MAX_SAMPLES);
                }
            }
            if examined >= MAX_EXAMINED {
                result.is_cut_off = true;
                break;
            }
        }
        result.examined += examined;
    }
    result.samples.sort_by_key(|sample| std::cmp::Reverse(sample.created_at));
    result.samples.truncate(MAX_SAMPLES);
    Ok(Ok(result))
}

impl Sample {
    fn new(kind: TargetType, row: TextRow, matches: Vec<Match>) -> Self {
        let text = row.content.map(|text| text.chars().take(LONGEST_SAMPLE).collect::<String>());
        let length = text.as_ref().map_or(0, String::len);
        let is_shown = |found: &Match| found.field == "title" || found.end <= length;
        Sample {
            target_type: kind,
            target_id: row.id,
            author: row.user_id,
            title: row.title,
            matches: matches.into_iter().filter(is_shown).collect(),
            text,
            created_at: row.created_at,
        }
    }
}

/// What earlier texts of the test were.
#[derive(Default)]
struct Memory {
    written: HashMap<UserId, Vec<Timestamp>>,
    said: HashMap<String, Timestamp>,
}

impl Memory {
    fn matches(
        &mut self,
        rule: &CompiledRule,
        row: &TextRow,
        since: Timestamp,
    ) -> Option<Vec<Match>> {
        let texts = Texts { title: row.title.as_deref(), content: row.content.as_deref() };
        if rule.is_about_text() {
            return Some(rule.find(texts)).filter(|found| !found.is_empty());
        }
        let back = |seconds: u64| row.created_at.minus(Duration::from_secs(seconds));
        let holds = match (&rule.rule.rule.condition, row.user_id) {
            (Condition::Duplicate { minutes }, _) if !texts.is_blank() => {
                let earlier = self.said.insert(texts.normalized(), row.created_at);
                earlier.is_some_and(|at| at > back(60 * u64::from(*minutes)))
            }
            (Condition::NewAccount { hours }, Some(_)) => {
                row.signed_up_at.is_some_and(|at| at > back(3600 * u64::from(*hours)))
            }
            (Condition::Rate { posts, minutes }, Some(author)) => {
                let earlier = self.written.entry(author).or_default();
                earlier.retain(|at| *at > back(60 * u64::from(*minutes)));
                earlier.push(row.created_at);
                earlier.len() > usize::try_from(*posts).unwrap_or(usize::MAX)
            }
            (Condition::FirstPost, Some(author)) => {
                let is_first = self.written.insert(author, Vec::new()).is_none();
                is_first && row.signed_up_at.is_some_and(|at| at >= since)
            }
            _ => false,
        };
        holds.then(Vec::new)
    }
}
