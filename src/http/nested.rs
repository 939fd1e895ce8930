//! Objects in a query string, in both of the ways clients send them: as JSON text
//! (`f={"includes":["a"]}`) and in brackets (`f[includes][0]=a`, `f[includes][]=a`, `f[includes]=a`).

use serde_json::{Map, Value};

use crate::http::query::percent_decode;
use crate::values::json;

/// Maximum brackets in one key.
const DEEPEST: usize = 16;
/// Maximum keys of one object.
const MAX_KEYS: usize = 500;

/// A part of such an object. A scalar in brackets has no type: it is a text.
#[derive(Debug, Clone, PartialEq)]
pub enum Node {
    Text(String),
    Json(Value),
    /// In the order of the query; a name may be a number, or empty.
    Fields(Vec<(String, Node)>),
    /// The same key, several times.
    Repeated(Vec<Node>),
}

/// The object called `name` in a query string; none if the query does not mention it.
pub fn object(query: &str, name: &str) -> Result<Option<Node>, String> {
    let mut root: Option<Node> = None;
    let mut keys = 0;
    for pair in query.split('&') {
        let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
        let Some(key) = percent_decode(key, true) else { continue };
        let Some(brackets) = key.strip_prefix(name) else { continue };
        if !brackets.is_empty() && !brackets.starts_with('[') {
            continue;
        }
        keys += 1;
        if keys > MAX_KEYS {
            return Err(format!("{name}: too many keys"));
        }
        let value = percent_decode(value, true).ok_or_else(|| format!("{name}: not valid text"))?;
        let node = if brackets.is_empty() {
            Node::Json(parse(&value).map_err(|why| format!("{name}: {why}"))?)
        } else {
            Node::Text(value.into_owned())
        };
        let path = segments(brackets).ok_or_else(|| format!("{name}: unbalanced brackets"))?;
        if path.len() > DEEPEST {
            return Err(format!("{name}: nested too deeply"));
        }
        put(&mut root, &path, node).map_err(|why| format!("{name}: {why}"))?;
    }
    Ok(root)
}

fn parse(text: &str) -> Result<Value, &'static str> {
    json::check(text.as_bytes())?;
    match serde_json::from_str(text) {
        Ok(value @ Value::Object(_)) => Ok(value),
        _ => Err("must be a JSON object"),
    }
}

/// `[a][0][]` as `a`, `0` and nothing.
fn segments(mut brackets: &str) -> Option<Vec<&str>> {
    let mut path = Vec::new();
    while !brackets.is_empty() {
        let (segment, rest) = brackets.strip_prefix('[')?.split_once(']')?;
        path.push(segment);
        brackets = rest;
    }
    Some(path)
}

fn put(place: &mut Option<Node>, path: &[&str], node: Node) -> Result<(), &'static str> {
    let Some((first, rest)) = path.split_first() else {
        *place = Some(match place.take() {
            None => node,
            Some(Node::Repeated(mut nodes)) => {
                nodes.push(node);
                Node::Repeated(nodes)
            }
            Some(Node::Fields(_)) => return Err("is both a value and an object"),
            Some(other) => Node::Repeated(vec![other, node]),
        });
        return Ok(());
    };
    let fields = match place.get_or_insert_with(|| Node::Fields(Vec::new())) {
        Node::Fields(fields) => fields,
        _ => return Err("is both a value and an object"),
    };
    // An empty name appends, it never names the same item twice.
    let known = fields.iter_mut().find(|(name, _)| !first.is_empty() && name == first);
    match known {
        Some((_, found)) => {
            let mut inner = Some(std::mem::replace(found, Node::Fields(Vec::new())));
            put(&mut inner, rest, node)?;
            *found = inner.unwrap_or(Node::Fields(Vec::new()));
        }
        None => {
            let mut inner = None;
            put(&mut inner, rest, node)?;
            fields.push(((*first).to_owned(), inner.unwrap_or(Node::Fields(Vec::new()))));
        }
    }
    Ok(())
}

impl Node {
    /// Its fields, if it is an object.
    pub fn fields(&self) -> Result<Vec<(String, Node)>, &'static str> {
        match self {
            Node::Fields(fields) => Ok(fields.clone()),
            Node::Json(Value::Object(map)) => {
                Ok(map.iter().map(|(name, v)| (name.clone(), Node::Json(v.clone()))).collect())
            }
            _ => Err("must be an object"),
        }
    }

    /// Its items; a scalar is a list of one.
    pub fn items(&self) -> Result<Vec<Node>, &'static str> {
        match self {
            Node::Fields(fields) if fields.iter().all(|(name, _)| is_index(name)) => {
                Ok(fields.iter().map(|(_, node)| node.clone()).collect())
            }
            Node::Fields(_) => Err("must be a list"),
            Node::Repeated(nodes) => Ok(nodes.clone()),
            Node::Json(Value::Array(items)) => Ok(items.iter().cloned().map(Node::Json).collect()),
            other => Ok(vec![other.clone()]),
        }
    }

    pub fn text(&self) -> Result<&str, &'static str> {
        match self {
            Node::Text(text) | Node::Json(Value::String(text)) => Ok(text),
            _ => Err("must be a text"),
        }
    }

    /// Texts, trimmed, blank ones dropped.
    pub fn texts(&self) -> Result<Vec<String>, &'static str> {
        let items = self.items()?;
        let texts = items.iter().map(|item| item.text().map(|text| text.trim().to_owned()));
        let texts: Vec<String> = texts.collect::<Result<_, _>>()?;
        Ok(texts.into_iter().filter(|text| !text.is_empty()).collect())
    }

    pub fn flag(&self) -> Result<bool, &'static str> {
        match self {
            Node::Text(text) if text == "true" => Ok(true),
            Node::Text(text) if text == "false" => Ok(false),
            Node::Json(Value::Bool(flag)) => Ok(*flag),
            Node::Json(Value::String(text)) if text == "true" => Ok(true),
            Node::Json(Value::String(text)) if text == "false" => Ok(false),
            _ => Err("must be true or false"),
        }
    }

    pub fn number(&self) -> Result<f64, &'static str> {
        let number = match self {
            Node::Text(text) => text.trim().parse().ok(),
            Node::Json(Value::String(text)) => text.trim().parse().ok(),
            Node::Json(value) => value.as_f64(),
            _ => None,
        };
        number.filter(|number: &f64| number.is_finite()).ok_or("must be a number")
    }

    /// Every JSON value that this may mean. A text may be a boolean or, besides being itself, a number; each
    /// combination of the scalars inside is one meaning, up to `most` of them.
    pub fn meanings(&self, most: usize) -> Result<Vec<Value>, &'static str> {
        match self {
            Node::Json(value) => Ok(vec![value.clone()]),
            Node::Text(text) => Ok(of_text(text)),
            Node::Repeated(_) => self.arrays(most),
            Node::Fields(fields) if fields.iter().all(|(name, _)| is_index(name)) => {
                self.arrays(most)
            }
            Node::Fields(fields) => {
                let mut objects = vec![Map::new()];
                for (name, node) in fields {
                    objects = combined(&objects, &node.meanings(most)?, most, |map, value| {
                        map.insert(name.clone(), value);
                    })?;
                }
                Ok(objects.into_iter().map(Value::Object).collect())
            }
        }
    }

    fn arrays(&self, most: usize) -> Result<Vec<Value>, &'static str> {
        let mut arrays = vec![Vec::new()];
        for node in self.items()? {
            arrays = combined(&arrays, &node.meanings(most)?, most, |array, value| {
                array.push(value);
            })?;
        }
        Ok(arrays.into_iter().map(Value::Array).collect())
    }
}

/// Each of the wholes with each of the parts added.
fn combined<T: Clone>(
    wholes: &[T],
    parts: &[Value],
    most: usize,
    add: impl Fn(&mut T, Value),
) -> Result<Vec<T>, &'static str> {
    if wholes.len() * parts.len() > most {
        return Err("has too many meanings");
    }
    let with = |whole: &T| {
        let whole = whole.clone();
        let add = &add;
        parts.iter().map(move |part| {
            let mut whole = whole.clone();
            add(&mut whole, part.clone());
            whole
        })
    };
    Ok(wholes.iter().flat_map(with).collect())
}

fn is_index(name: &str) -> bool {
    name.bytes().all(|byte| byte.is_ascii_digit())
}

/// `true` and `false` are booleans; a text that spells a number is that number, or itself.
fn of_text(text: &str) -> Vec<Value> {
    match text {
        "true" => vec![Value::Bool(true)],
        "false" => vec![Value::Bool(false)],
        _ => {
            let number = serde_json::from_str(text).ok().filter(Value::is_number);
            number.into_iter().chain([Value::String(text.to_owned())]).collect()
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn texts(query: &str) -> Vec<String> {
        let node = object(query, "f").unwrap().unwrap();
        let fields = node.fields().unwrap();
        fields.iter().find(|(name, _)| name == "includes").unwrap().1.texts().unwrap()
    }

    #[test]
    fn every_spelling_of_a_list_is_the_same_list() {
        for query in [
            r#"f={"includes":["a","b"]}"#,
            "f[includes][0]=a&f[includes][1]=b",
            "f[includes][]=a&f[includes][]=b",
            "f[includes]=a&f[includes]=b",
            "f%5Bincludes%5D%5B0%5D=a&f%5Bincludes%5D%5B1%5D=%20b+&f[includes][2]=+",
            "x=1&f[includes][]=a&fx[includes]=c&f[includes][]=b",
        ] {
            assert_eq!(texts(query), ["a", "b"], "{query}");
        }
        assert_eq!(texts("f[includes]=a"), ["a"]);
        assert_eq!(texts(r#"f={"includes":"a"}"#), ["a"]);
    }

    #[test]
    fn what_is_not_there_is_none() {
        assert_eq!(object("", "f").unwrap(), None);
        assert_eq!(object("g[a]=1&ff=2&page=1", "f").unwrap(), None);
    }

    #[test]
    fn malformed_objects_are_refused() {
        let nested = format!("f{}=1", "[a]".repeat(1000));
        let many = "f[a]=1&".repeat(10_000);
        for query in [
            "f=",
            "f=[]",
            "f=1",
            "f={",
            "f[a=1",
            "f[a]b=1",
            "f[a]]=1",
            "f[a]=1&f[a][b]=2",
            "f[a][b]=1&f[a]=2",
            r#"f={"a":1}&f[b]=2"#,
            nested.as_str(),
            many.as_str(),
        ] {
            assert!(object(query, "f").is_err(), "{query}");
        }
    }

    #[test]
    fn scalars_in_brackets_may_mean_several_values() {
        let meanings = |query: &str| object(query, "f").unwrap().unwrap().meanings(16).unwrap();
        assert_eq!(meanings("f[a]=x"), [json!({ "a": "x" })]);
        assert_eq!(meanings("f[a]=true"), [json!({ "a": true })]);
        assert_eq!(meanings("f[a]=1.5"), [json!({ "a": 1.5 }), json!({ "a": "1.5" })]);
        assert_eq!(meanings("f[a][b][0]=x&f[a][b][1]=y"), [json!({ "a": { "b": ["x", "y"] } })]);
        assert_eq!(meanings(r#"f={"a":"1"}"#), [json!({ "a": "1" })]);
        assert_eq!(meanings("f[a]=1&f[b]=2").len(), 4);
        let many = object("f[a]=1&f[b]=2&f[c]=3&f[d]=4&f[e]=5", "f").unwrap().unwrap();
        assert!(many.meanings(16).is_err());
    }

    #[test]
    fn flags_and_numbers() {
        let value =
            |query: &str| object(query, "f").unwrap().unwrap().fields().unwrap()[0].1.clone();
        assert_eq!(value("f[a]=true").flag(), Ok(true));
        assert_eq!(value(r#"f={"a":false}"#).flag(), Ok(false));
        assert!(value("f[a]=yes").flag().is_err());
        assert_eq!(value("f[a]=-1.5").number(), Ok(-1.5));
        assert_eq!(value(r#"f={"a":2}"#).number(), Ok(2.0));
        assert_eq!(value(r#"f={"a":"-2.5"}"#).number(), Ok(-2.5));
        assert!(value(r#"f={"a":"x"}"#).number().is_err());
        assert!(value("f[a]=NaN").number().is_err());
        assert!(value("f[a]=inf").number().is_err());
    }
}
