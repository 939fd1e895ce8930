//! The address of the server, and how every connection to it is set up.

use std::fmt;
use std::time::Duration;

use tokio_postgres::Config;

use crate::{Error, Options, Watch};

use super::errors;
use super::tls::Tls;

const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// A silent network must not hold a connection for ever.
const KEEPALIVE: Duration = Duration::from_secs(30);
/// A closure does no network work inside a transaction, so this only ever catches a bug or a stopped process.
const IDLE_IN_TRANSACTION: Duration = Duration::from_secs(60);
/// Grace after the server's own deadline for its error to arrive, before the network is blamed.
pub(super) const GRACE: Duration = Duration::from_secs(3);

/// How to connect.
pub(super) struct Address {
    pub(super) config: Config,
    pub(super) tls: Tls,
    pub(super) deadline: Duration,
    /// How long a job may wait for a connection, and the server may take for a probe.
    pub(super) wait: Duration,
    /// How long an announcement is waited for that others came after.
    pub(super) announcement_wait: Duration,
    pub(super) on_statement: Option<Watch>,
}

impl Address {
    pub(super) fn parse(url: &str, options: &Options) -> Result<Address, Error> {
        let (url, root_certificate) = without_libpq_words(url);
        let mut config: Config = url.parse().map_err(Error::unreachable)?;
        config.connect_timeout(*config.get_connect_timeout().unwrap_or(&CONNECT_TIMEOUT));
        config.keepalives_idle(KEEPALIVE);
        config.tcp_user_timeout(options.statement_deadline + GRACE);
        let tls = Tls::new(config.get_ssl_mode(), root_certificate.as_deref());
        Ok(Address {
            config,
            tls: tls.map_err(Error::Unreachable)?,
            deadline: options.statement_deadline,
            wait: options.wait,
            announcement_wait: options.announcement_wait,
            on_statement: options.on_statement.clone(),
        })
    }

    /// Sent first on each connection. Not as start-up options, which poolers refuse. JIT is off: no statement
    /// runs long enough to be worth compiling, and a wrong estimate would trigger it. Plans are generic: each
    /// statement is planned once per connection and not, at 90 to 210 µs, for each request. Statements are
    /// written so that their plan does not depend on the arguments, and [`explain`](crate::Db::explain) shows
    /// the generic one. On a cluster the server chooses: without the arguments Citus finds the shard of simple
    /// statements only, and refuses a generic plan of the others.
    ///
    /// Returns whether the extension is there.
    pub(super) fn settings(&self) -> String {
        format!(
            "SET statement_timeout = {}; SET idle_in_transaction_session_timeout = {};
             SET default_transaction_isolation = 'read committed'; SET jit = off;
             SELECT set_config('plan_cache_mode',
                CASE WHEN extension THEN 'auto' ELSE 'force_generic_plan' END, false), extension
             FROM (SELECT EXISTS (SELECT 1 FROM pg_extension WHERE extname = 'citus')) AS x (extension)",
            self.deadline.as_millis().max(1),
            IDLE_IN_TRANSACTION.as_millis()
        )
    }

    /// How long to wait for a reply before the connection counts as lost.
    pub(super) fn patience(&self) -> Duration {
        self.deadline + GRACE
    }

    /// Waits that long for connections outside the pool.
    pub(super) async fn within<T>(
        &self,
        work: impl Future<Output = Result<T, tokio_postgres::Error>>,
    ) -> Result<T, Error> {
        tokio::time::timeout(self.patience(), work)
            .await
            .map_err(|_| Error::unreachable("the server does not answer"))?
            .map_err(|error| Error::Unreachable(errors::text(&error)))
    }
}

impl fmt::Debug for Address {
    // Without the configuration, which holds the password.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Address").finish_non_exhaustive()
    }
}

/// Removes from a URL what libpq knows and the client library does not: `sslrootcert`, and the modes
/// `verify-ca` and `verify-full`, which equal `require` here.
fn without_libpq_words(url: &str) -> (String, Option<String>) {
    let Some((base, query)) = url.split_once('?') else {
        return (url.to_owned(), None);
    };
    let mut root_certificate = None;
    let mut kept = Vec::new();
    for pair in query.split('&') {
        match pair.split_once('=') {
            Some(("sslrootcert", path)) => root_certificate = Some(path.replace("%2F", "/")),
            Some(("sslmode", "verify-ca" | "verify-full")) => kept.push("sslmode=require"),
            _ => kept.push(pair),
        }
    }
    (format!("{base}?{}", kept.join("&")), root_certificate)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_libpq_are_understood() {
        let url = "postgres://a@h/d?sslmode=verify-full&sslrootcert=/etc/ca.pem&user=b";
        let (url, root_certificate) = without_libpq_words(url);
        assert_eq!(url, "postgres://a@h/d?sslmode=require&user=b");
        assert_eq!(root_certificate.as_deref(), Some("/etc/ca.pem"));
    }

    #[test]
    fn debug_output_holds_no_password() {
        let url = "postgres://a:secret@localhost/d";
        let address = Address::parse(url, &Options::default()).unwrap();
        assert!(!format!("{address:?}").contains("secret"));
    }
}
