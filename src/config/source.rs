//! The sources of settings, and where each value came from, for `townhall config`.

use std::collections::BTreeMap;
use std::fmt;
use std::io::ErrorKind;
use std::path::PathBuf;

use toml::de::{DeTable, DeValue};

use crate::config::{Config, check};

/// Values given on the command line, by the setting's name.
#[derive(Debug, Clone, Default)]
pub struct Flags(BTreeMap<&'static str, String>);

impl Flags {
    pub fn set(&mut self, name: &'static str, value: Option<String>) {
        if let Some(value) = value {
            self.0.insert(name, value);
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    Flag,
    /// The variable that gave it.
    Environment(String),
    File,
    Default,
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Source::Flag => f.write_str("flag"),
            Source::Environment(name) => f.write_str(name),
            Source::File => f.write_str("townhall.toml"),
            Source::Default => f.write_str("default"),
        }
    }
}

/// One effective setting; secrets are masked.
#[derive(Debug, Clone)]
pub struct Setting {
    pub variable: String,
    pub value: String,
    pub source: Source,
}

pub(super) struct Sources<'a> {
    flags: &'a Flags,
    env: &'a dyn Fn(&str) -> Option<String>,
    file: BTreeMap<String, String>,
    settings: Vec<Setting>,
}

impl<'a> Sources<'a> {
    pub(super) fn without_file(flags: &'a Flags, env: &'a dyn Fn(&str) -> Option<String>) -> Self {
        Sources { flags, env, file: BTreeMap::new(), settings: Vec::new() }
    }

    pub(super) fn open(
        flags: &'a Flags,
        env: &'a dyn Fn(&str) -> Option<String>,
    ) -> Result<Self, String> {
        let mut sources = Sources::without_file(flags, env);
        let named = flags.0.get("config").map(PathBuf::from);
        let in_data_dir = sources.data_dir()?.join("townhall.toml");
        let path = named.clone().unwrap_or(in_data_dir);
        sources.file = match std::fs::read_to_string(&path) {
            Ok(text) => {
                let known = Config::known_variables();
                parse_file(&text, &known).map_err(|error| format!("{} {error}", path.display()))?
            }
            Err(error) if named.is_none() && error.kind() == ErrorKind::NotFound => BTreeMap::new(),
            Err(error) => return Err(format!("{}: {error}", path.display())),
        };
        Ok(sources)
    }

    /// Needed before the file is read, so the file cannot move it.
    pub(super) fn data_dir(&mut self) -> Result<PathBuf, String> {
        self.settings.clear();
        self.text("data_dir", "./townhall_data").map(Into::into)
    }

    pub(super) fn is_flag(&self, name: &str) -> bool {
        self.flags.0.contains_key(name)
    }

    pub(super) fn text(&mut self, name: &'static str, default: &str) -> Result<String, String> {
        let found = self.find(name)?;
        let (value, source) = found.unwrap_or_else(|| (default.to_owned(), Source::Default));
        self.remember(name, &value, source);
        Ok(value)
    }

    pub(super) fn optional(&mut self, name: &'static str) -> Result<Option<String>, String> {
        Ok(Some(self.text(name, "")?).filter(|value| !value.is_empty()))
    }

    pub(super) fn parse<T>(
        &mut self,
        name: &'static str,
        default: &str,
        parse: impl Fn(&str) -> Result<T, String>,
    ) -> Result<T, String> {
        let value = self.text(name, default)?;
        parse(value.trim()).map_err(|why| format!("{}: `{value}` {why}", variable(name)))
    }

    pub(super) fn replace(&mut self, name: &'static str, value: &str, source: Source) {
        self.settings.retain(|setting| setting.variable != variable(name));
        self.remember(name, value, source);
    }

    /// Every setting that was asked for.
    pub(super) fn finish(self) -> Vec<Setting> {
        self.settings
    }

    fn find(&self, name: &'static str) -> Result<Option<(String, Source)>, String> {
        if let Some(value) = self.flags.0.get(name) {
            return Ok(Some((value.clone(), Source::Flag)));
        }
        let mut variables = vec![variable(name)];
        if name == "database_url" {
            variables.push("DATABASE_URL".to_owned());
        }
        for variable in variables {
            if let Some(value) = (self.env)(&variable) {
                return Ok(Some((value, Source::Environment(variable))));
            }
            let from_file = format!("{variable}_FILE");
            if let Some(path) = (self.env)(&from_file) {
                let text = std::fs::read_to_string(&path)
                    .map_err(|error| format!("{from_file}: {path}: {error}"))?;
                let value = text.trim_end_matches(['\r', '\n']).to_owned();
                return Ok(Some((value, Source::Environment(from_file))));
            }
        }
        Ok(self.file.get(name).map(|value| (value.clone(), Source::File)))
    }

    fn remember(&mut self, name: &'static str, value: &str, source: Source) {
        let value = match name {
            "secret_key"
            | "secret_key_previous"
            | "metrics_token"
            | "embeddings_key"
            | "answers_key"
                if !value.is_empty() =>
            {
                "****".to_owned()
            }
            "database_url" | "database_read_url" | "smtp_url" => mask_password(value),
            _ => value.to_owned(),
        };
        self.settings.push(Setting { variable: variable(name), value, source });
    }
}

fn variable(name: &str) -> String {
    format!("TOWNHALL_{}", name.to_uppercase())
}

/// `scheme://user:****@host`, `…?password=****`.
fn mask_password(url: &str) -> String {
    let (url, query) = url.split_once('?').map_or((url, None), |(url, query)| (url, Some(query)));
    let query = query.map(|query| {
        let pairs = query.split('&').map(|pair| match pair.split_once('=') {
            Some((key, _)) if key.contains("password") => format!("{key}=****"),
            _ => pair.to_owned(),
        });
        pairs.collect::<Vec<_>>().join("&")
    });
    let masked = url.split_once("://").and_then(|(scheme, rest)| {
        let (user_info, host) = rest.rsplit_once('@')?;
        let (user, _) = user_info.split_once(':')?;
        Some(format!("{scheme}://{user}:****@{host}"))
    });
    let masked = masked.unwrap_or_else(|| url.to_owned());
    query.map_or(masked.clone(), |query| format!("{masked}?{query}"))
}

/// The values of a file, all of which must be settings. An error begins with its line.
fn parse_file(text: &str, known: &[String]) -> Result<BTreeMap<String, String>, String> {
    let at = |offset: usize, why: &str| {
        let line = text.bytes().take(offset).filter(|byte| *byte == b'\n').count() + 1;
        format!("line {line}: {why}")
    };
    let table = DeTable::parse(text).map_err(|error| {
        let why = error.message().lines().next().unwrap_or("not valid TOML").to_owned();
        at(error.span().map_or(0, |span| span.start), &why)
    })?;
    let mut entries: Vec<_> = table.into_inner().into_iter().collect();
    entries.sort_by_key(|(key, _)| key.span().start);
    let mut values = BTreeMap::new();
    for (key, value) in entries {
        let (start, key) = (key.span().start, key.into_inner().into_owned());
        check::key(&key, known).map_err(|why| at(start, &why))?;
        let value = match value.into_inner() {
            DeValue::String(text) => text.into_owned(),
            DeValue::Integer(number) => number.to_string(),
            DeValue::Float(number) => number.to_string(),
            DeValue::Boolean(flag) => flag.to_string(),
            _ => {
                let why = format!("`{key}` must be a text, a number or true/false");
                return Err(at(start, &why));
            }
        };
        values.insert(key, value);
    }
    Ok(values)
}
