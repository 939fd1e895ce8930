//! The wording of mails: English, and what a project says instead. A template is for one language, or the default for
//! all; what it leaves open the next more general one says.

use std::collections::BTreeMap;

use db::{Conn, Tx};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::error::{Error, Result};
use crate::features::notification_mails::rules::LanguageTag;
use crate::features::notification_mails::store;
use crate::features::push::EventType;
use crate::features::push::template::{DEFAULT, fill};
use crate::http::query::percent_encode;
use crate::tenancy::{self, NOT_FOUND};
use crate::values::ids::ProjectId;
use crate::values::time::Timestamp;

const SUBJECT: &str = "{count} new notifications in {project}";
const GREETING: &str = "This is new in {project}:";
const MORE: &str = "And {count} more.";
const FOOTER: &str = "You get this mail because you have an account in {project}.";
const UNSUBSCRIBE: &str = "Unsubscribe";
/// Where the HTML of a mail goes in the layout of a project.
pub(super) const CONTENT: &str = "{content}";
/// Of a template as JSON: enough for a layout with its styles.
const MAX_BYTES: usize = 256 * 1024;

/// A key in braces is replaced: `{project}`, `{name}` and `{count}` in the texts around the notifications, in those of
/// a type all keys of its metadata.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Template {
    pub subject: Option<String>,
    pub greeting: Option<String>,
    pub more: Option<String>,
    pub footer: Option<String>,
    pub unsubscribe: Option<String>,
    /// The page of the app that a notification leads to.
    pub link: Option<String>,
    /// The HTML around the content.
    pub layout: Option<String>,
    pub types: BTreeMap<String, ItemTemplate>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ItemTemplate {
    pub title: Option<String>,
    pub body: Option<String>,
    pub link: Option<String>,
}

impl Template {
    pub fn parse(text: &str) -> Result<Self, String> {
        let given: Value = serde_json::from_str(text).map_err(|error| error.to_string())?;
        // Serde would read an array into a struct by the order of its fields.
        let types = given["types"].as_object().into_iter().flat_map(Map::values);
        if !types.chain([&given]).all(Value::is_object) {
            return Err("a template and each of its types is an object".to_owned());
        }
        let template: Template =
            serde_json::from_value(given).map_err(|error| error.to_string())?;
        if text.len() > MAX_BYTES {
            return Err(format!("it has more than {MAX_BYTES} bytes"));
        }
        if let Some(name) = template.types.keys().find(|name| EventType::from_name(name).is_none())
        {
            return Err(format!("there is no type `{name}`"));
        }
        let links = template.types.values().map(|item| &item.link).chain([&template.link]);
        let is_web = |link: &str| link.starts_with("https://") || link.starts_with("http://");
        if let Some(link) = links.flatten().find(|link| !is_web(link)) {
            return Err(format!("`{link}`: a link begins with https://"));
        }
        if template.layout.as_ref().is_some_and(|layout| !layout.contains(CONTENT)) {
            return Err(format!("the layout does not contain {CONTENT}"));
        }
        Ok(template)
    }

    /// That of a language, with what it leaves open: `pt-BR`, then `pt`, then the default.
    pub(super) fn find(c: &Conn<'_>, project: ProjectId, language: Option<&str>) -> Result<Self> {
        let language = language.unwrap_or(DEFAULT);
        let short = language.split('-').next().unwrap_or_default();
        let all = store::templates(c, project)?;
        let mut found = Template::default();
        for name in [language, short, DEFAULT] {
            let named = all.iter().find(|(one, _)| one.eq_ignore_ascii_case(name));
            if let Some((_, settings)) = named {
                found = found.or(serde_json::from_str(&settings.0).map_err(Error::internal)?);
            }
        }
        Ok(found)
    }

    fn or(mut self, other: Template) -> Self {
        for (kind, item) in other.types {
            let own = self.types.entry(kind).or_default();
            *own = ItemTemplate {
                title: own.title.take().or(item.title),
                body: own.body.take().or(item.body),
                link: own.link.take().or(item.link),
            };
        }
        Template {
            subject: self.subject.or(other.subject),
            greeting: self.greeting.or(other.greeting),
            more: self.more.or(other.more),
            footer: self.footer.or(other.footer),
            unsubscribe: self.unsubscribe.or(other.unsubscribe),
            link: self.link.or(other.link),
            layout: self.layout.or(other.layout),
            types: self.types,
        }
    }

    pub(super) fn frame(&self, keys: &FrameKeys<'_>) -> Frame {
        let FrameKeys { project, name, count, more } = keys;
        let say = |own: &Option<String>, usual: &str, count: &str| {
            let keys = json!({ "project": project, "name": name, "count": count });
            let keys = keys.as_object().cloned().unwrap_or_default();
            fill(own.as_deref().unwrap_or(usual), &keys)
        };
        Frame {
            subject: say(&self.subject, SUBJECT, count),
            greeting: say(&self.greeting, GREETING, count),
            more: more.as_ref().map(|more| say(&self.more, MORE, more)),
            footer: say(&self.footer, FOOTER, count),
            unsubscribe: say(&self.unsubscribe, UNSUBSCRIBE, count),
        }
    }

    pub(super) fn item(&self, kind: EventType, metadata: &Map<String, Value>) -> Item {
        let own = self.types.get(kind.name()).cloned().unwrap_or_default();
        let (title, body) = kind.wording();
        let link = own.link.as_ref().or(self.link.as_ref());
        Item {
            title: fill(own.title.as_deref().unwrap_or(title), metadata),
            body: fill(own.body.as_deref().unwrap_or(body), metadata),
            link: link.map(|link| fill(link, &encoded(metadata))),
        }
    }
}

/// With texts as they go into a URL.
fn encoded(metadata: &Map<String, Value>) -> Map<String, Value> {
    let entries = metadata.iter().map(|(key, value)| {
        let value = value.as_str().map_or(value.clone(), |text| percent_encode(text).into());
        (key.clone(), value)
    });
    entries.collect()
}

#[derive(Debug)]
pub(super) struct FrameKeys<'a> {
    pub(super) project: &'a str,
    /// Of the recipient.
    pub(super) name: &'a str,
    pub(super) count: String,
    /// How many notifications are not shown; none if all are.
    pub(super) more: Option<String>,
}

/// What is around the notifications.
#[derive(Debug)]
pub(super) struct Frame {
    pub(super) subject: String,
    pub(super) greeting: String,
    pub(super) more: Option<String>,
    pub(super) footer: String,
    pub(super) unsubscribe: String,
}

/// One notification.
#[derive(Debug)]
pub(super) struct Item {
    pub(super) title: String,
    pub(super) body: String,
    pub(super) link: Option<String>,
}

/// The language of a template as it is stored.
pub fn check_language(name: &str) -> Result<String, String> {
    if name == DEFAULT {
        return Ok(name.to_owned());
    }
    let tag = LanguageTag::try_from(name.to_owned());
    tag.map(|tag| tag.as_str().to_lowercase()).map_err(|why| format!("{why}, or {DEFAULT}"))
}

pub fn set(
    tx: &Tx<'_>,
    project: ProjectId,
    language: &str,
    template: &Template,
    now: Timestamp,
) -> Result<()> {
    tenancy::store::find(tx, project)?.ok_or(NOT_FOUND)?;
    let text = serde_json::to_string(template).map_err(Error::internal)?;
    store::set_template(tx, project, language, &text, now)
}

/// Those of a project, by language.
pub fn shown(c: &Conn<'_>, project: ProjectId) -> Result<Value> {
    let row = tenancy::store::find(c, project)?.ok_or(NOT_FOUND)?;
    let mut templates = Map::new();
    for (language, settings) in store::templates(c, project)? {
        let settings = serde_json::from_str(&settings.0).map_err(Error::internal)?;
        templates.insert(language, settings);
    }
    Ok(json!({
        "projectId": project,
        "notificationMails": row.notification_mails,
        "templates": templates,
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_template_is_checked() {
        for good in [
            "{}",
            r#"{"subject":"Hi","types":{"new-follow":{"title":"x"}}}"#,
            r#"{"layout":"<b>{content}</b>","link":"https://app.example/{notificationId}"}"#,
        ] {
            assert!(Template::parse(good).is_ok(), "{good}");
        }
        for bad in [
            "[]",
            "x",
            r#"{"subjekt":"x"}"#,
            r#"{"types":{"news":{}}}"#,
            r#"{"types":{"new-follow":{"text":"x"}}}"#,
            r#"{"types":{"new-follow":["x"]}}"#,
            r#"{"link":"javascript:alert(1)"}"#,
            r#"{"types":{"new-follow":{"link":"//evil.example"}}}"#,
            r#"{"layout":"<b></b>"}"#,
        ] {
            assert!(Template::parse(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn what_is_open_the_more_general_template_says() {
        let own = Template::parse(
            r#"{"subject":"a","types":{"new-follow":{"title":"t"},"event-invite":{"title":"e"}}}"#,
        );
        let general = Template::parse(
            r#"{"subject":"b","footer":"f","types":{"new-follow":{"title":"u","body":"v"}}}"#,
        );
        let both = own.unwrap().or(general.unwrap());
        let expected = Template::parse(
            r#"{"subject":"a","footer":"f",
                "types":{"new-follow":{"title":"t","body":"v"},"event-invite":{"title":"e"}}}"#,
        );
        assert_eq!(both, expected.unwrap());
    }

    #[test]
    fn what_users_write_cannot_leave_its_place_in_a_link() {
        let template =
            Template { link: Some("https://app/{slug}?n=1".into()), ..Template::default() };
        let metadata = json!({ "slug": "a/../b?x=1#y &z" });
        let item = template.item(EventType::NewFollow, metadata.as_object().unwrap());
        let expected = "https://app/a%2F..%2Fb%3Fx%3D1%23y%20%26z?n=1";
        assert_eq!(item.link.as_deref(), Some(expected));
    }
}
