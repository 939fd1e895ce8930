//! Something of every kind, made by requests that are right: mutated requests need ids that exist.

use serde_json::json;

use crate::http::Caller;
use crate::world::{Person, World};

const PEOPLE: usize = 3;

#[derive(Debug)]
pub struct Scene {
    pub project: String,
    pub people: Vec<Person>,
    pub service_key: String,
    /// Ids by the name of the parameter that takes them.
    ids: Vec<(&'static str, String)>,
    pub table: String,
    pub slug: String,
    pub foreign_id: String,
}

impl Scene {
    pub async fn make(
        world: &World,
        caller: &mut Caller,
        worker: u32,
        left: u32,
    ) -> Result<Scene, String> {
        let name = format!("w{worker}n{left}");
        let mut people = Vec::new();
        for number in 0..PEOPLE {
            people.push(world.sign_up(caller, &format!("{name}p{number}")).await?);
        }
        let [owner, other] = [&people[0], &people[1]].map(|person| person.token.clone());
        let mut ids: Vec<(&'static str, String)> =
            people.iter().map(|person| ("userId", person.id.clone())).collect();
        let mut make = async |parameter, token: &str, endpoint: &str, body| {
            let id = world.create(caller, token, endpoint, body).await?;
            ids.push((parameter, id.clone()));
            Ok::<String, String>(id)
        };

        let space = json!({ "name": "Scene", "slug": name });
        let space = make("spaceId", &owner, "/spaces", space).await?;
        let entity = json!({
            "title": "Scene", "foreignId": name, "keywords": ["one", "two"],
            "metadata": { "mood": "curious" }, "spaceId": space,
            "location": { "latitude": 47.0, "longitude": 8.0 },
        });
        let entity = make("entityId", &owner, "/entities", entity).await?;
        make("entityId", &owner, "/entities", json!({ "title": "Draft", "isDraft": true })).await?;
        make("entityId", &other, "/entities", json!({ "content": "Of the other" })).await?;
        let comment = json!({ "entityId": entity, "content": "A comment", "foreignId": name });
        let comment = make("commentId", &other, "/comments", comment).await?;
        let reply = json!({ "entityId": entity, "parentId": comment, "content": "A reply" });
        make("commentId", &owner, "/comments", reply).await?;
        let group = json!({ "type": "group", "name": "Scene", "memberIds": [people[1].id] });
        let group = make("conversationId", &owner, "/chat/conversations", group).await?;
        let messages = format!("/chat/conversations/{group}/messages");
        make("messageId", &other, &messages, json!({ "content": "A message" })).await?;
        let rule = json!({ "title": "A rule" });
        make("ruleId", &owner, &format!("/spaces/{space}/rules"), rule).await?;

        let table = format!("Table_{name}");
        let columns = json!([
            { "columnName": "name", "dataType": "text", "nullable": true, "indexed": true },
            { "columnName": "price", "dataType": "decimal", "nullable": true },
            { "columnName": "made", "dataType": "timestamp", "nullable": true },
            { "columnName": "more", "dataType": "json", "nullable": true },
        ]);
        let table_body = json!({ "tableName": table, "columns": columns });
        let key = world.service_key.clone();
        let path = world.path("/db/tables");
        let made = caller.call("POST", &path, &key, Some(&table_body)).await?;
        // A project has a hundred tables at most; those of earlier scenes serve as well.
        let table = if made.status == 201 { table } else { format!("Table_w{worker}") };
        let row = json!({ "name": "Gear", "price": "19.90" });
        let row = caller.call("POST", &world.path(&format!("/db/{table}")), "", Some(&row)).await?;
        ids.extend(row.text("row/id").ok().map(|id| ("rowId", id)));
        let root = caller.call("GET", &world.path("/collections/root"), &owner, None).await?;
        ids.extend(root.text("id").ok().map(|id| ("collectionId", id)));
        let report = json!({ "targetType": "entity", "targetId": entity, "reason": "spam" });
        let path = world.path("/reports");
        caller.call("POST", &path, &other, Some(&report)).await?;
        let reports = caller.call("GET", &world.path("/reports"), &key, None).await?;
        ids.extend(reports.text("data/0/id").ok().map(|id| ("reportId", id)));
        let join = world.path(&format!("/spaces/{space}/join"));
        let joined = caller.call("POST", &join, &other, None).await?;
        ids.extend(joined.text("membership/id").ok().map(|id| ("memberId", id)));
        let connect = world.path(&format!("/users/{}/connection", people[1].id));
        let connected = caller.call("POST", &connect, &owner, Some(&json!({}))).await?;
        ids.extend(connected.text("id").ok().map(|id| ("connectionId", id)));
        let told = caller.call("GET", &world.path("/app-notifications"), &owner, None).await?;
        ids.extend(told.text("data/0/id").ok().map(|id| ("notificationId", id)));
        Ok(Scene {
            project: world.project.clone(),
            people,
            service_key: key,
            ids,
            table,
            slug: name.clone(),
            foreign_id: name,
        })
    }

    /// The ids that fit a parameter of that name; of every kind where the name says nothing.
    pub fn ids(&self, name: &str) -> Vec<&str> {
        let name = match name {
            "listId" => "collectionId",
            "actingUserId" | "memberIds" => "userId",
            "parentId" | "quotedCommentId" => "commentId",
            "parentMessageId" | "quotedMessageId" => "messageId",
            other => other,
        };
        let fitting = |(parameter, _): &&(&str, String)| *parameter == name;
        let found: Vec<&str> = self.ids.iter().filter(fitting).map(|(_, id)| id.as_str()).collect();
        if found.is_empty() { self.ids.iter().map(|(_, id)| id.as_str()).collect() } else { found }
    }
}
