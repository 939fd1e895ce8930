//! The few pages that open in a browser: plain HTML, no script, no external resources.

use http::StatusCode;
use schemars::{JsonSchema, SchemaGenerator};
use serde::Serialize;

use crate::error::Result;
use crate::http::reply::{Json, Page, Reply, ReplyDoc, Response, redirect};

/// A page around a title and a body that is already HTML.
fn page(status: StatusCode, title: &str, body: &str) -> Page {
    let html = format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <title>{title}</title>\n<style>\n\
         body {{ font: 1rem/1.5 system-ui, sans-serif; max-width: 24rem; margin: 15vh auto; padding: 0 1rem }}\n\
         input, button {{ font: inherit; width: 100%; padding: .5rem; margin: .25rem 0 1rem; box-sizing: border-box }}\n\
         </style>\n</head>\n<body>\n<h1>{title}</h1>\n{body}\n</body>\n</html>\n"
    );
    Page { status, html }
}

pub(super) fn reset_form(token: &str) -> Page {
    let body = format!(
        "<form method=\"post\">\n<input type=\"hidden\" name=\"token\" value=\"{}\">\n\
         <label>New password <input type=\"password\" name=\"newPassword\" minlength=\"6\" \
         maxlength=\"256\" autocomplete=\"new-password\" required></label>\n\
         <button>Set the new password</button>\n</form>",
        escape(token)
    );
    page(StatusCode::OK, "Choose a new password", &body)
}

pub(super) fn reset_done() -> Page {
    let text = "<p>Your password has been changed. You can sign in with it now.</p>";
    page(StatusCode::OK, "Password changed", text)
}

pub(super) fn reset_refused() -> Page {
    let text = "<p>The link has been used or is too old. Ask for a new one in the app.</p>";
    page(StatusCode::BAD_REQUEST, "Password not changed", text)
}

pub fn sign_in_refused() -> Page {
    let text =
        "<p>This sign-in is too old or was used already. Go back to the app and try again.</p>";
    page(StatusCode::BAD_REQUEST, "Not signed in", text)
}

/// The result of a verification, and where to continue: a URL and the host name to show.
pub(super) fn verification(status: StatusCode, go_on: Option<(&str, &str)>) -> Page {
    let (title, text) = match status {
        StatusCode::OK => ("Email verified", "Thank you. You can close this page."),
        StatusCode::BAD_REQUEST => (
            "Email not verified",
            "The link has been used or is too old. Ask for a new one in the app.",
        ),
        _ => ("Email not verified", "Something went wrong. Please try the link again in a moment."),
    };
    let mut body = format!("<p>{text}</p>");
    if let Some((address, host)) = go_on {
        let (address, host) = (escape(address), escape(host));
        body.push_str(&format!("\n<p><a href=\"{address}\">Go on to {host}</a></p>"));
    }
    page(status, title, &body)
}

pub fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            other => escaped.push(other),
        }
    }
    escaped
}

fn html_doc(status: u16, generator: &mut SchemaGenerator) -> ReplyDoc {
    ReplyDoc { status, content: Some(("text/html", generator.subschema_for::<String>())) }
}

/// Always a page.
impl Reply for Page {
    fn into_response(self) -> Result<Response> {
        Ok(Page::into_response(self))
    }

    fn describe(generator: &mut SchemaGenerator) -> Vec<ReplyDoc> {
        vec![html_doc(200, generator)]
    }
}

/// JSON for programs, a page for a browser.
#[derive(Debug)]
pub(super) enum JsonOrPage<T> {
    Json(T),
    Page(Page),
}

impl<T: Serialize + JsonSchema + Send + 'static> Reply for JsonOrPage<T> {
    fn into_response(self) -> Result<Response> {
        match self {
            JsonOrPage::Json(value) => Json(value).into_response(),
            JsonOrPage::Page(page) => Ok(page.into_response()),
        }
    }

    fn describe(generator: &mut SchemaGenerator) -> Vec<ReplyDoc> {
        let mut docs = Json::<T>::describe(generator);
        docs.extend([200, 400].map(|status| html_doc(status, generator)));
        docs
    }
}

/// The result of a link in a mail: a redirect to the app, or a page.
#[derive(Debug)]
pub(super) enum LinkReply {
    Redirect(String),
    Page(Page),
}

impl Reply for LinkReply {
    fn into_response(self) -> Result<Response> {
        match self {
            LinkReply::Redirect(to) => redirect(&to),
            LinkReply::Page(page) => Ok(page.into_response()),
        }
    }

    fn describe(generator: &mut SchemaGenerator) -> Vec<ReplyDoc> {
        let mut docs: Vec<_> = [200, 400, 500].map(|status| html_doc(status, generator)).into();
        docs.push(ReplyDoc { status: 302, content: None });
        docs
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_cannot_break_out_of_the_form() {
        let page = reset_form("\"><script>alert(1)</script>");
        assert!(!page.html.contains("<script>"));
        assert!(page.html.contains("&quot;&gt;&lt;script&gt;"));
    }
}
