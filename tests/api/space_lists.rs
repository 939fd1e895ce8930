//! Lists of spaces: all that a viewer can find, a user's own, and those that two users share.

use serde_json::{Value, json};

use crate::notifications::UNKNOWN;
use crate::space_members::{of, open_space};
use crate::spaces::{create, id, join, path};
use crate::support::{Actor, TestApp, keys, on_both_engines};

on_both_engines![
    spaces_are_sorted_and_paged,
    spaces_are_searched_and_filtered,
    unlisted_spaces_are_listed_for_their_members,
    own_spaces_by_status_and_role,
    spaces_that_two_users_share,
    a_page_costs_as_many_statements_as_a_space,
];

async fn names(actor: &Actor<'_>, query: &str) -> String {
    let page = actor.get(&format!("/spaces?{query}")).await.expect(200);
    let names: Vec<&str> =
        page["data"].as_array().unwrap().iter().map(|one| one["name"].as_str().unwrap()).collect();
    assert_eq!(page["pagination"]["totalItems"], names.len(), "{query}");
    names.join(" ")
}

async fn spaces_are_sorted_and_paged(app: TestApp) {
    let (ada, bob, cleo) = (app.user().await, app.user().await, app.user().await);
    for (name, members) in [("bbb", 1), ("Aaa", 3), ("ccc", 2), ("ddd", 1)] {
        app.advance(std::time::Duration::from_secs(1));
        let new = json!({ "name": name, "requireJoinApproval": false });
        let space = create(&ada, new).await;
        for user in [&bob, &cleo].iter().take(members - 1) {
            join(user, &space).await;
        }
    }
    let anyone = app.anonymous();
    for (query, expected) in [
        ("", "Aaa ccc ddd bbb"),
        ("sortBy=members", "Aaa ccc ddd bbb"),
        ("sortBy=most_members", "Aaa ccc ddd bbb"),
        ("sortBy=least_members", "ddd bbb ccc Aaa"),
        ("sortBy=newest", "ddd ccc Aaa bbb"),
        ("sortBy=oldest", "bbb Aaa ccc ddd"),
        ("sortBy=alphabetical", "Aaa bbb ccc ddd"),
    ] {
        for actor in [&anyone, &*bob, &app.service()] {
            assert_eq!(names(actor, query).await, expected, "{query}");
        }
    }
    let mut seen = Vec::new();
    for page in 1..=3 {
        let listed =
            bob.get(&format!("/spaces?sortBy=newest&limit=2&page={page}")).await.expect(200);
        seen.extend(listed["data"].as_array().unwrap().iter().map(|one| one["name"].clone()));
        let expected = json!({
            "page": page, "pageSize": 2, "totalPages": 2, "totalItems": 4, "hasMore": page < 2,
        });
        assert_eq!(listed["pagination"], expected);
    }
    assert_eq!(Value::from(seen), json!(["ddd", "ccc", "Aaa", "bbb"]));
    let lenient = anyone.get("/spaces?page=0&limit=1000").await.expect(200);
    assert_eq!(lenient["pagination"]["pageSize"], 100);
    assert!(
        lenient["data"][0].get("isMember").is_none()
            && lenient["data"][0].get("avatarFile").is_none()
    );
    let own = bob.get("/spaces?include=files,bogus").await.expect(200);
    assert!(own["data"][0]["isMember"] == true && own["data"][2]["isMember"] == false);
    assert!(own["data"][0]["avatarFile"].is_null() && own["data"][0].get("bannerFile").is_some());
    for wrong in [
        "sortBy=hot",
        "memberOf=false",
        "memberOf=1",
        "parentSpaceId=x",
        "nsfwFilter=no",
        "readingPermission=x",
    ] {
        anyone.get(&format!("/spaces?{wrong}")).await.refused(400, "space/invalid-query");
    }
    assert_eq!(names(&*app.stranger().await, "").await, "");
}

async fn spaces_are_searched_and_filtered(app: TestApp) {
    let ada = app.user().await;
    let root =
        create(&ada, json!({ "name": "Straße 100%", "slug": "Rust_1", "description": "A CLUB" }))
            .await;
    app.advance(std::time::Duration::from_secs(1));
    let of_root = json!({
        "name": "ÉCOLE", "parentSpaceId": root["id"], "nsfw": true, "readingPermission": "members",
    });
    create(&ada, of_root).await;
    for (query, expected) in [
        ("searchName=STRASSE", ""),
        ("searchName=straße", "Straße 100%"),
        ("searchName=100%25", "Straße 100%"),
        ("searchName=_00", ""),
        ("searchName=école", "ÉCOLE"),
        ("searchSlug=rust_", "Straße 100%"),
        ("searchSlug=rustx", ""),
        ("searchDescription=club", "Straße 100%"),
        ("searchDescription=club&searchName=école", ""),
        ("searchAny=CLUB", "Straße 100%"),
        ("searchAny=col", "ÉCOLE"),
        ("searchName=", "ÉCOLE Straße 100%"),
        ("readingPermission=members", "ÉCOLE"),
        ("parentSpaceId=null", "Straße 100%"),
        (&format!("parentSpaceId={}", id(&root)), "ÉCOLE"),
        (&format!("parentSpaceId={UNKNOWN}"), ""),
        ("nsfwFilter=include-all", "ÉCOLE Straße 100%"),
        ("nsfwFilter=only", "ÉCOLE"),
        ("nsfwFilter=exclude", "Straße 100%"),
    ] {
        for actor in [&app.anonymous(), &*ada] {
            assert_eq!(names(actor, query).await, expected, "{query}");
        }
    }
    ada.patch(&path(&root), json!({ "nsfw": true })).await.expect(200);
    assert_eq!(names(&ada, "nsfwFilter=exclude").await, "");
    let long = format!("/spaces?searchAny={}", "x".repeat(257));
    ada.get(&long).await.refused(400, "space/invalid-query");
}

async fn unlisted_spaces_are_listed_for_their_members(app: TestApp) {
    let (ada, bob) = (app.user().await, app.user().await);
    for (name, visibility) in
        [("Public", "public"), ("Unlisted", "unlisted"), ("Private", "private")]
    {
        app.advance(std::time::Duration::from_secs(1));
        create(&ada, json!({ "name": name, "visibility": visibility })).await;
    }
    app.advance(std::time::Duration::from_secs(1));
    let last = create(&bob, json!({ "name": "Last" })).await;
    for (sort, expected) in [
        ("newest", "Last Private Unlisted Public"),
        ("alphabetical", "Last Private Public Unlisted"),
        ("members", "Last Private Unlisted Public"),
    ] {
        assert_eq!(names(&ada, &format!("sortBy={sort}")).await, expected);
    }
    for actor in [&app.anonymous(), &*bob, &app.service(), &app.master()] {
        assert_eq!(names(actor, "sortBy=newest").await, "Last Public");
    }
    assert_eq!(names(&ada, "memberOf=true&sortBy=newest").await, "Private Unlisted Public");
    assert_eq!(names(&bob, "memberOf=true").await, "Last");
    for actor in [&app.anonymous(), &app.service()] {
        actor.get("/spaces?memberOf=true").await.refused(401, "space/auth-required");
    }
    // Shown and hidden again at once, and never to a pending member.
    let asked = join(&ada, &last).await;
    bob.patch(&path(&last), json!({ "visibility": "private" })).await.expect(200);
    assert_eq!(names(&ada, "sortBy=newest").await, "Private Unlisted Public");
    bob.patch(&of(&last, &asked, "/approve"), json!({})).await.expect(200);
    assert_eq!(names(&ada, "sortBy=newest").await, "Last Private Unlisted Public");
    let page = ada.get("/spaces?sortBy=newest&limit=1&page=3").await.expect(200);
    assert_eq!(
        (&page["data"][0]["name"], &page["pagination"]["totalItems"]),
        (&json!("Unlisted"), &json!(4))
    );
}

async fn own_spaces_by_status_and_role(app: TestApp) {
    let (ada, bob) = (app.user().await, app.user().await);
    let mut memberships = Vec::new();
    let mut spaces = Vec::new();
    for (name, opened) in
        [("Member", true), ("Moderated", true), ("Waiting", false), ("Banned", true)]
    {
        app.advance(std::time::Duration::from_secs(1));
        let new = json!({ "name": name, "requireJoinApproval": !opened, "visibility": "private" });
        spaces.push(create(&ada, new).await);
        memberships.push(join(&bob, spaces.last().unwrap()).await);
    }
    ada.patch(&of(&spaces[1], &memberships[1], "/role"), json!({ "role": "moderator" }))
        .await
        .expect(200);
    ada.patch(&of(&spaces[3], &memberships[3], "/ban"), json!({})).await.expect(200);
    app.advance(std::time::Duration::from_secs(1));
    create(&bob, json!({ "name": "Administered" })).await;
    let listed = async |query: &str| {
        let page = bob.get(&format!("/spaces/user-spaces?{query}")).await.expect(200);
        let names = page["data"].as_array().unwrap().iter();
        names.map(|one| one["space"]["name"].as_str().unwrap()).collect::<Vec<_>>().join(" ")
    };
    for (query, expected) in [
        ("", "Administered Moderated Member"),
        ("status=active", "Administered Moderated Member"),
        ("status=pending", "Waiting"),
        ("status=banned", "Banned"),
        ("role=member", "Member"),
        ("role=admin,moderator", "Administered Moderated"),
        ("role=admin,%20member", "Administered Member"),
        ("sortBy=alphabetical", "Administered Member Moderated"),
        ("sortBy=newest", "Administered Moderated Member"),
        ("sortBy=members", "Moderated Member Administered"),
        ("limit=1&page=2", "Moderated"),
        ("all=true&limit=1", "Administered Moderated Member"),
        ("all=true&status=banned", "Banned"),
    ] {
        assert_eq!(listed(query).await, expected, "{query}");
    }
    let page = bob.get("/spaces/user-spaces?limit=2").await.expect(200);
    let expected =
        json!({ "page": 1, "pageSize": 2, "totalPages": 2, "totalItems": 3, "hasMore": true });
    assert_eq!(page["pagination"], expected);
    assert_eq!(
        keys(&page["data"][0]["membership"]),
        ["joinedAt", "membershipId", "role", "status"]
    );
    assert_eq!(page["data"][1]["membership"]["membershipId"], memberships[1]["id"]);
    assert_eq!(page["data"][1]["space"]["isMember"], true);
    assert!(bob.get("/spaces/user-spaces?all=true").await.expect(200).get("pagination").is_none());
    for wrong in ["status=rejected", "role=owner", "sortBy=oldest"] {
        bob.get(&format!("/spaces/user-spaces?{wrong}")).await.refused(400, "space/invalid-query");
    }
    app.anonymous().get("/spaces/user-spaces").await.refused(401, "space/auth-required");
    let key = app.service();
    key.get("/spaces/user-spaces").await.refused(401, "space/auth-required");
    key.get(&format!("/spaces/user-spaces?userId={UNKNOWN}")).await.refused(404, "user/not-found");
    let of_bob = key.get(&format!("/spaces/user-spaces?userId={}", bob.id)).await.expect(200);
    assert_eq!(of_bob["pagination"]["totalItems"], 3);
    let own = ada.get(&format!("/spaces/user-spaces?userId={}", bob.id)).await.expect(200);
    assert_eq!(own["pagination"]["totalItems"], 4, "a token is about its user alone");
}

async fn spaces_that_two_users_share(app: TestApp) {
    let (ada, bob, cleo) = (app.user().await, app.user().await, app.user().await);
    let mut made = Vec::new();
    for name in ["zzz", "Bbb", "aaa"] {
        let new = json!({ "name": name, "requireJoinApproval": false, "visibility": "private" });
        made.push(create(&ada, new).await);
    }
    for space in &made[..2] {
        join(&bob, space).await;
    }
    open_space(&bob).await;
    let mutual = async |actor: &Actor<'_>, query: &str| {
        let page = actor.get(&format!("/spaces/mutual/{query}")).await.expect(200);
        let names = page["data"].as_array().unwrap().iter();
        assert!(page["data"].as_array().unwrap().iter().all(|one| one["isMember"] == true));
        names.map(|one| one["name"].as_str().unwrap()).collect::<Vec<_>>().join(" ")
    };
    for actor in [&*ada, &ada.v7(), &ada.v6()] {
        assert_eq!(mutual(actor, &bob.id.to_string()).await, "Bbb zzz");
    }
    assert_eq!(mutual(&bob, &format!("{}?limit=1&page=2", ada.id)).await, "zzz");
    assert_eq!(mutual(&ada, &ada.id.to_string()).await, "aaa Bbb zzz");
    assert_eq!(mutual(&ada, &cleo.id.to_string()).await, "");
    // The user that a token names is ignored; a key acts as them.
    assert_eq!(mutual(&cleo, &format!("{}?actingUserId={}", ada.id, bob.id)).await, "");
    let key = app.service();
    assert_eq!(mutual(&key, &format!("{}?actingUserId={}", ada.id, bob.id)).await, "Bbb zzz");
    key.get(&format!("/spaces/mutual/{}", ada.id)).await.refused(401, "auth/user-required");
    let unknown = format!("/spaces/mutual/{}?actingUserId={UNKNOWN}", ada.id);
    key.get(&unknown).await.refused(404, "user/not-found");
    ada.get(&format!("/spaces/mutual/{UNKNOWN}")).await.refused(404, "user/not-found");
    ada.get("/spaces/mutual/x").await.refused(400, "space/invalid-params");
    assert_eq!(app.anonymous().get(&format!("/spaces/mutual/{}", ada.id)).await.status, 401);
    let stranger = app.stranger().await;
    stranger.get(&format!("/spaces/mutual/{}", ada.id)).await.refused(404, "user/not-found");
}

async fn a_page_costs_as_many_statements_as_a_space(app: TestApp) {
    let ada = app.user().await;
    for n in 0..12 {
        create(&ada, json!({ "name": format!("Space {n}") })).await;
    }
    for (address, most) in [
        ("/spaces?include=files".to_owned(), 6),
        ("/spaces/user-spaces?include=files".to_owned(), 6),
        (format!("/spaces/mutual/{}?include=files", ada.id), 6),
    ] {
        let mut counts = Vec::new();
        for limit in [1, 10] {
            let address = format!("{address}&limit={limit}");
            ada.get(&address).await.expect(200);
            counts.push(app.statements.during(ada.get(&address)).await.len());
        }
        assert!(counts[0] == counts[1] && counts[0] <= most, "{address}: {counts:?}");
    }
}
