//! `traceparent`, as W3C Trace Context has it: which trace a request belongs to.

use http::HeaderMap;

use crate::values::random::{Random, hex};

/// The trace of a request, and the span in it that this server records.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Context {
    pub trace: String,
    pub span: String,
    pub parent: Option<String>,
}

/// What a caller says about its trace.
#[derive(Debug, PartialEq, Eq)]
struct Caller {
    trace: String,
    span: String,
    is_sampled: bool,
}

/// None if the request is not to be recorded: its caller says so, or it is not in the sample.
pub(super) fn begin(headers: &HeaderMap, random: &Random, ratio: f64) -> Option<Context> {
    let span = hex(&random.bytes::<8>());
    match caller(headers) {
        Some(caller) if !caller.is_sampled => None,
        Some(caller) => Some(Context { trace: caller.trace, span, parent: Some(caller.span) }),
        None => {
            let id = random.bytes::<16>();
            let [.., a, b, c, d] = id;
            let is_in = f64::from(u32::from_be_bytes([a, b, c, d])) < ratio * f64::from(u32::MAX);
            (is_in || ratio >= 1.0).then(|| Context { trace: hex(&id), span, parent: None })
        }
    }
}

/// A header that is not well formed counts as none.
fn caller(headers: &HeaderMap) -> Option<Caller> {
    let mut values = headers.get_all("traceparent").into_iter();
    let (value, None) = (values.next()?, values.next()) else { return None };
    let mut parts = value.to_str().ok()?.trim().split('-');
    let (version, trace, span, flags) =
        (parts.next()?, parts.next()?, parts.next()?, parts.next()?);
    let is_hex = |text: &str, length: usize| {
        let fits = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
        text.len() == length && text.bytes().all(fits)
    };
    let is_id = |text: &str, length| is_hex(text, length) && text.bytes().any(|byte| byte != b'0');
    // Later versions may add parts at the end.
    let is_known =
        is_hex(version, 2) && version != "ff" && (version != "00" || parts.next().is_none());
    if !is_known || !is_id(trace, 32) || !is_id(span, 16) || !is_hex(flags, 2) {
        return None;
    }
    let is_sampled = u8::from_str_radix(flags, 16).ok()? & 1 == 1;
    Some(Caller { trace: trace.to_owned(), span: span.to_owned(), is_sampled })
}

#[cfg(test)]
mod tests {
    use super::*;

    const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";
    const SPAN: &str = "00f067aa0ba902b7";

    fn with(values: &[&str]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for value in values {
            headers.append("traceparent", value.parse().unwrap());
        }
        headers
    }

    #[test]
    fn a_request_continues_its_callers_trace() {
        let random = Random::seeded(1);
        let headers = with(&[&format!("00-{TRACE}-{SPAN}-01")]);
        let context = begin(&headers, &random, 0.0).unwrap();
        assert_eq!((context.trace.as_str(), context.parent.as_deref()), (TRACE, Some(SPAN)));
        assert_eq!(context.span.len(), 16);
        assert_ne!(context.span, SPAN);
        assert_eq!(begin(&with(&[&format!("00-{TRACE}-{SPAN}-00")]), &random, 1.0), None);
        let later = with(&[&format!("01-{TRACE}-{SPAN}-01-more")]);
        assert_eq!(begin(&later, &random, 1.0).unwrap().trace, TRACE);
    }

    #[test]
    fn what_is_not_well_formed_begins_a_trace_of_its_own() {
        let random = Random::seeded(1);
        let zeros = "0".repeat(32);
        for wrong in [
            String::new(),
            format!("00-{TRACE}-{SPAN}"),
            format!("00-{TRACE}-{SPAN}-01-more"),
            format!("ff-{TRACE}-{SPAN}-01"),
            format!("00-{zeros}-{SPAN}-01"),
            format!("00-{}-{SPAN}-01", TRACE.to_uppercase()),
            format!("00-{TRACE}-{}-01", &zeros[..16]),
            format!("00-{TRACE}-{SPAN}-x1"),
        ] {
            let context = begin(&with(&[&wrong]), &random, 1.0).unwrap();
            assert_eq!((context.trace == TRACE, context.parent), (false, None), "{wrong}");
        }
        let twice = format!("00-{TRACE}-{SPAN}-01");
        assert_eq!(begin(&with(&[&twice, &twice]), &random, 1.0).unwrap().parent, None);
    }

    #[test]
    fn a_sample_is_about_as_large_as_it_should_be() {
        let random = Random::seeded(1);
        let none = HeaderMap::new();
        let taken = |ratio| (0..1000).filter(|_| begin(&none, &random, ratio).is_some()).count();
        assert_eq!((taken(0.0), taken(1.0)), (0, 1000));
        assert!((200..300).contains(&taken(0.25)));
    }
}
