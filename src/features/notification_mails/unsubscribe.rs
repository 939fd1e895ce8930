//! Ends the mails of a user by a signed link, with one click (RFC 8058). The link is the credential, and does nothing
//! else.

use std::time::Duration;

use http::StatusCode;
use schemars::{JsonSchema, SchemaGenerator};
use serde::Deserialize;

use crate::auth::caller::Anyone;
use crate::error::Result;
use crate::features::auth::pages::{escape, html_doc, page};
use crate::features::notification_mails::UNSUBSCRIBE;
use crate::features::notification_mails::store::{self, Frequency, PreferenceRow};
use crate::features::users::store as users;
use crate::http::input::Query;
use crate::http::operation::Call;
use crate::http::reply::{Page, Reply, ReplyDoc, Response};
use crate::state::App;
use crate::values::ids::{ProjectId, UserId};

/// How long the link in a mail works.
const LINK_TTL: Duration = Duration::from_secs(180 * 24 * 60 * 60);

pub(super) fn link(app: &App, project: ProjectId, user: UserId) -> String {
    let token = app.tokens.unsubscribe(project, user, app.clock.now().plus(LINK_TTL));
    format!("{}/v8/{project}{UNSUBSCRIBE}?token={token}", app.config.public_url)
}

#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(rename = "UnsubscribeQuery")]
pub(super) struct Link {
    #[serde(default)]
    token: String,
}

/// A page that says what became of a link.
#[derive(Debug)]
pub(super) struct LinkPage(Page);

impl Reply for LinkPage {
    fn into_response(self) -> Result<Response> {
        Ok(self.0.into_response())
    }

    fn describe(generator: &mut SchemaGenerator) -> Vec<ReplyDoc> {
        [200, 400].map(|status| html_doc(status, generator)).into()
    }
}

/// Asks first: programs that open every link of a mail must not end anything.
pub(super) async fn unsubscribe_page(
    call: Call<Anyone>,
    Query(link): Query<Link>,
) -> Result<LinkPage> {
    if call.app.tokens.verify_unsubscribe(&link.token, call.project.id, call.now).is_none() {
        return Ok(refused());
    }
    let body = format!(
        "<form method=\"post\" action=\"?token={}\">\n<p>You would get no more mails about notifications of {}.</p>\n\
         <button>Unsubscribe</button>\n</form>",
        escape(&link.token),
        escape(&call.project.name)
    );
    Ok(LinkPage(page(StatusCode::OK, "Unsubscribe?", &body)))
}

/// Succeeds for a deleted user, too: who asks for no mails gets none.
pub(super) async fn unsubscribe(call: Call<Anyone>, Query(link): Query<Link>) -> Result<LinkPage> {
    let (project, now) = (call.project.id, call.now);
    let Some(user) = call.app.tokens.verify_unsubscribe(&link.token, project, now) else {
        return Ok(refused());
    };
    let ended = call.app.db.write(move |tx| {
        if users::lock_shared(tx, project, user)?.is_none() {
            return Ok(());
        }
        let row = store::find(tx, project, user)?;
        let row = PreferenceRow { frequency: Frequency::Off, ..row };
        store::replace(tx, project, user, &row, now)?;
        store::reschedule(tx, project, user, None)
    });
    ended.await?;
    let text = "<p>You get no more mails about notifications. In the app you can change this.</p>";
    Ok(LinkPage(page(StatusCode::OK, "Unsubscribed", text)))
}

fn refused() -> LinkPage {
    let text = "<p>The link is incomplete or too old. Use that of a newer mail, or the settings in the app.</p>";
    LinkPage(page(StatusCode::BAD_REQUEST, "Nothing was changed", text))
}
