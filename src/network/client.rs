//! The client of a request: its address behind trusted proxies, and the request id.

use std::net::{IpAddr, Ipv6Addr};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use http::HeaderMap;

use crate::values::cidr::{Cidr, wide};
use crate::values::random::{Random, hex};

/// The other end of a connection, as far as requests depend on it.
#[derive(Debug)]
pub struct Peer {
    pub address: IpAddr,
    /// All regular slots are taken: only health checks are served.
    pub is_in_reserve: bool,
    body_left: AtomicBool,
}

impl Peer {
    pub fn new(address: IpAddr, is_in_reserve: bool) -> Self {
        Peer { address, is_in_reserve, body_left: AtomicBool::new(false) }
    }

    pub fn request_begins(&self, has_body: bool) {
        self.body_left.store(has_body, Ordering::Relaxed);
    }

    pub fn body_was_read(&self) {
        self.body_left.store(false, Ordering::Relaxed);
    }

    /// Bytes of the last request are still to come: nothing after them is a request.
    pub fn has_body_left(&self) -> bool {
        self.body_left.load(Ordering::Relaxed)
    }
}

pub fn is_trusted(address: IpAddr, trusted: &[Cidr]) -> bool {
    let address = address.to_canonical();
    trusted.iter().any(|block| block.contains(address))
}

/// The client's address. Forwarding headers are trusted only from trusted proxies, and read from the right:
/// the first address that is not a trusted proxy is the client.
pub fn address(peer: IpAddr, headers: &HeaderMap, trusted: &[Cidr]) -> IpAddr {
    let peer = peer.to_canonical();
    if !is_trusted(peer, trusted) {
        return peer;
    }
    let mut client = peer;
    for hop in forwarded_for(headers).iter().rev() {
        let Some(address) = parse_hop(hop) else { break };
        client = address;
        if !is_trusted(address, trusted) {
            break;
        }
    }
    client
}

/// All hops, oldest first: `X-Forwarded-For`, or else the `for=` parts of `Forwarded`.
fn forwarded_for(headers: &HeaderMap) -> Vec<&str> {
    let values = |name: &str| {
        let lines = headers.get_all(name).into_iter().filter_map(|value| value.to_str().ok());
        lines.flat_map(|line| line.split(',')).map(str::trim).collect::<Vec<_>>()
    };
    let plain = values("x-forwarded-for");
    if !plain.is_empty() {
        return plain;
    }
    let mut hops = Vec::new();
    for element in values("forwarded") {
        let mut parts = element.split(';').map(str::trim);
        let hop = parts.find_map(|part| {
            part.split_once('=').filter(|(key, _)| key.eq_ignore_ascii_case("for"))
        });
        hops.extend(hop.map(|(_, value)| value.trim_matches('"')));
    }
    hops
}

/// `1.2.3.4`, `1.2.3.4:80`, `::1`, `[::1]` or `[::1]:80`.
fn parse_hop(hop: &str) -> Option<IpAddr> {
    let bare = match hop.strip_prefix('[') {
        Some(rest) => rest.split(']').next()?,
        None if hop.matches(':').count() == 1 => hop.split(':').next()?,
        None => hop,
    };
    bare.parse::<IpAddr>().ok().map(|address| address.to_canonical())
}

/// The key of a limit: one IPv4 address, or the /64 of an IPv6 customer.
pub fn bucket(address: IpAddr) -> u128 {
    match address.to_canonical() {
        IpAddr::V4(v4) => wide(IpAddr::V4(v4)),
        IpAddr::V6(v6) => Ipv6Addr::to_bits(v6) >> 64 << 64,
    }
}

/// Request ids: a random prefix for the process, then a counter. They only tell requests apart, so they need
/// not be unguessable.
#[derive(Debug)]
pub struct RequestIds {
    process: String,
    next: AtomicU64,
}

impl RequestIds {
    pub fn new(random: &Random) -> Self {
        RequestIds { process: hex(&random.bytes::<6>()), next: AtomicU64::new(1) }
    }

    fn next(&self) -> String {
        format!("{}{:012x}", self.process, self.next.fetch_add(1, Ordering::Relaxed))
    }
}

/// The caller's `X-Request-Id` if it is short and plain, otherwise a new one.
pub fn request_id(headers: &HeaderMap, ids: &RequestIds) -> String {
    let sane = |id: &&str| {
        (1..=128).contains(&id.len())
            && id.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_.:".contains(&b))
    };
    let given = headers.get("x-request-id").and_then(|value| value.to_str().ok());
    given.filter(sane).map_or_else(|| ids.next(), ToOwned::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ip(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    fn client(peer: &str, header: &[(&'static str, &str)], trusted: &[&str]) -> IpAddr {
        let mut headers = HeaderMap::new();
        for (name, value) in header {
            headers.append(*name, value.parse().unwrap());
        }
        let trusted: Vec<Cidr> = trusted.iter().map(|block| block.parse().unwrap()).collect();
        address(ip(peer), &headers, &trusted)
    }

    #[test]
    fn forwarding_headers_of_strangers_are_ignored() {
        let forged = [("x-forwarded-for", "1.1.1.1"), ("forwarded", "for=1.1.1.1")];
        assert_eq!(client("9.9.9.9", &forged, &[]), ip("9.9.9.9"));
        assert_eq!(client("9.9.9.9", &forged, &["10.0.0.0/8"]), ip("9.9.9.9"));
    }

    #[test]
    fn the_rightmost_untrusted_hop_is_the_client() {
        let trusted = ["10.0.0.0/8"];
        let chain = [("x-forwarded-for", "1.1.1.1, 7.7.7.7")];
        assert_eq!(client("10.0.0.1", &chain, &trusted), ip("7.7.7.7"));
        let twice = [("x-forwarded-for", "1.1.1.1"), ("x-forwarded-for", "7.7.7.7, 10.0.0.2")];
        assert_eq!(client("10.0.0.1", &twice, &trusted), ip("7.7.7.7"));
        let standard = [("forwarded", "for=1.1.1.1, for=\"[2001:db8::7]:80\";proto=https")];
        assert_eq!(client("10.0.0.1", &standard, &trusted), ip("2001:db8::7"));
        assert_eq!(client("10.0.0.1", &[("x-forwarded-for", "junk")], &trusted), ip("10.0.0.1"));
        assert_eq!(client("::ffff:10.0.0.1", &chain, &trusted), ip("7.7.7.7"));
    }

    #[test]
    fn one_ipv6_network_is_one_bucket() {
        assert_eq!(bucket(ip("2001:db8:1:2::1")), bucket(ip("2001:db8:1:2:ffff::9")));
        assert_ne!(bucket(ip("2001:db8:1:2::1")), bucket(ip("2001:db8:1:3::1")));
        assert_ne!(bucket(ip("1.2.3.4")), bucket(ip("1.2.3.5")));
        assert_eq!(bucket(ip("::ffff:1.2.3.4")), bucket(ip("1.2.3.4")));
    }

    #[test]
    fn blocks_are_read_strictly() {
        assert!("10.0.0.0/8".parse::<Cidr>().unwrap().contains(ip("10.200.1.1")));
        assert!("0.0.0.0/0".parse::<Cidr>().unwrap().contains(ip("8.8.8.8")));
        assert!(!"0.0.0.0/0".parse::<Cidr>().unwrap().contains(ip("2001:db8::1")));
        assert!("::1".parse::<Cidr>().unwrap().contains(ip("::1")));
        for wrong in ["10.0.0.0/33", "x", "10.0.0.0/", "::/129"] {
            assert_eq!(wrong.parse::<Cidr>().is_err(), wrong != "10.0.0.0/", "{wrong}");
        }
    }

    #[test]
    fn only_sane_request_ids_are_kept() {
        let id_of = |value: &str| {
            let mut headers = HeaderMap::new();
            headers
                .insert("x-request-id", http::HeaderValue::from_bytes(value.as_bytes()).unwrap());
            request_id(&headers, &RequestIds::new(&Random::seeded(1)))
        };
        assert_eq!(id_of("abc-123"), "abc-123");
        assert_eq!(id_of("a b").len(), 24);
        assert_eq!(id_of(&"x".repeat(129)).len(), 24);
    }
}
