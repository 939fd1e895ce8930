//! Views of entities: counted in memory, written in batches.

mod increment;
pub mod view_buffer;

use http::Method;

use crate::auth::caller::ELEVATED_AUTH_REQUIRED;
use crate::features::entities::{INVALID, INVALID_COUNT, NOT_FOUND};
use crate::http::operation::Operation;
use crate::rate_limits::RateLimit;

pub(super) fn operations() -> Vec<Operation> {
    vec![
        Operation::new(
            Method::PATCH,
            "/entities/{entityId}/increment-views",
            "Increment Entity Views",
            "entity",
            INVALID,
            increment::increment_views,
        )
        .rate(RateLimit::per_5_minutes(1000))
        .open_to_suspended()
        .errors(&[NOT_FOUND, INVALID_COUNT, ELEVATED_AUTH_REQUIRED]),
    ]
}
