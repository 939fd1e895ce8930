//! Create Entity in three small projects: without a webhook, with one whose endpoint is down, with one that is sent
//! everything meanwhile. The difference of the first two is what a write pays for being delivered.

use crate::fixture::Fixture;
use crate::scenario::Scenario;
use crate::server::send;
use crate::webhooks::Writers;

pub const WITHOUT: Scenario = Scenario {
    name: "create-without-webhook",
    about: "POST /entities in a small project",
    expected_status: &[201],
    requests: |fixture| requests(fixture, &fixture.webhooks.without),
    bare: |_, _| Vec::new(),
};

pub const DEAD: Scenario = Scenario {
    name: "create-with-dead-webhook",
    about: "POST /entities in a small project whose webhook endpoint is down",
    requests: |fixture| requests(fixture, &fixture.webhooks.dead),
    ..WITHOUT
};

pub const LIVE: Scenario = Scenario {
    name: "create-with-webhook",
    about: "POST /entities in a small project whose webhook endpoint is sent each of them",
    requests: |fixture| requests(fixture, &fixture.webhooks.live),
    ..WITHOUT
};

fn requests(fixture: &Fixture, writers: &Writers) -> Vec<Vec<u8>> {
    let path = format!("/v8/{}/entities", writers.project);
    let body =
        r#"{"title":"A new post about the bench","content":"It is green.","keywords":["bench"]}"#;
    let token = |user| fixture.token_in(writers.project, user);
    writers.users.iter().map(|user| send("POST", &path, &token(*user), body)).collect()
}
