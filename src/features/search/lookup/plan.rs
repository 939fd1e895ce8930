//! Which terms a query stands for. A word that open content does not have is corrected by the words of open content;
//! closed content is found by the word as it was typed.

use std::collections::{HashMap, HashSet};

use db::Conn;
use text_index::{Analyzer, QueryWord, query_words, spelling};

use crate::error::Result;
use crate::features::search::class::{Class, Section};
use crate::features::search::store::{postings, words};
use crate::values::ids::ProjectId;

/// How much a corrected word counts: less than one that was typed.
const CORRECTED: f32 = 0.8;
/// How much the second choice of a correction counts.
const SECOND: f32 = 0.6;
/// How much a word counts of which only the beginning was typed.
const PREFIX: f32 = 0.8;
/// Words that a prefix stands for.
const MAX_PREFIXED: i64 = 50;

/// A term that a word of the query may stand for.
#[derive(Debug, Clone)]
pub struct Alternative {
    pub term: String,
    pub weight: f32,
    /// In how many open documents it is.
    pub frequency: i64,
    /// Corrections and prefixes find what their words come from: open content, or the viewer's own hidden spaces.
    audience: Audience,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Audience {
    Everything,
    Open,
    Closed,
}

impl Alternative {
    pub fn is_for(&self, class: Class) -> bool {
        match self.audience {
            Audience::Everything => true,
            Audience::Open => class.is_open(),
            Audience::Closed => !class.is_open(),
        }
    }
}

/// The alternatives of each word of a query.
#[derive(Debug)]
pub struct Plan {
    pub section: Section,
    pub words: Vec<Vec<Alternative>>,
}

impl Plan {
    pub fn new(
        c: &Conn<'_>,
        project: ProjectId,
        analyzer: &Analyzer,
        section: Section,
        query: &str,
    ) -> Result<Plan> {
        Plan::of_words(c, project, analyzer, section, query_words(analyzer, query), &[])
    }

    /// `own_words`: of closed content that the viewer may read; their beginnings count, too.
    pub fn of_words(
        c: &Conn<'_>,
        project: ProjectId,
        analyzer: &Analyzer,
        section: Section,
        query: Vec<QueryWord>,
        own_words: &[String],
    ) -> Result<Plan> {
        let open: Vec<Class> = section.open().collect();
        let terms: Vec<String> = query.iter().map(|word| word.term.clone()).collect();
        let mut known: HashMap<String, i64> =
            postings::frequencies(c, project, &terms, &open)?.into_iter().collect();
        let mut planned = Vec::new();
        for QueryWord { word, term } in query {
            let frequency = known.get(&term).copied().unwrap_or_default();
            let mut others = Vec::new();
            if section.has_prefixes() {
                let found = words::beginning_with(c, project, section, &word, MAX_PREFIXED)?;
                others.extend(found.into_iter().map(|(word, _)| (word, PREFIX)));
            }
            if frequency == 0 && others.is_empty() {
                let corrected = correct(c, project, section, &word)?;
                others.extend(corrected.into_iter().zip([CORRECTED, SECOND]));
            }
            let others = others.into_iter().map(|(word, weight)| (word, weight, Audience::Open));
            let begin = own_words.iter().filter(|own| own.starts_with(&word));
            let own = begin.map(|own| (own.clone(), PREFIX, Audience::Closed));
            let typed =
                Alternative { term, weight: 1.0, frequency, audience: Audience::Everything };
            let mut alternatives = vec![typed];
            for (word, weight, audience) in others.chain(own) {
                let term = analyzer.term(&word);
                if alternatives.iter().all(|one| (&one.term, one.audience) != (&term, audience)) {
                    alternatives.push(Alternative { term, weight, frequency: 0, audience });
                }
            }
            planned.push(alternatives);
        }
        let further: Vec<String> = planned
            .iter()
            .flat_map(|word| word.iter().skip(1).map(|one| one.term.clone()))
            .filter(|term| !known.contains_key(term))
            .collect();
        known.extend(postings::frequencies(c, project, &further, &open)?);
        for word in &mut planned {
            for one in word.iter_mut().skip(1) {
                one.frequency = known.get(&one.term).copied().unwrap_or_default();
            }
            // A word that nobody uses says as much as the rarest that it may stand for.
            let rarest = word.iter().map(|one| one.frequency).filter(|count| *count > 0).min();
            if let Some(typed) = word.first_mut().filter(|typed| typed.frequency == 0) {
                typed.frequency = rarest.unwrap_or_default();
            }
        }
        Ok(Plan { section, words: planned })
    }

    /// Every term, each once.
    pub fn terms(&self) -> Vec<String> {
        let all: HashSet<String> = self.matched();
        Vec::from_iter(all)
    }

    /// The terms that mark a match in a text.
    pub fn matched(&self) -> HashSet<String> {
        self.words.iter().flatten().map(|one| one.term.clone()).collect()
    }
}

/// What a word is corrected to, the best first.
fn correct(c: &Conn<'_>, project: ProjectId, section: Section, word: &str) -> Result<Vec<String>> {
    if !word.chars().all(|c| c.is_alphabetic() || c == '\'') {
        return Ok(Vec::new());
    }
    for distance in 1..=spelling::max_distance(word) {
        let parts = spelling::parts(word, distance);
        let mut near = words::like(c, project, section, &parts)?;
        near.retain(|candidate| spelling::distance(word, candidate, distance).is_some());
        let near = words::frequencies(c, project, section, near)?;
        let nearest = spelling::nearest(word, distance, near);
        if !nearest.is_empty() {
            return Ok(nearest);
        }
    }
    Ok(Vec::new())
}
