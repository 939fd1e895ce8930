//! Cross-origin requests: a project's list of origins, preflights, and the reply headers.

use http::header::{
    ACCESS_CONTROL_ALLOW_CREDENTIALS, ACCESS_CONTROL_ALLOW_ORIGIN, ACCESS_CONTROL_EXPOSE_HEADERS,
    ACCESS_CONTROL_REQUEST_HEADERS, ORIGIN,
};
use http::{HeaderMap, HeaderValue, StatusCode};

use crate::error::faults;
use crate::http::address::takes_cookies;
use crate::http::reply::{self, Body, Response};

faults! {
    pub ORIGIN_NOT_ALLOWED = 403 "project/origin-not-allowed":
        "This origin may not call the project";
}

/// Whether a project with this list serves a request with these headers. Requests without an origin do not
/// come from a browser and pass; an empty list allows every origin.
pub fn is_allowed(headers: &HeaderMap, allowed: &[String]) -> bool {
    let mut origins = headers.get_all(ORIGIN).into_iter();
    match (origins.next(), origins.next()) {
        (None, _) => true,
        _ if allowed.is_empty() => true,
        (Some(origin), None) => origin.to_str().is_ok_and(|origin| is_listed(origin, allowed)),
        (Some(_), Some(_)) => false,
    }
}

/// Whether the list contains this origin, exactly or by a wildcard.
pub fn is_listed(origin: &str, allowed: &[String]) -> bool {
    allowed.iter().any(|listed| match listed.split_once("://*.") {
        None => listed == origin,
        Some((scheme, parent)) => is_below(origin, scheme, parent),
    })
}

/// `https://a.b.example.com` is below `example.com`; that itself is not, nor is `evilexample.com`.
fn is_below(origin: &str, scheme: &str, parent: &str) -> bool {
    let host = origin.strip_prefix(scheme).and_then(|rest| rest.strip_prefix("://"));
    let labels = host.and_then(|host| host.strip_suffix(parent)?.strip_suffix('.'));
    labels.is_some_and(|labels| labels.split('.').all(is_label))
}

fn is_label(label: &str) -> bool {
    let fits = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b"-_".contains(&b);
    !label.is_empty() && label.bytes().all(fits)
}

/// Normalizes an origin from the operator to the form that browsers send: scheme, host and port in lower
/// case, nothing after. A wildcard is the whole first label, with at least two more after it.
pub fn parse_origin(given: &str) -> Result<String, String> {
    let origin = given.trim_end_matches('/').to_lowercase();
    let (scheme, host) = origin.split_once("://").unwrap_or(("", &origin));
    if origin.contains('*') {
        let parent = host.strip_prefix("*.").unwrap_or_default();
        let (parent, port) = parent.split_once(':').unwrap_or((parent, "1"));
        let is_parent = parent.contains('.') && parent.split('.').all(is_label);
        if !is_parent || port.parse::<u16>().is_err() || scheme.contains('*') || scheme.is_empty() {
            let rule = "a wildcard is the first label of a host, as in https://*.example.com";
            return Err(format!("`{given}`: {rule}"));
        }
    }
    if scheme.is_empty() || host.is_empty() || host.contains(['/', '@', '?', '#']) {
        return Err(format!("`{given}` is no origin such as https://app.example.com"));
    }
    Ok(origin)
}

/// In the legacy dialect always with the headers that its clients send, and for the methods they use.
pub fn preflight(path: &str, headers: &HeaderMap) -> Response {
    let mut response = Response::new(Body::default());
    *response.status_mut() = StatusCode::NO_CONTENT;
    let requested = headers.get(ACCESS_CONTROL_REQUEST_HEADERS).and_then(|v| v.to_str().ok());
    let (methods, allowed) = match takes_cookies(path) {
        true => {
            let more = requested.map(|names| format!(", {names}")).unwrap_or_default();
            let allowed = format!("Authorization, Content-Type{more}");
            ("GET,POST,PATCH,DELETE,OPTIONS", Some(allowed))
        }
        false => ("GET,POST,PATCH,PUT,DELETE,OPTIONS", requested.map(ToOwned::to_owned)),
    };
    reply::set(&mut response, "access-control-allow-methods", methods);
    reply::set(&mut response, "access-control-max-age", "600");
    if let Some(allowed) = allowed {
        reply::set(&mut response, "access-control-allow-headers", &allowed);
    }
    response
}

/// Also lets the page send cookies: without this header, browsers drop the reply to such a request.
pub fn allow_credentials(response: &mut Response) {
    let yes = HeaderValue::from_static("true");
    response.headers_mut().insert(ACCESS_CONTROL_ALLOW_CREDENTIALS, yes);
}

/// Lets the page at `origin` read the reply.
pub fn allow(response: &mut Response, origin: HeaderValue) {
    reply::add_vary(response, "Origin");
    let headers = response.headers_mut();
    headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, origin);
    let exposed =
        "X-Request-Id,Retry-After,X-RateLimit-Limit,X-RateLimit-Remaining,X-RateLimit-Reset";
    headers.insert(ACCESS_CONTROL_EXPOSE_HEADERS, HeaderValue::from_static(exposed));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn allowed(origins: &[&'static str], list: &[&str]) -> bool {
        let mut headers = HeaderMap::new();
        for origin in origins {
            headers.append(ORIGIN, HeaderValue::from_static(origin));
        }
        is_allowed(&headers, &list.iter().map(ToString::to_string).collect::<Vec<_>>())
    }

    #[test]
    fn an_origin_must_equal_a_listed_one() {
        let list = ["https://app.example.com"];
        assert!(allowed(&["https://app.example.com"], &list));
        assert!(allowed(&[], &list));
        assert!(allowed(&["https://anything.example"], &[]));
        for other in [
            "https://app.example.com.evil.io",
            "http://app.example.com",
            "https://app.example.com:8443",
            "null",
        ] {
            assert!(!allowed(&[other], &list), "{other}");
        }
        assert!(!allowed(&["https://app.example.com", "https://app.example.com"], &list));
    }
}
