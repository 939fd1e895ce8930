//! Values for parameters and bodies: mostly as the schema wants them, often enough not.

use bench::dice::Dice;
use serde_json::{Map, Value, json};

use super::document::{Document, Operation, Parameter};
use super::scene::Scene;
use super::with_picture;

/// Where a schema refers to itself, values end.
const MAX_DEPTH: u32 = 5;

/// Texts that have broken programs before.
const HOSTILE: &[&str] = &[
    "",
    " ",
    "\0",
    "null",
    "undefined",
    "true",
    "-1",
    "0",
    "1e309",
    "9223372036854775808",
    "NaN",
    "' OR 1=1--",
    "\"; DROP TABLE users;--",
    "%",
    "_%_",
    "../../etc/passwd",
    "{}",
    "[]",
    "{\"a\":{\"b\":1}}",
    "[[[[[[[[1]]]]]]]]",
    "\u{202e}abc",
    "\u{200d}",
    "e\u{301}\u{301}\u{301}",
    "👩‍👩‍👧‍👦",
    "ｆｕｌｌ",
    "\r\nSet-Cookie: a=b",
    "<script>alert(1)</script>",
    "2026-02-30T25:61:61Z",
    "0001-01-01T00:00:00Z",
    "+292278994-08-17T07:12:55Z",
    "00000000-0000-0000-0000-000000000000",
    "ffffffff-ffff-4fff-bfff-ffffffffffff",
    "__proto__",
    "constructor",
    "$1",
    "metadata.x",
    "metadata.",
];

pub struct Values<'a> {
    pub document: &'a Document,
    pub scene: &'a Scene,
    pub dice: &'a mut Dice,
}

impl Values<'_> {
    pub fn one_in(&mut self, times: usize) -> bool {
        self.dice.draw(times) == 0
    }

    fn of<'t, T: ?Sized>(&mut self, all: &[&'t T]) -> Option<&'t T> {
        if all.is_empty() { None } else { Some(all[self.dice.draw(all.len())]) }
    }

    fn hostile(&mut self) -> String {
        if self.one_in(20) {
            return "x".repeat(1 << self.dice.draw(12));
        }
        self.of(HOSTILE).unwrap_or_default().to_owned()
    }

    /// Anonymous, a user, a key, or nonsense.
    pub fn token(&mut self) -> String {
        match self.dice.draw(10) {
            0 => String::new(),
            1 | 2 => self.scene.service_key.clone(),
            3 if self.one_in(4) => "null".to_owned(),
            3 if self.one_in(2) => "eyJhbGciOiJub25lIn0.e30.".to_owned(),
            _ => {
                let person = self.dice.draw(self.scene.people.len());
                self.scene.people[person].token.clone()
            }
        }
    }

    /// A part of the path. It is never empty or made of dots: that would be another path.
    pub fn segment(&mut self, parameter: &Parameter) -> String {
        let is_plain = |text: &str| {
            !text.is_empty()
                && !text.contains(['\0', '/', '\\'])
                && !text.trim_matches('.').is_empty()
        };
        let text = match parameter.name.as_str() {
            "projectId" if !self.one_in(50) => return self.scene.project.clone(),
            "tableName" if !self.one_in(10) => return self.scene.table.clone(),
            "columnName" if !self.one_in(10) => "price".to_owned(),
            name => self.text(name, &parameter.schema),
        };
        if is_plain(&text) { text } else { "x".to_owned() }
    }

    /// A value as text, for a query or a form.
    pub fn text(&mut self, name: &str, schema: &Value) -> String {
        match self.value(name, schema, 0) {
            Value::String(text) => text,
            other => other.to_string(),
        }
    }

    /// Media type and bytes of a body, if the operation takes one.
    pub fn content(&mut self, operation: &Operation) -> Option<(String, Vec<u8>)> {
        if operation.bodies.is_empty() {
            return self.one_in(30).then(|| ("application/json".to_owned(), b"{}".to_vec()));
        }
        let (media, schema) = &operation.bodies[self.dice.draw(operation.bodies.len())];
        let mut body = self.value("", schema, 0);
        if operation.template.contains("/db/") && operation.template.contains("{tableName}") {
            self.fill_row(&mut body);
        }
        let bytes = match self.dice.draw(40) {
            0 => b"{\"a\":".to_vec(),
            1 => b"[1,2".to_vec(),
            2 => Vec::new(),
            3 => self.hostile().into_bytes(),
            4 => format!("{}1{}", "[".repeat(100), "]".repeat(100)).into_bytes(),
            5 => b"{\"title\":\"\xff\xfe\"}".to_vec(),
            _ => return Some(self.encode(media, &body)),
        };
        Some((media.clone(), bytes))
    }

    fn encode(&mut self, media: &str, body: &Value) -> (String, Vec<u8>) {
        if media == "application/json" {
            return (media.to_owned(), body.to_string().into_bytes());
        }
        let fields = body.as_object().into_iter().flatten();
        let texts: Vec<(String, Vec<u8>)> = fields
            .map(|(name, value)| {
                let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
                (name.clone(), text.into_bytes())
            })
            .collect();
        if media.starts_with("multipart/") {
            let field = self.of(&["file", "files.files", "images.files", "avatar", "junk"]);
            return with_picture(&texts, field.unwrap_or("file"));
        }
        let pairs: Vec<String> = texts
            .iter()
            .map(|(name, text)| {
                format!(
                    "{}={}",
                    super::encoded(name),
                    super::encoded(&String::from_utf8_lossy(text))
                )
            })
            .collect();
        (media.to_owned(), pairs.join("&").into_bytes())
    }

    /// Rows of a custom table have its columns, which the general document does not know.
    fn fill_row(&mut self, body: &mut Value) {
        let cells = [
            ("name", json!("Gear")),
            ("price", json!("1.5")),
            ("made", json!("2026-01-01T00:00:00Z")),
            ("more", json!({ "a": [1, null] })),
        ];
        let (name, value) = cells[self.dice.draw(cells.len())].clone();
        let value = if self.one_in(4) { self.anything(0) } else { value };
        if let Some(object) = body.as_object_mut() {
            object.insert(name.to_owned(), value);
        }
    }

    /// A value for the schema; one in twelve is something else altogether.
    fn value(&mut self, name: &str, schema: &Value, depth: u32) -> Value {
        if self.one_in(12) {
            return self.anything(0);
        }
        let document = self.document;
        let schema = document.resolve(schema);
        if let Some(value) = self.listed(name, schema, depth) {
            return value;
        }
        let kinds: Vec<&str> = match &schema["type"] {
            Value::String(kind) => vec![kind],
            Value::Array(kinds) => kinds.iter().filter_map(Value::as_str).collect(),
            _ if schema["properties"].is_object() => vec!["object"],
            _ => return self.anything(depth),
        };
        match self.of(&kinds).unwrap_or("null") {
            "object" => self.object(schema, depth),
            "array" if depth < MAX_DEPTH => {
                let count = self.dice.draw(3);
                (0..count).map(|_| self.value(name, &schema["items"], depth + 1)).collect()
            }
            "array" => json!([]),
            "string" => self.string(name, schema).into(),
            "integer" => json!(self.dice.draw(120)),
            "number" => json!(f64::from(u32::try_from(self.dice.draw(1800)).unwrap_or(0)) / 10.0),
            "boolean" => self.one_in(2).into(),
            _ => Value::Null,
        }
    }

    /// Where the schema names its values or its alternatives.
    fn listed(&mut self, name: &str, schema: &Value, depth: u32) -> Option<Value> {
        if let Some(value) = schema.get("const") {
            return Some(value.clone());
        }
        if let Some(all) = schema["enum"].as_array() {
            return Some(all[self.dice.draw(all.len())].clone());
        }
        for key in ["anyOf", "oneOf"] {
            if let Some(all) = schema[key].as_array() {
                let chosen = &all[self.dice.draw(all.len())];
                return Some(self.value(name, chosen, depth + 1));
            }
        }
        let all = schema["allOf"].as_array()?;
        let mut whole = Map::new();
        for part in all {
            if let Value::Object(part) = self.value(name, part, depth + 1) {
                whole.extend(part);
            }
        }
        Some(Value::Object(whole))
    }

    fn object(&mut self, schema: &Value, depth: u32) -> Value {
        let mut object = Map::new();
        if depth >= MAX_DEPTH {
            return Value::Object(object);
        }
        let required: Vec<&str> =
            schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        for (name, schema) in schema["properties"].as_object().into_iter().flatten() {
            let wanted =
                if required.contains(&name.as_str()) { !self.one_in(15) } else { self.one_in(2) };
            if wanted {
                let value = self.value(name, schema, depth + 1);
                object.insert(name.clone(), value);
            }
        }
        if self.one_in(10) {
            let (name, value) = (self.hostile(), self.anything(0));
            object.insert(name, value);
        }
        Value::Object(object)
    }

    fn string(&mut self, name: &str, schema: &Value) -> String {
        if self.one_in(8) {
            return self.hostile();
        }
        let format = schema["format"].as_str().unwrap_or_default();
        match (name, format) {
            ("url", _) => "http://127.0.0.1:9/".to_owned(),
            ("foreignId", _) => self.scene.foreign_id.clone(),
            ("slug", _) => self.scene.slug.clone(),
            ("tableName", _) => self.scene.table.clone(),
            ("emoji", _) => "👍".to_owned(),
            ("include", _) => "user,space,files,topComment,parent,saved".to_owned(),
            ("password" | "newPassword", _) => "correct horse battery staple".to_owned(),
            (name, _) if name.ends_with("Id") || name.ends_with("Ids") => self.id(name),
            (_, "uuid") => self.id(name),
            (_, "date-time") => "2026-06-01T12:00:00Z".to_owned(),
            (_, "email") => "person@example.com".to_owned(),
            _ => {
                self.of(&["text", "like", "new", "asc", "1", "true"]).unwrap_or_default().to_owned()
            }
        }
    }

    fn id(&mut self, name: &str) -> String {
        let ids = self.scene.ids(name);
        self.of(&ids).unwrap_or_default().to_owned()
    }

    /// Of any type.
    fn anything(&mut self, depth: u32) -> Value {
        match self.dice.draw(12) {
            0 => Value::Null,
            1 => true.into(),
            2 => json!(-1),
            3 => json!(i64::MAX),
            4 => json!(1.5e300),
            5 if depth < MAX_DEPTH => json!([self.anything(depth + 1)]),
            6 if depth < MAX_DEPTH => {
                let name = self.hostile();
                json!({ name: self.anything(depth + 1) })
            }
            7 => json!([]),
            8 => json!({}),
            9 => self.id("").into(),
            _ => self.hostile().into(),
        }
    }
}
