//! The rules of the API for what comes from elsewhere, and the values of fields that a source does not name. What can be made
//! to fit is changed and noted; the rest is left out.

use db::Value;

use super::draft::Draft;
use crate::features::entities::rules::{
    Attachments, Content, ForeignId, Keywords, Mentions, Title,
};
use crate::features::entities::score::formula::ScoreInputs;
use crate::features::reactions::ReactionCounts;
use crate::features::users::rules::{Bio, Email, Name, Username};
use crate::tenancy::registry::Project;
use crate::values::metadata::{Metadata, to_json};
use crate::values::time::Timestamp;

const LONGEST_TITLE: usize = 300;
const LONGEST_NAME: usize = 255;
const LONGEST_BIO: usize = 300;
const MAX_KEYWORDS: usize = 100;
const MAX_INDEXED_KEYS: usize = 64;

/// What was changed, or why the document is left out.
pub(super) fn check(
    draft: &mut Draft,
    project: &Project,
    now: Timestamp,
) -> Result<Vec<String>, String> {
    let mut notes = Vec::new();
    match draft.kind.name {
        "user" => user(draft, now, &mut notes)?,
        "entity" => entity(draft, project, now, &mut notes)?,
        "comment" => comment(draft, now)?,
        _ => {}
    }
    Ok(notes)
}

fn user(draft: &mut Draft, now: Timestamp, notes: &mut Vec<String>) -> Result<(), String> {
    use crate::features::users::rules::ForeignId;
    foreign_id(draft, |text| ForeignId::try_from(text).map(drop))?;
    if let Some(text) = draft.text("email").map(str::to_owned) {
        let email = Email::try_from(text);
        if let Err(why) = &email {
            notes.push(format!("the email was left out: it {why}"));
        }
        draft.set("email", email.ok().map(Email::into_text));
    }
    if let Some(text) = draft.text("username").map(str::to_owned) {
        let username = Username::if_any(text).map_err(|why| format!("the username {why}"))?;
        draft.set("username", username.map(Username::into_text));
    }
    cut(draft, "name", LONGEST_NAME, notes);
    fits::<Name>(draft, "name")?;
    cut(draft, "bio", LONGEST_BIO, notes);
    fits::<Bio>(draft, "bio")?;
    object(draft, "metadata")?;
    object(draft, "secure_metadata")?;
    times(draft, now);
    let created = draft.get("created_at").clone();
    draft.set_default("last_active", created);
    draft.set_default("role", "visitor");
    for (column, flag) in [("is_verified", false), ("is_active", true)] {
        draft.set_default(column, Value::Bool(flag));
    }
    draft.set_default("reputation", 0_i64);
    Ok(())
}

fn entity(
    draft: &mut Draft,
    project: &Project,
    now: Timestamp,
    notes: &mut Vec<String>,
) -> Result<(), String> {
    foreign_id(draft, |text| ForeignId::try_from(text).map(drop))?;
    cut(draft, "title", LONGEST_TITLE, notes);
    fits::<Title>(draft, "title")?;
    fits::<Content>(draft, "content")?;
    keywords(draft, notes)?;
    lists(draft)?;
    let keys = object(draft, "metadata")?;
    times(draft, now);
    for column in ["is_draft", "nsfw", "is_emptied"] {
        draft.set_default(column, Value::Bool(false));
    }
    let is_draft = draft.flag("is_draft");
    draft.set_default("is_listed", Value::Bool(!is_draft && !draft.flag("is_emptied")));
    draft.set("is_wide", Value::Bool(!is_draft && keys > MAX_INDEXED_KEYS));
    draft.set("has_attachments", Value::Bool(draft.text("attachments") != Some("[]")));
    counts(draft);
    for column in ["shares_count", "comments_count", "top_comments_count"] {
        draft.set_default(column, 0_i64);
    }
    draft.set_default("views", 1_i64);
    if draft.get("score") == &Value::Null {
        let inputs = ScoreInputs {
            reactions: ReactionCounts::default(),
            replies: 0,
            shares: 0,
            views: 1,
            created_at: draft.time("created_at").unwrap_or(now),
        };
        draft.set("score", inputs.score(now, project.score_hours));
    }
    draft.set_default("score_updated_at", now);
    Ok(())
}

fn comment(draft: &mut Draft, now: Timestamp) -> Result<(), String> {
    foreign_id(draft, |text| ForeignId::try_from(text).map(drop))?;
    fits::<Content>(draft, "content")?;
    lists(draft)?;
    object(draft, "metadata")?;
    times(draft, now);
    counts(draft);
    for column in ["balance", "answers_count"] {
        draft.set_default(column, 0_i64);
    }
    // Of a comment without votes.
    draft.set_default("controversy", -1.0);
    Ok(())
}

fn counts(draft: &mut Draft) {
    let reactions = ["upvote", "downvote", "like", "love", "wow", "sad", "angry", "funny"];
    for reaction in reactions {
        draft.set_default(&format!("{reaction}_count"), 0_i64);
    }
    draft.set_default("replies_count", 0_i64);
}

/// Created now if nothing else is known, and not changed since.
fn times(draft: &mut Draft, now: Timestamp) {
    draft.set_default("created_at", now);
    let created = draft.get("created_at").clone();
    draft.set_default("updated_at", created);
}

fn foreign_id(
    draft: &Draft,
    check: impl Fn(String) -> Result<(), &'static str>,
) -> Result<(), String> {
    let checked = draft.own_foreign_id().map_or(Ok(()), |text| check(text.to_owned()));
    checked.map_err(|why| format!("the foreign id {why}"))
}

/// A text that is too long loses its end.
fn cut(draft: &mut Draft, column: &str, longest: usize, notes: &mut Vec<String>) {
    let Some(text) = draft.text(column) else { return };
    if let Some((end, _)) = text.char_indices().nth(longest) {
        let short = text[..end].to_owned();
        draft.set(column, short);
        notes.push(format!("the {column} was cut to {longest} characters"));
    }
}

fn fits<T: TryFrom<String, Error = &'static str>>(
    draft: &Draft,
    column: &str,
) -> Result<(), String> {
    let Some(text) = draft.text(column) else { return Ok(()) };
    match T::try_from(text.to_owned()) {
        Ok(_) => Ok(()),
        Err(why) => Err(format!("the {column} {why}")),
    }
}

/// Free-form JSON; how many keys it has.
fn object(draft: &mut Draft, column: &str) -> Result<usize, String> {
    draft.set_default(column, Value::Json("{}".into()));
    let text = draft.text(column).unwrap_or("{}");
    let metadata: Metadata =
        serde_json::from_str(text).map_err(|error| format!("the {column}: {error}"))?;
    Ok(metadata.as_map().len())
}

fn keywords(draft: &mut Draft, notes: &mut Vec<String>) -> Result<(), String> {
    let text = draft.text("keywords").unwrap_or("[]").to_owned();
    if serde_json::from_str::<Keywords>(&text).is_ok() {
        draft.set("keywords", Value::Json(text.into()));
        return Ok(());
    }
    let words: Vec<String> =
        serde_json::from_str(&text).map_err(|_| "the keywords must be a list of texts")?;
    let kept = words.into_iter().filter(|word| Keywords::try_from(vec![word.clone()]).is_ok());
    let kept: Vec<String> = kept.take(MAX_KEYWORDS).collect();
    draft.set("keywords", Value::Json(to_json(&kept).into()));
    notes.push("keywords that are too long or too many were left out".to_owned());
    Ok(())
}

fn lists(draft: &mut Draft) -> Result<(), String> {
    for column in ["mentions", "attachments"] {
        draft.set_default(column, Value::Json("[]".into()));
    }
    let of = |column: &str| draft.text(column).unwrap_or("[]").to_owned();
    serde_json::from_str::<Mentions>(&of("mentions"))
        .map_err(|error| format!("the mentions: {error}"))?;
    serde_json::from_str::<Attachments>(&of("attachments"))
        .map_err(|error| format!("the attachments: {error}"))?;
    Ok(())
}
