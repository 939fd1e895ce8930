//! Models outside that search may use, by addresses of the OpenAI API that the operator names. None is needed.

use super::source::Sources;
use super::switch;

/// How near two texts seem to a model that have nothing to do with each other.
const UNRELATED: &str = "0.3";

#[derive(Debug, Clone)]
pub struct Models {
    /// Makes vectors of meaning from texts.
    pub embeddings: Option<Model>,
    /// Texts with a cosine up to this one count as unrelated.
    pub unrelated: f32,
    /// Answers questions.
    pub answers: Option<Model>,
    /// Whether models may read messages.
    pub read_messages: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Model {
    /// The whole address that is posted to.
    pub url: String,
    pub key: Option<String>,
    pub name: String,
}

impl Models {
    pub(super) fn read(from: &mut Sources<'_>) -> Result<Self, String> {
        Ok(Models {
            embeddings: model(from, ["embeddings_url", "embeddings_key", "embeddings_model"])?,
            unrelated: from.parse("embeddings_unrelated", UNRELATED, |text| {
                let number: Option<f32> = text.parse().ok();
                let number = number.filter(|number| (-1.0..1.0).contains(number));
                number.ok_or_else(|| "must be a number from -1 to below 1".to_owned())
            })?,
            answers: model(from, ["answers_url", "answers_key", "answers_model"])?,
            read_messages: from.parse("models_read_messages", "off", switch)?,
        })
    }
}

fn model(from: &mut Sources<'_>, names: [&'static str; 3]) -> Result<Option<Model>, String> {
    let [url, key, name] = names;
    let variable = |name: &str| format!("TOWNHALL_{}", name.to_uppercase());
    let address = from.parse(url, "", |text| {
        let parsed = url::Url::parse(text).ok().filter(url::Url::has_host);
        match parsed.filter(|url| matches!(url.scheme(), "http" | "https")) {
            _ if text.is_empty() => Ok(None),
            Some(_) => Ok(Some(text.to_owned())),
            None => Err("is no address such as https://api.example/v1/embeddings".to_owned()),
        }
    })?;
    let (key, named) = (from.optional(key)?, from.optional(name)?);
    match (address, named) {
        (Some(url), Some(name)) => Ok(Some(Model { url, key, name })),
        (Some(_), None) => Err(format!("{} needs a {}", variable(url), variable(name))),
        (None, Some(_)) => Err(format!("{} needs a {}", variable(name), variable(url))),
        (None, None) => Ok(None),
    }
}

#[cfg(test)]
mod tests {
    use crate::config::tests::load;

    const URL: (&str, &str) = ("TOWNHALL_EMBEDDINGS_URL", "http://127.0.0.1:11434/v1/embeddings");
    const MODEL: (&str, &str) = ("TOWNHALL_EMBEDDINGS_MODEL", "small");
    const KEY: (&str, &str) = ("TOWNHALL_EMBEDDINGS_KEY", "hunter2");

    #[test]
    fn a_model_needs_an_address_and_a_name() {
        let none = load(&[], &[]).unwrap().models;
        assert!(none.embeddings.is_none() && none.answers.is_none() && !none.read_messages);
        let config = load(&[], &[URL, MODEL, KEY]).unwrap();
        let model = config.models.embeddings.unwrap();
        assert_eq!((model.url.as_str(), model.name.as_str()), (URL.1, "small"));
        assert_eq!(model.key.as_deref(), Some("hunter2"));
        let shown = config.settings.iter().find(|setting| setting.variable == KEY.0).unwrap();
        assert_eq!(shown.value, "****");
        for (given, named) in [
            (&[URL][..], MODEL.0),
            (&[MODEL], URL.0),
            (
                &[("TOWNHALL_ANSWERS_URL", "models.example"), ("TOWNHALL_ANSWERS_MODEL", "x")],
                "ANSWERS_URL",
            ),
            (&[("TOWNHALL_EMBEDDINGS_UNRELATED", "1")], "UNRELATED"),
        ] {
            let error = load(&[], given).unwrap_err();
            assert!(error.contains(named) && !error.contains('\n'), "{error}");
        }
    }
}
