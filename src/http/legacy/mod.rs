//! The legacy dialect: what published clients of version 6 send and expect under `/api/v6` and `/api/v5`.
//!
//! One layer between the dispatcher and the operations, which know nothing of it: it rewrites names and
//! defaults of the request, runs the common operation, and rewrites the shape of its reply or the code of its
//! refusal. Operations that version 6 did not have are served as they are.

mod codes;
mod notifications;
mod operations;
mod replies;
mod requests;
mod session;

use http::Method;

use crate::config::Config;
use crate::error::Result;
use crate::http::legacy::codes::Refused;
use crate::http::legacy::operations::Shape;
use crate::http::legacy::session::Jar;
use crate::http::operation::{CheckedRequest, Operation, RunProject};
use crate::http::reply::Response;
use crate::values::detail::Detail;

pub use operations::OPERATIONS;

/// The endpoint that an early server package meant: it created sub-lists at the list itself.
pub fn alias(method: &Method, endpoint: &str) -> Option<String> {
    let list = endpoint.strip_prefix("/lists/").filter(|list| !list.contains('/'));
    (method == Method::POST && list.is_some()).then(|| format!("{endpoint}/sub-lists"))
}

/// The feature that an operation belonged to: the counts of follows were those of users.
pub fn feature(operation: &Operation) -> &'static str {
    let is_follow_count = operation.feature == "follow" && operation.path.ends_with("-count");
    if is_follow_count { "user" } else { operation.feature }
}

/// Whether anybody may call an operation that needs a credential elsewhere.
pub fn is_open(operation: &Operation, config: &Config) -> bool {
    operation.id == "GET /utils/get-metadata" && config.anonymous_link_previews
}

pub async fn run(run: &RunProject, mut request: CheckedRequest) -> Result<Response> {
    let Some(shape) = operations::shape(request.operation) else {
        return run(request).await;
    };
    request.detail = Detail::Whole;
    requests::rewrite(&mut request)?;
    let refused = Refused::of(&request);
    let (jar, signer) = (Jar::of(&request), request.app.signer.clone());
    let project = request.project.id;
    let answered = match shape {
        Shape::Refreshed => session::refresh(run, request, &jar).await,
        Shape::SignedOut => session::sign_out(run, request, &jar).await,
        Shape::Reported => requests::report(run, request).await,
        _ => run(request).await,
    };
    let mut response = answered.map_err(|error| refused.translate(error))?;
    match shape {
        Shape::SignedIn => jar.keep_session(&mut response),
        Shape::Stored => replies::keep_address(&mut response, &signer, project)?,
        _ => replies::rewrite(&mut response, shape)?,
    }
    Ok(response)
}
