//! The address of a request: which project, which version, which endpoint.
//!
//! Every spelling of one endpoint (the aliases, doubled and trailing slashes, needless
//! percent-encoding) becomes the same address here, before anything is checked or counted.

use std::borrow::Cow;

use crate::http::query::percent_decode;
use crate::http::version::Version;

/// Where OAuth providers send browsers back to, for every project and version.
pub const OAUTH_CALLBACK: &str = "/v7/oauth/callback";
/// Where a browser begins that a sign-in is bound to.
pub const OAUTH_START: &str = "/v7/oauth/start";

#[derive(Debug, PartialEq, Eq)]
pub struct Address {
    pub scope: Scope,
    /// What follows the scope, beginning with a slash: the path that the router matches.
    pub endpoint: String,
}

#[derive(Debug, PartialEq, Eq)]
pub enum Scope {
    /// `/v8/:projectId/…` and its aliases; the project id as it was sent. None where older clients omit it:
    /// the credential or the path identifies the project.
    Project { version: Version, dialect: Dialect, project: Option<String> },
    /// Outside the project form: health, metrics, `/internal`.
    Server,
}

/// How requests and replies are spelled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Dialect {
    Reference,
    /// As published clients of version 6 do, who write `/api/v6` or `/api/v5`: see `http/legacy`.
    Legacy,
}

impl Address {
    /// `None` if the path is malformed.
    pub fn parse(path: &str) -> Option<Address> {
        let segments = path.split('/').filter(|s| !s.is_empty()).map(decode);
        let Some(segments) = segments.collect::<Option<Vec<_>>>() else {
            // The address of a stored file is signed, so any other spelling is refused there.
            let is_file = path.starts_with("/internal/files/");
            return is_file.then(|| Address { scope: Scope::Server, endpoint: path.to_owned() });
        };
        let words: Vec<&str> = segments.iter().map(AsRef::as_ref).collect();
        if let ["internal", "projects", project, "lean"] = words.as_slice() {
            return Some(in_project(Version::V6, Dialect::Legacy, project, &["projects", "lean"]));
        }
        if let ["api", version, "oauth", step @ ("callback" | "start")]
        | [version, "oauth", step @ ("callback" | "start")] = words.as_slice()
            && Version::from_segment(version).is_some()
        {
            let endpoint = if *step == "start" { OAUTH_START } else { OAUTH_CALLBACK };
            return Some(Address { scope: Scope::Server, endpoint: endpoint.to_owned() });
        }
        let found = match words.as_slice() {
            ["api", "v5" | "v6", project, endpoint @ ..] => {
                return Some(in_project(Version::V6, Dialect::Legacy, project, endpoint));
            }
            ["api", version, project, endpoint @ ..] | [project, "api", version, endpoint @ ..] => {
                Version::from_segment(version).map(|version| (version, *project, endpoint))
            }
            _ => None,
        };
        let found = found.or_else(|| match words.as_slice() {
            [version, project, endpoint @ ..] => {
                Version::from_segment(version).map(|version| (version, *project, endpoint))
            }
            _ => None,
        });
        Some(match found {
            Some((version, project, endpoint)) => {
                in_project(version, Dialect::Reference, project, endpoint)
            }
            None if words.is_empty() => Address { scope: Scope::Server, endpoint: "/".to_owned() },
            None => Address { scope: Scope::Server, endpoint: join(&words) },
        })
    }
}

/// Whether browsers may send cookies to this path and read the reply: the prefixes of the legacy dialect.
/// Asked of every path, malformed ones too.
pub fn takes_cookies(path: &str) -> bool {
    let mut segments = path.split('/').filter(|s| !s.is_empty()).map(|s| percent_decode(s, false));
    match segments.next().flatten().as_deref() {
        Some("internal") => true,
        Some("api") => matches!(segments.next().flatten().as_deref(), Some("v5" | "v6")),
        _ => false,
    }
}

/// Published clients omit the project in every address about connections, and those of version 7 repeat the
/// version after a socket reconnects.
fn in_project(version: Version, dialect: Dialect, project: &str, endpoint: &[&str]) -> Address {
    let is_published = version == Version::V7 || dialect == Dialect::Legacy;
    if is_published && is_about_connections(project, endpoint) {
        let endpoint = join(&[project]) + &join(endpoint);
        return Address { scope: Scope::Project { version, dialect, project: None }, endpoint };
    }
    let endpoint = match endpoint {
        ["v7", rest @ ..] if version == Version::V7 => rest,
        endpoint => endpoint,
    };
    let scope = Scope::Project { version, dialect, project: Some(project.to_owned()) };
    Address { scope, endpoint: join(endpoint) }
}

/// Neither word is the id of a project.
fn is_about_connections(first: &str, rest: &[&str]) -> bool {
    match first {
        "connections" => true,
        "users" => matches!(rest, [_, "connection" | "connections" | "connections-count"]),
        _ => false,
    }
}

/// A decoded slash would change the segments of the path.
fn decode(segment: &str) -> Option<Cow<'_, str>> {
    let decoded = percent_decode(segment, false)?;
    (!decoded.contains('/')).then_some(decoded)
}

fn join(segments: &[&str]) -> String {
    let mut endpoint = String::with_capacity(segments.iter().map(|s| s.len() + 1).sum());
    for segment in segments {
        endpoint.push('/');
        endpoint.push_str(segment);
    }
    endpoint
}

#[cfg(test)]
mod tests {
    use super::*;

    fn project(path: &str) -> Option<(Version, String, String)> {
        match Address::parse(path)? {
            Address { scope: Scope::Project { version, project, .. }, endpoint } => {
                Some((version, project.unwrap_or_else(|| "none".to_owned()), endpoint))
            }
            Address { scope: Scope::Server, .. } => None,
        }
    }

    #[test]
    fn every_spelling_is_one_address() {
        let expected = Some((Version::V8, "P".to_owned(), "/auth/sign-in".to_owned()));
        for path in [
            "/v8/P/auth/sign-in",
            "/v8/P/auth/sign-in/",
            "//v8//P//auth//sign-in",
            "/v8/P/auth/%73ign-in",
            "/api/v8/P/auth/sign-in",
            "/P/api/v8/auth/sign-in",
        ] {
            assert_eq!(project(path), expected, "{path}");
        }
    }

    #[test]
    fn version_seven_may_repeat_itself_or_leave_out_the_project() {
        let at = |project: &str, endpoint: &str| {
            Some((Version::V7, project.to_owned(), endpoint.to_owned()))
        };
        for path in ["/v7/P/v7/chat", "/api/v7/P/v7/chat", "/P/api/v7/v7/chat", "/v7/P/%767/chat"] {
            assert_eq!(project(path), at("P", "/chat"), "{path}");
        }
        for path in ["/v7/connections/count", "/api/v7/connections/count"] {
            assert_eq!(project(path), at("none", "/connections/count"), "{path}");
        }
        assert_eq!(project("/v7/users/U/connection"), at("none", "/users/U/connection"));
        // Only one repeated version is dropped, and nothing else.
        assert_eq!(project("/v7/P/v7/v7/chat"), at("P", "/v7/chat"));
        assert_eq!(project("/v7/users/U"), at("users", "/U"));
        for path in ["/v8/P/v8/chat", "/v6/P/v6/chat", "/v8/P/v7/chat"] {
            assert!(
                project(path).unwrap().2.ends_with("/chat") && project(path).unwrap().2.len() == 8
            );
        }
        assert_eq!(project("/v8/connections/count").unwrap().1, "connections");
    }

    #[test]
    fn the_address_decides_the_dialect() {
        let dialect = |path: &str| match Address::parse(path).unwrap().scope {
            Scope::Project { version, dialect, .. } => Some((version, dialect)),
            Scope::Server => None,
        };
        for path in ["/api/v6/P/users", "/api/v5/P/users", "//api/%766/P/users/"] {
            assert_eq!(dialect(path), Some((Version::V6, Dialect::Legacy)), "{path}");
            assert_eq!(project(path).unwrap().2, "/users");
            assert!(takes_cookies(path), "{path}");
        }
        let lean = "/internal/projects/P/lean";
        assert_eq!(dialect(lean), Some((Version::V6, Dialect::Legacy)));
        assert_eq!(project(lean).unwrap(), (Version::V6, "P".into(), "/projects/lean".into()));
        assert_eq!(project("/api/v6/connections/count").unwrap().1, "none");
        assert_eq!(project("/v6/connections/count").unwrap().1, "connections");
        for path in ["/v6/P/users", "/P/api/v6/users", "/api/v7/P/users"] {
            assert_eq!(dialect(path).unwrap().1, Dialect::Reference, "{path}");
            assert!(!takes_cookies(path), "{path}");
        }
        for path in ["/v5/P/users", "/P/api/v5/users", "/internal/projects/P", "/api/v5"] {
            assert_eq!(dialect(path), None, "{path}");
        }
        assert!(takes_cookies("/api/v6/P/%zz") && takes_cookies("/internal/files/x"));
        assert!(!takes_cookies("/v8/internal") && !takes_cookies("/api"));
    }

    #[test]
    fn what_is_no_project_address_belongs_to_the_server() {
        for path in ["/", "/livez", "/v9/P/users", "/v5/P/users", "/api/v9/P/users", "/v8"] {
            assert_eq!(Address::parse(path).unwrap().scope, Scope::Server, "{path}");
        }
    }

    #[test]
    fn the_callback_of_oauth_belongs_to_no_project() {
        for path in [
            "/v7/oauth/callback",
            "/v6/oauth/callback/",
            "/v8/oauth/callback",
            "/api/v7/oauth/callback",
        ] {
            let address = Address::parse(path).unwrap();
            assert_eq!(
                (address.scope, address.endpoint.as_str()),
                (Scope::Server, OAUTH_CALLBACK),
                "{path}"
            );
        }
        assert_eq!(project("/v8/P/oauth/callback").unwrap().2, "/oauth/callback");
        assert_eq!(project("/v7/oauth/callback/x").unwrap().1, "oauth");
    }

    #[test]
    fn dots_and_encoded_slashes_never_reach_another_project() {
        let climbed = project("/v8/P/../Q/users").unwrap();
        assert_eq!(climbed, (Version::V8, "P".to_owned(), "/../Q/users".to_owned()));
        assert_eq!(Address::parse("/v8/P%2f..%2fQ/users"), None);
        assert_eq!(Address::parse("/v8/P/%zz"), None);
        let file = Address::parse("/internal/files/P/..%2fx").unwrap();
        assert_eq!(file.endpoint, "/internal/files/P/..%2fx");
    }
}
