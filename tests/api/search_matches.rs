//! Match Users: by what the caller wrote, or by a query.

use serde_json::{Value, json};

use crate::space_members::{membership, of};
use crate::spaces::{create, join};
use crate::support::chat::block;
use crate::support::feed::post;
use crate::support::{Actor, TestApp, User, on_both_engines};

on_both_engines![
    users_who_write_about_the_same_are_matched,
    a_query_finds_users_who_write_about_it,
    a_profile_is_enough_to_begin_with,
    hidden_users_are_never_matched,
    blocked_pairs_are_never_matched,
    samples_follow_the_setting,
    requests_are_checked,
];

const MATCH: &str = "/match/users";

async fn matching(app: &TestApp, samples: bool) {
    let change = |settings: &mut townhall::tenancy::store::Settings| {
        settings.interest_matching = true;
        settings.interest_samples = samples;
    };
    app.change_settings(app.project.id, change).await;
}

async fn matched(actor: &Actor<'_>, body: Value) -> Vec<Value> {
    let results = actor.post(MATCH, body).await.expect(200)["results"].clone();
    let results = results.as_array().unwrap().clone();
    let scores: Vec<f64> = results.iter().map(|one| one["score"].as_f64().unwrap()).collect();
    assert!(scores.is_sorted_by(|a, b| a >= b) && scores.iter().all(|s| *s > 0.0 && *s <= 1.0));
    results
}

fn ids(results: &[Value]) -> Vec<&str> {
    results.iter().map(|one| one["user"]["id"].as_str().unwrap()).collect()
}

async fn writes(app: &TestApp, user: &User<'_>, titles: &[&str]) {
    for title in titles {
        post(app, user, json!({ "title": title })).await;
    }
}

async fn users_who_write_about_the_same_are_matched(app: TestApp) {
    matching(&app, false).await;
    let (ada, grace, mary) = (app.user().await, app.user().await, app.user().await);
    writes(&app, &ada, &["Growing orchids", "Orchids and ferns"]).await;
    writes(&app, &grace, &["My orchids", "Ferns in the shade"]).await;
    writes(&app, &mary, &["Motorcycles", "A fern"]).await;
    app.index().await;
    let results = matched(&ada, json!({ "mode": "passive" })).await;
    assert_eq!(ids(&results), [grace.id.to_string(), mary.id.to_string()]);
    let facet = &results[0]["matchedFacets"][0];
    assert!(facet["askerFacet"]["hotness"].as_f64().unwrap() > 0.0);
    assert!(facet["candidateFacet"]["id"].is_string() && facet.get("sampleContent").is_none());
    assert_ne!(facet["askerFacet"]["id"], facet["candidateFacet"]["id"]);
    let again = matched(&ada, json!({ "mode": "passive" })).await;
    assert_eq!(again, results, "ids of facets stay");
    let with_self = matched(&ada, json!({ "mode": "passive", "excludeSelf": false })).await;
    assert!(ids(&with_self).contains(&ada.id.to_string().as_str()));
}

async fn a_query_finds_users_who_write_about_it(app: TestApp) {
    matching(&app, false).await;
    let (ada, grace, mary) = (app.user().await, app.user().await, app.user().await);
    writes(&app, &grace, &["Sailing around the world"]).await;
    mary.patch(&format!("/users/{}", mary.id), json!({ "bio": "Sailing" })).await.expect(200);
    app.index().await;
    let directed = json!({ "mode": "directed", "query": "sailing" });
    let results = matched(&ada, directed.clone()).await;
    assert_eq!(results.len(), 2);
    assert!(results.iter().all(|one| one["matchedFacets"][0].get("askerFacet").is_none()));
    let limited = json!({ "mode": "directed", "query": "sailing", "limit": 1 });
    assert_eq!(matched(&ada, limited).await.len(), 1);

    let space = create(&ada, json!({ "requireJoinApproval": false })).await;
    let in_space = json!({ "mode": "directed", "query": "sailing", "spaceId": space["id"] });
    assert_eq!(matched(&ada, in_space.clone()).await, [json!(null); 0]);
    join(&grace, &space).await;
    post(&app, &grace, json!({ "title": "Sailing here", "spaceId": space["id"] })).await;
    app.index().await;
    assert_eq!(ids(&matched(&ada, in_space.clone()).await), [grace.id.to_string()]);
    let gone = membership(&app, &space, &grace).await;
    ada.patch(&of(&space, &gone, "/ban"), json!({})).await.expect(200);
    assert_eq!(matched(&ada, in_space).await, [json!(null); 0], "banned there");
}

async fn a_profile_is_enough_to_begin_with(app: TestApp) {
    matching(&app, false).await;
    let (ada, grace) = (app.user().await, app.user().await);
    ada.patch(&format!("/users/{}", ada.id), json!({ "bio": "I love chess" })).await.expect(200);
    writes(&app, &grace, &["Chess openings"]).await;
    app.index().await;
    let results = matched(&ada, json!({ "mode": "passive" })).await;
    assert_eq!(ids(&results), [grace.id.to_string()]);
    assert!(results[0]["matchedFacets"][0].get("askerFacet").is_none());
}

/// Whoever blocked whom, by what they wrote and by their profiles.
async fn blocked_pairs_are_never_matched(app: TestApp) {
    matching(&app, true).await;
    let (ada, grace, mary, jean) =
        (app.user().await, app.user().await, app.user().await, app.user().await);
    writes(&app, &ada, &["orchids"]).await;
    writes(&app, &grace, &["orchids"]).await;
    writes(&app, &jean, &["orchids"]).await;
    mary.patch(&format!("/users/{}", mary.id), json!({ "bio": "orchids" })).await.expect(200);
    app.index().await;
    let modes = [json!({ "mode": "passive" }), json!({ "mode": "directed", "query": "orchids" })];
    for mode in &modes {
        assert_eq!(matched(&ada, mode.clone()).await.len(), 3, "{mode}");
    }
    block(&ada, &grace).await;
    block(&mary, &ada).await;
    for mode in &modes {
        let results = matched(&ada, mode.clone()).await;
        assert_eq!(ids(&results), [jean.id.to_string()], "{mode}");
        assert!(!json!(results).to_string().contains(&grace.id.to_string()));
        for blocked in [&grace, &mary] {
            let results = matched(blocked, mode.clone()).await;
            assert!(!ids(&results).contains(&ada.id.to_string().as_str()), "{mode}");
        }
    }
}

async fn hidden_users_are_never_matched(app: TestApp) {
    matching(&app, true).await;
    let (ada, grace, mary) = (app.user().await, app.user().await, app.user().await);
    let space = create(&grace, json!({ "readingPermission": "members" })).await;
    let hidden = json!({ "title": "zeppelin plans", "spaceId": space["id"] });
    post(&app, &grace, hidden).await;
    writes(&app, &mary, &["Trains"]).await;
    app.index().await;
    let by = |query: &str| json!({ "mode": "directed", "query": query });
    assert_eq!(
        matched(&ada, by("zeppelin")).await,
        [json!(null); 0],
        "closed content is no interest"
    );
    assert_eq!(matched(&ada, by("trains")).await.len(), 1);
    block(&mary, &ada).await;
    assert_eq!(matched(&ada, by("trains")).await, [json!(null); 0]);
    assert_eq!(matched(&grace, by("trains")).await.len(), 1);
    app.suspend(mary.id).await;
    assert_eq!(matched(&grace, by("trains")).await, [json!(null); 0]);
}

async fn samples_follow_the_setting(app: TestApp) {
    matching(&app, false).await;
    let (ada, grace) = (app.user().await, app.user().await);
    writes(&app, &grace, &["Lighthouses of Brittany"]).await;
    app.index().await;
    let body = json!({ "mode": "directed", "query": "lighthouse", "includeSampleContent": true });
    ada.post(MATCH, body.clone()).await.refused(403, "match/sample-content-disabled");
    matching(&app, true).await;
    let results = matched(&ada, body).await;
    let sample = &results[0]["matchedFacets"][0]["sampleContent"][0];
    assert_eq!(sample["content"], "Lighthouses of Brittany");
    assert_eq!(sample["sourceType"], "entity");
}

async fn requests_are_checked(app: TestApp) {
    let ada = app.user().await;
    let passive = json!({ "mode": "passive" });
    ada.post(MATCH, passive.clone()).await.refused(403, "project/interest-matching-disabled");
    matching(&app, false).await;
    let wrong = [
        json!({}),
        json!({ "mode": "other" }),
        json!({ "mode": "directed" }),
        json!({ "mode": "passive", "query": "x" }),
        json!({ "mode": "directed", "query": " " }),
        json!({ "mode": "passive", "spaceId": "no" }),
    ];
    for body in wrong {
        ada.post(MATCH, body).await.refused(400, "match/invalid-body");
    }
    assert_eq!(matched(&ada, passive.clone()).await, [json!(null); 0]);
    app.service().post(MATCH, passive.clone()).await.refused(401, "auth/user-required");
    app.anonymous().post(MATCH, passive.clone()).await.says(401, "Unauthorized");
    app.bearer("nonsense").post(MATCH, passive.clone()).await.says(403, "Forbidden");
    app.change_settings(app.project.id, |settings| settings.has_search = false).await;
    ada.post(MATCH, passive).await.refused(403, "project/plan-required");
}
