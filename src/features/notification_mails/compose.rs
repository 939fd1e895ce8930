//! One mail about several notifications, as plain text and as HTML that loads nothing.

use std::fmt::Write as _;

use serde_json::{Map, Value};

use crate::features::auth::pages::escape;
use crate::features::notification_mails::template::{CONTENT, Frame, FrameKeys, Item, Template};
use crate::features::push::EventType;
use crate::mail::{Mail, on_one_line};

/// Notifications that a mail shows; it says how many more there are.
const MAX_SHOWN: usize = 20;
const MAX_SUBJECT: usize = 150;

#[derive(Debug)]
pub(super) struct Letter<'a> {
    pub(super) to: String,
    pub(super) name: &'a str,
    pub(super) project: &'a str,
    /// The newest first.
    pub(super) news: &'a [News],
    /// Whether there are more than these.
    pub(super) is_cut: bool,
    /// Where the user unsubscribes.
    pub(super) unsubscribe: String,
}

/// What a notification says.
#[derive(Debug)]
pub(super) struct News {
    pub(super) kind: EventType,
    pub(super) metadata: Map<String, Value>,
}

pub(super) fn compose(letter: Letter<'_>, template: &Template) -> Mail {
    let plus = if letter.is_cut { "+" } else { "" };
    let count = letter.news.len();
    let frame = template.frame(&FrameKeys {
        project: letter.project,
        name: letter.name,
        count: format!("{count}{plus}"),
        more: (count > MAX_SHOWN).then(|| format!("{}{plus}", count - MAX_SHOWN)),
    });
    let shown = letter.news.iter().take(MAX_SHOWN);
    let items: Vec<Item> = shown.map(|news| template.item(news.kind, &news.metadata)).collect();
    // What the only notification says tells more than that there is one.
    let subject = match (&items[..], &template.subject) {
        ([only], None) => &only.title,
        _ => &frame.subject,
    };
    let subject: String = on_one_line(subject).chars().take(MAX_SUBJECT).collect();
    let content = html(&frame, &items, &letter.unsubscribe);
    let html = match &template.layout {
        Some(layout) => layout.replace(CONTENT, &content),
        None => format!(
            "<!doctype html>\n<html>\n<head>\n<meta charset=\"utf-8\">\n\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>{}</title>\n</head>\n\
             <body style=\"font: 16px/1.5 sans-serif; max-width: 36rem; margin: 0 auto; padding: 1rem\">\n\
             {content}</body>\n</html>\n",
            escape(&subject)
        ),
    };
    let text = text(&frame, &items, &letter.unsubscribe);
    Mail::new(letter.to, subject, text).with_html(html).unsubscribed_by(letter.unsubscribe)
}

/// What users wrote is indented, so that it cannot look like another part of the mail.
fn text(frame: &Frame, items: &[Item], unsubscribe: &str) -> String {
    let mut text = format!("{}\n", on_one_line(&frame.greeting));
    for Item { title, body, link } in items {
        let _ = write!(text, "\n* {}\n", on_one_line(title));
        for line in body.lines().chain(link.as_deref()) {
            let _ = writeln!(text, "  {}", on_one_line(line));
        }
    }
    if let Some(more) = &frame.more {
        let _ = write!(text, "\n{}\n", on_one_line(more));
    }
    let (footer, label) = (on_one_line(&frame.footer), on_one_line(&frame.unsubscribe));
    let _ = write!(text, "\n-- \n{footer}\n{label}: {unsubscribe}\n");
    text
}

fn html(frame: &Frame, items: &[Item], unsubscribe: &str) -> String {
    let mut html = format!("<p>{}</p>\n<ul>\n", escape(&frame.greeting));
    for Item { title, body, link } in items {
        let title = escape(title);
        let _ = match link {
            Some(link) => write!(html, "<li><a href=\"{}\">{title}</a>", escape(link)),
            None => write!(html, "<li><strong>{title}</strong>"),
        };
        for line in body.lines() {
            let _ = write!(html, "<br>\n{}", escape(line));
        }
        html.push_str("</li>\n");
    }
    html.push_str("</ul>\n");
    if let Some(more) = &frame.more {
        let _ = writeln!(html, "<p>{}</p>", escape(more));
    }
    let (footer, link) = (escape(&frame.footer), escape(unsubscribe));
    let label = escape(&frame.unsubscribe);
    let _ =
        writeln!(html, "<hr>\n<p><small>{footer}<br>\n<a href=\"{link}\">{label}</a></small></p>");
    html
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn frame() -> Frame {
        let keys = FrameKeys { project: "P", name: "", count: "1".into(), more: None };
        Template::default().frame(&keys)
    }

    #[test]
    fn what_users_write_stays_in_its_place() {
        let metadata = json!({
            "initiatorName": "Eve\r\nBcc: x@example.com", "commentContent": "<img src=x>\n-- \nUnsubscribe: http://evil",
        });
        let item =
            Template::default().item(EventType::EntityComment, metadata.as_object().unwrap());
        let items = [item];
        let text = text(&frame(), &items, "https://u");
        let expected = "This is new in P:\n\n* Eve Bcc: x@example.com commented on your post\n  <img src=x>\n  --\n  \
                        Unsubscribe: http://evil\n\n-- \nYou get this mail because you have an account in P.\n\
                        Unsubscribe: https://u\n";
        assert_eq!(text, expected);
        let html = html(&frame(), &items, "https://u?a=1&b=2");
        assert!(html.contains("<br>\n&lt;img src=x&gt;<br>\n-- <br>\n"), "{html}");
        assert!(html.contains("<a href=\"https://u?a=1&amp;b=2\">Unsubscribe</a>"), "{html}");
    }
}
