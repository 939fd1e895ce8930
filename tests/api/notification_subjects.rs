//! Subjects of notifications: at most one unread for each actor, kind and target, and none about content that
//! is deleted, removed or in a space that the reader may no longer read. Lists and counts agree.

use serde_json::{Value, json};

use crate::comments::{comment, path as comment_path, reply};
use crate::entity_deletion::delete_softly;
use crate::notifications::{MARK_ALL, counts_are_exact, list, mark_path, total, unread};
use crate::reaction_notices::told;
use crate::reactions::{publish, react, reactions, unreact};
use crate::space_members::{membership, of, open_space};
use crate::spaces::{join, path as space_path};
use crate::support::{Actor, TestApp, User, all_at_once, count, on_both_engines};

on_both_engines![
    reacting_again_adds_nothing_while_the_first_is_unread,
    a_comment_is_a_target_of_its_own,
    following_again_adds_nothing_while_the_first_is_unread,
    a_repeated_connection_request_leads_to_the_one_that_is_there,
    sixty_four_who_toggle_at_once_leave_one_each,
    one_who_toggles_while_the_author_marks_keeps_the_counts,
    deleted_content_takes_its_notifications_along,
    a_deleted_comment_takes_its_notifications_along,
    removed_content_is_left_out_until_it_is_approved,
    reactions_to_removed_content_notify_nobody,
    a_space_that_may_not_be_read_is_left_out,
    marking_all_skips_hidden_notifications,
    a_deleted_space_takes_its_notifications_along,
    notifications_about_a_deleted_users_content_are_deleted,
];

/// The types of the user's notifications in the list, whose total and unread count agree with it.
async fn kinds(user: &Actor<'_>) -> Vec<String> {
    let listed = list(user, "?limit=50").await;
    let rows = listed["data"].as_array().unwrap();
    assert_eq!(listed["pagination"]["totalItems"], rows.len());
    let not_read = rows.iter().filter(|row| row["isRead"] == false).count();
    assert_eq!(unread(user).await, not_read);
    let mut kinds: Vec<String> =
        rows.iter().map(|row| row["type"].as_str().unwrap().to_owned()).collect();
    kinds.sort_unstable();
    kinds
}

async fn mark_all(user: &Actor<'_>) -> Value {
    user.patch(MARK_ALL, json!({})).await.expect(200)["markedAsRead"].take()
}

async fn reacting_again_adds_nothing_while_the_first_is_unread(app: TestApp) {
    let (author, reader, other) = (app.user().await, app.user().await, app.user().await);
    let entity = publish(&author).await;
    react(&reader, &entity, "like").await;
    let first = list(&author, "").await;
    for kind in ["love", "wow", "like"] {
        unreact(&reader, &entity).await;
        react(&reader, &entity, kind).await;
    }
    // The first stays as it was and where it was.
    assert_eq!(list(&author, "").await, first);
    assert_eq!(kinds(&author).await, ["entity-reaction"]);
    // Another actor, another kind and another target each notify.
    react(&other, &entity, "like").await;
    other.v7().patch(&format!("{entity}/upvote"), json!({})).await.expect(200);
    react(&reader, &publish(&author).await, "like").await;
    assert_eq!(
        kinds(&author).await,
        ["entity-reaction", "entity-reaction", "entity-reaction", "entity-upvote"]
    );
    // Once it is read, the next one is news.
    assert_eq!(mark_all(&author).await, 4);
    app.advance(std::time::Duration::from_secs(1));
    for _ in 0..2 {
        unreact(&reader, &entity).await;
        react(&reader, &entity, "sad").await;
    }
    assert_eq!((unread(&author).await, total(&author).await), (json!(1), json!(5)));
    assert_eq!(list(&author, "").await["data"][0]["metadata"]["reactionType"], "sad");
    counts_are_exact(&app).await;
}

async fn a_comment_is_a_target_of_its_own(app: TestApp) {
    let (author, reader) = (app.user().await, app.user().await);
    let entity = publish(&author).await;
    for text in ["one", "two"] {
        comment(&reader, &entity, text).await;
    }
    assert_eq!(kinds(&author).await, ["entity-comment", "entity-comment"]);
    let said = comment(&author, &entity, "mine").await;
    for _ in 0..3 {
        react(&reader, &comment_path(&said), "like").await;
        unreact(&reader, &comment_path(&said)).await;
    }
    assert_eq!(kinds(&author).await, ["comment-reaction", "entity-comment", "entity-comment"]);
    counts_are_exact(&app).await;
}

async fn following_again_adds_nothing_while_the_first_is_unread(app: TestApp) {
    let (ada, bob) = (app.user().await, app.user().await);
    let address = format!("/users/{}/follow", ada.id);
    for _ in 0..3 {
        bob.post(&address, json!({})).await.expect(201);
        bob.delete(&address).await.expect(204);
    }
    assert_eq!(kinds(&ada).await, ["new-follow"]);
    mark_all(&ada).await;
    bob.post(&address, json!({})).await.expect(201);
    assert_eq!(kinds(&ada).await, ["new-follow", "new-follow"]);
    counts_are_exact(&app).await;
}

async fn a_repeated_connection_request_leads_to_the_one_that_is_there(app: TestApp) {
    let (ada, bob) = (app.user().await, app.user().await);
    let address = format!("/users/{}/connection", ada.id);
    let mut latest = Value::Null;
    for _ in 0..3 {
        bob.delete(&address).await;
        latest = bob.post(&address, json!({})).await.expect(201)["id"].take();
    }
    assert_eq!(kinds(&ada).await, ["connection-request"]);
    let shown = list(&ada, "").await["data"][0]["metadata"]["connectionId"].take();
    assert_eq!(shown, latest);
    counts_are_exact(&app).await;
}

async fn sixty_four_who_toggle_at_once_leave_one_each(app: TestApp) {
    let author = app.user().await;
    let entity = publish(&author).await;
    let mut readers = Vec::new();
    for _ in 0..16 {
        readers.push(app.user().await);
    }
    // Four requests of each of sixteen users, in both directions.
    let requests = (0..64).map(|n| {
        let (reader, address) = (&readers[n % 16], reactions(&entity));
        async move {
            match n / 16 % 2 {
                0 => reader.post(&address, json!({ "reactionType": "like" })).await,
                _ => reader.delete(&address).await,
            }
        }
    });
    let replies = all_at_once(requests).await;
    assert_eq!(count(&replies, 200), 64);
    let told = told(&author, "entity-reaction").await;
    let mut actors: Vec<String> =
        told.iter().map(|one| one["metadata"]["initiatorId"].to_string()).collect();
    actors.sort_unstable();
    actors.dedup();
    assert_eq!((told.len(), actors.len()), (16, 16), "one of each");
    let unread_reactions = told.iter().filter(|one| one["isRead"] == false).count();
    assert_eq!(unread_reactions, 16);
    counts_are_exact(&app).await;
}

async fn one_who_toggles_while_the_author_marks_keeps_the_counts(app: TestApp) {
    let (author, reader, other) = (app.user().await, app.user().await, app.user().await);
    let (entity, said) = {
        let entity = publish(&author).await;
        let said = comment(&author, &entity, "mine").await;
        (entity, comment_path(&said))
    };
    let toggles = (0..48).map(|n| {
        let address = reactions(if n % 2 == 0 { &entity } else { &said });
        let actor = if n % 3 == 0 { &reader } else { &other };
        async move {
            match n / 8 % 2 {
                0 => actor.post(&address, json!({ "reactionType": "wow" })).await,
                _ => actor.delete(&address).await,
            }
        }
    });
    let marks = (0..16).map(|_| author.patch(MARK_ALL, json!({})));
    let (toggled, marked) = tokio::join!(all_at_once(toggles), all_at_once(marks));
    assert_eq!((count(&toggled, 200), count(&marked, 200)), (48, 16));
    counts_are_exact(&app).await;
    // Of each actor, kind and target no more than one is unread.
    let listed = list(&author, "?limit=50").await;
    let not_read = listed["data"].as_array().unwrap().iter().filter(|row| row["isRead"] == false);
    let mut keys: Vec<String> =
        not_read.map(|row| format!("{} {}", row["type"], row["metadata"]["initiatorId"])).collect();
    let all = keys.len();
    keys.sort_unstable();
    keys.dedup();
    assert_eq!(keys.len(), all, "{keys:?}");
}

async fn deleted_content_takes_its_notifications_along(app: TestApp) {
    let (author, reader) = (app.user().await, app.user().await);
    for mode in ["hard", "soft"] {
        if mode == "soft" {
            delete_softly(&app).await;
        }
        let (gone, kept) = (publish(&author).await, publish(&author).await);
        let mention = json!({ "title": "t", "mentions": [{ "id": reader.id, "username": "r" }] });
        let mentioning = author.post("/entities", mention).await.expect(201);
        for entity in [&gone, &kept] {
            react(&reader, entity, "like").await;
            let said = comment(&reader, entity, "hello").await;
            reply(&author, &said, "reply").await;
            react(&author, &comment_path(&said), "like").await;
        }
        let marked = list(&author, "").await;
        author.patch(&mark_path(&marked, 0), json!({})).await.expect(200);
        let (authors, readers) = (kinds(&author).await, kinds(&reader).await);
        assert_eq!((authors.len(), readers.len()), (4, 5), "{mode}");
        author.delete(&gone).await.expect(204);
        author.delete(&crate::entities::path(&mentioning)).await.expect(204);
        assert_eq!(kinds(&author).await, ["entity-comment", "entity-reaction"], "{mode}");
        assert_eq!(kinds(&reader).await, ["comment-reaction", "comment-reply"], "{mode}");
        counts_are_exact(&app).await;
        author.delete(&kept).await.expect(204);
        assert!(kinds(&author).await.is_empty() && kinds(&reader).await.is_empty(), "{mode}");
    }
    app.run_jobs().await;
    counts_are_exact(&app).await;
}

async fn a_deleted_comment_takes_its_notifications_along(app: TestApp) {
    let (author, reader, third) = (app.user().await, app.user().await, app.user().await);
    for actor in [(*reader).clone(), reader.v6()] {
        let entity = publish(&author).await;
        let said = comment(&reader, &entity, "hello").await;
        let replied = reply(&third, &said, "reply").await;
        react(&third, &comment_path(&said), "like").await;
        reply(&reader, &replied, "deeper").await;
        assert_eq!(kinds(&author).await, ["entity-comment"]);
        assert_eq!(kinds(&reader).await, ["comment-reaction", "comment-reply"]);
        assert_eq!(kinds(&third).await, ["comment-reply"]);
        actor.delete(&comment_path(&said)).await.expect(204);
        assert!(kinds(&author).await.is_empty() && kinds(&reader).await.is_empty());
        // What was said below it is still there.
        assert_eq!(kinds(&third).await, ["comment-reply"]);
        counts_are_exact(&app).await;
        third.delete(&comment_path(&replied)).await.expect(204);
        assert!(kinds(&third).await.is_empty());
    }
    counts_are_exact(&app).await;
}

/// A post of a member in a space, and the comment of another member on it.
struct InSpace<'a> {
    team: User<'a>,
    author: User<'a>,
    reader: User<'a>,
    space: Value,
    entity: String,
    said: Value,
}

impl<'a> InSpace<'a> {
    /// The author has an `entity-comment` and an `entity-reaction`, the reader a `comment-reply`.
    async fn new(app: &'a TestApp) -> InSpace<'a> {
        let (team, author, reader) = (app.user().await, app.user().await, app.user().await);
        let space = open_space(&team).await;
        join(&author, &space).await;
        join(&reader, &space).await;
        let new = json!({ "title": "t", "spaceId": space["id"] });
        let entity = crate::entities::path(&crate::entities::create(&author, new).await);
        let said = comment(&reader, &entity, "hello").await;
        reply(&author, &said, "reply").await;
        react(&reader, &entity, "like").await;
        InSpace { team, author, reader, space, entity, said }
    }

    async fn moderate(&self, content: &str, action: &str) {
        let address = format!("{}{content}/moderation", space_path(&self.space));
        self.team.patch(&address, json!({ "action": action })).await.expect(200);
    }
}

async fn removed_content_is_left_out_until_it_is_approved(app: TestApp) {
    let at = InSpace::new(&app).await;
    let both = ["entity-comment", "entity-reaction"];
    let said = comment_path(&at.said);
    at.moderate(&said, "remove").await;
    assert_eq!(kinds(&at.author).await, ["entity-reaction"]);
    assert!(kinds(&at.reader).await.is_empty(), "a reply to what was removed");
    at.moderate(&at.entity, "remove").await;
    assert!(kinds(&at.author).await.is_empty());
    counts_are_exact(&app).await;
    // The entity is back, the comment is not.
    at.moderate(&at.entity, "approve").await;
    assert_eq!(kinds(&at.author).await, ["entity-reaction"]);
    at.moderate(&said, "approve").await;
    assert_eq!(kinds(&at.author).await, both);
    assert_eq!(kinds(&at.reader).await, ["comment-reply"]);
    counts_are_exact(&app).await;
    // What was marked before the removal comes back as it was.
    assert_eq!(mark_all(&at.author).await, 2);
    at.moderate(&at.entity, "remove").await;
    at.moderate(&at.entity, "approve").await;
    assert_eq!((unread(&at.author).await, total(&at.author).await), (json!(0), json!(2)));
    // What is hidden cannot be marked, and is unread when it comes back.
    let shown = list(&at.reader, "").await;
    at.moderate(&at.entity, "remove").await;
    let address = mark_path(&shown, 0);
    at.reader.patch(&address, json!({})).await.refused(404, "app-notification/not-found");
    assert_eq!(mark_all(&at.reader).await, 0);
    at.moderate(&at.entity, "approve").await;
    assert_eq!(mark_all(&at.reader).await, 1);
    counts_are_exact(&app).await;
}

async fn reactions_to_removed_content_notify_nobody(app: TestApp) {
    let at = InSpace::new(&app).await;
    at.moderate(&at.entity, "remove").await;
    react(&at.author, &comment_path(&at.said), "love").await;
    react(&at.team, &at.entity, "love").await;
    assert!(kinds(&at.author).await.is_empty() && kinds(&at.reader).await.is_empty());
    counts_are_exact(&app).await;
}

async fn a_space_that_may_not_be_read_is_left_out(app: TestApp) {
    let at = InSpace::new(&app).await;
    let outside = publish(&at.author).await;
    react(&at.reader, &outside, "wow").await;
    let all = ["entity-comment", "entity-reaction", "entity-reaction"];
    assert_eq!(kinds(&at.author).await, all);
    let shown = list(&at.author, "").await;
    let member = membership(&app, &at.space, &at.author).await;
    at.team.patch(&of(&at.space, &member, "/ban"), json!({})).await.expect(200);
    assert_eq!(kinds(&at.author).await, ["entity-reaction"]);
    let rows = shown["data"].as_array().unwrap();
    let inside = rows.iter().position(|row| row["metadata"].get("spaceId").is_some()).unwrap();
    let address = mark_path(&shown, inside);
    at.author.patch(&address, json!({})).await.refused(404, "app-notification/not-found");
    let as_user = format!("/app-notifications?userId={}", at.author.id);
    let listed = app.service().get(&as_user).await.expect(200);
    assert_eq!(listed["pagination"]["totalItems"], 1, "a key reads what the user reads");
    at.team.patch(&of(&at.space, &member, "/unban"), json!({})).await.expect(200);
    assert_eq!(kinds(&at.author).await, all);
    // A non-member reads an open space, and nothing of a members-only one.
    at.author.delete(&format!("{}/leave", space_path(&at.space))).await.expect(200);
    for (reading, expected) in [("anyone", 3), ("members", 1), ("anyone", 3)] {
        let change = json!({ "readingPermission": reading });
        at.team.patch(&space_path(&at.space), change).await.expect(200);
        assert_eq!(kinds(&at.author).await.len(), expected, "{reading}");
    }
    counts_are_exact(&app).await;
}

async fn marking_all_skips_hidden_notifications(app: TestApp) {
    let at = InSpace::new(&app).await;
    let member = membership(&app, &at.space, &at.author).await;
    at.team.patch(&of(&at.space, &member, "/ban"), json!({})).await.expect(200);
    for number in 1..=2 {
        app.advance(std::time::Duration::from_secs(1));
        react(&at.reader, &publish(&at.author).await, "wow").await;
        assert_eq!(unread(&at.author).await, 1, "{number}");
        assert_eq!(mark_all(&at.author).await, 1, "{number}");
    }
    at.team.patch(&of(&at.space, &member, "/unban"), json!({})).await.expect(200);
    assert_eq!((unread(&at.author).await, total(&at.author).await), (json!(2), json!(4)));
    assert_eq!(mark_all(&at.author).await, 2, "what is older and was hidden is found");
    assert_eq!(unread(&at.author).await, 0);
    counts_are_exact(&app).await;
}

async fn a_deleted_space_takes_its_notifications_along(app: TestApp) {
    let at = InSpace::new(&app).await;
    react(&at.reader, &publish(&at.author).await, "wow").await;
    app.service().delete(&space_path(&at.space)).await.expect(200);
    for _ in 0..2 {
        assert_eq!(kinds(&at.author).await, ["entity-reaction"]);
        assert!(kinds(&at.reader).await.is_empty());
        counts_are_exact(&app).await;
        app.run_jobs().await;
    }
}

async fn notifications_about_a_deleted_users_content_are_deleted(app: TestApp) {
    let at = InSpace::new(&app).await;
    let mention = json!({ "title": "t", "mentions": [{ "id": at.team.id, "username": "t" }] });
    at.reader.post("/entities", mention).await.expect(201);
    assert_eq!(kinds(&at.team).await, ["entity-mention"]);
    app.service().delete(&format!("/users/{}", at.reader.id)).await.expect(204);
    // The post that was reacted to is still there, what the deleted user wrote is not.
    assert_eq!(kinds(&at.author).await, ["entity-reaction"]);
    assert!(kinds(&at.team).await.is_empty());
    counts_are_exact(&app).await;
}
