//! Where traces go: the standard variables of OpenTelemetry, as far as they concern this server.

use std::time::Duration;

use url::Url;

use crate::values::percent::percent_decode;

#[derive(Debug, Clone, PartialEq)]
pub struct TraceSettings {
    /// Where spans are posted.
    pub url: String,
    /// Sent along, such as a credential of the collector.
    pub headers: Vec<(String, String)>,
    /// The name under which spans are found.
    pub service: String,
    /// The share of traces that begin here and are recorded.
    pub ratio: f64,
    /// How long a span waits for others to be sent with.
    pub delay: Duration,
}

impl TraceSettings {
    /// None unless an endpoint is named.
    pub(super) fn read(env: &dyn Fn(&str) -> Option<String>) -> Result<Option<Self>, String> {
        let find =
            |name: &str| env(name).map(|text| text.trim().to_owned()).filter(|t| !t.is_empty());
        if find("OTEL_SDK_DISABLED").is_some_and(|text| text.eq_ignore_ascii_case("true")) {
            return Ok(None);
        }
        let (whole, base) = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT");
        let url = match (find(whole), find(base)) {
            (Some(url), _) => address(whole, &url)?,
            (None, Some(url)) => {
                format!("{}/v1/traces", address(base, &url)?.trim_end_matches('/'))
            }
            (None, None) => return Ok(None),
        };
        for name in ["OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL"] {
            if let Some(other) = find(name).filter(|text| text != "http/json") {
                return Err(format!("{name}: `{other}` is not spoken here, only http/json"));
            }
        }
        let headers = find("OTEL_EXPORTER_OTLP_TRACES_HEADERS")
            .or_else(|| find("OTEL_EXPORTER_OTLP_HEADERS"))
            .map_or_else(|| Ok(Vec::new()), |text| parse_headers(&text))?;
        let service = find("OTEL_SERVICE_NAME").unwrap_or_else(|| "townhall".to_owned());
        let (ratio, delay) = (ratio(&find)?, delay(&find)?);
        Ok(Some(TraceSettings { url, headers, service, ratio, delay }))
    }
}

fn address(name: &str, url: &str) -> Result<String, String> {
    let parsed = Url::parse(url).ok().filter(|url| matches!(url.scheme(), "http" | "https"));
    match parsed.filter(Url::has_host) {
        Some(_) => Ok(url.to_owned()),
        None => Err(format!("{name}: `{url}` is no address such as http://127.0.0.1:4318")),
    }
}

/// `name=value,other=value`, values with percent-encoding.
fn parse_headers(text: &str) -> Result<Vec<(String, String)>, String> {
    // Without the text: it holds credentials.
    let wrong = || "OTEL_EXPORTER_OTLP_HEADERS: must be name=value,…".to_owned();
    let pairs = text.split(',').map(|pair| {
        let (name, value) = pair.split_once('=').ok_or_else(wrong)?;
        let value = percent_decode(value.trim(), false).ok_or_else(wrong)?.into_owned();
        let name = name.trim().to_ascii_lowercase();
        let fits = http::HeaderName::try_from(&name).is_ok()
            && http::HeaderValue::try_from(&value).is_ok();
        if fits { Ok((name, value)) } else { Err(wrong()) }
    });
    pairs.collect()
}

fn ratio(find: &dyn Fn(&str) -> Option<String>) -> Result<f64, String> {
    let sampler = find("OTEL_TRACES_SAMPLER").unwrap_or_else(|| "parentbased_always_on".to_owned());
    match sampler.as_str() {
        "always_on" | "parentbased_always_on" => Ok(1.0),
        "always_off" | "parentbased_always_off" => Ok(0.0),
        "traceidratio" | "parentbased_traceidratio" => {
            let text = find("OTEL_TRACES_SAMPLER_ARG").unwrap_or_else(|| "1".to_owned());
            let ratio = text.parse().ok().filter(|ratio| (0.0..=1.0).contains(ratio));
            ratio.ok_or_else(|| format!("OTEL_TRACES_SAMPLER_ARG: `{text}` must be from 0 to 1"))
        }
        other => Err(format!("OTEL_TRACES_SAMPLER: `{other}` is not known here")),
    }
}

fn delay(find: &dyn Fn(&str) -> Option<String>) -> Result<Duration, String> {
    let text = find("OTEL_BSP_SCHEDULE_DELAY").unwrap_or_else(|| "5000".to_owned());
    let wrong = || format!("OTEL_BSP_SCHEDULE_DELAY: `{text}` must be a number of milliseconds");
    text.parse::<u32>().map(|millis| Duration::from_millis(millis.into())).map_err(|_| wrong())
}

#[cfg(test)]
mod tests {
    use crate::config::tests::load;

    const ENDPOINT: (&str, &str) = ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://collector:4318/");

    #[test]
    fn traces_are_off_unless_an_endpoint_is_named() {
        let traces = |env: &[(&str, &str)]| load(&[], env).unwrap().traces;
        assert_eq!(traces(&[]), None);
        assert_eq!(traces(&[ENDPOINT, ("OTEL_SDK_DISABLED", "true")]), None);
        let plain = traces(&[ENDPOINT]).unwrap();
        assert_eq!(plain.url, "http://collector:4318/v1/traces");
        assert_eq!((plain.service.as_str(), plain.ratio), ("townhall", 1.0));
        let full = traces(&[
            ENDPOINT,
            ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "https://other/spans"),
            ("OTEL_EXPORTER_OTLP_HEADERS", "Authorization=Bearer%20x, b=2"),
            ("OTEL_EXPORTER_OTLP_PROTOCOL", "http/json"),
            ("OTEL_TRACES_SAMPLER", "traceidratio"),
            ("OTEL_TRACES_SAMPLER_ARG", "0.1"),
            ("OTEL_SERVICE_NAME", "forum"),
        ]);
        let full = full.unwrap();
        assert_eq!((full.url.as_str(), full.service.as_str()), ("https://other/spans", "forum"));
        assert_eq!(full.ratio, 0.1);
        let [first, second] = full.headers.try_into().unwrap();
        assert_eq!(first, ("authorization".to_owned(), "Bearer x".to_owned()));
        assert_eq!(second, ("b".to_owned(), "2".to_owned()));
    }

    #[test]
    fn a_wrong_variable_is_named() {
        for (name, value) in [
            ("OTEL_EXPORTER_OTLP_ENDPOINT", "collector:4318"),
            ("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc"),
            ("OTEL_EXPORTER_OTLP_HEADERS", "no value"),
            ("OTEL_TRACES_SAMPLER", "mine"),
            ("OTEL_BSP_SCHEDULE_DELAY", "soon"),
        ] {
            let error = load(&[], &[(name, value), ENDPOINT]).unwrap_err();
            assert!(error.contains(name) && !error.contains('\n'), "{error}");
        }
    }
}
