//! Reactions: users at random react to entities or comments at random, seldom twice to the same.

use std::sync::Arc;

use db::Db;
use townhall::error::Error;
use townhall::features::comments::blank;
use townhall::features::comments::model::Comment;
use townhall::features::comments::store::CommentRow;
use townhall::features::entities::model::Entity;
use townhall::features::entities::store::EntityRow;
use townhall::features::reactions::target::TargetId;
use townhall::features::reactions::{ReactionType, store as reactions};
use townhall::features::users::model::User;
use townhall::ids::{CommentId, EntityId, ProjectId, ReactionId, UserId, new_id};
use townhall::random::Random;
use townhall::time::Timestamp;
use uuid::Uuid;

use crate::dice::Dice;
use crate::entities::Entities;
use crate::fixture::{Fixture, text};
use crate::scenario::{Bare, Scenario};
use crate::server::send;

/// So many users react.
const REACTORS: usize = 10_000;
/// So many different requests.
const DRAWN: usize = 100_000;

pub const TO_ENTITIES: Scenario = Scenario {
    name: "add-reaction",
    about: "POST /entities/:id/reactions, any of 10,000 users to any of the entities",
    expected_status: &[200],
    requests: |fixture| requests(fixture, "entities", fixture.entities),
    bare: |fixture, db| bare(fixture, db, fixture.entities, of_entity),
};

pub const TO_COMMENTS: Scenario = Scenario {
    name: "react-comment",
    about: "POST /comments/:id/reactions, any of 10,000 users to any comment of one entity",
    expected_status: &[200],
    requests: |fixture| requests(fixture, "comments", fixture.comments),
    bare: |fixture, db| bare(fixture, db, fixture.comments, of_comment),
};

/// What is reacted to, and the reply to that: its bytes.
type Shown = (TargetId, townhall::error::Result<Vec<u8>>);
type Show = fn(&Seen, Uuid, ReactionType) -> Shown;

/// What replies are made of.
#[derive(Debug, Clone)]
struct Seen {
    project: ProjectId,
    now: Timestamp,
    author: User,
}

fn of_entity(seen: &Seen, id: Uuid, kind: ReactionType) -> Shown {
    let Seen { project, now, author } = seen;
    let row = EntityRow { user_id: Some(author.id), ..Entities::row(EntityId(id), *now) };
    let bytes = Entity::new(*project, row).and_then(|entity| {
        let user = Some(Some(author.clone()));
        let entity = Entity { user, user_reaction: Some(Some(kind)), shares_count: None, ..entity };
        serde_json::to_vec(&entity).map_err(Error::internal)
    });
    (TargetId::Entity(EntityId(id)), bytes)
}

fn of_comment(seen: &Seen, id: Uuid, kind: ReactionType) -> Shown {
    let Seen { project, now, author } = seen;
    let row = CommentRow {
        user_id: Some(author.id),
        content: Some("Comment number 12".to_owned()),
        ..blank(CommentId(id), EntityId(id), *now)
    };
    let bytes = Comment::new(*project, row).and_then(|comment| {
        let user = Some(Some(author.clone()));
        let comment = Comment { user, user_reaction: Some(Some(kind)), ..comment };
        serde_json::to_vec(&comment).map_err(Error::internal)
    });
    (TargetId::Comment(CommentId(id)), bytes)
}

fn requests(fixture: &Fixture, noun: &str, all: Entities) -> Vec<Vec<u8>> {
    let project = fixture.project;
    let reactors = fixture.users.iter().take(REACTORS);
    let tokens: Vec<String> = reactors.map(|user| fixture.token(*user)).collect();
    let mut dice = Dice::new(2);
    let mut request = || {
        let target = all.id(dice.draw(all.count));
        let path = format!("/v8/{project}/{noun}/{target}/reactions");
        let body = format!(r#"{{"reactionType":"{}"}}"#, kind(&mut dice).name());
        send("POST", &path, &tokens[dice.draw(tokens.len())], &body)
    };
    (0..DRAWN).map(|_| request()).collect()
}

fn kind(dice: &mut Dice) -> ReactionType {
    ReactionType::ALL[dice.draw(ReactionType::ALL.len())]
}

/// The reaction alone; no counts, no reputation, no notification.
fn bare(fixture: &Fixture, db: &Db, all: Entities, show: Show) -> Vec<Bare> {
    let (db, project, now) = (db.clone(), fixture.project, fixture.now);
    let seen = Arc::new(Seen { project, now, author: fixture.shown.clone() });
    let reactors: Arc<[UserId]> = fixture.users.iter().copied().take(REACTORS).collect();
    let write = Bare::new("put", move |dice| {
        let (db, seen) = (db.clone(), seen.clone());
        let user = reactors[dice.draw(reactors.len())];
        let (target, kind) = (all.id(dice.draw(all.count)), kind(dice));
        let id = ReactionId(new_id(now, &Random::System));
        async move {
            let (target, shown) = show(&seen, target.0, kind);
            let put = db.write(move |tx| reactions::put(tx, project, target, user, id, kind, now));
            put.await.map_err(text)?;
            shown.map_err(text)
        }
    });
    vec![write]
}
