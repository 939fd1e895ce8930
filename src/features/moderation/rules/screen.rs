//! Asks the rules about what somebody writes, inside the transaction that stores it. Compiled rules are cached by the
//! version of the project's rules.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use db::{JsonText, Tx};
use uuid::Uuid;

use crate::domain_events::Context;
use crate::error::Result;
use crate::features::moderation::decisions::{self, Decision, Verdict};
use crate::features::moderation::queue::model::Match;
use crate::features::moderation::reports::model::TargetType;
use crate::features::moderation::rules::compile::{CompiledRule, RuleSet, Texts};
use crate::features::moderation::rules::model::{Condition, Rule, RuleAction, RuleState};
use crate::features::moderation::rules::store::{self, Hit, NewCase};
use crate::features::moderation::target::Target;
use crate::features::spaces::moderation_log::{self, LogAction, LogTarget, Logged, LoggedBy};
use crate::features::visibility::moderation::ModerationRow;
use crate::features::visibility::screening::{ContentKind, Screen, Written};
use crate::values::ids::{DecisionId, ProjectId, ReportId, new_id};
use crate::values::metadata::to_json;

/// Rule sets in memory; beyond this many projects the cache is cleared.
const MAX_CACHED: usize = 1_000;

/// The rule sets of projects, each with its version.
#[derive(Debug, Default)]
struct Cache(Mutex<HashMap<ProjectId, (i64, Arc<RuleSet>)>>);

/// The rules of a project, as those who store content know them.
#[derive(Debug)]
pub struct Rules;

impl Screen for Rules {
    fn screen(
        &self,
        tx: &Tx<'_>,
        context: Context<'_>,
        written: &Written<'_>,
    ) -> Result<Option<ModerationRow>> {
        let rules = rules(tx, context)?;
        if rules.rules.is_empty() {
            return Ok(None);
        }
        Screening::new(tx, context, written, &rules)?.run(&rules)
    }
}

fn rules(tx: &Tx<'_>, context: Context<'_>) -> Result<Arc<RuleSet>> {
    let (project, version) = (context.project.id, context.project.rules_version);
    let cache = context.app.features.get::<Cache>();
    let lock = || cache.0.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((_, rules)) = lock().get(&project).filter(|(known, _)| *known == version) {
        return Ok(Arc::clone(rules));
    }
    let all: Result<Vec<Rule>> =
        store::list(tx, project)?.into_iter().map(Rule::try_from).collect();
    let rules = Arc::new(RuleSet::new(all?));
    let mut cached = lock();
    if cached.len() >= MAX_CACHED {
        cached.clear();
    }
    cached.insert(project, (version, Arc::clone(&rules)));
    Ok(rules)
}

struct Screening<'a, 'c> {
    tx: &'a Tx<'c>,
    context: Context<'a>,
    written: &'a Written<'a>,
    kind: TargetType,
    texts: Texts<'a>,
    hash: Uuid,
}

impl<'a, 'c> Screening<'a, 'c> {
    fn new(
        tx: &'a Tx<'c>,
        context: Context<'a>,
        written: &'a Written<'a>,
        rules: &RuleSet,
    ) -> Result<Self> {
        let texts = Texts { title: written.title, content: written.content };
        let looks_back = rules.rules.iter().any(|rule| rule.rule.rule.condition.looks_back());
        let hash = if looks_back { hash(texts) } else { Uuid::nil() };
        let kind = match written.kind {
            ContentKind::Entity => TargetType::Entity,
            ContentKind::Comment => TargetType::Comment,
            ContentKind::Message => TargetType::Message,
        };
        Ok(Screening { tx, context, written, kind, texts, hash })
    }

    fn run(&self, rules: &RuleSet) -> Result<Option<ModerationRow>> {
        let mut decided = None;
        for rule in rules.of(self.kind) {
            let is_shadow = rule.rule.rule.state == RuleState::Shadow;
            // The first rule that is on decides; those in shadow are all asked.
            if !is_shadow && decided.is_some() {
                continue;
            }
            let Some(matches) = self.matches(rule)? else { continue };
            if is_shadow {
                self.note(&rule.rule)?;
            } else {
                decided = Some((rule, matches));
            }
        }
        if self.hash != Uuid::nil() && !self.texts.is_blank() {
            let (post, now) = ((self.written.id, self.hash), self.context.now);
            store::remember(self.tx, self.context.project.id, post, self.written.author, now)?;
        }
        decided.map_or(Ok(None), |(rule, matches)| self.act(&rule.rule, &matches))
    }

    /// What matches, if the rule does.
    fn matches(&self, rule: &CompiledRule) -> Result<Option<Vec<Match>>> {
        let (tx, project, now) = (self.tx, self.context.project.id, self.context.now);
        if rule.is_about_text() {
            let found = rule.find(self.texts);
            return Ok(Some(found).filter(|found| !found.is_empty()));
        }
        let minutes = |minutes: u32| now.minus(Duration::from_secs(60 * u64::from(minutes)));
        let holds = match (&rule.rule.rule.condition, self.written.author) {
            (Condition::Duplicate { minutes: most }, _) if !self.texts.is_blank() => {
                store::same_since(tx, project, self.hash, minutes(*most), self.written.id)?
            }
            (Condition::NewAccount { hours }, Some(author)) => {
                let since = now.minus(Duration::from_secs(3600 * u64::from(*hours)));
                store::signed_up(tx, project, author)?.is_some_and(|at| at > since)
            }
            (Condition::Rate { posts, minutes: most }, Some(author)) if !self.written.is_edit => {
                let count = store::written_since(tx, project, author, minutes(*most))?;
                count >= i64::from(*posts)
            }
            (Condition::FirstPost, Some(author)) if !self.written.is_edit => {
                !store::has_posted(tx, project, author, self.written.id)?
            }
            _ => false,
        };
        Ok(holds.then(Vec::new))
    }

    fn id(&self) -> Uuid {
        new_id(self.context.now, &self.context.app.random)
    }

    fn note(&self, rule: &Rule) -> Result<()> {
        let hit = Hit {
            id: self.id(),
            target_type: self.kind,
            target_id: self.written.id,
            action: rule.rule.action,
            created_at: self.context.now,
        };
        store::note_hit(self.tx, self.context.project.id, rule.id, &hit)
    }

    /// Does what the rule says; returns how the content is hidden, if it is.
    fn act(&self, rule: &Rule, matches: &[Match]) -> Result<Option<ModerationRow>> {
        let action = rule.rule.action;
        let reason = rule.rule.message.clone();
        match action {
            RuleAction::Flag | RuleAction::Hold => {
                let is_held = action == RuleAction::Hold;
                self.open_report(rule, matches, is_held)?;
                Ok(is_held.then(|| ModerationRow::held(self.context.now, self.written.is_edit)))
            }
            RuleAction::Remove => {
                self.decide(rule, Verdict::Remove)?;
                Ok(Some(ModerationRow::removed_by_rule(self.context.now, reason)))
            }
            RuleAction::Warn => self.decide(rule, Verdict::Warn).map(|()| None),
        }
    }

    fn open_report(&self, rule: &Rule, matches: &[Match], is_held: bool) -> Result<()> {
        let new = NewCase {
            id: ReportId(self.id()),
            rule: rule.id,
            kind: self.kind,
            target: self.written.id,
            author: self.written.author,
            space: self.written.space,
            is_held,
            matches: &JsonText(to_json(&matches)),
        };
        store::open_report(self.tx, self.context.project.id, &new, self.context.now)
    }

    /// An automated decision, which is applied at once; its author is notified.
    fn decide(&self, rule: &Rule, action: Verdict) -> Result<()> {
        let now = self.context.now;
        let target = Target { kind: self.kind.into(), id: self.written.id };
        let what = (action, rule.rule.message.clone());
        let id = DecisionId(self.id());
        let decision = Decision {
            author_id: self.written.author,
            space_id: self.written.space,
            rule_id: Some(rule.id),
            ..Decision::applied(id, target, what, rule.rule.name.clone(), now)
        };
        if action == Verdict::Remove {
            self.log(&decision)?;
        }
        decisions::record(self.tx, self.context, &decision)
    }

    /// In the log of the space, if the content is in one.
    fn log(&self, decision: &Decision) -> Result<()> {
        let Some(space) = self.written.space else { return Ok(()) };
        let target = match self.kind {
            TargetType::Entity => LogTarget::Entity,
            TargetType::Comment => LogTarget::Comment,
            TargetType::Message => LogTarget::Message,
        };
        let logged = Logged {
            action: LogAction::Remove,
            target: (target, self.written.id),
            by: LoggedBy::Rule,
            reason: decision.reason.as_deref(),
        };
        let Context { app, project, now } = self.context;
        moderation_log::add(self.tx, app, (project.id, space), logged, now)
    }
}

/// The first half of a hash of the text.
fn hash(texts: Texts<'_>) -> Uuid {
    let digest =
        aws_lc_rs::digest::digest(&aws_lc_rs::digest::SHA256, texts.normalized().as_bytes());
    let mut half = [0; 16];
    half.copy_from_slice(&digest.as_ref()[..16]);
    Uuid::from_bytes(half)
}
