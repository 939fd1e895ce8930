//! Files in a bucket: stored, read in part and in whole, removed; and an unreachable bucket.

use http::Method;
use serde_json::{Value, json};

use crate::support::{Bucket, Form, Part, TestApp, local_part, on_both_engines, png};

on_both_engines![
    files_live_in_the_bucket,
    a_large_file_goes_up_in_parts,
    images_live_in_the_bucket_too,
    a_bucket_that_is_gone_is_a_warning,
];

async fn with_bucket(app: TestApp) -> (TestApp, Bucket) {
    let bucket = Bucket::open().await;
    let app = app.restart_with(|config| bucket.configure(config)).await;
    (app, bucket)
}

fn form(bytes: &[u8]) -> Form {
    let part = Part { name: "file", file: "a.bin", mime: "application/zip", bytes };
    Form::new().file(part).json("pathParts", json!(["docs"]))
}

fn url(file: &Value) -> &str {
    local_part(file["publicPath"].as_str().unwrap())
}

async fn files_live_in_the_bucket(app: TestApp) {
    let (app, bucket) = with_bucket(app).await;
    let ready = app.anonymous().raw(Method::GET, "/readyz", "", "").await.expect(200);
    assert_eq!(ready["checks"]["storage"]["status"], "pass");
    let key = app.service();
    let file = key.post_form("/storage", &form(b"0123456789")).await.expect(201);
    let other = key.post_form("/storage", &form(b"")).await.expect(201);
    let place = |file: &Value| {
        format!("some/where/{}/{}", app.project.id, file["relativePath"].as_str().unwrap())
    };
    let mut expected = [place(&file), place(&other)];
    expected.sort();
    assert_eq!(bucket.keys().await, expected);

    let opened = app.anonymous().open(url(&file)).await;
    assert_eq!((opened.status, opened.text().as_str()), (200, "0123456789"));
    assert_eq!(opened.header("content-length"), Some("10"));
    let part = app.anonymous().with_header("range", "bytes=2-5").open(url(&file)).await;
    assert_eq!((part.status, part.text().as_str()), (206, "2345"));
    let empty = app.anonymous().open(url(&other)).await;
    assert_eq!((empty.status, empty.body.len()), (200, 0));

    let path = format!("/storage/{}", file["fileId"].as_str().unwrap());
    key.delete(&path).await.expect(200);
    app.anonymous().open(url(&file)).await.refused(404, "storage/file-not-found");
    app.run_jobs().await;
    assert_eq!(bucket.keys().await, [place(&other)]);
    app.nothing_stays_staged().await;
}

async fn a_large_file_goes_up_in_parts(app: TestApp) {
    let (app, _bucket) = with_bucket(app).await;
    let bytes: Vec<u8> = (0..3_000_000_u32).flat_map(u32::to_le_bytes).collect();
    let file = app.service().post_form("/storage", &form(&bytes)).await.expect(201);
    let opened = app.anonymous().open(url(&file)).await;
    assert!(opened.body == bytes, "{} bytes of {}", opened.body.len(), bytes.len());
    let part = app.anonymous().with_header("range", "bytes=5242870-5242890").open(url(&file)).await;
    assert!(part.body == bytes[5_242_870..=5_242_890], "{part:?}");
}

async fn images_live_in_the_bucket_too(app: TestApp) {
    let (app, bucket) = with_bucket(app).await;
    let bytes = png(60, 60);
    let form = Form::new()
        .file(Part { name: "file", file: "a.png", mime: "image/png", bytes: &bytes })
        .text("mode", "original-aspect")
        .json("sizes", json!({ "small": 50 }));
    let image = app.service().post_form("/storage/images", &form).await.expect(201);
    assert_eq!(bucket.keys().await.len(), 2);
    let small = image["variants"]["small"]["publicPath"].as_str().unwrap();
    let opened = app.anonymous().open(small).await;
    assert_eq!(json!(opened.body.len()), image["variants"]["small"]["size"]);
    app.service().delete(&format!("/storage/{}", image["fileId"].as_str().unwrap())).await;
    app.run_jobs().await;
    assert!(bucket.keys().await.is_empty());
}

async fn a_bucket_that_is_gone_is_a_warning(app: TestApp) {
    let (app, mut bucket) = with_bucket(app).await;
    let file = app.service().post_form("/storage", &form(b"x")).await.expect(201);
    bucket.close();
    let ready = app.anonymous().raw(Method::GET, "/readyz", "", "").await.expect(200);
    assert_eq!(
        (&ready["status"], &ready["checks"]["storage"]["status"]),
        (&json!("warn"), &json!("warn"))
    );
    app.anonymous().open(url(&file)).await.refused(503, "server/busy");
    app.service().post_form("/storage", &form(b"x")).await.refused(503, "server/busy");
    app.service().get("/users/suggestions?query=a").await.expect(200);
}
