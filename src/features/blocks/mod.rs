//! Blocks between users. Blocking somebody ends the follows and the connection between the two and hides each
//! from the other; `visibility/store/blocks.rs` says what exactly is hidden.

mod block;
mod list;
pub mod store;

use http::Method;

use crate::error::faults;
use crate::http::input::Invalid;
use crate::http::operation::{ActsAs, Operation};
use crate::tenancy::Bundle;

faults! {
    INVALID_USER_ID = 400 "block/invalid-user-id": "Invalid user id";
    MISSING_USER_ID = 400 "block/missing-user-id": "A key must name the user it acts as";
    USER_NOT_FOUND = 404 "block/user-not-found": "User not found";
    SELF_BLOCK = 400 "block/self-block": "A user cannot block themselves";
    SELF_CHECK = 400 "block/self-check": "Cannot check block status with yourself";
}

const INVALID: Invalid = Invalid::all(INVALID_USER_ID);

/// The target is the `userId` of the path.
const ACTS_ON: ActsAs = ActsAs {
    parameter: "actingUserId",
    missing: MISSING_USER_ID,
    unknown: USER_NOT_FOUND,
    other: None,
};
const ACTS_AS: ActsAs = ActsAs { parameter: "userId", ..ACTS_ON };

pub fn operations() -> Vec<Operation> {
    let path = "/users/{userId}/block";
    let operations = vec![
        Operation::new(Method::POST, path, "Block User", "block", INVALID, block::block_user)
            .open_to_suspended()
            .acts_as(ACTS_ON)
            .errors(&[SELF_BLOCK, USER_NOT_FOUND]),
        Operation::new(Method::DELETE, path, "Unblock User", "block", INVALID, block::unblock_user)
            .open_to_suspended()
            .acts_as(ACTS_ON),
        Operation::new(
            Method::GET,
            path,
            "Get Block Status",
            "block",
            INVALID,
            block::block_status,
        )
        .acts_as(ACTS_ON)
        .errors(&[SELF_CHECK]),
        Operation::new(
            Method::GET,
            "/blocks",
            "Fetch Blocked Users",
            "block",
            INVALID,
            list::fetch_blocked,
        )
        .acts_as(ACTS_AS),
    ];
    let all = operations.into_iter();
    all.map(|one| one.bundle(Bundle::Moderation).no_store()).collect()
}
