//! `townhall project mail-template …`

use std::fmt::Write as _;
use std::path::PathBuf;

use clap::Args;
use serde_json::Value;

use crate::cli::{Admin, CommandResult, Output, project_id};
use crate::features::notification_mails::store;
use crate::features::notification_mails::template::{self, Template, check_language};
use crate::values::ids::ProjectId;

#[derive(Debug, Args)]
pub(super) struct MailTemplateCommand {
    #[arg(value_parser = project_id)]
    id: ProjectId,
    /// A language tag such as de or pt-BR, or `default` for users of all other languages
    #[arg(long, value_name = "TAG", default_value = "default", value_parser = check_language)]
    language: String,
    /// A JSON file with the texts that replace the usual ones
    #[arg(long, value_name = "FILE")]
    set: Option<PathBuf>,
    /// Say the usual texts again
    #[arg(long, conflicts_with = "set")]
    remove: bool,
}

pub(super) fn run(command: MailTemplateCommand, admin: &Admin) -> CommandResult {
    let MailTemplateCommand { id, language, set, remove } = command;
    if let Some(path) = set {
        let of_file = |error: String| format!("{}: {error}", path.display());
        let text = std::fs::read_to_string(&path).map_err(|error| of_file(error.to_string()))?;
        let parsed = Template::parse(&text).map_err(of_file)?;
        let now = admin.world.clock.now();
        admin.write(move |tx| template::set(tx, id, &language, &parsed, now))?;
    } else if remove {
        let named = language.clone();
        if !admin.write(move |tx| store::delete_template(tx, id, &named))? {
            return Err(format!("the project has no template for {language}"));
        }
    }
    let shown = admin.read(move |c| template::shown(c, id))?;
    Ok(Output::new(described(&shown), shown))
}

/// The texts that each template sets.
fn described(shown: &Value) -> String {
    let mut text = String::new();
    let templates = shown["templates"].as_object();
    for (language, settings) in templates.into_iter().flatten() {
        let entries = settings.as_object().into_iter().flatten();
        let set = entries.filter(|(_, value)| match value {
            Value::Object(types) => !types.is_empty(),
            other => !other.is_null(),
        });
        let set: Vec<&str> = set.map(|(key, _)| key.as_str()).collect();
        let _ = writeln!(text, "{language:<12} {}", set.join(", "));
    }
    if text.is_empty() {
        text.push_str("no templates: mails have the usual texts\n");
    }
    if shown["notificationMails"] == false {
        text.push_str("no mails are sent: townhall project settings ID --notification-mails on\n");
    }
    text
}
