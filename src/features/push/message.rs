//! A push message, whatever service delivers it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::values::ids::UserId;
use crate::values::names::names;

names! {
    #[schemars(rename = "PushPriority")]
    Priority {
        High "high",
        Normal "normal",
    }
}

#[derive(Debug, Clone, PartialEq)]
pub struct PushMessage {
    pub title: String,
    pub body: String,
    /// For the app.
    pub data: Map<String, Value>,
    pub delivery: Delivery,
}

/// How a message is shown and how urgent it is. Services ignore what they have no word for.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(inline)]
pub struct Delivery {
    pub sound: Option<String>,
    pub badge: Option<u32>,
    /// Of Android.
    pub channel_id: Option<String>,
    /// `high` unless given.
    pub priority: Option<Priority>,
    pub subtitle: Option<String>,
    pub image_url: Option<String>,
    /// A message replaces the shown one with the same tag.
    pub tag: Option<String>,
    /// A message replaces the one with the same id that is not delivered yet.
    pub collapse_id: Option<String>,
    /// Messages of one thread are shown together.
    pub thread_id: Option<String>,
    /// Seconds for which an undelivered message is kept.
    pub ttl: Option<u32>,
    /// Whether the app may change the message before it is shown.
    pub mutable_content: Option<bool>,
}

impl PushMessage {
    /// The data names the recipient, because a device may serve several users.
    pub fn data_for(&self, user: UserId) -> Map<String, Value> {
        let mut data = self.data.clone();
        data.insert("recipientUserId".to_owned(), user.to_string().into());
        data
    }

    pub fn is_urgent(&self) -> bool {
        self.delivery.priority != Some(Priority::Normal)
    }
}
