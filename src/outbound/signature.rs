//! The signature of a body that is sent to somebody's webhook.

use aws_lc_rs::hmac;

use crate::values::random::hex;
use crate::values::time::Timestamp;

/// HMAC-SHA256 of the time in milliseconds, a point and the body, in hexadecimal.
pub fn signature(secret: &str, now: Timestamp, body: &str) -> String {
    let key = hmac::Key::new(hmac::HMAC_SHA256, secret.as_bytes());
    hex(hmac::sign(&key, format!("{}.{body}", now.millis()).as_bytes()).as_ref())
}
