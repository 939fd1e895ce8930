//! What each setting means, for `docs/configuration.md`; its default comes from the code that reads it.

use super::{Config, Flags, Source};

/// In the order of the page.
const MEANINGS: &[(&str, &str)] = &[
    (
        "listen",
        "address and port to listen on. `PORT`, which platforms set, replaces the port and opens \
         all addresses",
    ),
    (
        "public_url",
        "used in links that are mailed and in addresses of files: `http` or `https`, without a \
         query. The log warns when it is missing and the server listens on all addresses",
    ),
    (
        "admin_listen",
        "an address of its own for the [admin](admin.md) and its pages, which the server's other \
         address then no longer serves, or `off`",
    ),
    ("data_dir", "SQLite file, stored files, mails, the generated secret, the lock"),
    (
        "database_url",
        "`postgres://…` for PostgreSQL; `sslmode` is honoured. `DATABASE_URL` is read, too",
    ),
    ("database_pool", "PostgreSQL connections"),
    (
        "database_read_url",
        "a streaming replica of the database: entities, comments and feeds are read from it for \
         anonymous callers, and for users while there is one node; users always see \
         their own writes. While it is down, too slow or lags, the primary is read",
    ),
    ("database_read_lag", "how much the replica may lag"),
    (
        "database_wait",
        "how long a request waits for the database before 503 with `Retry-After`; a PostgreSQL \
         server that answers no probe for this long counts as down, and requests are refused at \
         once until it answers one",
    ),
    (
        "sqlite_synchronous",
        "`normal`: an acknowledged write survives a crash of the process, not a power loss",
    ),
    (
        "sqlite_mmap",
        "`on`: reads map the database file into memory instead of copying pages out of the system's \
         page cache, which takes a third less processor time for lists of large databases. The \
         mapped pages count as the process's memory, although the system can take them back; and \
         a disk that cannot read a page ends the process",
    ),
    (
        "storage",
        "`s3://bucket/prefix` for a bucket, with the usual `AWS_*` variables (keys, region, \
         `AWS_ENDPOINT_URL`, roles); needed when several nodes share a database",
    ),
    ("s3_path_style", "`1`: the bucket is part of the path, not of the host"),
    (
        "file_url_ttl",
        "maximum validity of a file address. A file keeps its address for half of this time, so \
         that browsers can cache it, and every returned address is valid for at least the other \
         half",
    ),
    (
        "table_query_deadline",
        "how long a filtered or sorted list of a custom table may take; then 503",
    ),
    (
        "secret_key",
        "signs tokens and addresses of files, at least 32 characters; must be set, and be the same, \
         when several nodes share a database",
    ),
    (
        "secret_key_previous",
        "the secret key before this one: it still verifies tokens and addresses of files, but signs \
         none",
    ),
    ("access_token_ttl", "how long an access token is valid: `90s`, `30m`, `12h`, `30d`"),
    (
        "refresh_token_ttl",
        "how long a session lasts that is not used: a refresh token is valid for this time",
    ),
    ("refresh_cookie", "name of the session cookie under `/api/v6`; the project's id follows it"),
    ("anonymous_link_previews", "`off`: under `/api/v6` link previews need a user, too"),
    (
        "rate_limits",
        "`off`, or a number that multiplies every limit: requests, wrong passwords and codes of a \
         network, mails to an address (3 in 10 minutes, 10 in a day). Several nodes together admit \
         at most a tenth more. A code is void after 5 wrong tries of its user in any case",
    ),
    (
        "trusted_proxies",
        "CIDR list; `X-Forwarded-For` and `Forwarded` are trusted only from these. Set it behind a \
         proxy, or all clients share the limits of one; the server warns when it sees such headers \
         and this is not set",
    ),
    (
        "outbound_allow",
        "CIDR list; private addresses that the server may still call (link previews, OpenID \
         providers), at any port",
    ),
    (
        "operator_email",
        "who is mailed when something needs an operator: a webhook endpoint that has failed for a \
         day",
    ),
    (
        "smtp_url",
        "`smtp://user:password@host:587?tls=required`; needs TOWNHALL_MAIL_FROM. Without it mails \
         are files in the outbox directory",
    ),
    ("mail_from", "the sender of mails, `Forum <forum@example.com>`"),
    ("log", "levels by `RUST_LOG`: `info`, or such as `warn,townhall::jobs=debug`"),
    (
        "metrics_token",
        "`/metrics` asks for it as a bearer token; without it only loopback may read them, and \
         nobody through an untrusted proxy",
    ),
    (
        "v7_auth_status",
        "`403`: version 7 replies to a bad token like version 8; a project's own setting takes \
         precedence",
    ),
    (
        "max_upload_concurrency",
        "photos processed at once, plus as many small images; one of the very largest for each \
         eight. One user gets at most half of the slots. Excess images queue, then get 503",
    ),
    (
        "max_connections",
        "maximum connections, WebSockets included. Beyond them a small reserve serves health \
         checks, and replies to everything else with 503",
    ),
    (
        "connections_per_network",
        "how many of them one IPv4 address or IPv6 /64 may take; trusted proxies are not counted",
    ),
    ("drain", "how long running requests may continue after SIGTERM; then they are cut off"),
    (
        "embeddings_url",
        "an address such as `https://api.example/v1/embeddings` that makes vectors from texts, for \
         [search](search.md) by meaning. Content of all searchable projects is sent to it",
    ),
    ("embeddings_key", "its key, sent as a bearer token"),
    ("embeddings_model", "the model to ask for; after a change all vectors are made again"),
    (
        "embeddings_unrelated",
        "how near (cosine) texts seem to the model that have nothing to do with each other; nothing \
         is found by meaning alone below it",
    ),
    (
        "answers_url",
        "an address such as `https://api.example/v1/chat/completions` that answers questions from \
         what was found. Without it *Ask* quotes",
    ),
    ("answers_key", "its key, sent as a bearer token"),
    ("answers_model", "the model to ask for"),
    ("models_read_messages", "`on`: messages, too, are sent to these two addresses"),
    ("backup_every", "a verified backup such as every `24h`: [backup](backup.md)"),
    ("backup_to", "where these backups go: a directory or `s3://bucket/prefix`"),
    ("backup_keep", "how many of those backups stay; all of them, if it is not set"),
    (
        "audit_keep",
        "how long entries of the [audit log](admin.md) stay, such as `365d`, at least `1d`; for \
         ever, if it is not set",
    ),
];

/// A setting as the page shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Described {
    pub variable: String,
    pub default: String,
    pub meaning: &'static str,
}

/// Every setting, with its default when nothing is set at all. A setting without a meaning, or a meaning without a
/// setting, is an error.
pub fn settings() -> Result<Vec<Described>, String> {
    let config = Config::from_sources(&Flags::default(), &|_| None)?;
    let mut defaults = config.settings;
    let mut described = Vec::new();
    for (name, meaning) in MEANINGS {
        let variable = format!("TOWNHALL_{}", name.to_uppercase());
        let at = defaults.iter().position(|setting| setting.variable == variable);
        let setting = defaults.swap_remove(at.ok_or_else(|| format!("{variable} is no setting"))?);
        // A file beside the program may have set it.
        if setting.source != Source::Default {
            return Err(format!("{variable} is set by {}", setting.source));
        }
        let default = match *name {
            "max_upload_concurrency" => "number of cores".to_owned(),
            "secret_key" => "generated into the data directory".to_owned(),
            "log" => "`pretty` on a terminal, else `json`".to_owned(),
            _ if setting.value.is_empty() => "none".to_owned(),
            _ => format!("`{}`", setting.value),
        };
        described.push(Described { variable, default, meaning });
    }
    match defaults.first() {
        Some(setting) => Err(format!("{} has no meaning in config/reference.rs", setting.variable)),
        None => Ok(described),
    }
}
