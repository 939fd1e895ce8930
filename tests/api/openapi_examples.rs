//! The examples of the OpenAPI document: real replies to a short story of two users. The story runs with
//! every test; `docs/api/examples.json` must have its requests and replies, key by key.
//! `TOWNHALL_RECORD_EXAMPLES=1` writes the file anew.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use db::Engine;
use http::Method;
use serde_json::{Map, Value, json};

use crate::support::{Actor, TestApp, User, on_both_engines};
use crate::workspaces::{verify, with_invitations};

on_both_engines![examples_are_what_the_server_replies];

async fn examples_are_what_the_server_replies(app: TestApp) {
    let mut story = Story { app: &app, examples: Map::new(), names: HashMap::new() };
    let (ada, grace) = story.sessions(&app).await;
    story.profiles(&ada, &grace).await;
    let (space, entity) = story.publishing(&ada, &grace).await;
    story.reactions_and_collections(&ada, &grace, &entity).await;
    let comment = story.comments(&ada, &grace, &entity).await;
    story.relations(&ada, &grace).await;
    story.chat(&ada, &grace).await;
    story.workspaces(&app, &ada, &grace).await;
    story.events(&ada, &grace).await;
    story.grants(&app.service(), (&ada, &grace), &entity).await;
    story.moderation(&app.service(), &ada, &grace, (&space, &comment)).await;
    story.tables(&app.service()).await;
    story.farewell(&ada, &grace).await;

    let recorded = Value::Object(story.examples);
    let mut kept = String::new();
    if std::env::var_os("TOWNHALL_RECORD_EXAMPLES").is_some() && app.engine() == Engine::Sqlite {
        kept = serde_json::to_string_pretty(&recorded).unwrap() + "\n";
        std::fs::write(file(), &kept).unwrap();
    } else {
        kept.push_str(&std::fs::read_to_string(file()).unwrap());
    }
    let kept: Value = serde_json::from_str(&kept).unwrap();
    assert!(recorded.as_object().unwrap().len() >= 50);
    same_shape(&kept, &recorded, "examples");
}

fn file() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/api/examples.json")
}

/// Both have the same keys, and values of the same types.
fn same_shape(kept: &Value, recorded: &Value, place: &str) {
    let hint = "record the examples anew, see docs/api/README.md";
    match (kept, recorded) {
        (Value::Object(kept), Value::Object(recorded)) => {
            let [old, new] = [kept, recorded].map(|object| object.keys().collect::<Vec<_>>());
            assert_eq!(old, new, "{place}: {hint}");
            kept.iter().for_each(|(key, value)| {
                same_shape(value, &recorded[key], &format!("{place}.{key}"));
            });
        }
        (Value::Array(kept), Value::Array(recorded)) => {
            assert_eq!(kept.len(), recorded.len(), "{place}: {hint}");
            kept.iter().zip(recorded).for_each(|(one, other)| same_shape(one, other, place));
        }
        _ => {
            let same = std::mem::discriminant(kept) == std::mem::discriminant(recorded);
            assert!(same, "{place}: {kept} became {recorded}; {hint}");
        }
    }
}

/// What was asked and replied so far, by the names of the operations.
struct Story<'a> {
    app: &'a TestApp,
    examples: Map<String, Value>,
    /// Ids as the examples show them, by the ids that they had.
    names: HashMap<String, String>,
}

impl Story<'_> {
    /// Makes a request and keeps it as the example of its operation. Its reply as it came.
    async fn tell(
        &mut self,
        name: &str,
        by: &Actor<'_>,
        request: (Method, &str),
        body: Value,
    ) -> Value {
        let (method, path) = request;
        let sent = (!body.is_null()).then(|| body.clone());
        let reply = by.send(method, path, sent.clone()).await;
        assert!((200..300).contains(&reply.status), "{name}: {}", reply.text());
        // Lists are in the order of time, not of ids drawn in one millisecond.
        self.app.advance(Duration::from_secs(1));
        let mut example = json!({ "status": reply.status });
        if let Some(sent) = sent {
            example["request"] = self.shown("", &sent);
        }
        if !reply.body.is_empty() {
            example["response"] = self.shown("", &reply.json());
        }
        assert!(self.examples.insert(name.to_owned(), example).is_none(), "{name} twice");
        reply.json()
    }

    async fn get(&mut self, name: &str, by: &Actor<'_>, path: &str) -> Value {
        self.tell(name, by, (Method::GET, path), Value::Null).await
    }

    async fn post(&mut self, name: &str, by: &Actor<'_>, path: &str, body: Value) -> Value {
        self.tell(name, by, (Method::POST, path), body).await
    }

    async fn patch(&mut self, name: &str, by: &Actor<'_>, path: &str, body: Value) -> Value {
        self.tell(name, by, (Method::PATCH, path), body).await
    }

    /// A value without what differs from run to run and without secrets.
    fn shown(&mut self, key: &str, value: &Value) -> Value {
        match value {
            Value::Object(object) => {
                let shown = object.iter().map(|(key, value)| (key.clone(), self.shown(key, value)));
                Value::Object(shown.collect())
            }
            Value::Array(items) => items.iter().map(|item| self.shown(key, item)).collect(),
            Value::String(text) if uuid::Uuid::try_parse(text).is_ok() => {
                let next = format!("0198647a-0000-7000-8000-{:012}", self.names.len() + 1);
                json!(self.names.entry(text.clone()).or_insert(next))
            }
            Value::String(text) if text.starts_with("eyJ") => json!("eyJhbGciOi...shortened"),
            Value::String(text) if text.len() == 24 && text.ends_with('Z') => {
                json!("2026-08-01T12:00:00.000Z")
            }
            Value::String(_) if key == "shortId" => json!("k3Xb9Qz2Lw"),
            _ => value.clone(),
        }
    }

    async fn sessions<'a>(&mut self, app: &'a TestApp) -> (User<'a>, User<'a>) {
        let (anyone, project) = (app.anonymous(), app.project.id);
        let ada = json!({
            "email": "ada@example.com", "password": "correct horse", "username": "ada", "name": "Ada",
        });
        let grace = json!({
            "email": "grace@example.com", "password": "battery staple", "username": "grace", "name": "Grace",
        });
        let up = self.post("Sign Up", &anyone, "/auth/sign-up", ada).await;
        let grace = anyone.post("/auth/sign-up", grace).await.expect(201);
        let known = json!({ "email": "ada@example.com", "password": "correct horse" });
        self.post("Sign In", &anyone, "/auth/sign-in", known).await;
        let renewal = json!({ "refreshToken": up["refreshToken"] });
        let path = "/auth/request-new-access-token";
        let renewed = self.post("Request New Access Token", &anyone, path, renewal).await;
        let ada = User::from_reply(app, project, &renewed);
        (ada, User::from_reply(app, project, &grace))
    }

    async fn profiles(&mut self, ada: &User<'_>, grace: &User<'_>) {
        let changes = json!({ "bio": "I like engines.", "metadata": { "theme": "dark" } });
        self.patch("Update User", ada, &format!("/users/{}", ada.id), changes).await;
        self.get("Fetch User", grace, &format!("/users/{}", ada.id)).await;
        self.get("Fetch User by Username", grace, "/users/by-username?username=ada").await;
        self.get("Fetch User Suggestions", grace, "/users/suggestions?query=ad").await;
        let path = "/users/check-username?username=linus";
        self.get("Check Username Availability", grace, path).await;
    }

    async fn publishing(&mut self, ada: &User<'_>, grace: &User<'_>) -> (String, String) {
        let new = json!({
            "name": "Gardening", "slug": "gardening", "description": "All about plants",
            "requireJoinApproval": false,
        });
        let space = id(&self.post("Create Space", ada, "/spaces", new).await);
        self.get("Fetch Spaces", grace, "/spaces?sortBy=newest").await;
        self.get("Fetch Space", grace, &format!("/spaces/{space}")).await;
        self.post("Join Space", grace, &format!("/spaces/{space}/join"), Value::Null).await;
        self.get("List Members", grace, &format!("/spaces/{space}/members")).await;
        let path = format!("/spaces/{space}/membership/me");
        self.get("Check My Membership", grace, &path).await;
        let rule = json!({ "title": "Be kind", "description": "No insults." });
        self.post("Create Rule", ada, &format!("/spaces/{space}/rules"), rule).await;
        self.get("Fetch User Spaces", grace, "/spaces/user-spaces").await;
        let new = json!({
            "title": "First tomatoes", "content": "They are finally red.", "spaceId": space,
            "keywords": ["tomatoes", "summer"], "metadata": { "kind": "photo" },
        });
        let entity = id(&self.post("Create Entity", ada, "/entities", new).await);
        let path = "/entities?sortBy=hot&timeFrame=week&include=user&limit=10";
        self.get("Fetch Many Entities", grace, path).await;
        let path = format!("/entities/{entity}?include=user,space");
        self.get("Fetch Entity", grace, &path).await;
        let changes = json!({ "title": "The first tomatoes" });
        self.patch("Update Entity", ada, &format!("/entities/{entity}"), changes).await;
        let draft = json!({ "title": "Next year", "isDraft": true });
        let draft = id(&ada.post("/entities", draft).await.expect(201));
        self.get("Fetch Drafts", ada, "/entities/drafts").await;
        self.patch("Publish Entity", ada, &format!("/entities/{draft}/publish"), Value::Null).await;
        (space, entity)
    }

    async fn reactions_and_collections(&mut self, ada: &User<'_>, grace: &User<'_>, entity: &str) {
        let path = format!("/entities/{entity}/reactions");
        let love = json!({ "reactionType": "love" });
        self.post("Add Entity Reaction", grace, &path, love).await;
        self.get("Fetch Entity Reactions", ada, &path).await;
        self.get("Get User Reaction", grace, &format!("{path}/me")).await;
        let root = id(&self.get("Fetch Root Collection", grace, "/collections/root").await);
        let path = format!("/collections/{root}/sub-collections");
        let new = json!({ "collectionName": "Recipes" });
        let recipes = id(&self.post("Create Sub-Collection", grace, &path, new).await);
        self.get("Fetch Sub-Collections", grace, &path).await;
        let path = format!("/collections/{recipes}/entities");
        let saved = json!({ "entityId": entity });
        self.post("Add Entity to Collection", grace, &path, saved).await;
        self.get("Fetch Collection Entities", grace, &path).await;
        let path = format!("/entities/is-entity-saved?entityId={entity}");
        self.get("Is Entity Saved", grace, &path).await;
    }

    async fn comments(&mut self, ada: &User<'_>, grace: &User<'_>, entity: &str) -> String {
        let new = json!({ "entityId": entity, "content": "They look great!" });
        let comment = id(&self.post("Create Comment", grace, "/comments", new).await);
        let reply = json!({ "entityId": entity, "parentId": comment, "content": "Thank you." });
        ada.post("/comments", reply).await.expect(201);
        let path = format!("/comments?entityId={entity}&sortBy=top&include=user");
        self.get("Fetch Many Comments", ada, &path).await;
        self.get("Fetch Comment", ada, &format!("/comments/{comment}")).await;
        let changes = json!({ "content": "They look delicious!" });
        self.patch("Update Comment", grace, &format!("/comments/{comment}"), changes).await;
        let path = format!("/comments/{comment}/reactions");
        let upvote = json!({ "reactionType": "upvote" });
        self.post("Add Comment Reaction", ada, &path, upvote).await;
        comment
    }

    async fn relations(&mut self, ada: &User<'_>, grace: &User<'_>) {
        let follow = format!("/users/{}/follow", ada.id);
        self.post("Follow User", grace, &follow, Value::Null).await;
        self.get("Get Follow Status", grace, &follow).await;
        self.get("Fetch Followers", ada, "/follows/followers").await;
        self.get("Get Followers Count of a User", grace, &format!("{follow}ers-count")).await;
        let connection = format!("/users/{}/connection", ada.id);
        let words = json!({ "message": "We met at the market." });
        let requested = id(&self.post("Request Connection", grace, &connection, words).await);
        let path = "/connections/pending/received";
        self.get("Fetch Received Pending Connections", ada, path).await;
        let path = format!("/connections/{requested}/accept");
        self.patch("Accept Connection", ada, &path, Value::Null).await;
        self.get("Get Connection Status", grace, &connection).await;
        self.get("Fetch Connections", ada, "/connections").await;
        self.get("List Notifications", ada, "/app-notifications?limit=2").await;
        self.get("Count Unread Notifications", ada, "/app-notifications/count").await;
        let path = "/app-notifications/mark-all-as-read";
        self.patch("Mark All Notifications as Read", ada, path, Value::Null).await;
    }

    async fn chat(&mut self, ada: &User<'_>, grace: &User<'_>) {
        let path = "/chat/conversations/direct";
        let other = json!({ "userId": grace.id });
        let direct = id(&self.post("Create Direct Conversation", ada, path, other).await);
        let group = json!({ "type": "group", "name": "Market", "memberIds": [grace.id] });
        self.post("Create Group Conversation", ada, "/chat/conversations", group).await;
        let path = format!("/chat/conversations/{direct}/messages");
        let message = json!({ "content": "Are you coming on Saturday?", "localId": "m-1" });
        let message = id(&self.post("Send Message", ada, &path, message).await);
        self.get("List Messages", grace, &path).await;
        let emoji = json!({ "emoji": "👍" });
        let reactions = format!("{path}/{message}/reactions");
        self.post("Toggle Message Reaction", grace, &reactions, emoji).await;
        self.get("List Conversations", grace, "/chat/conversations").await;
        self.get("Get Unread Count", grace, "/chat/conversations/unread-count").await;
        let read = json!({ "messageId": message });
        let path = format!("/chat/conversations/{direct}/read");
        self.post("Mark as Read", grace, &path, read).await;
    }

    async fn moderation(
        &mut self,
        key: &Actor<'_>,
        ada: &User<'_>,
        grace: &User<'_>,
        (space, comment): (&str, &str),
    ) {
        let report = json!({ "targetType": "comment", "targetId": comment, "reason": "spam", "details": "Again." });
        self.post("Create Report", ada, "/reports", report).await;
        let reports = self.get("List Reports", key, "/reports?status=open").await;
        let path = format!("/reports/{}", id(&reports["data"][0]));
        let dismissed = json!({ "actions": ["dismiss"], "summary": "It is no spam." });
        self.patch("Handle Report", key, &path, dismissed).await;
        let path = format!("/spaces/{space}/comments/{comment}/moderation");
        let approval = json!({ "action": "approve" });
        self.patch("Moderate Comment", ada, &path, approval).await;
        let note = json!({ "userIds": [grace.id], "title": "Maintenance tonight" });
        self.post("Send System Notification", key, "/app-notifications/system", note).await;
    }

    async fn workspaces(&mut self, app: &TestApp, ada: &User<'_>, grace: &User<'_>) {
        with_invitations(app).await;
        for user in [ada, grace] {
            verify(app, app.project.id, user.id).await;
        }
        let new = json!({ "name": "Nursery", "metadata": { "colour": "green" } });
        let nursery = id(&self.post("Create Workspace", ada, "/workspaces", new).await);
        let one = format!("/workspaces/{nursery}");
        let grant = json!({
            "username": "grace", "capabilities": ["invite"], "permissions": ["water"], "rank": 10,
            "title": "Gardener",
        });
        let path = format!("{one}/invites");
        let invite = id(&self.post("Create Workspace Invite", ada, &path, grant).await);
        self.get("List Workspace Invites", ada, &path).await;
        self.get("List My Workspace Invites", grace, "/me/workspace-invites").await;
        let path = format!("/workspace-invites/{invite}/accept");
        self.post("Accept Workspace Invite", grace, &path, Value::Null).await;
        self.get("Fetch Authority", grace, &format!("{one}/authority/me")).await;
        self.get("List Workspace Members", ada, &format!("{one}/members")).await;
        self.get("List Workspaces", grace, "/workspaces?include=memberCount").await;
    }

    async fn events(&mut self, ada: &User<'_>, grace: &User<'_>) {
        let new = json!({
            "title": "Plant swap", "description": "Bring a seedling, take another.", "type": "physical",
            "startTime": "2099-05-01T12:00:00.000Z", "endTime": "2099-05-01T15:00:00.000Z",
            "timezone": "Europe/Berlin", "venueName": "Allotments", "address": "Garden Lane 1",
            "location": { "latitude": 52.5, "longitude": 13.4 }, "capacity": 30, "metadata": { "theme": "spring" },
        });
        let swap = id(&self.post("Create Event", ada, "/events", new).await);
        let one = format!("/events/{swap}");
        let target = json!({ "userId": grace.id });
        self.post("Add Invite", ada, &format!("{one}/invites"), target.clone()).await;
        self.get("Fetch Invitees", ada, &format!("{one}/invites")).await;
        let going = json!({ "status": "going" });
        self.post("Set RSVP", grace, &format!("{one}/rsvp"), going).await;
        self.get("Fetch Event RSVPs", ada, &format!("{one}/rsvps?status=going")).await;
        self.post("Add Host", ada, &format!("{one}/hosts"), target).await;
        let path = "/events?timeWindow=upcoming&include=userRsvp";
        self.get("Fetch Many Events", grace, path).await;
        self.get("Fetch Event", grace, &format!("{one}?include=userRsvp")).await;
        let later = json!({ "endTime": "2099-05-01T16:00:00.000Z" });
        self.patch("Update Event", grace, &one, later).await;
        self.post("Cancel Event", ada, &format!("{one}/cancel"), Value::Null).await;
    }

    async fn grants(
        &mut self,
        key: &Actor<'_>,
        (ada, grace): (&User<'_>, &User<'_>),
        entity: &str,
    ) {
        let path = "/reputation-grants";
        let welcome = json!({ "recipientId": grace.id, "amount": 50, "note": "Welcome!" });
        self.post("Mint Reputation Grant", key, &format!("{path}/mint"), welcome).await;
        let thanks = json!({
            "recipientId": ada.id, "amount": 5, "note": "Thank you for the photo.",
            "targetType": "entity", "targetId": entity,
        });
        self.post("Create Reputation Grant", grace, path, thanks).await;
        let of = format!("{path}?targetType=entity&targetId={entity}");
        self.get("Fetch Many Reputation Grants", ada, &of).await;
    }

    async fn tables(&mut self, key: &Actor<'_>) {
        let table = json!({
            "tableName": "offers",
            "columns": [
                { "columnName": "title", "dataType": "text", "nullable": false },
                { "columnName": "price", "dataType": "integer", "nullable": true, "indexed": true },
            ],
        });
        self.post("Create Table", key, "/db/tables", table).await;
        let row = json!({ "title": "Seedlings", "price": 3 });
        let row = self.post("Insert Row", key, "/db/offers", row).await;
        let row = format!("/db/offers/{}", id(&row["row"]));
        let filters =
            "%5B%7B%22column%22%3A%22price%22%2C%22operator%22%3A%22lte%22%2C%22value%22%3A5%7D%5D";
        self.get("Fetch Rows", key, &format!("/db/offers?filters={filters}")).await;
        self.get("Fetch Row", key, &row).await;
        self.patch("Update Row", key, &row, json!({ "price": 2 })).await;
    }

    async fn farewell(&mut self, ada: &User<'_>, grace: &User<'_>) {
        let path = format!("/users/{}/block", grace.id);
        self.post("Block User", ada, &path, Value::Null).await;
        self.get("Fetch Blocked Users", ada, "/blocks").await;
    }
}

fn id(shown: &Value) -> String {
    shown["id"].as_str().unwrap_or_else(|| panic!("no id in {shown}")).to_owned()
}
