//! WordPress eXtended RSS: posts and pages become entities, categories and tags keywords, authors users, and approved comments
//! comments. HTML stays HTML. Foreign ids begin with `wordpress:` and the host of the site.

use std::collections::HashMap;
use std::io::BufRead;

use db::Value;
use serde_json::json;
use url::Url;

use super::draft::{Draft, FOREIGN_ID};
use super::people::People;
use super::source::{Item, Take};
use super::xml::{Element, Xml, root};
use crate::transfer::Result;
use crate::values::metadata::to_json;
use crate::values::time::Timestamp;

const UNSET: &str = "0000-00-00 00:00:00";

/// Comments in a row that are left out, before their replies are left out, too.
const MAX_STEPS_UP: usize = 1000;

pub(super) fn read(from: impl BufRead, take: Take<'_>) -> Result<()> {
    let mut xml = Xml::new(from);
    root(&mut xml, "rss")?;
    let mut site = Site::default();
    xml.children(&mut |xml, element| match &*element.name {
        "channel" => xml.children(&mut |xml, element| site.child(xml, element, take)),
        _ => xml.skip(),
    })
}

/// What is known about the site so far.
#[derive(Debug, Default)]
struct Site {
    host: String,
    /// The logins of authors by their numbers.
    logins: HashMap<String, String>,
    people: People,
}

/// The texts of the elements in an element, by name.
type Texts = HashMap<String, String>;

fn get<'t>(texts: &'t Texts, name: &str) -> &'t str {
    texts.get(name).map_or("", String::as_str)
}

fn texts<R: BufRead>(xml: &mut Xml<R>) -> Result<Texts> {
    let mut texts = Texts::new();
    xml.children(&mut |xml, element| {
        let text = xml.text()?;
        texts.insert(element.name, text);
        Ok(())
    })?;
    Ok(texts)
}

impl Site {
    fn child<R: BufRead>(
        &mut self,
        xml: &mut Xml<R>,
        element: Element,
        take: Take<'_>,
    ) -> Result<()> {
        match &*element.name {
            // The site itself, or the network that it is part of: the first that comes.
            "wp:base_blog_url" | "link" => {
                let url = xml.text()?;
                self.host = host(&url).unwrap_or(std::mem::take(&mut self.host));
                Ok(())
            }
            "wp:author" => {
                let author = texts(xml)?;
                let login = get(&author, "wp:author_login").to_owned();
                self.logins.insert(get(&author, "wp:author_id").to_owned(), login.clone());
                let fields = [
                    ("username", &*login),
                    ("name", get(&author, "wp:author_display_name")),
                    ("email", get(&author, "wp:author_email")),
                ];
                let foreign_id = self.id("user", &login);
                self.people.add(&foreign_id, &fields, take)
            }
            "item" => self.item(xml, take),
            _ => xml.skip(),
        }
    }

    fn id(&self, kind: &str, id: &str) -> String {
        format!("wordpress:{}:{kind}:{id}", self.host)
    }

    fn item<R: BufRead>(&mut self, xml: &mut Xml<R>, take: Take<'_>) -> Result<()> {
        let (mut post, mut keywords) = (Texts::new(), Vec::new());
        // Comments that are left out, and what they replied to.
        let mut left_out = HashMap::new();
        xml.children(&mut |xml, element| match &*element.name {
            "category" => {
                let word = xml.text()?.trim().to_owned();
                let counts = matches!(element.attribute("domain"), Some("category" | "post_tag"));
                // What WordPress gives a post that has no category.
                let is_default = element.attribute("nicename") == Some("uncategorized");
                if counts && !is_default && !keywords.contains(&word) {
                    keywords.push(word);
                }
                Ok(())
            }
            "wp:comment" => self.comment(xml, &post, &mut left_out, take),
            "wp:postmeta" => xml.skip(),
            _ => {
                let text = xml.text()?;
                post.insert(element.name, text);
                Ok(())
            }
        })?;
        let id = self.id("post", get(&post, "wp:post_id"));
        if let Some(reason) = refused(&post) {
            return take(Item::left_out("entity", id, &reason));
        }
        let Some(mut entity) = Draft::new("entity", id.clone()) else { return Ok(()) };
        entity.set(FOREIGN_ID, id);
        for (column, name) in [("title", "title"), ("content", "content:encoded")] {
            let text = get(&post, name);
            if !text.trim().is_empty() {
                entity.set(column, text.to_owned());
            }
        }
        entity.set("keywords", Value::Json(to_json(&keywords).into()));
        let metadata = json!({
            "format": "html",
            "link": get(&post, "link"),
            "guid": get(&post, "guid"),
            "slug": get(&post, "wp:post_name"),
            "postType": get(&post, "wp:post_type"),
            "excerpt": get(&post, "excerpt:encoded"),
        });
        entity.set("metadata", Value::Json(to_json(&metadata).into()));
        entity.set("is_draft", Value::Bool(get(&post, "wp:status") != "publish"));
        entity.set("created_at", time(&post, "wp:post_date_gmt", "wp:post_date"));
        entity.set("updated_at", time(&post, "wp:post_modified_gmt", "wp:post_modified"));
        let creator = get(&post, "dc:creator");
        if !creator.is_empty() {
            let author = self.id("user", creator);
            // An author that the export does not list.
            self.people.add(&author, &[("username", creator), ("name", creator)], take)?;
            entity.refer("user_id", "users", author);
        }
        take(Item::Document(Box::new(entity)))
    }

    fn comment<R: BufRead>(
        &mut self,
        xml: &mut Xml<R>,
        post: &Texts,
        left_out: &mut HashMap<String, String>,
        take: Take<'_>,
    ) -> Result<()> {
        let comment = texts(xml)?;
        let own = get(&comment, "wp:comment_id").to_owned();
        let mut parent = get(&comment, "wp:comment_parent").to_owned();
        let id = self.id("comment", &own);
        let reason = match (get(&comment, "wp:comment_approved"), get(&comment, "wp:comment_type"))
        {
            _ if post.get("wp:post_id").is_none() => Some("wp:post_id comes too late".to_owned()),
            _ if refused(post).is_some() => Some("its post was left out".to_owned()),
            ("1", "" | "comment") => None,
            ("1", kind) => Some(format!("comments of the type {kind} are not imported")),
            ("0", _) => Some("it waits for approval".to_owned()),
            (state, _) => Some(format!("it is marked as {state}")),
        };
        if let Some(reason) = reason {
            left_out.insert(own, parent);
            return take(Item::left_out("comment", id, &reason));
        }
        let Some(mut draft) = Draft::new("comment", id.clone()) else { return Ok(()) };
        draft.set(FOREIGN_ID, id);
        draft.set("content", get(&comment, "wp:comment_content").to_owned());
        draft.set("created_at", time(&comment, "wp:comment_date_gmt", "wp:comment_date"));
        draft.set("metadata", Value::Json(to_json(&json!({ "format": "html" })).into()));
        draft.refer("entity_id", "entities", self.id("post", get(post, "wp:post_id")));
        // A reply to a comment that is left out becomes one to what that replied to.
        for _ in 0..MAX_STEPS_UP {
            let Some(above) = left_out.get(&parent) else { break };
            parent.clone_from(above);
        }
        if !matches!(&*parent, "" | "0") {
            draft.refer("parent_id", "comments", self.id("comment", &parent));
        }
        let login = self.logins.get(get(&comment, "wp:comment_user_id"));
        let author = match login {
            Some(login) => Some(self.id("user", login)),
            None => {
                let name = get(&comment, "wp:comment_author");
                let email = get(&comment, "wp:comment_author_email");
                let prefix = format!("wordpress:{}:", self.host);
                self.people.guest(&prefix, name, email, take)?
            }
        };
        if let Some(author) = author {
            draft.refer("user_id", "users", author);
        }
        take(Item::Document(Box::new(draft)))
    }
}

/// Why a post is not imported.
fn refused(post: &Texts) -> Option<String> {
    if !matches!(get(post, "wp:post_type"), "post" | "page") {
        return Some(format!("posts of the type {} are not imported", get(post, "wp:post_type")));
    }
    if !get(post, "wp:post_password").is_empty() {
        return Some("it is protected by a password".to_owned());
    }
    match get(post, "wp:status") {
        "publish" | "draft" | "pending" | "future" => None,
        status => Some(format!("its status is {status}")),
    }
}

/// The first of the two that is a time.
fn time(texts: &Texts, first: &str, second: &str) -> Option<Timestamp> {
    let read = |name: &str| Some(get(texts, name)).filter(|text| *text != UNSET);
    read(first).and_then(Timestamp::parse).or_else(|| read(second).and_then(Timestamp::parse))
}

fn host(url: &str) -> Option<String> {
    let url = Url::parse(url.trim()).ok()?;
    let path = url.path().trim_end_matches('/');
    Some(format!("{}{path}", url.host_str()?))
}
