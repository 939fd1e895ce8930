//! The claims of a token that bound its use: when it is valid, and its audience.

use serde_json::Value;

use crate::values::time::Timestamp;

/// In seconds: the maximum age of a token without an expiry, and how far the issuer's clock may be ahead.
const MAX_AGE: f64 = 24.0 * 3600.0;
const MAX_AHEAD: f64 = 300.0;

/// A token must expire or be fresh: one that is valid for ever is a password. A time that is not a number is
/// never valid. `skew`: by how many seconds the issuer's clock may differ.
pub fn is_in_time(claims: &Value, now: Timestamp, skew: f64) -> bool {
    #[expect(clippy::cast_precision_loss, reason = "seconds since 1970 are far below 2^52")]
    let now = now.seconds() as f64;
    let begins = match &claims["nbf"] {
        Value::Null => true,
        time => time.as_f64().is_some_and(|nbf| nbf <= now + skew),
    };
    let ends = match &claims["exp"] {
        Value::Null => {
            let fresh = now - MAX_AGE..=now + MAX_AHEAD;
            claims["iat"].as_f64().is_some_and(|iat| fresh.contains(&iat))
        }
        time => time.as_f64().is_some_and(|exp| exp > now - skew),
    };
    begins && ends
}

/// Whether the token is meant for somebody, alone or among others.
pub fn is_for(claims: &Value, audience: &str) -> bool {
    match &claims["aud"] {
        Value::String(one) => one == audience,
        Value::Array(several) => several.iter().any(|one| one == audience),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn times_hold_within_the_skew() {
        let now = Timestamp::from_millis(1_000_000_000_000);
        let holds = |claims: Value| is_in_time(&claims, now, 60.0);
        let at = |offset: i64| now.seconds() + offset;
        assert!(holds(json!({ "exp": at(1) })) && holds(json!({ "exp": at(-59) })));
        assert!(!holds(json!({ "exp": at(-60) })) && !holds(json!({ "exp": "later" })));
        assert!(holds(json!({ "exp": at(9), "nbf": at(60) })));
        assert!(!holds(json!({ "exp": at(9), "nbf": at(61) })));
        assert!(!holds(json!({})) && holds(json!({ "iat": at(-86_400) })));
        assert!(!holds(json!({ "iat": at(-86_401) })) && !holds(json!({ "iat": at(301) })));
    }

    #[test]
    fn an_audience_is_one_of_those_that_are_named() {
        assert!(is_for(&json!({ "aud": "me" }), "me"));
        assert!(is_for(&json!({ "aud": ["you", "me"] }), "me"));
        for aud in [json!("you"), json!([]), json!(["you"]), json!({ "me": 1 }), Value::Null] {
            assert!(!is_for(&json!({ "aud": aud }), "me"));
        }
    }
}
