//! Configuration: each setting from a flag, the environment, the file `townhall.toml` or its default, in that
//! order. An invalid value or an unknown name stops the start before anything is written.

mod backup;
mod check;
mod models;
mod parse;
mod public_url;
mod realtime;
pub mod reference;
mod scale;
mod source;
mod traces;

pub use backup::BackupSchedule;
pub use models::{Model, Models};
pub use parse::duration;
pub use realtime::RealtimeLimits;
pub use scale::Scale;
pub use source::{Flags, Setting, Source};
pub use traces::TraceSettings;

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tracing_subscriber::filter::Targets;

use crate::storage::{self, AWS_VARIABLES};
use crate::values::cidr::Cidr;
use parse::{admin_listen, audit_keep, blocks, listen, positive, switch};
use source::Sources;

#[derive(Debug, Clone)]
pub struct Config {
    pub listen: SocketAddr,
    /// Where the admin is served.
    pub admin_listen: AdminListen,
    /// Without a trailing slash.
    pub public_url: String,
    pub data_dir: PathBuf,
    pub database_url: String,
    pub database_pool: usize,
    /// A replica of the database, for reads that tolerate lag, and how much of it.
    pub database_read_url: Option<String>,
    pub database_read_lag: Duration,
    /// How long a request waits for the database before it gets 503.
    pub database_wait: Duration,
    pub sqlite_durable: bool,
    pub sqlite_mmap: bool,
    /// `file://<directory>` or `s3://<bucket>/<prefix>`.
    pub storage: String,
    pub s3_path_style: bool,
    /// The standard variables of S3 clients, as they are set.
    pub aws: Vec<(String, String)>,
    /// Validity of a stored file's address: `TOWNHALL_FILE_URL_TTL`.
    pub file_url_ttl: Duration,
    /// Deadline of a filtered or sorted list of a custom table.
    pub table_query_deadline: Duration,
    pub secret_key: Option<String>,
    /// Still verifies tokens and addresses after the secret was changed.
    pub secret_key_previous: Option<String>,
    pub access_token_ttl: Duration,
    pub refresh_token_ttl: Duration,
    /// The name of the cookie that published clients keep their session in, before the project's id.
    pub refresh_cookie: String,
    /// Get URL Metadata is open to callers without a user where published clients send none.
    pub anonymous_link_previews: bool,
    pub rate_limits: Scale,
    pub trusted_proxies: Vec<Cidr>,
    /// Private address blocks that outgoing calls may reach, at any port: `TOWNHALL_OUTBOUND_ALLOW`, for
    /// hooks on the operator's own network.
    pub outbound_allow: Vec<Cidr>,
    pub smtp_url: Option<String>,
    pub mail_from: Option<String>,
    /// Who is mailed when something needs an operator.
    pub operator_email: Option<String>,
    pub log: Option<LogFormat>,
    /// What is logged: `RUST_LOG`.
    pub log_filter: Targets,
    pub metrics_token: Option<String>,
    /// v7 replies to an expired token with 403, like v8.
    pub v7_auth_forbids: bool,
    pub max_upload_concurrency: usize,
    /// How long a client may take for a request's head, and for its body.
    pub head_timeout: Duration,
    pub body_timeout: Duration,
    /// How long a body may be slower than the minimum rate at its start.
    pub body_grace: Duration,
    /// Connection slots, and the share of one network.
    pub max_connections: usize,
    pub connections_per_network: usize,
    /// Maximum concurrent requests.
    pub max_in_flight: i64,
    /// How long running requests may continue during shutdown.
    pub drain: Duration,
    pub realtime: RealtimeLimits,
    /// Maximum disk space of all files in running requests.
    pub staging_mebibytes: usize,
    /// Scheduled backups, if there are to be any.
    pub backup: Option<BackupSchedule>,
    /// How long entries of the audit log stay; for ever, if it is not set.
    pub audit_keep: Option<Duration>,
    /// Models outside that search may use.
    pub models: Models,
    /// Where traces go, if they are to go anywhere.
    pub traces: Option<TraceSettings>,
    /// `townhall dev`: the server shows people around.
    pub is_dev: bool,
    /// Every setting as it is, for `townhall config`.
    pub settings: Vec<Setting>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AdminListen {
    /// Beside the API.
    Same,
    Own(SocketAddr),
    Off,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogFormat {
    Pretty,
    Json,
}

/// A shorter secret could be guessed.
pub const SHORTEST_SECRET: usize = 32;

impl Config {
    pub fn storage_settings(&self) -> storage::Settings<'_> {
        storage::Settings { address: &self.storage, aws: &self.aws, path_style: self.s3_path_style }
    }

    /// Reads the real environment.
    pub fn load(flags: &Flags) -> Result<Config, String> {
        let text = |given: std::ffi::OsString| given.to_string_lossy().into_owned();
        let given = std::env::vars_os().map(|(name, value)| (text(name), text(value)));
        check::variables(given, &Config::known_variables())?;
        Config::from_sources(flags, &|name| std::env::var(name).ok())
    }

    pub fn from_sources(
        flags: &Flags,
        env: &dyn Fn(&str) -> Option<String>,
    ) -> Result<Config, String> {
        Config::read(Sources::open(flags, env)?, env)
    }

    /// The variable of every setting: what is asked for when nothing is set.
    fn known_variables() -> Vec<String> {
        let (flags, env) = (Flags::default(), |_: &str| None);
        let config = Config::read(Sources::without_file(&flags, &env), &env);
        let settings = config.map_or_else(|_| Vec::new(), |config| config.settings);
        settings.into_iter().map(|setting| setting.variable).collect()
    }

    fn read(mut from: Sources<'_>, env: &dyn Fn(&str) -> Option<String>) -> Result<Config, String> {
        let data_dir = from.data_dir()?;
        let listen = listen(&mut from, env)?;
        let public_url = public_url::read(&mut from, listen)?;
        let default_database = format!("sqlite://{}", data_dir.join("townhall.db").display());
        let default_storage = format!("file://{}", data_dir.join("files").display());
        let cores = std::thread::available_parallelism().map_or(2, std::num::NonZero::get);
        let config = Config {
            listen,
            admin_listen: from.parse("admin_listen", "", admin_listen)?,
            public_url,
            database_url: from.text("database_url", &default_database)?,
            database_pool: from.parse("database_pool", "16", positive)?,
            database_read_url: from.optional("database_read_url")?,
            database_read_lag: from.parse("database_read_lag", "5s", duration)?,
            database_wait: from.parse("database_wait", "5s", duration)?,
            sqlite_durable: from.parse("sqlite_synchronous", "full", |text| match text {
                "full" => Ok(true),
                "normal" => Ok(false),
                _ => Err("must be `full` or `normal`".to_owned()),
            })?,
            sqlite_mmap: from.parse("sqlite_mmap", "off", switch)?,
            storage: from.text("storage", &default_storage)?,
            s3_path_style: from.parse("s3_path_style", "0", switch)?,
            aws: AWS_VARIABLES
                .iter()
                .filter_map(|name| Some(((*name).to_owned(), env(name)?)))
                .collect(),
            file_url_ttl: from.parse("file_url_ttl", "24h", duration)?,
            table_query_deadline: from.parse("table_query_deadline", "250ms", duration)?,
            secret_key: from.optional("secret_key")?,
            secret_key_previous: from.optional("secret_key_previous")?,
            access_token_ttl: from.parse("access_token_ttl", "30m", duration)?,
            refresh_token_ttl: from.parse("refresh_token_ttl", "30d", duration)?,
            refresh_cookie: from.parse("refresh_cookie", "refresh-jwt", check::cookie_name)?,
            anonymous_link_previews: from.parse("anonymous_link_previews", "on", switch)?,
            rate_limits: from.parse("rate_limits", "on", scale::parse)?,
            trusted_proxies: from.parse("trusted_proxies", "", blocks)?,
            outbound_allow: from.parse("outbound_allow", "", blocks)?,
            smtp_url: from.optional("smtp_url")?,
            mail_from: from.optional("mail_from")?,
            operator_email: from.optional("operator_email")?,
            log: from.parse("log", "", |text| match text {
                "" => Ok(None),
                "pretty" => Ok(Some(LogFormat::Pretty)),
                "json" => Ok(Some(LogFormat::Json)),
                _ => Err("must be `pretty` or `json`".to_owned()),
            })?,
            log_filter: check::log_filter(env("RUST_LOG"))?,
            metrics_token: from.optional("metrics_token")?,
            v7_auth_forbids: from.parse("v7_auth_status", "401", |text| match text {
                "401" => Ok(false),
                "403" => Ok(true),
                _ => Err("must be 401 or 403".to_owned()),
            })?,
            max_upload_concurrency: from.parse(
                "max_upload_concurrency",
                &cores.to_string(),
                positive,
            )?,
            head_timeout: Duration::from_secs(10),
            body_timeout: Duration::from_secs(30),
            body_grace: Duration::from_secs(5),
            max_connections: from.parse("max_connections", "10000", positive)?,
            connections_per_network: from.parse("connections_per_network", "1000", positive)?,
            max_in_flight: 4096,
            drain: from.parse("drain", "10s", duration)?,
            realtime: RealtimeLimits::default(),
            staging_mebibytes: 4096,
            backup: BackupSchedule::read(&mut from)?,
            audit_keep: from.parse("audit_keep", "", audit_keep)?,
            models: Models::read(&mut from)?,
            traces: TraceSettings::read(env)?,
            is_dev: false,
            settings: from.finish(),
            data_dir,
        };
        check::whole(&config)?;
        Ok(config)
    }

    /// Whether this process may write below the data directory.
    pub fn data_dir_is_writable(&self) -> bool {
        use rustix::fs::{Access, access};
        access(&self.data_dir, Access::WRITE_OK | Access::EXEC_OK).is_ok()
    }
}

/// Free bytes for this process.
pub fn free_space(directory: &Path) -> std::io::Result<u64> {
    let space = rustix::fs::statvfs(directory)?;
    Ok(space.f_bavail * space.f_frsize)
}

/// Whether a file can really be written there.
pub fn is_writable(directory: &Path) -> bool {
    let probe = directory.join(format!(".writable-{}", std::process::id()));
    let written = std::fs::write(&probe, b"").is_ok();
    written && std::fs::remove_file(&probe).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::values::scratch::Scratch;

    pub(super) fn load(
        flags: &[(&'static str, &str)],
        env: &[(&str, &str)],
    ) -> Result<Config, String> {
        let mut all = Flags::default();
        for (name, value) in flags {
            all.set(name, Some((*value).to_owned()));
        }
        let find = |name: &str| {
            env.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned())
        };
        Config::from_sources(&all, &find)
    }

    #[test]
    fn defaults_follow_the_data_directory_and_the_address() {
        let config = load(&[], &[("TOWNHALL_DATA_DIR", "/srv/th")]).unwrap();
        assert_eq!(config.listen.to_string(), "127.0.0.1:8484");
        assert_eq!(config.public_url, "http://127.0.0.1:8484");
        assert_eq!(config.database_url, "sqlite:///srv/th/townhall.db");
        assert_eq!(config.refresh_token_ttl, Duration::from_secs(30 * 86_400));
    }

    #[test]
    fn a_flag_wins_over_the_environment_and_that_over_the_file() {
        let scratch = Scratch::fresh();
        let file = scratch.file("townhall.toml", "listen = \"127.0.0.1:1\"\nrate_limits = 3\n");
        let with_file = [("config", file.as_str())];
        assert_eq!(load(&with_file, &[]).unwrap().listen.port(), 1);
        assert_eq!(load(&with_file, &[]).unwrap().rate_limits, Scale::Times(3.0));
        let env = [("TOWNHALL_LISTEN", "127.0.0.1:2")];
        assert_eq!(load(&with_file, &env).unwrap().listen.port(), 2);
        let flags = [("config", file.as_str()), ("listen", "127.0.0.1:3")];
        assert_eq!(load(&flags, &env).unwrap().listen.port(), 3);
    }

    #[test]
    fn the_port_of_a_platform_opens_all_addresses() {
        let config = load(&[], &[("PORT", "9000")]).unwrap();
        assert_eq!(config.listen.to_string(), "0.0.0.0:9000");
        let flagged = load(&[("listen", "127.0.0.1:1")], &[("PORT", "9000")]).unwrap();
        assert_eq!(flagged.listen.to_string(), "127.0.0.1:1");
    }

    #[test]
    fn a_value_may_come_from_a_file_of_its_own() {
        let scratch = Scratch::fresh();
        let file = scratch.file("secret", "0123456789abcdef0123456789abcdef\n");
        let config = load(&[], &[("TOWNHALL_SECRET_KEY_FILE", &file)]).unwrap();
        assert_eq!(config.secret_key.unwrap(), "0123456789abcdef0123456789abcdef");
    }

    #[test]
    fn what_does_not_parse_is_named() {
        for (name, value) in [
            ("TOWNHALL_LISTEN", "nowhere"),
            ("TOWNHALL_ACCESS_TOKEN_TTL", "soon"),
            ("TOWNHALL_ACCESS_TOKEN_TTL", "0s"),
            ("TOWNHALL_RATE_LIMITS", "-1"),
            ("TOWNHALL_REFRESH_COOKIE", "my cookie"),
            ("TOWNHALL_ANONYMOUS_LINK_PREVIEWS", "perhaps"),
            ("TOWNHALL_TRUSTED_PROXIES", "10.0.0.0/99"),
            ("TOWNHALL_OUTBOUND_ALLOW", "localhost"),
            ("TOWNHALL_SECRET_KEY", "short"),
            ("TOWNHALL_DATABASE_POOL", "0"),
            ("TOWNHALL_MAX_CONNECTIONS", "0"),
            ("TOWNHALL_CONNECTIONS_PER_NETWORK", "many"),
            ("TOWNHALL_DRAIN", "10"),
            ("TOWNHALL_AUDIT_KEEP", "long"),
            ("TOWNHALL_AUDIT_KEEP", "23h"),
            ("TOWNHALL_DATABASE_WAIT", "soon"),
            ("TOWNHALL_V7_AUTH_STATUS", "404"),
            ("TOWNHALL_DATABASE_URL", "mysql://db/townhall"),
            ("TOWNHALL_DATABASE_URL", "postgres://db:notaport/townhall"),
            ("TOWNHALL_STORAGE", "ftp://files"),
            ("TOWNHALL_STORAGE", "s3://"),
            ("TOWNHALL_STORAGE", "file://"),
            ("PORT", "x"),
        ] {
            let error = load(&[], &[(name, value)]).unwrap_err();
            assert!(error.contains(name), "{error}");
            assert!(!error.contains('\n'));
        }
    }

    #[test]
    fn secrets_are_masked_and_origins_named() {
        let secret = "0123456789abcdef0123456789abcdef";
        let config = load(
            &[("listen", "127.0.0.1:3")],
            &[
                ("TOWNHALL_SECRET_KEY", secret),
                ("DATABASE_URL", "postgres://me:hunter2@db/townhall?password=hunter3"),
            ],
        )
        .unwrap();
        let shown = |name: &str| {
            let setting = config.settings.iter().find(|s| s.variable == name).unwrap();
            (setting.value.clone(), setting.source.to_string())
        };
        assert_eq!(shown("TOWNHALL_SECRET_KEY").0, "****");
        let (url, source) = shown("TOWNHALL_DATABASE_URL");
        assert_eq!(
            (url.as_str(), source.as_str()),
            ("postgres://me:****@db/townhall?password=****", "DATABASE_URL")
        );
        assert_eq!(shown("TOWNHALL_LISTEN").1, "flag");
        assert_eq!(shown("TOWNHALL_STORAGE").1, "default");
    }
}
