//! The settings of `townhall project settings`, as they are given and as they are shown.

use clap::{Args, ValueEnum};
use serde_json::{Value, json};
use text_index::Language;

use crate::features::projects::admin::{parse_hours, parse_page, parse_statement};
use crate::tenancy::Deletion;
use crate::tenancy::store::{Settings, StatementTexts, WorkspaceSettings};

#[derive(Debug, Clone, Copy, Args)]
pub(super) struct SettingsChange {
    /// Whether a deleted entity goes for good or only from sight
    #[arg(long, value_name = "HARD|SOFT")]
    entity_deletion: Option<Deletion>,
    /// Whether the files of an entity stay that is only out of sight
    #[arg(long, value_name = "BOOL")]
    keep_files_of_deleted: Option<bool>,
    /// The hours in which an entity's freshness falls to about a third
    #[arg(long, value_name = "HOURS", value_parser = parse_hours)]
    score_hours: Option<f64>,
    /// Whether users may delete the spaces they created
    #[arg(long, value_name = "BOOL")]
    delete_spaces: Option<bool>,
    /// Whether a page in a browser may call with a service or master key
    #[arg(long, value_name = "ON|OFF")]
    keys_in_browsers: Option<Switch>,
    /// Whether entities may be created without a user
    #[arg(long, value_name = "ON|OFF")]
    anonymous_posts: Option<Switch>,
    /// What version 7 answers to a bad token; `default`: as TOWNHALL_V7_AUTH_STATUS says
    #[arg(long, value_name = "401|403|DEFAULT")]
    v7_auth_status: Option<V7AuthStatus>,
    /// Whether sockets receive what changes in entities and spaces, and their own notifications
    #[arg(long, value_name = "ON|OFF")]
    live_feeds: Option<Switch>,
    /// Whether content is indexed and searched
    #[arg(long, value_name = "ON|OFF")]
    search: Option<Switch>,
    /// The language whose words are found in all their forms, or `none`; a new one rebuilds the index
    #[arg(long, value_name = "NAME", value_parser = parse_language)]
    search_language: Option<Language>,
    /// Whether users are matched by their interests
    #[arg(long, value_name = "ON|OFF")]
    interest_matching: Option<Switch>,
    /// Whether matches may show samples of what was written
    #[arg(long, value_name = "ON|OFF")]
    interest_samples: Option<Switch>,
    /// Whether a deleted event goes for good or only from sight
    #[arg(long, value_name = "HARD|SOFT")]
    event_deletion: Option<Deletion>,
    /// Whether the files of an event stay that is only out of sight
    #[arg(long, value_name = "ON|OFF")]
    keep_files_of_deleted_events: Option<Switch>,
    /// Whether users may give reputation to each other
    #[arg(long, value_name = "ON|OFF")]
    user_grants: Option<Switch>,
    /// Whether users get notifications by mail
    #[arg(long, value_name = "ON|OFF")]
    notification_mails: Option<Switch>,
    /// Whether authors get a statement of reasons when a moderator or a rule decides against them
    #[arg(long, value_name = "ON|OFF")]
    statements_of_reasons: Option<Switch>,
    /// Whether they also get one when the moderators of a space, or a key over the API, decide against them
    #[arg(long, value_name = "ON|OFF")]
    statements_over_api: Option<Switch>,
}

#[derive(Debug, Clone, Args)]
pub(super) struct StatementChange {
    /// The law or the terms that statements of reasons name; empty: none
    #[arg(long, value_name = "TEXT", value_parser = parse_statement)]
    statement_ground: Option<String>,
    /// The contact that statements of reasons give to authors; empty: none
    #[arg(long, value_name = "TEXT", value_parser = parse_statement)]
    statement_contact: Option<String>,
}

impl StatementChange {
    pub(super) fn apply(&self, texts: &mut StatementTexts) {
        let given =
            |text: &Option<String>| text.clone().map(|text| Some(text).filter(|t| !t.is_empty()));
        put(&mut texts.ground, given(&self.statement_ground));
        put(&mut texts.contact, given(&self.statement_contact));
    }
}

#[derive(Debug, Clone, Args)]
pub(super) struct WorkspaceChange {
    /// The page of the application that invitations into a workspace lead to; empty: none
    #[arg(long, value_name = "URL", value_parser = parse_page)]
    workspace_invite_accept_url: Option<String>,
    /// Whether a new workspace inherits from its parent
    #[arg(long, value_name = "ON|OFF")]
    workspace_inherit_default: Option<Switch>,
    /// Whether nobody may change what a workspace inherits
    #[arg(long, value_name = "ON|OFF")]
    workspace_inherit_enforced: Option<Switch>,
}

impl WorkspaceChange {
    pub(super) fn apply(&self, settings: &mut WorkspaceSettings) {
        let page = self.workspace_invite_accept_url.clone();
        put(&mut settings.invite_accept_url, page.map(|page| Some(page).filter(|p| !p.is_empty())));
        put(&mut settings.inherits_default, self.workspace_inherit_default.map(Switch::is_on));
        put(&mut settings.inherit_enforced, self.workspace_inherit_enforced.map(Switch::is_on));
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Switch {
    On,
    Off,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum V7AuthStatus {
    #[value(name = "401")]
    Unauthorized,
    #[value(name = "403")]
    Forbidden,
    Default,
}

impl SettingsChange {
    pub(super) fn apply(self, settings: &mut Settings) {
        put(&mut settings.entity_deletion, self.entity_deletion.map(Deletion::name));
        put(&mut settings.keeps_files_of_deleted, self.keep_files_of_deleted);
        put(&mut settings.score_hours, self.score_hours);
        put(&mut settings.deletes_spaces, self.delete_spaces);
        put(&mut settings.keys_in_browsers, self.keys_in_browsers.map(Switch::is_on));
        put(&mut settings.anonymous_posts, self.anonymous_posts.map(Switch::is_on));
        put(&mut settings.v7_auth_forbids, self.v7_auth_status.map(V7AuthStatus::forbids));
        put(&mut settings.live_feeds, self.live_feeds.map(Switch::is_on));
        put(&mut settings.has_search, self.search.map(Switch::is_on));
        put(&mut settings.search_language, self.search_language.map(Language::name));
        put(&mut settings.interest_matching, self.interest_matching.map(Switch::is_on));
        put(&mut settings.interest_samples, self.interest_samples.map(Switch::is_on));
        put(&mut settings.event_deletion, self.event_deletion.map(Deletion::name));
        let keeps_files = self.keep_files_of_deleted_events.map(Switch::is_on);
        put(&mut settings.keeps_files_of_deleted_events, keeps_files);
        put(&mut settings.user_grants, self.user_grants.map(Switch::is_on));
        put(&mut settings.notification_mails, self.notification_mails.map(Switch::is_on));
        put(&mut settings.statements_of_reasons, self.statements_of_reasons.map(Switch::is_on));
        put(&mut settings.statements_over_api, self.statements_over_api.map(Switch::is_on));
    }
}

impl Switch {
    fn is_on(self) -> bool {
        self == Switch::On
    }
}

impl V7AuthStatus {
    fn forbids(self) -> Option<bool> {
        match self {
            V7AuthStatus::Unauthorized => Some(false),
            V7AuthStatus::Forbidden => Some(true),
            V7AuthStatus::Default => None,
        }
    }
}

fn put<T>(setting: &mut T, change: Option<T>) {
    if let Some(value) = change {
        *setting = value;
    }
}

/// Each setting: its name for people, its key in JSON, its value.
pub(super) fn shown(settings: &Settings) -> [(&'static str, &'static str, Value); 18] {
    let v7_status = settings.v7_auth_forbids.map(|forbids| if forbids { 403 } else { 401 });
    [
        ("entity deletion", "entityDeletion", json!(settings.entity_deletion)),
        ("keep files of deleted", "keepFilesOfDeleted", json!(settings.keeps_files_of_deleted)),
        ("score hours", "scoreHours", json!(settings.score_hours)),
        ("delete spaces", "deleteSpaces", json!(settings.deletes_spaces)),
        ("keys in browsers", "keysInBrowsers", json!(settings.keys_in_browsers)),
        ("anonymous posts", "anonymousPosts", json!(settings.anonymous_posts)),
        ("v7 auth status", "v7AuthStatus", json!(v7_status)),
        ("live feeds", "liveFeeds", json!(settings.live_feeds)),
        ("search", "search", json!(settings.has_search)),
        ("search language", "searchLanguage", json!(settings.search_language)),
        ("interest matching", "interestMatching", json!(settings.interest_matching)),
        ("interest samples", "interestSamples", json!(settings.interest_samples)),
        ("event deletion", "eventDeletion", json!(settings.event_deletion)),
        (
            "keep files of events",
            "keepFilesOfDeletedEvents",
            json!(settings.keeps_files_of_deleted_events),
        ),
        ("user grants", "userGrants", json!(settings.user_grants)),
        ("notification mails", "notificationMails", json!(settings.notification_mails)),
        ("statements of reasons", "statementsOfReasons", json!(settings.statements_of_reasons)),
        ("statements over the API", "statementsOverApi", json!(settings.statements_over_api)),
    ]
}

/// The same for settings of workspaces.
pub(super) fn shown_of_workspaces(
    settings: &WorkspaceSettings,
) -> [(&'static str, &'static str, Value); 3] {
    let WorkspaceSettings { invite_accept_url, inherits_default, inherit_enforced } = settings;
    [
        ("workspace invitations", "workspaceInviteAcceptUrl", json!(invite_accept_url)),
        ("workspaces inherit", "workspaceInheritDefault", json!(inherits_default)),
        ("inheriting is fixed", "workspaceInheritEnforced", json!(inherit_enforced)),
    ]
}

/// The same for the texts of statements of reasons.
pub(super) fn shown_of_statements(
    texts: &StatementTexts,
) -> [(&'static str, &'static str, Value); 2] {
    let StatementTexts { ground, contact } = texts;
    [
        ("ground of statements", "statementGround", json!(ground)),
        ("contact in statements", "statementContact", json!(contact)),
    ]
}

/// A value as people read it.
pub(super) fn plain(value: &Value) -> String {
    match (value, value.as_f64()) {
        (Value::Null, _) => "default".to_owned(),
        (Value::String(text), _) => text.clone(),
        (_, Some(number)) => number.to_string(),
        (other, None) => other.to_string(),
    }
}

fn parse_language(name: &str) -> Result<Language, String> {
    let names: Vec<&str> = Language::ALL.into_iter().map(Language::name).collect();
    let unknown = || format!("must be one of {}", names.join(", "));
    Language::from_name(&name.to_lowercase()).ok_or_else(unknown)
}
