//! Push messages: users register their devices and say what they do not want to be notified of; the project's own
//! server sends messages, and notifications send them by themselves. `providers` speaks to the push services.

pub mod admin;
pub mod automatic;
mod chat_message;
pub mod devices;
mod kinds;
mod message;
pub mod preferences;
pub mod providers;
pub mod rules;
mod send;
pub mod store;
pub mod template;
mod vapid_key;

use http::Method;

pub use chat_message::PushChatMessage;
pub use kinds::EventType;

use crate::error::faults;
use crate::features::users;
use crate::http::input::Invalid;
use crate::http::operation::{ActsAs, Operation};
use crate::http::version::Version;
use crate::rate_limits::RateLimit;
use crate::tenancy::Bundle;

faults! {
    DEVICE_UNAUTHORIZED = 401 "push-device/unauthorized": "A user is required";
    INVALID_DEVICE = 400 "push-device/invalid-body": "Invalid body";
    INVALID_MESSAGE = 400 "push-send/invalid-body": "Invalid body";
    INVALID_PREFERENCES = 400 "notification-preferences/invalid-body": "Invalid body";
    MISSING_USER_ID = 400 "notification-preferences/missing-user-id":
        "A key must name the user in userId";
    PREFERENCES_UNAUTHORIZED = 403 "notification-preferences/unauthorized":
        "These are another user's preferences";
}

const ACTS_AS: ActsAs = ActsAs {
    parameter: "userId",
    missing: MISSING_USER_ID,
    unknown: users::NOT_FOUND,
    other: Some(PREFERENCES_UNAUTHORIZED),
};

pub fn operations() -> Vec<Operation> {
    let all = [of_devices(), of_messages(), of_preferences()].into_iter().flatten();
    let shared = |one: Operation| {
        one.bundle(Bundle::Push)
            .since(Version::V7)
            .rate(RateLimit::per_5_minutes(50))
            .open_to_suspended()
            .plain_refusals()
            .no_store()
    };
    all.map(shared).collect()
}

fn of_devices() -> [Operation; 2] {
    let (path, feature) = ("/push-notifications/devices", "push-device");
    let invalid = Invalid::all(INVALID_DEVICE);
    let operations = [
        Operation::new(
            Method::POST,
            path,
            "Register Push Device",
            feature,
            invalid,
            devices::register,
        ),
        Operation::new(
            Method::DELETE,
            path,
            "Deregister Push Device",
            feature,
            invalid,
            devices::deregister,
        ),
    ];
    operations.map(|one| one.key_refusal(DEVICE_UNAUTHORIZED))
}

fn of_messages() -> [Operation; 2] {
    let invalid = Invalid::all(INVALID_MESSAGE);
    [
        Operation::new(
            Method::POST,
            "/push-notifications/send",
            "Send Push",
            "push-send",
            invalid,
            send::send_push,
        ),
        Operation::new(
            Method::GET,
            "/push-notifications/vapid-public-key",
            "Get VAPID Public Key",
            "push-vapid-key",
            invalid,
            vapid_key::get_vapid_public_key,
        ),
    ]
}

fn of_preferences() -> [Operation; 2] {
    let (path, feature) = ("/push-notifications/preferences", "notification-preferences");
    let invalid = Invalid::all(INVALID_PREFERENCES);
    let operations = [
        Operation::new(
            Method::GET,
            path,
            "Get Notification Preferences",
            feature,
            invalid,
            preferences::get_preferences,
        ),
        Operation::new(
            Method::PUT,
            path,
            "Update Notification Preferences",
            feature,
            invalid,
            preferences::update_preferences,
        ),
    ];
    operations.map(|one| one.acts_as(ACTS_AS))
}
