//! Read Stored File: valid and invalid signatures, how the bytes are served, and what a browser may do with
//! them.

use std::time::Duration;

use http::Method;
use serde_json::{Value, json};

use crate::support::{Form, Part, Reply, TestApp, local_part, on_both_engines, png};

on_both_engines![
    an_address_is_good_for_a_day,
    an_address_is_made_from_the_configured_url,
    how_long_an_address_is_good_is_a_setting,
    a_forged_address_opens_nothing,
    an_address_holds_for_one_project,
    a_head_says_what_the_body_would_be,
    an_address_stays_the_same_for_half_a_day,
    known_bytes_are_not_sent_again,
    variants_have_names_of_their_own,
    files_without_a_hash_are_cached_too,
    a_part_is_of_the_bytes_it_was_asked_of,
    a_part_of_a_file_is_served,
    ranges_that_make_no_sense_do_no_harm,
    only_harmless_types_are_shown_in_the_browser,
    a_large_file_comes_whole,
    lost_bytes_are_not_found,
    a_broken_storage_is_a_warning,
    a_lost_storage_takes_nothing_and_denies_nothing,
    a_storage_from_before_the_marker_is_adopted,
];

async fn upload(app: &TestApp, mime: &str, bytes: &[u8]) -> Value {
    let part = Part { name: "file", file: "a.txt", mime, bytes };
    let form = Form::new().file(part).json("pathParts", json!(["docs"]));
    app.service().post_form("/storage", &form).await.expect(201)
}

fn url(file: &Value) -> &str {
    local_part(file["publicPath"].as_str().unwrap())
}

async fn get(app: &TestApp, address: &str) -> Reply {
    app.anonymous().raw(Method::GET, address, "", "").await
}

async fn range(app: &TestApp, file: &Value, range: &str) -> Reply {
    app.anonymous().with_header("range", range).open(url(file)).await
}

async fn an_address_is_good_for_a_day(app: TestApp) {
    let file = upload(&app, "text/plain", b"0123456789").await;
    let opened = get(&app, url(&file)).await;
    assert_eq!((opened.status, opened.text().as_str()), (200, "0123456789"));
    assert_eq!(opened.header("content-type"), Some("text/plain"));
    assert_eq!(opened.header("content-length"), Some("10"));
    assert_eq!(opened.header("cache-control"), Some("private, immutable, max-age=86400"));
    assert_eq!(opened.header("accept-ranges"), Some("bytes"));
    assert_eq!(opened.header("x-content-type-options"), Some("nosniff"));
    app.advance(Duration::from_secs(86_399));
    let opened = get(&app, url(&file)).await;
    assert_eq!(opened.header("cache-control"), Some("private, immutable, max-age=1"));
    app.advance(Duration::from_secs(1));
    get(&app, url(&file)).await.refused(403, "storage/invalid-signature");

    let again = app.service().get(&format!("/storage/{}", file["fileId"].as_str().unwrap())).await;
    let fresh = again.expect(200)["originalPath"].as_str().unwrap().to_owned();
    assert_eq!(app.anonymous().open(&fresh).await.status, 200);
}

async fn an_address_stays_the_same_for_half_a_day(app: TestApp) {
    let file = upload(&app, "text/plain", b"x").await;
    let path = format!("/storage/{}", file["fileId"].as_str().unwrap());
    let shown = async || app.service().get(&path).await.expect(200)["originalPath"].clone();
    let first = shown().await;
    assert_eq!(first, file["publicPath"]);
    for seconds in [1, 42_000, 1_198] {
        app.advance(Duration::from_secs(seconds));
        assert_eq!(shown().await, first);
    }
    // Half of the day is over, and so the next address begins; the first is good for the other.
    app.advance(Duration::from_secs(1));
    let next = shown().await;
    assert_ne!(next, first);
    let opened = app.anonymous().open(first.as_str().unwrap()).await;
    assert_eq!(opened.header("cache-control"), Some("private, immutable, max-age=43200"));
    let opened = app.anonymous().open(next.as_str().unwrap()).await;
    assert_eq!(opened.header("cache-control"), Some("private, immutable, max-age=86400"));
}

async fn known_bytes_are_not_sent_again(app: TestApp) {
    let file = upload(&app, "text/plain", b"0123456789").await;
    let etag = get(&app, url(&file)).await.header("etag").unwrap().to_owned();
    assert_eq!(etag.len(), 66, "a hash in quotes: {etag}");
    let asked = async |known: &str| {
        app.anonymous().with_header("if-none-match", known).open(url(&file)).await
    };
    for known in [&etag, "*", &format!("W/{etag}"), &format!("\"x\", {etag}")] {
        let same = asked(known).await;
        assert_eq!((same.status, same.body.len()), (304, 0), "{known}");
        assert_eq!(same.header("etag"), Some(etag.as_str()));
        assert_eq!(same.header("cache-control"), Some("private, immutable, max-age=86400"));
    }
    for other in ["\"x\"", "x", "", etag.trim_matches('"')] {
        assert_eq!(asked(other).await.status, 200, "{other}");
    }
    // It comes before a range, and after the signature and the row.
    let part =
        app.anonymous().with_header("range", "bytes=99-").with_header("if-none-match", &etag);
    assert_eq!(part.open(url(&file)).await.status, 304);
    let head = app.anonymous().with_header("if-none-match", &etag);
    assert_eq!(head.raw(Method::HEAD, url(&file), "", "").await.status, 304);
    app.service().delete(&format!("/storage/{}", file["fileId"].as_str().unwrap())).await;
    asked(&etag).await.refused(404, "storage/file-not-found");
    app.advance(Duration::from_secs(86_400));
    asked("*").await.refused(403, "storage/invalid-signature");
}

async fn variants_have_names_of_their_own(app: TestApp) {
    let bytes = png(60, 60);
    let form = Form::new()
        .file(Part { name: "file", file: "a.png", mime: "image/png", bytes: &bytes })
        .text("mode", "original-aspect")
        .json("sizes", json!({ "a": 50, "b": 55 }));
    let image = app.service().post_form("/storage/images", &form).await.expect(201);
    let mut etags = Vec::new();
    for address in [
        &image["originalPath"],
        &image["variants"]["a"]["publicPath"],
        &image["variants"]["b"]["publicPath"],
    ] {
        let opened = app.anonymous().open(address.as_str().unwrap()).await;
        etags.push(opened.header("etag").unwrap().to_owned());
    }
    etags.sort();
    etags.dedup();
    assert_eq!(etags.len(), 3, "{etags:?}");
}

/// They were stored before there were hashes.
async fn files_without_a_hash_are_cached_too(app: TestApp) {
    let file = upload(&app, "text/plain", b"x").await;
    let forget = db::Command::<()>::built("forget", "UPDATE files SET sha256 = NULL".to_owned());
    let forgotten = app.app.db.write(move |tx| tx.execute(&forget, db::args![]));
    forgotten.await.unwrap_or_else(|error: db::Error| panic!("{error}"));
    let etag = get(&app, url(&file)).await.header("etag").unwrap().to_owned();
    assert_eq!(etag, format!("\"{}\"", file["fileId"].as_str().unwrap()));
    let again = app.anonymous().with_header("if-none-match", &etag).open(url(&file)).await;
    assert_eq!(again.status, 304);
}

async fn a_part_is_of_the_bytes_it_was_asked_of(app: TestApp) {
    let file = upload(&app, "text/plain", b"0123456789").await;
    let first = range(&app, &file, "bytes=0-1").await;
    let etag = first.header("etag").unwrap().to_owned();
    assert_eq!(first.header("cache-control"), Some("private, immutable, max-age=86400"));
    let rest = async |of: &str| {
        let rest = app.anonymous().with_header("range", "bytes=2-").with_header("if-range", of);
        rest.open(url(&file)).await
    };
    let part = rest(&etag).await;
    assert_eq!((part.status, part.text().as_str()), (206, "23456789"));
    // Parts are put together by strong names alone, and there are no dates.
    let date = "Sat, 01 Aug 2026 12:00:00 GMT";
    for other in [&format!("W/{etag}"), "\"x\"", "*", date] {
        let whole = rest(other).await;
        assert_eq!((whole.status, whole.text().as_str()), (200, "0123456789"), "{other}");
    }
    let beyond = app.anonymous().with_header("range", "bytes=99-");
    let other = beyond.clone().with_header("if-range", "\"x\"").open(url(&file)).await;
    assert_eq!(other.status, 200);
    let same = beyond.with_header("if-range", &etag).open(url(&file)).await;
    same.refused(416, "storage/range-not-satisfiable");
}

async fn an_address_is_made_from_the_configured_url(app: TestApp) {
    let key = app.service().with_header("x-forwarded-host", "evil.example");
    let part = Part { name: "file", file: "a.txt", mime: "", bytes: b"x" };
    let form = Form::new().file(part).text("pathParts", "[]");
    let file = key.post_form("/storage", &form).await.expect(201);
    let start = format!("https://community.example/internal/files/{}/", app.project.id);
    assert!(file["publicPath"].as_str().unwrap().starts_with(&start), "{file}");
}

async fn how_long_an_address_is_good_is_a_setting(app: TestApp) {
    let app = app.restart_with(|config| config.set("TOWNHALL_FILE_URL_TTL", "90s")).await;
    let file = upload(&app, "text/plain", b"x").await;
    let expires = app.now().seconds() + 90;
    assert!(url(&file).contains(&format!("?expires={expires}&signature=")), "{file}");
    app.advance(Duration::from_secs(90));
    get(&app, url(&file)).await.refused(403, "storage/invalid-signature");
}

async fn a_forged_address_opens_nothing(app: TestApp) {
    let (file, other) =
        (upload(&app, "text/plain", b"x").await, upload(&app, "text/plain", b"y").await);
    let (path, query) = url(&file).split_once('?').unwrap();
    let (expires, signature) = query.split_once("&signature=").unwrap();
    let seconds: i64 = expires.strip_prefix("expires=").unwrap().parse().unwrap();
    let other_path = url(&other).split_once('?').unwrap().0;
    for address in [
        path.to_owned(),
        format!("{path}?{expires}"),
        format!("{path}?signature={signature}"),
        format!("{path}?{expires}&signature="),
        format!("{path}?{expires}&signature={}", signature.to_uppercase()),
        format!("{path}?{expires}&signature={}", &signature[..63]),
        format!("{path}?expires={}&signature={signature}", seconds + 1),
        format!("{path}?expires=0{seconds}&signature={signature}"),
        format!("{path}?expires=%2B{seconds}&signature={signature}"),
        format!("{other_path}?{query}"),
        format!("{path}x?{query}"),
        format!("{path}/..?{query}"),
        format!("{path}%2f..?{query}"),
        format!("{}?{query}", path.replace("/docs/", "/..%2fdocs/")),
        format!("{}?{query}", path.replace("/docs/", "/docs%2f")),
        format!("{}?{query}", path.replace("/docs/", "/docs/%00")),
    ] {
        let reply = get(&app, &address).await;
        assert_eq!(reply.outcome(), "403 storage/invalid-signature", "{address}");
    }
    // The same address in other words is the same address.
    let spelled = path.replace("/docs/", "//d%6Fcs/");
    assert_eq!(get(&app, &format!("{spelled}?{query}")).await.status, 200);
}

async fn an_address_holds_for_one_project(app: TestApp) {
    let file = upload(&app, "text/plain", b"x").await;
    let (here, there) = (app.project.id.to_string(), app.other.id.to_string());
    let moved = url(&file).replace(&here, &there);
    get(&app, &moved).await.refused(403, "storage/invalid-signature");
    let prefixed = url(&file).replace(&here, &format!("{there}/{here}"));
    get(&app, &prefixed).await.refused(403, "storage/invalid-signature");
    let nowhere = url(&file).replace(&here, "nowhere");
    get(&app, &nowhere).await.refused(404, "storage/file-not-found");
}

async fn a_head_says_what_the_body_would_be(app: TestApp) {
    let file = upload(&app, "text/plain", b"0123456789").await;
    let head = app.anonymous().raw(Method::HEAD, url(&file), "", "").await;
    assert_eq!((head.status, head.body.len()), (200, 0));
    assert_eq!(head.header("content-length"), Some("10"));
    assert_eq!(head.header("content-type"), Some("text/plain"));
    let (path, _) = url(&file).split_once('?').unwrap();
    assert_eq!(app.anonymous().raw(Method::HEAD, path, "", "").await.status, 403);
    let part = app.anonymous().with_header("range", "bytes=2-3");
    let part = part.raw(Method::HEAD, url(&file), "", "").await;
    assert_eq!((part.status, part.header("content-length")), (206, Some("2")));
}

async fn a_part_of_a_file_is_served(app: TestApp) {
    let file = upload(&app, "text/plain", b"0123456789").await;
    for (asked, text, said) in [
        ("bytes=0-0", "0", "bytes 0-0/10"),
        ("bytes=2-5", "2345", "bytes 2-5/10"),
        ("bytes=7-", "789", "bytes 7-9/10"),
        ("bytes=-2", "89", "bytes 8-9/10"),
        ("bytes=5-1000", "56789", "bytes 5-9/10"),
    ] {
        let part = range(&app, &file, asked).await;
        assert_eq!((part.status, part.text().as_str()), (206, text), "{asked}");
        assert_eq!(part.header("content-range"), Some(said));
        assert_eq!(part.header("content-length"), Some(text.len().to_string().as_str()));
    }
    let of_a_state = app.anonymous().with_header("range", "bytes=2-5").with_header("if-range", "x");
    assert_eq!(of_a_state.open(url(&file)).await.status, 200);
}

async fn ranges_that_make_no_sense_do_no_harm(app: TestApp) {
    let file = upload(&app, "text/plain", b"0123456789").await;
    for asked in ["bytes=-0", "bytes=10-", "bytes=99999999999999999999-"] {
        let refused = range(&app, &file, asked).await;
        refused.refused(416, "storage/range-not-satisfiable");
        assert_eq!(refused.header("content-range"), Some("bytes */10"), "{asked}");
    }
    let thousand = format!("bytes={}9-9", "0-0,".repeat(1_000));
    for asked in ["bytes=5-1", "bytes=0-1,3-4", "bytes=a-b", "lines=1-2", "bytes", &thousand] {
        let whole = range(&app, &file, asked).await;
        assert_eq!((whole.status, whole.text().as_str()), (200, "0123456789"), "{asked}");
        assert_eq!(whole.header("content-range"), None);
    }
    let empty = upload(&app, "text/plain", b"").await;
    range(&app, &empty, "bytes=0-").await.refused(416, "storage/range-not-satisfiable");
}

async fn only_harmless_types_are_shown_in_the_browser(app: TestApp) {
    let page = b"<html><script>alert(1)</script></html>";
    for (mime, attached) in [
        ("text/html", true),
        ("image/svg+xml", true),
        ("IMAGE/SVG+XML; x=1", true),
        ("image/svg", true),
        ("IMAGE/PNG", true),
        ("image/png; charset=x", true),
        ("application/xhtml+xml", true),
        ("application/javascript", true),
        ("text/plain", true),
        ("", true),
        ("image/png", false),
        ("video/mp4", false),
        ("audio/mpeg", false),
        ("application/pdf", false),
    ] {
        let file = upload(&app, mime, page).await;
        let opened = get(&app, url(&file)).await;
        let disposition = opened.header("content-disposition");
        assert_eq!(disposition, attached.then_some("attachment"), "{mime}");
        assert_eq!(opened.header("x-content-type-options"), Some("nosniff"));
        let policy = opened.header("content-security-policy");
        assert_eq!(policy, Some("sandbox; default-src 'none'"), "{mime}");
    }
}

async fn a_large_file_comes_whole(app: TestApp) {
    let bytes: Vec<u8> = (0..3_000_000_u32).flat_map(u32::to_le_bytes).collect();
    let file = upload(&app, "application/zip", &bytes).await;
    let opened = get(&app, url(&file)).await;
    assert_eq!(opened.status, 200);
    assert!(opened.body == bytes, "{} bytes of {}", opened.body.len(), bytes.len());
    let part = range(&app, &file, "bytes=1000001-7000000").await;
    assert!(part.body == bytes[1_000_001..=7_000_000], "{} bytes", part.body.len());
}

async fn lost_bytes_are_not_found(app: TestApp) {
    let file = upload(&app, "text/plain", b"x").await;
    let place = app.data_dir().join("files").join(app.project.id.to_string());
    std::fs::remove_dir_all(place).unwrap();
    get(&app, url(&file)).await.refused(404, "storage/file-not-found");
    upload(&app, "text/plain", b"y").await;
}

async fn a_broken_storage_is_a_warning(app: TestApp) {
    let app = app.own_server().await;
    let file = upload(&app, "text/plain", b"x").await;
    let files = app.data_dir().join("files");
    std::fs::rename(&files, files.with_extension("aside")).unwrap();
    std::fs::write(&files, b"").unwrap();
    let ready = get(&app, "/readyz").await.expect(200);
    assert_eq!(ready["checks"]["storage"]["status"], "warn");
    let form = Form::new()
        .file(Part { name: "file", file: "a", mime: "", bytes: b"x" })
        .text("pathParts", "[]");
    app.service().post_form("/storage", &form).await.refused(503, "server/busy");
    assert_eq!(get(&app, url(&file)).await.outcome(), "503 server/busy");
    app.anonymous().get("/users/suggestions?query=a").await.expect(200);
    std::fs::remove_file(&files).unwrap();
    std::fs::rename(files.with_extension("aside"), &files).unwrap();
    assert_eq!(get(&app, url(&file)).await.status, 200);
    get(&app, "/readyz").await.expect(200);
}

fn upload_form() -> Form {
    Form::new()
        .file(Part { name: "file", file: "a", mime: "", bytes: b"x" })
        .text("pathParts", "[]")
}

async fn a_lost_storage_takes_nothing_and_denies_nothing(app: TestApp) {
    let app = app.own_server().await;
    let file = upload(&app, "text/plain", b"x").await;
    let files = app.data_dir().join("files");
    let aside = files.with_extension("aside");
    std::fs::rename(&files, &aside).unwrap();
    let refused = async || {
        let refused = app.service().post_form("/storage", &upload_form()).await;
        refused.refused(503, "server/busy");
        // Nobody knows whether it is there.
        assert_eq!(get(&app, url(&file)).await.outcome(), "503 server/busy");
        assert!(app.app.storage.check().await.is_err());
        let ready = get(&app, "/readyz").await.json();
        assert_ne!(ready["checks"]["storage"], "pass");
    };
    refused().await;
    assert!(!files.exists(), "it was made anew");
    // An empty directory, as where a disk is mounted, is no better, nor is a new start.
    std::fs::create_dir(&files).unwrap();
    refused().await;
    townhall::start::claim_storage(&app.app).await.unwrap();
    refused().await;
    std::fs::remove_dir(&files).unwrap();
    townhall::start::claim_storage(&app.app).await.unwrap();
    refused().await;
    assert!(!files.exists());

    // What was to be removed meanwhile is removed when it is back.
    let path = format!("/storage/{}", file["fileId"].as_str().unwrap());
    app.service().delete(&path).await.expect(200);
    app.run_jobs().await;
    std::fs::rename(&aside, &files).unwrap();
    assert_eq!(app.stored(), 1);
    app.advance(Duration::from_secs(3_600));
    app.run_jobs().await;
    assert_eq!(app.stored(), 0);
    app.service().post_form("/storage", &upload_form()).await.expect(201);
    app.app.storage.check().await.unwrap();
}

async fn a_storage_from_before_the_marker_is_adopted(app: TestApp) {
    let app = app.own_server().await;
    let file = upload(&app, "text/plain", b"x").await;
    std::fs::remove_file(app.data_dir().join("files/.townhall")).unwrap();
    app.service().post_form("/storage", &upload_form()).await.refused(503, "server/busy");
    townhall::start::claim_storage(&app.app).await.unwrap();
    app.service().post_form("/storage", &upload_form()).await.expect(201);
    assert_eq!(get(&app, url(&file)).await.status, 200);
    assert_eq!(app.stored(), 2);
}
