//! Replies of the dialect: bare arrays, other names of pagination, and small differences of what is in them.

use bytes::Bytes;
use http::StatusCode;
use serde_json::{Map, Value, json};

use crate::error::{Error, Result, faults};
use crate::http::legacy::notifications;
use crate::http::legacy::operations::Shape;
use crate::http::reply::{Body, Response, TEXT, with_body};
use crate::storage::signed::Signer;
use crate::values::ids::ProjectId;

faults! {
    COMMENT_NOT_FOUND = 404 "comment/not-found": "Comment not found";
}

pub(super) fn rewrite(response: &mut Response, shape: Shape) -> Result<()> {
    match shape {
        Shape::Marked => {
            *response = with_body(StatusCode::OK, TEXT, "OK");
            Ok(())
        }
        Shape::Entity => change(response, |mut one| {
            entity(&mut one);
            Ok(one)
        }),
        Shape::Comment => change(response, |mut one| {
            comment(&mut one);
            Ok(one)
        }),
        Shape::Entities => array(response, entity),
        Shape::Comments => array(response, comment),
        Shape::Notifications => array(response, notifications::translate),
        Shape::FoundComment => change(response, found_comment),
        Shape::Saved => change(response, |mut lists| {
            match &mut lists {
                Value::Array(lists) => lists.iter_mut().for_each(list),
                one => list(one),
            }
            Ok(lists)
        }),
        Shape::Related(name) => change(response, |page| Ok(related(page, name))),
        _ => Ok(()),
    }
}

/// Published clients store the address of a file for good.
pub(super) fn keep_address(
    response: &mut Response,
    signer: &Signer,
    project: ProjectId,
) -> Result<()> {
    change(response, |mut file| {
        if let Some(path) = file["relativePath"].as_str() {
            file["publicPath"] = signer.lasting_url(project, path).into();
        }
        Ok(file)
    })
}

fn change(response: &mut Response, to: impl FnOnce(Value) -> Result<Value>) -> Result<()> {
    let Body::Whole(body) = response.body() else { return Ok(()) };
    let value = serde_json::from_slice(body).map_err(Error::internal)?;
    let changed = serde_json::to_vec(&to(value)?).map_err(Error::internal)?;
    *response.body_mut() = Body::Whole(Bytes::from(changed));
    Ok(())
}

/// A page becomes the bare array of what is on it.
fn array(response: &mut Response, item: fn(&mut Value)) -> Result<()> {
    change(response, |mut page| {
        let mut data = page["data"].take();
        data.as_array_mut().into_iter().flatten().for_each(item);
        Ok(data)
    })
}

fn entity(entity: &mut Value) {
    let Value::Object(entity) = entity else { return };
    without_spaces(entity);
}

fn comment(comment: &mut Value) {
    let Value::Object(comment) = comment else { return };
    without_spaces(comment);
    // Replies below a deleted comment are listed and not counted; all replies of one are below what it is below.
    if comment.get("parentDeletedAt").is_some_and(|at| !at.is_null()) {
        comment.insert("repliesCount".to_owned(), 0.into());
    }
    if let Some(Value::Object(entity)) = comment.get_mut("entity") {
        without_spaces(entity);
        entity.remove("upvotes");
        entity.remove("downvotes");
    }
}

/// Spaces could not be mentioned.
fn without_spaces(holder: &mut Map<String, Value>) {
    if let Some(Value::Array(mentions)) = holder.get_mut("mentions") {
        mentions.retain(|mention| mention["type"] != "space");
    }
}

/// A comment that a moderator removed does not exist for these clients.
fn found_comment(mut found: Value) -> Result<Value> {
    let is_removed = |comment: &Value| comment["moderationStatus"] == "removed";
    if is_removed(&found["comment"]) {
        return Err(COMMENT_NOT_FOUND.into());
    }
    if is_removed(&found["parentComment"]) {
        found["parentComment"] = Value::Null;
    }
    comment(&mut found["comment"]);
    comment(&mut found["parentComment"]);
    Ok(found)
}

fn list(list: &mut Value) {
    list["entities"].as_array_mut().into_iter().flatten().for_each(entity);
}

fn related(mut page: Value, name: &'static str) -> Value {
    let mut data = page["data"].take();
    for entry in data.as_array_mut().into_iter().flatten().filter(|one| !one["message"].is_null()) {
        if let Some(content) = entry["message"].get_mut("content").map(Value::take) {
            entry["message"] = content;
        }
    }
    let pagination = &page["pagination"];
    json!({
        (name): data,
        "pagination": {
            "currentPage": pagination["page"],
            "totalPages": pagination["totalPages"],
            "totalCount": pagination["totalItems"],
            "hasNextPage": pagination["hasMore"],
            "hasPreviousPage": pagination["page"].as_u64().is_some_and(|page| page > 1),
            "limit": pagination["pageSize"],
        },
    })
}
