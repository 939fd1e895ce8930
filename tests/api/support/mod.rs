//! What the tests share: servers with fresh projects for each test, actors that send requests, and a check of
//! every reply against the OpenAPI document.

mod actors;
pub mod apns;
mod app;
mod bucket;
pub mod chat;
mod contract;
mod dice;
mod directories;
pub mod fake;
pub mod feed;
mod form;
mod generated;
mod installation;
mod listening;
mod many_rows;
pub mod node;
pub mod openid;
mod parallel;
pub mod project_scope;
pub mod provider;
pub mod published;
pub mod push;
pub mod raw_socket;
pub mod receiver;
mod reply;
mod server;
pub mod site;
pub mod sockets;
pub mod visitor;
mod watched;
pub mod wire;

pub use actors::{Actor, User, local_part};
pub use app::{TestApp, TestProject};
pub use bucket::Bucket;
pub use dice::Dice;
pub use directories::fresh_directory;
pub use form::{Form, Part, png, png_claiming};
pub use generated::assert_generated;
pub use installation::{Installation, Running, failure, mode, outcome};
pub use parallel::{all_at_once, count, somebody_waits_for};
pub use reply::{Reply, keys};
pub use server::TestConfig;

/// Declares the tests of a file: each is an `async fn(TestApp)` and runs on both engines.
macro_rules! on_both_engines {
    ($($name:ident),+ $(,)?) => {$(
        mod $name {
            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn sqlite() {
                let app = crate::support::TestApp::start(db::Engine::Sqlite, module_path!()).await;
                super::$name(app).await;
            }

            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn postgres() {
                let app = crate::support::TestApp::start(db::Engine::Postgres, module_path!()).await;
                super::$name(app).await;
            }
        }
    )+};
}
pub(crate) use on_both_engines;

/// Declares the tests of the binary: each is a `fn(Installation)` and runs on both engines.
macro_rules! installed_on_both_engines {
    ($($name:ident),+ $(,)?) => {$(
        mod $name {
            #[test]
            fn sqlite() {
                super::$name(crate::support::Installation::new(db::Engine::Sqlite));
            }

            #[test]
            fn postgres() {
                super::$name(crate::support::Installation::new(db::Engine::Postgres));
            }
        }
    )+};
}
pub(crate) use installed_on_both_engines;
