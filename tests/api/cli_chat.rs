//! The command line about chat: the counts that the doctor recounts.

use serde_json::{Value, json};

use crate::support::{Installation, installed_on_both_engines};

installed_on_both_engines![the_doctor_recounts_chat];

fn the_doctor_recounts_chat(town: Installation) {
    let made = town.json(&["project", "create", "--name", "Forum"]);
    let (project, key) =
        (made["projectId"].as_str().unwrap(), made["serviceKey"].as_str().unwrap());
    let server = town.serve();
    let send = |method: &str, path: &str, body: Value| {
        let address = format!("/v8/{project}{path}");
        let (status, reply) = server.request(method, &address, key, &body.to_string());
        assert!([200, 201].contains(&status), "{reply}");
        serde_json::from_str::<Value>(&reply).unwrap()
    };
    let user = json!({ "email": "a@example.com", "password": "correct horse" });
    let user = send("POST", "/auth/sign-up", user)["user"]["id"].clone();
    let group = send("POST", "/chat/conversations", json!({ "userId": user, "type": "group" }));
    let path = format!("/chat/conversations/{}", group["id"].as_str().unwrap());
    let mut messages: Vec<Value> = Vec::new();
    for parent in [false, false, true] {
        let parent = parent.then(|| messages[0]["id"].clone());
        let new = json!({ "userId": user, "content": "x", "parentMessageId": parent });
        messages.push(send("POST", &format!("{path}/messages"), new));
    }
    let first = format!("{path}/messages/{}", messages[0]["id"].as_str().unwrap());
    send("POST", &format!("{first}/reactions"), json!({ "userId": user, "emoji": "!" }));
    assert_eq!(town.json(&["doctor"])["status"], "pass");
    // One forgot its replies and reactions, one has some of its own.
    let spoil = "UPDATE conversations SET member_count = 7;
        UPDATE chat_messages SET reaction_counts = '{\"?\":2}'
            WHERE thread_reply_count = 0 AND parent_message_id IS NULL;
        UPDATE chat_messages SET reaction_counts = '{}' WHERE thread_reply_count = 1;
        UPDATE chat_messages SET thread_reply_count = 7 WHERE thread_reply_count = 1";
    town.db().execute_script(spoil).unwrap();
    let drifted = town.run(&["doctor", "--json"]);
    assert_eq!(drifted.code, 1);
    assert!(drifted.stdout.contains("3 of chat"), "{}", drifted.stdout);
    let fixed = town.json(&["doctor", "--fix"]).to_string();
    assert!(fixed.contains("3 had drifted, 3 were repaired"), "{fixed}");
    assert_eq!(town.json(&["doctor"])["status"], "pass");
    let acting = format!("?userId={}", user.as_str().unwrap());
    let shown = send("GET", &format!("{first}{acting}"), json!({}));
    assert_eq!(
        (&shown["threadReplyCount"], &shown["reactionCounts"]),
        (&json!(1), &json!({ "!": 1 }))
    );
    assert_eq!(send("GET", &format!("{path}{acting}"), json!({}))["memberCount"], 1);
}
