//! Reactions: users at random react to entities or comments at random, seldom twice to the same.

use std::sync::Arc;

use db::{Db, Tx};
use townhall::error::Error;
use townhall::features::comments::blank;
use townhall::features::comments::model::Comment;
use townhall::features::comments::store::{self as comments, CommentRow};
use townhall::features::entities::model::Entity;
use townhall::features::entities::store::{self as entities, EntityRow};
use townhall::features::notifications::store::insert as notifications;
use townhall::features::notifications::{About, Notification, Subject};
use townhall::features::reactions::store::{self as reactions, reaction_deltas};
use townhall::features::reactions::target::TargetId;
use townhall::features::reactions::{ReactionCounts, ReactionType};
use townhall::features::users::model::User;
use townhall::features::users::store::points;
use townhall::values::ids::{
    CommentId, EntityId, NotificationId, ProjectId, ReactionId, UserId, new_id,
};
use townhall::values::random::Random;
use townhall::values::time::Timestamp;
use uuid::Uuid;

use crate::dice::Dice;
use crate::entities::Entities;
use crate::fixture::{Fixture, text};
use crate::scenario::{Bare, Scenario};
use crate::server::send;

/// So many users react.
pub const REACTORS: usize = 10_000;
/// So many different requests.
pub const DRAWN: usize = 100_000;

pub const TO_ENTITIES: Scenario = Scenario {
    name: "add-reaction",
    about: "POST /entities/:id/reactions, any of 10,000 users to any of the entities",
    expected_status: &[200],
    requests: |fixture| requests(fixture, "entities", fixture.entities),
    bare: |fixture, db| bare(fixture, db, fixture.entities, of_entity),
};

pub const TO_ONE: Scenario = Scenario {
    name: "react-one",
    about: "POST /entities/:id/reactions, any of 10,000 users to the first entity",
    requests: |fixture| requests(fixture, "entities", fixture.entities.first_alone()),
    bare: |fixture, db| bare(fixture, db, fixture.entities.first_alone(), of_entity),
    ..TO_ENTITIES
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
        let user = Some(Some(Box::new(author.clone())));
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
        let user = Some(Some(Box::new(author.clone())));
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

/// `put`: the reaction alone. `statements`: also everything in the same transaction, in the fewest
/// statements: the target is read and locked, its counts change, its author gets points and a notification.
fn bare(fixture: &Fixture, db: &Db, all: Entities, show: Show) -> Vec<Bare> {
    let (project, now) = (fixture.project, fixture.now);
    let reactors: Arc<[UserId]> = fixture.users.iter().copied().take(REACTORS).collect();
    let seen = Arc::new(Seen { project, now, author: fixture.shown.clone() });
    let bare = |name, react: fn(&Tx<'_>, &Reaction) -> Result<(), Error>| {
        let (db, seen, reactors) = (db.clone(), seen.clone(), reactors.clone());
        Bare::new(name, move |dice| {
            let (db, seen) = (db.clone(), seen.clone());
            let (user, author) =
                (reactors[dice.draw(reactors.len())], reactors[dice.draw(reactors.len())]);
            let (target, kind) = (all.id(dice.draw(all.count)), kind(dice));
            async move {
                let (target, shown) = show(&seen, target.0, kind);
                let reaction = Reaction { project, target, user, author, kind, now };
                db.write(move |tx| react(tx, &reaction)).await.map_err(text)?;
                shown.map_err(text)
            }
        })
    };
    vec![bare("put", put), bare("statements", put_with_all_effects)]
}

/// Who reacts to whose content.
#[derive(Debug)]
struct Reaction {
    project: ProjectId,
    target: TargetId,
    user: UserId,
    author: UserId,
    kind: ReactionType,
    now: Timestamp,
}

fn put(tx: &Tx<'_>, r: &Reaction) -> Result<(), Error> {
    let id = ReactionId(new_id(r.now, &Random::System));
    reactions::put(tx, r.project, r.target, r.user, id, r.kind, r.now).map(drop)
}

fn put_with_all_effects(tx: &Tx<'_>, r: &Reaction) -> Result<(), Error> {
    match r.target {
        TargetId::Entity(id) => {
            entities::find_for_update_later(tx, r.project, id, Some(r.user)).map(drop)?
        }
        TargetId::Comment(id) => {
            comments::find_for_update_later(tx, r.project, id, Some(r.user)).map(drop)?
        }
    }
    put(tx, r)?;
    let mut by = ReactionCounts::default();
    *by.of_mut(r.kind) = 1;
    let told = Notification {
        id: NotificationId(new_id(r.now, &Random::System)),
        user: r.author,
        kind: "entity-reaction",
        action: "open-entity",
        metadata: METADATA.into(),
        about: About {
            subject: Subject::Entity(EntityId(r.target.uuid())),
            space: None,
            actor: Some(r.user),
        },
    };
    let author = tx.batch(|| {
        reaction_deltas::change(tx, r.project, r.target, by)?;
        notifications::insert_kept(tx, r.project, r.now, &told)?;
        points::earn(tx, r.project, r.author, None, r.kind.points())
    });
    author.map(drop)
}

/// As long as that of a real one.
const METADATA: &str = r#"{"entityId":"01a1e3d0-e79a-46bc-a196-afb639e9a7fa","entityShortId":"1cG6qdycVbeQNQCtgHxaQ8","entityTitle":"Post number 1234 about the bench","entityContent":"Lorem ipsum dolor sit amet, consectetur adipiscing elit","initiatorId":"01a1e3d0-e79a-40ba-a34c-158d10478d8a","initiatorName":null,"initiatorUsername":"user1234","initiatorAvatar":null,"reactionType":"love"}"#;
