//! A URL to call, checked by its text: HTTP or HTTPS, no credentials, no obfuscated IP address. Its addresses
//! are checked after resolving.

use std::net::{IpAddr, Ipv4Addr};

use http::Uri;
use url::{Host, Url};

use super::Failure;

const MAX_LENGTH: usize = 2048;
/// Web ports. Others would let callers probe arbitrary services.
const PORTS: [u16; 4] = [80, 443, 8080, 8443];

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target(Url);

impl Target {
    pub fn parse(text: &str) -> Result<Target, Failure> {
        if text.len() > MAX_LENGTH {
            return Err(Failure::Url("The address is too long"));
        }
        // The parser would drop these silently, so that two texts would be the same URL.
        if text.contains(|c: char| c.is_ascii_control() || c == ' ') {
            return Err(Failure::Url("The address holds characters that no address may"));
        }
        let mut url = Url::parse(text).map_err(|_| Failure::Url("This is no absolute address"))?;
        if !matches!(url.scheme(), "http" | "https") {
            return Err(Failure::Url("Only http and https addresses are called"));
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(Failure::Url("An address must not hold a user name or password"));
        }
        if let Some(Host::Ipv4(address)) = url.host()
            && !is_plain_quad(text, address)
        {
            return Err(Failure::Blocked);
        }
        url.set_fragment(None);
        Ok(Target(url))
    }

    /// The target of a redirect. The parser turns obfuscated addresses into plain ones, which are then
    /// checked.
    pub(super) fn join(&self, location: &str) -> Result<Target, Failure> {
        let joined = self.0.join(location).map_err(|_| Failure::Url("This is no address"))?;
        Target::parse(joined.as_str())
    }

    pub fn url(&self) -> &Url {
        &self.0
    }

    pub(super) fn is_tls(&self) -> bool {
        self.0.scheme() == "https"
    }

    pub(super) fn port(&self) -> u16 {
        self.0.port_or_known_default().unwrap_or_default()
    }

    pub(super) fn has_web_port(&self) -> bool {
        PORTS.contains(&self.port())
    }

    /// The address, if the text contains it: a literal, or a name that always means this machine.
    pub(super) fn literal(&self) -> Option<IpAddr> {
        match self.0.host()? {
            Host::Ipv4(address) => Some(address.into()),
            Host::Ipv6(address) => Some(address.into()),
            Host::Domain(name) => {
                let name = name.trim_end_matches('.');
                let local = name == "localhost" || name.ends_with(".localhost");
                local.then_some(Ipv4Addr::LOCALHOST.into())
            }
        }
    }

    /// As the `Host` header has it: a port only where it is not the scheme's own.
    pub(super) fn authority(&self) -> String {
        let host = self.0.host_str().unwrap_or_default();
        self.0.port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"))
    }

    pub(super) fn path_and_query(&self) -> Result<Uri, Failure> {
        let text = self
            .0
            .query()
            .map_or_else(|| self.0.path().to_owned(), |query| format!("{}?{query}", self.0.path()));
        text.parse().map_err(|_| Failure::Url("This is no address"))
    }
}

/// Whether the host is written as four decimal numbers. Other spellings (`0x7f.1`, `2130706433`, `0177.1`)
/// have no legitimate use.
fn is_plain_quad(text: &str, address: Ipv4Addr) -> bool {
    let after_scheme = text.split_once("//").map_or("", |(_, rest)| rest);
    after_scheme
        .strip_prefix(&address.to_string())
        .is_some_and(|rest| rest.is_empty() || rest.starts_with([':', '/', '?', '#']))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_web_addresses_are_taken() {
        for (text, url) in [
            ("http://example.com", "http://example.com/"),
            ("HTTPS://Example.com:443/a?b=c#d", "https://example.com/a?b=c"),
            ("https://bücher.example/ü", "https://xn--bcher-kva.example/%C3%BC"),
            ("http://8.8.8.8:8080/", "http://8.8.8.8:8080/"),
            ("http://[2606:4700::1111]/", "http://[2606:4700::1111]/"),
        ] {
            assert_eq!(Target::parse(text).unwrap().url().as_str(), url);
        }
    }

    #[test]
    fn other_schemes_credentials_and_junk_are_no_address() {
        let long = format!("http://example.com/{}", "x".repeat(MAX_LENGTH));
        for text in [
            "",
            "example.com",
            "//example.com",
            "/path",
            "file:///etc/passwd",
            "gopher://example.com",
            "ftp://example.com",
            "javascript:alert(1)",
            "data:text/html,x",
            "http://u:p@example.com",
            "http://u@example.com",
            "http://",
            "http://exa mple.com",
            "http://example.com/a\r\nHost: b",
            "http://example.com:99999",
            "http://[::1",
            &long,
        ] {
            assert!(matches!(Target::parse(text), Err(Failure::Url(_))), "{text}");
        }
    }

    #[test]
    fn a_number_in_disguise_is_refused() {
        for host in [
            "2130706433",
            "0x7f.1",
            "0177.1",
            "127.1",
            "0x7f000001",
            "017700000001",
            "127.0.0.1.",
            "134744072",
            "%31%32%37.0.0.1",
            "１２７.0.0.1",
        ] {
            let text = format!("http://{host}:8080/");
            assert!(matches!(Target::parse(&text), Err(Failure::Blocked)), "{text}");
        }
    }

    #[test]
    fn a_redirect_is_read_against_where_it_came_from() {
        let target = Target::parse("https://example.com/a/b?c").unwrap();
        for (location, url) in [
            ("d", "https://example.com/a/d"),
            ("/d#e", "https://example.com/d"),
            ("//other.example", "https://other.example/"),
            ("http://0x7f.1/", "http://127.0.0.1/"),
        ] {
            assert_eq!(target.join(location).unwrap().url().as_str(), url);
        }
        assert!(target.join("file:///etc/passwd").is_err());
    }
}
