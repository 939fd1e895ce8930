//! How the engines find what lists ask for: always by an index, and feeds in the order of one. The
//! statements are those that requests really ran, explained on thousands of rows.

use std::collections::BTreeMap;

use db::{Command, Engine, Query, args};
use townhall::values::ids::{SpaceId, UserId};

use crate::statements::is_full_scan;
use crate::support::feed::{feed, page, seed_many};
use crate::support::{Actor, TestApp, on_both_engines};

on_both_engines![
    everything_a_list_asks_for_is_found_by_an_index,
    feeds_are_read_in_the_order_of_an_index,
    feeds_of_version_6_are_neither_sorted_nor_counted,
];

/// A few thousand entities: a third is by one author, as many in one space, as many from one
/// source.
async fn fill(app: &TestApp) -> (UserId, SpaceId) {
    let ada = app.user().await;
    let space = crate::spaces::id(&crate::spaces::create(&ada, serde_json::json!({})).await);
    let ada = ada.id;
    seed_many(app, 2500).await;
    let project = app.project.id;
    let update = |column: &str, offset: u32| {
        Command::<()>::built(
            "test::file",
            format!(
                "UPDATE entities SET {column} = $2 WHERE project_id = $1 AND id IN
                    (SELECT id FROM entities WHERE project_id = $1 ORDER BY created_at
                     LIMIT 800 OFFSET {offset})"
            ),
        )
    };
    let count =
        "INSERT INTO entity_counts (project_id, scope, shard, total) VALUES ($1, $2, 0, 800)";
    let filed = app.app.db.write(move |tx| {
        tx.execute(&update("user_id", 0), args![project, ada])?;
        tx.execute(&update("space_id", 800), args![project, space])?;
        tx.execute(&update("source_id", 1600), args![project, "s"])?;
        let count = Command::<()>::built("test::count", count);
        for scope in [format!("author:{ada}"), format!("space:{space}"), "source:s".to_owned()] {
            tx.execute(&count, args![project, scope])?;
        }
        Ok::<_, db::Error>(())
    });
    filed.await.unwrap();
    (ada, space)
}

pub(crate) async fn run(app: &TestApp, script: String) {
    let db = app.app.db.clone();
    let ran = tokio::task::spawn_blocking(move || db.execute_script(&script)).await;
    ran.unwrap().unwrap();
}

/// The plan of each statement that a query runs, by its name and text.
async fn plans(
    app: &TestApp,
    actor: &Actor<'_>,
    queries: &[String],
) -> BTreeMap<(&'static str, String), Vec<String>> {
    let mut plans = BTreeMap::new();
    for query in queries {
        let seen = app.statements.during(actor.get(&feed(query))).await;
        for (name, text) in seen.into_iter().filter(|one| one.0.starts_with("entities::list")) {
            plans.entry((name, text)).or_insert_with(Vec::new);
        }
    }
    let db = app.app.db.clone();
    let explained = tokio::task::spawn_blocking(move || {
        for ((name, text), plan) in &mut plans {
            *plan = db.explain(&Query::<()>::built(name, text.clone())).unwrap();
        }
        plans
    });
    explained.await.unwrap()
}

/// A page that was found, the few that a statement began with, and counts up to a bound are no tables.
pub(crate) fn scans(plan: &[String]) -> bool {
    let no_tables = ["SCAN page", "SCAN s", "SCAN few", "SCAN wide", "SCAN shut"];
    plan.iter().any(|line| is_full_scan(line) && !no_tables.contains(&line.as_str()))
}

/// Whether all rows are sorted, and not only those that an index leaves equal or those of the page that was found.
pub(crate) fn sorts(engine: Engine, plan: &[String]) -> bool {
    let finds_page = plan.iter().any(|line| line.trim() == "CTE page");
    plan.iter().skip(usize::from(finds_page)).any(|line| match engine {
        Engine::Sqlite => line == "USE TEMP B-TREE FOR ORDER BY",
        Engine::Postgres => {
            line.trim_start().trim_start_matches("->").trim().starts_with("Sort  (")
        }
    })
}

async fn everything_a_list_asks_for_is_found_by_an_index(app: TestApp) {
    let app = app.server_with_many_rows().await;
    let (ada, space) = fill(&app).await;
    run(&app, "{analyze}".to_owned()).await;
    let near = |latitude: &str| {
        format!("locationFilters={{\"latitude\":{latitude},\"longitude\":0,\"radius\":1000}}")
    };
    let filters = [
        String::new(),
        "sourceId=s".to_owned(),
        "sourceId=null".to_owned(),
        "sourceId=null&spaceId=null".to_owned(),
        format!("spaceId={space}"),
        format!("spaceId={space}&sourceId=null"),
        format!("userId={ada}"),
        format!("userId={ada}&nsfwFilter=exclude"),
        "timeFrame=day".to_owned(),
        "nsfwFilter=only".to_owned(),
        "keywordsFilters[includes]=many".to_owned(),
        "keywordsFilters[includes]=one".to_owned(),
        "keywordsFilters[includes][]=many&keywordsFilters[includes][]=tenth".to_owned(),
        "keywordsFilters[doesNotInclude]=many".to_owned(),
        "titleFilters[includes]=n1".to_owned(),
        "contentFilters[hasContent]=false".to_owned(),
        "attachmentsFilters[hasAttachments]=false".to_owned(),
        "metadataFilters[includes][n]=7".to_owned(),
        r#"metadataFilters={"includes":{"n":7}}"#.to_owned(),
        r#"metadataFilters={"includes":{"n":[7]},"doesNotInclude":{"n":8}}"#.to_owned(),
        r#"metadataFilters={"includesAny":[{"n":7},{"n":8}],"exists":["n"],"doesNotExist":["m"]}"#
            .to_owned(),
        near("1"),
        near("1.5"),
    ];
    let sorts = [
        "sortBy=createdAt",
        "sortDir=asc",
        "sortBy=hot",
        "sortBy=top",
        "sortBy=top&page=9",
        "sortBy=top&sortByReaction=love",
        "sortBy=controversial",
        "sortBy=metadata.n",
    ];
    let queries: Vec<String> = filters
        .iter()
        .flat_map(|filter| sorts.map(|sort| format!("limit=100&{sort}&{filter}")))
        .collect();
    let plans = plans(&app, &app.anonymous(), &queries).await;
    assert!(plans.len() > filters.len() * 5, "{}", plans.len());
    let wrong: Vec<String> = plans
        .iter()
        .filter(|(_, plan)| scans(plan))
        .map(|((name, text), plan)| format!("{name}: {text}\n  {}", plan.join("\n  ")))
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

async fn feeds_are_read_in_the_order_of_an_index(app: TestApp) {
    if app.is_distributed() {
        return;
    }
    let app = app.own_server().await;
    let (ada, space) = fill(&app).await;
    run(&app, "{analyze}".to_owned()).await;
    let feeds = [
        "sortBy=createdAt".to_owned(),
        "sortDir=asc".to_owned(),
        "sortBy=hot".to_owned(),
        "sortBy=top".to_owned(),
        "sortBy=top&sortByReaction=downvote".to_owned(),
        "sortBy=top&sortByReaction=like".to_owned(),
        "sortBy=top&sortByReaction=love".to_owned(),
        "sortBy=top&sortByReaction=wow".to_owned(),
        "sortBy=top&sortByReaction=sad".to_owned(),
        "sortBy=top&sortByReaction=angry".to_owned(),
        "sortBy=top&sortByReaction=funny".to_owned(),
        "sortBy=controversial".to_owned(),
        "sourceId=null&spaceId=null".to_owned(),
        "sourceId=null&spaceId=null&sortBy=hot".to_owned(),
        "sourceId=s".to_owned(),
        "sourceId=s&sortBy=hot".to_owned(),
        format!("spaceId={space}"),
        format!("spaceId={space}&sortBy=hot"),
        format!("spaceId={space}&sortBy=top"),
        format!("spaceId={space}&sortBy=controversial"),
        format!("userId={ada}"),
        "keywordsFilters[includes]=many".to_owned(),
        "keywordsFilters[includes]=many&sortBy=hot".to_owned(),
        "keywordsFilters[includes]=many&sortBy=top".to_owned(),
        "keywordsFilters[includes]=many&sortBy=controversial".to_owned(),
    ];
    for query in feeds {
        let query = format!("limit=10&{query}");
        assert_ne!(page(&app.anonymous(), &query).await["data"], serde_json::json!([]), "{query}");
        expect_ordered(&app, &plans(&app, &app.anonymous(), &[query]).await);
    }
}

/// No statement sorts all rows.
fn expect_ordered(app: &TestApp, plans: &BTreeMap<(&'static str, String), Vec<String>>) {
    assert!(plans.keys().any(|(name, _)| *name == "entities::list::page"), "{plans:?}");
    for ((name, text), plan) in plans {
        assert!(!sorts(app.engine(), plan), "{name}: {text}\n  {}", plan.join("\n  "));
    }
}

/// Version 6 lists entities without a source, and its `top` is the balance of votes.
async fn feeds_of_version_6_are_neither_sorted_nor_counted(app: TestApp) {
    if app.is_distributed() {
        return;
    }
    let app = app.own_server().await;
    fill(&app).await;
    run(&app, "{analyze}".to_owned()).await;
    let actor = app.anonymous().v6();
    for query in ["sortBy=top", "sortBy=hot", "sortBy=new", "sortBy=controversial"] {
        for filter in ["", "&keywordsFilters[includes]=many"] {
            let query = format!("limit=10&{query}{filter}");
            assert_ne!(page(&actor, &query).await["data"], serde_json::json!([]), "{query}");
            let plans = plans(&app, &actor, &[query]).await;
            assert!(plans.keys().all(|(name, _)| *name != "entities::list::count"), "{plans:?}");
            expect_ordered(&app, &plans);
        }
    }
}
