//! A visitor of the admin: a browser that keeps one cookie and fills in forms.

use http::Method;
use townhall::auth::operators::Role;
use townhall::features::admin::accounts::invitations::Invitation;
use townhall::values::ids::ProjectId;
use url::form_urlencoded::Serializer;

use super::actors::local_part;
use super::{Form, Reply, TestApp};

pub const PASSWORD: &str = "correct horse battery";

#[derive(Debug, Clone)]
pub struct Visitor<'a> {
    pub app: &'a TestApp,
    pub cookie: Option<String>,
    pub email: String,
}

impl<'a> Visitor<'a> {
    pub fn stranger(app: &'a TestApp) -> Self {
        Visitor { app, cookie: None, email: String::new() }
    }

    /// A new operator with this role, in one project or in all, who is signed in.
    pub async fn operator(app: &'a TestApp, role: Role, project: Option<ProjectId>) -> Self {
        let token = invite(app, role, project).await;
        let email = format!("{}@operators.example", &token[..12]);
        let mut visitor = Visitor { email: email.clone(), ..Visitor::stranger(app) };
        let fields =
            [("token", &*token), ("name", "Op"), ("email", &email), ("password", PASSWORD)];
        let reply = visitor.post("/admin/invitation", &fields).await;
        assert_eq!(reply.status, 303, "{}", reply.text());
        visitor.keep_cookie(&reply);
        visitor
    }

    /// Signs in with the address and password, and this code.
    pub async fn sign_in(&mut self, password: &str, code: &str) -> Reply {
        let email = self.email.clone();
        let fields = [("email", &*email), ("password", password), ("code", code)];
        let reply = self.post("/admin/sign-in", &fields).await;
        self.keep_cookie(&reply);
        reply
    }

    pub fn keep_cookie(&mut self, reply: &Reply) {
        if let Some(set) = reply.header("set-cookie") {
            let pair = set.split(';').next().unwrap();
            self.cookie = Some(pair.to_owned()).filter(|pair| !pair.ends_with('='));
        }
    }

    pub async fn get(&self, path: &str) -> Reply {
        self.send(Method::GET, path, String::new(), &[]).await
    }

    /// A form as the page would send it, but without its token.
    pub async fn post(&self, path: &str, fields: &[(&str, &str)]) -> Reply {
        let own = [("origin", "https://community.example"), ("sec-fetch-site", "same-origin")];
        self.post_from(path, fields, &own).await
    }

    /// The same, with these headers instead of those of an own page.
    pub async fn post_from(
        &self,
        path: &str,
        fields: &[(&str, &str)],
        headers: &[(&str, &str)],
    ) -> Reply {
        let form = Serializer::new(String::new()).extend_pairs(fields).finish();
        self.send(Method::POST, path, form, headers).await
    }

    /// A form with the token of the visitor's session.
    pub async fn submit(&self, path: &str, fields: &[(&str, &str)]) -> Reply {
        let csrf = self.csrf().await;
        let fields: Vec<_> = fields.iter().copied().chain([("csrf", &*csrf)]).collect();
        self.post(path, &fields).await
    }

    /// The same with files.
    pub async fn submit_files(&self, path: &str, form: Form) -> Reply {
        self.post_files(path, form.text("csrf", &self.csrf().await)).await
    }

    /// A form with files, but without a token.
    pub async fn post_files(&self, path: &str, form: Form) -> Reply {
        let mut actor = self.app.anonymous().with_header("sec-fetch-site", "same-origin");
        if let Some(cookie) = &self.cookie {
            actor = actor.with_header("cookie", cookie);
        }
        actor.raw(Method::POST, path, &form.content_type(), form.body()).await
    }

    pub async fn csrf(&self) -> String {
        let page = self.get("/admin/account").await.text();
        let (_, rest) = page.split_once("name=\"csrf\" value=\"").unwrap();
        rest.split('"').next().unwrap().to_owned()
    }

    async fn send(
        &self,
        method: Method,
        path: &str,
        form: String,
        headers: &[(&str, &str)],
    ) -> Reply {
        let mut actor = self.app.anonymous();
        if let Some(cookie) = &self.cookie {
            actor = actor.with_header("cookie", cookie);
        }
        for (name, value) in headers {
            actor = actor.with_header(name, value);
        }
        actor.raw(method, path, "application/x-www-form-urlencoded", form).await
    }
}

/// The token of a new invitation.
pub async fn invite(app: &TestApp, role: Role, project: Option<ProjectId>) -> String {
    let made = (app.now(), &app.app.random);
    let invitation = Invitation::new(role, project, None, "a test", made);
    let link = invitation.link("https://community.example");
    app.app.db.write(move |tx| invitation.insert(tx)).await.unwrap();
    local_part(&link).split_once("token=").unwrap().1.to_owned()
}
