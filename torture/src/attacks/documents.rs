//! 200 anonymous requests at once for a project's OpenAPI document: all are answered, and together
//! they cost less than 32 MiB.

use bench::store::Engine;
use bench::usage::{peak_bytes, resident_bytes};
use serde_json::json;
use tokio::task::JoinSet;

use super::MIB;
use crate::http::Caller;
use crate::trial::{Figure, Setup};
use crate::world::World;

const AT_ONCE: usize = 200;
const MAX_MIB: u64 = 32;

pub async fn trial(setup: &Setup) -> Result<Figure, String> {
    let world = World::start(setup, Engine::Sqlite, 0, &[]).await?;
    let mut caller = Caller::new(world.server.address);
    let table = json!({
        "tableName": "Parts",
        "columns": [{ "columnName": "name", "dataType": "text", "nullable": false }],
    });
    let path = world.path("/db/tables");
    caller.call("POST", &path, &world.service_key, Some(&table)).await?.expect(201)?;

    let before = resident_bytes(world.server.pid());
    let mut asking = JoinSet::new();
    for _ in 0..AT_ONCE {
        let (address, path) = (world.server.address, world.path("/openapi.json"));
        asking.spawn(async move {
            let reply = Caller::new(address).call("GET", &path, "", None).await;
            reply.is_ok_and(|reply| reply.status == 200)
        });
    }
    let answered = asking.join_all().await.into_iter().filter(|answered| *answered).count();
    let cost = peak_bytes(world.server.pid()).saturating_sub(before) / MIB;
    let text = format!("{answered} of {AT_ONCE} documents at once, {cost} MiB more memory");
    Ok(Figure::new(answered == AT_ONCE && cost < MAX_MIB, text))
}
