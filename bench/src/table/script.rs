//! Scripts for pgbench that send the statements of recorded requests, in the same flights.
//!
//! Requests that differ in nothing but the values of their parameters share a script, which draws one of them each time. So
//! pgbench asks for as many different rows as the server does, and plans each statement once.

use std::collections::{HashMap, HashSet};
use std::fmt::Write as _;

use uuid::Uuid;

use crate::entities::Entities;

use super::literal::{UUID, UUIDS, array, literal, type_name, uuids, value};
use super::wire::{Log, Parameter, Sent};

/// As many scripts as pgbench reads.
const MOST: usize = 128;

/// Recorded requests of one scenario.
#[derive(Debug)]
pub struct Recording<'a> {
    pub requests: &'a [Log],
    /// These ids are drawn anew for each run of a script.
    pub drawn: Option<Entities>,
    /// Ids that stay as they are.
    pub known: &'a HashSet<Uuid>,
}

#[derive(Debug, PartialEq, Eq)]
pub struct Script {
    pub text: String,
    /// How many of the requests it stands for.
    pub weight: usize,
}

/// One place for a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Slot {
    Value {
        type_id: u32,
    },
    /// The id of an entity, drawn anew.
    Drawn,
    /// The id with this number among those that the request creates: random, so that the script can run more than once.
    Created(usize),
}

#[derive(Debug, PartialEq, Eq, Hash)]
enum Argument {
    One(Slot),
    Ids(Vec<Slot>),
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct Statement<'a> {
    sql: &'a str,
    arguments: Vec<Argument>,
}

/// What requests that share a script have in common.
type Shape<'a> = Vec<Vec<Statement<'a>>>;

/// The values of one request, in the order of its slots.
type Values = Vec<Option<String>>;

impl Recording<'_> {
    /// The most frequent first.
    pub fn scripts(&self) -> Result<Vec<Script>, String> {
        let mut seen: HashMap<Uuid, usize> = HashMap::new();
        for id in self.requests.iter().flat_map(ids) {
            *seen.entry(id).or_default() += 1;
        }
        let mut alike: HashMap<Shape<'_>, (usize, Vec<Values>)> = HashMap::new();
        for (number, request) in self.requests.iter().enumerate() {
            let mut reading = Reading {
                recording: self,
                seen: &seen,
                writes: request.writes(),
                created: Vec::new(),
                values: Vec::new(),
            };
            let shape = reading.shape(request)?;
            alike.entry(shape).or_insert((number, Vec::new())).1.push(reading.values);
        }
        let mut alike: Vec<_> = alike.into_iter().collect();
        alike.sort_unstable_by_key(|(_, (first, values))| (usize::MAX - values.len(), *first));
        alike.truncate(MOST);
        let scripts = alike.iter().map(|(shape, (_, values))| {
            Writing { drawn: self.drawn, requests: values, next: 0, created: 0 }.script(shape)
        });
        scripts.collect()
    }
}

/// Takes one request apart.
#[derive(Debug)]
struct Reading<'a> {
    recording: &'a Recording<'a>,
    /// How many requests name an id.
    seen: &'a HashMap<Uuid, usize>,
    writes: bool,
    created: Vec<Uuid>,
    values: Values,
}

impl Reading<'_> {
    fn shape<'r>(&mut self, request: &'r Log) -> Result<Shape<'r>, String> {
        let flights = request.flights.iter().map(|flight| {
            let sent = flight.iter().filter(|sent| !sent.is_setting());
            sent.map(|sent| self.statement(sent)).collect()
        });
        let flights: Result<Shape<'_>, String> = flights.collect();
        Ok(flights?.into_iter().filter(|flight| !flight.is_empty()).collect())
    }

    fn statement<'r>(&mut self, sent: &'r Sent) -> Result<Statement<'r>, String> {
        let (sql, parameters) = match sent {
            Sent::Simple(sql) => (sql.trim_end_matches([';', ' ']), &[][..]),
            Sent::Prepared { sql, parameters } => (sql.as_str(), &parameters[..]),
        };
        let arguments: Result<Vec<Argument>, String> =
            parameters.iter().map(|parameter| self.argument(parameter)).collect();
        Ok(Statement { sql, arguments: arguments? })
    }

    fn argument(&mut self, parameter: &Parameter) -> Result<Argument, String> {
        let ids = uuids(parameter);
        Ok(match (parameter.type_id, ids.as_slice()) {
            (UUID, [id]) => Argument::One(self.id(*id)),
            (UUIDS, ids) => Argument::Ids(ids.iter().map(|id| self.id(*id)).collect()),
            (type_id, _) => {
                self.values.push(value(parameter)?);
                Argument::One(Slot::Value { type_id })
            }
        })
    }

    fn id(&mut self, id: Uuid) -> Slot {
        let Recording { drawn, known, .. } = self.recording;
        if drawn.is_some_and(|entities| entities.contain(id)) {
            return Slot::Drawn;
        }
        if !self.writes || self.seen.get(&id) != Some(&1) || known.contains(&id) {
            self.values.push(Some(id.to_string()));
            return Slot::Value { type_id: UUID };
        }
        // The first half holds the time: new rows stay beside each other in an index.
        self.values.push(Some(id.simple().to_string()[..16].to_owned()));
        let number = self.created.iter().position(|created| *created == id);
        Slot::Created(number.unwrap_or_else(|| {
            self.created.push(id);
            self.created.len() - 1
        }))
    }
}

/// Writes the script of some requests.
#[derive(Debug)]
struct Writing<'a> {
    drawn: Option<Entities>,
    requests: &'a [Values],
    /// The place of the next value.
    next: usize,
    /// How many ids each request creates.
    created: usize,
}

impl Writing<'_> {
    fn script(mut self, shape: &Shape<'_>) -> Result<Script, String> {
        let mut flights = String::new();
        for flight in shape {
            let statements: Result<Vec<String>, String> =
                flight.iter().map(|statement| self.statement(statement)).collect();
            let statements = statements?.concat();
            match flight.len() {
                1 => flights += &statements,
                _ => _ = write!(flights, "\\startpipeline\n{statements}\\endpipeline\n"),
            }
        }
        let mut text = String::new();
        let mut set = |variable: &str, from: i64, to: i64| {
            let _ = writeln!(text, "\\set {variable} random({from}, {to})");
        };
        if let Some(entities) = self.drawn {
            set("n", 0, as_i64(entities.count) - 1);
        }
        if self.requests.len() > 1 {
            set("request", 1, as_i64(self.requests.len()));
        }
        for number in 0..self.created {
            set(&format!("id_{number}"), 0, i64::MAX - 1);
        }
        Ok(Script { text: text + &flights, weight: self.requests.len() })
    }

    fn statement(&mut self, statement: &Statement<'_>) -> Result<String, String> {
        let mut values = Vec::new();
        for argument in &statement.arguments {
            values.push(match argument {
                Argument::One(slot) => self.slot(*slot)?,
                Argument::Ids(slots) => {
                    let ids: Result<Vec<String>, String> =
                        slots.iter().map(|slot| self.slot(*slot)).collect();
                    format!("ARRAY[{}]::uuid[]", ids?.join(", "))
                }
            });
        }
        Ok(format!("{};\n", filled(statement.sql, &values)))
    }

    fn slot(&mut self, slot: Slot) -> Result<String, String> {
        Ok(match slot {
            Slot::Value { type_id } => self.value(type_name(type_id)?),
            Slot::Drawn => match self.drawn {
                Some(entities) => entities.id_sql(db::Engine::Postgres, ":n::int8"),
                None => return Err("an id is drawn from no entities".to_owned()),
            },
            Slot::Created(number) => {
                self.created = self.created.max(number + 1);
                let time = self.value("text");
                format!("({time} || lpad(to_hex(:id_{number}::int8), 16, '0'))::uuid")
            }
        })
    }

    /// The value of the request that is drawn.
    fn value(&mut self, type_name: &str) -> String {
        let place = self.next;
        self.next += 1;
        let mut values = self.requests.iter().map(|values| values[place].as_deref());
        let first = values.next().flatten();
        if values.all(|value| value == first) {
            return literal(first, type_name);
        }
        let all = array(self.requests.iter().map(|values| values[place].as_deref()));
        // PostgreSQL has no arrays of arrays whose lengths differ.
        let element = if type_name.ends_with("[]") { "text" } else { type_name };
        format!("({})[:request::int4]::{type_name}", literal(Some(&all), &format!("{element}[]")))
    }
}

fn as_i64(count: usize) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

fn ids(request: &Log) -> HashSet<Uuid> {
    let mut ids = HashSet::new();
    for sent in request.flights.iter().flatten() {
        if let Sent::Prepared { parameters, .. } = sent {
            ids.extend(parameters.iter().flat_map(uuids));
        }
    }
    ids
}

/// The text with its parameters filled in. A dollar sign inside quotes is no parameter.
fn filled(sql: &str, values: &[String]) -> String {
    let mut out = String::new();
    let mut is_quoted = false;
    let mut rest = sql;
    while let Some(at) = rest.find(['$', '\'']) {
        let (before, found) = rest.split_at(at);
        out += before;
        let digits =
            found[1..].len() - found[1..].trim_start_matches(|c: char| c.is_ascii_digit()).len();
        let number = found[1..=digits].parse::<usize>().ok();
        match number.and_then(|number| values.get(number.checked_sub(1)?)) {
            Some(value) if found.starts_with('$') && !is_quoted => {
                let _ = write!(out, "({value})");
                rest = &found[1 + digits..];
            }
            _ => {
                is_quoted ^= found.starts_with('\'');
                out += &found[..1];
                rest = &found[1..];
            }
        }
    }
    out + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    fn prepared(sql: &str, ids: &[Uuid]) -> Sent {
        let parameter = |id: &Uuid| Parameter {
            type_id: UUID,
            is_binary: true,
            bytes: Some(id.as_bytes().to_vec()),
        };
        Sent::Prepared { sql: sql.to_owned(), parameters: ids.iter().map(parameter).collect() }
    }

    fn scripts(requests: &[Log], known: &[Uuid]) -> Vec<Script> {
        let known = known.iter().copied().collect();
        Recording { requests, drawn: None, known: &known }.scripts().unwrap()
    }

    #[test]
    fn parameters_are_filled_in_outside_of_quotes() {
        let values: Vec<String> = (1..=11).map(|n| format!("v{n}")).collect();
        assert_eq!(
            filled("SELECT $1, '$1 it''s', $11::int FROM t WHERE a = $2", &values),
            "SELECT (v1), '$1 it''s', (v11)::int FROM t WHERE a = (v2)"
        );
        assert_eq!(filled("SELECT $12, $", &values), "SELECT $12, $");
    }

    #[test]
    fn a_script_keeps_flights_and_gives_new_rows_new_ids() {
        let (known, created) = (Uuid::from_u128(1), Uuid::from_u128(0xabc << 80));
        let simple = |sql: &str| Sent::Simple(sql.to_owned());
        let insert = prepared("INSERT INTO t VALUES ($1, $2, $2)", &[known, created]);
        let flights = vec![
            vec![],
            vec![simple("SET statement_timeout = 5"), simple("BEGIN"), insert],
            vec![simple("COMMIT")],
        ];
        let new = "(E'000000000abc0000'::text || lpad(to_hex(:id_0::int8), 16, '0'))::uuid";
        let text = format!(
            "\\set id_0 random(0, 9223372036854775806)\n\\startpipeline\nBEGIN;\n\
             INSERT INTO t VALUES ((E'{known}'::uuid), ({new}), ({new}));\n\\endpipeline\nCOMMIT;\n"
        );
        assert_eq!(scripts(&[Log { flights }], &[known]), [Script { text, weight: 1 }]);
    }

    #[test]
    fn requests_with_the_same_statements_share_a_script_that_draws_one_of_them() {
        let [a, b] = [7, 8].map(Uuid::from_u128);
        let read = |sql: &str, ids: &[Uuid]| Log { flights: vec![vec![prepared(sql, ids)]] };
        let requests =
            [read("SELECT 1", &[]), read("SELECT $1, $2", &[a, a]), read("SELECT $1, $2", &[a, b])];
        let drawn = format!("(E'{{\"{a}\",\"{b}\"}}'::uuid[])[:request::int4]::uuid");
        let expected = [
            Script {
                text: format!("\\set request random(1, 2)\nSELECT (E'{a}'::uuid), ({drawn});\n"),
                weight: 2,
            },
            Script { text: "SELECT 1;\n".to_owned(), weight: 1 },
        ];
        assert_eq!(scripts(&requests, &[]), expected);
    }
}
