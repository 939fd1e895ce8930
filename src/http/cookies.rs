//! Cookies of a request.

use http::HeaderMap;
use http::header::COOKIE;

/// The value of a cookie; an empty one counts as none.
pub fn find(headers: &HeaderMap, name: &str) -> Option<String> {
    let lines = headers.get_all(COOKIE).into_iter().filter_map(|line| line.to_str().ok());
    let mut cookies = lines.flat_map(|line| line.split(';')).filter_map(|one| one.split_once('='));
    let found = cookies.find(|(cookie, _)| cookie.trim() == name);
    found.map(|(_, value)| value.trim().to_owned()).filter(|value| !value.is_empty())
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    #[test]
    fn the_cookie_is_found_among_others() {
        let mut headers = HeaderMap::new();
        headers.append(COOKIE, HeaderValue::from_static("a=1; refresh-P=x.y.z; refresh-Q=2"));
        headers.append(COOKIE, HeaderValue::from_static("late=3;empty="));
        assert_eq!(find(&headers, "refresh-P").as_deref(), Some("x.y.z"));
        assert_eq!(find(&headers, "late").as_deref(), Some("3"));
        for name in ["refresh", "empty", "x.y.z", ""] {
            assert_eq!(find(&headers, name), None, "{name}");
        }
    }
}
