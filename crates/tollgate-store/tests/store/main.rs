//! The store behind a real gate, on SQLite and on a PostgreSQL that the tests start themselves.

#![expect(
    clippy::disallowed_methods,
    reason = "tests look for programs and name folders through the environment"
)]
#![expect(clippy::expect_used, clippy::panic, reason = "a test that cannot set itself up should stop")]

/// Each case runs on both databases.
macro_rules! on_both {
    ($($(#[$doc:meta])* async fn $name:ident($world:ident: &World) $body:block)+) => {$(
        mod $name {
            use super::*;

            async fn case($world: &World) $body

            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn sqlite() {
                case(&World::sqlite()).await;
            }

            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn postgres() {
                if let Some(world) = World::postgres() {
                    case(&world).await;
                }
            }
        }
    )+};
}

#[path = "../../../tollgate/tests/skipped/mod.rs"]
mod skipped;
mod world;
mod server;
mod ledger;
mod recovery;
mod results;
mod questions;
mod budgets;
mod breakers;
mod resuming;
mod safety;
mod reading;
mod migrations;
mod bad_input;
