//! The link of a verification mail: what it verifies, and where a browser is redirected.

use http::Method;
use serde_json::{Value, json};
use townhall::http::query::percent_encode;

use crate::support::{Reply, TestApp, User, on_both_engines};

on_both_engines![
    with_a_list_a_link_returns_to_the_app,
    without_a_list_a_page_shows_where_to_go_on,
    an_address_that_is_not_on_the_list_is_left_out,
    a_link_without_a_good_token_or_redirect_shows_a_page,
    a_redirect_that_is_no_web_address_is_not_followed,
];

const APP: &str = "https://app.example";

async fn send(user: &User<'_>, body: Value) -> Reply {
    user.post("/auth/send-verification-email", body).await
}

async fn is_verified(app: &TestApp, user: &User<'_>) -> bool {
    let seen = app.service().get(&format!("/users/{}", user.id)).await.expect(200);
    seen["isVerified"].as_bool().unwrap()
}

/// Where the link of a mail leads, below the public URL.
fn link_in(mail: &str) -> String {
    let (_, rest) = mail.split_once("https://community.example").unwrap();
    rest.split_whitespace().next().unwrap().to_owned()
}

async fn follow(app: &TestApp, link: &str) -> Reply {
    app.anonymous().raw(Method::GET, link, "", "").await
}

/// The link that is mailed for this return address.
async fn link_to(app: &TestApp, user: &User<'_>, redirect: &str) -> String {
    let body = json!({ "mode": "link", "redirectUrl": redirect });
    let forged = user.with_header("Host", "evil.io").with_header("X-Forwarded-Host", "evil.io");
    forged.post("/auth/send-verification-email", body).await.expect(200);
    let mail = app.next_mail().await;
    assert!(!mail.contains("evil.io"), "{mail}");
    let link = link_in(&mail);
    let start = format!("/v8/{}/auth/verify-email-link?token=", app.project.id);
    assert!(link.starts_with(&start), "{link}");
    link
}

async fn with_a_list_a_link_returns_to_the_app(app: TestApp) {
    app.allow_origins(&[APP, "http://localhost:3000", "https://*.example.org"]).await;
    for (redirect, joint) in [
        ("https://app.example/done", "?"),
        ("https://app.example/done?step=2&x=%C3%BC", "&"),
        ("https://app.example:443/", "?"),
        ("http://localhost:3000/", "?"),
        ("https://a.b.example.org/done", "?"),
    ] {
        let user = app.user().await;
        let link = link_to(&app, &user, redirect).await;
        let reply = follow(&app, &link).await;
        assert_eq!(reply.status, 302, "{}", reply.text());
        let location = format!("{redirect}{joint}verified=true");
        assert_eq!(reply.header("location"), Some(location.as_str()));
        assert_eq!(reply.header("cache-control"), Some("no-store"));
        assert!(is_verified(&app, &user).await);
        let again = follow(&app, &link).await;
        assert_eq!(again.status, 302);
        let failed = format!("{redirect}{joint}verified=false&error=invalid-or-expired-token");
        assert_eq!(again.header("location"), Some(failed.as_str()));
    }
}

async fn without_a_list_a_page_shows_where_to_go_on(app: TestApp) {
    let user = app.user().await;
    let link = link_to(&app, &user, "https://app.example/done?a=\"><script>&b='").await;
    let target = "https://app.example/done?a=&quot;&gt;&lt;script&gt;&amp;b=&#39;&amp;verified=";
    for (status, title, outcome) in [
        (200, "Email verified", "true"),
        (400, "Email not verified", "false&amp;error=invalid-or-expired-token"),
    ] {
        let page = follow(&app, &link).await;
        assert_eq!(page.status, status);
        assert_eq!(page.header("location"), None);
        assert_eq!(page.header("refresh"), None);
        assert_eq!(page.header("referrer-policy"), Some("no-referrer"));
        let html = page.text();
        assert!(html.contains(title), "{html}");
        assert!(html.contains(&format!("<a href=\"{target}{outcome}\"")), "{html}");
        assert!(html.contains("app.example</a>"), "people see where it leads: {html}");
        assert!(!html.contains("<script") && !html.contains("http-equiv"), "{html}");
    }
    assert!(is_verified(&app, &user).await);
}

async fn an_address_that_is_not_on_the_list_is_left_out(app: TestApp) {
    app.allow_origins(&[APP]).await;
    let user = app.user().await;
    for elsewhere in [
        "https://evil.io/",
        "https://app.example.evil.io/",
        "https://app.example@evil.io/",
        "https://app.example:8443/",
        "http://app.example/",
        "https://evil.io/https://app.example/",
        "https://evil.io\\@app.example/",
        "https://evil.io?https://app.example",
        "https://evil.io#https://app.example",
        "https://sub.app.example/",
        "https://appXexample/",
    ] {
        let body = json!({ "mode": "link", "redirectUrl": elsewhere });
        send(&user, body).await.refused(400, "auth/invalid-body");
        let encoded = percent_encode(elsewhere);
        let path = format!("/auth/verify-email-link?token=x&redirect={encoded}");
        let page = app.anonymous().get(&path).await;
        assert_eq!(page.status, 400, "{elsewhere}");
        assert_eq!(page.header("location"), None, "{elsewhere}");
        assert!(!page.text().contains("<a "), "{elsewhere}");
    }
    // An address that was listed when the mail was sent, and no longer is.
    let link = link_to(&app, &user, "https://app.example/").await;
    app.allow_origins(&["https://other.example"]).await;
    let page = follow(&app, &link).await;
    assert_eq!((page.status, page.header("location")), (200, None));
    assert!(!page.text().contains("<a "), "{}", page.text());
}

async fn a_link_without_a_good_token_or_redirect_shows_a_page(app: TestApp) {
    let user = app.user().await;
    send(&user, json!({ "mode": "link" })).await.expect(200);
    let link = link_in(&app.next_mail().await);
    assert!(!link.contains("redirect"));
    for (status, title) in [(200, "Email verified"), (400, "Email not verified")] {
        let page = follow(&app, &link).await;
        assert_eq!(page.status, status);
        assert_eq!(page.header("content-type"), Some("text/html; charset=utf-8"));
        assert_eq!(page.header("referrer-policy"), Some("no-referrer"));
        assert!(page.header("content-security-policy").unwrap().contains("default-src 'none'"));
        assert!(page.text().contains(title) && page.header("location").is_none());
    }
    let bare = app.anonymous().get("/auth/verify-email-link").await;
    assert_eq!(bare.status, 400);
}

async fn a_redirect_that_is_no_web_address_is_not_followed(app: TestApp) {
    for redirect in [
        "javascript:alert(1)",
        "JavaScript:alert(1)",
        "javascript://%0aalert(1)",
        "javascript://%250aalert(1)",
        "java%0ascript:alert(1)",
        "java%0ascript://x",
        "%20javascript://x",
        "data:text/html,%3Cscript%3E",
        "data://x",
        "vbscript://x",
        "//evil.io",
        "/%5Cevil.io",
        "evil.io",
        "https://",
        "https://app.example/%0d%0aSet-Cookie:x=1",
        "%3Cscript%3Ealert(1)%3C/script%3E",
        "myapp://verified",
        "ftp://app.example/",
        "https://ada:secret@app.example/",
        "https:%5C%5Capp.example/",
        "https:app.example",
    ] {
        let path = format!("/auth/verify-email-link?token=x&redirect={redirect}");
        let page = app.anonymous().get(&path).await;
        assert_eq!(page.status, 400, "{redirect}");
        assert_eq!(page.header("location"), None, "{redirect}");
        assert_eq!(page.header("set-cookie"), None, "{redirect}");
        assert!(!page.text().contains("alert"), "{redirect}");
        assert!(!page.text().contains("<a "), "{redirect}");
    }
    let user = app.user().await;
    for redirect in ["myapp://verified", "ftp://app.example/", "https://ada@app.example/"] {
        let body = json!({ "mode": "link", "redirectUrl": redirect });
        send(&user, body).await.refused(400, "auth/invalid-body");
    }
}
