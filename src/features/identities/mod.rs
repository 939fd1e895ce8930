//! The identities of a user: accounts elsewhere that they sign in with. Also the documents and keys that
//! issuers elsewhere publish.

pub mod issuers;
mod list;
pub mod published;
pub mod store;

use http::Method;

use crate::error::faults;
use crate::http::input::Invalid;
use crate::http::operation::Operation;

faults! {
    IDENTITY_NOT_FOUND = 404 "oauth/identity-not-found": "Identity not found";
    USER_NOT_FOUND = 404 "oauth/user-not-found": "User not found";
    LAST_IDENTITY = 400 "oauth/last-identity":
        "The last identity of an account without a password cannot be removed";
}

pub fn operations() -> Vec<Operation> {
    let invalid = Invalid::all(IDENTITY_NOT_FOUND);
    vec![
        Operation::new(
            Method::GET,
            "/oauth/identities",
            "List OAuth Identities",
            "oauth",
            invalid,
            list::list_identities,
        )
        .no_store(),
        Operation::new(
            Method::DELETE,
            "/oauth/identities/{identityId}",
            "Unlink OAuth Identity",
            "oauth",
            invalid,
            list::unlink_identity,
        )
        .open_to_suspended()
        .user_gone(USER_NOT_FOUND)
        .errors(&[LAST_IDENTITY]),
    ]
}
