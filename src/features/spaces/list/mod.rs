//! Lists of spaces: all that a viewer can find, a user's own, and those that two users share.

mod many;
mod mine;
mod mutual;
pub mod store;

pub(super) use many::fetch_spaces;
pub(super) use mine::user_spaces;
pub(super) use mutual::mutual_spaces;
