//! `townhall project mail-template`: how a project words its mails, and whether it sends any.

use serde_json::{Value, json};

use crate::support::{Installation, fresh_directory, installed_on_both_engines};

installed_on_both_engines![templates_are_set_shown_and_removed, mails_are_switched_on];

fn project(town: &Installation) -> String {
    let made = town.json(&["project", "create", "--name", "Forum"]);
    made["projectId"].as_str().unwrap().to_owned()
}

fn file(text: &Value) -> String {
    let path = fresh_directory().join("template.json");
    std::fs::write(&path, text.to_string()).unwrap();
    path.display().to_string()
}

fn command<'a>(id: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    [&["project", "mail-template", id][..], more].concat()
}

fn templates_are_set_shown_and_removed(town: Installation) {
    let id = project(&town);
    let texts = |more: &[&str]| town.json(&command(&id, more))["templates"].take();
    assert_eq!(texts(&[]), json!({}));
    let german = file(&json!({ "subject": "Neues", "types": { "new-follow": { "title": "x" } } }));
    let shown = texts(&["--language", "de-AT", "--set", &german]);
    assert_eq!(shown["de-at"]["subject"], "Neues");
    assert_eq!(shown["de-at"]["types"]["new-follow"]["title"], "x");
    let general = file(&json!({ "footer": "Bye" }));
    let shown = texts(&["--set", &general]);
    assert_eq!(shown["default"]["footer"], "Bye");
    assert_eq!(shown.as_object().unwrap().len(), 2);
    // Set again, it is replaced.
    let shown = texts(&["--language", "DE-at", "--set", &general]);
    assert_eq!(
        (&shown["de-at"]["subject"], &shown["de-at"]["footer"]),
        (&json!(null), &json!("Bye"))
    );
    let plain = town.run(&command(&id, &[]));
    assert!(plain.stdout.contains("de-at        footer\n"), "{}", plain.stdout);
    assert!(plain.stdout.contains("--notification-mails on"), "{}", plain.stdout);

    let shown = texts(&["--language", "de-AT", "--remove"]);
    assert_eq!(shown.as_object().unwrap().len(), 1);
    let none = town.fails(&command(&id, &["--language", "de-AT", "--remove"]));
    assert_eq!(none, "the project has no template for de-at");
    let unknown = town.fails(&command(&id, &["--set", &file(&json!({ "types": { "news": {} } }))]));
    assert!(unknown.ends_with("there is no type `news`"), "{unknown}");
    assert!(town.fails(&command(&id, &["--set", "/nowhere.json"])).contains("/nowhere.json"));
    for wrong in [&["--language", "de_AT"][..], &["--remove", "--set", &general]] {
        assert_eq!(town.run(&command(&id, wrong)).code, 2, "{wrong:?}");
    }
    let nobody = "0198f0a1-0000-4abc-8abc-0123456789ab";
    town.fails(&["project", "mail-template", nobody]);
    town.fails(&["project", "mail-template", nobody, "--set", &general]);
}

fn mails_are_switched_on(town: Installation) {
    let id = project(&town);
    let settings = |more: &[&str]| {
        let shown = town.json(&[&["project", "settings", &id][..], more].concat());
        shown["notificationMails"].clone()
    };
    assert_eq!(settings(&[]), false);
    assert_eq!(settings(&["--notification-mails", "on"]), true);
    assert_eq!(settings(&["--user-grants", "off"]), true);
    assert_eq!(settings(&["--notification-mails", "off"]), false);
    assert_eq!(town.run(&["project", "settings", &id, "--notification-mails", "x"]).code, 2);
}
