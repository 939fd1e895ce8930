//! Link previews: the metadata of a web page. The server fetches the page so that the reader's browser need
//! not, through the SSRF-guarded client of `outbound`.

mod cache;
mod extract;
mod get_metadata;
mod model;
mod page;
mod text;

pub use get_metadata::Previews;

use http::Method;

use crate::error::faults;
use crate::http::input::Invalid;
use crate::http::operation::Operation;
use crate::rate_limits::RateLimit;

faults! {
    INVALID_QUERY = 400 "utils/invalid-query": "url must be an absolute http or https address";
    METADATA_EXTRACTION_FAILED = 422 "utils/metadata-extraction-failed":
        "No metadata could be read from this page";
}

pub fn operations() -> Vec<Operation> {
    vec![
        Operation::new(
            Method::GET,
            "/utils/get-metadata",
            "Get URL Metadata",
            "utils",
            Invalid::all(INVALID_QUERY),
            get_metadata::get_metadata,
        )
        .rate(RateLimit::per_5_minutes(30))
        .errors(&[METADATA_EXTRACTION_FAILED]),
    ]
}
