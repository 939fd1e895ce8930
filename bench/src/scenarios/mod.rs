//! The scenarios, one file each.

pub mod add_reaction;
pub mod comments;
pub mod connections;
pub mod conversations;
pub mod create_comment;
pub mod create_entity;
pub mod feeds;
pub mod fetch_entity;
pub mod fetch_user;
pub mod messages;
pub mod report;
pub mod sign_in;
pub mod spaces;
pub mod tables;
pub mod token_check;
pub mod upload_image;
pub mod upvote;
pub mod webhooks;
