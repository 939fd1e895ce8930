//! Passkeys of operators, with an authenticator made of code. `tests/admin-browser` has one in Chromium.

use std::time::Duration;

use aws_lc_rs::digest::{SHA256, digest};
use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::signature::{ECDSA_P256_SHA256_ASN1_SIGNING, EcdsaKeyPair, KeyPair as _};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD as BASE64;
use serde_json::{Value, json};
use townhall::audit::INSTALLATION;
use townhall::audit::store::{Filter, list};
use townhall::auth::operators::Role;

use crate::support::visitor::{PASSWORD, Visitor};
use crate::support::{Reply, TestApp, on_both_engines};

on_both_engines![
    a_passkey_is_added_and_signs_in,
    a_challenge_is_for_one_use_by_one_person,
    what_another_site_or_nobody_verified_has_signed_is_refused,
    a_copied_passkey_is_noticed,
    a_removed_passkey_and_a_disabled_operator_open_nothing,
    a_new_password_link_removes_passkeys,
    an_address_without_a_domain_has_no_passkeys,
];

const SITE: &str = "community.example";
const ORIGIN: &str = "https://community.example";
const PAGE: &str = "/admin/account/passkeys";
const SIGN_IN: &str = "/admin/sign-in/passkey";
const VERIFIED: u8 = 0b101;

/// A passkey in the hands of its owner.
struct Passkey {
    pair: EcdsaKeyPair,
    id: Vec<u8>,
    site: &'static str,
    origin: &'static str,
    flags: u8,
    count: u32,
}

impl Passkey {
    fn new(app: &TestApp) -> Passkey {
        let pair = EcdsaKeyPair::generate(&ECDSA_P256_SHA256_ASN1_SIGNING).unwrap();
        let id = app.app.random.bytes::<32>().to_vec();
        Passkey { pair, id, site: SITE, origin: ORIGIN, flags: VERIFIED, count: 0 }
    }

    fn client_data(&self, kind: &str, challenge: &str) -> Vec<u8> {
        let data = json!({ "type": kind, "challenge": challenge, "origin": self.origin });
        data.to_string().into_bytes()
    }

    fn data(&self, flags: u8) -> Vec<u8> {
        let hash = digest(&SHA256, self.site.as_bytes());
        [hash.as_ref(), &[flags], &self.count.to_be_bytes()].concat()
    }

    /// The fields that add it.
    fn made(&self, challenge: &str) -> [(&'static str, String); 2] {
        let point = self.pair.public_key().as_ref();
        let (x, y) = (&point[1..33], &point[33..]);
        let key =
            [&b"\xa5\x01\x02\x03\x26\x20\x01\x21\x58\x20"[..], x, b"\x22\x58\x20", y].concat();
        let length = u16::try_from(self.id.len()).unwrap().to_be_bytes();
        let data =
            [&self.data(self.flags | 1 << 6)[..], &[0; 16], &length, &self.id, &key].concat();
        let length = u8::try_from(data.len()).unwrap();
        let head = b"\xa3\x63fmt\x64none\x67attStmt\xa0\x68authData\x58";
        let object = [&head[..], &[length], &data].concat();
        let client_data = self.client_data("webauthn.create", challenge);
        [("clientData", BASE64.encode(client_data)), ("attestation", BASE64.encode(object))]
    }

    /// The fields that sign in with it.
    fn signed(&self, challenge: &str) -> [(&'static str, String); 4] {
        let client_data = self.client_data("webauthn.get", challenge);
        let data = self.data(self.flags);
        let text = [&data[..], digest(&SHA256, &client_data).as_ref()].concat();
        let signature = self.pair.sign(&SystemRandom::new(), &text).unwrap();
        [
            ("credential", BASE64.encode(&self.id)),
            ("clientData", BASE64.encode(client_data)),
            ("authenticatorData", BASE64.encode(data)),
            ("signature", BASE64.encode(signature.as_ref())),
        ]
    }
}

fn fields<'a>(
    own: &'a [(&'static str, String)],
    more: &[(&'a str, &'a str)],
) -> Vec<(&'a str, &'a str)> {
    own.iter().map(|(name, value)| (*name, &**value)).chain(more.iter().copied()).collect()
}

async fn begin_adding(visitor: &Visitor<'_>) -> Value {
    let reply = visitor.submit("/admin/account/passkeys/begin", &[("current", PASSWORD)]).await;
    assert_eq!(reply.status, 200, "{}", reply.text());
    serde_json::from_str(&reply.text()).unwrap()
}

async fn add(visitor: &Visitor<'_>, passkey: &Passkey) -> Reply {
    let options = begin_adding(visitor).await;
    let made = passkey.made(options["challenge"].as_str().unwrap());
    visitor.submit(PAGE, &fields(&made, &[("do", "add"), ("name", "Phone")])).await
}

async fn challenge(app: &TestApp) -> String {
    let reply = Visitor::stranger(app).post("/admin/sign-in/passkey/begin", &[]).await;
    let options: Value = serde_json::from_str(&reply.text()).unwrap();
    assert_eq!(
        (&options["rpId"], &options["userVerification"]),
        (&json!(SITE), &json!("required"))
    );
    options["challenge"].as_str().unwrap().to_owned()
}

async fn sign_in(app: &TestApp, passkey: &Passkey) -> Reply {
    let signed = passkey.signed(&challenge(app).await);
    Visitor::stranger(app).post(SIGN_IN, &fields(&signed, &[])).await
}

#[track_caller]
fn is_refused(reply: &Reply) {
    assert_eq!((reply.status, reply.header("set-cookie")), (403, None), "{}", reply.text());
}

async fn a_passkey_is_added_and_signs_in(app: TestApp) {
    let mut owner = Visitor::operator(&app, Role::Owner, None).await;
    let mut passkey = Passkey::new(&app);
    is_refused(&sign_in(&app, &passkey).await);
    let wrong =
        owner.submit("/admin/account/passkeys/begin", &[("current", "wrong password")]).await;
    assert_eq!(wrong.status, 400);
    let options = begin_adding(&owner).await;
    assert_eq!(options["rp"]["id"], SITE);
    assert_eq!(options["authenticatorSelection"]["userVerification"], "required");
    let added = add(&owner, &passkey).await;
    assert_eq!(added.header("location"), Some("/admin/account#passkeys"), "{}", added.text());
    assert!(owner.get("/admin/account").await.text().contains("<td>Phone</td>"));
    // One that is known is not made again, nor taken by somebody else.
    let known = &begin_adding(&owner).await["excludeCredentials"];
    assert_eq!(known[0]["id"], BASE64.encode(&passkey.id));
    let other = Visitor::operator(&app, Role::Analyst, None).await;
    assert_eq!(add(&other, &passkey).await.status, 409);

    passkey.count = 1;
    owner.cookie = None;
    let reply = sign_in(&app, &passkey).await;
    assert_eq!((reply.status, reply.header("location")), (303, Some("/admin")), "{}", reply.text());
    owner.keep_cookie(&reply);
    assert!(owner.get("/admin/account").await.text().contains(&owner.email));
    let (db, filter) = (&app.app.db, Filter::default());
    let logged = db.read(move |c| list(c, INSTALLATION, &filter, 1000)).await.unwrap();
    let own = logged.iter().filter(|entry| entry.actor_name == owner.email);
    let mut actions: Vec<&str> = own.map(|entry| &*entry.action).collect();
    actions.sort_unstable();
    assert_eq!(actions, ["Accept Invitation", "Add Passkey", "Sign In", "Sign In with a Passkey"]);
}

async fn a_challenge_is_for_one_use_by_one_person(app: TestApp) {
    let owner = Visitor::operator(&app, Role::Owner, None).await;
    let other = Visitor::operator(&app, Role::Analyst, None).await;
    let passkey = Passkey::new(&app);
    let options = begin_adding(&owner).await;
    let made = passkey.made(options["challenge"].as_str().unwrap());
    let more = [("do", "add"), ("name", "Phone")];
    is_refused(&other.submit(PAGE, &fields(&made, &more)).await);
    // Whoever tries uses it up.
    is_refused(&owner.submit(PAGE, &fields(&made, &more)).await);
    assert_eq!(add(&owner, &passkey).await.status, 303);

    let signed = passkey.signed(&challenge(&app).await);
    let stranger = Visitor::stranger(&app);
    assert_eq!(stranger.post(SIGN_IN, &fields(&signed, &[])).await.status, 303);
    is_refused(&stranger.post(SIGN_IN, &fields(&signed, &[])).await);
    let late = passkey.signed(&challenge(&app).await);
    app.advance(Duration::from_secs(301));
    is_refused(&stranger.post(SIGN_IN, &fields(&late, &[])).await);
    let own = passkey.signed(&BASE64.encode([7; 32]));
    is_refused(&stranger.post(SIGN_IN, &fields(&own, &[])).await);
    // A challenge for adding is none for signing in.
    let options = begin_adding(&owner).await;
    let signed = passkey.signed(options["challenge"].as_str().unwrap());
    is_refused(&stranger.post(SIGN_IN, &fields(&signed, &[])).await);
}

async fn what_another_site_or_nobody_verified_has_signed_is_refused(app: TestApp) {
    let owner = Visitor::operator(&app, Role::Owner, None).await;
    let mut passkey = Passkey::new(&app);
    assert_eq!(add(&owner, &passkey).await.status, 303);
    passkey.origin = "https://evil.example";
    is_refused(&sign_in(&app, &passkey).await);
    (passkey.origin, passkey.site) = (ORIGIN, "evil.example");
    is_refused(&sign_in(&app, &passkey).await);
    (passkey.site, passkey.flags) = (SITE, 0b001);
    is_refused(&sign_in(&app, &passkey).await);
    is_refused(&add(&owner, &Passkey { id: vec![1; 16], ..passkey }).await);
    let mut other = Passkey::new(&app);
    assert_eq!(add(&owner, &other).await.status, 303);
    // Another's key under this id.
    let id = other.id.clone();
    other = Passkey { id, ..Passkey::new(&app) };
    is_refused(&sign_in(&app, &other).await);
    // A form from elsewhere, and fields that are none.
    let stranger = Visitor::stranger(&app);
    let foreign = [("origin", "https://evil.example")];
    is_refused(&stranger.post_from("/admin/sign-in/passkey/begin", &[], &foreign).await);
    is_refused(&stranger.post(SIGN_IN, &[]).await);
    is_refused(&stranger.post(SIGN_IN, &[("clientData", "%%%")]).await);
    let named = passkey_for(&app, &owner).await;
    let signed = named.signed(&challenge(&app).await);
    let handle = BASE64.encode([9; 16]);
    is_refused(&stranger.post(SIGN_IN, &fields(&signed, &[("userHandle", &handle)])).await);
}

async fn passkey_for(app: &TestApp, visitor: &Visitor<'_>) -> Passkey {
    let passkey = Passkey::new(app);
    assert_eq!(add(visitor, &passkey).await.status, 303);
    passkey
}

async fn a_copied_passkey_is_noticed(app: TestApp) {
    let owner = Visitor::operator(&app, Role::Owner, None).await;
    let mut passkey = passkey_for(&app, &owner).await;
    // Some have no counter.
    for _ in 0..2 {
        assert_eq!(sign_in(&app, &passkey).await.status, 303);
    }
    passkey.count = 5;
    assert_eq!(sign_in(&app, &passkey).await.status, 303);
    for count in [5, 4, 0] {
        passkey.count = count;
        is_refused(&sign_in(&app, &passkey).await);
    }
    passkey.count = 6;
    assert_eq!(sign_in(&app, &passkey).await.status, 303);
}

async fn a_removed_passkey_and_a_disabled_operator_open_nothing(app: TestApp) {
    let owner = Visitor::operator(&app, Role::Owner, None).await;
    let other = Visitor::operator(&app, Role::Analyst, None).await;
    let (passkey, kept) = (passkey_for(&app, &owner).await, passkey_for(&app, &other).await);
    let page = owner.get("/admin/account").await.text();
    let (_, rest) = page.split_once("name=\"passkey\" value=\"").unwrap();
    let id = rest.split('"').next().unwrap();
    let remove = [("do", "remove"), ("passkey", id)];
    assert_eq!(other.submit(PAGE, &remove).await.status, 404);
    assert_eq!(sign_in(&app, &passkey).await.status, 303);
    assert_eq!(owner.submit(PAGE, &remove).await.status, 303);
    is_refused(&sign_in(&app, &passkey).await);

    let email = other.email.clone();
    let disable = move |tx: &db::Tx<'_>| {
        let store = townhall::features::admin::store::find_by_email(tx, &email)?.unwrap();
        townhall::features::admin::store::set_disabled(tx, store.id, Some(store.created_at))
    };
    assert_eq!(sign_in(&app, &kept).await.status, 303);
    app.app.db.write(disable).await.unwrap();
    is_refused(&sign_in(&app, &kept).await);
}

async fn a_new_password_link_removes_passkeys(app: TestApp) {
    let owner = Visitor::operator(&app, Role::Owner, None).await;
    let passkey = passkey_for(&app, &owner).await;
    let page = owner.get("/admin/operators").await.text();
    let (before, _) = page.split_once(&owner.email).unwrap();
    let (_, rest) = page[before.len()..].split_once("name=\"operator\" value=\"").unwrap();
    let id = rest.split('"').next().unwrap();
    let page = owner.submit("/admin/operators/change", &[("operator", id), ("reset", "yes")]).await;
    let text = page.text();
    let token = text.split_once("?token=").unwrap().1.split('"').next().unwrap().to_owned();
    assert_eq!(sign_in(&app, &passkey).await.status, 303);
    let set = [("token", &*token), ("password", "another long password")];
    assert_eq!(Visitor::stranger(&app).post("/admin/invitation", &set).await.status, 303);
    is_refused(&sign_in(&app, &passkey).await);
}

async fn an_address_without_a_domain_has_no_passkeys(app: TestApp) {
    let app =
        app.restart_with(|config| config.set("TOWNHALL_PUBLIC_URL", "http://127.0.0.1:8484")).await;
    let stranger = Visitor::stranger(&app);
    assert!(!stranger.get("/admin/sign-in").await.text().contains("id=\"passkey\""));
    let own = [("origin", "http://127.0.0.1:8484")];
    let reply = stranger.post_from("/admin/sign-in/passkey/begin", &[], &own).await;
    assert_eq!(reply.status, 400, "{}", reply.text());
}
