//! Texts of bounded length.

use crate::values::texts::texts;

texts! {
    DeviceToken 1..=4096;
    SubscriptionEndpoint 1..=2048;
    SubscriptionKey 1..=255;
    MessageTitle 1..=1000;
    MessageBody 1..=4000;
}
