//! Concurrent writes in one conversation: nothing is lost, times only grow, and every count is exact.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use crate::support::chat::{
    add, at, direct, group, messages, of, react, read_up_to, remove, reply, send, set_role, unread,
};
use crate::support::{Reply, TestApp, User, all_at_once, count, on_both_engines};

on_both_engines![
    messages_of_many_at_once_have_rising_times,
    replies_of_many_at_once_are_all_counted,
    reactions_of_many_at_once_are_all_counted,
    one_who_repeats_a_reaction_has_it_or_not,
    the_hundred_reactions_are_not_exceeded_together,
    two_users_at_once_have_one_conversation,
    of_two_admins_who_leave_at_once_one_stays,
    of_two_admins_who_remove_each_other_one_stays,
    members_come_and_go_at_once_and_are_counted,
    a_message_is_sent_before_or_after_its_author_left,
    a_mute_does_not_reset_the_read_position,
    a_message_is_taken_back_or_removed,
    everything_at_once_leaves_exact_numbers,
];

const CROWD: usize = 64;

async fn some<'a>(app: &'a TestApp, count: usize) -> Vec<User<'a>> {
    let mut users = Vec::new();
    for _ in 0..count {
        users.push(app.user().await);
    }
    users
}

/// A group of all of them, of which the first is the admin.
async fn group_of(users: &[User<'_>]) -> String {
    group(&users[0], &users[1..].iter().collect::<Vec<_>>()).await
}

async fn messages_of_many_at_once_have_rising_times(app: TestApp) {
    let users = some(&app, 4).await;
    let id = group_of(&users).await;
    let (id_ref, users_ref) = (&id, &users);
    let sent = all_at_once((0..CROWD).map(|number| async move {
        send(&users_ref[number % 4], id_ref, &number.to_string()).await
    }));
    let sent = sent.await;
    let page = messages(&users[0], &id, "?limit=100&sort=asc").await;
    let listed = page["messages"].as_array().unwrap();
    assert_eq!(listed.len(), CROWD);
    let times: Vec<&str> = listed.iter().map(|one| one["createdAt"].as_str().unwrap()).collect();
    assert!(times.windows(2).all(|pair| pair[0] < pair[1]), "{times:?}");
    let ids = |all: &[Value]| all.iter().map(|one| one["id"].to_string()).collect::<BTreeSet<_>>();
    assert_eq!(ids(&sent), ids(listed));
    for user in &users {
        assert_eq!(unread(user).await, (48, 1));
        let shown = user.get(&of(&id, "/preview")).await.expect(200);
        assert_eq!(
            (&shown["unreadCount"], &shown["lastMessageAt"]),
            (&json!(48), &json!(times[63]))
        );
        assert_eq!(shown["lastMessage"]["id"], listed[63]["id"]);
    }
    // Paging by time skips nothing and repeats nothing.
    let (mut seen, mut query) = (Vec::new(), "?limit=7".to_owned());
    loop {
        let page = messages(&users[1], &id, &query).await;
        seen.extend(page["messages"].as_array().unwrap().clone());
        if page["hasMore"] == false {
            break;
        }
        query = format!("?limit=7&before={}", page["oldestCreatedAt"].as_str().unwrap());
    }
    assert_eq!((seen.len(), ids(&seen)), (CROWD, ids(listed)));
}

async fn replies_of_many_at_once_are_all_counted(app: TestApp) {
    let users = some(&app, 4).await;
    let id = group_of(&users).await;
    let first = send(&users[0], &id, "first").await;
    let (id_ref, users_ref, first_ref) = (&id, &users, &first);
    all_at_once(
        (0..CROWD).map(|number| async move {
            reply(&users_ref[number % 4], id_ref, first_ref, "re").await
        }),
    )
    .await;
    let shown = users[0].get(&at(&id, &first)).await.expect(200);
    assert_eq!(shown["threadReplyCount"], CROWD);
    let thread = format!("?limit=100&parentId={}", first["id"].as_str().unwrap());
    let page = messages(&users[0], &id, &thread).await;
    assert_eq!(page["messages"].as_array().unwrap().len(), CROWD);
    assert_eq!((unread(&users[1]).await, unread(&users[0]).await), ((1, 1), (0, 0)));
}

async fn reactions_of_many_at_once_are_all_counted(app: TestApp) {
    let users = some(&app, 16).await;
    let id = group_of(&users).await;
    let message = send(&users[0], &id, "x").await;
    let (id_ref, users_ref, message_ref) = (&id, &users, &message);
    // Everybody gives each of four; every fourth then takes the first back.
    let replies = all_at_once((0..CROWD).map(|number| async move {
        let emoji = ["a", "b", "c", "d"][number / 16];
        react(&users_ref[number % 16], id_ref, message_ref, emoji).await
    }));
    assert_eq!(count(&replies.await, 200), CROWD);
    let taken = (0..16).step_by(4).map(|place| react(&users[place], &id, &message, "a"));
    assert!(all_at_once(taken).await.iter().all(|reply| reply.json()["delta"] == -1));
    let shown = users[0].get(&at(&id, &message)).await.expect(200);
    assert_eq!(shown["reactionCounts"], json!({ "a": 12, "b": 16, "c": 16, "d": 16 }));
    for (emoji, expected) in [("a", 12), ("d", 16)] {
        let path = format!("{}/reactions?emoji={emoji}", at(&id, &message));
        assert_eq!(users[0].get(&path).await.expect(200)["pagination"]["total"], expected);
    }
}

async fn one_who_repeats_a_reaction_has_it_or_not(app: TestApp) {
    let users = some(&app, 2).await;
    let id = group_of(&users).await;
    let message = send(&users[0], &id, "x").await;
    let replies = all_at_once((0..CROWD + 1).map(|_| react(&users[1], &id, &message, "a"))).await;
    let given = replies.iter().filter(|reply| reply.expect(200)["delta"] == 1).count();
    assert_eq!(given, CROWD / 2 + 1, "one more given than taken back");
    let shown = users[1].get(&at(&id, &message)).await.expect(200);
    assert_eq!(
        (&shown["reactionCounts"], &shown["userReactions"]),
        (&json!({ "a": 1 }), &json!(["a"]))
    );
}

async fn the_hundred_reactions_are_not_exceeded_together(app: TestApp) {
    let users = some(&app, 2).await;
    let id = group_of(&users).await;
    let message = send(&users[0], &id, "x").await;
    let (id_ref, users_ref, message_ref) = (&id, &users, &message);
    let replies = all_at_once((0..120_u32).map(|number| async move {
        let emoji = char::from_u32(0x4e00 + number).unwrap().to_string();
        react(&users_ref[number as usize % 2], id_ref, message_ref, emoji).await
    }));
    let replies = replies.await;
    assert_eq!((count(&replies, 200), count(&replies, 400)), (100, 20));
    let shown = users[0].get(&at(&id, &message)).await.expect(200);
    assert_eq!(shown["reactionCounts"].as_object().unwrap().len(), 100);
}

async fn two_users_at_once_have_one_conversation(app: TestApp) {
    let users = some(&app, 2).await;
    let users = &users;
    let replies = all_at_once((0..CROWD).map(|number| async move {
        let (one, other) = (&users[number % 2], &users[(number + 1) % 2]);
        one.post("/chat/conversations/direct", json!({ "userId": other.id })).await
    }));
    let replies = replies.await;
    assert_eq!((count(&replies, 201), count(&replies, 200)), (1, CROWD - 1));
    let ids: BTreeSet<String> = replies.iter().map(|one| one.json()["id"].to_string()).collect();
    assert_eq!(ids.len(), 1);
    let id = direct(&users[0], &users[1]).await;
    let page = users[0].get(&of(&id, "/members")).await.expect(200);
    assert_eq!(page["pagination"]["totalItems"], 2);
}

async fn admins(actor: &User<'_>, conversation: &str) -> (Value, Value) {
    let page = actor.get(&of(conversation, "/members")).await.expect(200);
    let admins = actor.get(&of(conversation, "/members?role=admin")).await.expect(200);
    let total = |page: &Value| page["pagination"]["totalItems"].clone();
    let fetched = actor.get(&of(conversation, "")).await.expect(200);
    assert_eq!(fetched["memberCount"], total(&page));
    (total(&page), total(&admins))
}

async fn of_two_admins_who_leave_at_once_one_stays(app: TestApp) {
    let users = some(&app, 3).await;
    for _ in 0..8 {
        let id = group_of(&users).await;
        set_role(&users[0], &id, &users[1], "admin").await.expect(200);
        let path = of(&id, "/leave");
        let replies = all_at_once(users[..2].iter().map(|user| user.delete(&path))).await;
        let mut outcomes: Vec<String> = replies.iter().map(Reply::outcome).collect();
        outcomes.sort_unstable();
        assert_eq!(outcomes, ["200", "400 chat/last-admin"]);
        assert_eq!(admins(&users[2], &id).await, (json!(2), json!(1)));
    }
}

async fn of_two_admins_who_remove_each_other_one_stays(app: TestApp) {
    let users = some(&app, 2).await;
    for _ in 0..8 {
        let id = group_of(&users).await;
        set_role(&users[0], &id, &users[1], "admin").await.expect(200);
        let pairs = [(&users[0], &users[1]), (&users[1], &users[0])];
        let replies = all_at_once(pairs.map(|(one, other)| remove(one, &id, other))).await;
        let mut outcomes: Vec<String> = replies.iter().map(Reply::outcome).collect();
        outcomes.sort_unstable();
        assert_eq!(outcomes, ["200", "403 chat/not-a-member"]);
        assert_eq!(admins(&users[0], &id).await, (json!(1), json!(1)));
    }
}

async fn members_come_and_go_at_once_and_are_counted(app: TestApp) {
    let users = some(&app, 9).await;
    let id = group(&users[0], &[]).await;
    for round in 0..3 {
        let (id, users) = (&id, &users);
        let replies = all_at_once((0..CROWD).map(|number| async move {
            let user = &users[1 + number % 8];
            match (number / 8 + number + round) % 3 {
                0 => add(&users[0], id, user).await,
                1 => remove(&users[0], id, user).await,
                _ => user.delete(&of(id, "/leave")).await,
            }
        }));
        for reply in replies.await {
            assert!([200, 201, 400, 404].contains(&reply.status), "{}", reply.text());
        }
        admins(&users[0], id).await;
    }
    let replies = all_at_once(users[1..].iter().map(|user| add(&users[0], &id, user))).await;
    assert!(replies.iter().all(|reply| [200, 201].contains(&reply.status)));
    assert_eq!(admins(&users[0], &id).await, (json!(9), json!(1)));
}

async fn a_message_is_sent_before_or_after_its_author_left(app: TestApp) {
    let users = some(&app, 2).await;
    let id = group_of(&users).await;
    let (ada, bob, id) = (&users[0], &users[1], &id);
    let replies = all_at_once((0..CROWD).map(|number| async move {
        match number {
            40 => bob.delete(&of(id, "/leave")).await,
            _ => {
                let user = if number % 2 == 0 { ada } else { bob };
                let body = json!({ "content": number.to_string() });
                user.post(&of(id, "/messages"), body).await
            }
        }
    }));
    let replies = replies.await;
    let sent: BTreeMap<String, u16> = replies
        .iter()
        .filter(|reply| reply.status == 201)
        .map(|reply| (reply.json()["createdAt"].as_str().unwrap().to_owned(), reply.status))
        .collect();
    assert_eq!(sent.len(), count(&replies, 201));
    let left = bob.get(&of(id, "")).await.expect(200)["currentMember"]["leftAt"].clone();
    let left = left.as_str().unwrap().to_owned();
    // All of Bob's own, and of Ada's what came before he left.
    let seen = messages(bob, id, "?limit=100").await;
    let seen = seen["messages"].as_array().unwrap();
    let before = sent.keys().filter(|time| **time <= left).count();
    assert_eq!(seen.len(), before);
    let of_bob = seen.iter().filter(|message| message["userId"] == json!(bob.id)).count();
    let answered = replies.iter().filter(|reply| reply.json()["userId"] == json!(bob.id)).count();
    assert_eq!(of_bob, answered, "whatever he sent, he sent before he left");
}

async fn a_mute_does_not_reset_the_read_position(app: TestApp) {
    let users = some(&app, 2).await;
    let id = group_of(&users).await;
    let (ada, bob, id) = (&users[0], &users[1], &id);
    for round in 0..16 {
        let message = send(ada, id, "x").await;
        let message = &message;
        all_at_once((0..9).map(|number| async move {
            if number == 4 {
                return read_up_to(bob, id, message).await;
            }
            let duration = if number % 2 == 0 { json!("8h") } else { Value::Null };
            bob.post(&of(id, "/mute"), json!({ "duration": duration })).await.expect(200);
        }))
        .await;
        assert_eq!(unread(bob).await, (0, 0), "round {round}");
    }
}

async fn a_message_is_taken_back_or_removed(app: TestApp) {
    let users = some(&app, 2).await;
    let id = group_of(&users).await;
    for _ in 0..8 {
        let message = send(&users[1], &id, "x").await;
        let path = at(&id, &message);
        let replies = all_at_once(users.iter().map(|user| user.delete(&path))).await;
        assert_eq!(replies[0].status, 200, "{}", replies[0].text());
        assert!(["200", "404 chat/message-not-found"].contains(&replies[1].outcome().as_str()));
        users[0].get(&path).await.refused(404, "chat/message-not-found");
    }
}

async fn everything_at_once_leaves_exact_numbers(app: TestApp) {
    let users = some(&app, 5).await;
    let id = group_of(&users).await;
    let mut sent = Vec::new();
    for user in &users[..4] {
        sent.push(send(user, &id, "x").await);
    }
    for round in 0..3 {
        let (id, users, sent) = (&id, &users, &sent);
        let replies = all_at_once((0..CROWD).map(|number| async move {
            let (user, message) = (&users[number % 4], &sent[(number / 4 + round) % 4]);
            let body = match number % 9 {
                0 => json!({ "content": "new" }),
                1 => json!({ "content": "re", "parentMessageId": message["id"] }),
                2 => json!({ "content": "quote", "quotedMessageId": message["id"] }),
                3 | 4 => return react(user, id, message, ["a", "b"][number % 2]).await,
                5 => {
                    let text = json!({ "content": number.to_string() });
                    return user.patch(&at(id, message), text).await;
                }
                6 => {
                    let body = json!({ "messageId": message["id"] });
                    return user.post(&of(id, "/read"), body).await;
                }
                7 => return add(&users[0], id, &users[4]).await,
                _ => return remove(&users[0], id, &users[4]).await,
            };
            user.post(&of(id, "/messages"), body).await
        }));
        for reply in replies.await {
            assert!(reply.status < 500, "{}", reply.text());
        }
    }
    admins(&users[0], &id).await;
    let page = messages(&users[0], &id, "?limit=100").await;
    for message in page["messages"].as_array().unwrap() {
        let thread = format!("?limit=100&parentId={}", message["id"].as_str().unwrap());
        let replies = messages(&users[0], &id, &thread).await["messages"].clone();
        assert_eq!(message["threadReplyCount"], replies.as_array().unwrap().len());
        for emoji in ["a", "b"] {
            let path = format!("{}/reactions?emoji={emoji}", at(&id, message));
            let total = users[0].get(&path).await.expect(200)["pagination"]["total"].clone();
            let counted = message["reactionCounts"].get(emoji).cloned();
            assert_eq!(counted.unwrap_or_else(|| json!(0)), total);
        }
    }
    // Nobody has read further than their own mark, and what is newer and of others is unread.
    let all = page["messages"].as_array().unwrap();
    assert_eq!(page["hasMore"], false);
    for user in &users[..4] {
        let own = user.get(&of(&id, "")).await.expect(200)["currentMember"].clone();
        let read = own["lastReadAt"].as_str().unwrap_or_default();
        let is_news = |message: &&Value| {
            message["createdAt"].as_str().unwrap() > read && message["userId"] != json!(user.id)
        };
        let expected = i64::try_from(all.iter().filter(is_news).count()).unwrap();
        assert_eq!(unread(user).await.0, expected);
    }
}
