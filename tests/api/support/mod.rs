//! What the tests stand on: a server of their own, actors that speak to it, replies that are
//! checked against the OpenAPI document whoever asked for them.

mod actors;
mod app;
mod bucket;
pub mod chat;
mod contract;
mod dice;
pub mod feed;
mod form;
mod generated;
mod installation;
mod parallel;
pub mod raw_socket;
mod reply;
pub mod site;
pub mod sockets;
mod watched;
pub mod wire;

pub use actors::{Actor, User, local_part};
pub use app::{TestApp, TestConfig, TestProject};
pub use bucket::Bucket;
pub use dice::Dice;
pub use form::{Form, Part, png, png_claiming};
pub use generated::assert_generated;
pub use installation::{Installation, failure, mode, outcome};
pub use parallel::{all_at_once, count};
pub use reply::{Reply, keys};

/// Declares the tests of a file: each is an `async fn(TestApp)` and runs on both engines.
macro_rules! on_both_engines {
    ($($name:ident),+ $(,)?) => {$(
        mod $name {
            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn sqlite() {
                let app = crate::support::TestApp::start(db::Engine::Sqlite).await;
                super::$name(app).await;
            }

            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn postgres() {
                let app = crate::support::TestApp::start(db::Engine::Postgres).await;
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
