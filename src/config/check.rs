//! Validation of settings beyond their syntax: addresses, names, and settings that depend on each other.
//! Makes no request and writes nothing.

use tracing::level_filters::LevelFilter;
use tracing_subscriber::filter::Targets;

use crate::config::{Config, SHORTEST_SECRET};
use crate::mail::Mailer;
use crate::storage::Storage;

const PREFIX: &str = "TOWNHALL_";

/// Letters, digits and a few signs: anything else would need quotes in the header.
pub(super) fn cookie_name(text: &str) -> Result<String, String> {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    match !text.is_empty() && text.bytes().all(fits) {
        true => Ok(text.to_owned()),
        false => Err("must be letters, digits, hyphens, underscores and dots".to_owned()),
    }
}

/// `RUST_LOG`: directives separated by commas.
pub(super) fn log_filter(given: Option<String>) -> Result<Targets, String> {
    let Some(text) = given.filter(|text| !text.trim().is_empty()) else {
        return Ok(Targets::new().with_default(LevelFilter::INFO));
    };
    // A lone word would be read as a module name, and a misspelt level would silence everything else.
    let is_known = |word: &str| {
        let is_level = word.parse::<LevelFilter>().is_ok();
        is_level || word.contains('=') || word.starts_with(env!("CARGO_PKG_NAME"))
    };
    let mut words = text.split(',').map(str::trim).filter(|word| !word.is_empty());
    if let Some(word) = words.find(|word| !is_known(word)) {
        let levels = "off, error, warn, info, debug and trace";
        return Err(format!("RUST_LOG: `{word}` is no level: there is {levels}"));
    }
    text.parse().map_err(|error| format!("RUST_LOG: `{text}` is no filter: {error}"))
}

/// Every variable that begins like a setting must be one.
pub(super) fn variables(
    mut given: impl Iterator<Item = (String, String)>,
    known: &[String],
) -> Result<(), String> {
    let known: Vec<String> =
        known.iter().flat_map(|name| [name.clone(), format!("{name}_FILE")]).collect();
    let is_wrong = |(name, value): &(String, String)| {
        name.starts_with(PREFIX) && !known.contains(name) && !is_service_link(name, value)
    };
    match given.find(is_wrong) {
        Some((name, _)) => Err(unknown(&name, &known)),
        None => Ok(()),
    }
}

/// Kubernetes and Docker set such variables for a service named `townhall`.
fn is_service_link(name: &str, value: &str) -> bool {
    let after_port = name.rsplit_once("_PORT_").map_or("", |(_, rest)| rest);
    name.ends_with("_SERVICE_HOST")
        || name.contains("_SERVICE_PORT")
        || (name.ends_with("_PORT") && value.contains("://"))
        || after_port.starts_with(|c: char| c.is_ascii_digit())
}

/// Every key of the file must be a setting.
pub(super) fn key(name: &str, known: &[String]) -> Result<(), String> {
    let keys: Vec<String> = known
        .iter()
        .filter_map(|variable| variable.strip_prefix(PREFIX))
        .map(|name| format!("`{}`", name.to_lowercase()))
        .collect();
    let name = format!("`{name}`");
    if keys.contains(&name) { Ok(()) } else { Err(unknown(&name, &keys)) }
}

fn unknown(name: &str, known: &[String]) -> String {
    let distance =
        |known: &&String| strsim::damerau_levenshtein(&name.to_lowercase(), &known.to_lowercase());
    let nearest = known.iter().min_by_key(distance);
    let hint = nearest.map(|nearest| format!(": did you mean {nearest}?")).unwrap_or_default();
    format!("unknown setting {name}{hint}")
}

/// Checks that involve several settings, or that only the user of a setting can do.
pub(super) fn whole(config: &Config) -> Result<(), String> {
    if config.secret_key.as_ref().is_some_and(|secret| secret.len() < SHORTEST_SECRET) {
        return Err("TOWNHALL_SECRET_KEY must have at least 32 characters".to_owned());
    }
    if config.secret_key_previous.is_some() && config.secret_key.is_none() {
        return Err(
            "TOWNHALL_SECRET_KEY_PREVIOUS needs a TOWNHALL_SECRET_KEY that replaces it".to_owned()
        );
    }
    db::Db::check_url(&config.database_url)
        .map_err(|error| one_line(&format!("TOWNHALL_DATABASE_URL: {error}")))?;
    if let Some(url) = &config.database_read_url {
        let is_postgres = |url: &str| url.starts_with("postgres");
        if !is_postgres(url) || !is_postgres(&config.database_url) {
            return Err("TOWNHALL_DATABASE_READ_URL: only PostgreSQL has replicas".to_owned());
        }
        db::Db::check_url(url)
            .map_err(|error| one_line(&format!("TOWNHALL_DATABASE_READ_URL: {error}")))?;
    }
    Storage::check_settings(&config.storage_settings())?;
    if let Some(settings) = config.backup.as_ref().and_then(|one| one.bucket_settings(config)) {
        let renamed = |error: String| error.replace("TOWNHALL_STORAGE", "TOWNHALL_BACKUP_TO");
        Storage::check_settings(&settings).map_err(renamed)?;
    }
    if let Some(from) = &config.mail_from {
        Mailer::check_sender(from).map_err(|error| format!("TOWNHALL_MAIL_FROM: {error}"))?;
    }
    if let Some(to) = &config.operator_email {
        Mailer::check_sender(to).map_err(|error| format!("TOWNHALL_OPERATOR_EMAIL: {error}"))?;
    }
    if let Some(url) = &config.smtp_url {
        Mailer::check_server(url).map_err(|error| format!("TOWNHALL_SMTP_URL: {error}"))?;
        if config.mail_from.is_none() {
            return Err("TOWNHALL_MAIL_FROM must be set, to the sender of mails, \
                        because TOWNHALL_SMTP_URL is"
                .to_owned());
        }
    }
    Ok(())
}

fn one_line(text: &str) -> String {
    text.lines().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::tests::load;
    use crate::values::scratch::Scratch;

    #[test]
    fn mail_needs_a_server_and_a_sender_that_can_be_read() {
        let smtp = ("TOWNHALL_SMTP_URL", "smtps://me:hunter2@mail.example");
        let from = ("TOWNHALL_MAIL_FROM", "Forum <forum@example.com>");
        assert!(load(&[], &[smtp, from]).is_ok());
        assert!(load(&[], &[from]).is_ok(), "into the outbox");
        for (wrong, named) in [
            (vec![smtp], "TOWNHALL_MAIL_FROM"),
            (vec![smtp, ("TOWNHALL_MAIL_FROM", "")], "TOWNHALL_MAIL_FROM"),
            (vec![("TOWNHALL_MAIL_FROM", "forum")], "TOWNHALL_MAIL_FROM"),
            (vec![("TOWNHALL_SMTP_URL", "mail.example:587"), from], "TOWNHALL_SMTP_URL"),
            (
                vec![("TOWNHALL_SMTP_URL", "http://me:hunter2@mail.example"), from],
                "TOWNHALL_SMTP_URL",
            ),
        ] {
            let error = load(&[], &wrong).unwrap_err();
            assert!(error.starts_with(named) && !error.contains("hunter2"), "{error}");
            assert!(!error.contains('\n'));
        }
    }

    #[test]
    fn a_log_filter_names_levels_and_parts_of_the_program() {
        for (given, used) in [
            (None, "info"),
            (Some(""), "info"),
            (Some("debug"), "debug"),
            (Some("OFF"), "OFF"),
            (Some("info,townhall::jobs=debug"), "info,townhall::jobs=debug"),
            (Some("warn,townhall"), "warn,townhall"),
            (Some("2"), "2"),
            (Some("hyper=trace"), "hyper=trace"),
        ] {
            let env: Vec<(&str, &str)> =
                given.map(|value| ("RUST_LOG", value)).into_iter().collect();
            assert_eq!(load(&[], &env).unwrap().log_filter, used.parse().unwrap());
        }
        for wrong in ["nonsense", "townhall=loud", "info,debgu"] {
            let error = load(&[], &[("RUST_LOG", wrong)]).unwrap_err();
            assert!(error.starts_with("RUST_LOG: ") && !error.contains('\n'), "{error}");
        }
    }

    #[test]
    fn a_wrong_key_of_the_file_is_named_with_its_line() {
        let scratch = Scratch::fresh();
        for (text, expected) in [
            ("# x\n\nlisen = \"x\"\n", "line 3: unknown setting `lisen`: did you mean `listen`?"),
            (
                "rate_limits = 1\nrate_limit = 2",
                "line 2: unknown setting `rate_limit`: did you mean `rate_limits`?",
            ),
            (
                "rate_limits = 1\n[smtp]\nurl = \"x\"",
                "line 2: unknown setting `smtp`: did you mean `",
            ),
            (
                "rate_limits = 1\nlisten = [1]",
                "line 2: `listen` must be a text, a number or true/false",
            ),
            ("rate_limits = 1\n\nlisten = \n", "line 3: "),
        ] {
            let file = scratch.file("townhall.toml", text);
            let error = load(&[("config", &file)], &[]).unwrap_err();
            let rest = error.strip_prefix(&format!("{file} ")).unwrap();
            assert!(rest.starts_with(expected) && !rest.contains('\n'), "{error}");
        }
    }

    #[test]
    fn a_variable_that_no_setting_has_is_named_with_the_nearest() {
        let check_value = |name: &str, value: &str| {
            let given = ["HOME", "TOWNHALL_LISTEN", name].map(|n| (n.to_owned(), value.to_owned()));
            variables(given.into_iter(), &Config::known_variables())
        };
        let check = |name: &str| check_value(name, "x");
        for linked in [
            "TOWNHALL_SERVICE_HOST",
            "TOWNHALL_SERVICE_PORT_HTTP",
            "TOWNHALL_WEB_SERVICE_PORT",
            "TOWNHALL_PORT_8484_TCP",
            "TOWNHALL_PORT_8484_TCP_ADDR",
        ] {
            assert_eq!(check(linked), Ok(()), "set by a cluster, not by the operator");
        }
        assert_eq!(check_value("TOWNHALL_PORT", "tcp://10.0.0.7:8484"), Ok(()));
        assert!(check_value("TOWNHALL_PORT", "8484").is_err());
        for known in ["TOWNHALL_DATA_DIR", "TOWNHALL_SECRET_KEY_FILE", "TOWNHALLS", "PORT"] {
            assert_eq!(check(known), Ok(()));
        }
        for (wrong, nearest) in [
            ("TOWNHALL_LISTN", "TOWNHALL_LISTEN"),
            ("TOWNHALL_SECRETKEY", "TOWNHALL_SECRET_KEY"),
            ("TOWNHALL_SMTP_URL_FLIE", "TOWNHALL_SMTP_URL_FILE"),
            ("TOWNHALL_listen", "TOWNHALL_LISTEN"),
        ] {
            let expected = format!("unknown setting {wrong}: did you mean {nearest}?");
            assert_eq!(check(wrong), Err(expected));
        }
        assert!(check("TOWNHALL_").is_err());
    }
}
