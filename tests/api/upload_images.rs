//! Upload Image: the original and its variants, the options as form fields, and refused files.

use serde_json::{Value, json};

use crate::support::{Form, Part, TestApp, on_both_engines, png, png_claiming};

on_both_engines![
    an_image_is_stored_with_its_variants,
    every_output_can_be_opened,
    folders_and_holders_are_as_for_files,
    options_are_checked,
    variants_are_bounded_by_the_source,
    the_longest_edge_is_exact,
    invalid_images_are_refused,
    the_original_may_keep_its_format,
    an_image_may_come_without_a_media_type,
];

fn form(bytes: &[u8]) -> Form {
    Form::new().file(Part { name: "file", file: "Photo.PNG", mime: "image/png", bytes })
}

fn sizes(form: Form) -> Form {
    form.text("mode", "original-aspect").json("sizes", json!({ "small": 50, "large": 100 }))
}

async fn an_image_is_stored_with_its_variants(app: TestApp) {
    let user = app.user().await;
    let bytes = png(120, 60);
    let sent = sizes(form(&bytes)).text("quality", "60").text("stripExif", "true");
    for actor in [user.v7(), (*user).clone()] {
        let stored = actor.post_form("/storage/images", &sent).await.expect(201);
        let id = stored["fileId"].as_str().unwrap();
        assert_eq!((&stored["imageId"], &stored["type"]), (&stored["fileId"], &json!("image")));
        assert_eq!(stored["status"], "completed");
        assert_eq!(stored["originalSize"], bytes.len());
        assert_eq!(
            (&stored["originalWidth"], &stored["originalHeight"]),
            (&json!(120), &json!(60))
        );
        assert_eq!((&stored["format"], &stored["quality"]), (&json!("webp"), &json!(60)));
        assert_eq!(stored["metadata"]["originalFormat"], "png");
        assert_eq!(stored["metadata"]["exifStripped"], true);
        assert_eq!(stored["original"]["path"], format!("images/{id}/original.webp"));
        assert_eq!(stored["original"]["publicPath"], stored["originalPath"]);
        let variant = |name: &str| {
            let one = &stored["variants"][name];
            (one["path"].as_str().unwrap().to_owned(), one["width"].clone(), one["height"].clone())
        };
        let expected = |name: &str, width: u32, height: u32| {
            (format!("images/{id}/{name}_original.webp"), json!(width), json!(height))
        };
        assert_eq!(variant("small"), expected("small", 50, 25));
        assert_eq!(variant("large"), expected("large", 100, 50));

        let file = user.get(&format!("/storage/{id}")).await.expect(200);
        let image = &file["image"];
        assert_eq!(image["fileId"], stored["fileId"]);
        assert_eq!((&image["originalWidth"], &image["quality"]), (&json!(120), &json!(60)));
        assert_eq!(
            (&image["processingStatus"], &image["processingError"]),
            (&json!("completed"), &Value::Null)
        );
        assert_eq!(image["variants"], stored["variants"]);
        assert_eq!(file["originalMimeType"], "image/png");
    }
    app.nothing_stays_staged().await;
    assert_eq!(app.stored(), 6);
}

async fn every_output_can_be_opened(app: TestApp) {
    let sent = sizes(form(&png(120, 60))).text("format", "png");
    let stored = app.service().post_form("/storage/images", &sent).await.expect(201);
    for one in [&stored["original"], &stored["variants"]["small"], &stored["variants"]["large"]] {
        assert_eq!(one["format"], "png");
        assert!(one["path"].as_str().unwrap().ends_with(".png"));
        let opened = app.anonymous().open(one["publicPath"].as_str().unwrap()).await;
        assert_eq!(opened.header("content-type"), Some("image/png"));
        assert_eq!(opened.header("content-disposition"), None);
        assert_eq!(json!(opened.body.len()), one["size"]);
        let decoder = png::Decoder::new(std::io::Cursor::new(opened.body.to_vec()));
        let decoded = decoder.read_info().unwrap();
        let (width, height) = decoded.info().size();
        assert_eq!((&json!(width), &json!(height)), (&one["width"], &one["height"]));
    }
}

async fn folders_and_holders_are_as_for_files(app: TestApp) {
    let user = app.user().await;
    let sent = sizes(form(&png(60, 60)));
    let parts = sent.clone().json("pathParts", json!(["Albums", "2026"]));
    let stored = user.post_form("/storage/images", &parts).await.expect(201);
    let id = stored["fileId"].as_str().unwrap();
    assert_eq!(stored["original"]["path"], format!("albums/2026/{id}/original.webp"));
    let wrong = sent.clone().text("pathParts", "x");
    let refused = user.post_form("/storage/images", &wrong).await;
    refused.refused(400, "storage/invalid-path-parts");
    let nobody = "a44521d0-0fb8-4ade-8002-3385545c3318";
    let attached = sent.clone().text("entityId", nobody);
    let refused = user.post_form("/storage/images", &attached).await;
    refused.refused(404, "storage/target-not-found");
    let two = attached.text("eventId", nobody);
    user.post_form("/storage/images", &two).await.refused(400, "storage/invalid-body");
    let other = app.user().await;
    let named = sent.text("userId", &other.id.to_string());
    user.post_form("/storage/images", &named).await.refused(403, "storage/unauthorized");
}

async fn options_are_checked(app: TestApp) {
    let key = app.service();
    let bytes = png(60, 60);
    for (name, value) in [
        ("mode", "squeeze"),
        ("sizes", "{\"small\":49}"),
        ("sizes", "{\"small\":"),
        ("sizes", "{\"original\":100}"),
        ("quality", "0"),
        ("quality", "high"),
        ("format", "bmp"),
        ("stripExif", "maybe"),
        ("fit", "cover"),
    ] {
        let mut fields = vec![("mode", "original-aspect"), ("sizes", "{\"small\":50}")];
        fields.retain(|(known, _)| *known != name);
        fields.push((name, value));
        let sent = fields.iter().fold(form(&bytes), |form, (name, value)| form.text(name, value));
        let refused = key.post_form("/storage/images", &sent).await;
        refused.refused(400, "storage/invalid-body");
    }
    let no_mode = form(&bytes).json("sizes", json!({ "small": 50 }));
    key.post_form("/storage/images", &no_mode).await.refused(400, "storage/invalid-body");
    let no_key = form(&bytes).text("mode", "original-aspect");
    key.post_form("/storage/images", &no_key).await.refused(400, "storage/invalid-body");
    let no_file = sizes(Form::new());
    key.post_form("/storage/images", &no_file).await.refused(400, "storage/no-file");
    app.nothing_stays_staged().await;
    assert_eq!(app.stored(), 0);
}

async fn variants_are_bounded_by_the_source(app: TestApp) {
    let huge = (0..20).map(|n| (format!("v{n}"), json!({ "width": 10_000, "height": 10_000 })));
    let sent = form(&png(1, 1))
        .text("mode", "exact-dimensions")
        .json("dimensions", Value::Object(huge.collect()));
    let refused = app.service().post_form("/storage/images", &sent).await;
    refused.refused(400, "storage/invalid-body");
    // The original is written too, so that nothing is left for a variant of the largest image.
    for ((width, height), expected) in [
        ((10_000, 10_000), "400 storage/invalid-body"),
        ((9_000, 9_000), "422 storage/invalid-image"),
    ] {
        let sent = sizes(form(&png_claiming(width, height)));
        let refused = app.service().post_form("/storage/images", &sent).await;
        assert_eq!(refused.outcome(), expected, "{width}x{height}");
    }
    app.nothing_stays_staged().await;
    assert_eq!(app.stored(), 0);
}

async fn the_longest_edge_is_exact(app: TestApp) {
    // Height and width follow each other's rounding: it was 399 and 364.
    for (width, height, shorter) in [(1001, 752, 300), (1000, 11, 4)] {
        let sent = form(&png(width, height))
            .text("mode", "original-aspect")
            .json("sizes", json!({ "a": 400 }));
        let stored = app.service().post_form("/storage/images", &sent).await.expect(201);
        let variant = &stored["variants"]["a"];
        assert_eq!((&variant["width"], &variant["height"]), (&json!(400), &json!(shorter)));
    }
}

async fn invalid_images_are_refused(app: TestApp) {
    let whole = png(60, 60);
    let enormous = png_claiming(30_000, 30_000);
    let cases: [&[u8]; 6] = [
        b"",
        b"<html><script>alert(1)</script></html>",
        b"<svg xmlns='http://www.w3.org/2000/svg'/>",
        &whole[..20],
        &whole[..whole.len() / 2],
        &enormous,
    ];
    for bytes in cases {
        let refused = app.service().post_form("/storage/images", &sizes(form(bytes))).await;
        let body = refused.refused(422, "storage/invalid-image");
        assert_eq!(body["error"], "Invalid image file");
        assert_eq!(body["message"], body["error"]);
    }
    app.nothing_stays_staged().await;
    assert_eq!(app.stored(), 0);
}

async fn the_original_may_keep_its_format(app: TestApp) {
    let sent = sizes(form(&png(60, 60))).text("format", "original");
    let stored = app.service().post_form("/storage/images", &sent).await.expect(201);
    assert_eq!(
        (&stored["format"], &stored["original"]["format"]),
        (&json!("original"), &json!("png"))
    );
    assert!(stored["original"]["path"].as_str().unwrap().ends_with("/original.png"));
}

async fn an_image_may_come_without_a_media_type(app: TestApp) {
    let bytes = png(60, 60);
    let part = Part { name: "file", file: "x", mime: "", bytes: &bytes };
    let stored = app.service().post_form("/storage/images", &sizes(Form::new().file(part))).await;
    let stored = stored.expect(201);
    assert_eq!(stored["type"], "image");
    let path = format!("/storage/{}", stored["fileId"].as_str().unwrap());
    assert_eq!(app.service().get(&path).await.expect(200)["originalMimeType"], "image/png");
}
