//! The device whose push messages end with a session. The field is validated here; device bindings come with
//! the feature of the `push` bundle.

use schemars::JsonSchema;
use serde::Deserialize;

#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(tag = "platform", rename_all = "lowercase")]
#[expect(
    dead_code,
    reason = "the shape is checked by reading it; there is no binding to look up yet"
)]
pub(super) enum PushDevice {
    Ios { token: String },
    Android { token: String },
    Web { subscription: WebSubscription },
}

#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[expect(
    dead_code,
    reason = "the shape is checked by reading it; there is no binding to look up yet"
)]
pub(super) struct WebSubscription {
    endpoint: String,
    keys: WebKeys,
}

#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[expect(
    dead_code,
    reason = "the shape is checked by reading it; there is no binding to look up yet"
)]
pub(super) struct WebKeys {
    p256dh: String,
    auth: String,
}
