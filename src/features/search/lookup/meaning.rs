//! Search by meaning. The signs of all vectors within reach are compared with those of the query, which gives an estimate
//! for each document; of the best that the caller may see, whole vectors are compared. How near a document is depends on it
//! and on the query alone, so nothing depends on what the caller may not read.

use std::collections::HashMap;

use db::Conn;
use text_index::fused;
use text_index::vectors::QueryVector;

use crate::error::Result;
use crate::features::search::class::Class;
use crate::features::search::guard::Hit;
use crate::features::search::lookup::{Ranked, Reach};
use crate::features::search::store::vectors;
use crate::tenancy::Project;
use crate::values::ids::ProjectId;

/// How much an estimate may be too low.
const MARGIN: f32 = 0.1;

/// What a query means.
#[derive(Debug)]
pub struct Meaning {
    pub query: QueryVector,
    /// The cosine up to which texts are unrelated.
    pub unrelated: f32,
}

impl Meaning {
    /// From a cosine to a share of the highest score, 0 for what is unrelated.
    fn share(&self, cosine: f32) -> f32 {
        ((cosine - self.unrelated) / (1.0 - self.unrelated)).clamp(0.0, 1.0)
    }

    /// How near each document seems that is within reach and not unrelated, by its best chunk.
    pub(super) fn estimates(
        &self,
        c: &Conn<'_>,
        project: ProjectId,
        reach: &Reach,
    ) -> Result<HashMap<i64, f32>> {
        let mut found: HashMap<i64, f32> = HashMap::new();
        vectors::each_block(c, project, &reach.classes(), |(class, block, bytes)| {
            let filter = Class::from_number(class).and_then(|class| reach.filter(class));
            let Some(filter) = filter else { return };
            self.query.scan(block, &bytes, |number, cosine| {
                let share = self.share(cosine + MARGIN);
                if share > 0.0 && filter.passes(number) {
                    let best = found.entry(number).or_default();
                    *best = best.max(share);
                }
            });
        })?;
        Ok(found)
    }

    /// How many visible documents are compared as a whole, to show `limit` of them.
    pub fn candidates(limit: usize) -> usize {
        (limit * 3).max(60)
    }

    /// Puts hits into their exact order, drops what turns out to be unrelated, and keeps `limit`.
    pub fn refine(
        &self,
        c: &Conn<'_>,
        project: &Project,
        ranked: &Ranked,
        hits: Vec<Hit>,
        limit: usize,
    ) -> Result<Vec<Hit>> {
        let numbers: Vec<i64> = hits.iter().map(|hit| hit.number).collect();
        let mut shares: HashMap<i64, f32> = HashMap::new();
        for (number, bytes) in vectors::of_documents(c, project.id, &numbers)? {
            let share = self.query.cosine(&bytes).map_or(0.0, |cosine| self.share(cosine));
            let best = shares.entry(number).or_default();
            *best = best.max(share);
        }
        let mut refined: Vec<Hit> = hits
            .into_iter()
            .map(|hit| {
                let share = shares.get(&hit.number).copied().unwrap_or_default();
                let score = fused(ranked.lexical(hit.number), share);
                Hit { similarity: (f64::from(score) * 1e6).round() / 1e6, ..hit }
            })
            .filter(|hit| hit.similarity > 0.0)
            .collect();
        // Stable: equals stay as they were, the newest first.
        refined.sort_by(|a, b| b.similarity.total_cmp(&a.similarity));
        refined.truncate(limit);
        Ok(refined)
    }
}
