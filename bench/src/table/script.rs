//! Scripts for pgbench that send the statements of recorded requests, in the same flights.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fmt::Write as _;

use uuid::Uuid;

use crate::entities::Entities;

use super::literal::{literal, uuids};
use super::wire::{Log, Sent};

/// Recorded requests of one scenario.
#[derive(Debug)]
pub struct Recording<'a> {
    pub requests: &'a [Log],
    /// These ids are drawn anew for each run of a script.
    pub drawn: Option<Entities>,
    /// Ids that stay as they are.
    pub known: &'a HashSet<Uuid>,
}

impl Recording<'_> {
    /// One script for each request. Ids that a request has created are random in its script, so that it can run
    /// more than once.
    pub fn scripts(&self) -> Result<Vec<String>, String> {
        let mut seen: HashMap<Uuid, usize> = HashMap::new();
        for request in self.requests {
            for id in ids(request) {
                *seen.entry(id).or_default() += 1;
            }
        }
        let is_new = |id: &Uuid| seen.get(id) == Some(&1) && !self.known.contains(id);
        self.requests.iter().map(|request| self.script(request, &is_new)).collect()
    }

    fn script(&self, request: &Log, is_new: &dyn Fn(&Uuid) -> bool) -> Result<String, String> {
        let mut script = String::new();
        let mut replaced = BTreeMap::new();
        if let Some(entities) = self.drawn {
            let _ = writeln!(script, "\\set n random(0, {})", entities.count - 1);
        }
        for id in ids(request) {
            if self.drawn.is_some_and(|entities| entities.contain(id)) {
                let entities = self.drawn.map(|e| e.id_sql(db::Engine::Postgres, ":n::int8"));
                replaced.extend(entities.map(|sql| (id, sql)));
            } else if request.writes() && is_new(&id) {
                let variable = format!("id_{}", replaced.len());
                let _ = writeln!(script, "\\set {variable} random(0, {})", i64::MAX - 1);
                // The first half holds the time: new rows stay beside each other in an index.
                let time = &id.simple().to_string()[..16];
                let random = format!("lpad(to_hex(:{variable}::int8), 16, '0')");
                replaced.insert(id, format!("('{time}' || {random})"));
            }
        }
        let replace = |id: Uuid| replaced.get(&id).cloned();
        for flight in &request.flights {
            let mut statements = Vec::new();
            for sent in flight.iter().filter(|sent| !sent.is_setting()) {
                statements.push(statement(sent, &replace)?);
            }
            match statements.as_slice() {
                [] => {}
                [one] => script += one,
                many => {
                    let _ = write!(script, "\\startpipeline\n{}\\endpipeline\n", many.concat());
                }
            }
        }
        Ok(script)
    }
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

fn statement(sent: &Sent, replace: &dyn Fn(Uuid) -> Option<String>) -> Result<String, String> {
    match sent {
        Sent::Simple(sql) => Ok(format!("{};\n", sql.trim_end_matches([';', ' ']))),
        Sent::Prepared { sql, parameters } => {
            let values: Result<Vec<String>, String> =
                parameters.iter().map(|parameter| literal(parameter, replace)).collect();
            Ok(format!("{};\n", filled(sql, &values?)))
        }
    }
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
    use crate::table::wire::Parameter;

    fn prepared(sql: &str, ids: &[Uuid]) -> Sent {
        let parameter = |id: &Uuid| Parameter {
            type_id: 2950,
            is_binary: true,
            bytes: Some(id.as_bytes().to_vec()),
        };
        Sent::Prepared { sql: sql.to_owned(), parameters: ids.iter().map(parameter).collect() }
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
        let insert = prepared("INSERT INTO t VALUES ($1, $2)", &[known, created]);
        let flights = vec![
            vec![],
            vec![simple("SET statement_timeout = 5"), simple("BEGIN"), insert],
            vec![simple("COMMIT")],
        ];
        let requests = [Log { flights }];
        let known_ids = HashSet::from([known]);
        let recording = Recording { requests: &requests, drawn: None, known: &known_ids };
        let scripts = recording.scripts().unwrap();
        let expected = format!(
            "\\set id_0 random(0, 9223372036854775806)\n\\startpipeline\nBEGIN;\n\
             INSERT INTO t VALUES (('{known}'::uuid), (('000000000abc0000' || \
             lpad(to_hex(:id_0::int8), 16, '0'))::uuid));\n\\endpipeline\nCOMMIT;\n"
        );
        assert_eq!(scripts, [expected]);
    }

    #[test]
    fn a_read_keeps_all_its_ids() {
        let id = Uuid::from_u128(7);
        let requests = [Log { flights: vec![vec![prepared("SELECT $1", &[id])]] }];
        let known = HashSet::new();
        let recording = Recording { requests: &requests, drawn: None, known: &known };
        assert_eq!(recording.scripts().unwrap(), [format!("SELECT ('{id}'::uuid);\n")]);
    }
}
