//! `townhall project push …`

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use clap::Args;
use serde_json::Value;

use crate::cli::{Admin, CommandResult, Output, confirm, project_id};
use crate::features::push::admin::{self as services, DEFAULT, Priority, Provider, Template};
use crate::features::push::providers::{ApnsSettings, Kind, WebSettings};
use crate::features::push::{EventType, store};
use crate::values::ids::ProjectId;

#[derive(Debug, Args)]
pub(super) struct PushCommand {
    #[arg(value_parser = project_id)]
    id: ProjectId,
    /// Web Push: make a key pair. Browsers that have subscribed with an earlier one must subscribe again
    #[arg(long, requires = "vapid_subject")]
    generate_vapid: bool,
    /// Web Push: the contact for push services
    #[arg(long, value_name = "MAILTO|URL")]
    vapid_subject: Option<String>,
    /// FCM: the file of a service account
    #[arg(long, value_name = "FILE")]
    fcm_service_account: Option<PathBuf>,
    /// FCM: another server than Google's
    #[arg(long, value_name = "URL", requires = "fcm_service_account")]
    fcm_url: Option<String>,
    /// APNs: a key of the team (.p8)
    #[arg(long, value_name = "FILE")]
    apns_key: Option<PathBuf>,
    /// APNs: the id of that key
    #[arg(long, value_name = "ID")]
    apns_key_id: Option<String>,
    /// APNs: the id of the team
    #[arg(long, value_name = "ID")]
    apns_team_id: Option<String>,
    /// APNs: the id of the app's bundle
    #[arg(long, value_name = "TOPIC")]
    apns_topic: Option<String>,
    /// APNs: https://api.sandbox.push.apple.com for builds of developers
    #[arg(long, value_name = "URL")]
    apns_url: Option<String>,
    /// Forget a service with its key
    #[arg(long, value_name = "WEB|FCM|APNS")]
    remove: Vec<Kind>,
    /// What the next options are about: one type of event, such as entity-comment; all types unless given
    #[arg(long = "type", value_name = "TYPE", value_parser = event_type)]
    kind: Option<EventType>,
    /// Whether it is pushed by itself
    #[arg(long, value_name = "BOOL")]
    enabled: Option<bool>,
    /// Title; {initiatorName} and other keys of the metadata are replaced. Empty: the usual one
    #[arg(long, requires = "kind")]
    title: Option<String>,
    /// Text, in the same way
    #[arg(long, requires = "kind")]
    body: Option<String>,
    #[arg(long)]
    sound: Option<String>,
    /// The notification channel of Android
    #[arg(long, value_name = "ID")]
    channel: Option<String>,
    #[arg(long, value_name = "HIGH|NORMAL", value_parser = priority)]
    priority: Option<Priority>,
    /// Do not ask
    #[arg(long)]
    yes: bool,
}

pub(super) fn run(command: PushCommand, admin: &Admin) -> CommandResult {
    let id = command.id;
    if let Some(provider) = web(&command, admin)? {
        set(admin, id, provider)?;
    }
    if let Some(path) = &command.fcm_service_account {
        set(admin, id, services::fcm(&read(path)?, command.fcm_url.clone())?)?;
    }
    if let Some(provider) = apns(&command, admin)? {
        set(admin, id, provider)?;
    }
    if !command.remove.is_empty() {
        confirm("Devices are no longer reached through this service.", command.yes)?;
    }
    for kind in command.remove.clone() {
        if !admin.write(move |tx| store::delete_provider(tx, id, kind.name()))? {
            return Err(format!("the project has no {}", kind.name()));
        }
    }
    let now = admin.world.clock.now();
    if command.changes_template() {
        let kind = command.kind.map_or(DEFAULT, EventType::name);
        admin.write(move |tx| {
            services::change_template(tx, id, kind, |template| command.apply(template), now)
        })?;
    }
    let shown = admin.read(move |c| services::shown(c, id))?;
    Ok(Output::new(described(&shown), shown))
}

fn web(command: &PushCommand, admin: &Admin) -> CommandResult<Option<Provider>> {
    let Some(subject) = &command.vapid_subject else { return Ok(None) };
    let id = command.id;
    let known = admin.read(move |c| services::settings::<WebSettings>(c, id, Kind::Web))?;
    match (known, command.generate_vapid) {
        (Some(known), false) => services::vapid_subject(&known, subject).map(Some),
        (None, false) => Err("there is no key pair yet: --generate-vapid".to_owned()),
        (known, true) => {
            if known.is_some() {
                confirm("Browsers that have subscribed must subscribe again.", command.yes)?;
            }
            services::new_vapid_key(subject).map(Some)
        }
    }
}

fn apns(command: &PushCommand, admin: &Admin) -> CommandResult<Option<Provider>> {
    let PushCommand { apns_key, apns_key_id, apns_team_id, apns_topic, apns_url, .. } = command;
    let named = [apns_key_id, apns_team_id, apns_topic, apns_url];
    if apns_key.is_none() && named.iter().all(|one| one.is_none()) {
        return Ok(None);
    }
    let id = command.id;
    let known = admin.read(move |c| services::settings::<ApnsSettings>(c, id, Kind::Apns))?;
    let known = known.unwrap_or_default();
    let settings = ApnsSettings {
        key_id: apns_key_id.clone().unwrap_or(known.key_id),
        team_id: apns_team_id.clone().unwrap_or(known.team_id),
        topic: apns_topic.clone().unwrap_or(known.topic),
        url: apns_url.clone().or(known.url).filter(|url| !url.is_empty()),
    };
    let key = apns_key.as_deref().map(read).transpose()?;
    services::apns(&settings, key).map(Some)
}

fn set(admin: &Admin, id: ProjectId, provider: Provider) -> CommandResult<()> {
    let random = &admin.world.random;
    let sealed = match &provider.secret {
        Some(secret) => {
            let sealed = services::seal(&admin.sealer()?, id, provider.kind, secret, random);
            Some(sealed.map_err(super::plain)?)
        }
        None => None,
    };
    let now = admin.world.clock.now();
    admin.write(move |tx| services::set(tx, id, &provider, sealed.as_deref(), now))
}

fn read(path: &Path) -> CommandResult<String> {
    std::fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))
}

impl PushCommand {
    fn changes_template(&self) -> bool {
        let texts = [&self.title, &self.body, &self.sound, &self.channel];
        texts.iter().any(|text| text.is_some()) || self.enabled.is_some() || self.priority.is_some()
    }

    /// An empty text removes a setting.
    fn apply(&self, template: &mut Template) {
        let put = |setting: &mut Option<String>, change: &Option<String>| {
            if let Some(value) = change {
                *setting = Some(value.clone()).filter(|value| !value.is_empty());
            }
        };
        put(&mut template.title, &self.title);
        put(&mut template.body, &self.body);
        put(&mut template.sound, &self.sound);
        put(&mut template.channel_id, &self.channel);
        template.enabled = self.enabled.or(template.enabled);
        template.priority = self.priority.or(template.priority);
    }
}

fn event_type(text: &str) -> Result<EventType, String> {
    EventType::from_name(text).ok_or_else(|| format!("there is no type `{text}`"))
}

fn priority(text: &str) -> Result<Priority, String> {
    serde_json::from_value(text.into()).map_err(|_| "there is `high` and `normal`".to_owned())
}

fn described(shown: &Value) -> String {
    let mut text = String::new();
    for (part, empty) in [("providers", "no push service is configured"), ("templates", "")] {
        let entries = shown[part].as_object();
        for (name, settings) in entries.into_iter().flatten() {
            let known = settings.as_object().into_iter().flatten();
            let known = known.filter(|(_, value)| !value.is_null());
            let known: Vec<String> = known
                .map(|(key, value)| match value {
                    Value::String(value) => format!("{key} {value}"),
                    other => format!("{key} {other}"),
                })
                .collect();
            let _ = writeln!(text, "{name:<12} {}", known.join(", "));
        }
        if entries.is_none_or(|entries| entries.is_empty()) && !empty.is_empty() {
            let _ = writeln!(text, "{empty}");
        }
    }
    text
}
