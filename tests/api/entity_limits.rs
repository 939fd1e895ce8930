//! Rate limits of entities.

use serde_json::json;

use crate::entities::UNKNOWN;
use crate::support::{TestApp, TestConfig, on_both_engines};

on_both_engines![anonymous_creation_is_limited_in_each_project, deletion_is_limited];

async fn anonymous_creation_is_limited_in_each_project(app: TestApp) {
    let app =
        app.restart_with(|config: &mut TestConfig| config.set("TOWNHALL_RATE_LIMITS", "on")).await;
    let anybody = app.anonymous();
    let new = json!({ "excludeUserId": true });
    for number in 0..99 {
        assert_eq!(anybody.v7().post("/entities", new.clone()).await.status, 201, "{number}");
    }
    // What is created on the way counts as well, from the same allowance.
    let blank = |n: u32| format!("/entities/by-foreign-id?foreignId=f{n}&createIfNotFound=true");
    anybody.get(&blank(1)).await.expect(200);
    let text = "Too many attempts, please try again shortly";
    anybody.get(&blank(2)).await.says(429, text);
    anybody.post("/entities", new.clone()).await.says(429, text);
    anybody.get(&blank(1)).await.expect(200);
    anybody.get("/entities/by-foreign-id?foreignId=f2").await.refused(404, "entity/not-found");
    app.service().post("/entities", new.clone()).await.expect(201);
    app.service().get(&blank(2)).await.expect(200);
    anybody.in_project(app.other.id).post("/entities", new.clone()).await.expect(201);
    app.advance(std::time::Duration::from_secs(300));
    anybody.post("/entities", new).await.expect(201);
}

async fn deletion_is_limited(app: TestApp) {
    let on = |config: &mut TestConfig| config.set("TOWNHALL_RATE_LIMITS", "on");
    let app = app.restart_with(on).await;
    let ada = app.user().await;
    for _ in 0..50 {
        ada.delete(&format!("/entities/{UNKNOWN}")).await.refused(404, "entity/not-found");
    }
    let text = "Too many attempts, please try again shortly";
    ada.delete(&format!("/entities/{UNKNOWN}")).await.says(429, text);
    app.service().delete(&format!("/entities/{UNKNOWN}")).await.refused(404, "entity/not-found");
}
