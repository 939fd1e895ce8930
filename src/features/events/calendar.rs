//! Events for calendars: one as a file, and a feed of one's own that calendars subscribe to. A calendar sends no
//! credential, so the feed has a signed address. It changes with the user's password, and ends with the account.

use http::{HeaderValue, Method, StatusCode};
use schemars::{JsonSchema, SchemaGenerator};
use serde::{Deserialize, Serialize};

use crate::auth::caller::{Actor, Anyone, OptionalViewer};
use crate::auth::perspective::Perspective;
use crate::error::{Result, faults};
use crate::features::events::store::{self, people};
use crate::features::events::{ACTS_AS, EventPath, INVALID, NOT_FOUND, ical, visibility};
use crate::features::users::store::{self as users, UserRow};
use crate::http::input::{Path, Query};
use crate::http::operation::{Call, Operation};
use crate::http::reply::{Json, Reply, ReplyDoc, Response, with_body};
use crate::values::ids::UserId;

faults! {
    FEED_NOT_FOUND = 404 "event/feed-not-found": "There is no such calendar";
}

/// How much of the past a feed shows.
const PAST: std::time::Duration = std::time::Duration::from_hours(365 * 24);
/// Events of one feed, the first ones.
const MOST: i64 = 1000;

pub(super) fn operations() -> Vec<Operation> {
    let (get, feature) = (Method::GET, "event");
    vec![
        Operation::new(
            get.clone(),
            "/events/{eventId}/calendar.ics",
            "Fetch Event as iCalendar",
            feature,
            INVALID,
            event_file,
        )
        .errors(&[NOT_FOUND]),
        Operation::new(
            get.clone(),
            "/events/calendar-feed",
            "Fetch Calendar Feed Address",
            feature,
            INVALID,
            feed_address,
        )
        .acts_as(ACTS_AS)
        .no_store(),
        Operation::new(
            get,
            "/events/calendar-feed/{userId}/calendar.ics",
            "Read Calendar Feed",
            feature,
            INVALID,
            feed,
        )
        .no_store()
        .errors(&[FEED_NOT_FOUND]),
    ]
}

/// 200 with a calendar.
#[derive(Debug)]
pub(super) struct Calendar {
    text: String,
    /// Of a file to save; a feed is read again and again.
    file: Option<&'static str>,
}

impl Reply for Calendar {
    fn into_response(self) -> Result<Response> {
        let mut response = with_body(StatusCode::OK, "text/calendar; charset=utf-8", self.text);
        if let Some(file) = self.file {
            response.headers_mut().insert("content-disposition", HeaderValue::from_static(file));
        }
        Ok(response)
    }

    fn describe(generator: &mut SchemaGenerator) -> Vec<ReplyDoc> {
        let schema = generator.subschema_for::<String>();
        vec![ReplyDoc { status: 200, content: Some(("text/calendar", schema)) }]
    }
}

async fn event_file(call: Call<OptionalViewer>, Path(path): Path<EventPath>) -> Result<Calendar> {
    let (project, caller) = (call.project.clone(), call.caller);
    let found =
        call.app.db.read(move |c| visibility::find(c, &project, path.event_id, caller.into()));
    let row = found.await?.ok_or(NOT_FOUND)?;
    let text = ical::calendar(None, &[row]);
    Ok(Calendar { text, file: Some("attachment; filename=\"event.ics\"") })
}

#[derive(Debug, Serialize, JsonSchema)]
struct CalendarFeed {
    url: String,
}

/// What the address of a user's feed is signed for.
fn purpose(user: &UserRow) -> String {
    format!("calendar\n{}\n{}", user.id, user.password_hash.as_deref().unwrap_or_default())
}

async fn feed_address(call: Call<Actor>, (): ()) -> Result<Json<CalendarFeed>> {
    let (project, user) = (call.project.id, call.caller.user);
    let found = call.app.db.read(move |c| users::find(c, project, user)).await?;
    let row = found.ok_or(crate::features::users::NOT_FOUND)?;
    let signature = call.app.signer.sign_for(project, &purpose(&row));
    let base = call.app.config.public_url.trim_end_matches('/');
    let version = call.version.segment();
    let path = format!("events/calendar-feed/{user}/calendar.ics?signature={signature}");
    Ok(Json(CalendarFeed { url: format!("{base}/{version}/{project}/{path}") }))
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct FeedPath {
    user_id: String,
}

#[derive(Debug, Deserialize, JsonSchema)]
struct FeedQuery {
    #[serde(default)]
    signature: String,
}

async fn feed(
    call: Call<Anyone>,
    (Path(path), Query(query)): (Path<FeedPath>, Query<FeedQuery>),
) -> Result<Calendar> {
    let (project, since) = (call.project.clone(), call.now.minus(PAST));
    let user: UserId = path.user_id.parse().map_err(|_| FEED_NOT_FOUND)?;
    let signer = call.app.signer.clone();
    let events = call.app.db.read_slow(move |c| {
        let row = users::find(c, project.id, user)?.ok_or(FEED_NOT_FOUND)?;
        if !signer.is_signed_for(project.id, &purpose(&row), &query.signature) {
            return Err(FEED_NOT_FOUND.into());
        }
        let ids = people::calendar_of(c, project.id, user, since, MOST)?;
        let mut rows = store::find_all(c, project.id, &ids)?;
        // What they answered and may not see any more is left out.
        let mut seen = Vec::with_capacity(rows.len());
        rows.sort_by_key(|row| (row.start_time, row.id));
        for row in rows {
            if visibility::sees(c, &project, &row, Perspective::User(user))? {
                seen.push(row);
            }
        }
        Ok::<_, crate::error::Error>((project.name.clone(), seen))
    });
    let (name, events) = events.await?;
    Ok(Calendar { text: ical::calendar(Some(&name), &events), file: None })
}
