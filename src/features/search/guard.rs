//! Which of the found content a caller may see: the same functions decide that guard every other way to it. What
//! was found is checked in the order of its scores until the page is full, so nothing hidden is shown and nothing
//! visible is left out.

use std::collections::HashMap;

use db::Conn;
use uuid::Uuid;

use crate::auth::perspective::Perspective;
use crate::error::Result;
use crate::features::chat::conversations::store as conversations;
use crate::features::chat::members::store as members;
use crate::features::chat::messages::store::{self as messages, MessageRow};
use crate::features::comments::store::{self as comments, CommentRow};
use crate::features::comments::visibility as comment_visibility;
use crate::features::entities::store::{self as entities, EntityRow};
use crate::features::entities::visibility as entity_visibility;
use crate::features::search::lookup::{Candidate, Limits, Ranked};
use crate::features::search::rules::SourceType;
use crate::features::spaces::store as spaces;
use crate::search_queue::Kind;
use crate::tenancy::Project;
use crate::values::ids::{ChatMessageId, CommentId, ConversationId, EntityId, SpaceId};

/// Content that the caller may see.
#[derive(Debug)]
pub enum Row {
    Entity(Box<EntityRow>),
    Comment(Box<CommentRow>),
    Message(Box<MessageRow>),
}

/// A search result before it is shown.
#[derive(Debug)]
pub struct Hit {
    pub row: Row,
    /// Of the document in the index.
    pub number: i64,
    pub similarity: f64,
}

/// Who asks, and for what.
#[derive(Debug)]
pub struct Guard<'a> {
    pub project: &'a Project,
    pub perspective: Perspective,
    pub limits: &'a Limits,
    pub nsfw: bool,
}

impl Guard<'_> {
    /// The first `limit` visible ones, the best first.
    pub fn take(&self, c: &Conn<'_>, ranked: &mut Ranked, limit: usize) -> Result<Vec<Hit>> {
        let mut hits = Vec::new();
        while hits.len() < limit && !ranked.is_at_end() {
            let candidates = ranked.next(c, self.project, limit - hits.len())?;
            let mut visible = self.visible(c, &candidates)?;
            let found = candidates.iter().filter_map(|one| {
                let row = visible.remove(&one.doc.record_id)?;
                Some(Hit { row, number: one.doc.number, similarity: one.similarity })
            });
            hits.extend(found);
        }
        hits.truncate(limit);
        Ok(hits)
    }

    /// Whether all of these records may be seen.
    pub fn sees(&self, c: &Conn<'_>, records: &[(SourceType, Uuid)]) -> Result<bool> {
        let of = |kind: SourceType| {
            records.iter().filter(move |(one, _)| *one == kind).map(|(_, record)| *record)
        };
        let entities: Vec<EntityId> = of(SourceType::Entity).map(EntityId).collect();
        let comments: Vec<CommentId> = of(SourceType::Comment).map(CommentId).collect();
        let messages: Vec<ChatMessageId> = of(SourceType::Message).map(ChatMessageId).collect();
        let seen = self.entities(c, &entities)?.len()
            + self.comments(c, &comments)?.len()
            + self.messages(c, &messages)?.len();
        Ok(seen == records.len())
    }

    fn visible(&self, c: &Conn<'_>, candidates: &[Candidate]) -> Result<HashMap<Uuid, Row>> {
        let candidates: Vec<&Candidate> =
            candidates.iter().filter(|one| self.is_wanted(one)).collect();
        let of = |kind: Kind| candidates.iter().filter(move |one| one.class.kind() == kind);
        let mut rows = HashMap::new();
        let ids: Vec<EntityId> = of(Kind::Entity).map(|one| EntityId(one.doc.record_id)).collect();
        for row in self.entities(c, &ids)? {
            rows.insert(row.id.0, Row::Entity(Box::new(row)));
        }
        let ids: Vec<CommentId> =
            of(Kind::Comment).map(|one| CommentId(one.doc.record_id)).collect();
        for row in self.comments(c, &ids)? {
            rows.insert(row.id.0, Row::Comment(Box::new(row)));
        }
        let ids: Vec<ChatMessageId> =
            of(Kind::Message).map(|one| ChatMessageId(one.doc.record_id)).collect();
        for row in self.messages(c, &ids)? {
            rows.insert(row.id.0, Row::Message(Box::new(row)));
        }
        Ok(rows)
    }

    /// Whether it is in the spaces and the conversation asked for.
    fn is_wanted(&self, one: &Candidate) -> bool {
        let in_space = self
            .limits
            .spaces
            .as_ref()
            .is_none_or(|spaces| one.doc.space_id.is_some_and(|space| spaces.contains(&space)));
        let in_conversation = match (one.class.kind(), self.limits.conversation) {
            (Kind::Message, Some(only)) => one.doc.parent_id == Some(only.0),
            _ => true,
        };
        in_space && in_conversation
    }

    fn entities(&self, c: &Conn<'_>, ids: &[EntityId]) -> Result<Vec<EntityRow>> {
        let mut rows = entities::find_all(c, self.project.id, ids)?;
        rows.retain(|row| row.is_listed && (self.nsfw || !row.nsfw));
        if !self.nsfw {
            let mut of: Vec<SpaceId> = rows.iter().filter_map(|row| row.space_id).collect();
            of.sort_unstable();
            of.dedup();
            let mut flagged = spaces::find_all(c, self.project.id, &of)?;
            flagged.retain(|space| space.nsfw_effective);
            rows.retain(|row| flagged.iter().all(|space| row.space_id != Some(space.id)));
        }
        entity_visibility::among(c, self.project, rows, self.perspective)
    }

    fn comments(&self, c: &Conn<'_>, ids: &[CommentId]) -> Result<Vec<CommentRow>> {
        let mut rows = comments::find_all(c, self.project.id, ids)?;
        rows.retain(|row| row.is_live() && !row.entity_is_removed && !row.entity_is_draft);
        comment_visibility::among(c, self.project, rows, self.perspective)
    }

    /// Of conversations that the caller is an active member of.
    fn messages(&self, c: &Conn<'_>, ids: &[ChatMessageId]) -> Result<Vec<MessageRow>> {
        let Perspective::User(user) = self.perspective else { return Ok(Vec::new()) };
        let mut rows = messages::find_all(c, self.project.id, ids)?;
        rows.retain(|row| !row.is_removed && row.user_deleted_at.is_none());
        let mut of: Vec<ConversationId> = rows.iter().map(|row| row.conversation_id).collect();
        of.sort_unstable();
        of.dedup();
        if of.is_empty() {
            return Ok(rows);
        }
        let own = members::own(c, self.project.id, user, &of)?;
        let live = conversations::find_all(c, self.project.id, &of)?;
        rows.retain(|row| {
            let is_in = own.iter().any(|m| m.conversation_id == row.conversation_id && m.is_active);
            is_in && live.iter().any(|one| one.id == row.conversation_id)
        });
        Ok(rows)
    }
}
