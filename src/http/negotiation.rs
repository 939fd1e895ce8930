//! What a client accepts and what it already has: `Accept-Encoding` and `If-None-Match` as RFC 9110 defines
//! them. Malformed parts of these headers are ignored.

use http::header::{ACCEPT_ENCODING, IF_NONE_MATCH};
use http::{HeaderMap, HeaderValue};

/// A content coding.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Coding {
    Zstd,
    Brotli,
    Gzip,
}

impl Coding {
    /// The most preferred first: what zstd saves is at least what the others save, in less time.
    pub const ALL: [Coding; 3] = [Coding::Zstd, Coding::Brotli, Coding::Gzip];

    pub const fn name(self) -> &'static str {
        match self {
            Coding::Zstd => "zstd",
            Coding::Brotli => "br",
            Coding::Gzip => "gzip",
        }
    }

    fn named(name: &str) -> Option<Self> {
        let name = if name.eq_ignore_ascii_case("x-gzip") { "gzip" } else { name };
        Coding::ALL.into_iter().find(|coding| coding.name().eq_ignore_ascii_case(name))
    }
}

/// The client's `Accept-Encoding` and `If-None-Match`.
#[derive(Debug, Default)]
pub struct Negotiation {
    accepted: Accepted,
    held: Vec<HeaderValue>,
}

/// Weights in thousandths, as far as the client names them.
#[derive(Debug, Default)]
struct Accepted {
    codings: [Option<u16>; Coding::ALL.len()],
    identity: Option<u16>,
    any: Option<u16>,
}

impl Negotiation {
    pub fn of(headers: &HeaderMap) -> Self {
        let mut accepted = Accepted::default();
        let lines = headers.get_all(ACCEPT_ENCODING).into_iter();
        let lines = lines.filter_map(|line| line.to_str().ok());
        lines.flat_map(|line| line.split(',')).for_each(|item| accepted.add(item));
        let held = headers.get_all(IF_NONE_MATCH).into_iter().cloned().collect();
        Negotiation { accepted, held }
    }

    /// The offered coding with the highest weight, the first of equal ones; `None` if the client accepts
    /// none of them or prefers no coding at all. A client that refuses everything gets the reply without a
    /// coding.
    pub fn choose(&self, offered: &[Coding]) -> Option<Coding> {
        let accepted = &self.accepted;
        let mut best = None;
        let mut highest = accepted.identity.unwrap_or(0).max(1);
        for coding in offered {
            let weight = accepted.codings[*coding as usize].or(accepted.any).unwrap_or(0);
            if weight > highest || (best.is_none() && weight == highest) {
                (best, highest) = (Some(*coding), weight);
            }
        }
        best
    }

    /// Whether the client has the reply with this tag. Weak comparison: what lies between may have weakened
    /// a tag by recoding the reply.
    pub fn has(&self, tag: &str) -> bool {
        let lines = self.held.iter().filter_map(|line| line.to_str().ok()).map(str::trim);
        let is_tag = |held: &str| held.strip_prefix("W/").unwrap_or(held) == tag;
        // A `*` among others may be part of a tag.
        lines.into_iter().any(|line| line == "*" || line.split(',').map(str::trim).any(is_tag))
    }
}

impl Accepted {
    /// An item of the list, `gzip;q=0.5`. The first one of a name counts.
    fn add(&mut self, item: &str) {
        let mut parts = item.split(';').map(str::trim);
        let name = parts.next().unwrap_or_default();
        let slot = match Coding::named(name) {
            Some(coding) => &mut self.codings[coding as usize],
            None if name == "*" => &mut self.any,
            None if name.eq_ignore_ascii_case("identity") => &mut self.identity,
            None => return,
        };
        let weight = parts.find_map(|parameter| {
            let (name, value) = parameter.split_once('=')?;
            name.trim().eq_ignore_ascii_case("q").then(|| value.trim())
        });
        // An item with a malformed weight is treated as if it was not there, `*` included.
        if let Some(weight) = weight.map_or(Some(1000), thousandths) {
            slot.get_or_insert(weight);
        }
    }
}

/// `0.25` as 250; `None` for anything but a number from 0 to 1 with at most three decimals.
fn thousandths(weight: &str) -> Option<u16> {
    let (whole, decimals) = weight.split_once('.').unwrap_or((weight, ""));
    let is_number = decimals.len() <= 3 && decimals.bytes().all(|byte| byte.is_ascii_digit());
    if !is_number || !["0", "1"].contains(&whole) {
        return None;
    }
    let weight = format!("{whole}{decimals:0<3}").parse().ok()?;
    (weight <= 1000).then_some(weight)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asking(name: http::HeaderName, lines: &[&str]) -> Negotiation {
        let mut headers = HeaderMap::new();
        for line in lines {
            headers.append(name.clone(), HeaderValue::from_bytes(line.as_bytes()).unwrap());
        }
        Negotiation::of(&headers)
    }

    fn chosen(lines: &[&str], offered: &[Coding]) -> &'static str {
        asking(ACCEPT_ENCODING, lines).choose(offered).map_or("-", Coding::name)
    }

    #[test]
    fn the_coding_with_the_highest_weight_is_chosen() {
        for (accepted, expected) in [
            ("gzip, deflate, br, zstd", "zstd"),
            ("gzip, deflate, br", "br"),
            ("gzip, deflate", "gzip"),
            ("x-gzip", "gzip"),
            ("GZip", "gzip"),
            ("gzip;q=1.0, br;q=0.9, zstd;q=0.8", "gzip"),
            ("zstd;q=0.5, br;q=0.501", "br"),
            ("zstd ; Q=0.001", "zstd"),
            ("gzip;level=9;q=0.7, br;q=0.6", "gzip"),
            ("*", "zstd"),
            ("*;q=0.1, gzip;q=0.2", "gzip"),
            ("zstd;q=0, *", "br"),
            ("zstd;q=0, br;q=0.0, gzip;q=0.000, *", "-"),
            ("gzip, *;q=0", "gzip"),
            ("*;q=0", "-"),
            ("identity", "-"),
            ("identity;q=0", "-"),
            ("identity;q=0, gzip;q=0.1", "gzip"),
            ("gzip;q=0.5, identity;q=0.5", "gzip"),
            ("gzip;q=0.2, identity;q=0.9", "-"),
            ("zstd;q=0.2, gzip;q=0.9, identity;q=0.5", "gzip"),
            ("gzip;q=0, gzip;q=1", "-"),
            ("deflate, compress", "-"),
            ("", "-"),
        ] {
            assert_eq!(chosen(&[accepted], &Coding::ALL), expected, "{accepted}");
        }
        assert_eq!(chosen(&[], &Coding::ALL), "-");
        assert_eq!(chosen(&["gzip;q=0.5", "br"], &Coding::ALL), "br");
        assert_eq!(chosen(&["gzip, br, zstd"], &[Coding::Gzip]), "gzip");
        assert_eq!(chosen(&["br, zstd"], &[Coding::Gzip]), "-");
        assert_eq!(chosen(&["gzip"], &[]), "-");
    }

    #[test]
    fn malformed_parts_are_ignored() {
        for (accepted, expected) in [
            ("gzip;q=much", "-"),
            ("gzip;q=1.5", "-"),
            ("gzip;q=-1", "-"),
            ("gzip;q=0.1234", "-"),
            ("gzip;q=1e-3", "-"),
            ("gzip;q=", "-"),
            ("gzip;q=.5", "-"),
            ("gzip;q=2, gzip", "gzip"),
            ("zstd;q=x, br", "br"),
            (",,gzip,,", "gzip"),
            (";q=1, gzip", "gzip"),
            ("gz ip, zst\u{e4}d", "-"),
        ] {
            assert_eq!(chosen(&[accepted], &Coding::ALL), expected, "{accepted}");
        }
        assert_eq!(chosen(&["\u{e4}, br", "gzip"], &Coding::ALL), "gzip");
    }

    #[test]
    fn a_held_tag_is_found_in_every_form() {
        let has = |lines: &[&str]| asking(IF_NONE_MATCH, lines).has("\"a\"");
        for held in ["\"a\"", "W/\"a\"", "\"b\", \"a\"", "\"b\",W/\"a\" ", "*", " * "] {
            assert!(has(&[held]), "{held}");
        }
        assert!(has(&["\"b\"", "\"a\""]));
        for held in ["a", "\"A\"", "\"aa\"", "w/\"a\"", "", "\"b,*,c\"", "\"b\", *", "\u{e4}"] {
            assert!(!has(&[held]), "{held}");
        }
        assert!(!has(&[]));
    }
}
