//! Every command of the command line, and where the admin does the same; or why it does not. A test compares the list with
//! the commands that there are.

use self::Reach::{Page, Shell};

/// Where a command is found in the admin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reach {
    /// On this page or by this form, as `docs/routes.md` lists them.
    Page(&'static str),
    /// Nowhere; what the reason is.
    Shell(&'static str),
}

const SETTINGS: Reach = Page("POST /admin/p/{projectId}/settings");
const OAUTH: Reach = Page("POST /admin/p/{projectId}/oauth");
const ISSUERS: Reach = Page("POST /admin/p/{projectId}/issuers");
const KEYS: Reach = Page("POST /admin/p/{projectId}/keys");
const USER: Reach = Page("POST /admin/p/{projectId}/users/{userId}");
const RULES: Reach = Page("POST /admin/p/{projectId}/rules");
const WEBHOOKS: Reach = Page("POST /admin/p/{projectId}/webhooks");
const JOBS: Reach = Page("POST /admin/jobs");
const OPERATORS: Reach = Page("POST /admin/operators/change");
const EXPLORER: Reach = Page("GET /docs");

const STARTS: &str = "it starts a server";
const STOPPED: &str = "it replaces what a running server works with";
const FILES: &str = "it reads or writes files of the machine";
const CONFIGURES: &str = "it goes with a change of the configuration, before the server starts";

/// By the words of the command.
pub const COMMANDS: &[(&str, Reach)] = &[
    ("dev", Shell(STARTS)),
    ("serve", Shell(STARTS)),
    ("project create", Page("POST /admin/projects")),
    ("project list", Page("GET /admin")),
    ("project show", Page("GET /admin/p/{projectId}/settings")),
    ("project bundles", SETTINGS),
    ("project origins", SETTINGS),
    ("project state", Page("POST /admin/p/{projectId}/state")),
    ("project delete", Page("POST /admin/p/{projectId}/delete")),
    ("project settings", SETTINGS),
    ("project oauth set", OAUTH),
    ("project oauth list", Page("GET /admin/p/{projectId}/sign-in")),
    ("project oauth remove", OAUTH),
    ("project jwt-issuer set", ISSUERS),
    ("project jwt-issuer list", Page("GET /admin/p/{projectId}/sign-in")),
    ("project jwt-issuer remove", ISSUERS),
    ("project push", Page("POST /admin/p/{projectId}/push")),
    ("project mail-template", Page("POST /admin/p/{projectId}/mails")),
    ("project rotate-jwt-key", Page("POST /admin/p/{projectId}/jwt-key")),
    ("key create", KEYS),
    ("key list", Page("GET /admin/p/{projectId}/keys")),
    ("key revoke", KEYS),
    ("user list", Page("GET /admin/p/{projectId}/users")),
    ("user find", Page("GET /admin/p/{projectId}/users")),
    ("user show", Page("GET /admin/p/{projectId}/users/{userId}")),
    ("user sessions", USER),
    ("user export", USER),
    ("user delete", USER),
    ("user erase", USER),
    ("user token", Page("POST /admin/p/{projectId}/users/{userId}/token")),
    ("user suspend", USER),
    ("user unsuspend", USER),
    ("moderation rules list", Page("GET /admin/p/{projectId}/rules")),
    ("moderation rules add", RULES),
    ("moderation rules set", RULES),
    ("moderation rules remove", RULES),
    ("moderation rules try", RULES),
    ("moderation queue", Page("GET /admin/p/{projectId}/queue")),
    ("moderation decide", Page("POST /admin/p/{projectId}/queue")),
    ("webhooks list", Page("GET /admin/p/{projectId}/webhooks")),
    ("webhooks set", WEBHOOKS),
    ("webhooks remove", WEBHOOKS),
    ("webhooks deliveries", Page("GET /admin/p/{projectId}/webhooks")),
    ("webhooks redeliver", WEBHOOKS),
    ("webhooks test", WEBHOOKS),
    ("webhooks resume", WEBHOOKS),
    ("jobs list", Page("GET /admin/jobs")),
    ("jobs retry", JOBS),
    ("jobs drop", JOBS),
    ("search status", Page("GET /admin/p/{projectId}/settings")),
    ("search reindex", Page("POST /admin/p/{projectId}/reindex")),
    ("admin invite", Page("POST /admin/operators/invite")),
    ("admin reset", OPERATORS),
    ("admin list", Page("GET /admin/operators")),
    ("admin disable", OPERATORS),
    ("audit", Page("POST /admin/audit")),
    ("secret accept", Shell(CONFIGURES)),
    ("migrate status", Shell("a server that runs has applied all migrations")),
    ("migrate up", Shell("a server does it when it starts")),
    ("migrate distribute", Shell(CONFIGURES)),
    ("doctor", Page("GET /admin/system")),
    ("backup", Page("POST /admin/backup")),
    ("restore", Shell(STOPPED)),
    ("verify", Shell(FILES)),
    ("copy", Shell(STOPPED)),
    ("export", Page("POST /admin/p/{projectId}/export")),
    ("import", Page("POST /admin/p/{projectId}/import")),
    ("upgrade rehearse", Shell(FILES)),
    ("openapi", EXPLORER),
    ("routes", EXPLORER),
    ("config", Page("GET /admin/system")),
    ("health", Page("GET /admin/system")),
    ("completions", Shell("it is for the shell itself")),
    ("man", Shell(FILES)),
];
