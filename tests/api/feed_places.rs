//! Entities near a place.

use serde_json::json;

use crate::support::feed::{finds, lists, page, post};
use crate::support::{TestApp, on_both_engines};

on_both_engines![
    near_means_within_so_many_metres,
    the_order_is_not_changed_by_a_place,
    places_across_the_date_line_and_around_the_poles,
    places_that_change_are_found_where_they_are_now,
    a_place_and_other_filters,
];

fn near(latitude: f64, longitude: f64, radius: f64) -> String {
    format!(
        "locationFilters[latitude]={latitude}&locationFilters[longitude]={longitude}\
         &locationFilters[radius]={radius}"
    )
}

async fn seed(app: &TestApp, places: &[(&str, f64, f64)]) {
    for (title, latitude, longitude) in places {
        let location = json!({ "latitude": latitude, "longitude": longitude });
        post(app, &app.anonymous(), json!({ "title": title, "location": location })).await;
    }
    post(app, &app.anonymous(), json!({ "title": "nowhere" })).await;
}

async fn near_means_within_so_many_metres(app: TestApp) {
    seed(&app, &[("hall", 40.7128, -74.0060), ("square", 40.7580, -73.9855), ("zero", 0.0, 0.0)])
        .await;
    let from_hall = |radius: f64| near(40.7128, -74.0060, radius);
    // The two are 5,315 m apart.
    let table = [
        (from_hall(5300.0), "hall"),
        (from_hall(5330.0), "square hall"),
        (from_hall(0.5), "hall"),
        (near(40.7580, -73.9855, 5330.0), "square hall"),
        (near(0.0, 0.0, 1.0), "zero"),
        (near(0.01, 0.0, 1112.0), "zero"),
        (near(0.01, 0.0, 1111.0), ""),
        (near(-40.7128, 74.0060, 5000.0), ""),
        (near(10.0, 10.0, 30_000_000.0), "zero square hall"),
        (near(10.0, 10.0, 1e300), "zero square hall"),
    ];
    for (query, expected) in &table {
        lists(&app.anonymous(), &[(query, expected)]).await;
    }
    let json = r#"locationFilters={"latitude":0,"longitude":0,"radius":1}"#;
    let texts = r#"locationFilters={"latitude":0.0,"longitude":-0.0,"radius":1e0}"#;
    let quoted = r#"locationFilters={"latitude":"0","longitude":"-0.0","radius":" 1 "}"#;
    lists(&app.anonymous(), &[(json, "zero"), (texts, "zero"), (quoted, "zero")]).await;
    let shown = page(&app.anonymous(), json).await;
    let point = json!({ "type": "Point", "coordinates": [0.0, 0.0] });
    assert_eq!(shown["data"][0]["location"], point);
}

async fn the_order_is_not_changed_by_a_place(app: TestApp) {
    seed(&app, &[("far", 10.0, 10.02), ("near", 10.0, 10.0), ("between", 10.0, 10.01)]).await;
    let place = near(10.0, 10.0, 10_000.0);
    let table = [
        (place.clone(), "between near far"),
        (format!("{place}&sortDir=asc"), "far near between"),
        (format!("{place}&sortBy=hot"), "between near far"),
        (format!("{place}&sortBy=top"), "between near far"),
    ];
    for (query, expected) in &table {
        lists(&app.anonymous(), &[(query, expected)]).await;
    }
}

async fn places_across_the_date_line_and_around_the_poles(app: TestApp) {
    seed(
        &app,
        &[
            ("west", 0.0, 179.99),
            ("east", 0.0, -179.99),
            ("line", 0.0, 180.0),
            ("enil", 0.0, -180.0),
            ("north", 89.99, 0.0),
            ("htron", 89.99, 180.0),
            ("pole", 90.0, 45.0),
            ("south", -90.0, 0.0),
            ("middle", 0.0, 0.0),
        ],
    )
    .await;
    let table = [
        (near(0.0, 179.99, 3_000.0), "west east line enil"),
        (near(0.0, -179.99, 3_000.0), "west east line enil"),
        (near(0.0, 180.0, 1_200.0), "west east line enil"),
        (near(0.0, 180.0, 1_000.0), "line enil"),
        (near(0.0, -180.0, 1_000.0), "line enil"),
        (near(89.99, 90.0, 3_000.0), "north htron pole"),
        (near(90.0, 0.0, 1_200.0), "north htron pole"),
        (near(89.99, 0.0, 100.0), "north"),
        (near(-89.999, 10.0, 200.0), "south"),
        (near(0.0, 179.99, 1.0), "west"),
    ];
    for (query, expected) in &table {
        finds(&app.anonymous(), &[(query, expected)]).await;
    }
}

async fn places_that_change_are_found_where_they_are_now(app: TestApp) {
    let ada = app.user().await;
    let here = json!({ "title": "a", "location": { "latitude": 1, "longitude": 1 } });
    let path = format!("/entities/{}", post(&app, &ada, here).await);
    let (one, two) = (near(1.0, 1.0, 10.0), near(2.0, 2.0, 10.0));
    lists(&ada, &[(&one, "a"), (&two, "")]).await;
    let there = json!({ "location": { "type": "Point", "coordinates": [2, 2] } });
    ada.patch(&path, there).await.expect(200);
    lists(&ada, &[(&one, ""), (&two, "a")]).await;
    ada.patch(&path, json!({ "location": null })).await.expect(200);
    lists(&ada, &[(&one, ""), (&two, ""), ("", "a")]).await;
}

async fn a_place_and_other_filters(app: TestApp) {
    for n in 0..12 {
        let new = json!({
            "title": n.to_string(),
            "keywords": [if n % 2 == 0 { "even" } else { "odd" }],
            "metadata": { "third": n % 3 },
            "location": { "latitude": 50.0, "longitude": 8.0 + f64::from(n) / 100.0 },
        });
        post(&app, &app.anonymous(), new).await;
    }
    // A hundredth of a degree is about 715 m there.
    let place = near(50.0, 8.0, 5_000.0);
    let table = [
        (place.clone(), "6 5 4 3 2 1 0"),
        (format!("{place}&keywordsFilters[includes]=even"), "6 4 2 0"),
        (format!("{place}&keywordsFilters[doesNotInclude]=even&sortDir=asc"), "1 3 5"),
        (format!("{place}&metadataFilters[includes][third]=0"), "6 3 0"),
        (
            format!("{place}&keywordsFilters[includes]=even&metadataFilters[includes][third]=0"),
            "6 0",
        ),
        (format!("{place}&titleFilters[includes]=1"), "1"),
        (format!("{place}&timeFrame=hour&sortBy=top"), "6 5 4 3 2 1 0"),
        (format!("{place}&sortBy=metadata.third&sortDir=asc"), "6 3 0 4 1 5 2"),
    ];
    for (query, expected) in &table {
        lists(&app.anonymous(), &[(query, expected)]).await;
    }
}
