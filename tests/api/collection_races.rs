//! Concurrent changes of collections: one root, one entry, one name, and every count exact.

use serde_json::{Value, json};

use crate::collections::{
    children, counts_are_exact, create, id, path, root, save, try_create, try_save,
};
use crate::entities::create as post_entity;
use crate::support::{TestApp, all_at_once, count, on_both_engines};

on_both_engines![
    parallel_first_fetches_make_one_root,
    an_entity_added_by_many_at_once_is_there_once,
    counts_are_exact_after_adding_and_removing_at_once,
    a_name_is_taken_once_by_parallel_creations,
    a_name_is_taken_once_by_parallel_renames,
    deletion_of_a_tree_among_creations_leaves_no_orphan,
    deletion_of_entities_among_saves_leaves_no_entry,
    deletion_of_the_user_among_their_own_writes_leaves_nothing,
];

async fn parallel_first_fetches_make_one_root(app: TestApp) {
    let ada = app.user().await;
    let (v6, v8) = (ada.v6(), (*ada).clone());
    let fetches = (0..32)
        .map(|n| if n % 2 == 0 { v8.get("/collections/root") } else { v6.get("/lists/root") });
    let replies = all_at_once(fetches).await;
    let first = replies[0].expect(200)["id"].clone();
    for reply in &replies {
        assert_eq!(reply.expect(200)["id"], first);
    }
    assert_eq!(app.rows("collections").await, 1);
}

async fn an_entity_added_by_many_at_once_is_there_once(app: TestApp) {
    let ada = app.user().await;
    let (top, entity) = (root(&ada).await, post_entity(&ada, json!({})).await);
    let replies = all_at_once((0..16).map(|_| try_save(&ada, &top, &entity))).await;
    for reply in &replies {
        assert_eq!(reply.expect(200)["collection"]["entityCount"], 1);
    }
    assert_eq!(app.rows("collection_entities").await, 1);
    let entry = format!("{}/entities/{}", path(&top), id(&entity));
    let replies = all_at_once((0..16).map(|_| ada.delete(&entry))).await;
    for reply in &replies {
        assert_eq!(reply.expect(200)["collection"]["entityCount"], 0);
    }
    counts_are_exact(&app).await;
}

async fn counts_are_exact_after_adding_and_removing_at_once(app: TestApp) {
    let (ada, bob) = (app.user().await, app.user().await);
    let tops = [root(&ada).await, root(&bob).await];
    let mut entities = Vec::new();
    for _ in 0..4 {
        entities.push(post_entity(&ada, json!({})).await);
    }
    for round in 0..3 {
        let changes = (0..24).map(|n| {
            let (user, top) = if n % 2 == 0 { (&ada, &tops[0]) } else { (&bob, &tops[1]) };
            let entity = &entities[(n / 2 + round) % 4];
            let (top, entity) = (top.clone(), entity.clone());
            async move {
                if (n / 8 + round) % 2 == 0 {
                    try_save(user, &top, &entity).await
                } else {
                    user.delete(&format!("{}/entities/{}", path(&top), id(&entity))).await
                }
            }
        });
        assert_eq!(count(&all_at_once(changes).await, 200), 24);
        counts_are_exact(&app).await;
    }
}

async fn a_name_is_taken_once_by_parallel_creations(app: TestApp) {
    let ada = app.user().await;
    let top = root(&ada).await;
    let replies = all_at_once((0..16).map(|_| try_create(&ada, &top, "same"))).await;
    assert_eq!((count(&replies, 201), count(&replies, 409)), (1, 15));
    assert_eq!(children(&ada, &top).await.len(), 1);
}

async fn a_name_is_taken_once_by_parallel_renames(app: TestApp) {
    let ada = app.user().await;
    let top = root(&ada).await;
    let mut made = Vec::new();
    for n in 0..8 {
        made.push(path(&create(&ada, &top, &n.to_string()).await));
    }
    let renames = made.iter().map(|one| ada.patch(one, json!({ "name": "same" })));
    let replies = all_at_once(renames).await;
    assert_eq!((count(&replies, 200), count(&replies, 409)), (1, 7));
}

async fn deletion_of_a_tree_among_creations_leaves_no_orphan(app: TestApp) {
    let ada = app.user().await;
    let top = root(&ada).await;
    for round in 0..4 {
        let gone = create(&ada, &top, &format!("gone{round}")).await;
        let inner = create(&ada, &gone, "inner").await;
        let address = path(&gone);
        let names: Vec<String> = (0..12).map(|n| n.to_string()).collect();
        let (deleted, made) = tokio::join!(
            ada.delete(&address),
            all_at_once(names.iter().enumerate().map(|(n, name)| {
                try_create(&ada, if n % 2 == 0 { &gone } else { &inner }, name)
            })),
        );
        deleted.expect(204);
        assert_eq!(count(&made, 201) + count(&made, 400), 12);
        assert_eq!(app.rows("collections").await, 1);
    }
}

async fn deletion_of_entities_among_saves_leaves_no_entry(app: TestApp) {
    let ada = app.user().await;
    let mut users = Vec::new();
    for _ in 0..4 {
        let user = app.user().await;
        let top = root(&user).await;
        let inner = create(&user, &top, "inner").await;
        users.push((user, [top, inner]));
    }
    for _ in 0..4 {
        let entities: Vec<Value> =
            vec![post_entity(&ada, json!({})).await, post_entity(&ada, json!({})).await];
        for (user, collections) in &users {
            save(user, &collections[1], &entities[0]).await;
        }
        let paths: Vec<String> = entities.iter().map(crate::entities::path).collect();
        let saves = users.iter().flat_map(|(user, collections)| {
            let pairs = collections.iter().flat_map(|one| entities.iter().map(move |e| (one, e)));
            pairs.map(move |(collection, entity)| try_save(user, collection, entity))
        });
        let (deleted, saved) =
            tokio::join!(all_at_once(paths.iter().map(|one| ada.delete(one))), all_at_once(saves));
        assert_eq!(count(&deleted, 204), 2);
        assert_eq!(count(&saved, 200) + count(&saved, 404), 16);
        assert_eq!(app.rows("collection_entities").await, 0);
        counts_are_exact(&app).await;
    }
}

async fn deletion_of_the_user_among_their_own_writes_leaves_nothing(app: TestApp) {
    let ada = app.user().await;
    let entity = post_entity(&ada, json!({})).await;
    for _ in 0..4 {
        let bob = app.user().await;
        let top = root(&bob).await;
        let inner = create(&bob, &top, "inner").await;
        let own = post_entity(&bob, json!({})).await;
        let gone = format!("/users/{}", bob.id);
        let service = app.service();
        let names: Vec<String> = (0..6).map(|n| n.to_string()).collect();
        let (deleted, created, saved) = tokio::join!(
            service.delete(&gone),
            all_at_once(names.iter().map(|name| try_create(&bob, &inner, name))),
            all_at_once(
                [&top, &inner]
                    .into_iter()
                    .flat_map(|one| { [&entity, &own].map(|entity| try_save(&bob, one, entity)) })
            ),
        );
        deleted.expect(204);
        for reply in created.iter().chain(&saved) {
            assert!([200, 201, 400, 403, 404].contains(&reply.status), "{}", reply.text());
        }
        assert_eq!(app.rows("collections").await, 0);
        assert_eq!(app.rows("collection_entities").await, 0);
    }
    counts_are_exact(&app).await;
}
