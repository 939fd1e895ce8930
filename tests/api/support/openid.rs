//! OpenID providers that the tests start (`tests/openid-provider`), and the way of a browser through a sign-in.

use std::sync::OnceLock;
use std::time::Duration;

use http::Method;
use serde_json::{Value, json};
use townhall::features::oauth::admin as providers;
use townhall::features::oauth::provider::Settings;
use townhall::http::query::percent_decode;
use townhall::values::ids::ProjectId;
use url::Url;

use super::fake::Fake;
use super::node::Node;
use super::{Actor, Reply, TestApp, User};

/// Starting a provider makes keys, on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);
pub const CALLBACK: &str = "https://community.example/v7/oauth/callback";
/// Where the app of the tests takes users back.
pub const APP: &str = "https://app.example/signed-in";

fn node() -> &'static Node {
    static SHARED: OnceLock<Node> = OnceLock::new();
    SHARED.get_or_init(|| Node::start("openid-provider", "oidc-provider"))
}

async fn ask(mut command: Value) -> Value {
    let (id, mut outcomes) = node().listen();
    command["id"] = json!(id);
    node().tell(&command);
    let outcome = tokio::time::timeout(PATIENCE, outcomes.recv()).await.unwrap().unwrap();
    node().forget(&id);
    assert_eq!(outcome["error"], Value::Null, "{command}");
    outcome
}

/// A server whose operator allows calls to this machine.
pub async fn allowing_this_machine(app: TestApp) -> TestApp {
    app.restart_with(|config| config.set("TOWNHALL_OUTBOUND_ALLOW", "127.0.0.1/32")).await
}

/// A real OpenID provider, which ends with the test.
#[derive(Debug)]
pub struct OpenId {
    id: String,
    pub issuer: String,
}

impl OpenId {
    /// With one client for each way that a test needs, and these accounts.
    pub async fn start(clients: Value, accounts: Value, claims_in_id_token: bool) -> OpenId {
        let command = json!({
            "do": "open", "clients": clients, "accounts": accounts, "claimsInIdToken": claims_in_id_token,
        });
        let outcome = ask(command).await;
        let text = |key: &str| outcome[key].as_str().unwrap().to_owned();
        OpenId { id: text("id"), issuer: text("issuer") }
    }

    /// With the client `forum`, whose secret is `hush`.
    pub async fn with_accounts(accounts: Value) -> OpenId {
        Self::start(json!([client("forum", json!({}))]), accounts, false).await
    }

    /// From now on it signs with other keys.
    pub async fn rotate(&self) {
        ask(json!({ "do": "rotate", "of": self.id })).await;
    }

    /// The address that a browser ends up at after signing in there as this account.
    pub async fn visit(&self, url: &str, account: &str) -> String {
        let url = format!("{url}&login_hint={account}");
        let outcome = ask(json!({ "do": "visit", "url": url, "until": CALLBACK })).await;
        outcome["url"].as_str().unwrap().to_owned()
    }

    /// An ID token for one of its clients.
    pub async fn id_token(&self, client: &str, account: &str) -> String {
        let command = json!({
            "do": "idToken", "of": self.id, "client": client, "account": account, "callback": CALLBACK,
        });
        ask(command).await["token"].as_str().unwrap().to_owned()
    }

    pub fn settings(&self) -> Settings {
        of_issuer(&self.issuer)
    }
}

impl Drop for OpenId {
    fn drop(&mut self) {
        node().tell(&json!({ "do": "close", "id": "", "of": self.id }));
    }
}

/// A client of the provider, with further properties.
pub fn client(id: &str, more: Value) -> Value {
    let mut client =
        json!({ "client_id": id, "client_secret": "hush", "redirect_uris": [CALLBACK] });
    client.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    client
}

/// The settings of the client `forum`, whose app is the one of the tests.
pub fn forum() -> Settings {
    Settings {
        client_id: "forum".to_owned(),
        redirect_uris: vec![APP.to_owned()],
        enabled: true,
        ..Settings::default()
    }
}

/// The same at an OpenID provider.
pub fn of_issuer(issuer: &str) -> Settings {
    Settings { issuer: Some(issuer.to_owned()), ..forum() }
}

/// The same at a provider without discovery and ID tokens.
pub fn at(fake: &Fake) -> Settings {
    let address = |path: &str| Some(fake.url(path));
    Settings {
        authorize_url: address("/authorize"),
        token_url: address("/plain"),
        user_url: address("/me"),
        emails_url: address("/emails"),
        ..forum()
    }
}

/// Configures a provider, as the operator's command does.
pub async fn configure(app: &TestApp, name: &str, settings: Settings, secret: Option<&str>) {
    configure_in(app, app.project.id, name, settings, secret).await;
}

pub async fn configure_in(
    app: &TestApp,
    project: ProjectId,
    name: &str,
    settings: Settings,
    secret: Option<&str>,
) {
    providers::check(name, &settings, secret).unwrap();
    let sealer = &app.app.sealer;
    let seal = |secret| providers::seal(sealer, project, name, secret, &app.app.random).unwrap();
    let (sealed, now, name) = (secret.map(seal), app.now(), name.to_owned());
    let set = app
        .app
        .db
        .write(move |tx| providers::set(tx, project, &name, (&settings, sealed.as_deref()), now));
    set.await.unwrap();
}

pub fn authorize(provider: &str) -> Value {
    json!({ "provider": provider, "redirectAfterAuth": APP })
}

/// Where the provider's page is, for a sign-in that begins now.
pub async fn begin(actor: &Actor<'_>, provider: &str) -> String {
    let begun = actor.post("/oauth/authorize", authorize(provider)).await.expect(200);
    begun["authorizationUrl"].as_str().unwrap().to_owned()
}

/// The same for a user who links an account.
pub async fn begin_link(user: &User<'_>, provider: &str) -> String {
    let begun = user.post("/oauth/link", authorize(provider)).await.expect(200);
    begun["authorizationUrl"].as_str().unwrap().to_owned()
}

/// One parameter of an address.
pub fn parameter(url: &str, name: &str) -> Option<String> {
    let url = Url::parse(url).unwrap();
    url.query_pairs().find(|(key, _)| key == name).map(|(_, value)| value.into_owned())
}

/// The browser comes back from the provider.
pub async fn come_back(app: &TestApp, url: &str) -> Reply {
    app.anonymous().open(url).await
}

/// What a successful callback hands to the app: the user with the tokens of a session.
pub async fn signed_in<'a>(app: &'a TestApp, callback: &Reply) -> User<'a> {
    callback.expect(302);
    let location = callback.header("location").unwrap();
    let fragment =
        location.strip_prefix(&format!("{APP}#")).unwrap_or_else(|| panic!("{location}"));
    let (access, refresh) = fragment.split_once('&').unwrap();
    let access = access.strip_prefix("accessToken=").unwrap();
    let refresh = refresh.strip_prefix("refreshToken=").unwrap();
    assert_eq!(callback.header("cache-control"), Some("no-store"));
    assert_eq!(callback.header("referrer-policy"), Some("no-referrer"));
    let body = json!({ "refreshToken": refresh });
    let mut session =
        app.anonymous().post("/auth/request-new-access-token", body).await.expect(200);
    app.bearer(access).get("/oauth/identities").await.expect(200);
    session["accessToken"] = json!(access);
    User::from_reply(app, app.project.id, &session)
}

/// Why a callback failed, as the app sees it: the error and its description.
#[track_caller]
pub fn failure(callback: &Reply) -> (String, String) {
    callback.expect(302);
    let location = callback.header("location").unwrap();
    let query =
        location.strip_prefix(&format!("{APP}?error=")).unwrap_or_else(|| panic!("{location}"));
    let (error, description) = query.split_once("&error_description=").unwrap();
    let plain = |text| percent_decode(text, false).unwrap().into_owned();
    (plain(error), plain(description))
}

/// A callback without any provider's page: `query` follows the state of a new sign-in.
pub async fn return_with(app: &TestApp, provider: &str, query: &str) -> Reply {
    let url = begin(&app.anonymous(), provider).await;
    return_to(app, &url, query).await
}

/// The same for a sign-in that has begun.
pub async fn return_to(app: &TestApp, begun: &str, query: &str) -> Reply {
    let state = parameter(begun, "state").unwrap();
    let address = format!("/v7/oauth/callback?state={state}{query}");
    app.anonymous().raw(Method::GET, &address, "", "").await
}
