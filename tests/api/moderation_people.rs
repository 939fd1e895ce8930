//! Notes about users, and the timeline of a user.

use std::time::Duration;

use serde_json::{Value, json};
use townhall::error::Error;
use townhall::features::moderation::decisions::{Action, Suspend};
use townhall::features::moderation::people::{self, Timeline};
use townhall::values::ids::UserId;

use crate::comments::UNKNOWN;
use crate::moderation_decisions::{apply, decide_one, moderator, project, reported};
use crate::reactions::publish;
use crate::support::{TestApp, on_both_engines};

on_both_engines![
    a_timeline_tells_everything_newest_first,
    notes_are_checked_and_removed,
    a_deleted_user_takes_their_notes_along,
];

async fn timeline(
    app: &TestApp,
    user: UserId,
    before: Option<people::Cursor>,
    limit: i64,
) -> Timeline {
    let project = app.project.id;
    let read = app.app.db.read(move |c| people::timeline(c, project, user, before, limit));
    read.await.unwrap()
}

fn types(timeline: &Timeline) -> Vec<String> {
    let types = timeline.entries.iter().map(|entry| json!(entry.event)["type"].clone());
    types.map(|one: Value| one.as_str().unwrap().to_owned()).collect()
}

async fn a_timeline_tells_everything_newest_first(app: TestApp) {
    let (ada, bob) = (app.user().await, app.user().await);
    app.advance(Duration::from_secs(1));
    let of = project(&app).await;
    let (first, second) = (publish(&ada).await, publish(&bob).await);
    reported(&app, &ada, &second).await;
    let item = reported(&app, &bob, &first).await;
    app.advance(Duration::from_secs(1));
    let by = moderator(1);
    let note = people::add_note(&app.app, &of, &by, ada.id, " Keep an eye ", app.now());
    let note = note.await.unwrap();
    assert_eq!((note.text.as_str(), note.written_by.as_str()), ("Keep an eye", "Moderator 1"));
    app.advance(Duration::from_secs(1));
    decide_one(&app, item, Action::Suspend(Suspend::Day)).await;
    apply(&app).await;

    let whole = timeline(&app, ada.id, None, 50).await;
    let expected = ["suspended", "decided", "noted", "wasReported", "reported", "signedUp"];
    assert_eq!(types(&whole), expected);
    assert!(whole.next.is_none());
    for limit in [1, 2, 5, 6] {
        let (mut found, mut before) = (Vec::new(), None);
        loop {
            let part = timeline(&app, ada.id, before, limit).await;
            found.extend(types(&part));
            before = part.next.map(|next| next.to_string().parse().unwrap());
            if before.is_none() {
                break;
            }
        }
        assert_eq!(found, expected, "{limit}");
    }
    let (project, user, now) = (app.project.id, ada.id, app.now());
    let record = app.app.db.read(move |c| people::record(c, project, user, now));
    let record = record.await.unwrap().unwrap();
    assert_eq!((record.strikes, record.is_suspended), (1, true));
    assert_eq!(record.suspended_until.unwrap(), now.plus(Duration::from_secs(24 * 3600)));
    let other = app.other.id;
    let elsewhere = app.app.db.read(move |c| people::timeline(c, other, user, None, 5)).await;
    assert!(elsewhere.is_err());
}

async fn notes_are_checked_and_removed(app: TestApp) {
    let ada = app.user().await;
    let (of, by, now) = (project(&app).await, moderator(1), app.now());
    let code = |result: Result<people::Note, Error>| match result {
        Err(Error::Refused(refusal)) => refusal.fault.code,
        other => panic!("{other:?}"),
    };
    let add = |user: UserId, text: String| {
        let (app, of, by) = (&app.app, &of, &by);
        async move { people::add_note(app, of, by, user, &text, now).await }
    };
    assert_eq!(code(add(ada.id, " ".to_owned()).await), "moderation/empty-text");
    assert_eq!(code(add(ada.id, "x".repeat(10_001)).await), "moderation/text-too-long");
    assert_eq!(code(add(UserId(UNKNOWN), "x".to_owned()).await), "moderation/user-not-found");
    let note = add(ada.id, "x".to_owned()).await.unwrap();
    assert!(people::remove_note(&app.app, &of, note.id).await.unwrap());
    assert!(!people::remove_note(&app.app, &of, note.id).await.unwrap());
    assert_eq!(types(&timeline(&app, ada.id, None, 5).await), ["signedUp"]);
}

async fn a_deleted_user_takes_their_notes_along(app: TestApp) {
    let ada = app.user().await;
    let (of, now) = (project(&app).await, app.now());
    people::add_note(&app.app, &of, &moderator(1), ada.id, "x", now).await.unwrap();
    app.service().delete(&format!("/users/{}", ada.id)).await.expect(204);
    assert_eq!(app.rows("moderation_notes").await, 0);
}
