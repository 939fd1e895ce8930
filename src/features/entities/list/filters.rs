//! The filters of a list of entities, parsed and validated. Pure: no database.

use serde_json::{Map, Value};

use crate::http::nested::{self, Node};

/// Longer texts are refused: searching every title costs time by the length.
const LONGEST_TEXT: usize = 256;
/// Maximum entries of a list in a filter.
const MAX_ENTRIES: usize = 100;
/// Maximum values of one pair in brackets.
const MAX_MEANINGS: usize = 16;

type Fault = String;

#[derive(Debug, Clone, Default, PartialEq)]
pub struct Filters {
    pub keywords: Words,
    pub title: TextFilter,
    pub content: TextFilter,
    pub has_attachments: Option<bool>,
    pub near: Option<Near>,
    pub metadata: MetadataFilter,
}

/// All of the first, none of the second.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Words {
    pub includes: Vec<String>,
    pub excludes: Vec<String>,
}

/// Any of the first, none of the second, as case-insensitive substrings.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct TextFilter {
    pub exists: Option<bool>,
    pub includes: Vec<String>,
    pub excludes: Vec<String>,
}

impl TextFilter {
    pub fn is_empty(&self) -> bool {
        *self == TextFilter::default()
    }
}

/// Within `radius` metres of a place.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Near {
    pub latitude: f64,
    pub longitude: f64,
    pub radius: f64,
}

/// A metadata pair: any of the values matches.
#[derive(Debug, Clone, PartialEq)]
pub struct Pair {
    pub key: String,
    pub values: Vec<Value>,
}

#[derive(Debug, Clone, Default, PartialEq)]
pub struct MetadataFilter {
    /// Every one of these pairs.
    pub includes: Vec<Pair>,
    /// Every pair of at least one of these.
    pub includes_any: Vec<Vec<Pair>>,
    /// None of these pairs.
    pub excludes: Vec<Pair>,
    pub exists: Vec<String>,
    pub does_not_exist: Vec<String>,
}

impl MetadataFilter {
    pub fn is_empty(&self) -> bool {
        *self == MetadataFilter::default()
    }
}

impl Filters {
    pub fn parse(query: &str) -> Result<Self, Fault> {
        Ok(Filters {
            keywords: read(query, "keywordsFilters", words)?,
            title: texts(query, "titleFilters", "hasTitle")?,
            content: texts(query, "contentFilters", "hasContent")?,
            has_attachments: read(query, "attachmentsFilters", |fields| {
                field(fields, "hasAttachments", Node::flag)
            })?,
            near: near_place(query)?,
            metadata: read(query, "metadataFilters", metadata)?,
        })
    }
}

/// A filter of texts in a query; `exists` is the name of the flag that asks for any text at all.
pub fn texts(query: &str, name: &str, exists: &str) -> Result<TextFilter, Fault> {
    read(query, name, |fields| text_filter(fields, exists))
}

/// The filter of places in a query.
pub fn near_place(query: &str) -> Result<Option<Near>, Fault> {
    read(query, "locationFilters", near)
}

type Fields<'a> = &'a [(String, Node)];

fn read<T: Default>(
    query: &str,
    name: &str,
    parse: impl Fn(Fields<'_>) -> Result<T, Fault>,
) -> Result<T, Fault> {
    let Some(node) = nested::object(query, name)? else {
        return Ok(T::default());
    };
    let fields = node.fields().map_err(|why| format!("{name} {why}"))?;
    parse(&fields).map_err(|why| format!("{name}.{why}"))
}

/// A field of a filter, if it is there.
fn field<T>(
    fields: Fields<'_>,
    name: &str,
    read: impl Fn(&Node) -> Result<T, &'static str>,
) -> Result<Option<T>, Fault> {
    let found = fields.iter().find(|(field, _)| field == name);
    found.map(|(_, node)| read(node).map_err(|why| format!("{name} {why}"))).transpose()
}

fn list(fields: Fields<'_>, name: &str) -> Result<Vec<String>, Fault> {
    let texts = field(fields, name, Node::texts)?.unwrap_or_default();
    bounded(texts.len(), name)?;
    if texts.iter().any(|text| text.len() > LONGEST_TEXT) {
        return Err(format!("{name} must hold texts of at most {LONGEST_TEXT} bytes"));
    }
    Ok(texts)
}

fn bounded(length: usize, name: &str) -> Result<(), Fault> {
    if length > MAX_ENTRIES {
        Err(format!("{name} must have at most {MAX_ENTRIES} entries"))
    } else {
        Ok(())
    }
}

fn words(fields: Fields<'_>) -> Result<Words, Fault> {
    Ok(Words { includes: list(fields, "includes")?, excludes: list(fields, "doesNotInclude")? })
}

fn text_filter(fields: Fields<'_>, exists: &str) -> Result<TextFilter, Fault> {
    let Words { includes, excludes } = words(fields)?;
    Ok(TextFilter { exists: field(fields, exists, Node::flag)?, includes, excludes })
}

fn near(fields: Fields<'_>) -> Result<Option<Near>, Fault> {
    let within = |name: &str, least: f64, most: f64| {
        let number = field(fields, name, Node::number)?;
        number
            .filter(|number| (least..=most).contains(number))
            .ok_or_else(|| format!("{name} is needed, from {least} to {most}"))
    };
    let (latitude, longitude) =
        (within("latitude", -90.0, 90.0)?, within("longitude", -180.0, 180.0)?);
    let radius = within("radius", f64::MIN_POSITIVE, f64::MAX)
        .map_err(|_| "radius is needed, in metres, above 0".to_owned())?;
    Ok(Some(Near { latitude, longitude, radius }))
}

fn metadata(fields: Fields<'_>) -> Result<MetadataFilter, Fault> {
    let pairs_of = |name: &str| match fields.iter().find(|(field, _)| field == name) {
        Some((_, node)) => pairs(node).map_err(|why| format!("{name} {why}")),
        None => Ok(Vec::new()),
    };
    let any = field(fields, "includesAny", Node::items)?.unwrap_or_default();
    bounded(any.len(), "includesAny")?;
    let includes_any = any.iter().map(pairs).collect::<Result<_, _>>();
    Ok(MetadataFilter {
        includes: pairs_of("includes")?,
        includes_any: includes_any.map_err(|why| format!("includesAny {why}"))?,
        excludes: pairs_of("doesNotInclude")?,
        exists: list(fields, "exists")?,
        does_not_exist: list(fields, "doesNotExist")?,
    })
}

fn pairs(node: &Node) -> Result<Vec<Pair>, Fault> {
    let fields = node.fields()?;
    bounded(fields.len(), "it")?;
    let pair = |(key, node): (String, Node)| {
        let values = node.meanings(MAX_MEANINGS).map_err(|why| format!("{key} {why}"))?;
        Ok(Pair { key, values })
    };
    fields.into_iter().map(pair).collect()
}

impl Pair {
    /// The objects of which the metadata must hold one.
    pub fn objects(&self) -> impl Iterator<Item = Map<String, Value>> {
        self.values.iter().map(|value| Map::from_iter([(self.key.clone(), value.clone())]))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn parse(query: &str) -> Filters {
        Filters::parse(query).unwrap()
    }

    #[test]
    fn both_encodings_mean_the_same() {
        let brackets = parse(
            "keywordsFilters[includes][0]=a&keywordsFilters[doesNotInclude]=b\
             &titleFilters[hasTitle]=true&titleFilters[includes]=x&attachmentsFilters[hasAttachments]=false\
             &locationFilters[latitude]=1&locationFilters[longitude]=2&locationFilters[radius]=5000\
             &metadataFilters[includes][status]=published&metadataFilters[exists][0]=category",
        );
        let json = parse(
            r#"keywordsFilters={"includes":["a"],"doesNotInclude":"b"}&titleFilters={"hasTitle":true,"includes":["x"]}&attachmentsFilters={"hasAttachments":false}&locationFilters={"latitude":1,"longitude":2,"radius":5000}&metadataFilters={"includes":{"status":"published"},"exists":["category"]}"#,
        );
        assert_eq!(brackets, json);
        assert_eq!(json.keywords.includes, ["a"]);
        assert_eq!(json.near, Some(Near { latitude: 1.0, longitude: 2.0, radius: 5000.0 }));
        assert_eq!(parse("page=1"), Filters::default());
    }

    #[test]
    fn pairs_in_brackets_may_mean_a_number_or_its_text() {
        let filters =
            parse("metadataFilters[includesAny][0][n]=1&metadataFilters[includesAny][1][t]=true");
        let pair = |key: &str, values: Vec<Value>| Pair { key: key.to_owned(), values };
        let expected =
            [vec![pair("n", vec![json!(1), json!("1")])], vec![pair("t", vec![json!(true)])]];
        assert_eq!(filters.metadata.includes_any, expected);
    }

    #[test]
    fn wrong_shapes_are_refused() {
        let long = format!("titleFilters[includes]={}", "x".repeat(257));
        let many = format!("keywordsFilters={}", json!({ "includes": vec!["a"; 101] }));
        for query in [
            "keywordsFilters[includes][a]=1",
            "keywordsFilters={\"includes\":[1]}",
            "titleFilters[hasTitle]=maybe",
            "locationFilters[latitude]=1&locationFilters[longitude]=2",
            "locationFilters[latitude]=91&locationFilters[longitude]=2&locationFilters[radius]=1",
            "locationFilters[latitude]=1&locationFilters[longitude]=2&locationFilters[radius]=0",
            "metadataFilters[includes]=x",
            "metadataFilters={\"includesAny\":[1]}",
            "metadataFilters=nonsense",
            long.as_str(),
            many.as_str(),
        ] {
            assert!(Filters::parse(query).is_err(), "{query}");
        }
    }
}
