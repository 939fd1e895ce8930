//! Finds documents: words of a query become terms, terms become blocks of postings, postings become scores. What is
//! found still has to be checked; see `guard.rs`.

mod meaning;
mod plan;
mod reach;

pub use meaning::Meaning;
pub use plan::Plan;
pub use reach::{Limits, Reach};

use std::collections::{HashMap, VecDeque};

use db::Conn;
use text_index::postings::decode;
use text_index::{Bm25, Filter, Ranking, Scores};

use crate::error::Result;
use crate::features::search::class::Class;
use crate::features::search::store::postings::{self, TAIL};
use crate::features::search::store::{self, DocRow};
use crate::tenancy::Project;

/// Candidates whose documents are looked up together; the next ones are twice as many.
const FIRST: usize = 60;
/// Documents with one score are looked up together up to this number, so that the newest of them come first.
const MAX_TIES: usize = 500;

/// Documents by score, the best first.
#[derive(Debug)]
pub struct Ranked {
    ranking: Ranking,
    /// The highest score possible.
    highest: f32,
    step: usize,
    /// Looked up and not returned yet, the best first.
    sorted: VecDeque<Candidate>,
    /// How many were returned.
    returned: usize,
    /// What the words alone gave, by number, where meaning counts, too.
    lexical: Vec<f32>,
}

/// A document, and its score as a share of the highest score possible.
#[derive(Debug, Clone)]
pub struct Candidate {
    pub doc: DocRow,
    pub class: Class,
    pub similarity: f64,
}

/// Scores all documents that the plan finds within reach.
pub fn rank(c: &Conn<'_>, project: &Project, plan: &Plan, reach: &Reach) -> Result<Ranked> {
    let (scores, highest) = scores(c, project, plan, reach)?;
    Ok(Ranked::new(scores, highest, Vec::new()))
}

/// The same, and all within reach that means something similar. The order is an estimate; see [`Meaning::refine`].
pub fn rank_by_meaning(
    c: &Conn<'_>,
    project: &Project,
    plan: &Plan,
    reach: &Reach,
    meaning: &Meaning,
) -> Result<Ranked> {
    let (mut scores, highest) = scores(c, project, plan, reach)?;
    let lexical = scores.normalise(highest);
    for (number, share) in meaning.estimates(c, project.id, reach)? {
        scores.fuse(number, share);
    }
    Ok(Ranked::new(scores, 1.0, lexical))
}

/// By words alone, with the highest score possible.
fn scores(c: &Conn<'_>, project: &Project, plan: &Plan, reach: &Reach) -> Result<(Scores, f32)> {
    let statistics = store::statistics(c, project.id, plan.section)?;
    let bm25 = Bm25::new(statistics);
    let mut blocks: HashMap<String, Vec<(Class, Vec<u8>)>> = HashMap::new();
    let (mut end, mut count) = (0, 0);
    postings::of_terms(c, project.id, &plan.terms(), &reach.classes(), |row| {
        if let Some(class) = Class::from_number(row.class) {
            let last = match row.last {
                TAIL => decode(&row.bytes).last().map_or(0, |last| last.number),
                last => last,
            };
            end = end.max(last + 1);
            count += row.count;
            blocks.entry(row.term).or_default().push((class, row.bytes));
        }
    })?;
    let mut scores = Scores::new(end, count);
    let mut highest = 0.0;
    for word in &plan.words {
        // What was typed counts more than what it may stand for.
        let typed = word.first().map_or(0.0, |typed| bm25.idf(typed.frequency));
        let is_alone = word.len() == 1;
        for alternative in word {
            let weight = alternative.weight * bm25.idf(alternative.frequency).min(typed);
            for (class, bytes) in blocks.get(&alternative.term).into_iter().flatten() {
                let Some(filter) = reach.filter(*class).filter(|_| alternative.is_for(*class))
                else {
                    continue;
                };
                match is_alone {
                    true => scores.add(&bm25, bytes, weight, filter),
                    false => scores.add_alternative(&bm25, bytes, weight, filter),
                }
            }
        }
        scores.finish_word();
        highest += typed;
    }
    Ok((scores, highest))
}

impl Ranked {
    fn new(scores: Scores, highest: f32, lexical: Vec<f32>) -> Self {
        let (ranking, sorted) = (scores.ranking(), VecDeque::new());
        Ranked { ranking, highest, step: FIRST, sorted, returned: 0, lexical }
    }

    /// The next candidates in the order of their scores, the newest first among equals. The caller reads each of them as a
    /// whole, so these are only as many as its page lacks; but at least as many as all before, for a caller who finds
    /// most of them hidden.
    pub fn next(
        &mut self,
        c: &Conn<'_>,
        project: &Project,
        missing: usize,
    ) -> Result<Vec<Candidate>> {
        if self.sorted.is_empty() {
            self.sorted = self.look_up(c, project)?.into();
        }
        let count = missing.max(self.returned).min(self.sorted.len());
        self.returned += count;
        Ok(self.sorted.drain(..count).collect())
    }

    fn look_up(&mut self, c: &Conn<'_>, project: &Project) -> Result<Vec<Candidate>> {
        let step = self.step;
        self.step = (step * 2).min(1000);
        let some = self.ranking.next(step, MAX_TIES);
        let numbers: Vec<i64> = some.iter().map(|(_, number)| *number).collect();
        let mut rows: HashMap<i64, DocRow> = HashMap::new();
        for numbers in numbers.chunks(100) {
            let found = store::docs(c, project.id, numbers)?;
            rows.extend(found.into_iter().map(|row| (row.number, row)));
        }
        let candidates = some.iter().filter_map(|(score, number)| {
            let doc = rows.remove(number)?;
            let similarity = f64::from(score / self.highest).clamp(0.000_001, 1.0);
            // Six digits: what is left is noise of the arithmetic.
            let similarity = (similarity * 1e6).round() / 1e6;
            Some(Candidate { class: Class::from_number(doc.class)?, doc, similarity })
        });
        let mut candidates: Vec<Candidate> = candidates.collect();
        candidates.sort_by(|a, b| {
            let by_score = b.similarity.total_cmp(&a.similarity);
            by_score
                .then(b.doc.created_at.cmp(&a.doc.created_at))
                .then(a.doc.record_id.cmp(&b.doc.record_id))
        });
        Ok(candidates)
    }

    pub fn is_at_end(&self) -> bool {
        self.sorted.is_empty() && self.ranking.is_at_end()
    }

    /// The share of the highest score that the words of a document gave it.
    fn lexical(&self, number: i64) -> f32 {
        let found = usize::try_from(number).ok().and_then(|number| self.lexical.get(number));
        found.copied().unwrap_or_default()
    }
}

/// No document may be scored that is not in the filter.
impl Reach {
    fn filter(&self, class: Class) -> Option<&Filter> {
        self.filters.iter().find(|(of, _)| *of == class).map(|(_, filter)| filter)
    }
}
