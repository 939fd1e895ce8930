//! Stored counts against what they count, and their repair. Reputation is not among them: points stay when
//! what earned them is deleted, so nothing is left to add up.

use db::Db;

use crate::cli::doctor::{Finding, block_on};
use crate::features::chat::store::recount as chat;
use crate::features::collections::store::recount as collections;
use crate::features::comments::store::recount as comments;
use crate::features::connections::store::recount as connections;
use crate::features::entities::store::recount as entities;
use crate::features::follows::store::recount as follows;
use crate::features::moderation::reports::store::recount as reports;
use crate::features::notifications::store::recount as notifications;
use crate::features::spaces::store::recount as spaces;
use crate::values::ids::{
    ChatMessageId, CollectionId, CommentId, ConversationId, EntityId, ProjectId, ReportId, SpaceId,
    UserId,
};

/// What does not agree with what it counts.
struct Drift {
    notified: Vec<(ProjectId, UserId)>,
    reacted: Vec<(ProjectId, EntityId)>,
    reacted_comments: Vec<(ProjectId, CommentId)>,
    /// Comments whose balance of votes is not that of their counts.
    unbalanced: Vec<(ProjectId, CommentId)>,
    /// Entities and comments with a wrong number of answers.
    answered: Vec<(ProjectId, EntityId)>,
    answered_comments: Vec<(ProjectId, CommentId)>,
    reported: Vec<(ProjectId, ReportId)>,
    saved: Vec<(ProjectId, CollectionId)>,
    followed: Vec<(ProjectId, UserId)>,
    connected: Vec<(ProjectId, UserId)>,
    /// Spaces with a wrong number of members or children.
    joined: Vec<(ProjectId, SpaceId)>,
    /// Conversations with a wrong number of members, messages with one of replies or reactions.
    conversations: Vec<(ProjectId, ConversationId)>,
    messages: Vec<(ProjectId, ChatMessageId)>,
    /// How many feeds of each project.
    feeds: Vec<(ProjectId, usize)>,
}

impl Drift {
    fn find(db: &Db) -> Result<Self, String> {
        let mut feeds = Vec::new();
        for project in block_on(db.read_slow(entities::projects))? {
            let wrong = block_on(db.read_slow(move |c| entities::drifted_feeds(c, project)))?;
            feeds.extend(Some((project, wrong.len())).filter(|(_, wrong)| *wrong > 0));
        }
        Ok(Drift {
            notified: block_on(db.read_slow(notifications::drifted))?,
            reacted: block_on(db.read_slow(entities::miscounted))?,
            reacted_comments: block_on(db.read_slow(comments::miscounted_reactions))?,
            unbalanced: block_on(db.read_slow(comments::unbalanced))?,
            answered: block_on(db.read_slow(comments::miscounted_entities))?,
            answered_comments: block_on(db.read_slow(comments::miscounted_comments))?,
            reported: block_on(db.read_slow(reports::drifted))?,
            saved: block_on(db.read_slow(collections::drifted))?,
            followed: block_on(db.read_slow(follows::drifted))?,
            connected: block_on(db.read_slow(connections::drifted))?,
            joined: block_on(db.read_slow(spaces::miscounted))?,
            conversations: block_on(db.read_slow(chat::miscounted))?,
            messages: block_on(db.read_slow(chat::miscounted_messages))?,
            feeds,
        })
    }

    fn feeds(&self) -> usize {
        self.feeds.iter().map(|(_, wrong)| wrong).sum()
    }

    fn reactions(&self) -> usize {
        self.reacted.len() + self.reacted_comments.len() + self.unbalanced.len()
    }

    fn answers(&self) -> usize {
        self.answered.len() + self.answered_comments.len()
    }

    fn in_chat(&self) -> usize {
        self.conversations.len() + self.messages.len()
    }

    fn total(&self) -> usize {
        let on_content = self.reactions() + self.answers() + self.reported.len();
        let of_users = self.notified.len() + self.followed.len() + self.connected.len();
        let listed = self.saved.len() + self.joined.len() + self.feeds();
        on_content + of_users + listed + self.in_chat()
    }

    /// How many were repaired.
    fn repair(self, db: &Db) -> Result<u64, String> {
        let mut repaired = 0;
        for (project, user) in self.notified {
            block_on(db.write(move |tx| notifications::repair(tx, project, user)))?;
            repaired += 1;
        }
        for (project, entity) in self.reacted {
            block_on(db.write(move |tx| entities::repair_reactions(tx, project, entity)))?;
            repaired += 1;
        }
        for (project, comment) in self.reacted_comments {
            block_on(db.write(move |tx| comments::repair_reactions(tx, project, comment)))?;
            repaired += 1;
        }
        // After the counts that it is made of.
        for (project, comment) in self.unbalanced {
            block_on(db.write(move |tx| comments::balance(tx, project, comment)))?;
            repaired += 1;
        }
        for (project, entity) in self.answered {
            block_on(db.write(move |tx| comments::repair_entity(tx, project, entity)))?;
            repaired += 1;
        }
        for (project, comment) in self.answered_comments {
            block_on(db.write(move |tx| comments::repair_comment(tx, project, comment)))?;
            repaired += 1;
        }
        for (project, report) in self.reported {
            block_on(db.write(move |tx| reports::repair(tx, project, report)))?;
            repaired += 1;
        }
        for (project, collection) in self.saved {
            block_on(db.write(move |tx| collections::repair(tx, project, collection)))?;
            repaired += 1;
        }
        for (project, user) in self.followed {
            block_on(db.write(move |tx| follows::repair(tx, project, user)))?;
            repaired += 1;
        }
        for (project, user) in self.connected {
            block_on(db.write(move |tx| connections::repair(tx, project, user)))?;
            repaired += 1;
        }
        for (project, space) in self.joined {
            block_on(db.write(move |tx| spaces::repair(tx, project, space)))?;
            repaired += 1;
        }
        for (project, conversation) in self.conversations {
            block_on(db.write(move |tx| chat::repair(tx, project, conversation)))?;
            repaired += 1;
        }
        for (project, message) in self.messages {
            block_on(db.write(move |tx| chat::repair_message(tx, project, message)))?;
            repaired += 1;
        }
        for (project, _) in self.feeds {
            repaired += block_on(db.write(move |tx| entities::repair_feeds(tx, project)))?;
        }
        Ok(repaired)
    }
}

pub(super) fn counters(db: &Db, fix: bool) -> Finding {
    let drift = Drift::find(db)?;
    match drift.total() {
        0 => Ok("all agree with what they count".to_owned()),
        drifted if fix => {
            let repaired = drift.repair(db)?;
            Ok(format!("{drifted} had drifted, {repaired} were repaired"))
        }
        _ => Err(format!(
            "{} wrong counts of notifications, {} of reactions, {} of comments, {} of reports, \
             {} of feeds, {} of collections, {} of follows, {} of connections, {} of spaces, \
             {} of chat; \
             repair with --fix",
            drift.notified.len(),
            drift.reactions(),
            drift.answers(),
            drift.reported.len(),
            drift.feeds(),
            drift.saved.len(),
            drift.followed.len(),
            drift.connected.len(),
            drift.joined.len(),
            drift.in_chat(),
        )),
    }
}
