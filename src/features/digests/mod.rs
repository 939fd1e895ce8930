//! The daily digest of a space: what is new in it, sent to a webhook of its admins at an hour of their choice.

mod config;
mod content;
mod deliver;
pub mod rules;
pub mod store;

pub use deliver::{SendDigest, enqueue_due};
pub use store::SECRETS;

use http::Method;

use crate::error::faults;
use crate::features::spaces::{ADMIN_REQUIRED, INVALID, NOT_FOUND, ON_BEHALF};
use crate::http::operation::Operation;
use crate::http::version::Version;
use crate::tenancy::Bundle;

faults! {
    INVALID_DIGEST_CONFIG = 400 "space/invalid-digest-config":
        "A digest that is on needs an address, a secret, an hour and a time zone";
}

pub fn operations() -> Vec<Operation> {
    let (path, feature) = ("/spaces/{spaceId}/digest-config", "space");
    let (get, patch) = (Method::GET, Method::PATCH);
    let operations = vec![
        Operation::new(get, path, "Fetch Digest Config", feature, INVALID, config::fetch)
            .errors(&[NOT_FOUND, ADMIN_REQUIRED]),
        Operation::new(patch, path, "Update Digest Config", feature, INVALID, config::update)
            .errors(&[NOT_FOUND, ADMIN_REQUIRED, INVALID_DIGEST_CONFIG]),
    ];
    let only_v7 = |one: Operation| one.since(Version::V7).until(Version::V7);
    let all = operations.into_iter().map(only_v7);
    all.map(|one| one.bundle(Bundle::Spaces).acts_as(ON_BEHALF).no_store()).collect()
}
