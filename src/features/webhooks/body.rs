//! The body of a request to an endpoint.

use serde::Serialize;
use serde_json::value::RawValue;

use crate::domain_events::Event;
use crate::error::{Error, Result};
use crate::values::ids::{ProjectId, UserId};
use crate::values::javascript;

/// When a request is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Stage {
    /// Before anything is stored.
    Before,
    /// Once it is stored.
    Complete,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Body<'a> {
    r#type: &'a str,
    project_id: ProjectId,
    #[serde(skip_serializing_if = "Option::is_none")]
    initiator_id: Option<Option<UserId>>,
    stage: Stage,
    data: &'a RawValue,
}

/// What [`canonical`] makes the body of. `name`: of the event, as the endpoint subscribed to it.
pub(super) fn raw_body(
    project: ProjectId,
    name: &str,
    event: &Event,
    stage: Stage,
) -> Result<Box<RawValue>> {
    let data = match &event.changed {
        Some(changed) if stage == Stage::Before => {
            let mut object: serde_json::Map<String, serde_json::Value> =
                serde_json::from_str(event.data.get()).map_err(Error::internal)?;
            object.retain(|key, _| key == "id" || changed.contains(key));
            &serde_json::value::to_raw_value(&object).map_err(Error::internal)?
        }
        _ => &event.data,
    };
    let (r#type, project_id, initiator_id) = (name, project, event.initiator);
    let body = Body { r#type, project_id, initiator_id, stage, data };
    serde_json::value::to_raw_value(&body).map_err(Error::internal)
}

/// As the endpoint gets it, byte by byte.
pub(super) fn canonical(body: &RawValue) -> Result<String> {
    // Deliveries of earlier versions are stored as a text that is canonical.
    if body.get().starts_with('"') {
        return serde_json::from_str(body.get()).map_err(Error::internal);
    }
    javascript::restringify(body.get()).map_err(Error::internal)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_body_is_canonical_however_it_was_stored() {
        let of = |text: &str| {
            let raw = RawValue::from_string(text.to_owned()).unwrap();
            canonical(&raw).unwrap()
        };
        assert_eq!(of(r#"{"b": 1.0, "1": "x"}"#), r#"{"1":"x","b":1}"#);
        assert_eq!(of(r#""{\"b\":1}""#), r#"{"b":1}"#);
    }
}
