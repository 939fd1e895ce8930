//! Increment Entity Views: for servers that count views elsewhere. In v6 anybody may add one.

use schemars::{SchemaGenerator, json_schema};
use serde_json::Value;

use crate::auth::caller::{ELEVATED_AUTH_REQUIRED, OptionalViewer};
use crate::auth::perspective::Perspective;
use crate::error::Result;
use crate::features::entities::model::Entity;
use crate::features::entities::show::View;
use crate::features::entities::visibility;
use crate::features::entities::{EntityPath, INVALID_COUNT, INVALID_QUERY, NOT_FOUND, store};
use crate::http::input::{Input, InputDoc, Path, body_value};
use crate::http::operation::{Call, CheckedRequest};
use crate::http::reply::Json;
use crate::http::version::Version;

/// More views than this at once are a mistake, and sums could overflow.
const MAX_VIEWS: i64 = 1_000_000_000;

/// A positive integer, in the query or else in the body.
#[derive(Debug)]
pub(super) struct Count(Result<i64>);

impl Input for Count {
    fn extract(request: &CheckedRequest) -> Result<Self> {
        let in_query = request.query.get("count");
        let given = in_query.or_else(|| body_value(request).ok()?.get("count"));
        let number = match given {
            None => Some(1),
            Some(Value::String(text)) => text.parse().ok(),
            Some(other) => other.as_i64(),
        };
        let wrong = || match request.version {
            Version::V6 => INVALID_COUNT.into(),
            _ => INVALID_QUERY.because("Count must be a positive integer"),
        };
        Ok(Count(number.filter(|number| (1..=MAX_VIEWS).contains(number)).ok_or_else(wrong)))
    }

    fn describe(doc: &mut InputDoc, _: &mut SchemaGenerator) {
        doc.query.push(json_schema!({
            "type": "object",
            "properties": { "count": { "type": "integer", "minimum": 1, "maximum": MAX_VIEWS, "default": 1 } },
        }));
    }
}

pub(super) async fn increment_views(
    call: Call<OptionalViewer>,
    (Path(path), Count(count)): (Path<EntityPath>, Count),
) -> Result<Json<Entity>> {
    let count = match (call.version, call.caller) {
        (_, OptionalViewer::Key(_)) => count?,
        (Version::V6, _) => 1,
        _ => return Err(ELEVATED_AUTH_REQUIRED.because("Service or master key required.")),
    };
    let perspective = Perspective::from(call.caller);
    let view = View::written(&call, call.caller.user());
    let project = call.project.clone();
    let shown = call.app.db.write(move |tx| {
        let mut row =
            visibility::find(tx, &project, path.entity_id, perspective)?.ok_or(NOT_FOUND)?;
        if !store::add_views(tx, project.id, row.id, count)? {
            return Err(NOT_FOUND.into());
        }
        row.views += count;
        view.entity(tx, row)
    });
    shown.await.map(Json)
}
