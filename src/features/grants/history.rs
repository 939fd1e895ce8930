//! Fetch User Grant History: everything that moved a user's reputation by grants, for the project's own backend. Its
//! address names no project, so the key's header does.

use std::sync::Arc;

use http::HeaderMap;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use crate::auth::caller::ELEVATED_AUTH_REQUIRED;
use crate::auth::credential::{KEY_IN_BROWSER, Presented, bearer, project_header};
use crate::error::{Error, Result, faults};
use crate::features::grants::list::{LIMIT, check_limit};
use crate::features::grants::model::GrantFields;
use crate::features::grants::store::list as store;
use crate::features::users;
use crate::features::users::model::User;
use crate::http::dispatch::check_state;
use crate::http::operation::{Operation, ServerCall};
use crate::http::page::{Page, PageSize};
use crate::http::render::UNAUTHORIZED;
use crate::http::reply::Json;
use crate::network::client;
use crate::rate_limits::RateLimit;
use crate::tenancy::{self, Bundle, INVALID_PROJECT_ID, Project, TABLES_NOT_AVAILABLE};
use crate::values::ids::{ProjectId, UserId};

faults! {
    INVALID_KEY = 403 "auth/invalid-service-key": "The key is not one of the project";
}

/// Of callers without a key; keys have no limit.
const RATE: RateLimit = RateLimit::per_5_minutes(25);

#[derive(Debug, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[expect(dead_code, reason = "for the document alone")]
struct HistoryPath {
    user_id: UserId,
}

#[derive(Debug, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
#[expect(dead_code, reason = "for the document alone")]
enum Direction {
    All,
    Received,
    Sent,
}

#[derive(Debug, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[expect(dead_code, reason = "for the document alone")]
struct HistoryQuery {
    direction: Option<Direction>,
    page: Option<u32>,
    limit: Option<u32>,
    /// In place of the header.
    project_id: Option<ProjectId>,
}

pub(super) fn operation() -> Operation {
    const PATH: &str = "/dashboard/users/{userId}/reputation-grants";
    Operation::server(PATH, "Fetch User Grant History", user_history)
        .parameters::<HistoryPath, HistoryQuery>()
        .errors(&[
            UNAUTHORIZED,
            INVALID_KEY,
            ELEVATED_AUTH_REQUIRED,
            KEY_IN_BROWSER,
            INVALID_PROJECT_ID,
            tenancy::NOT_FOUND,
            tenancy::PENDING_DELETION,
            tenancy::MIGRATING,
            TABLES_NOT_AVAILABLE,
            users::INVALID_PARAMS,
            users::INVALID_QUERY,
        ])
        .no_store()
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "GrantHistory")]
struct History {
    grants: Vec<Entry>,
    total_count: i64,
}

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "GrantHistoryEntry")]
struct Entry {
    #[serde(flatten)]
    grant: GrantFields,
    sender: Option<Person>,
    recipient: Option<Person>,
}

#[derive(Debug, Clone, Serialize, JsonSchema)]
#[schemars(rename = "GrantHistoryUser")]
struct Person {
    id: UserId,
    name: Option<String>,
    username: Option<String>,
    avatar: Option<String>,
}

impl From<&User> for Person {
    fn from(user: &User) -> Self {
        Person {
            id: user.id,
            name: user.name.clone(),
            username: user.username.clone(),
            avatar: user.avatar.clone(),
        }
    }
}

async fn user_history(call: ServerCall) -> Result<Json<History>> {
    let project = project(&call).await?;
    project.require(Bundle::Reputation)?;
    let text = |value: &Value| value.as_str().map(ToOwned::to_owned);
    let user = text(&call.params["userId"]).and_then(|id| id.parse().ok());
    let user: UserId = user.ok_or(users::INVALID_PARAMS)?;
    let (page, sides) = asked(&call.query)?;
    let app = &call.app;
    let links = app.signer.links(project.id, app.clock.now());
    let listed = app.db.read_slow(move |c| {
        let (rows, total_count) = store::history(c, project.id, user, sides, page)?;
        let named = rows.iter().flat_map(|row| [row.sender_id, Some(row.recipient_id)]).flatten();
        let people = users::model::shown(c, &links, named.collect())?;
        let person = |id: Option<UserId>| id.and_then(|id| people.get(&id)).map(Person::from);
        let grants = rows.into_iter().map(|row| {
            let (sender, recipient) = (person(row.sender_id), person(Some(row.recipient_id)));
            Ok(Entry { grant: GrantFields::new(row)?, sender, recipient })
        });
        Ok::<_, Error>(History { grants: grants.collect::<Result<_>>()?, total_count })
    });
    listed.await.map(Json)
}

/// The project of a caller with one of its keys.
async fn project(call: &ServerCall) -> Result<Arc<Project>> {
    let app = &call.app;
    let found = match named_project(&call.headers, &call.query) {
        Some(id) => app.projects.get(&app.db, id, app.clock.uptime()).await?,
        None => None,
    };
    let refusal: Error = match &found {
        _ if bearer(&call.headers).is_none() => UNAUTHORIZED.into(),
        None if named_project(&call.headers, &call.query).is_none() => INVALID_PROJECT_ID.into(),
        None => tenancy::NOT_FOUND.into(),
        Some(project) => {
            let now = app.clock.now();
            let public_url = &app.config.public_url;
            match Presented::read(&call.headers, project, &app.tokens, public_url, now) {
                Ok(Presented::Key { .. }) => {
                    check_state(project)?;
                    return Ok(project.clone());
                }
                Ok(Presented::User { .. }) => ELEVATED_AUTH_REQUIRED.into(),
                Ok(_) => INVALID_KEY.into(),
                Err(error) => error,
            }
        }
    };
    let network = client::bucket(call.client).to_be_bytes();
    let counted = app.limiter.count(RATE, "grant history", None, &network, app.clock.uptime());
    counted.map_err(Error::RateLimited)?;
    Err(refusal)
}

fn named_project(headers: &HeaderMap, query: &Value) -> Option<ProjectId> {
    let named = project_header(headers).or_else(|| query["projectId"].as_str());
    named.and_then(|id| id.parse().ok())
}

fn asked(query: &Value) -> Result<(Page, (bool, bool))> {
    let size = PageSize { default: 20, max: LIMIT };
    let page = Page::from_query(query, size).map_err(|name| {
        users::INVALID_QUERY.because(format!("{name}: must be a whole number from 1 on"))
    })?;
    check_limit(query["limit"].as_str(), users::INVALID_QUERY)?;
    match query["direction"].as_str() {
        None | Some("all") => Ok((page, (true, true))),
        Some("received") => Ok((page, (true, false))),
        Some("sent") => Ok((page, (false, true))),
        Some(_) => Err(users::INVALID_QUERY.because("direction: must be all, received or sent")),
    }
}
