//! The address that links and addresses of files begin with.

use std::net::SocketAddr;

use url::Url;

use crate::config::source::Sources;
use crate::config::{Config, Setting, Source};

impl Config {
    /// Without a public address, links would name one that cannot be opened: the server listens on all
    /// addresses.
    pub fn lacks_public_url(&self) -> bool {
        self.listen.ip().is_unspecified() && self.has_default_public_url()
    }

    /// The server listens here: at the port that the system chose when the settings name port 0.
    pub fn listens_on(&mut self, address: SocketAddr) {
        self.listen = address;
        if self.has_default_public_url() {
            self.public_url = default(address);
        }
    }

    fn has_default_public_url(&self) -> bool {
        let is_default = |setting: &Setting| {
            setting.variable == "TOWNHALL_PUBLIC_URL" && setting.source == Source::Default
        };
        self.settings.iter().any(is_default)
    }
}

pub(super) fn read(from: &mut Sources<'_>, listen: SocketAddr) -> Result<String, String> {
    from.parse("public_url", &default(listen), base)
}

fn default(listen: SocketAddr) -> String {
    format!("http://{listen}")
}

/// A base URL: no slash at the end.
fn base(text: &str) -> Result<String, String> {
    let parsed = Url::parse(text).ok().filter(|url| {
        let names_a_host = text.split_once("://").is_some_and(|(_, rest)| !rest.starts_with('/'));
        let is_bare = url.query().is_none() && url.fragment().is_none();
        let is_anonymous = url.username().is_empty() && url.password().is_none();
        matches!(url.scheme(), "http" | "https") && names_a_host && is_bare && is_anonymous
    });
    let wrong = "must be an address such as https://community.example, with nothing after its path";
    parsed.map(|url| url.as_str().trim_end_matches('/').to_owned()).ok_or_else(|| wrong.to_owned())
}

#[cfg(test)]
mod tests {
    use crate::config::tests::load;

    #[test]
    fn a_public_url_is_one_that_links_can_begin_with() {
        for (given, used) in [
            ("https://community.example/", "https://community.example"),
            ("http://localhost:8484", "http://localhost:8484"),
            ("https://example.com/forum//", "https://example.com/forum"),
            ("http://[::1]:80", "http://[::1]"),
        ] {
            assert_eq!(load(&[], &[("TOWNHALL_PUBLIC_URL", given)]).unwrap().public_url, used);
        }
        for wrong in [
            "community.example",
            "localhost:8484",
            "//community.example",
            "ftp://community.example",
            "https://",
            "https:///path",
            "https://community.example?x=1",
            "https://community.example#x",
            "https://me@community.example",
            "",
        ] {
            let error = load(&[], &[("TOWNHALL_PUBLIC_URL", wrong)]).unwrap_err();
            assert!(error.starts_with("TOWNHALL_PUBLIC_URL: "), "{wrong}: {error}");
        }
    }

    #[test]
    fn a_server_on_all_addresses_lacks_a_public_one_until_it_is_named() {
        let lacks = |env: &[(&str, &str)]| load(&[], env).unwrap().lacks_public_url();
        assert!(lacks(&[("PORT", "9000")]));
        assert!(lacks(&[("TOWNHALL_LISTEN", "[::]:80")]));
        assert!(!lacks(&[]));
        assert!(!lacks(&[("PORT", "9000"), ("TOWNHALL_PUBLIC_URL", "https://a.example")]));
    }

    #[test]
    fn the_default_names_the_port_that_the_system_chose() {
        let url = |named: &[(&str, &str)]| {
            let port = [("TOWNHALL_LISTEN", "127.0.0.1:0")];
            let mut config = load(&[], &[&port, named].concat()).unwrap();
            config.listens_on("127.0.0.1:4711".parse().unwrap());
            config.public_url
        };
        assert_eq!(url(&[]), "http://127.0.0.1:4711");
        assert_eq!(url(&[("TOWNHALL_PUBLIC_URL", "https://a.example")]), "https://a.example");
    }
}
