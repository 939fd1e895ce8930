//! Who speaks in a test: anonymous, a user, a key, somebody of the other project. All of them
//! use the same HTTP client, and every reply they get is checked against the contract.

use bytes::Bytes;
use http::{Method, Request};
use http_body_util::{BodyExt as _, Full};
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use serde_json::{Value, json};
use townhall::values::ids::{ProjectId, UserId};

use super::app::TestApp;
use super::contract;
use super::form::Form;
use super::reply::Reply;

#[derive(Debug)]
pub(super) struct Client(hyper_util::client::legacy::Client<HttpConnector, Full<Bytes>>);

impl Client {
    pub(super) fn new() -> Self {
        Client(hyper_util::client::legacy::Client::builder(TokioExecutor::new()).build_http())
    }

    /// A request to somebody else's server, and its reply as text.
    pub(super) async fn plain(&self, method: Method, uri: &str) -> (u16, String) {
        let request = Request::builder().method(method).uri(uri).body(Full::default()).unwrap();
        let response = self.0.request(request).await.unwrap();
        let status = response.status().as_u16();
        let body = response.into_body().collect().await.unwrap().to_bytes();
        (status, String::from_utf8_lossy(&body).into_owned())
    }
}

/// Somebody with a credential, or none, speaking one version to one project.
#[derive(Debug, Clone)]
pub struct Actor<'a> {
    app: &'a TestApp,
    project: String,
    version: &'static str,
    bearer: Option<String>,
    headers: Vec<(String, String)>,
}

impl<'a> Actor<'a> {
    pub(super) fn new(app: &'a TestApp, project: ProjectId, bearer: Option<String>) -> Self {
        Actor { app, project: project.to_string(), version: "v8", bearer, headers: Vec::new() }
    }

    pub fn v6(&self) -> Self {
        Actor { version: "v6", ..self.clone() }
    }

    pub fn v7(&self) -> Self {
        Actor { version: "v7", ..self.clone() }
    }

    /// In the dialect of published clients of version 6.
    pub fn legacy(&self) -> Self {
        Actor { version: "api/v6", ..self.clone() }
    }

    /// The same credential, presented to another project.
    pub fn in_project(&self, project: impl ToString) -> Self {
        Actor { project: project.to_string(), ..self.clone() }
    }

    pub fn with_header(&self, name: &str, value: &str) -> Self {
        let mut actor = self.clone();
        actor.headers.push((name.to_owned(), value.to_owned()));
        actor
    }

    /// The same caller at this address.
    pub fn at_address(&self, address: &str) -> Self {
        self.with_header("X-Forwarded-For", address)
    }

    pub async fn get(&self, path: &str) -> Reply {
        self.send(Method::GET, path, None).await
    }

    pub async fn post(&self, path: &str, body: Value) -> Reply {
        self.send(Method::POST, path, Some(body)).await
    }

    pub async fn patch(&self, path: &str, body: Value) -> Reply {
        self.send(Method::PATCH, path, Some(body)).await
    }

    pub async fn delete(&self, path: &str) -> Reply {
        self.send(Method::DELETE, path, None).await
    }

    pub async fn post_form(&self, path: &str, form: &Form) -> Reply {
        self.send_form(Method::POST, path, form).await
    }

    pub async fn send_form(&self, method: Method, path: &str, form: &Form) -> Reply {
        let address = self.address(path);
        self.raw(method, &address, &form.content_type(), form.body()).await
    }

    /// The canonical address of an endpoint of the actor's project.
    pub fn address(&self, path: &str) -> String {
        format!("/{}/{}{path}", self.version, self.project)
    }

    /// Reads what an address of a stored file leads to, whatever its host is called.
    pub async fn open(&self, url: &str) -> Reply {
        self.raw(Method::GET, local_part(url), "", "").await
    }

    /// A request to the canonical address of an endpoint of the actor's project.
    pub async fn send(&self, method: Method, path: &str, body: Option<Value>) -> Reply {
        let address = self.address(path);
        let body = body.map(|body| body.to_string());
        self.raw(method, &address, "application/json", body.unwrap_or_default()).await
    }

    /// A request to any address of the server, with any body.
    pub async fn raw(
        &self,
        method: Method,
        address: &str,
        content_type: &str,
        body: impl Into<Bytes>,
    ) -> Reply {
        let body: Bytes = body.into();
        let mut request = Request::builder()
            .method(method.clone())
            .uri(format!("http://{}{address}", self.app.address_for(address)));
        if !body.is_empty() && !content_type.is_empty() {
            request = request.header("content-type", content_type);
        }
        if let Some(bearer) = &self.bearer {
            request = request.header("authorization", format!("Bearer {bearer}"));
        }
        for (name, value) in &self.headers {
            request = request.header(name, value);
        }
        let request = request.body(Full::new(body)).unwrap();
        let response = self.app.client.0.request(request).await.unwrap();
        let (head, body) = response.into_parts();
        let body = body.collect().await.unwrap().to_bytes();
        let reply = Reply::new(head.status.as_u16(), head.headers, body);
        contract::check(&method, address, &reply);
        reply
    }
}

/// A URL without its scheme and host.
pub fn local_part(url: &str) -> &str {
    let rest = url.strip_prefix("https://community.example").unwrap_or(url);
    assert!(rest.starts_with('/'), "{url}");
    rest
}

/// A signed-up user with the tokens of their first session.
#[derive(Debug, Clone)]
pub struct User<'a> {
    actor: Actor<'a>,
    pub id: UserId,
    pub email: String,
    pub access_token: String,
    pub refresh_token: String,
}

impl<'a> User<'a> {
    pub const PASSWORD: &'static str = "correct horse";

    pub(super) async fn sign_up(app: &'a TestApp, project: ProjectId) -> User<'a> {
        let number = app.users.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
        let email = format!("user{number}@example.com");
        let body = json!({
            "email": email,
            "password": Self::PASSWORD,
            "username": format!("user{number}"),
        });
        let signed_up = Actor::new(app, project, None).post("/auth/sign-up", body).await;
        Self::from_reply(app, project, &signed_up.expect(201))
    }

    /// A further session of the same user.
    pub async fn sign_in_again(&self) -> User<'a> {
        let Actor { app, project, .. } = &self.actor;
        let signed_in = self.sign_in_reply().await.expect(200);
        Self::from_reply(app, project.parse().unwrap(), &signed_in)
    }

    pub async fn sign_in_reply(&self) -> Reply {
        let body = json!({ "email": self.email, "password": Self::PASSWORD });
        let anybody = Actor { bearer: None, ..self.actor.clone() };
        anybody.post("/auth/sign-in", body).await
    }

    /// The user that a sign-up, sign-in or refresh has answered with.
    pub fn from_reply(app: &'a TestApp, project: ProjectId, body: &Value) -> User<'a> {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let access_token = text(&body["accessToken"]);
        User {
            actor: Actor::new(app, project, Some(access_token.clone())),
            id: text(&body["user"]["id"]).parse().unwrap(),
            email: text(&body["user"]["email"]),
            access_token,
            refresh_token: text(&body["refreshToken"]),
        }
    }
}

impl<'a> std::ops::Deref for User<'a> {
    type Target = Actor<'a>;

    fn deref(&self) -> &Actor<'a> {
        &self.actor
    }
}
