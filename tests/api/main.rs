//! The API as its users meet it: every test talks HTTP to a real server on a free port, once
//! with SQLite and once with PostgreSQL behind it.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod account_deletion;
mod auth_limits;
mod avatars;
mod cli;
mod cli_server;
mod connections;
mod conventions;
mod cors;
mod credentials;
mod email_verification;
mod entities;
mod entity_files;
mod external_users;
mod files;
mod identities;
mod mail;
mod notification_callers;
mod notification_counts;
mod notifications;
mod operator;
mod password_reset;
mod passwords;
mod rate_limits;
mod reaction_callers;
mod reaction_lists;
mod reaction_milestones;
mod reaction_notices;
mod reaction_races;
mod reaction_votes;
mod reactions;
mod refresh;
mod request_bodies;
mod s3;
mod service_key;
mod sign_in;
mod sign_out;
mod sign_up;
mod signed_urls;
mod statements;
mod support;
mod suspensions;
mod system_notifications;
mod testing_jwt;
mod upload_files;
mod upload_images;
mod upload_limits;
mod url_metadata;
mod user_lookup;
mod user_updates;
mod users;
