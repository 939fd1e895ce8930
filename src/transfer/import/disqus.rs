//! Disqus: threads become entities with their identifier (or their link) as foreign id, posts comments.

use std::collections::HashMap;
use std::io::BufRead;

use db::Value;
use serde_json::json;

use super::draft::{Draft, FOREIGN_ID};
use super::people::People;
use super::source::{Item, Take};
use super::xml::{Element, Xml, root};
use crate::transfer::Result;
use crate::values::metadata::to_json;
use crate::values::time::Timestamp;

/// The number that Disqus gives to everything.
const NUMBER: &str = "dsq:id";
const PREFIX: &str = "disqus:";

/// Comments in a row that are left out, before their replies are left out, too.
const MAX_STEPS_UP: usize = 1000;

pub(super) fn read(from: impl BufRead, take: Take<'_>) -> Result<()> {
    let mut xml = Xml::new(from);
    root(&mut xml, "disqus")?;
    let mut forum = Forum::default();
    xml.children(&mut |xml, element| match &*element.name {
        "thread" => forum.thread(xml, &element, take),
        "post" => forum.post(xml, &element, take),
        _ => xml.skip(),
    })
}

#[derive(Debug, Default)]
struct Forum {
    /// The foreign ids of threads by number; none for those that are left out.
    threads: HashMap<String, Option<String>>,
    /// Posts that are left out, and what they replied to.
    left_out: HashMap<String, String>,
    people: People,
}

/// An element of a thread or post, with what is inside.
#[derive(Debug, Default)]
struct Parts {
    texts: HashMap<String, String>,
    author: HashMap<String, String>,
    thread: String,
    parent: String,
}

impl Parts {
    fn read<R: BufRead>(xml: &mut Xml<R>) -> Result<Parts> {
        let mut parts = Parts::default();
        xml.children(&mut |xml, element| {
            let number = || element.attribute(NUMBER).unwrap_or_default().to_owned();
            match &*element.name {
                "author" => xml.children(&mut |xml, element| {
                    let text = xml.text()?;
                    parts.author.insert(element.name, text);
                    Ok(())
                }),
                "thread" => {
                    parts.thread = number();
                    xml.skip()
                }
                "parent" => {
                    parts.parent = number();
                    xml.skip()
                }
                _ => {
                    let text = xml.text()?;
                    parts.texts.insert(element.name, text);
                    Ok(())
                }
            }
        })?;
        Ok(parts)
    }

    fn text(&self, name: &str) -> &str {
        self.texts.get(name).map_or("", |text| text.trim())
    }

    fn is(&self, name: &str) -> bool {
        self.text(name) == "true"
    }

    fn of_author(&self, name: &str) -> &str {
        self.author.get(name).map_or("", |text| text.trim())
    }
}

impl Forum {
    fn thread<R: BufRead>(
        &mut self,
        xml: &mut Xml<R>,
        element: &Element,
        take: Take<'_>,
    ) -> Result<()> {
        let number = element.attribute(NUMBER).unwrap_or_default().to_owned();
        let parts = Parts::read(xml)?;
        let (identifier, link) = (parts.text("id"), parts.text("link"));
        let foreign_id = if identifier.is_empty() { link } else { identifier }.to_owned();
        let reason = if parts.is("isDeleted") {
            Some("it was deleted")
        } else if foreign_id.is_empty() {
            Some("it has neither an identifier nor a link")
        } else {
            None
        };
        if let Some(reason) = reason {
            self.threads.insert(number.clone(), None);
            return take(Item::left_out("entity", format!("{PREFIX}thread:{number}"), reason));
        }
        self.threads.insert(number.clone(), Some(foreign_id.clone()));
        let Some(mut entity) = Draft::new("entity", foreign_id.clone()) else { return Ok(()) };
        entity.set(FOREIGN_ID, foreign_id);
        if !parts.text("title").is_empty() {
            entity.set("title", parts.text("title").to_owned());
        }
        entity.set("created_at", Timestamp::parse(parts.text("createdAt")));
        let metadata = json!({ "link": link, "disqusThread": number });
        entity.set("metadata", Value::Json(to_json(&metadata).into()));
        take(Item::Document(Box::new(entity)))
    }

    fn post<R: BufRead>(
        &mut self,
        xml: &mut Xml<R>,
        element: &Element,
        take: Take<'_>,
    ) -> Result<()> {
        let number = element.attribute(NUMBER).unwrap_or_default().to_owned();
        let parts = Parts::read(xml)?;
        let id = |number: &str| format!("{PREFIX}post:{number}");
        let thread = self.threads.get(&parts.thread);
        let reason = match thread {
            _ if parts.is("isSpam") => Some("it is marked as spam"),
            _ if parts.is("isDeleted") => Some("it was deleted"),
            None => Some("its thread is not in the file"),
            Some(None) => Some("its thread was left out"),
            Some(Some(_)) => None,
        };
        if let Some(reason) = reason {
            self.left_out.insert(number.clone(), parts.parent);
            return take(Item::left_out("comment", id(&number), reason));
        }
        let thread = thread.cloned().flatten().unwrap_or_default();
        let Some(mut comment) = Draft::new("comment", id(&number)) else { return Ok(()) };
        comment.set(FOREIGN_ID, id(&number));
        comment.set("content", parts.text("message").to_owned());
        comment.set("created_at", Timestamp::parse(parts.text("createdAt")));
        comment.set("metadata", Value::Json(to_json(&json!({ "format": "html" })).into()));
        comment.refer("entity_id", "entities", thread);
        // A reply to a post that is left out becomes one to what that replied to.
        let mut parent = parts.parent.clone();
        for _ in 0..MAX_STEPS_UP {
            let Some(above) = self.left_out.get(&parent) else { break };
            parent.clone_from(above);
        }
        if !parent.is_empty() {
            comment.refer("parent_id", "comments", id(&parent));
        }
        if let Some(author) = self.author(&parts, take)? {
            comment.refer("user_id", "users", author);
        }
        take(Item::Document(Box::new(comment)))
    }

    fn author(&mut self, parts: &Parts, take: Take<'_>) -> Result<Option<String>> {
        let (name, username) = (parts.of_author("name"), parts.of_author("username"));
        if parts.of_author("isAnonymous") == "true" || username.is_empty() {
            return self.people.guest(PREFIX, name, parts.of_author("email"), take);
        }
        let foreign_id = format!("{PREFIX}user:{username}");
        self.people.add(&foreign_id, &[("username", username), ("name", name)], take)?;
        Ok(Some(foreign_id))
    }
}
