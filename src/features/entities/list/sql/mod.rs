//! The text of a list's statements: conditions and their arguments, gathered piece by piece. Only
//! names that are written here become SQL; everything a caller sends is an argument.

pub mod count;
mod search;

use db::{Builder, Value};
use serde_json::Value as Json;
use uuid::Uuid;

use crate::features::entities::list::filters::{MetadataFilter, Near, Pair, TextFilter};
use crate::features::entities::list::start::Start;
use crate::features::entities::terms;
use crate::features::spaces::store::access::Reader;
use crate::features::visibility::store::blocks::Hidden;
use crate::values::ids::{ProjectId, UserId};
use crate::values::metadata::to_json;

/// A few entities that are read and sorted. The index holds what most orders and conditions need.
const SORTED: &str = "s CROSS JOIN entities e {indexed_by_entities_ranks}";

/// Metres of one degree of latitude.
const DEGREE: f64 = 111_195.0;

/// A statement over entities `e`, their bodies `b` where needed, and what it starts with, `s`.
#[derive(Debug, Clone)]
pub struct Conditions {
    with: String,
    from: &'static str,
    pub builder: Builder<'static>,
    /// The bodies are looked into.
    pub needs_body: bool,
}

impl Conditions {
    pub fn new(project: ProjectId, start: &Start) -> Self {
        let mut new = Conditions {
            with: String::new(),
            from: "entities e",
            builder: Builder::all([project.into()]),
            needs_body: false,
        };
        new.builder.add("e.project_id = $1");
        // The order of a CROSS JOIN is kept by the embedded engine.
        match start {
            Start::Feed => return new,
            Start::Followed(user) => {
                let user = new.builder.bind(*user);
                let followed = format!(
                    "SELECT f.followed_id AS user_id FROM follows f
                     WHERE f.project_id = $1 AND f.follower_id = {user}"
                );
                return new.by(&followed);
            }
            Start::Hidden(hidden) => {
                let viewer = new.builder.bind(hidden.viewer().map_or(Value::Null, Value::from));
                return new.by(&hidden.users(viewer));
            }
            Start::Term(term) => {
                new.from = "entity_terms s CROSS JOIN entities e";
                let term = new.builder.bind(*term);
                new.builder.add(format_args!("s.project_id = $1 AND s.term = {term}"));
            }
            Start::FewOfTerm(term) => {
                new.from = SORTED;
                let term = new.builder.bind(*term);
                new.with = format!(
                    "WITH s AS MATERIALIZED (SELECT t.entity_id FROM entity_terms t
                        WHERE t.project_id = $1 AND t.term = {term}) "
                );
            }
            Start::FewOfTermOrWide(term) => {
                new.from = SORTED;
                let term = new.builder.bind(*term);
                new.with = format!(
                    "WITH s AS MATERIALIZED (SELECT t.entity_id FROM entity_terms t
                            WHERE t.project_id = $1 AND t.term = {term}
                        UNION SELECT w.id FROM entities w
                            WHERE w.project_id = $1 AND w.is_wide) "
                );
            }
            Start::FewOfPlace(around) => {
                new.from = SORTED;
                let (south, north) =
                    (new.builder.bind(around.south), new.builder.bind(around.north));
                new.with = format!(
                    "WITH s AS MATERIALIZED (SELECT p.id AS entity_id FROM entities p
                        WHERE p.project_id = $1 AND p.is_listed AND p.latitude IS NOT NULL
                            AND p.latitude BETWEEN {south} AND {north}) "
                );
            }
        }
        new.builder.add("e.id = s.entity_id");
        new
    }

    /// Begins with the authors that a query finds.
    fn by(mut self, authors: &str) -> Self {
        self.from = "s CROSS JOIN entities e";
        self.with = format!("WITH s AS MATERIALIZED ({authors}) ");
        self.builder.add("e.user_id = s.user_id");
        self
    }

    pub fn select(&self, columns: &str) -> String {
        let Conditions { with, from, builder, .. } = self;
        let body = match self.needs_body {
            true => " JOIN entity_bodies b ON b.project_id = e.project_id AND b.id = e.id",
            false => "",
        };
        format!("{with}SELECT {columns} FROM {from}{body} WHERE {builder}")
    }

    /// Whether the entity has the term. A correlated subquery, since an engine might start from a join; as a
    /// boolean, because PostgreSQL expects one row in two hundred of a comparison, and would rather sort.
    fn has_term(&mut self, term: Uuid) -> String {
        let term = self.builder.bind(term);
        format!(
            "COALESCE((SELECT TRUE FROM entity_terms t WHERE t.project_id = $1 AND t.term = {term}
                AND t.created_at = e.created_at AND t.entity_id = e.id), FALSE)"
        )
    }

    pub fn with_term(&mut self, term: Uuid) {
        let found = self.has_term(term);
        self.builder.add(found);
    }

    pub fn without_term(&mut self, term: Uuid) {
        let found = self.has_term(term);
        self.builder.add(format_args!("NOT {found}"));
    }

    /// The author is followed by the user. A correlated subquery, as for terms.
    pub fn followed_by(&mut self, user: UserId) {
        let user = self.builder.bind(user);
        self.builder.add(format_args!(
            "COALESCE((SELECT TRUE FROM follows f WHERE f.project_id = $1 AND f.follower_id = {user}
                AND f.followed_id = e.user_id), FALSE)"
        ));
    }

    /// Only what is in no space, or in one that the reader may read.
    pub fn readable(&mut self, reader: Reader) {
        let condition = reader.reads("e.space_id", &mut self.builder);
        self.builder.add(condition);
    }

    /// By nobody who is hidden from the viewer.
    pub fn without(&mut self, hidden: &Hidden) {
        if let Some(viewer) = hidden.viewer() {
            let viewer = self.builder.bind(viewer);
            self.builder.add(hidden.condition("e.user_id", viewer));
        }
    }

    pub fn text_filter(&mut self, column: &str, filter: &TextFilter) {
        let mut conditions = Vec::new();
        text_conditions(&mut self.builder, column, filter, &mut conditions);
        self.needs_body |= !conditions.is_empty();
        conditions.into_iter().for_each(|condition| self.builder.add(condition));
    }

    /// All but the pairs and keys that are looked up as terms elsewhere.
    pub fn metadata(&mut self, filter: &MetadataFilter, any_wide: bool) {
        for pair in &filter.includes {
            if !any_wide && sole_term(pair).is_some() {
                continue;
            }
            let held = self.holds(pair, any_wide);
            self.builder.add(held);
        }
        if !filter.includes_any.is_empty() {
            let all_of = |conditions: &mut Conditions, pairs: &Vec<Pair>| {
                let held = pairs.iter().map(|pair| conditions.holds(pair, any_wide));
                let held: Vec<String> = held.collect();
                if held.is_empty() {
                    "1 = 1".to_owned()
                } else {
                    format!("({})", held.join(" AND "))
                }
            };
            let any: Vec<String> =
                filter.includes_any.iter().map(|pairs| all_of(self, pairs)).collect();
            self.builder.add(format_args!("({})", any.join(" OR ")));
        }
        for pair in &filter.excludes {
            let held = self.holds(pair, any_wide);
            self.builder.add(format_args!("NOT COALESCE({held}, 1 = 0)"));
        }
        for key in filter.exists.iter().filter(|_| any_wide) {
            let found = self.has_key(key, any_wide);
            self.builder.add(found);
        }
        for key in &filter.does_not_exist {
            let found = self.has_key(key, any_wide);
            self.builder.add(format_args!("NOT COALESCE({found}, 1 = 0)"));
        }
    }

    /// Whether the metadata holds the pair with any of its values.
    fn holds(&mut self, pair: &Pair, any_wide: bool) -> String {
        let with = |conditions: &mut Conditions, value: &Json| {
            let object = to_json(&serde_json::json!({ &pair.key: value }));
            let term = terms::pair(&pair.key, value);
            if let Some(term) = term.filter(|_| !any_wide) {
                return conditions.has_term(term);
            }
            conditions.needs_body = true;
            let object = conditions.builder.bind(object);
            match term {
                Some(term) => {
                    let found = conditions.has_term(term);
                    format!("({found} OR (e.is_wide AND json_contains(b.metadata, {object})))")
                }
                None => format!("json_contains(b.metadata, {object})"),
            }
        };
        let any: Vec<String> = pair.values.iter().map(|value| with(self, value)).collect();
        format!("({})", any.join(" OR "))
    }

    fn has_key(&mut self, key: &str, any_wide: bool) -> String {
        let found = self.has_term(terms::key(key));
        if !any_wide {
            return found;
        }
        self.needs_body = true;
        let key = self.builder.bind(key.to_owned());
        // Not by `->`, which the embedded engine gives a path: `$` would be the whole object.
        format!(
            "({found} OR (e.is_wide AND EXISTS
                (SELECT 1 FROM json_each(b.metadata) AS j WHERE j.key = {key})))"
        )
    }

    /// Within the radius. `apart` keeps the engine from beginning with the places.
    pub fn near(&mut self, near: &Near, apart: bool) {
        let mut conditions = Vec::new();
        near_conditions(&mut self.builder, near, apart, &mut conditions);
        conditions.into_iter().for_each(|condition| self.builder.add(condition));
    }
}

/// The conditions that the text in a column passes a filter.
pub fn text_conditions(
    sql: &mut Builder<'static>,
    column: &str,
    filter: &TextFilter,
    to: &mut Vec<String>,
) {
    match filter.exists {
        Some(true) => to.push(format!("{column} IS NOT NULL")),
        Some(false) => to.push(format!("{column} IS NULL")),
        None => {}
    }
    let mut found = |part: &String, sign: &str| {
        let part = sql.bind(part.clone());
        format!("{{contains}}(fold({column}), fold({part})) {sign} 0")
    };
    if !filter.includes.is_empty() {
        let any: Vec<String> = filter.includes.iter().map(|part| found(part, ">")).collect();
        to.push(format!("({})", any.join(" OR ")));
    }
    for part in &filter.excludes {
        let is_absent = found(part, "=");
        to.push(format!("({column} IS NULL OR {is_absent})"));
    }
}

/// The conditions that the place of a row `e` is within a radius.
pub fn near_conditions(sql: &mut Builder<'static>, near: &Near, apart: bool, to: &mut Vec<String>) {
    let plus = if apart { "+" } else { "" };
    let around = Around::new(near);
    let (south, north) = (sql.bind(around.south), sql.bind(around.north));
    to.push(format!("e.latitude IS NOT NULL AND {plus}e.latitude BETWEEN {south} AND {north}"));
    if let Some((west, east)) = around.west_east {
        let (west, east) = (sql.bind(west), sql.bind(east));
        let either = if around.crosses { "OR" } else { "AND" };
        to.push(format!("(e.longitude >= {west} {either} e.longitude <= {east})"));
    }
    let (latitude, longitude) = (sql.bind(near.latitude), sql.bind(near.longitude));
    let radius = sql.bind(near.radius);
    to.push(format!("distance(e.latitude, e.longitude, {latitude}, {longitude}) <= {radius}"));
}

/// The one term that stands for a pair, if there is just one.
pub fn sole_term(pair: &Pair) -> Option<Uuid> {
    match pair.values.as_slice() {
        [value] => terms::pair(&pair.key, value),
        _ => None,
    }
}

/// A box around a circle on the globe.
#[derive(Debug, Clone, PartialEq)]
pub struct Around {
    pub south: f64,
    pub north: f64,
    /// None where the circle reaches a pole or goes round.
    pub west_east: Option<(f64, f64)>,
    /// Across the date line: east of the first or west of the second.
    crosses: bool,
}

impl Around {
    pub fn new(near: &Near) -> Self {
        // A little more than needed: the exact distance is checked as well.
        let angle = near.radius / DEGREE * 1.001;
        let (south, north) = (near.latitude - angle, near.latitude + angle);
        let reaches_pole = south <= -90.0 || north >= 90.0;
        let width = (angle.to_radians().sin() / near.latitude.to_radians().cos()).asin();
        let width = width.to_degrees();
        if reaches_pole || !width.is_finite() || width >= 180.0 {
            return Around { south, north, west_east: None, crosses: false };
        }
        let (west, east) = (near.longitude - width, near.longitude + width);
        let crosses = west < -180.0 || east > 180.0;
        let wrap = |longitude: f64| {
            if longitude < -180.0 {
                longitude + 360.0
            } else if longitude > 180.0 {
                longitude - 360.0
            } else {
                longitude
            }
        };
        Around { south, north, west_east: Some((wrap(west), wrap(east))), crosses }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn around(latitude: f64, longitude: f64, radius: f64) -> Around {
        Around::new(&Near { latitude, longitude, radius })
    }

    #[test]
    fn boxes_hold_their_circles() {
        let city = around(40.0, -74.0, 5_000.0);
        let (west, east) = city.west_east.unwrap();
        assert!(city.south < 39.955 && city.north > 40.045 && !city.crosses);
        assert!(west < -74.058 && east > -73.942 && east - west < 0.13);

        assert_eq!(around(89.9, 0.0, 50_000.0).west_east, None);
        assert_eq!(around(0.0, 0.0, 1e9).west_east, None);

        let date_line = around(0.0, 179.99, 5_000.0);
        let (west, east) = date_line.west_east.unwrap();
        assert!(date_line.crosses && west > 179.9 && east < -179.9, "{west} {east}");
    }
}
