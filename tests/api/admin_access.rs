//! The doors of the admin: invitations, signing in, sessions, forms from elsewhere, and who may open what.

use std::time::Duration;

use http::Method;
use townhall::auth::operators::{Audience, Role};
use townhall::features;
use townhall::values::ids::ProjectId;

use crate::support::visitor::{PASSWORD, Visitor, invite};
use crate::support::{Reply, TestApp, all_at_once, on_both_engines};

on_both_engines![
    an_invitation_makes_one_operator,
    a_cookie_is_for_this_server_and_no_script,
    a_wrong_password_opens_nothing,
    attempts_at_one_account_are_limited,
    a_session_ends,
    one_time_passwords_work_once,
    a_form_from_elsewhere_changes_nothing,
    every_page_is_for_its_audience_alone,
    an_operator_of_another_project_finds_no_door,
    a_disabled_operator_is_out_at_once,
    the_last_owner_stays,
    pages_load_nothing_from_elsewhere,
    the_admin_may_be_switched_off,
];

#[track_caller]
fn leads_to(reply: &Reply, to: &str) {
    assert_eq!((reply.status, reply.header("location")), (303, Some(to)), "{}", reply.text());
}

async fn an_invitation_makes_one_operator(app: TestApp) {
    let token = invite(&app, Role::Moderator, Some(app.project.id)).await;
    let stranger = Visitor::stranger(&app);
    let link = format!("/admin/invitation?token={token}");
    let page = stranger.get(&link).await;
    assert_eq!(page.status, 200);
    assert!(page.text().contains("<strong>moderator</strong>"), "{}", page.text());

    let fields = |email: &'static str, password: &'static str| {
        [
            ("token", token.clone()),
            ("name", "Mo".into()),
            ("email", email.into()),
            ("password", password.into()),
        ]
    };
    let accept = async |email, password| {
        let fields = fields(email, password);
        let fields: Vec<_> = fields.iter().map(|(name, value)| (*name, value.as_str())).collect();
        stranger.post("/admin/invitation", &fields).await
    };
    for (email, password) in [("mo@one.example", "short"), ("no address", PASSWORD), ("", PASSWORD)]
    {
        let refused = accept(email, password).await;
        assert_eq!(refused.status, 400, "{email} {password}: {}", refused.text());
    }
    // Of many who use the link at once, one gets in.
    let replies = all_at_once((0..8).map(|_| accept("mo@one.example", PASSWORD))).await;
    let accepted = replies.iter().filter(|reply| reply.status == 303).count();
    assert_eq!(accepted, 1);
    assert_eq!(stranger.get(&link).await.status, 404);

    // An address is of one operator; a link that is too old opens nothing.
    let token = invite(&app, Role::Owner, None).await;
    let taken =
        [("token", &*token), ("name", "x"), ("email", "MO@one.example"), ("password", PASSWORD)];
    assert_eq!(stranger.post("/admin/invitation", &taken).await.status, 400);
    app.advance(Duration::from_secs(3 * 86_400 + 1));
    let late =
        [("token", &*token), ("name", "x"), ("email", "late@one.example"), ("password", PASSWORD)];
    assert_eq!(stranger.post("/admin/invitation", &late).await.status, 404);
}

async fn a_cookie_is_for_this_server_and_no_script(app: TestApp) {
    let mut owner = Visitor::operator(&app, Role::Owner, None).await;
    let reply = owner.sign_in(PASSWORD, "").await;
    leads_to(&reply, "/admin");
    let cookie = reply.header("set-cookie").unwrap();
    assert!(cookie.starts_with("__Host-townhall_admin="), "{cookie}");
    for part in ["; Path=/", "; HttpOnly", "; SameSite=Strict", "; Secure"] {
        assert!(cookie.contains(part), "{cookie}");
    }
    let home = owner.get("/admin").await;
    assert_eq!((home.status, home.header("cache-control")), (200, Some("no-store")));
}

async fn a_wrong_password_opens_nothing(app: TestApp) {
    let mut owner = Visitor::operator(&app, Role::Owner, None).await;
    owner.cookie = None;
    let wrong = owner.sign_in("wrong password", "").await;
    let mut nobody = owner.clone();
    nobody.email = "nobody@operators.example".to_owned();
    let unknown = nobody.sign_in(PASSWORD, "").await;
    for reply in [&wrong, &unknown] {
        assert_eq!((reply.status, reply.header("set-cookie")), (403, None));
        assert!(reply.text().contains("The address, the password or the code is wrong."));
    }
    assert_eq!(owner.sign_in(PASSWORD, "").await.status, 303);
    // Back to where one wanted to go, but only within the admin.
    for (next, to) in [
        ("/admin/account", "/admin/account"),
        ("//evil.example/admin/", "/admin"),
        ("https://evil.example/", "/admin"),
        ("/admin/\\evil.example", "/admin"),
    ] {
        let fields = [("email", &*owner.email), ("password", PASSWORD), ("next", next)];
        leads_to(&owner.post("/admin/sign-in", &fields).await, to);
    }
}

async fn attempts_at_one_account_are_limited(app: TestApp) {
    let app = app.with_networks().await;
    let owner = Visitor::operator(&app, Role::Owner, None).await;
    let attempt = async |network: u32, password: &str| {
        let address = format!("203.0.113.{network}");
        let own = [("origin", "https://community.example"), ("x-forwarded-for", &*address)];
        let fields = [("email", &*owner.email), ("password", password)];
        owner.post_from("/admin/sign-in", &fields, &own).await.status
    };
    for network in 1..=10 {
        assert_eq!(attempt(network, "wrong password").await, 403);
    }
    assert_eq!(attempt(11, PASSWORD).await, 429);
    app.advance(Duration::from_secs(301));
    assert_eq!(attempt(12, PASSWORD).await, 303);
}

async fn a_session_ends(app: TestApp) {
    let mut owner = Visitor::operator(&app, Role::Owner, None).await;
    let elsewhere = {
        let mut other = owner.clone();
        other.sign_in(PASSWORD, "").await;
        other
    };
    let page = owner.get("/admin/account").await.text();
    assert_eq!(page.matches("name=\"session\"").count(), 2, "{page}");
    leads_to(&owner.submit("/admin/account/sessions", &[("all", "1")]).await, "/admin/account");
    leads_to(&elsewhere.get("/admin").await, "/admin/sign-in");
    assert_eq!(owner.get("/admin").await.status, 200);

    // Used now and then it lives, but not for ever.
    for _ in 0..15 {
        app.advance(Duration::from_secs(11 * 3600));
        assert_eq!(owner.get("/admin").await.status, 200);
    }
    app.advance(Duration::from_secs(4 * 3600));
    leads_to(&owner.get("/admin").await, "/admin/sign-in");
    owner.sign_in(PASSWORD, "").await;
    app.advance(Duration::from_secs(12 * 3600 + 1));
    leads_to(&owner.get("/admin").await, "/admin/sign-in");

    owner.sign_in(PASSWORD, "").await;
    let kept = owner.clone();
    let signed_out = owner.submit("/admin/sign-out", &[]).await;
    leads_to(&signed_out, "/admin/sign-in");
    leads_to(&kept.get("/admin").await, "/admin/sign-in");
}

async fn one_time_passwords_work_once(app: TestApp) {
    let mut owner = Visitor::operator(&app, Role::Owner, None).await;
    let page = owner.submit("/admin/account/totp", &[("step", "begin")]).await.text();
    let (_, rest) = page.split_once("name=\"secret\" value=\"").unwrap();
    let secret = rest.split('"').next().unwrap().to_owned();
    assert!(page.contains("<svg class=\"qr\""));
    let wrong = [("step", "confirm"), ("secret", &*secret), ("code", "000000")];
    assert!(owner.submit("/admin/account/totp", &wrong).await.text().contains("does not fit"));
    let code = code(&secret, app.now().seconds());
    let right = [("step", "confirm"), ("secret", &*secret), ("code", &*code)];
    leads_to(&owner.submit("/admin/account/totp", &right).await, "/admin/account");

    // The code that switched it on is used up.
    assert_eq!(owner.sign_in(PASSWORD, &code).await.status, 403);
    assert_eq!(owner.sign_in(PASSWORD, "").await.status, 403);
    app.advance(Duration::from_secs(60));
    let next = self::code(&secret, app.now().seconds());
    assert_eq!(owner.sign_in("wrong password", &next).await.status, 403);
    assert_eq!(owner.sign_in(PASSWORD, &next).await.status, 303);
    assert_eq!(owner.clone().sign_in(PASSWORD, &next).await.status, 403);

    // Switching it off takes the password.
    let off = [("step", "off"), ("current", "wrong password")];
    assert_eq!(owner.submit("/admin/account/totp", &off).await.status, 400);
    leads_to(
        &owner.submit("/admin/account/totp", &[("step", "off"), ("current", PASSWORD)]).await,
        "/admin/account",
    );
    assert_eq!(owner.sign_in(PASSWORD, "").await.status, 303);
}

/// RFC 6238, once more and the slow way.
fn code(secret: &str, seconds: i64) -> String {
    use aws_lc_rs::hmac::{HMAC_SHA1_FOR_LEGACY_USE_ONLY, Key, sign};
    let bits: String = secret
        .bytes()
        .map(|c| if c.is_ascii_digit() { c - b'2' + 26 } else { c - b'A' })
        .map(|value| format!("{value:05b}"))
        .collect();
    let key: Vec<u8> = bits
        .as_bytes()
        .chunks_exact(8)
        .map(|b| u8::from_str_radix(std::str::from_utf8(b).unwrap(), 2).unwrap())
        .collect();
    let tag = sign(&Key::new(HMAC_SHA1_FOR_LEGACY_USE_ONLY, &key), &(seconds / 30).to_be_bytes());
    let tag = tag.as_ref();
    let at = usize::from(tag[19] & 15);
    let word = u32::from_be_bytes(tag[at..at + 4].try_into().unwrap()) & 0x7fff_ffff;
    format!("{:06}", word % 1_000_000)
}

async fn a_form_from_elsewhere_changes_nothing(app: TestApp) {
    let owner = Visitor::operator(&app, Role::Owner, None).await;
    let csrf = owner.csrf().await;
    let path = format!("/admin/p/{}/keys", app.project.id);
    let fields = [("csrf", &*csrf), ("do", "create"), ("kind", "master")];
    let before = app.rows("project_keys").await;
    for headers in [
        &[("origin", "https://evil.example")][..],
        &[("origin", "null")],
        &[("sec-fetch-site", "cross-site")],
        &[("sec-fetch-site", "same-site")],
    ] {
        let reply = owner.post_from(&path, &fields, headers).await;
        assert_eq!(reply.status, 403, "{headers:?}");
    }
    // Without the token of the session, or with another's.
    let other = Visitor::operator(&app, Role::Owner, None).await.csrf().await;
    for fields in [
        &[("do", "create"), ("kind", "master")][..],
        &[("csrf", ""), ("do", "create"), ("kind", "master")],
        &[("csrf", &*other), ("do", "create"), ("kind", "master")],
        &[],
    ] {
        assert_eq!(owner.post(&path, fields).await.status, 403, "{fields:?}");
    }
    assert_eq!(app.rows("project_keys").await, before);
    assert_eq!(owner.post(&path, &fields).await.status, 200);
    assert_eq!(app.rows("project_keys").await, before + 1);
    // No page of another origin may read what is here.
    let reply = owner.post_from("/admin/sign-in", &[], &[("origin", "https://evil.example")]).await;
    assert_eq!(reply.header("access-control-allow-origin"), None);
}

/// The address of a page, with ids that exist nowhere in place of its parameters.
fn address(path: &str, project: ProjectId) -> String {
    let nowhere = "00000000-0000-4000-8000-000000000001";
    let filled: Vec<String> = path
        .split('/')
        .map(|part| match part {
            "{projectId}" => project.to_string(),
            part if part.starts_with('{') => nowhere.to_owned(),
            part => part.to_owned(),
        })
        .collect();
    filled.join("/")
}

async fn every_page_is_for_its_audience_alone(app: TestApp) {
    let (here, there) = (app.project.id, app.other.id);
    let roles = [Role::Analyst, Role::Moderator, Role::Admin, Role::Owner];
    let mut visitors = Vec::new();
    for role in roles {
        visitors.push((role, Some(here), Visitor::operator(&app, role, Some(here)).await));
        visitors.push((role, None, Visitor::operator(&app, role, None).await));
    }
    let stranger = Visitor::stranger(&app);
    let mut checked = 0;
    for page in features::pages() {
        let audience = page.audience.unwrap();
        if audience == Audience::Anyone {
            continue;
        }
        let is_post = page.method == Method::POST;
        for project in [here, there] {
            let path = address(page.path, project);
            let reply =
                if is_post { stranger.post(&path, &[]).await } else { stranger.get(&path).await };
            assert!(
                reply.status == 303
                    && reply.header("location").unwrap().starts_with("/admin/sign-in"),
                "{page:?}"
            );
            for (role, of, visitor) in &visitors {
                // The first ends the session that the others are checked with, the second does not end.
                let is_endless = page.path.ends_with("/live") && *role >= Role::Moderator;
                if page.path == "/admin/sign-out" || is_endless {
                    continue;
                }
                let reply = if is_post {
                    visitor.submit(&path, &[]).await
                } else {
                    visitor.get(&path).await
                };
                let may_see_project = of.is_none() || project == here;
                let is_in_project = page.path.contains("{projectId}");
                let may = match audience {
                    Audience::Anyone | Audience::Operator => true,
                    Audience::InProject(least) => *role >= least && may_see_project,
                    Audience::Everywhere(least) => *role >= least && of.is_none(),
                };
                let title = format!("{page:?} for {role:?} of {of:?}: {}", reply.status);
                if may {
                    let is_refusal =
                        reply.status == 403 || reply.text().contains("it is not for you");
                    let is_unknown = page.path.matches('{').count() > 1;
                    assert!(!is_refusal || is_unknown, "{title}");
                } else if is_in_project && !may_see_project {
                    assert_eq!(reply.status, 404, "{title}");
                } else {
                    assert_eq!(reply.status, 403, "{title}");
                }
                checked += 1;
            }
        }
    }
    assert!(checked > 400, "{checked}");
}

async fn an_operator_of_another_project_finds_no_door(app: TestApp) {
    let admin = Visitor::operator(&app, Role::Admin, Some(app.other.id)).await;
    let unknown = "/admin/p/00000000-0000-4000-8000-000000000001/keys";
    let foreign = format!("/admin/p/{}/keys", app.project.id);
    let (unknown, foreign) = (admin.get(unknown).await, admin.get(&foreign).await);
    assert_eq!((unknown.status, unknown.text()), (foreign.status, foreign.text()));
    assert_eq!(foreign.status, 404);
    let list = admin.get("/admin").await.text();
    assert!(
        list.contains(&app.other.id.to_string()) && !list.contains(&app.project.id.to_string())
    );

    // Nor can a key of a foreign project be revoked through an own one.
    let project = app.project.id;
    let keys = app.app.db.read(move |c| townhall::tenancy::store::keys(c, project)).await.unwrap();
    let path = format!("/admin/p/{}/keys", app.other.id);
    let id = keys[0].id.to_string();
    assert_eq!(admin.submit(&path, &[("do", "revoke"), ("key", &id)]).await.status, 404);
    app.service().get("/users/suggestions?query=a").await.expect(200);
}

async fn a_disabled_operator_is_out_at_once(app: TestApp) {
    let owner = Visitor::operator(&app, Role::Owner, None).await;
    let mut moderator = Visitor::operator(&app, Role::Moderator, None).await;
    let page = owner.get("/admin/operators").await.text();
    let (before, _) = page.split_once(&moderator.email).unwrap();
    let (_, after) = page.split_at(before.len());
    let (_, rest) = after.split_once("name=\"operator\" value=\"").unwrap();
    let id = rest.split('"').next().unwrap().to_owned();
    let disable = [("operator", &*id), ("disabled", "yes")];
    leads_to(&owner.submit("/admin/operators/change", &disable).await, "/admin/operators");
    leads_to(&moderator.get("/admin").await, "/admin/sign-in");
    assert_eq!(moderator.sign_in(PASSWORD, "").await.status, 403);
    owner.submit("/admin/operators/change", &[("operator", &*id), ("disabled", "no")]).await;
    assert_eq!(moderator.sign_in(PASSWORD, "").await.status, 303);

    // A link for a new password ends the sessions; a new role counts at once.
    let page = owner
        .submit("/admin/operators/change", &[("operator", &*id), ("reset", "yes")])
        .await
        .text();
    let (_, rest) = page.split_once("?token=").unwrap();
    let token = rest.split('"').next().unwrap();
    let set = [("token", token), ("password", "another long password")];
    leads_to(&Visitor::stranger(&app).post("/admin/invitation", &set).await, "/admin");
    leads_to(&moderator.get("/admin").await, "/admin/sign-in");
    assert_eq!(moderator.sign_in(PASSWORD, "").await.status, 403);
    assert_eq!(moderator.sign_in("another long password", "").await.status, 303);
    let keys = format!("/admin/p/{}/keys", app.project.id);
    assert_eq!(moderator.get(&keys).await.status, 403);
    owner
        .submit(
            "/admin/operators/change",
            &[("operator", &*id), ("role", "admin"), ("project", "")],
        )
        .await;
    assert_eq!(moderator.get(&keys).await.status, 200);
}

async fn the_last_owner_stays(app: TestApp) {
    let app = app.own_server().await;
    let owner = Visitor::operator(&app, Role::Owner, None).await;
    let page = owner.get("/admin/operators").await.text();
    let (_, rest) = page.split_once("name=\"operator\" value=\"").unwrap();
    let id = rest.split('"').next().unwrap().to_owned();
    for change in [("disabled", "yes"), ("role", "admin"), ("role", "none")] {
        let reply = owner
            .submit("/admin/operators/change", &[("operator", &*id), change, ("project", "")])
            .await;
        assert_eq!(reply.status, 409, "{change:?}");
        assert_eq!(owner.get("/admin/operators").await.status, 200);
    }
}

async fn pages_load_nothing_from_elsewhere(app: TestApp) {
    let owner = Visitor::operator(&app, Role::Owner, None).await;
    let pages = features::pages().iter().filter(|page| page.method == Method::GET);
    for page in pages.filter(|page| !page.path.ends_with("/live")) {
        let reply = owner.get(&address(page.path, app.project.id)).await;
        let Some(media) = reply.header("content-type") else { continue };
        if !media.starts_with("text/html") {
            continue;
        }
        let policy = reply.header("content-security-policy").unwrap();
        assert!(policy.starts_with("default-src 'none'") && !policy.contains("unsafe"), "{page:?}");
        let text = reply.text();
        assert!(reply.body.len() < 60_000, "{page:?} has {} bytes", reply.body.len());
        for forbidden in ["<script>", " style=\"", " onclick", "src=\"http", "href=\"//"] {
            assert!(!text.contains(forbidden), "{page:?} contains {forbidden}");
        }
    }
    let style = owner.get("/admin").await.text();
    let (_, rest) = style.split_once("href=\"/admin/assets/style.css").unwrap();
    let path = format!("/admin/assets/style.css{}", rest.split('"').next().unwrap());
    let asset = Visitor::stranger(&app).get(&path).await;
    assert_eq!(
        (asset.status, asset.header("cache-control")),
        (200, Some("public, max-age=31536000, immutable"))
    );
    assert_eq!(Visitor::stranger(&app).get("/admin/assets/..%2fmod.rs").await.status, 404);
}

async fn the_admin_may_be_switched_off(app: TestApp) {
    let routed = |router: &townhall::http::router::Router, path: &str| {
        router.server(&Method::GET, path).is_some()
    };
    let api = features::api_router().unwrap();
    let admin = features::admin_router().unwrap();
    for path in ["/admin", "/admin/sign-in"] {
        assert!(
            routed(features::router().unwrap(), path) && routed(admin, path) && !routed(api, path),
            "{path}"
        );
    }
    assert!(routed(api, "/docs") && routed(api, "/admin/assets/style.css"));
    assert!(routed(admin, "/livez") && routed(api, "/livez") && !routed(admin, "/metrics"));
    drop(app);
}
