//! Finds users by interests: what the caller wrote about, who else wrote about it, and how much they have in common.

use std::collections::HashMap;
use std::sync::Arc;

use db::Conn;
use text_index::{Analyzer, Bm25, QueryWord, query_words};
use uuid::Uuid;

use crate::auth::perspective::Perspective;
use crate::error::{Error, Result};
use crate::features::search::class::{Class, Section};
use crate::features::search::guard::{Guard, Hit, Row};
use crate::features::search::lookup::{self, Limits, Plan, Reach};
use crate::features::search::matching::{
    Facet, MatchRequest, MatchedFacet, SampleContent, UserMatch,
};
use crate::features::search::people::visible_users;
use crate::features::search::rules::SourceType;
use crate::features::search::store::{self, postings, scope, words};
use crate::features::spaces::store::access;
use crate::features::users::model::User;
use crate::state::App;
use crate::storage::signed::Links;
use crate::tenancy::Project;
use crate::values::ids::{FacetId, RecordId, UserId};
use crate::values::time::Timestamp;

/// Documents of the caller that tell their interests: the last ones.
const MAX_OWN: usize = 200;
/// What was said in conversations stays there.
const WRITTEN: [Class; 4] =
    [Class::OpenEntity, Class::OpenComment, Class::ClosedEntity, Class::ClosedComment];
const MAX_INTERESTS: usize = 8;
/// Documents of others that are looked at for one interest.
const MAX_FOUND: usize = 100;
const MAX_SAMPLES: usize = 3;
const SAMPLE_CHARACTERS: usize = 300;
/// What was written this long ago counts half.
const HALF_LIFE_DAYS: f64 = 30.0;

/// What the caller is interested in.
#[derive(Debug)]
struct Interest {
    words: Vec<QueryWord>,
    /// Of all interests together 1.
    weight: f64,
    facet: Option<Facet>,
}

/// A request to match users, as one caller makes it.
#[derive(Debug)]
pub(super) struct Matching {
    pub app: App,
    pub project: Arc<Project>,
    pub asker: UserId,
    pub now: Timestamp,
    pub links: Links,
    pub body: MatchRequest,
}

/// What was found of one candidate for one interest.
#[derive(Debug, Default)]
struct Evidence {
    similarity: f64,
    heat: f64,
    samples: Vec<SampleContent>,
}

impl Matching {
    pub fn run(&self, c: &Conn<'_>) -> Result<Vec<UserMatch>> {
        let analyzer = Analyzer::new(self.project.search_language);
        let spaces = match (self.body.space_id, self.body.include_child_spaces) {
            (Some(space), Some(true)) => Some(scope::subtree(c, self.project.id, space)?),
            (space, _) => space.map(|space| vec![space]),
        };
        let limits = Limits { spaces, conversation: None };
        let interests = match &self.body.query {
            Some(query) => vec![Interest {
                words: query_words(&analyzer, query.as_str()),
                weight: 1.0,
                facet: None,
            }],
            None => self.own_interests(c, &analyzer)?,
        };
        let mut scores: HashMap<UserId, f64> = HashMap::new();
        let mut facets: HashMap<UserId, Vec<MatchedFacet>> = HashMap::new();
        for interest in interests {
            for (user, evidence) in self.evidence(c, &analyzer, &interest, &limits)? {
                *scores.entry(user).or_default() += interest.weight * evidence.similarity;
                let facet = self.matched(user, &interest, evidence)?;
                facets.entry(user).or_default().push(facet);
            }
        }
        self.best(c, scores, facets)
    }

    fn matched(
        &self,
        user: UserId,
        interest: &Interest,
        evidence: Evidence,
    ) -> Result<MatchedFacet> {
        let wants_samples = self.body.include_sample_content == Some(true);
        Ok(MatchedFacet {
            similarity: rounded(evidence.similarity),
            asker_facet: interest.facet.clone(),
            candidate_facet: self.facet(user, &interest.words, evidence.heat)?,
            sample_content: wants_samples.then_some(evidence.samples),
        })
    }

    /// Always the same id for the same user and words.
    fn facet(&self, user: UserId, words: &[QueryWord], heat: f64) -> Result<Facet> {
        let terms: Vec<&str> = words.iter().map(|word| word.term.as_str()).collect();
        let bytes = [user.0.as_bytes().as_slice(), terms.join(" ").as_bytes()].concat();
        let digits =
            self.app.fingerprints.of(&bytes).map_err(|e| Error::internal(e.to_string()))?;
        let bytes = Uuid::parse_str(&digits).map_err(Error::internal)?.into_bytes();
        let id = FacetId(uuid::Builder::from_random_bytes(bytes).into_uuid());
        Ok(Facet { id, hotness: rounded(heat / (1.0 + heat)) })
    }

    /// The caller's own: the terms of what they wrote that say most, or else those of their profile.
    fn own_interests(&self, c: &Conn<'_>, analyzer: &Analyzer) -> Result<Vec<Interest>> {
        let project = self.project.id;
        let mut heat: HashMap<String, (String, f64)> = HashMap::new();
        let written = store::written_by(c, project, self.asker, &WRITTEN, MAX_OWN)?;
        let packed: Vec<&[u8]> = written.iter().map(|(packed, _)| packed.as_slice()).collect();
        for (words, (_, at)) in words::unpack(c, project, &packed)?.into_iter().zip(&written) {
            for word in words.unwrap_or_default() {
                let entry = heat.entry(analyzer.term(&word)).or_insert((word, 0.0));
                entry.1 += decay(*at, self.now);
            }
        }
        let is_cold = heat.is_empty();
        if is_cold {
            let packed = store::words_of(c, project, self.asker.0)?.unwrap_or_default();
            for word in words::unpack(c, project, &[&packed])?.into_iter().flatten().flatten() {
                heat.insert(analyzer.term(&word), (word, 1.0));
            }
        }
        heat.retain(|_, (word, _)| !analyzer.language().is_stop_word(word));
        let terms: Vec<String> = heat.keys().cloned().collect();
        let open: Vec<Class> = Section::Content.open().collect();
        let known: HashMap<String, i64> =
            postings::frequencies(c, project, &terms, &open)?.into_iter().collect();
        let bm25 = Bm25::new(store::statistics(c, project, Section::Content)?);
        let weight = |term: &str, heat: f64| {
            let idf = bm25.idf(known.get(term).copied().unwrap_or_default());
            heat / (1.0 + heat) * f64::from(idf)
        };
        let mut weighted: Vec<(f64, String, String, f64)> = heat
            .into_iter()
            .map(|(term, (word, heat))| (weight(&term, heat), term, word, heat))
            .collect();
        weighted.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
        weighted.truncate(MAX_INTERESTS);
        let sum: f64 = weighted.iter().map(|(weight, ..)| weight).sum();
        let interests = weighted.into_iter().map(|(weight, term, word, heat)| {
            let words = vec![QueryWord { word, term }];
            let facet = match is_cold {
                true => None,
                false => Some(self.facet(self.asker, &words, heat)?),
            };
            Ok(Interest { words, weight: weight / sum, facet })
        });
        interests.collect()
    }

    /// Who wrote about it, where the caller may read it, and whose profile names it.
    fn evidence(
        &self,
        c: &Conn<'_>,
        analyzer: &Analyzer,
        interest: &Interest,
        limits: &Limits,
    ) -> Result<HashMap<UserId, Evidence>> {
        let (project, asker) = (&*self.project, Some(self.asker));
        let mut found: HashMap<UserId, Evidence> = HashMap::new();
        let words = interest.words.clone();
        let plan = Plan::of_words(c, project.id, analyzer, Section::Content, words, &[])?;
        let classes: Vec<Class> = Section::Content.open().collect();
        let reach = Reach::new(c, project.id, asker, &classes, limits)?;
        let mut ranked = lookup::rank(c, project, &plan, &reach)?;
        let perspective = Perspective::User(self.asker);
        let guard = Guard { project, perspective, limits, nsfw: false };
        for hit in guard.take(c, &mut ranked, MAX_FOUND)? {
            let Some((author, sample, at)) = sample(&hit) else { continue };
            let evidence = found.entry(author).or_default();
            evidence.similarity = evidence.similarity.max(hit.similarity);
            evidence.heat += decay(at, self.now);
            if evidence.samples.len() < MAX_SAMPLES {
                evidence.samples.push(sample);
            }
        }
        if limits.spaces.is_some() {
            return Ok(found);
        }
        let words = interest.words.clone();
        let plan = Plan::of_words(c, project.id, analyzer, Section::Users, words, &[])?;
        let reach = Reach::new(c, project.id, asker, &[Class::User], limits)?;
        let candidates = lookup::rank(c, project, &plan, &reach)?.next(c, project, MAX_FOUND)?;
        let ids: Vec<UserId> = candidates.iter().map(|one| UserId(one.doc.record_id)).collect();
        let mut rows = visible_users(c, project, asker, self.now, &ids)?;
        for one in candidates {
            let Some(row) = rows.remove(&UserId(one.doc.record_id)) else { continue };
            let evidence = found.entry(row.id).or_default();
            evidence.similarity = evidence.similarity.max(one.similarity);
            evidence.heat += decay(row.updated_at, self.now);
        }
        Ok(found)
    }

    /// Without the caller, users hidden from them, suspended ones, and those banned in the space asked for.
    fn best(
        &self,
        c: &Conn<'_>,
        scores: HashMap<UserId, f64>,
        mut facets: HashMap<UserId, Vec<MatchedFacet>>,
    ) -> Result<Vec<UserMatch>> {
        let mut ranked: Vec<(UserId, f64)> = scores.into_iter().collect();
        ranked.sort_by(|a, b| b.1.total_cmp(&a.1).then(b.0.cmp(&a.0)));
        if self.body.exclude_self != Some(false) {
            ranked.retain(|(user, _)| *user != self.asker);
        }
        let mut results = Vec::new();
        for some in ranked.chunks(100) {
            let ids: Vec<UserId> = some.iter().map(|(user, _)| *user).collect();
            let mut rows = visible_users(c, &self.project, Some(self.asker), self.now, &ids)?;
            for (user, score) in some {
                let Some(row) = rows.remove(user) else { continue };
                if let Some(space) = self.body.space_id
                    && access::is_banned(c, self.project.id, space, *user)?
                {
                    continue;
                }
                let mut matched_facets = facets.remove(user).unwrap_or_default();
                matched_facets.sort_by(|a, b| b.similarity.total_cmp(&a.similarity));
                let user = User::public(&self.links, &row)?;
                results.push(UserMatch { user, score: rounded(*score), matched_facets });
                if results.len() == self.body.limit.0 {
                    return Ok(results);
                }
            }
        }
        Ok(results)
    }
}

/// How much something counts that was written then.
#[expect(clippy::cast_precision_loss, reason = "days")]
fn decay(at: Timestamp, now: Timestamp) -> f64 {
    let days = (now.millis() - at.millis()).max(0) as f64 / 86_400_000.0;
    (-days / HALF_LIFE_DAYS).exp2()
}

fn rounded(value: f64) -> f64 {
    (value * 1e6).round() / 1e6
}

/// The author of a hit, what it says, and when it was written.
fn sample(hit: &Hit) -> Option<(UserId, SampleContent, Timestamp)> {
    let (source_type, record_id, author, texts, at) = match &hit.row {
        Row::Entity(row) => {
            let texts = [row.title.as_deref(), row.content.as_deref()];
            (SourceType::Entity, row.id.0, row.user_id?, texts, row.created_at)
        }
        Row::Comment(row) => {
            let texts = [None, row.content.as_deref()];
            (SourceType::Comment, row.id.0, row.user_id?, texts, row.created_at)
        }
        Row::Message(_) => return None,
    };
    let text = texts.into_iter().flatten().collect::<Vec<_>>().join("\n");
    let content = text.chars().take(SAMPLE_CHARACTERS).collect();
    let record_id = RecordId(record_id);
    let sample = SampleContent { source_type, record_id, content, similarity: hit.similarity };
    Some((author, sample, at))
}
