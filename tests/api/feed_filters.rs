//! Filters by words, texts and attachments.

use serde_json::json;

use crate::support::feed::{finds, lists, post};
use crate::support::{TestApp, on_both_engines};

on_both_engines![
    keywords_are_exact_and_all_or_none_of_them_are_there,
    keywords_that_change_move_the_entity,
    titles_are_searched_in_any_case_of_any_alphabet,
    wildcards_of_the_database_mean_themselves,
    what_has_no_title_or_content,
    attachments_are_there_or_not,
    filters_all_have_to_hold,
    both_encodings_find_the_same,
];

async fn keywords_are_exact_and_all_or_none_of_them_are_there(app: TestApp) {
    for (title, keywords) in [
        ("1", json!(["Red", "blue"])),
        ("2", json!(["red", "blue", "red"])),
        ("3", json!(["blue", "grün", "two words"])),
        ("4", json!([])),
        ("5", json!(["%", "b_ue"])),
    ] {
        post(&app, &app.anonymous(), json!({ "title": title, "keywords": keywords })).await;
    }
    let table = [
        ("keywordsFilters[includes]=red", "2"),
        ("keywordsFilters[includes]=Red", "1"),
        ("keywordsFilters[includes]=RED", ""),
        ("keywordsFilters[includes]=re", ""),
        ("keywordsFilters[includes]=blue", "3 2 1"),
        ("keywordsFilters[includes]=blue&sortDir=asc", "1 2 3"),
        ("keywordsFilters[includes]=%", "5"),
        ("keywordsFilters[includes]=b_ue", "5"),
        ("keywordsFilters[includes]=grün", "3"),
        ("keywordsFilters[includes]= two words ", "3"),
        ("keywordsFilters[includes][]=blue&keywordsFilters[includes][]=red", "2"),
        ("keywordsFilters[includes]=blue&keywordsFilters[includes]=blue", "3 2 1"),
        ("keywordsFilters[includes]=blue&keywordsFilters[doesNotInclude]=red", "3 1"),
        ("keywordsFilters[includes]=blue&keywordsFilters[doesNotInclude]=blue", ""),
        ("keywordsFilters[doesNotInclude]=blue", "5 4"),
        ("keywordsFilters[doesNotInclude][0]=Red&keywordsFilters[doesNotInclude][1]=%", "4 3 2"),
        ("keywordsFilters[includes]= &keywordsFilters[doesNotInclude]=", "5 4 3 2 1"),
        (r#"keywordsFilters={"includes":[]}"#, "5 4 3 2 1"),
        (r#"keywordsFilters={"unknown":1}"#, "5 4 3 2 1"),
        (r#"keywordsFilters={"includes":["blue","two words"]}"#, "3"),
    ];
    lists(&app.anonymous(), &table).await;
}

async fn keywords_that_change_move_the_entity(app: TestApp) {
    let ada = app.user().await;
    let id = post(&app, &ada, json!({ "title": "1", "keywords": ["a", "b"] })).await;
    post(&app, &ada, json!({ "title": "2", "keywords": ["b"] })).await;
    let path = format!("/entities/{id}");
    ada.patch(&path, json!({ "keywords": ["b", "c"], "metadata": { "n": 1 } })).await.expect(200);
    let by = |word: &str| format!("keywordsFilters[includes]={word}");
    lists(&ada, &[(&by("a"), ""), (&by("b"), "2 1"), (&by("c"), "1")]).await;
    lists(&ada, &[("metadataFilters[exists]=n", "1")]).await;
    ada.patch(&path, json!({ "keywords": [], "metadata": {} })).await.expect(200);
    lists(&ada, &[(&by("b"), "2"), (&by("c"), ""), ("metadataFilters[exists]=n", "")]).await;
}

async fn titles_are_searched_in_any_case_of_any_alphabet(app: TestApp) {
    for title in ["Ärger", "ПРИВЕТ", "straße", "ΟΔΟΣ", "İstanbul", "日本", "Ångström", "plain"]
    {
        post(&app, &app.anonymous(), json!({ "title": title, "content": title })).await;
    }
    for (words, expected) in [
        ("ärGER", "Ärger"),
        ("Ä", "Ärger"),
        ("привет", "ПРИВЕТ"),
        ("ИВЕ", "ПРИВЕТ"),
        ("STRA", "straße"),
        ("ß", "straße"),
        ("οδο", "ΟΔΟΣ"),
        ("ΔΟΣ", "ΟΔΟΣ"),
        ("STANBUL", "İstanbul"),
        ("本", "日本"),
        ("ÅNGSTRÖM", "Ångström"),
        (" PLAIN ", "plain"),
        ("a", "İstanbul plain straße"),
        ("nothing", ""),
    ] {
        for field in ["title", "content"] {
            let query = format!("{field}Filters[includes]={words}");
            finds(&app.anonymous(), &[(&query, expected)]).await;
        }
    }
    let rest = "ΟΔΟΣ İstanbul 日本 plain";
    let table = [
        ("titleFilters[includes][]=ärger&titleFilters[includes][]=ПРИ", "Ärger ПРИВЕТ"),
        (
            "titleFilters[doesNotInclude][]=R&titleFilters[doesNotInclude][]=ÅNG&titleFilters[doesNotInclude][]=привет",
            rest,
        ),
        ("titleFilters[includes]=a&titleFilters[doesNotInclude]=ß", "İstanbul plain"),
    ];
    finds(&app.anonymous(), &table).await;
}

async fn wildcards_of_the_database_mean_themselves(app: TestApp) {
    for title in ["100%", "1000", "snake_case", "snakeXcase", r"back\slash", "it's", r#"say"so""#] {
        post(&app, &app.anonymous(), json!({ "title": title })).await;
    }
    let table = [
        ("titleFilters[includes]=%", "100%"),
        ("titleFilters[includes]=0%", "100%"),
        ("titleFilters[includes]=e_c", "snake_case"),
        ("titleFilters[includes]=_", "snake_case"),
        (r"titleFilters[includes]=\", r"back\slash"),
        ("titleFilters[includes]='", "it's"),
        (r#"titleFilters[includes]=y"s"#, r#"say"so""#),
        ("titleFilters[includes]=' OR 1=1 --", ""),
        ("titleFilters[includes]=*", ""),
        ("titleFilters[includes]=?", ""),
    ];
    finds(&app.anonymous(), &table).await;
}

async fn what_has_no_title_or_content(app: TestApp) {
    post(&app, &app.anonymous(), json!({ "title": "both", "content": "text" })).await;
    post(&app, &app.anonymous(), json!({ "title": "title", "content": "  " })).await;
    post(&app, &app.anonymous(), json!({ "content": "text" })).await;
    let table = [
        ("titleFilters[hasTitle]=true", "title both"),
        ("titleFilters[hasTitle]=false", "-"),
        ("contentFilters[hasContent]=true", "- both"),
        ("contentFilters[hasContent]=false", "title"),
        (r#"titleFilters={"hasTitle":true}&contentFilters={"hasContent":"true"}"#, "both"),
        ("titleFilters[doesNotInclude]=both", "- title"),
        ("contentFilters[doesNotInclude]=TEXT", "title"),
        ("titleFilters[hasTitle]=false&titleFilters[includes]=both", ""),
        ("titleFilters[hasTitle]=false&titleFilters[doesNotInclude]=both", "-"),
        ("titleFilters[includes]= ", "- title both"),
    ];
    lists(&app.anonymous(), &table).await;
}

async fn attachments_are_there_or_not(app: TestApp) {
    let ada = app.user().await;
    let with = post(&app, &ada, json!({ "title": "with", "attachments": [{ "a": 1 }] })).await;
    post(&app, &ada, json!({ "title": "empty", "attachments": [] })).await;
    post(&app, &ada, json!({ "title": "dropped", "attachments": ["x"] })).await;
    let (yes, no) = (
        "attachmentsFilters[hasAttachments]=true",
        r#"attachmentsFilters={"hasAttachments":false}"#,
    );
    lists(
        &ada,
        &[(yes, "with"), (no, "dropped empty"), ("attachmentsFilters={}", "dropped empty with")],
    )
    .await;
    ada.patch(&format!("/entities/{with}"), json!({ "attachments": [] })).await.expect(200);
    lists(&ada, &[(yes, ""), (no, "dropped empty with")]).await;
}

async fn filters_all_have_to_hold(app: TestApp) {
    for n in 0..16 {
        let new = json!({
            "title": format!("t{n}{}", if n & 1 > 0 { "odd" } else { "" }),
            "keywords": if n & 2 > 0 { json!(["k"]) } else { json!([]) },
            "metadata": if n & 4 > 0 { json!({ "m": n }) } else { json!({}) },
            "nsfw": n & 8 > 0,
        });
        post(&app, &app.anonymous(), new).await;
    }
    let table = [
        ("titleFilters[includes]=odd&keywordsFilters[includes]=k", "t15odd t11odd t7odd t3odd"),
        ("titleFilters[includes]=odd&keywordsFilters[includes]=k&nsfwFilter=only", "t15odd t11odd"),
        (
            "titleFilters[includes]=odd&keywordsFilters[includes]=k&metadataFilters[exists]=m&nsfwFilter=only",
            "t15odd",
        ),
        (
            "titleFilters[doesNotInclude]=odd&keywordsFilters[doesNotInclude]=k&metadataFilters[doesNotExist]=m&nsfwFilter=exclude",
            "t0",
        ),
        ("keywordsFilters[includes]=k&metadataFilters[includes][m]=6", "t6"),
        ("keywordsFilters[includes]=k&metadataFilters[includes][m]=6&sortBy=hot", "t6"),
    ];
    lists(&app.anonymous(), &table).await;
}

async fn both_encodings_find_the_same(app: TestApp) {
    for n in 1..=3 {
        let new = json!({ "title": n.to_string(), "keywords": ["all", format!("k{n}")] });
        post(&app, &app.anonymous(), new).await;
    }
    for query in [
        r#"keywordsFilters={"includes":["all","k2"]}"#,
        "keywordsFilters[includes][0]=all&keywordsFilters[includes][1]=k2",
        "keywordsFilters[includes][1]=all&keywordsFilters[includes][0]=k2",
        "keywordsFilters[includes][]=all&keywordsFilters[includes][]=k2",
        "keywordsFilters[includes]=all&keywordsFilters[includes]=k2",
        r#"keywordsFilters={"includes":"k2"}"#,
        "keywordsFilters[includes]=k2",
    ] {
        lists(&app.anonymous(), &[(query, "2")]).await;
    }
    // Brackets as they are, not percent-encoded.
    let plain = app.anonymous().get("/entities?keywordsFilters[includes][]=k3").await.expect(200);
    assert_eq!(plain["data"][0]["title"], "3");
}
