//! Get URL Metadata: the metadata of a page, and SSRF protection. Pages come from a small site on this
//! machine, whose address most tests allow.

use std::net::IpAddr;
use std::time::Duration;

use serde_json::json;
use tokio::net::TcpListener;
use townhall::http::query::percent_encode;

use crate::support::site::{ENDLESS, Site, html, redirect, reply};
use crate::support::{Actor, Reply, TestApp, on_both_engines};

on_both_engines![
    a_page_is_read_into_the_fixed_shape,
    missing_metadata_is_null_or_empty,
    users_and_keys_may_ask,
    the_limit_is_30_in_5_minutes_and_not_for_keys,
    a_wrong_address_is_an_invalid_query,
    addresses_that_are_not_public_are_refused_and_never_called,
    a_name_is_refused_if_one_of_its_addresses_is,
    a_name_that_changes_its_mind_is_called_at_the_judged_address_only,
    a_redirect_is_judged_like_the_first_address,
    five_redirects_are_followed_and_not_six,
    a_page_that_refreshes_itself_elsewhere_is_not_followed,
    pages_without_metadata_cannot_be_extracted,
    an_endless_page_is_read_up_to_the_limit,
    lists_and_texts_of_a_page_are_cut_and_plain,
    a_page_is_read_in_its_own_charset,
    an_answer_is_kept_for_a_day_and_for_its_project,
];

const FAILED: &str = "utils/metadata-extraction-failed";

/// A server whose operator allows this machine's usual address, and no other private one.
async fn allowing_this_machine(app: TestApp) -> TestApp {
    app.restart_with(|config| config.set("TOWNHALL_OUTBOUND_ALLOW", "127.0.0.1/32")).await
}

async fn ask(actor: &Actor<'_>, url: &str) -> Reply {
    actor.get(&format!("/utils/get-metadata?url={}", percent_encode(url))).await
}

fn addresses(texts: &[&str]) -> Vec<IpAddr> {
    texts.iter().map(|text| text.parse().unwrap()).collect()
}

async fn a_page_is_read_into_the_fixed_shape(app: TestApp) {
    let app = allowing_this_machine(app).await;
    let page = html(
        r#"<!doctype html><html lang="en"><head><meta charset="utf-8">
        <title>Plain title</title>
        <link rel="canonical" href="/real"><link rel="icon" href="icon.png">
        <meta property="og:title" content="Engines &amp; notes">
        <meta property="og:description" content="On the analytical engine">
        <meta property="og:site_name" content="Ada's notes">
        <meta property="og:type" content="article"><meta property="og:locale" content="en_GB">
        <meta property="og:image" content="/engine.png">
        <meta property="og:image:width" content="640"><meta property="og:image:height" content="480">
        <meta property="og:image:type" content="image/png"><meta property="og:image:alt" content="It">
        <meta property="og:video" content="/film.mp4"><meta property="og:video:type" content="video/mp4">
        <meta property="og:audio" content="/talk.mp3"><meta property="og:audio:type" content="audio/mpeg">
        <meta name="twitter:card" content="player"><meta name="twitter:site" content="@notes">
        <meta name="twitter:creator" content="@ada"><meta name="twitter:title" content="Card">
        <meta name="twitter:description" content="Card text">
        <meta name="twitter:image" content="/card.png">
        <meta name="twitter:player" content="/player"><meta name="twitter:player:width" content="320">
        <meta property="article:published_time" content="1843-09-01">
        <meta property="article:modified_time" content="1843-09-02">
        <meta property="article:expiration_time" content="1943-09-01">
        <meta property="article:author" content="Ada"><meta property="article:section" content="Machines">
        <meta property="article:tag" content="engines">
        <meta property="al:ios:url" content="notes://1"><meta property="al:ios:app_store_id" content="42">
        <meta property="al:ios:app_name" content="Notes">
        <meta property="al:android:package" content="com.example.notes">
        <meta property="al:web:should_fallback" content="false">
        <meta property="book:isbn" content="978"><meta property="music:duration" content="61">
        <meta property="profile:first_name" content="Ada">
        <script type="application/ld+json">{"@type":"Article","name":"Notes"}</script>
        </head></html>"#,
    );
    let site = Site::open(&[("/page?a=b", page)]).await;
    let user = app.user().await;
    let found = ask(&user, &site.url("/page?a=b")).await.expect(200);
    let image = |path: &str| json!({ "url": site.url(path), "width": null, "height": null, "type": null, "alt": null });
    assert_eq!(
        found,
        json!({
            "title": "Engines & notes",
            "description": "On the analytical engine",
            "siteName": "Ada's notes",
            "type": "article",
            "locale": "en_GB",
            "charset": "utf-8",
            "favicon": site.url("/icon.png"),
            "url": site.url("/real"),
            "images": [{ "url": site.url("/engine.png"), "width": 640, "height": 480, "type": "image/png", "alt": "It" }],
            "videos": [{ "url": site.url("/film.mp4"), "width": null, "height": null, "type": "video/mp4" }],
            "audio": [{ "url": site.url("/talk.mp3"), "type": "audio/mpeg" }],
            "twitter": {
                "card": "player", "site": "@notes", "creator": "@ada",
                "title": "Card", "description": "Card text",
                "images": [image("/card.png")],
                "players": [{ "url": site.url("/player"), "width": 320, "height": null }],
            },
            "article": {
                "publishedTime": "1843-09-01", "modifiedTime": "1843-09-02",
                "expirationTime": "1943-09-01", "author": "Ada", "section": "Machines", "tag": "engines",
            },
            "appLinks": {
                "ios": { "url": "notes://1", "appStoreId": "42", "appName": "Notes" },
                "android": { "url": null, "package": "com.example.notes", "appName": null },
                "web": { "url": null, "shouldFallback": false },
            },
            "book": { "author": null, "tag": null, "isbn": "978", "releaseDate": null },
            "music": { "album": null, "musician": null, "duration": "61", "releaseDate": null, "creator": null },
            "profile": { "firstName": "Ada", "lastName": null, "username": null, "gender": null },
            "jsonLd": [{ "@type": "Article", "name": "Notes" }],
            "requestUrl": site.url("/page?a=b"),
            "success": true,
        })
    );
}

async fn missing_metadata_is_null_or_empty(app: TestApp) {
    let app = allowing_this_machine(app).await;
    let site = Site::open(&[("/", html("<title>Hello</title>"))]).await;
    let found = ask(&app.service(), &site.url("/")).await.expect(200);
    assert_eq!(
        found,
        json!({
            "title": "Hello", "description": null, "siteName": null, "type": null, "locale": null,
            "charset": "utf-8", "favicon": null, "url": site.url("/"),
            "images": [], "videos": [], "audio": [],
            "twitter": {
                "card": null, "site": null, "creator": null, "title": null, "description": null,
                "images": [], "players": [],
            },
            "article": {
                "publishedTime": null, "modifiedTime": null, "expirationTime": null,
                "author": null, "section": null, "tag": null,
            },
            "appLinks": { "ios": null, "android": null, "web": null },
            "book": null, "music": null, "profile": null, "jsonLd": null,
            "requestUrl": site.url("/"), "success": true,
        })
    );
}

async fn users_and_keys_may_ask(app: TestApp) {
    let app = allowing_this_machine(app).await;
    let site = Site::open(&[("/", html("<title>Hello</title>"))]).await;
    let (user, stranger) = (app.user().await, app.stranger().await);
    for (who, actor, status) in [
        ("nobody", app.anonymous(), 401),
        ("nobody in v7", app.anonymous().v7(), 401),
        ("junk", app.bearer("junk"), 403),
        ("a user of another project", stranger.in_project(app.project.id), 403),
        ("a user", (*user).clone(), 200),
        ("a user in v7", user.v7(), 200),
        ("a service key", app.service(), 200),
        ("a master key", app.master(), 200),
    ] {
        let reply = ask(&actor, &site.url("/")).await;
        assert_eq!(reply.status, status, "{who}: {}", reply.text());
    }
}

async fn the_limit_is_30_in_5_minutes_and_not_for_keys(app: TestApp) {
    let app = app.restart_with(|config| config.set("TOWNHALL_RATE_LIMITS", "on")).await;
    let user = app.user().await;
    for _ in 0..30 {
        ask(&user, "").await.refused(400, "utils/invalid-query");
    }
    let limited = ask(&user, "").await;
    limited.says(429, "Too many attempts, please try again shortly");
    let headers =
        ["retry-after", "x-ratelimit-limit", "x-ratelimit-remaining", "x-ratelimit-reset"]
            .map(|name| limited.header(name).map(ToOwned::to_owned));
    assert_eq!(headers, ["300", "30", "0", "300"].map(|value| Some(value.to_owned())));
    ask(&app.service(), "").await.refused(400, "utils/invalid-query");
    app.advance(Duration::from_secs(300));
    ask(&user, "").await.refused(400, "utils/invalid-query");
}

async fn a_wrong_address_is_an_invalid_query(app: TestApp) {
    let user = app.user().await;
    user.get("/utils/get-metadata").await.refused(400, "utils/invalid-query");
    let long = format!("http://public.example/{}", "x".repeat(4000));
    for url in [
        "",
        "public.example",
        "/page",
        "file:///etc/passwd",
        "gopher://public.example/",
        "ftp://public.example/",
        "javascript:alert(1)",
        "http://u:p@public.example/",
        "http://u@public.example/",
        "http://public.example:22/",
        "http://public.example:25/",
        "http://public.example:6379/",
        "http://93.184.216.34:22/",
        "http://public.example/a\r\nX: y",
        &long,
    ] {
        let refused = ask(&user, url).await.refused(400, "utils/invalid-query");
        assert_eq!(refused.as_object().unwrap().len(), 2, "{url}");
    }
}

async fn addresses_that_are_not_public_are_refused_and_never_called(app: TestApp) {
    let canary = Site::canary().await;
    let port = canary.address.port();
    let user = app.user().await;
    for host in [
        "127.0.0.1",
        "127.255.255.254",
        "localhost",
        "LOCALHOST.",
        "a.localhost",
        "[::1]",
        "0.0.0.0",
        "[::]",
        "[::ffff:127.0.0.1]",
        "[64:ff9b::7f00:1]",
        "[2002:7f00:1::]",
        "[2001:0:7f00:1::]",
        "2130706433",
        "0x7f.1",
        "0177.1",
        "127.1",
        "10.0.0.1",
        "172.16.0.1",
        "192.168.0.1",
        "100.64.0.1",
        "169.254.169.254",
        "[fd00::1]",
        "[fe80::1]",
        "224.0.0.1",
        "[ff02::1]",
        "255.255.255.255",
    ] {
        for url in [format!("http://{host}:{port}/"), format!("https://{host}/")] {
            let refused = ask(&user, &url).await;
            assert_eq!(refused.status, 422, "{url}: {}", refused.text());
            let body = refused.refused(422, FAILED);
            assert_eq!(body.as_object().unwrap().len(), 2, "{url}");
        }
    }
    assert_eq!(canary.visits(), 0);
}

async fn a_name_is_refused_if_one_of_its_addresses_is(app: TestApp) {
    // Some range is allowed, so that a name at the canary's port is asked for at all.
    let app = app.restart_with(|config| config.set("TOWNHALL_OUTBOUND_ALLOW", "10.1.0.0/16")).await;
    let canary = Site::canary().await;
    let resolver = app.app.outbound.resolver();
    resolver.teach("inside.example", [addresses(&["127.0.0.1"])]);
    resolver.teach("both.example", [addresses(&["93.184.216.34", "127.0.0.1"])]);
    resolver.teach("mapped.example", [addresses(&["10.1.0.1", "::ffff:127.0.0.1"])]);
    let user = app.user().await;
    for name in ["inside.example", "both.example", "mapped.example"] {
        for url in [format!("http://{name}:{}/", canary.address.port()), format!("http://{name}/")]
        {
            ask(&user, &url).await.refused(422, FAILED);
        }
    }
    ask(&user, "http://unknown.example/").await.refused(422, FAILED);
    assert_eq!(canary.visits(), 0);
}

async fn a_name_that_changes_its_mind_is_called_at_the_judged_address_only(app: TestApp) {
    let app = allowing_this_machine(app).await;
    let again = redirect(302, "/page");
    let site = Site::open(&[("/page", html("<title>Hello</title>")), ("/again", again)]).await;
    let (good, bad) = (addresses(&["127.0.0.1"]), addresses(&["127.0.0.2"]));
    let resolver = app.app.outbound.resolver();
    resolver.teach("once.example", [good.clone(), bad.clone()]);
    resolver.teach("twice.example", [good, bad]);
    let user = app.user().await;
    let url = |name: &str, path: &str| format!("http://{name}:{}{path}", site.address.port());

    let found = ask(&user, &url("once.example", "/page")).await.expect(200);
    assert_eq!(found["title"], "Hello");
    // The second lookup, after the redirect, gets the other address, which is checked as well.
    ask(&user, &url("twice.example", "/again")).await.refused(422, FAILED);
    assert_eq!(site.visits(), 2);
}

async fn a_redirect_is_judged_like_the_first_address(app: TestApp) {
    let app = allowing_this_machine(app).await;
    let canary = Site::canary().await;
    let user = app.user().await;
    let port = canary.address.port();
    for to in [
        format!("http://127.0.0.2:{port}/"),
        format!("//127.0.0.2:{port}/"),
        format!("http://[::1]:{port}/"),
        "http://169.254.169.254/latest/meta-data/".to_owned(),
        "file:///etc/passwd".to_owned(),
        "http://public.example:22/".to_owned(),
    ] {
        let pages = [301, 302, 303, 307, 308].map(|s| (format!("/{s}"), redirect(s, &to)));
        let pages: Vec<(&str, String)> =
            pages.iter().map(|(path, reply)| (path.as_str(), reply.clone())).collect();
        let site = Site::open(&pages).await;
        for (path, _) in &pages {
            ask(&user, &site.url(path)).await.refused(422, FAILED);
        }
        assert_eq!(site.visits(), pages.len());
    }
    assert_eq!(canary.visits(), 0);
}

async fn five_redirects_are_followed_and_not_six(app: TestApp) {
    let app = allowing_this_machine(app).await;
    let hops = [("/6", "/5"), ("/5", "/4"), ("/4", "/3"), ("/3", "/2"), ("/2", "/1"), ("/1", "/0")];
    let mut pages: Vec<(&str, String)> =
        hops.iter().map(|(from, to)| (*from, redirect(302, to))).collect();
    pages.push(("/0", html("<title>There</title>")));
    let site = Site::open(&pages).await;
    let user = app.user().await;
    let found = ask(&user, &site.url("/5")).await.expect(200);
    assert_eq!((&found["title"], &found["url"]), (&json!("There"), &json!(site.url("/5"))));
    ask(&user, &site.url("/6")).await.refused(422, FAILED);
}

async fn a_page_that_refreshes_itself_elsewhere_is_not_followed(app: TestApp) {
    let app = allowing_this_machine(app).await;
    let canary = Site::canary().await;
    let page = format!(
        "<title>Moved</title><meta http-equiv=refresh content='0; url=http://127.0.0.1:{}/'>",
        canary.address.port()
    );
    let site = Site::open(&[("/", html(&page))]).await;
    let found = ask(&app.service(), &site.url("/")).await.expect(200);
    assert_eq!((&found["title"], canary.visits()), (&json!("Moved"), 0));
}

async fn pages_without_metadata_cannot_be_extracted(app: TestApp) {
    let app = allowing_this_machine(app).await;
    let titled = "<title>Hello</title>";
    let site = Site::open(&[
        ("/image", reply("Content-Type: image/png", titled)),
        ("/json", reply("Content-Type: application/json", titled)),
        ("/silent", html("<html lang=en><link rel=icon href=/i.ico><p>No words about itself")),
        ("/empty", html("")),
        ("/failing", html(titled).replace("200 OK", "500 Oops")),
        ("/nowhere", redirect(302, "").replace("Location: \r\n", "")),
        ("/compressed", reply("Content-Type: text/html\r\nContent-Encoding: gzip", titled)),
        ("/short", html(titled).replace("Content-Length: 20", "Content-Length: 2000")),
        ("/garbage", "\u{1}\u{2}\u{3}".to_owned()),
    ])
    .await;
    let user = app.user().await;
    let paths = ["/image", "/json", "/silent", "/empty", "/failing", "/nowhere", "/compressed"];
    for path in paths.iter().chain(&["/short", "/garbage", "/missing"]) {
        let reply = ask(&user, &site.url(path)).await;
        assert_eq!(reply.status, 422, "{path}: {}", reply.text());
        assert_eq!(reply.refused(422, FAILED).as_object().unwrap().len(), 2, "{path}");
    }
    let closed = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
    ask(&user, &format!("http://{closed}/")).await.refused(422, FAILED);
}

async fn an_endless_page_is_read_up_to_the_limit(app: TestApp) {
    let app = allowing_this_machine(app).await;
    let endless = format!(
        "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n<title>Long story</title>{ENDLESS}"
    );
    let site = Site::open(&[("/", endless)]).await;
    let found = ask(&app.service(), &site.url("/")).await.expect(200);
    assert_eq!(found["title"], "Long story");
}

async fn lists_and_texts_of_a_page_are_cut_and_plain(app: TestApp) {
    let app = allowing_this_machine(app).await;
    let images = "<meta property=og:image content=/i.png>".repeat(10_000);
    let evil = "<title><script>alert(1)</script>\u{1b}[31mRed\u{1b}[0m</title>\
                <meta property=og:image content='javascript:alert(1)'>\
                <link rel=canonical href='javascript:alert(1)'>\
                <script type=application/ld+json>{\"a\":\"\\u001b[31m\"}</script>";
    let site = Site::open(&[
        ("/many", html(&images)),
        ("/long", html(&format!("<title>{}</title>", "x".repeat(1_000_000)))),
        ("/evil", html(evil)),
    ])
    .await;
    let user = app.user().await;
    let many = ask(&user, &site.url("/many")).await.expect(200);
    assert_eq!(many["images"].as_array().map(Vec::len), Some(20));
    let long = ask(&user, &site.url("/long")).await.expect(200);
    assert_eq!(long["title"].as_str().map(str::len), Some(300));
    let evil = ask(&user, &site.url("/evil")).await.expect(200);
    assert_eq!(evil["title"], "alert(1) [31mRed[0m");
    assert_eq!((&evil["images"], &evil["url"]), (&json!([]), &json!(site.url("/evil"))));
    assert_eq!(evil["jsonLd"], json!([{ "a": "[31m" }]));
}

async fn a_page_is_read_in_its_own_charset(app: TestApp) {
    let app = allowing_this_machine(app).await;
    // ISO-2022-JP, because it is ASCII to the wire: テスト.
    let page = "<title>\u{1b}$B%F%9%H\u{1b}(B</title>";
    let site =
        Site::open(&[("/", reply("Content-Type: text/html; charset=iso-2022-jp", page))]).await;
    let found = ask(&app.service(), &site.url("/")).await.expect(200);
    assert_eq!((&found["title"], &found["charset"]), (&json!("テスト"), &json!("iso-2022-jp")));
}

async fn an_answer_is_kept_for_a_day_and_for_its_project(app: TestApp) {
    let app = allowing_this_machine(app).await;
    let site = Site::open(&[("/", html("<title>Hello</title>"))]).await;
    let service = app.service();
    let first = ask(&service, &site.url("/")).await.expect(200);
    app.advance(Duration::from_secs(24 * 60 * 60 - 1));
    let user = app.user().await;
    let second = ask(&user, &site.url("/")).await.expect(200);
    assert_eq!((&first, site.visits()), (&second, 1));

    let stranger = app.stranger().await;
    ask(&stranger, &site.url("/")).await.expect(200);
    assert_eq!(site.visits(), 2);
    app.advance(Duration::from_secs(1));
    ask(&service, &site.url("/")).await.expect(200);
    assert_eq!(site.visits(), 3);

    // A failure is not kept: the page may be back in a moment.
    for _ in 0..2 {
        ask(&service, &site.url("/missing")).await.refused(422, FAILED);
    }
    assert_eq!(site.visits(), 5);
}
